//! What the model sees: a pure function of the state, kept as the fold goes.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::attachment::{Attachment, File};
use super::event::delivery::AttachmentSettled;
use super::message::ToolCall;
use super::state::Queued;
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
    User {
        text: String,
        /// What came with it and is kept; what is not kept is said in the text.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<File>,
    },
    Assistant {
        content: Vec<Block>,
    },
    ToolResult {
        tool_call_id: ToolCallId,
        tool: String,
        content: String,
        is_error: bool,
    },
}

impl SurfaceMessage {
    /// A user's words alone.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { text: text.into(), files: Vec::new() }
    }
}

impl Surface {
    /// Claimed input: one user message, a blank line between the texts, and what came with them.
    pub(super) fn user(&mut self, claimed: &[Queued]) {
        let said = claimed.iter().flat_map(|queued| std::iter::once(queued.message.text.clone()).chain(lost(queued)));
        let text = said.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n");
        let files: Vec<File> = claimed.iter().flat_map(kept).collect();
        if !text.is_empty() || !files.is_empty() {
            self.push(SurfaceMessage::User { text, files });
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

/// What came with a message and is kept.
fn kept(queued: &Queued) -> impl Iterator<Item = File> {
    queued.message.attachments.iter().filter_map(|a| Some(a.kept(settled(queued, a)?.bytes?)))
}

/// What is said in place of the rest.
fn lost(queued: &Queued) -> impl Iterator<Item = String> {
    queued.message.attachments.iter().filter_map(|a| match settled(queued, a) {
        Some(AttachmentSettled { bytes: Some(_), .. }) => None,
        Some(AttachmentSettled { code, .. }) => Some(a.lost(code.as_deref())),
        None => Some(a.lost(None)),
    })
}

fn settled<'a>(queued: &'a Queued, attachment: &Attachment) -> Option<&'a AttachmentSettled> {
    queued.settled.iter().find(|settled| settled.attachment_id == attachment.attachment_id)
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
