//! The Anthropic wire: `POST {base_url}/v1/messages`, streamed.
//!
//! Read [`body`] (what is sent), [`messages`] (how a conversation is said there), [`thinking`] (what is asked for and what goes back),
//! then [`decode`] (what comes back) and [`frame`] (the shapes). Both directions are pure; only this file touches the network.

use std::sync::Arc;

use reqwest::header::{ACCEPT, CONTENT_TYPE};
use secrecy::{ExposeSecret, SecretString};

use super::files::Takes;
use super::{ModelRequest, ModelStream, Provider, http};
use decode::decoder;

pub mod body;
pub mod decode;
mod frame;
mod messages;
mod thinking;

/// The wire's only version.
const VERSION: &str = "2023-06-01";

/// The most bytes of an image: 5 MiB as base64, which is what the provider counts (its page on vision; "image exceeds 5 MB maximum").
const IMAGE_BYTES: u64 = (5 << 20) / 4 * 3;

/// What a server of this wire needs to be asked.
#[derive(Clone, Debug)]
pub struct AnthropicConfig {
    /// The table's id.
    pub id: String,
    /// Without `/v1`, and without a slash at its end.
    pub base_url: String,
    pub key: Option<SecretString>,
    pub takes: Takes,
    pub client: reqwest::Client,
}

/// A server that speaks this wire.
#[derive(Clone, Debug)]
pub struct Anthropic {
    config: Arc<AnthropicConfig>,
}

impl Anthropic {
    pub fn new(config: AnthropicConfig) -> Self {
        Self { config: Arc::new(config) }
    }
}

impl Provider for Anthropic {
    fn id(&self) -> &str {
        &self.config.id
    }

    fn takes(&self) -> Takes {
        Takes { image_bytes: IMAGE_BYTES, ..self.config.takes }
    }

    fn body(&self, request: &ModelRequest) -> Vec<u8> {
        body::body(request, &self.config.id)
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let config = &self.config;
        let body = self.body(&request);
        let provider = config.id.clone();
        let decoder = decoder(request, provider.clone(), move |request| body::body(request, &provider));
        let mut post = config
            .client
            .post(format!("{}/v1/messages", config.base_url))
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream")
            .header("anthropic-version", VERSION)
            .body(body);
        if let Some(key) = &config.key {
            post = post.header("x-api-key", key.expose_secret());
        }
        http::stream::stream(post, config.key.clone(), decoder)
    }
}

#[cfg(test)]
mod tests;
