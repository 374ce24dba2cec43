//! The wire over a real socket, from a listener that sends what a test says.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;

use super::{COMPATIBLE, RECORDED, request};
use crate::provider::files::Takes;
use crate::provider::openai_chat::{OpenAiChat, OpenAiChatConfig};
use crate::provider::table::Quirks;
use crate::provider::tests::listener::{self, DEADLINE, KEY, SSE, ok};
use crate::provider::{ErrorClass, ModelError, ModelEvent, Provider};

fn provider(origin: &str, client: reqwest::Client) -> Arc<dyn Provider> {
    let (id, key) = ("test".into(), Some(KEY.to_owned().into()));
    Arc::new(OpenAiChat::new(OpenAiChatConfig {
        id,
        base_url: format!("{origin}/v1"),
        key,
        quirks: Quirks::COMPATIBLE,
        takes: Takes::BOTH,
        client,
    }))
}

async fn ask(answer: Vec<u8>, read_timeout: Duration) -> (String, Vec<ModelEvent>, Option<ModelError>) {
    listener::ask(provider, answer, read_timeout).await
}

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
        let in_front = |event: &ModelEvent| !matches!(event, ModelEvent::Usage(_) | ModelEvent::Finished { .. });
        let told: Vec<_> = super::read([RECORDED.as_bytes()]).unwrap().into_iter().filter(in_front).collect();
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
    let (_, error) = listener::stream(provider, &format!("http://{closed}"), DEADLINE).await;
    let error = error.unwrap();
    assert_eq!((error.class, error.code), (ErrorClass::Retry, "connect"));
    assert!(error.message.starts_with(&format!("cannot reach http://{closed}/")), "{error}");
    assert!(error.message.ends_with(" (connection refused)"), "{error}");
    let (_, error) = listener::stream(provider, "not a url", DEADLINE).await;
    assert_eq!(error.unwrap().class, ErrorClass::Final);
}
