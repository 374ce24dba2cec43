//! One provider: how it is asked, and what it means where it does not answer.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use reqwest::{Client, RequestBuilder, Response, StatusCode};
use secrecy::SecretString;
use url::Url;

use super::hit::{self, Hit};
use super::{brave, exa, searxng, tavily};
use crate::domain::{Clock, Timestamp};
use crate::provider::http::retry_after::retry_after;
use crate::tool::net_guard::client::innermost;
use crate::tool::net_guard::shortened;

/// The most bytes of an answer; those of 20 results have some 100 KB.
const MAX_ANSWER: usize = 2 * 1024 * 1024;
/// How long a provider rests that has had too many requests and does not say for how long, and the longest that it is believed.
const USUAL_REST: Duration = Duration::from_secs(10);
const LONGEST_REST: Duration = Duration::from_secs(600);

/// The wires that are spoken, in the order in which they are asked where the operator gives none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    Brave,
    Tavily,
    Exa,
    Searxng,
}

/// Where a provider is, and what lets us in.
#[derive(Clone, Debug)]
pub struct Access {
    /// Without the wire's own path.
    pub base_url: Url,
    /// `None` for SearXNG.
    pub key: Option<SecretString>,
}

/// A provider that is set up.
#[derive(Debug)]
pub struct SearchProvider {
    wire: Wire,
    access: Access,
    /// It had too many requests, and is left alone until then.
    rests_until: Mutex<Timestamp>,
}

/// Why there are no results; the sentence is for the model and the log, and holds nothing of the provider's but its status.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Failure {
    #[error("it did not answer within {} s", .0.as_secs_f32())]
    Timeout(Duration),
    #[error("too many requests; free again in {} s", .0.as_secs().max(1))]
    Rests(Duration),
    #[error("{0}")]
    Status(Refusal),
    #[error("what it answered is not what its interface promises")]
    Unreadable,
    #[error("no connection: {0}")]
    Transport(String),
}

/// A status that is no success.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal(StatusCode);

impl Wire {
    pub const ALL: [Self; 4] = [Self::Brave, Self::Tavily, Self::Exa, Self::Searxng];

    pub fn name(self) -> &'static str {
        match self {
            Self::Brave => "brave",
            Self::Tavily => "tavily",
            Self::Exa => "exa",
            Self::Searxng => "searxng",
        }
    }

    /// Where it is unless the operator says otherwise; `None` for what everybody runs for himself.
    pub fn usual_url(self) -> Option<&'static str> {
        match self {
            Self::Brave => Some("https://api.search.brave.com"),
            Self::Tavily => Some("https://api.tavily.com"),
            Self::Exa => Some("https://api.exa.ai"),
            Self::Searxng => None,
        }
    }
}

impl SearchProvider {
    pub fn new(wire: Wire, access: Access) -> Self {
        Self { wire, access, rests_until: Mutex::default() }
    }

    pub fn name(&self) -> &'static str {
        self.wire.name()
    }

    /// At most `count` results, the best first; none is a result too. Dropped, it gives the request up.
    pub(super) async fn search(
        &self,
        client: &Client,
        query: &str,
        count: usize,
        patience: Duration,
        clock: &dyn Clock,
    ) -> Result<Vec<Hit>, Failure> {
        let rest = self.rests_until().since(clock.now());
        if !rest.is_zero() {
            return Err(Failure::Rests(rest));
        }
        let asking = async {
            let response = self.request(client, query, count).send().await.map_err(|error| transport(&error))?;
            if !response.status().is_success() {
                return Err(self.refused(&response, clock.now()));
            }
            body(response).await
        };
        let body = tokio::time::timeout(patience, asking).await.map_err(|_| Failure::Timeout(patience))??;
        let found = self.read(&body).ok_or(Failure::Unreadable)?;
        Ok(Hit::first(found, count))
    }

    fn request(&self, client: &Client, query: &str, count: usize) -> RequestBuilder {
        match self.wire {
            Wire::Brave => brave::request(client, &self.access, query, count),
            Wire::Tavily => tavily::request(client, &self.access, query, count),
            Wire::Exa => exa::request(client, &self.access, query, count),
            Wire::Searxng => searxng::request(client, &self.access, query),
        }
    }

    fn read(&self, body: &[u8]) -> Option<Vec<Hit>> {
        match self.wire {
            Wire::Brave => brave::read(body),
            Wire::Tavily => hit::results(body),
            Wire::Exa => exa::read(body),
            Wire::Searxng => hit::results(body),
        }
    }

    fn refused(&self, response: &Response, now: Timestamp) -> Failure {
        let status = response.status();
        if status != StatusCode::TOO_MANY_REQUESTS {
            return Failure::Status(Refusal(status));
        }
        let wall = SystemTime::UNIX_EPOCH + now.since(Timestamp(0));
        let rest = retry_after(response.headers(), wall).unwrap_or(USUAL_REST).min(LONGEST_REST);
        *self.rests_until.lock().unwrap_or_else(PoisonError::into_inner) = now + rest;
        Failure::Rests(rest)
    }

    fn rests_until(&self) -> Timestamp {
        *self.rests_until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Access {
    /// The address of a path below the base URL.
    pub(super) fn url(&self, path: &str) -> Url {
        let mut url = self.base_url.clone();
        url.set_path(&format!("{}{path}", self.base_url.path().trim_end_matches('/')));
        url
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.0.as_u16() {
            401 | 403 => "it refuses the key, or this kind of request",
            // Tavily's words for a plan that is used up (help.tavily.com, "Errors Code")
            402 | 432 | 433 => "its plan is used up",
            300..=399 => "it redirects, which is not followed",
            500..=599 => "it is in trouble",
            _ => "it does not take the request",
        };
        write!(f, "{what} ({})", self.0.as_u16())
    }
}

async fn body(mut response: Response) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| transport(&error))? {
        if body.len() + chunk.len() > MAX_ANSWER {
            return Err(Failure::Unreadable);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// The last cause says what happened, and has no address in it.
fn transport(error: &reqwest::Error) -> Failure {
    Failure::Transport(shortened(&innermost(error).to_string()))
}
