//! Ids of tool calls: every call of a conversation has its own, whatever its server gave.

use std::collections::HashSet;

use super::ModelRequest;
use crate::domain::digest::sha256;
use crate::domain::message::calls_of;
use crate::domain::{SurfaceMessage, ToolCallId};

/// What a call is named whose name never came: a model's answer must be replayable, and no provider takes an empty name back.
pub(super) const UNNAMED: &str = "unnamed";

/// Gives every call of one answer its id: the server's own where it is new, else one that is.
#[derive(Debug)]
pub(super) struct CallIds {
    taken: HashSet<ToolCallId>,
    /// Differs from request to request, and is the same whenever this one is sent.
    salt: String,
}

impl CallIds {
    /// For the answer to a request with this body.
    pub(super) fn new(request: &ModelRequest, body: &[u8]) -> Self {
        let salt = sha256(body)[..8].to_owned();
        let calls = request.messages.iter().filter_map(|message| match &**message {
            SurfaceMessage::Assistant { content } => Some(calls_of(content).map(|call| call.id.clone())),
            SurfaceMessage::User { .. } | SurfaceMessage::ToolResult { .. } => None,
        });
        Self { taken: calls.flatten().collect(), salt }
    }

    /// The id of the answer's call of that number, counted from 0; `given` is empty where the server gave none.
    pub(super) fn give(&mut self, given: &str, at: usize) -> ToolCallId {
        let id = match given {
            "" => ToolCallId::from(format!("call_{}_{}", self.salt, at + 1)),
            given if self.taken.contains(&ToolCallId::from(given)) => ToolCallId::from(format!("{given}_{}_{}", self.salt, at + 1)),
            given => ToolCallId::from(given),
        };
        self.taken.insert(id.clone());
        id
    }
}
