//! The OpenAI chat wire: `POST {base_url}/chat/completions`, streamed. OpenAI's own, and nearly everybody else's.
//!
//! Read [`body`] (what is sent), then [`decode`] (what comes back), [`calls`] (how fragments become tool calls) and [`chunk`] (the shapes).
//! Both directions are pure; only this file touches the network.

use std::sync::Arc;

use async_stream::try_stream;
use futures_util::FutureExt;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use secrecy::{ExposeSecret, SecretString};

use super::table::Quirks;
use super::{ErrorClass, ModelError, ModelEvent, ModelRequest, ModelStream, Provider, http};
use decode::Decoder;

pub mod body;
mod calls;
mod chunk;
pub mod decode;

/// The most reads of the network that become one batch: enough that a fast stream costs its readers one wake-up for many tokens, and few
/// enough that other tasks get their turn.
const READS_PER_BATCH: usize = 64;
/// The longest answer of a server that does not stream, in bytes.
const UNSTREAMED_LIMIT: usize = 16 * 1024 * 1024;

/// What a server of this wire needs to be asked.
#[derive(Clone, Debug)]
pub struct OpenAiChatConfig {
    /// The table's id.
    pub id: String,
    /// With `/v1` where the server has one, without a slash at its end.
    pub base_url: String,
    pub key: Option<SecretString>,
    pub quirks: Quirks,
    pub client: reqwest::Client,
}

/// A server that speaks this wire.
#[derive(Clone, Debug)]
pub struct OpenAiChat {
    config: Arc<OpenAiChatConfig>,
}

impl OpenAiChat {
    pub fn new(config: OpenAiChatConfig) -> Self {
        Self { config: Arc::new(config) }
    }
}

impl Provider for OpenAiChat {
    fn id(&self) -> &str {
        &self.config.id
    }

    fn body(&self, request: &ModelRequest) -> Vec<u8> {
        body::body(request, &self.config.quirks)
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let body = self.body(&request);
        let mut decoder = Decoder::new(&request, &body);
        let config = Arc::clone(&self.config);
        Box::pin(try_stream! {
            let mut response = config.open(body).await?;
            while !decoder.is_finished() {
                let mut events = Vec::new();
                let read = read(&mut response, &mut decoder, &mut events).await;
                // What came before an error was said, and is shown before it is taken back.
                if !events.is_empty() {
                    yield events;
                }
                read.map_err(|error| config.redacted(error))?;
            }
        })
    }
}

impl OpenAiChatConfig {
    async fn open(&self, body: Vec<u8>) -> Result<reqwest::Response, ModelError> {
        let mut request = self
            .client
            .post(format!("{}/chat/completions", self.base_url))
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream")
            .body(body);
        if let Some(key) = &self.key {
            request = request.bearer_auth(key.expose_secret());
        }
        http::send(request).await.map_err(|error| self.redacted(error))
    }

    fn redacted(&self, error: ModelError) -> ModelError {
        http::redact(error, self.key.as_ref())
    }
}

/// The next batch: what there is now, after a wait if there is nothing. Empty where it held no event; not empty beside an error that came
/// after events.
async fn read(response: &mut reqwest::Response, decoder: &mut Decoder, events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
    match content_type(response) {
        "application/json" => {
            let body = http::whole_body(response, UNSTREAMED_LIMIT).await?;
            return decoder.whole(&body, events);
        }
        "text/html" => return Err(no_api()),
        _ => {}
    }
    let mut next = response.chunk().await;
    for reads_left in (0..READS_PER_BATCH).rev() {
        match next {
            Ok(Some(bytes)) => decoder.push(&bytes, events)?,
            Ok(None) => decoder.finish(events)?,
            // The answer was whole, and only the end of its stream got lost.
            Err(_) if decoder.has_finish_reason() => decoder.finish(events)?,
            Err(error) => return Err(http::transport(&error)),
        }
        if decoder.is_finished() || reads_left == 0 {
            break;
        }
        // Asked once and without waiting; a read that is not ready loses nothing by being dropped.
        match response.chunk().now_or_never() {
            Some(read) => next = read,
            None => break,
        }
    }
    Ok(())
}

/// The media type alone, as servers write it.
fn content_type(response: &reqwest::Response) -> &str {
    let value = response.headers().get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim()
}

fn no_api() -> ModelError {
    let message = "the provider answered with a web page and not with its API: is the base URL right?".into();
    ModelError { class: ErrorClass::Final, code: "invalid_response", message, retry_after: None }
}

#[cfg(test)]
mod tests;
