//! A response read as batches of events: what every wire does with the network, so that a wire itself is two pure functions.

use async_stream::try_stream;
use futures_util::FutureExt;
use reqwest::header::CONTENT_TYPE;
use secrecy::SecretString;

use super::decode::{Answer, Decoder};
use super::{ErrorClass, ModelError, redact, send, transport, whole_body};
use crate::provider::{ModelEvent, ModelStream};

/// The most reads of the network that become one batch: enough that a fast stream costs its readers one wake-up for many tokens, and few
/// enough that other tasks get their turn.
const READS_PER_BATCH: usize = 64;
/// The longest answer of a server that does not stream, in bytes.
const UNSTREAMED_LIMIT: usize = 16 * 1024 * 1024;

/// Sends the request and gives what `decoder` reads in its response. `key` is what no error may show.
pub fn stream(request: reqwest::RequestBuilder, key: Option<SecretString>, mut decoder: Decoder<impl Answer>) -> ModelStream {
    Box::pin(try_stream! {
        let mut response = send(request).await.map_err(|error| redact(error, key.as_ref()))?;
        while !decoder.is_finished() {
            let mut events = Vec::new();
            let read = read(&mut response, &mut decoder, &mut events).await;
            // What came before an error was said, and is shown before it is taken back.
            if !events.is_empty() {
                yield events;
            }
            read.map_err(|error| redact(error, key.as_ref()))?;
        }
    })
}

/// The next batch: what there is now, after a wait if there is nothing. Empty where it held no event; not empty beside an error that came
/// after events.
async fn read(
    response: &mut reqwest::Response,
    decoder: &mut Decoder<impl Answer>,
    events: &mut Vec<ModelEvent>,
) -> Result<(), ModelError> {
    match content_type(response) {
        "application/json" => {
            let body = whole_body(response, UNSTREAMED_LIMIT).await?;
            return decoder.whole(&body, events);
        }
        "text/html" => return Err(no_api()),
        _ => {}
    }
    let mut next = response.chunk().await;
    for reads_left in (0..READS_PER_BATCH).rev() {
        match next {
            Ok(Some(bytes)) => decoder.push(&bytes, events)?,
            Ok(None) => decoder.finish(events)?,
            // The answer was whole, and only the end of its stream got lost.
            Err(_) if decoder.is_whole() => decoder.finish(events)?,
            Err(error) => return Err(transport(&error)),
        }
        if decoder.is_finished() || reads_left == 0 {
            break;
        }
        // Asked once and without waiting; a read that is not ready loses nothing by being dropped.
        match response.chunk().now_or_never() {
            Some(read) => next = read,
            None => break,
        }
    }
    Ok(())
}

/// The media type alone, as servers write it.
fn content_type(response: &reqwest::Response) -> &str {
    let value = response.headers().get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim()
}

fn no_api() -> ModelError {
    let message = "the provider answered with a web page and not with its API: is the base URL right?".into();
    ModelError { class: ErrorClass::Final, code: "invalid_response", message, retry_after: None }
}
