//! Who is measured, and how each is asked for the same work.

use std::fmt;
use std::path::Path;

use anyhow::{Context, bail};
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Client, Response};
use serde_json::{Value, json};

use crate::model::Script;
use crate::process::Process;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target {
    Floor,
    Portico,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Floor => "floor",
            Self::Portico => "portico",
        })
    }
}

/// A running target and the way to it. Clones share the connections.
#[derive(Clone, Debug)]
pub struct Door {
    pub target: Target,
    client: Client,
    url: String,
}

impl Target {
    /// Starts it in front of that model, in a folder of its own.
    pub async fn start(self, portico: &Path, model: &str, dir: &Path) -> anyhow::Result<(Process, Door)> {
        let process = match self {
            Self::Floor => Process::of_role(&["serve-floor", model], dir).await?,
            Self::Portico => {
                let config = format!(
                    "[server]\nbind = \"127.0.0.1:0\"\n[store]\npath = {:?}\n[agents.default]\nmodel = \"bench\"\n\
                     [providers.openai]\nbase_url = \"{model}/v1\"\napi_key = \"bench\"\n",
                    dir.join("store")
                );
                std::fs::create_dir_all(dir)?;
                std::fs::write(dir.join("bench.toml"), config)?;
                Process::start(portico, &["serve", "--config", "bench.toml"], dir).await?
            }
        };
        let door = Door { target: self, client: Client::builder().tcp_nodelay(true).build()?, url: process.url.clone() };
        Ok((process, door))
    }
}

impl Door {
    /// A session to ask in; the floor has none, so any name will do.
    pub async fn session(&self, name: &str) -> anyhow::Result<String> {
        if self.target == Target::Floor {
            return Ok(name.into());
        }
        let request = self.client.post(format!("{}/v1/sessions", self.url)).header(CONTENT_TYPE, "application/json");
        let created: Value = ok(request.body("{}").send().await?).await?.json().await?;
        Ok(created["id"].as_str().context("a session without an id")?.into())
    }

    /// A turn whose events are the answer to this request.
    pub async fn turn(&self, session: &str, script: &Script) -> anyhow::Result<Response> {
        let request = match self.target {
            Target::Floor => self.client.post(format!("{}/turns", self.url)).body(script.to_string()),
            Target::Portico => self.message(session, script).header(ACCEPT, "text/event-stream"),
        };
        ok(request.send().await?).await
    }

    /// A turn whose events are told at the session's feed.
    pub async fn post(&self, session: &str, script: &Script) -> anyhow::Result<Response> {
        let request = match self.target {
            Target::Floor => self.client.post(format!("{}/feeds/{session}", self.url)).body(script.to_string()),
            Target::Portico => self.message(session, script),
        };
        ok(request.send().await?).await
    }

    /// The session's feed, from now on.
    pub async fn feed(&self, session: &str) -> anyhow::Result<Response> {
        let url = match self.target {
            Target::Floor => format!("{}/feeds/{session}", self.url),
            Target::Portico => format!("{}/v1/sessions/{session}/events?after=head", self.url),
        };
        ok(self.client.get(url).send().await?).await
    }

    fn message(&self, session: &str, script: &Script) -> reqwest::RequestBuilder {
        let url = format!("{}/v1/sessions/{session}/messages", self.url);
        let body = json!({"text": format!("Please answer. {script}")}).to_string();
        self.client.post(url).header(CONTENT_TYPE, "application/json").body(body)
    }
}

async fn ok(response: Response) -> anyhow::Result<Response> {
    if response.status().is_success() {
        return Ok(response);
    }
    bail!("{}: {}", response.status(), response.text().await.unwrap_or_default())
}
