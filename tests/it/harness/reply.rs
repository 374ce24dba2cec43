//! What the scripted model answers: OpenAI chat completion chunks, and all the ways in which a stream can go wrong.

use serde_json::{Value, json};

/// One answer of the model.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) acts: Vec<Act>,
    /// Bytes a write; 0 writes each chunk whole.
    pub(crate) split: usize,
    /// Bytes of the stream after which the connection is dropped.
    pub(crate) limit: usize,
    calls: u64,
}

/// What the model's server does next.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// A data frame with this text.
    Data(String),
    /// Waits until the test opens the gate of that name.
    Gate(String),
    /// Drops the connection without ending the response.
    Cut,
    /// Says nothing more, and keeps the connection.
    Hang,
}

impl Reply {
    fn new(status: u16) -> Self {
        Self { status, headers: Vec::new(), acts: Vec::new(), split: 0, limit: usize::MAX, calls: 0 }
    }

    /// A stream with nothing in it yet.
    pub(crate) fn stream() -> Self {
        Self::new(200)
    }

    /// A whole answer.
    pub(crate) fn text(text: &str) -> Self {
        Self::stream().say(text).stop()
    }

    /// An error instead of a stream.
    pub(crate) fn error(status: u16, code: &str) -> Self {
        Self::new(status).data(&json!({"error": {"message": format!("scripted {code}"), "type": code, "code": code}}))
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    pub(crate) fn split(mut self, bytes: usize) -> Self {
        self.split = bytes;
        self
    }

    pub(crate) fn cut_after(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// Bytes of the whole stream.
    pub(crate) fn length(&self) -> usize {
        self.acts.iter().map(|act| if let Act::Data(data) = act { data.len() + "data: \n\n".len() } else { 0 }).sum()
    }

    pub(crate) fn say(self, text: &str) -> Self {
        self.delta(&json!({"content": text}))
    }

    pub(crate) fn think(self, text: &str) -> Self {
        self.delta(&json!({"reasoning_content": text}))
    }

    pub(crate) fn gate(mut self, name: &str) -> Self {
        self.acts.push(Act::Gate(name.into()));
        self
    }

    pub(crate) fn cut(mut self) -> Self {
        self.acts.push(Act::Cut);
        self
    }

    pub(crate) fn hang(mut self) -> Self {
        self.acts.push(Act::Hang);
        self
    }

    /// A tool call in one piece.
    pub(crate) fn call(mut self, id: &str, tool: &str, args: &Value) -> Self {
        let index = self.calls;
        self.calls += 1;
        let function = json!({"name": tool, "arguments": args.to_string()});
        self.delta(&json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]}))
    }

    /// A call of the shell.
    pub(crate) fn bash(self, id: &str, command: &str) -> Self {
        self.call(id, "bash", &json!({"command": command}))
    }

    /// Several calls whose arguments come in pieces of `size` characters, the pieces of all calls in turn.
    pub(crate) fn calls_in_pieces(mut self, calls: &[(&str, &str, &str)], size: usize) -> Self {
        for (index, (id, tool, _)) in calls.iter().enumerate() {
            let function = json!({"name": tool, "arguments": ""});
            self = self.delta(&json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]}));
        }
        let cut = |args: &str| args.chars().collect::<Vec<_>>().chunks(size).map(String::from_iter).collect::<Vec<String>>();
        let pieces: Vec<Vec<String>> = calls.iter().map(|(_, _, args)| cut(args)).collect();
        for round in 0..pieces.iter().map(Vec::len).max().unwrap_or_default() {
            for (index, piece) in pieces.iter().enumerate().filter_map(|(i, p)| Some((i, p.get(round)?))) {
                self = self.delta(&json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}));
            }
        }
        self
    }

    /// The terminal frames of an ordinary answer.
    pub(crate) fn stop(self) -> Self {
        self.finish("stop")
    }

    /// The terminal frames of an answer that calls tools.
    pub(crate) fn calls(self) -> Self {
        self.finish("tool_calls")
    }

    /// Finish reason, usage (11 in, 7 out, 3 of it reasoning, 5 in from the cache) and `[DONE]`.
    pub(crate) fn finish(self, reason: &str) -> Self {
        let mut reply = self.data(&json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "mock",
            "choices": [{"index": 0, "delta": {}, "finish_reason": reason}],
        }));
        reply = reply.data(&json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "mock", "choices": [],
            "usage": {
                "prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18,
                "prompt_tokens_details": {"cached_tokens": 5}, "completion_tokens_details": {"reasoning_tokens": 3},
            },
        }));
        reply.acts.push(Act::Data("[DONE]".into()));
        reply
    }

    /// Any frame.
    pub(crate) fn data(mut self, value: &Value) -> Self {
        self.acts.push(Act::Data(value.to_string()));
        self
    }

    fn delta(self, delta: &Value) -> Self {
        self.data(&json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "mock",
            "choices": [{"index": 0, "delta": delta, "finish_reason": null}],
        }))
    }
}
