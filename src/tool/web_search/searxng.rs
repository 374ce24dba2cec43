//! SearXNG: `GET /search?format=json` of an instance that gives JSON (docs.searxng.org, search API; one that does not answers 403). It takes
//! no number of results and gives a page of some twenty.

use reqwest::{Client, RequestBuilder};
use serde::Deserialize;

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
    #[serde(rename = "publishedDate")]
    published_date: Option<String>,
}

pub(super) fn request(client: &Client, access: &Access, query: &str) -> RequestBuilder {
    let mut url = access.url("/search");
    url.query_pairs_mut().append_pair("q", query).append_pair("format", "json");
    client.get(url)
}

pub(super) fn read(body: &[u8]) -> Option<Vec<Hit>> {
    let answer: Answer = serde_json::from_slice(body).ok()?;
    let hit = |f: Found| Hit::new(f.title.as_deref(), &f.url?, f.published_date.as_deref(), f.content.as_deref());
    Some(answer.results.into_iter().filter_map(hit).collect())
}
