//! The shapes of a response. Everything may be absent or null and unknown fields are skipped, for servers in between are loose; text is
//! borrowed from the frame where it holds no escape.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::provider::text::{Text, said};

/// One frame of a stream, whatever its type.
#[derive(Deserialize)]
pub(super) struct Frame<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Text<'a>>,
    pub(super) index: Option<u64>,
    pub(super) message: Option<Head>,
    #[serde(borrow)]
    pub(super) content_block: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) delta: Option<Delta<'a>>,
    pub(super) usage: Option<Usage>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

/// The `message` of `message_start`.
#[derive(Deserialize)]
pub(super) struct Head {
    pub(super) usage: Option<Usage>,
}

/// A content block: at its start in a stream, or whole.
#[derive(Default, Deserialize)]
pub(super) struct Start<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) text: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) thinking: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) signature: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) data: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) input: Option<&'a RawValue>,
}

/// The `delta` of a content block or of the message.
#[derive(Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) text: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) thinking: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) signature: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) partial_json: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) stop_reason: Option<Text<'a>>,
}

/// The body of a server that does not stream.
#[derive(Deserialize)]
pub(super) struct Whole<'a> {
    #[serde(borrow)]
    pub(super) content: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    pub(super) stop_reason: Option<Text<'a>>,
    pub(super) usage: Option<Usage>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

/// Counts so far: each one that is there holds from now on.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct Usage {
    input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct OutputDetails {
    thinking_tokens: Option<u64>,
}

impl Usage {
    pub(super) fn update(&mut self, newer: Self) {
        self.input_tokens = newer.input_tokens.or(self.input_tokens);
        self.cache_read_input_tokens = newer.cache_read_input_tokens.or(self.cache_read_input_tokens);
        self.cache_creation_input_tokens = newer.cache_creation_input_tokens.or(self.cache_creation_input_tokens);
        self.output_tokens = newer.output_tokens.or(self.output_tokens);
        self.output_tokens_details = newer.output_tokens_details.or(self.output_tokens_details);
    }

    /// Disjoint counts. This wire leaves cached tokens out of the input, and counts thinking into the output.
    pub(super) fn disjoint(&self) -> crate::domain::Usage {
        let output = self.output_tokens.unwrap_or_default();
        let reasoning = self.output_tokens_details.and_then(|d| d.thinking_tokens).unwrap_or_default().min(output);
        crate::domain::Usage {
            input: self.input_tokens.unwrap_or_default(),
            cache_read: self.cache_read_input_tokens.unwrap_or_default(),
            cache_write: self.cache_creation_input_tokens.unwrap_or_default(),
            output: output - reasoning,
            reasoning,
        }
    }
}

const EVENTS: &[&str] =
    &["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop", "error"];
const BLOCKS: &[&str] = &["text", "thinking", "redacted_thinking", "tool_use"];
const DELTAS: &[&str] = &["text_delta", "thinking_delta", "signature_delta", "input_json_delta"];

/// The type of a thing, and of the delta within it.
#[derive(Deserialize)]
struct Kind<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
}

/// Whether a frame that does not read is of a kind that is not known here, and so may look like anything.
pub(super) fn is_foreign(data: &str) -> bool {
    let Ok(frame) = serde_json::from_str::<Kind<'_>>(data) else { return false };
    frame.is_none_of(EVENTS) || frame.delta.is_some_and(|delta| is_none_of(delta.get(), DELTAS))
}

/// The same for a content block.
pub(super) fn is_foreign_block(block: &str) -> bool {
    is_none_of(block, BLOCKS)
}

fn is_none_of(json: &str, known: &[&str]) -> bool {
    serde_json::from_str::<Kind<'_>>(json).is_ok_and(|thing| thing.is_none_of(known))
}

impl Kind<'_> {
    fn is_none_of(&self, known: &[&str]) -> bool {
        said(&self.kind).is_some_and(|kind| !known.contains(&kind))
    }
}
