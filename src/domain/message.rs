//! What one answer of a model is made of.

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::value::RawValue;

use super::{Args, ToolCallId};

/// One content block of an answer. Its index in `content` is the `block` of its live deltas.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    Text { text: String },
    Reasoning { text: String },
    ToolCall(ToolCall),
}

/// A tool call as the model asked for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let tag: Tag<'_> = serde_json::from_str(raw.get()).map_err(de::Error::custom)?;
        let text = || serde_json::from_str::<Text>(raw.get()).map(|t| t.text).map_err(de::Error::custom);
        match tag.kind {
            "text" => Ok(Block::Text { text: text()? }),
            "reasoning" => Ok(Block::Reasoning { text: text()? }),
            "tool_call" => serde_json::from_str(raw.get()).map(Block::ToolCall).map_err(de::Error::custom),
            other => Err(de::Error::custom(format!("unknown content block {other:?}"))),
        }
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
        let text = r#"[{"type":"reasoning","text":"hm"},{"type":"tool_call","id":"c1","tool":"bash","args":{"b":1.0,"a":2}}]"#;
        let blocks: Vec<Block> = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&blocks).unwrap(), text);
    }
}
