//! What the model sees: a pure function of the state, kept as the fold goes.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::message::ToolCall;
use super::{Block, Taint, ToolCallId};

/// The messages of the next request, oldest first. Each is shared, so that a step copies pointers and not the conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Surface {
    pub messages: Vec<Arc<SurfaceMessage>>,
    /// Whose words among them are not to be trusted.
    pub taint: Taint,
}

/// One message as every wire can say it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum SurfaceMessage {
    User { text: String },
    Assistant { content: Vec<Block> },
    ToolResult { tool_call_id: ToolCallId, tool: String, content: String, is_error: bool },
}

impl Surface {
    /// Claimed input: one user message, a blank line between the texts.
    pub(super) fn user<'a>(&mut self, texts: impl IntoIterator<Item = &'a str>) {
        let text = texts.into_iter().collect::<Vec<_>>().join("\n\n");
        if !text.is_empty() {
            self.push(SurfaceMessage::User { text });
        }
    }

    /// An answer. One without text and calls has nothing that a provider would take back.
    pub(super) fn assistant(&mut self, content: &[Block]) {
        let says = |b: &Block| match b {
            Block::Text { text } => !text.trim().is_empty(),
            Block::ToolCall(ToolCall { .. }) => true,
            Block::Reasoning { .. } => false,
        };
        if content.iter().any(says) {
            self.push(SurfaceMessage::Assistant { content: content.to_vec() });
        }
    }

    pub(super) fn tool_result(&mut self, id: &ToolCallId, tool: &str, content: &str, is_error: bool) {
        self.push(SurfaceMessage::ToolResult { tool_call_id: id.clone(), tool: tool.into(), content: content.into(), is_error });
    }

    fn push(&mut self, message: SurfaceMessage) {
        self.messages.push(Arc::new(message));
    }
}

#[cfg(test)]
mod tests {
    use super::Surface;
    use crate::domain::Block;

    #[test]
    fn a_blank_answer_is_none() {
        let mut surface = Surface::default();
        for text in ["", " ", "\n\n"] {
            surface.assistant(&[Block::reasoning("hm"), Block::Text { text: text.into() }]);
        }
        assert!(surface.messages.is_empty());
        surface.assistant(&[Block::Text { text: "\n.".into() }]);
        assert_eq!(surface.messages.len(), 1);
    }
}
