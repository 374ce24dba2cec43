//! What a reader sees before it is durable. Never in the ledger.

use schemars::JsonSchema;
use serde::Serialize;

use super::{MessageId, ToolCallId};

/// The wire names of live events.
pub const KINDS: [&str; 5] = ["text_delta", "reasoning_delta", "tool_input_delta", "stream_progress", "tool_progress"];

/// A live event of the running turn.
#[derive(Clone, Debug, PartialEq)]
pub enum LiveEvent {
    Delta(Delta),
    /// An attempt was sent; its answer will have that id.
    Requesting(MessageId),
    /// The tools of the step begin.
    UsingTools,
    /// The newest progress of a running tool; an object whose fields the tool chooses.
    ToolProgress {
        tool_call_id: ToolCallId,
        fields: serde_json::Map<String, serde_json::Value>,
    },
}

/// A numbered piece of the open attempt's answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Delta {
    pub message_id: MessageId,
    /// The index of its block in the final `content`.
    pub block: u32,
    pub kind: DeltaKind,
}

/// What a delta is a piece of; a tool call comes as its name only, its arguments stand in the `message`.
#[derive(Clone, Debug, PartialEq)]
pub enum DeltaKind {
    Text(String),
    Reasoning(String),
    ToolInput { tool_call_id: ToolCallId, tool: String },
}

/// What a turn can be doing, as `stream_progress` and `hello` name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StreamMode {
    Requesting,
    Thinking,
    Responding,
    ToolInput,
    ToolUse,
}
