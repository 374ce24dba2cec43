//! A server for the wires' tests over a real socket: it sends what a test says, whatever it is asked.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::recorded::request;
use crate::provider::http::decode::count;
use crate::provider::{ModelError, ModelEvent, Provider, http};

/// Long, so that a busy machine does not fail a test.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);
/// What every test's provider calls with.
pub(crate) const KEY: &str = "sk-very-secret";
/// The headers of a stream.
pub(crate) const SSE: &str = "content-type: text/event-stream; charset=utf-8\r\nconnection: close\r\n";

/// Makes a provider that asks at this origin, with [`KEY`].
pub(crate) type Make = fn(&str, reqwest::Client) -> Arc<dyn Provider>;

/// Asks a server that answers with these bytes and then closes; gives the request it saw, the events, and the error if there was one.
pub(crate) async fn ask(make: Make, answer: Vec<u8>, read_timeout: Duration) -> (String, Vec<ModelEvent>, Option<ModelError>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let (mut seen, mut buffer) = (Vec::new(), [0; 4096]);
        while !seen.ends_with(b"]}") {
            let n = socket.read(&mut buffer).await.unwrap();
            seen.extend_from_slice(&buffer[..n]);
        }
        socket.write_all(&answer).await.unwrap();
        if answer.is_empty() {
            let _ = socket.read(&mut buffer).await; // Silence until the client gives up.
        }
        String::from_utf8(seen).unwrap()
    });
    let (events, error) = stream(make, &format!("http://{address}"), read_timeout).await;
    (server.await.unwrap(), events, error)
}

/// Asks whoever is at this origin.
pub(crate) async fn stream(make: Make, origin: &str, read_timeout: Duration) -> (Vec<ModelEvent>, Option<ModelError>) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let provider = make(origin, http::client(DEADLINE, read_timeout).unwrap());
    let (mut events, mut error) = (Vec::new(), None);
    let mut stream = provider.stream(request());
    while let Some(batch) = tokio::time::timeout(DEADLINE, stream.next()).await.unwrap() {
        assert!(error.is_none(), "nothing follows an error");
        match batch {
            Ok(batch) => merge(&mut events, batch),
            Err(e) => error = Some(e),
        }
    }
    (events, error)
}

/// Batches as a reader sees them: text that goes on is one, and the newest count holds.
fn merge(all: &mut Vec<ModelEvent>, batch: Vec<ModelEvent>) {
    for event in batch {
        match (all.last_mut(), event) {
            (Some(ModelEvent::Text { block, text }), ModelEvent::Text { block: same, text: more }) if *block == same => {
                text.push_str(&more)
            }
            (Some(ModelEvent::Reasoning { block, text }), ModelEvent::Reasoning { block: same, text: more }) if *block == same => {
                text.push_str(&more);
            }
            (_, ModelEvent::Usage(usage)) => count(usage, all),
            (_, event) => all.push(event),
        }
    }
}

/// An answer of 200.
pub(crate) fn ok(headers: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\n{headers}\r\n{body}").into_bytes()
}
