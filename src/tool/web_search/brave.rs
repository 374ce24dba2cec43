//! Brave: `GET /res/v1/web/search`, the key in `X-Subscription-Token` (api-dashboard.search.brave.com, web search).

use reqwest::header::{ACCEPT, HeaderValue};
use reqwest::{Client, RequestBuilder};
use secrecy::ExposeSecret;
use serde::Deserialize;

use super::hit::{Hit, text_of_html};
use super::provider::Access;

/// The most words of a query; one more is refused.
const MAX_WORDS: usize = 50;

#[derive(Deserialize)]
struct Answer {
    /// Absent where nothing was found.
    web: Option<Web>,
}

#[derive(Deserialize)]
struct Web {
    results: Vec<Found>,
}

#[derive(Deserialize)]
struct Found {
    url: Option<String>,
    title: Option<String>,
    /// HTML.
    description: Option<String>,
    /// A date as ISO has it.
    page_age: Option<String>,
    /// The same in words.
    age: Option<String>,
}

pub(super) fn request(client: &Client, access: &Access, query: &str, count: usize) -> RequestBuilder {
    let words: Vec<&str> = query.split(' ').take(MAX_WORDS).collect();
    let mut url = access.url("/res/v1/web/search");
    // marks around what was searched for would only be taken out again
    url.query_pairs_mut()
        .append_pair("q", &words.join(" "))
        .append_pair("count", &count.to_string())
        .append_pair("text_decorations", "false");
    let request = client.get(url).header(ACCEPT, "application/json");
    match access.key.as_ref().and_then(|key| HeaderValue::from_str(key.expose_secret()).ok()) {
        Some(mut key) => {
            key.set_sensitive(true);
            request.header("x-subscription-token", key)
        }
        None => request,
    }
}

pub(super) fn read(body: &[u8]) -> Option<Vec<Hit>> {
    let answer: Answer = serde_json::from_slice(body).ok()?;
    let found = answer.web.map(|web| web.results).unwrap_or_default();
    let hit = |f: Found| {
        let (title, snippet) = (f.title.as_deref().map(text_of_html), f.description.as_deref().map(text_of_html));
        Hit::new(title.as_deref(), &f.url?, f.page_age.or(f.age).as_deref(), snippet.as_deref())
    };
    Some(found.into_iter().filter_map(hit).collect())
}
