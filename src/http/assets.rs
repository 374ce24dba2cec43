//! The static files, compiled in, with an ETag each.

use std::borrow::Cow;
use std::sync::LazyLock;

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};

use super::Gateway;
use crate::domain::digest::sha256;

/// Nothing but this origin's own files, and nowhere but this origin to talk to.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HTML: &str = "text/html; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

struct Asset {
    kind: &'static str,
    body: Cow<'static, [u8]>,
    etag: String,
}

impl Asset {
    fn new(kind: &'static str, body: impl Into<Cow<'static, [u8]>>) -> Self {
        let body = body.into();
        Self { kind, etag: format!("\"{}\"", &sha256(&body)[..16]), body }
    }

    /// The file, or 304 where the browser has it.
    fn serve(&'static self, headers: &HeaderMap) -> Response {
        let has = |value: &str| value.split(',').map(|tag| tag.trim().trim_start_matches("W/")).any(|tag| tag == self.etag || tag == "*");
        let known = headers.get_all(IF_NONE_MATCH).iter().filter_map(|v| v.to_str().ok()).any(has);
        let common = [
            (ETAG, self.etag.clone()),
            (CACHE_CONTROL, "no-cache".to_owned()),
            (CONTENT_TYPE, self.kind.to_owned()),
            (CONTENT_SECURITY_POLICY, POLICY.to_owned()),
        ];
        if known { (StatusCode::NOT_MODIFIED, common).into_response() } else { (common, &*self.body).into_response() }
    }
}

const INDEX_TEXT: &str = include_str!("../../static/index.html");
static INDEX: LazyLock<Asset> = LazyLock::new(|| Asset::new(HTML, INDEX_TEXT.as_bytes()));
/// With the suggestions that ask for the demo's tools.
static DEMO_INDEX: LazyLock<Asset> =
    LazyLock::new(|| Asset::new(HTML, INDEX_TEXT.replacen("<body>", "<body class=\"with-demo\">", 1).into_bytes()));
static SCRIPT: LazyLock<Asset> = LazyLock::new(|| Asset::new(JAVASCRIPT, include_bytes!("../../static/page.js").as_slice()));
static API: LazyLock<Asset> = LazyLock::new(|| Asset::new(JAVASCRIPT, include_bytes!("../../static/api.js").as_slice()));
static CARDS: LazyLock<Asset> = LazyLock::new(|| Asset::new(JAVASCRIPT, include_bytes!("../../static/cards.js").as_slice()));
static FEED: LazyLock<Asset> = LazyLock::new(|| Asset::new(JAVASCRIPT, include_bytes!("../../static/feed.js").as_slice()));
static MARKDOWN: LazyLock<Asset> = LazyLock::new(|| Asset::new(JAVASCRIPT, include_bytes!("../../static/markdown.js").as_slice()));
static SCROLL: LazyLock<Asset> = LazyLock::new(|| Asset::new(JAVASCRIPT, include_bytes!("../../static/scroll.js").as_slice()));
static STYLE: LazyLock<Asset> = LazyLock::new(|| Asset::new("text/css; charset=utf-8", include_bytes!("../../static/page.css").as_slice()));

/// By the tools that a new session of the page would have.
pub(super) async fn index(State(gateway): State<Gateway>, headers: HeaderMap) -> Response {
    let tools = gateway.sessions.settings().setup.toolset("web", "default");
    let has_demo = tools.is_some_and(|set| set.tools.iter().any(|tool| tool.spec.name == "demo_booking"));
    if has_demo { DEMO_INDEX.serve(&headers) } else { INDEX.serve(&headers) }
}

pub(super) async fn script(headers: HeaderMap) -> Response {
    SCRIPT.serve(&headers)
}

pub(super) async fn api(headers: HeaderMap) -> Response {
    API.serve(&headers)
}

pub(super) async fn cards(headers: HeaderMap) -> Response {
    CARDS.serve(&headers)
}

pub(super) async fn feed(headers: HeaderMap) -> Response {
    FEED.serve(&headers)
}

pub(super) async fn markdown(headers: HeaderMap) -> Response {
    MARKDOWN.serve(&headers)
}

pub(super) async fn scroll(headers: HeaderMap) -> Response {
    SCROLL.serve(&headers)
}

pub(super) async fn style(headers: HeaderMap) -> Response {
    STYLE.serve(&headers)
}
