//! What comes back.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::domain::message::calls_of;
use crate::domain::{Block, Finish, Usage};
use crate::provider::anthropic::decode;
use crate::provider::http::decode::Decoder;
use crate::provider::tests::recorded::{Recorded, request};
use crate::provider::{ErrorClass, ModelError, ModelEvent};

fn decoder() -> Decoder<decode::MessageAnswer> {
    decode::decoder(&request(), "anthropic", b"the body")
}

/// A stream of these frames, whole.
fn read(frames: &[Value]) -> Result<Vec<ModelEvent>, ModelError> {
    let text: String = frames.iter().map(|frame| format!("event: {}\ndata: {frame}\n\n", frame["type"].as_str().unwrap_or("x"))).collect();
    let (mut decoder, mut events) = (decoder(), Vec::new());
    decoder.push(text.as_bytes(), &mut events)?;
    decoder.finish(&mut events)?;
    Ok(events)
}

fn finished(events: Vec<ModelEvent>) -> (Vec<Block>, Finish, Usage) {
    match events.into_iter().last() {
        Some(ModelEvent::Finished { content, finish, usage }) => (content, finish, usage),
        other => panic!("{other:?}"),
    }
}

fn start(index: u64, block: &Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, delta: &Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn say(text: &str) -> Vec<Value> {
    vec![start(0, &json!({"type": "text", "text": ""})), delta(0, &json!({"type": "text_delta", "text": text}))]
}

fn stop(reason: &str) -> Vec<Value> {
    vec![json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}}), json!({"type": "message_stop"})]
}

#[test]
fn thoughts_keep_their_place_and_what_their_provider_wants_back() {
    let (events, end) = Recorded::named("anthropic/redacted").whole();
    assert_eq!(end, Ok(()));
    assert!(matches!(events[0], ModelEvent::Usage(_)), "it is known from the start: {:?}", events[0]);
    assert_eq!(events[1], ModelEvent::Reasoning { block: 2, text: "A command will do.".into() }, "two redacted ones stand before it");
    assert_eq!(events[2], ModelEvent::Text { block: 3, text: "I look it up.".into() });
    let (content, finish, _) = finished(events);
    assert_eq!(
        serde_json::to_string(&content).unwrap(),
        concat!(
            r#"[{"type":"reasoning","text":"","opaque":{"provider":"anthropic","model":"m","data":"{\"redacted\":\"EmwKAhgBEgy3va3pzix/LafPsn4a==\"}"}},"#,
            r#"{"type":"reasoning","text":"","opaque":{"provider":"anthropic","model":"m","data":"{\"redacted\":\"second+redacted/==\"}"}},"#,
            r#"{"type":"reasoning","text":"A command will do.","opaque":{"provider":"anthropic","model":"m","data":"{\"signature\":\"EqQBCgIYAhIM/+abc==\"}"}},"#,
            r#"{"type":"text","text":"I look it up."},"#,
            r#"{"type":"tool_call","id":"toolu_01T1x1fJ34qAmk2tNTrN7Up6","tool":"bash","args":{"command":"echo 'Grüezi 🙂'","note":"a\\b"}}]"#,
        )
    );
    assert_eq!(finish, Finish::ToolCalls);
}

#[test]
fn what_is_not_known_here_is_skipped_and_counts_are_disjoint() {
    let (content, finish, usage) = finished(Recorded::named("anthropic/omitted").whole().0);
    assert_eq!(
        serde_json::to_string(&content).unwrap(),
        concat!(
            r#"[{"type":"reasoning","text":"","opaque":{"provider":"anthropic","model":"m","data":"{\"signature\":\"EvMBCkYIAxgCKkD+/0000==\"}"}},"#,
            r#"{"type":"reasoning","text":"","opaque":{"provider":"anthropic","model":"m","data":"{\"redacted\":\"EmwKAhgB/+1111==\"}"}},"#,
            r#"{"type":"text","text":"Let me look — 你好."},"#,
            r#"{"type":"tool_call","id":"toolu_01A","tool":"bash","args":{"command":"ls \"é\"","n":1.0}},"#,
            r#"{"type":"tool_call","id":"toolu_01B","tool":"ask_user","args":{}}]"#,
        )
    );
    assert_eq!(finish, Finish::ToolCalls);
    assert_eq!(usage, Usage { input: 11, cache_read: 45_481, cache_write: 825, output: 27, reasoning: 200 });
}

#[test]
fn every_stop_reason_has_its_meaning() {
    let call = || vec![start(1, &json!({"type": "tool_use", "id": "t", "name": "look", "input": {}}))];
    for (reason, with_call, expected) in [
        ("end_turn", false, Finish::Stop),
        ("stop_sequence", false, Finish::Stop),
        ("tool_use", true, Finish::ToolCalls),
        ("end_turn", true, Finish::ToolCalls),
        ("max_tokens", true, Finish::MaxTokens),
        ("refusal", true, Finish::Refusal),
        ("model_context_window_exceeded", false, Finish::MaxTokens),
        ("of_next_year", false, Finish::Stop),
    ] {
        let calls = if with_call { call() } else { vec![] };
        let events = read(&[say("Hi"), calls, stop(reason)].concat()).unwrap();
        assert_eq!(finished(events).1, expected, "{reason}");
    }
    let failed = |frames: Vec<Value>| read(&frames).map(|_| ()).map_err(|e| (e.class, e.code)).unwrap_err();
    assert_eq!(failed([say("Hi"), stop("pause_turn")].concat()), (ErrorClass::Retry, "invalid_response"));
    assert_eq!(failed(stop("model_context_window_exceeded")), (ErrorClass::Overflow, "context_overflow"));
    assert_eq!(failed([call(), stop("model_context_window_exceeded")].concat()), (ErrorClass::Overflow, "context_overflow"));
}

#[test]
fn errors_in_the_stream_have_their_class() {
    for (kind, message, expected) in [
        ("overloaded_error", "Overloaded", (ErrorClass::Retry, "overloaded")),
        ("api_error", "Internal server error", (ErrorClass::Retry, "server_error")),
        ("rate_limit_error", "slow down", (ErrorClass::Retry, "rate_limited")),
        ("timeout_error", "too slow", (ErrorClass::Retry, "timeout")),
        ("invalid_request_error", "messages.1: bad", (ErrorClass::Final, "bad_request")),
        ("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", (ErrorClass::Overflow, "context_overflow")),
        ("request_too_large", "Request exceeds the maximum size", (ErrorClass::Overflow, "context_overflow")),
        ("authentication_error", "invalid x-api-key", (ErrorClass::Final, "auth")),
        ("billing_error", "no credit", (ErrorClass::Final, "billing")),
        ("not_found_error", "model: claude-x", (ErrorClass::Final, "model_not_found")),
    ] {
        let error = json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"});
        let found = read(&[say("Hi"), vec![error.clone()], stop("end_turn")].concat()).unwrap_err();
        assert_eq!((found.class, found.code), expected, "{kind}");
        assert!(found.message.contains(message), "{}", found.message);
        let whole = decoder().whole(error.to_string().as_bytes(), &mut Vec::new()).unwrap_err();
        assert_eq!((whole.class, whole.code), expected, "{kind} as a body of 200");
    }
    let bare = decoder().push(b"data: {\"error\":{\"message\":\"slow\",\"type\":\"rate_limit_error\"}}\n\n", &mut Vec::new()).unwrap_err();
    assert_eq!(bare.code, "rate_limited");
}

#[test]
fn an_answer_that_is_not_streamed_is_read() {
    let body = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "S"},
            {"type": "text", "text": "Hi"},
            {"type": "mystery", "text": 7},
            {"type": "tool_use", "id": "t", "name": "look", "input": {"a": 1}},
        ],
        "usage": {"input_tokens": 3, "output_tokens": 4},
    });
    let mut events = Vec::new();
    decoder().whole(body.to_string().as_bytes(), &mut events).unwrap();
    assert_eq!(events[1], ModelEvent::Reasoning { block: 0, text: "hm".into() });
    let (content, finish, usage) = finished(events);
    assert_eq!(calls_of(&content).next().unwrap().args.as_str(), "{\"a\":1}");
    assert_eq!((content.len(), finish, usage.input, usage.output), (3, Finish::ToolCalls, 3, 4));
}

#[test]
fn loose_servers_are_read() {
    // no start of the message, none of the block, no usage, another wire's end
    let mut frames =
        vec![delta(3, &json!({"type": "text_delta", "text": "Hi"})), delta(3, &json!({"type": "text_delta", "text": " there"}))];
    frames.push(json!({"type": "message_stop"}));
    let (content, finish, usage) = finished(read(&frames).unwrap());
    assert_eq!((content, finish, usage), (vec![Block::Text { text: "Hi there".into() }], Finish::Stop, Usage::default()));
    let mut events = Vec::new();
    let mut decoder = decoder();
    decoder.push(b"data: [DONE]\n\n", &mut events).unwrap();
    assert_eq!(decoder.finish(&mut events).unwrap_err().code, "transport_cut", "which is not this wire's");
    // the whole input at the start, an id twice and none at all, no name
    let tool = |id: &str| json!({"type": "tool_use", "id": id, "input": {"a": 1.5}});
    let calls = [start(0, &tool("t")), start(1, &tool("t")), start(2, &tool(""))];
    let (content, ..) = finished(read(&[calls.to_vec(), stop("tool_use")].concat()).unwrap());
    let ids: std::collections::BTreeSet<_> = calls_of(&content).map(|call| call.id.to_string()).collect();
    assert_eq!(ids.len(), 3, "{ids:?}");
    assert!(calls_of(&content).all(|call| call.args.as_str() == "{\"a\":1.5}" && call.tool == "unnamed"));
}

#[test]
fn two_texts_are_two_blocks() {
    let second = [start(1, &json!({"type": "text", "text": "b"})), delta(1, &json!({"type": "text_delta", "text": "c"}))];
    let events = read(&[say("a"), second.to_vec(), stop("end_turn")].concat()).unwrap();
    assert_eq!(events[1..3], [ModelEvent::Text { block: 0, text: "a".into() }, ModelEvent::Text { block: 1, text: "bc".into() }]);
}

proptest! {
    #[test]
    fn no_input_panics(bytes: Vec<u8>, text in "(data: ?(\\{\"type\":\"(content_block_(start|delta)|message_(start|delta|stop)|error)\",\"(index|delta|usage)\":[\\{\\}\\[\\]\":,a-z0-9]{0,12}\\}?|\\[DONE\\])\r?\n\n?){0,5}") {
        let (mut decoder, mut events) = (decoder(), Vec::new());
        let _ = decoder.push(&bytes, &mut events).and_then(|()| decoder.push(text.as_bytes(), &mut events)).and_then(|()| decoder.finish(&mut events));
        let _ = super::decode::decoder().whole(&bytes, &mut Vec::new());
    }
}
