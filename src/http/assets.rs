//! The static files, compiled in: one table of them all. Each is compressed once, when it is first asked for, and has an ETag.
//!
//! A page of another origin may load the modules; what they call, `/v1`, answers only this origin's pages.

use std::borrow::Cow;
use std::io::Write;
use std::sync::{Arc, LazyLock, OnceLock};

use axum::Router;
use axum::extract::State;
use axum::http::header::{
    ACCEPT_ENCODING, ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    IF_NONE_MATCH, VARY,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::Gateway;
use crate::domain::digest::sha256;

/// Nothing but this origin's own files, nowhere but this origin to talk to, and no markup from text but through the widget's sanitiser.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types dompurify";

const CORP: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

macro_rules! files {
    ($($file:literal),* $(,)?) => { &[$(($file, include_bytes!(concat!("../../static/", $file)))),*] };
}

/// By their names in `static/`. What a page loads as `/widget.js` is what `scripts/bundle.mjs` builds of `static/widget.js`.
const FILES: &[(&str, &[u8])] = files![
    "client.d.ts",
    "client.js",
    "client/api.js",
    "client/json.js",
    "client/outbox.js",
    "client/past.js",
    "client/reduce.js",
    "client/session.js",
    "client/stream.js",
    "dist/widget.js",
    "page.css",
    "page.js",
    "vendor/LICENSES",
    "vendor/dompurify.js",
    "vendor/markdown-it.js",
    "widget.d.ts",
    "widget/strings/zh.js",
];
const INDEX: &str = include_str!("../../static/index.html");

/// The route of each file.
pub(super) fn routes() -> Router<Gateway> {
    FILES.iter().fold(Router::new().route("/", get(index)), |router, (file, body)| {
        let asset = Arc::new(Asset::new(file, *body));
        router.route(&path(file), get(move |headers: HeaderMap| async move { asset.serve(&headers) }))
    })
}

fn path(file: &str) -> String {
    format!("/{}", file.strip_prefix("dist/").unwrap_or(file))
}

/// By the tools that a new session of the page would have: with the suggestions that ask for the demo's, or without.
async fn index(State(gateway): State<Gateway>, headers: HeaderMap) -> Response {
    static PLAIN: LazyLock<Asset> = LazyLock::new(|| Asset::new("index.html", INDEX.as_bytes()));
    static DEMO: LazyLock<Asset> =
        LazyLock::new(|| Asset::new("index.html", INDEX.replacen("<body>", "<body class=\"with-demo\">", 1).into_bytes()));
    let tools = gateway.sessions.settings().setup.toolset("web", None, "default");
    let has_demo = tools.is_some_and(|set| set.tools.iter().any(|tool| tool.spec.name == "demo_booking"));
    if has_demo { DEMO.serve(&headers) } else { PLAIN.serve(&headers) }
}

struct Asset {
    kind: Kind,
    body: Bytes,
    /// Nothing where it could not be made.
    gzip: OnceLock<Option<Bytes>>,
    etag: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Page,
    Script,
    Style,
    Text,
}

impl Kind {
    fn of(file: &str) -> Self {
        match file.rsplit_once('.').map(|(_, extension)| extension) {
            Some("html") => Self::Page,
            Some("js") => Self::Script,
            Some("css") => Self::Style,
            Some(_) | None => Self::Text,
        }
    }

    fn content_type(self) -> &'static str {
        match self {
            Self::Page => "text/html; charset=utf-8",
            Self::Script => "text/javascript; charset=utf-8",
            Self::Style => "text/css; charset=utf-8",
            Self::Text => "text/plain; charset=utf-8",
        }
    }

    fn headers(self) -> Vec<(HeaderName, &'static str)> {
        match self {
            Self::Page => vec![(CONTENT_SECURITY_POLICY, POLICY)],
            Self::Script => vec![(ACCESS_CONTROL_ALLOW_ORIGIN, "*"), (CORP, "cross-origin")],
            Self::Style | Self::Text => Vec::new(),
        }
    }
}

impl Asset {
    fn new(file: &str, body: impl Into<Cow<'static, [u8]>>) -> Self {
        let body = match body.into() {
            Cow::Borrowed(bytes) => Bytes::from_static(bytes),
            Cow::Owned(bytes) => Bytes::from(bytes),
        };
        // weak, for it names the file however it is coded
        Self { kind: Kind::of(file), etag: format!("W/\"{}\"", &sha256(&body)[..16]), gzip: OnceLock::new(), body }
    }

    /// The file, compressed for who takes that, or 304 where the browser has it.
    fn serve(&self, asked: &HeaderMap) -> Response {
        let mut headers = HeaderMap::new();
        headers.extend(self.kind.headers().into_iter().map(|(name, value)| (name, HeaderValue::from_static(value))));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
        headers.extend(HeaderValue::from_str(&self.etag).map(|etag| (ETAG, etag)));
        if has(asked, &self.etag) {
            return (StatusCode::NOT_MODIFIED, headers).into_response();
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.kind.content_type()));
        match self.gzip.get_or_init(|| gzip(&self.body)) {
            Some(packed) if takes_gzip(asked) => {
                headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
                (headers, packed.clone()).into_response()
            }
            Some(_) | None => (headers, self.body.clone()).into_response(),
        }
    }
}

fn gzip(body: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(body).and_then(|()| encoder.finish()).map(Bytes::from).ok()
}

/// The parts of a header's lists, in all of its lines.
fn listed<'h>(headers: &'h HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'h str> {
    headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')).map(str::trim)
}

/// As RFC 9110 compares them here: weakly.
fn has(asked: &HeaderMap, etag: &str) -> bool {
    let opaque = |tag: &str| tag.trim_start_matches("W/").to_owned();
    listed(asked, &IF_NONE_MATCH).any(|tag| tag == "*" || opaque(tag) == opaque(etag))
}

/// By its own name before any other's (RFC 9110, 12.5.3).
fn takes_gzip(asked: &HeaderMap) -> bool {
    let weight = |name: &str| {
        let found = listed(asked, &ACCEPT_ENCODING).find_map(|part| {
            let (coding, rest) = part.split_once(';').unwrap_or((part, ""));
            coding.trim().eq_ignore_ascii_case(name).then_some(rest)
        });
        found.map(|rest| rest.trim().trim_start_matches(['q', 'Q', '=', ' ']).parse::<f32>().unwrap_or(1.0) > 0.0)
    };
    weight("gzip").or_else(|| weight("*")).unwrap_or(false)
}

#[cfg(test)]
mod tests;
