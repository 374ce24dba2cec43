//! Request bodies and the headers that go with them.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use tokio::time::timeout;

use super::code::Code;
use super::error::ApiError;
use crate::domain::digest::sha256;

/// The most bytes of a message, a session or a change of one.
pub(super) const MESSAGE_CAP: usize = 64 * 1024;
/// The most bytes of a decision or an answer.
pub(super) const DECISION_CAP: usize = 4 * 1024;

/// The most characters of an `Idempotency-Key`.
pub(super) const KEY_CAP: usize = 255;

/// How long a client may take to send a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// What body a request may come with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    Required,
    /// Nothing at all means `{}`.
    Optional,
    /// A merge-patch, which may say that it is one.
    Patch,
}

/// A body that was read whole, within its cap.
#[derive(Debug)]
pub(super) struct JsonBody {
    bytes: Bytes,
}

/// Reads a JSON body of at most `cap` bytes. Not cancel-safe: what was read is lost, and so is the request.
///
/// # Errors
/// 413 over the cap, 415 where it is not said to be JSON, 408 where it does not come in time, 400 where it ends early.
pub(super) async fn read(headers: &HeaderMap, body: Body, cap: usize, need: Need) -> Result<JsonBody, ApiError> {
    fits(headers, cap)?;
    let not_json = || {
        let detail = "the body must be JSON: send Content-Type: application/json";
        ApiError::new(Code::UnsupportedMediaType, detail)
    };
    let optional = need == Need::Optional;
    let may_lack = optional && !headers.contains_key(CONTENT_TYPE);
    if !may_lack && !is_json(headers, need) {
        return Err(not_json());
    }
    let bytes = raw(headers, body, cap).await?;
    if may_lack && !bytes.is_empty() {
        return Err(not_json());
    }
    let bytes = if bytes.is_empty() && optional { Bytes::from_static(b"{}") } else { bytes };
    Ok(JsonBody { bytes })
}

/// Reads a body of any kind, of at most `cap` bytes, as it came. Not cancel-safe: what was read is lost, and so is the request.
///
/// # Errors
/// 413 over the cap, 408 where it does not come in time, 400 where it ends early.
pub(super) async fn raw(headers: &HeaderMap, body: Body, cap: usize) -> Result<Bytes, ApiError> {
    fits(headers, cap)?;
    let late = |_| ApiError::new(Code::InvalidRequest, "the body did not come in time").with_status(StatusCode::REQUEST_TIMEOUT);
    timeout(BODY_TIMEOUT, to_bytes(body, cap)).await.map_err(late)?.map_err(|error| {
        let early = "the body ended before it was whole";
        if is_too_long(&error) { too_large(cap) } else { ApiError::new(Code::InvalidJson, early) }
    })
}

/// What says itself that it is too large is not read.
fn fits(headers: &HeaderMap, cap: usize) -> Result<(), ApiError> {
    let declared = headers.get("content-length").and_then(|v| v.to_str().ok()).and_then(|v| v.parse::<usize>().ok());
    if declared.is_some_and(|n| n > cap) { Err(too_large(cap)) } else { Ok(()) }
}

fn too_large(cap: usize) -> ApiError {
    ApiError::new(Code::BodyTooLarge, format!("the body may have at most {cap} bytes"))
}

fn is_too_long(error: &axum::Error) -> bool {
    std::error::Error::source(error).is_some_and(|source| source.is::<http_body_util::LengthLimitError>())
}

fn is_json(headers: &HeaderMap, need: Need) -> bool {
    let Some(value) = headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok()) else { return false };
    let kind = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || need == Need::Patch && kind == "application/merge-patch+json"
}

impl JsonBody {
    /// The body as `T`: 400 where it is not JSON, 422 with a pointer where it is not this JSON.
    pub(super) fn parse<T: DeserializeOwned>(&self) -> Result<T, ApiError> {
        // serde would take an array for a struct, by position
        if is_valid(&self.bytes) && self.bytes.trim_ascii_start().first() != Some(&b'{') {
            return Err(ApiError::invalid("", "the body must be a JSON object"));
        }
        let mut json = serde_json::Deserializer::from_slice(&self.bytes);
        let parsed = serde_path_to_error::deserialize(&mut json);
        match parsed {
            Ok(value) => match json.end() {
                Ok(()) => Ok(value),
                Err(error) => Err(not_json(&error)),
            },
            // serde calls some wrong types a syntax error: what is JSON is not
            Err(error) if is_valid(&self.bytes) => {
                let wrong_type = error.inner().classify() == serde_json::error::Category::Syntax;
                let detail = if wrong_type { "is not of the type that is due here".into() } else { error.inner().to_string() };
                Err(ApiError::invalid(pointer(error.path(), &detail), detail))
            }
            Err(error) => Err(not_json(error.inner())),
        }
    }

    /// Hex SHA-256: what makes a repeat of a key the same request.
    pub(super) fn hash(&self) -> String {
        sha256(&self.bytes)
    }
}

/// A list of objects, or null. serde would take an array for a struct, by position.
///
/// # Errors
/// Where an item is not an object, or not one of `T`.
pub(super) fn objects<'de, T: DeserializeOwned, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<T>>, D::Error> {
    struct Object<T>(T);

    impl<'de, T: DeserializeOwned> Deserialize<'de> for Object<T> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_map(Fields(PhantomData)).map(Self)
        }
    }

    struct Fields<T>(PhantomData<T>);

    impl<'de, T: DeserializeOwned> Visitor<'de> for Fields<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
            T::deserialize(MapAccessDeserializer::new(map))
        }
    }

    let all = Option::<Vec<Object<T>>>::deserialize(deserializer)?;
    Ok(all.map(|all| all.into_iter().map(|Object(item)| item).collect()))
}

fn is_valid(bytes: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok()
}

fn not_json(error: &serde_json::Error) -> ApiError {
    ApiError::new(Code::InvalidJson, format!("the body is not valid JSON: {error}"))
}

/// Where the fault is. A field that is missing, unknown or there twice is named by serde's words only.
fn pointer(path: &serde_path_to_error::Path, detail: &str) -> String {
    use serde_path_to_error::Segment;
    let named = ["missing field `", "unknown field `", "duplicate field `"].iter().find_map(|words| detail.strip_prefix(words));
    let named = named.and_then(|rest| rest.split('`').next()).filter(|name| path.iter().next_back().is_none_or(|last| !is_key(last, name)));
    let at = path.iter().fold(String::new(), |mut pointer, segment| {
        pointer.push('/');
        match segment {
            Segment::Seq { index } => pointer.push_str(&index.to_string()),
            Segment::Map { key } => pointer.push_str(&key.replace('~', "~0").replace('/', "~1")),
            Segment::Enum { variant } => pointer.push_str(variant),
            Segment::Unknown => pointer.push('?'),
        }
        pointer
    });
    named.map_or(at.clone(), |name| format!("{at}/{name}"))
}

fn is_key(segment: &serde_path_to_error::Segment, name: &str) -> bool {
    matches!(segment, serde_path_to_error::Segment::Map { key } if key == name)
}

/// A JSON answer.
pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Response {
    match serde_json::to_string(value) {
        Ok(text) => raw_json(status, text),
        Err(error) => ApiError::unavailable("the answer could not be written", error.to_string()).into_response(),
    }
}

/// JSON text as an answer.
pub(super) fn raw_json(status: StatusCode, text: impl Into<Bytes>) -> Response {
    (status, [(CONTENT_TYPE, "application/json")], text.into()).into_response()
}

/// The `Idempotency-Key`, 1 to 255 printable ASCII characters.
pub(super) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let mut values = headers.get_all("idempotency-key").iter();
    let Some(value) = values.next() else { return Ok(None) };
    let printable = |b: &u8| (0x20..0x7f).contains(b);
    let key = value.as_bytes();
    if values.next().is_some() || key.is_empty() || key.len() > KEY_CAP || !key.iter().all(printable) {
        return Err(ApiError::invalid("Idempotency-Key", "send it once, with 1 to 255 printable ASCII characters"));
    }
    Ok(Some(String::from_utf8_lossy(key).into_owned()))
}

/// Whether the caller asks for the event stream: one `Accept` line names `text/event-stream` and does not name JSON with the same weight.
pub(super) fn wants_stream(headers: &HeaderMap) -> bool {
    headers.get_all(ACCEPT).iter().filter_map(|line| line.to_str().ok()).any(|line| {
        let weight = |kind: &str| {
            line.split(',')
                .filter_map(|range| {
                    let mut parts = range.split(';').map(str::trim);
                    let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(kind));
                    let q = parts.find_map(|p| p.strip_prefix("q=")).map_or(Some(1.0), |q| q.parse::<f32>().ok());
                    named.then_some(q).flatten()
                })
                .fold(0.0, f32::max)
        };
        weight("text/event-stream") > weight("application/json")
    })
}

/// `Prefer: wait=N`, clamped to 1..120 seconds.
pub(super) fn prefer_wait(headers: &HeaderMap) -> Option<u64> {
    let lines = headers.get_all("prefer").iter().filter_map(|v| v.to_str().ok());
    let mut preferences = lines.flat_map(|line| line.split([',', ';'])).filter_map(|p| p.split_once('='));
    let (_, wait) = preferences.find(|(name, _)| name.trim().eq_ignore_ascii_case("wait"))?;
    let wait = wait.trim().trim_matches('"');
    let digits = !wait.is_empty() && wait.bytes().all(|b| b.is_ascii_digit());
    // more than fits is more than the most
    digits.then(|| wait.parse::<u64>().unwrap_or(u64::MAX).clamp(1, 120))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;
    use axum::http::header::ACCEPT;

    use super::{prefer_wait, wants_stream};

    fn accepts(lines: &[&str]) -> bool {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(ACCEPT, line.parse().unwrap());
        }
        wants_stream(&headers)
    }

    #[test]
    fn the_stream_goes_to_who_prefers_it() {
        assert!(accepts(&["text/event-stream"]));
        assert!(accepts(&["text/event-stream, */*"]));
        assert!(accepts(&["text/event-stream, application/json;q=0.9"]));
        assert!(accepts(&["text/event-stream, application/json", "text/event-stream"]));
        assert!(!accepts(&[]));
        assert!(!accepts(&["*/*"]));
        assert!(!accepts(&["text/event-stream, application/json, */*"]));
        assert!(!accepts(&["application/json, text/event-stream;q=0.5"]));
        assert!(!accepts(&["text/event-stream;q=0"]));
    }

    #[test]
    fn a_wait_is_clamped() {
        let wait = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("prefer", value.parse().unwrap());
            prefer_wait(&headers)
        };
        assert_eq!(wait("wait=10"), Some(10));
        assert_eq!(wait("respond-async, wait=500"), Some(120));
        assert_eq!(wait("wait=0"), Some(1));
        assert_eq!(wait("Wait=7"), Some(7));
        assert_eq!(wait("wait=99999999999999999999"), Some(120));
        assert_eq!(wait("wait=x"), None);
        assert_eq!(wait("respond-async"), None);
    }
}
