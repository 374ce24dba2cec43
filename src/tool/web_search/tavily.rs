//! Tavily: `POST /search`, the key as a bearer (docs.tavily.com, search endpoint).

use reqwest::{Client, RequestBuilder};
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde_json::json;

use super::hit::Hit;
use super::provider::Access;

#[derive(Deserialize)]
struct Answer {
    results: Vec<Found>,
}

#[derive(Deserialize)]
struct Found {
    url: Option<String>,
    title: Option<String>,
    content: Option<String>,
    /// Of news only.
    published_date: Option<String>,
}

pub(super) fn request(client: &Client, access: &Access, query: &str, count: usize) -> RequestBuilder {
    let request = client.post(access.url("/search")).json(&json!({"query": query, "max_results": count}));
    match &access.key {
        Some(key) => request.bearer_auth(key.expose_secret()),
        None => request,
    }
}

pub(super) fn read(body: &[u8]) -> Option<Vec<Hit>> {
    let answer: Answer = serde_json::from_slice(body).ok()?;
    let hit = |f: Found| Hit::new(f.title.as_deref(), &f.url?, f.published_date.as_deref(), f.content.as_deref());
    Some(answer.results.into_iter().filter_map(hit).collect())
}
