//! The Anthropic wire: answers of the scripted model, and what a request must be.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::Reply;

/// An answer that takes shape, block by block.
#[derive(Debug)]
pub(crate) struct Blocks {
    reply: Reply,
    index: u64,
}

impl Blocks {
    pub(crate) fn begin() -> Self {
        let usage = json!({"input_tokens": 6, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 2, "output_tokens": 1});
        let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "mock", "content": [], "usage": usage});
        Self { reply: Reply::stream().data(&json!({"type": "message_start", "message": message})), index: 0 }
    }

    fn block(mut self, start: &Value, deltas: &[Value]) -> Self {
        let index = self.index;
        self.index += 1;
        self.reply = self.reply.data(&json!({"type": "content_block_start", "index": index, "content_block": start}));
        for delta in deltas {
            self.reply = self.reply.data(&json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        self.reply = self.reply.data(&json!({"type": "content_block_stop", "index": index}));
        self
    }

    pub(crate) fn say(self, text: &str) -> Self {
        self.block(&json!({"type": "text", "text": ""}), &[json!({"type": "text_delta", "text": text})])
    }

    /// A thought; the provider may keep its text to itself.
    pub(crate) fn think(self, text: &str, signature: &str) -> Self {
        let signed = json!({"type": "signature_delta", "signature": signature});
        let said = json!({"type": "thinking_delta", "thinking": text});
        self.block(&json!({"type": "thinking", "thinking": "", "signature": ""}), &[said, signed])
    }

    pub(crate) fn redacted(self, data: &str) -> Self {
        self.block(&json!({"type": "redacted_thinking", "data": data}), &[])
    }

    pub(crate) fn bash(self, id: &str, command: &str) -> Self {
        let args = json!({"command": command}).to_string();
        let start = json!({"type": "tool_use", "id": id, "name": "bash", "input": {}});
        self.block(&start, &[json!({"type": "input_json_delta", "partial_json": args})])
    }

    /// The terminal events: 6 in, 5 in from the cache, 2 into it, 7 out, 3 of it thinking.
    pub(crate) fn stop(self, reason: &str) -> Reply {
        let usage = json!({"output_tokens": 7, "output_tokens_details": {"thinking_tokens": 3}});
        let delta = json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}, "usage": usage});
        self.reply.data(&delta).data(&json!({"type": "message_stop"}))
    }

    /// An error in mid-stream.
    pub(crate) fn fail(self, kind: &str) -> Reply {
        self.reply.data(&json!({"type": "error", "error": {"type": kind, "message": format!("scripted {kind}")}}))
    }

    /// Nothing more comes until the test opens the gate.
    pub(crate) fn gate(self, name: &str) -> Reply {
        self.reply.gate(name)
    }
}

/// Whether a body is of this wire.
pub(super) fn is(body: &Value) -> bool {
    body["max_tokens"].is_u64() && body.pointer("/messages/0/content").is_some_and(Value::is_array)
}

/// What is wrong with the messages: roles alternate and a user begins and ends, each call has its one result in the very next message, in
/// order and before all text, no text is blank, no message ends with a thought, and there are at most four marks for the cache.
pub(super) fn check(body: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let (mut owed, mut known): (Vec<&str>, BTreeSet<&str>) = (Vec::new(), BTreeSet::new());
    for (i, message) in messages.iter().enumerate() {
        let role = if i % 2 == 0 { "user" } else { "assistant" };
        let parts = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        let of = |kind: &str, field: &'static str| -> Vec<&str> {
            parts.iter().filter(|p| p["type"] == kind).filter_map(|p| p[field].as_str()).collect()
        };
        let (calls, results) = (of("tool_use", "id"), of("tool_result", "tool_use_id"));
        if message["role"] != role || parts.is_empty() {
            wrong.push(format!("message {i} is not a {role}'s, or empty"));
        }
        if results != owed || !parts.iter().take(results.len()).all(|p| p["type"] == "tool_result") {
            wrong.push(format!("message {i} has the results {results:?} and owes {owed:?}, all in front"));
        }
        if parts.last().is_some_and(|part| part["type"] == "thinking" || part["type"] == "redacted_thinking") {
            wrong.push(format!("message {i} ends with a thought"));
        }
        if of("text", "text").iter().any(|text| text.trim().is_empty()) || !calls.iter().all(|id| known.insert(id)) {
            wrong.push(format!("message {i} has a blank text, or an id that was there before"));
        }
        owed = calls;
    }
    if messages.len().is_multiple_of(2) || body.to_string().matches("cache_control").count() > 4 {
        wrong.push("the last message is not a user's, or there are more than four marks".into());
    }
    wrong
}
