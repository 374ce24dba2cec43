//! SearXNG: `GET /search?format=json` of an instance that gives JSON (docs.searxng.org, search API; one that does not answers 403). It takes
//! no number of results and gives a page of some twenty.

use reqwest::{Client, RequestBuilder};

use super::provider::Access;

pub(super) fn request(client: &Client, access: &Access, query: &str) -> RequestBuilder {
    let mut url = access.url("/search");
    url.query_pairs_mut().append_pair("q", query).append_pair("format", "json");
    client.get(url)
}
