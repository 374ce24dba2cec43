//! HTTP to providers: one client for all of them, and what its failures mean.
//!
//! It retries nothing and follows no redirect. [`stream`] and [`decode`] read a response for every wire, [`classify`] says what an error answer means,
//! [`retry_after`] when to come back. No message that leaves this folder holds a key: see [`redact`].

use std::error::Error;
use std::io;
use std::time::{Duration, SystemTime};

use secrecy::{ExposeSecret, SecretString};

use super::{ErrorClass, ModelError};

pub mod classify;
pub mod decode;
pub mod retry_after;
pub mod stream;

/// How long a connection may take to open.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest silence of a stream, and before its head. Long, because a model may think for a minute before its first word.
pub const READ_TIMEOUT: Duration = Duration::from_secs(120);
/// The most of an error's body that is read.
const ERROR_BODY_LIMIT: usize = 64 * 1024;
/// How long reading an error's body may take in all: its status is known already.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(5);
/// The most characters of a provider's message that are passed on.
const MESSAGE_CHARS: usize = 600;

/// The one client. It has no total timeout, which would cut healthy streams, and follows no redirect, which would turn a POST into a GET and
/// carry the key elsewhere. `main` has installed rustls' ring provider before.
///
/// # Errors
/// When TLS cannot be set up.
pub fn client(connect_timeout: Duration, read_timeout: Duration) -> Result<reqwest::Client, reqwest::Error> {
    reqwest::Client::builder()
        .connect_timeout(connect_timeout)
        .read_timeout(read_timeout)
        .tcp_nodelay(true)
        .tcp_keepalive(Duration::from_secs(30))
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("portico/", env!("CARGO_PKG_VERSION")))
        .build()
}

/// Sends a request and gives its response if that is a success. Dropped, it gives the request up; the provider may have begun to answer.
///
/// # Errors
/// What connecting, the status and the body of an error answer mean.
pub async fn send(request: reqwest::RequestBuilder) -> Result<reqwest::Response, ModelError> {
    let mut response = request.send().await.map_err(|error| transport(&error))?;
    if response.status().is_success() {
        return Ok(response);
    }
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    let body = tokio::time::timeout(ERROR_BODY_TIMEOUT, head_of_body(&mut response)).await.unwrap_or_default();
    Err(classify::answer(status, &headers, &body, SystemTime::now()))
}

/// The whole body of a response, for servers that do not stream. Not cancel-safe: what it has read is lost.
///
/// # Errors
/// When the transport fails, or the body is longer than `limit` bytes.
pub async fn whole_body(response: &mut reqwest::Response, limit: usize) -> Result<Vec<u8>, ModelError> {
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await.map_err(|error| transport(&error))? {
        if body.len() + bytes.len() > limit {
            return Err(invalid_response(format!("the answer is longer than {limit} bytes")));
        }
        body.extend_from_slice(&bytes);
    }
    Ok(body)
}

/// What a failure of the transport means.
pub fn transport(error: &reqwest::Error) -> ModelError {
    let (class, code) = if error.is_builder() {
        (ErrorClass::Final, "bad_request")
    } else if error.is_connect() {
        (ErrorClass::Retry, "connect")
    } else if error.is_timeout() {
        (ErrorClass::Retry, "timeout")
    } else {
        (ErrorClass::Retry, "transport_cut")
    };
    let message = match error.url() {
        Some(url) if error.is_connect() => format!("cannot reach {url} ({})", root(error)),
        _ => chain(error),
    };
    ModelError { class, code, message: shorten(&message), retry_after: None }
}

/// A stream ended before its answer did.
pub fn cut() -> ModelError {
    let message = "the provider's stream ended before its answer was whole".into();
    ModelError { class: ErrorClass::Retry, code: "transport_cut", message, retry_after: None }
}

/// The provider sent what its wire does not allow.
pub fn invalid_response(message: String) -> ModelError {
    ModelError { class: ErrorClass::Retry, code: "invalid_response", message, retry_after: None }
}

/// Takes the key out of a message: some servers repeat the key they refuse.
pub fn redact(mut error: ModelError, key: Option<&SecretString>) -> ModelError {
    if let Some(key) = key.map(ExposeSecret::expose_secret).filter(|key| !key.is_empty()) {
        error.message = error.message.replace(key, "[key]");
    }
    error
}

/// The first characters of a provider's message.
fn shorten(message: &str) -> String {
    match message.char_indices().nth(MESSAGE_CHARS) {
        Some((end, _)) => format!("{}...", &message[..end]),
        None => message.to_owned(),
    }
}

/// An error and its causes in one line. reqwest's own first line names the URL and no cause.
fn chain(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.contains(&next) {
            text = format!("{text}: {next}");
        }
        cause = error.source();
    }
    text
}

/// The last cause, without the number that the system has for it.
fn root(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    let of_system = cause.downcast_ref::<io::Error>().filter(|io| io.raw_os_error().is_some());
    of_system.map_or_else(|| cause.to_string(), |io| io.kind().to_string())
}

async fn head_of_body(response: &mut reqwest::Response) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(bytes)) = response.chunk().await {
        body.extend_from_slice(&bytes[..bytes.len().min(ERROR_BODY_LIMIT - body.len())]);
        if body.len() == ERROR_BODY_LIMIT {
            break;
        }
    }
    body
}
