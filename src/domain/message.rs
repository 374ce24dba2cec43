//! What one answer of a model is made of.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::value::RawValue;

use super::{Args, ToolCallId};

/// One content block of an answer. Its index in `content` is the `block` of its live deltas.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    Text {
        text: String,
    },
    Reasoning {
        text: String,
        /// What must go back with it to the provider that gave it.
        #[serde(skip_serializing_if = "Option::is_none")]
        opaque: Option<Opaque>,
    },
    ToolCall(ToolCall),
}

/// What a provider wants back exactly as it gave it: a signature, an encrypted thought. It is replayed to the same provider and model, and
/// dropped for any other, which could not read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Opaque {
    /// The table's id of the provider.
    pub provider: String,
    /// As the provider names it.
    pub model: String,
    /// The provider's own bytes; what they mean is its wire's business.
    pub data: String,
}

impl Block {
    /// Reasoning that no provider needs back.
    pub fn reasoning(text: impl Into<String>) -> Self {
        Self::Reasoning { text: text.into(), opaque: None }
    }
}

/// A tool call as the model asked for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    pub id: ToolCallId,
    pub tool: String,
    pub args: Args,
}

impl<'de> Deserialize<'de> for Block {
    /// In two steps, the type first: serde's tagged enums buffer their content, and raw JSON does not survive that.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Tag<'a> {
            #[serde(rename = "type")]
            kind: &'a str,
        }
        #[derive(Deserialize)]
        struct Text {
            text: String,
        }
        #[derive(Deserialize)]
        struct Reasoning {
            text: String,
            opaque: Option<Opaque>,
        }
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let tag: Tag<'_> = serde_json::from_str(raw.get()).map_err(de::Error::custom)?;
        let block = match tag.kind {
            "text" => serde_json::from_str(raw.get()).map(|Text { text }| Block::Text { text }),
            "reasoning" => serde_json::from_str(raw.get()).map(|Reasoning { text, opaque }| Block::Reasoning { text, opaque }),
            "tool_call" => serde_json::from_str(raw.get()).map(Block::ToolCall),
            other => return Err(de::Error::custom(format!("unknown content block {other:?}"))),
        };
        block.map_err(de::Error::custom)
    }
}

/// All text blocks, joined.
pub fn text_of(content: &[Block]) -> String {
    content.iter().fold(String::new(), |mut all, block| {
        if let Block::Text { text } = block {
            all.push_str(text);
        }
        all
    })
}

/// The tool calls of an answer, in the model's order.
pub fn calls_of(content: &[Block]) -> impl Iterator<Item = &ToolCall> {
    content.iter().filter_map(|block| match block {
        Block::ToolCall(call) => Some(call),
        Block::Text { .. } | Block::Reasoning { .. } => None,
    })
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    Stop,
    ToolCalls,
    MaxTokens,
    Refusal,
    ContentFilter,
    Cancelled,
}

#[cfg(test)]
mod tests {
    use super::Block;

    #[test]
    fn blocks_round_trip_with_the_bytes_of_their_arguments() {
        let text = r#"[{"type":"reasoning","text":"hm"},{"type":"reasoning","text":"","opaque":{"provider":"anthropic","model":"m","data":"{}"}},{"type":"tool_call","id":"c1","tool":"bash","args":{"b":1.0,"a":2}}]"#;
        let blocks: Vec<Block> = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&blocks).unwrap(), text);
    }
}
