//! Whatever a model sends as arguments, every later request is JSON that a strict parser takes: one that does not would end its session.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::recorded::request;
use crate::domain::SurfaceMessage;
use crate::domain::message::{Block, calls_of};
use crate::provider::http::decode::{Answer, Decoder};
use crate::provider::table::Quirks;
use crate::provider::{ModelEvent, anthropic, openai_chat};

const PIECES: &[&str] =
    &["{", "}", "[", "]", "\"", "\"a\":", ",", ":", "\\ud83d", "\\ude42", "\\u0000", "\\", "1e999", "-0", "null", " ", "é", "\u{7f}"];

/// Text that looks like JSON and often is none: halves of surrogate pairs, deep nesting, numbers without an end.
fn arguments() -> impl Strategy<Value = String> {
    let pieces = proptest::collection::vec(proptest::sample::select(PIECES), 0..12).prop_map(|pieces| pieces.concat());
    let strings = pieces.clone().prop_map(|inner| format!("{{\"a\":\"{inner}\"}}"));
    let nested = (0..400_usize, pieces.clone()).prop_map(|(depth, inner)| {
        let inner = if inner.len() % 2 == 0 { String::new() } else { inner };
        format!("{{\"a\":{}{inner}{}}}", "[".repeat(depth), "]".repeat(depth))
    });
    prop_oneof![pieces, strings, nested, any::<String>()]
}

fn answer(mut decoder: Decoder<impl Answer>, frames: &[Value]) -> Vec<Block> {
    let text: String = frames.iter().map(|frame| format!("data: {frame}\n\n")).collect();
    let mut events = Vec::new();
    decoder.push(text.as_bytes(), &mut events).unwrap();
    decoder.finish(&mut events).unwrap();
    match events.pop() {
        Some(ModelEvent::Finished { content, .. }) => content,
        other => panic!("{other:?}"),
    }
}

fn over_anthropic(arguments: &str) -> Vec<Block> {
    let start = json!({"type": "tool_use", "id": "c", "name": "t", "input": {}});
    let delta = json!({"type": "input_json_delta", "partial_json": arguments});
    let frames = [
        json!({"type": "content_block_start", "index": 0, "content_block": start}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "message_stop"}),
    ];
    answer(anthropic::decode::decoder(&request(), "anthropic", b""), &frames)
}

fn over_openai_chat(arguments: &str) -> Vec<Block> {
    let call = json!({"index": 0, "id": "c", "function": {"name": "t", "arguments": arguments}});
    let frames = [json!({"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]})];
    answer(openai_chat::decode::decoder(&request(), b""), &frames)
}

/// serde's own value takes no half of a pair and nothing that is nested deeper than 127.
fn strictly(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(bytes)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_replayed_request_is_strict_json(arguments in arguments()) {
        for content in [over_anthropic(&arguments), over_openai_chat(&arguments)] {
            let call = calls_of(&content).next().unwrap().clone();
            let result = SurfaceMessage::ToolResult { tool_call_id: call.id, tool: call.tool, content: "r".into(), is_error: true };
            let mut request = request();
            request.messages = vec![Arc::new(SurfaceMessage::Assistant { content }), Arc::new(result)];
            let sent = strictly(&anthropic::body::body(&request, "anthropic"));
            prop_assert!(sent.pointer("/messages/1/content/0/input").is_some_and(Value::is_object), "{}", sent);
            let sent = strictly(&openai_chat::body::body(&request, &Quirks::COMPATIBLE));
            strictly(sent.pointer("/messages/1/tool_calls/0/function/arguments").and_then(Value::as_str).unwrap().as_bytes());
        }
    }
}
