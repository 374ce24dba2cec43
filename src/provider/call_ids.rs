//! Ids of tool calls: every call of a conversation has its own, whatever its server gave.

use std::cell::LazyCell;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use super::ModelRequest;
use crate::domain::digest::sha256;
use crate::domain::message::calls_of;
use crate::domain::{SurfaceMessage, ToolCallId};

/// What a call is named whose name never came: a model's answer must be replayable, and no provider takes an empty name back.
pub(super) const UNNAMED: &str = "unnamed";

/// Gives every call of one answer its id: the server's own where it is new, else one that is. Most answers call nothing: what it takes to
/// know that is looked up when the first call comes.
pub(super) struct CallIds(LazyCell<Known, Box<dyn FnOnce() -> Known + Send>>);

struct Known {
    taken: HashSet<ToolCallId>,
    /// Differs from request to request, and is the same whenever this one is sent.
    salt: String,
}

impl CallIds {
    /// For the answer to this request; `body` makes the bytes again that were sent.
    /// Files are not held for it: each is of a message that tells requests apart without them.
    pub(super) fn new(mut request: ModelRequest, body: impl FnOnce(&ModelRequest) -> Vec<u8> + Send + 'static) -> Self {
        request.files = Arc::default();
        Self(LazyCell::new(Box::new(move || Known::new(&request, &body(&request)))))
    }

    /// The id of the answer's call of that number, counted from 0; `given` is empty where the server gave none.
    pub(super) fn give(&mut self, given: &str, at: usize) -> ToolCallId {
        LazyCell::force_mut(&mut self.0).give(given, at)
    }
}

impl Known {
    fn new(request: &ModelRequest, body: &[u8]) -> Self {
        let salt = sha256(body)[..8].to_owned();
        let calls = request.messages.iter().filter_map(|message| match &**message {
            SurfaceMessage::Assistant { content } => Some(calls_of(content).map(|call| call.id.clone())),
            SurfaceMessage::User { .. } | SurfaceMessage::ToolResult { .. } => None,
        });
        Self { taken: calls.flatten().collect(), salt }
    }

    fn give(&mut self, given: &str, at: usize) -> ToolCallId {
        let id = match given {
            "" => ToolCallId::from(format!("call_{}_{}", self.salt, at + 1)),
            given if self.taken.contains(&ToolCallId::from(given)) => ToolCallId::from(format!("{given}_{}_{}", self.salt, at + 1)),
            given => ToolCallId::from(given),
        };
        self.taken.insert(id.clone());
        id
    }
}

impl fmt::Debug for CallIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallIds").finish_non_exhaustive()
    }
}
