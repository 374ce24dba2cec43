//! The floor: the least that axum can do between a model's stream and its readers. It reads the model's wire, writes events of its own, and
//! keeps nothing: no ledger, no resume, no access, no second chance.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use async_stream::stream;
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use portico::domain::sse::Parser;
use serde::Deserialize;
use tokio::sync::broadcast;

use crate::process;

/// Events that a reader may be behind before it misses some: more than a run has.
const BEHIND: usize = 1_024;
const TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Clone, Debug)]
struct Floor {
    client: reqwest::Client,
    model: String,
    feeds: Arc<Mutex<HashMap<String, broadcast::Sender<Bytes>>>>,
}

/// A chunk of the model's.
#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: Vec<Choice<'a>>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    delta: Delta<'a>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    content: Option<&'a str>,
}

pub async fn serve(model: &str) -> anyhow::Result<()> {
    // the client that Portico has, so that what differs is what stands between
    let client = portico::provider::http::client(TIMEOUT, TIMEOUT)?;
    let floor = Floor { client, model: format!("{model}/v1/chat/completions"), feeds: Arc::default() };
    let router = Router::new().route("/turns", post(turn)).route("/feeds/{id}", get(feed).post(turn_on_feed)).with_state(floor);
    process::serve(router).await.context("the floor")
}

/// A turn as the answer to its own request.
async fn turn(State(floor): State<Floor>, prompt: String) -> Response {
    match floor.ask(&prompt).await {
        Ok(events) => sse(events.map(Ok)),
        Err(error) => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    }
}

/// A turn that everybody at that feed sees.
async fn turn_on_feed(State(floor): State<Floor>, Path(id): Path<String>, prompt: String) -> Response {
    let mut events = match floor.ask(&prompt).await {
        Ok(events) => Box::pin(events),
        Err(error) => return (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    };
    let feed = floor.feed(&id);
    let sent = async move {
        while let Some(event) = events.next().await {
            // nobody reads it: that is no concern of the model's
            let _ = feed.send(event);
        }
    };
    // the stream of the turn itself, which says nothing: it ends when the turn does
    sse(futures_util::stream::once(sent).map(|()| Ok(Bytes::new())))
}

async fn feed(State(floor): State<Floor>, Path(id): Path<String>) -> Response {
    let mut events = floor.feed(&id).subscribe();
    sse(stream! {
        yield Ok(Bytes::from_static(b"event: hello\ndata: {}\n\n"));
        while let Ok(event) = events.recv().await {
            yield Ok(event);
        }
    })
}

fn sse(events: impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static) -> Response {
    ([(CONTENT_TYPE, "text/event-stream")], Body::from_stream(events)).into_response()
}

impl Floor {
    fn feed(&self, id: &str) -> broadcast::Sender<Bytes> {
        let mut feeds = self.feeds.lock().unwrap_or_else(PoisonError::into_inner);
        feeds.entry(id.into()).or_insert_with(|| broadcast::channel(BEHIND).0).clone()
    }

    /// The model's answer, each read of the network as one run of events.
    async fn ask(&self, prompt: &str) -> reqwest::Result<impl Stream<Item = Bytes> + Send + use<>> {
        let body = serde_json::json!({"model": "bench", "stream": true, "messages": [{"role": "user", "content": prompt}]});
        let mut response = self.client.post(&self.model).json(&body).send().await?.error_for_status()?;
        Ok(stream! {
            let mut parser = Parser::new();
            while let Ok(Some(bytes)) = response.chunk().await {
                parser.push(&bytes);
                let mut out = String::with_capacity(bytes.len());
                while let Some(Ok(event)) = parser.next() {
                    write(&mut out, &event.data);
                }
                if !out.is_empty() {
                    yield Bytes::from(out);
                }
            }
        })
    }
}

fn write(out: &mut String, data: &str) {
    if data == "[DONE]" {
        out.push_str("event: done\ndata: {}\n\n");
        return;
    }
    let Ok(chunk) = serde_json::from_str::<Chunk<'_>>(data) else { return };
    for text in chunk.choices.iter().filter_map(|choice| choice.delta.content) {
        out.push_str("event: text_delta\ndata: {\"text\":");
        out.push_str(&serde_json::to_string(text).unwrap_or_default());
        out.push_str("}\n\n");
    }
}
