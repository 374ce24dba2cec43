//! The body of an answer, up to a number of bytes, with a report of how far it is.

use std::time::Duration;

use reqwest::Response;
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::tool::Progress;
use crate::tool::net_guard::client::innermost;
use crate::tool::net_guard::shortened;

/// Readers of progress see a number move; more often than this only costs.
const REPORT_EVERY: Duration = Duration::from_millis(250);

#[derive(Debug, Default)]
pub(super) struct Body {
    pub(super) bytes: Vec<u8>,
    /// There is more than was read.
    pub(super) cut: bool,
}

/// The body did not come whole; a sentence for the model.
#[derive(Debug, thiserror::Error)]
#[error("the connection broke before the page was whole, after {received} of {expected} bytes: {why}")]
pub(super) struct Broken {
    received: usize,
    /// The length that was announced, if one was.
    expected: String,
    why: String,
}

/// Reads at most `limit` bytes. What is beyond is left with the server, whose connection is closed. Not cancel-safe: what it has read is
/// lost with it.
///
/// # Errors
/// When the connection breaks, or the answer ends before the length that it announced.
pub(super) async fn download(mut response: Response, limit: usize, progress: &Progress) -> Result<Body, Broken> {
    let mut body = Body::default();
    let mut due = Instant::now() + REPORT_EVERY;
    let expected = response.content_length().map_or_else(|| "unknown".to_owned(), |length| length.to_string());
    loop {
        let chunk = match response.chunk().await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => return Ok(body),
            Err(error) => return Err(Broken { received: body.bytes.len(), expected, why: shortened(&innermost(&error).to_string()) }),
        };
        let room = limit - body.bytes.len();
        body.bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            body.cut = true;
            return Ok(body);
        }
        if Instant::now() >= due {
            due = Instant::now() + REPORT_EVERY;
            (progress.0)(Map::from_iter([("bytes".to_owned(), Value::from(body.bytes.len()))]));
        }
    }
}
