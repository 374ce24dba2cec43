//! The OpenAI chat wire: `POST {base_url}/chat/completions`, streamed. OpenAI's own, and nearly everybody else's.
//!
//! Read [`body`] (what is sent), then [`decode`] (what comes back), [`calls`] (how fragments become tool calls) and [`chunk`] (the shapes).
//! Both directions are pure; only this file touches the network.

use std::sync::Arc;

use reqwest::header::{ACCEPT, CONTENT_TYPE};
use secrecy::{ExposeSecret, SecretString};

use super::files::Takes;
use super::table::Quirks;
use super::{ModelRequest, ModelStream, Provider, http};
use decode::decoder;

pub mod body;
mod calls;
mod chunk;
pub mod decode;

/// What a server of this wire needs to be asked.
#[derive(Clone, Debug)]
pub struct OpenAiChatConfig {
    /// The table's id.
    pub id: String,
    /// With `/v1` where the server has one, without a slash at its end.
    pub base_url: String,
    pub key: Option<SecretString>,
    pub quirks: Quirks,
    pub takes: Takes,
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

    fn takes(&self) -> Takes {
        self.config.takes
    }

    fn body(&self, request: &ModelRequest) -> Vec<u8> {
        body::body(request, &self.config.quirks)
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let body = self.body(&request);
        let quirks = self.config.quirks;
        let decoder = decoder(request, move |request| body::body(request, &quirks));
        let url = format!("{}/chat/completions", self.config.base_url);
        let mut post = self.config.client.post(url).header(CONTENT_TYPE, "application/json").header(ACCEPT, "text/event-stream").body(body);
        if let Some(key) = &self.config.key {
            post = post.bearer_auth(key.expose_secret());
        }
        http::stream::stream(post, self.config.key.clone(), decoder)
    }
}

#[cfg(test)]
mod tests;
