//! Exa: `POST /search`, the key in `x-api-key` (exa.ai/docs, search). It gives excerpts only where they are asked for.

use reqwest::header::HeaderValue;
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
#[serde(rename_all = "camelCase")]
struct Found {
    url: Option<String>,
    title: Option<String>,
    published_date: Option<String>,
    highlights: Option<Vec<String>>,
    text: Option<String>,
}

pub(super) fn request(client: &Client, access: &Access, query: &str, count: usize) -> RequestBuilder {
    let body = json!({"query": query, "numResults": count, "contents": {"highlights": true}});
    let request = client.post(access.url("/search")).json(&body);
    match access.key.as_ref().and_then(|key| HeaderValue::from_str(key.expose_secret()).ok()) {
        Some(mut key) => {
            key.set_sensitive(true);
            request.header("x-api-key", key)
        }
        None => request,
    }
}

pub(super) fn read(body: &[u8]) -> Option<Vec<Hit>> {
    let answer: Answer = serde_json::from_slice(body).ok()?;
    let hit = |f: Found| {
        let excerpts = f.highlights.filter(|all| !all.is_empty()).map(|all| all.join(" … "));
        Hit::new(f.title.as_deref(), &f.url?, f.published_date.as_deref(), excerpts.or(f.text).as_deref())
    };
    Some(answer.results.into_iter().filter_map(hit).collect())
}
