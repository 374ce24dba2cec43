//! Tavily: `POST /search`, the key as a bearer (docs.tavily.com, search endpoint).

use reqwest::{Client, RequestBuilder};
use secrecy::ExposeSecret;
use serde_json::json;

use super::provider::Access;

pub(super) fn request(client: &Client, access: &Access, query: &str, count: usize) -> RequestBuilder {
    let request = client.post(access.url("/search")).json(&json!({"query": query, "max_results": count}));
    match &access.key {
        Some(key) => request.bearer_auth(key.expose_secret()),
        None => request,
    }
}
