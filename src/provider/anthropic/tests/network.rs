//! The wire over a real socket.

use std::sync::Arc;
use std::time::Duration;

use crate::provider::anthropic::{Anthropic, AnthropicConfig, body};
use crate::provider::files::Takes;
use crate::provider::tests::listener::{DEADLINE, KEY, SSE, ask, ok};
use crate::provider::tests::recorded::{Recorded, request};
use crate::provider::{ErrorClass, ModelEvent, Provider};

fn provider(origin: &str, client: reqwest::Client) -> Arc<dyn Provider> {
    let (id, key) = ("anthropic".into(), Some(KEY.to_owned().into()));
    Arc::new(Anthropic::new(AnthropicConfig { id, base_url: origin.into(), key, takes: Takes::BOTH, client }))
}

#[tokio::test]
async fn the_request_is_the_body_and_the_answer_its_events() {
    let recorded = Recorded::named("anthropic/thinking");
    let (seen, events, error) = ask(provider, ok(SSE, recorded.text), DEADLINE).await;
    let (head, sent) = seen.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /v1/messages HTTP/1.1"), "{head}");
    let head = head.to_lowercase();
    assert!(head.contains("x-api-key: sk-very-secret") && head.contains("anthropic-version: 2023-06-01") && !head.contains("bearer"));
    assert_eq!(sent.as_bytes(), body::body(&request(), "anthropic"));
    assert_eq!((events, error.map(|e| e.code)), (recorded.whole().0, None));
}

#[tokio::test]
async fn a_stream_that_ends_before_its_last_word_is_a_cut() {
    let recorded = Recorded::named("anthropic/text");
    let cut = &recorded.text[..recorded.text.find("event: message_stop").unwrap()];
    for headers in [SSE, "content-type: text/event-stream\r\ncontent-length: 99999\r\n"] {
        let (_, events, error) = ask(provider, ok(headers, cut), DEADLINE).await;
        assert_eq!(error.map(|e| (e.class, e.code)), Some((ErrorClass::Retry, "transport_cut")));
        assert!(matches!(events[..], [ModelEvent::Usage(_), ModelEvent::Text { .. }]), "what was said before the cut is shown: {events:?}");
    }
}

#[tokio::test]
async fn error_answers_keep_their_meaning_and_lose_the_key() {
    let answer = |status: &str, headers: &str, kind: &str| {
        let body = format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"no, {KEY}"}},"request_id":"req_1"}}"#);
        format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\r\n{body}", body.len()).into_bytes()
    };
    for (status, headers, kind, class, code, after) in [
        ("429 Too Many", "retry-after: 3\r\n", "rate_limit_error", ErrorClass::Retry, "rate_limited", Some(3)),
        ("529 Overloaded", "", "overloaded_error", ErrorClass::Retry, "overloaded", None),
        ("400 Bad", "", "invalid_request_error", ErrorClass::Final, "bad_request", None),
        ("401 No", "", "authentication_error", ErrorClass::Final, "auth", None),
        ("413 Large", "", "request_too_large", ErrorClass::Overflow, "context_overflow", None),
        ("200 OK", "", "overloaded_error", ErrorClass::Retry, "overloaded", None),
    ] {
        let (_, events, error) = ask(provider, answer(status, headers, kind), DEADLINE).await;
        let error = error.unwrap();
        assert!(events.is_empty());
        assert_eq!((error.class, error.code, error.retry_after), (class, code, after.map(Duration::from_secs)), "{status}");
        assert!(error.message.contains("no, [key]") && !format!("{error:?}").contains("secret"), "{error}");
    }
}
