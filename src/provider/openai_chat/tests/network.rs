//! The wire over a real socket, from a listener that sends what a test says.

use std::time::Duration;

use futures_util::StreamExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::{COMPATIBLE, RECORDED, request};
use crate::provider::openai_chat::{OpenAiChat, OpenAiChatConfig};
use crate::provider::table::Quirks;
use crate::provider::{ErrorClass, ModelError, ModelEvent, Provider, http};

/// Long, so that a busy machine does not fail a test.
const DEADLINE: Duration = Duration::from_secs(30);

/// Asks a server that answers with these bytes and then closes; gives the request it saw, the events, and the error if there was one.
async fn ask(answer: Vec<u8>, read_timeout: Duration) -> (String, Vec<ModelEvent>, Option<ModelError>) {
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
    let (events, error) = stream(&format!("http://{address}/v1"), read_timeout).await;
    (server.await.unwrap(), events, error)
}

/// Batches as a reader sees them: text that goes on is one.
fn merge(all: &mut Vec<ModelEvent>, batch: Vec<ModelEvent>) {
    for event in batch {
        match (all.last_mut(), event) {
            (Some(ModelEvent::Text { text, .. }), ModelEvent::Text { text: more, .. }) => text.push_str(&more),
            (Some(ModelEvent::Reasoning { text, .. }), ModelEvent::Reasoning { text: more, .. }) => text.push_str(&more),
            (_, event) => all.push(event),
        }
    }
}

async fn stream(base_url: &str, read_timeout: Duration) -> (Vec<ModelEvent>, Option<ModelError>) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let provider = OpenAiChat::new(OpenAiChatConfig {
        id: "test".into(),
        base_url: base_url.into(),
        key: Some("sk-very-secret".to_owned().into()),
        quirks: Quirks::COMPATIBLE,
        client: http::client(DEADLINE, read_timeout).unwrap(),
    });
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

fn ok(headers: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\n{headers}\r\n{body}").into_bytes()
}

const SSE: &str = "content-type: text/event-stream; charset=utf-8\r\nconnection: close\r\n";

#[tokio::test]
async fn the_request_is_the_body_and_the_answer_its_events() {
    for recorded in [RECORDED, COMPATIBLE] {
        let (seen, events, error) = ask(ok(SSE, recorded), DEADLINE).await;
        let (head, body) = seen.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1"));
        assert!(head.to_lowercase().contains("authorization: bearer sk-very-secret"));
        assert_eq!(body.as_bytes(), crate::provider::openai_chat::body::body(&request(), &Quirks::COMPATIBLE));
        assert_eq!(events, super::read([recorded.as_bytes()]).unwrap());
        assert!(error.is_none());
    }
}

#[tokio::test]
async fn a_cut_is_an_error_after_what_came() {
    let cut = &RECORDED[..RECORDED.find("data: {\"choices\":[{\"index\":0,\"delta\":{},").unwrap()];
    for headers in [SSE, "content-type: text/event-stream\r\ncontent-length: 99999\r\n"] {
        let (_, events, error) = ask(ok(headers, cut), DEADLINE).await;
        let told: Vec<_> =
            super::read([RECORDED.as_bytes()]).unwrap().into_iter().filter(|e| !matches!(e, ModelEvent::Finished { .. })).collect();
        assert_eq!(events, told, "what was said before the cut is shown");
        let error = error.unwrap();
        assert_eq!((error.class, error.code), (ErrorClass::Retry, "transport_cut"));
    }
}

#[tokio::test]
async fn a_cut_behind_the_finish_reason_is_no_loss() {
    let whole = &RECORDED[..RECORDED.find("data: [DONE]").unwrap()];
    let (_, events, error) = ask(ok("content-type: text/event-stream\r\ncontent-length: 99999\r\n", whole), DEADLINE).await;
    assert!(matches!(events.last(), Some(ModelEvent::Finished { .. })) && error.is_none());
}

#[tokio::test]
async fn error_answers_keep_their_meaning_and_lose_the_key() {
    let body = r#"{"error":{"message":"slow down, sk-very-secret","code":"rate_limit_exceeded"}}"#;
    let answer = format!("HTTP/1.1 429 Too Many\r\nretry-after: 3\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let (_, events, error) = ask(answer.into_bytes(), DEADLINE).await;
    let error = error.unwrap();
    assert!(events.is_empty());
    assert_eq!((error.class, error.code, error.retry_after), (ErrorClass::Retry, "rate_limited", Some(Duration::from_secs(3))));
    assert!(error.message.contains("slow down") && !error.to_string().contains("secret"), "{error}");

    let frame = "data: {\"error\":{\"message\":\"bad key sk-very-secret\",\"code\":\"invalid_api_key\"}}\n\n";
    let error = ask(ok(SSE, frame), DEADLINE).await.2.unwrap();
    assert_eq!((error.class, error.code), (ErrorClass::Final, "auth"));
    assert!(!format!("{error:?}").contains("secret"));
}

#[tokio::test]
async fn redirects_are_not_followed_and_pages_are_no_answer() {
    let error =
        ask(b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:9/\r\ncontent-length: 0\r\n\r\n".to_vec(), DEADLINE).await.2.unwrap();
    assert_eq!((error.class, error.code), (ErrorClass::Final, "bad_request"));
    let error = ask(ok("content-type: text/html\r\nconnection: close\r\n", "<html></html>"), DEADLINE).await.2.unwrap();
    assert_eq!((error.class, error.code), (ErrorClass::Final, "invalid_response"));
}

#[tokio::test]
async fn a_server_that_does_not_stream_answers_in_one_batch() {
    let body = r#"{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}"#;
    let (_, events, error) = ask(ok("content-type: application/json\r\nconnection: close\r\n", body), DEADLINE).await;
    assert_eq!(events[0], ModelEvent::Text { block: 0, text: "hi".into() });
    assert!(matches!(events[1], ModelEvent::Finished { .. }) && error.is_none());
}

#[tokio::test]
async fn silence_is_a_timeout_and_nobody_there_a_connect_error() {
    let (_, _, error) = ask(Vec::new(), Duration::from_millis(50)).await;
    let error = error.unwrap();
    assert_eq!((error.class, error.code), (ErrorClass::Retry, "timeout"));

    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap(); // The listener is gone at the end of the line.
    let (_, error) = stream(&format!("http://{closed}/v1"), DEADLINE).await;
    let error = error.unwrap();
    assert_eq!((error.class, error.code), (ErrorClass::Retry, "connect"));
    let (_, error) = stream("not a url", DEADLINE).await;
    assert_eq!(error.unwrap().class, ErrorClass::Final);
}
