//! From a call's outcome to the records of its result.

use std::time::Duration;

use super::caps::{ERROR_CAP, Over, PREVIEW, RESULT_CAP, Room, cut, first, length};
use super::slot::{self, Slot, State};
use crate::agent::run::Agent;
use crate::domain::event::tool::{ToolDenied, ToolEnd, ToolError};
use crate::domain::message::ToolCall;
use crate::domain::{AgentEvent, Artifact};
use crate::tool::{ToolFailure, ToolOutput, read_artifact};

impl Agent {
    /// The records of a call's result, as much of it as the model is to see. What a person or a client gave has no body, so its start
    /// stands beside its result.
    pub(super) async fn commit(&self, slot: &mut Slot, room: &mut Room) -> Vec<AgentEvent> {
        let call = slot.call.clone();
        match std::mem::replace(&mut slot.state, State::Done) {
            State::Denied { reason, by } => vec![denied(call, reason, by, room).into()],
            State::Result(Err(failure)) => vec![failed(call, failure, room).into()],
            State::Result(Ok((output, took))) => {
                let start = (!slot.started).then(|| slot::start(&call).into());
                start.into_iter().chain([self.ended(call, output, took, room).await.into()]).collect()
            }
            State::Done | State::Ready(_) | State::Withdrawn(_) | State::Running { .. } => Vec::new(),
        }
    }

    /// A result that is over a cap is spilled first, so that it is in the append of the record that names it.
    async fn ended(&self, call: ToolCall, output: ToolOutput, took: Duration, room: &mut Room) -> ToolEnd {
        let ToolOutput { content, trust, sources } = output;
        let (bytes, preview) = (content.len() as u64, first(&content, PREVIEW).to_owned());
        let most = room.next(RESULT_CAP);
        let is_whole = length(&content) <= most;
        let shorter = || self.turn.toolbox.get(&call.tool).and_then(|tool| tool.within(&content, most));
        let (content, artifact_id) = if is_whole {
            (content, None)
        } else if let Some(shorter) = shorter() {
            (cut(shorter, most), None)
        } else {
            let text = content[..content.floor_char_boundary(Artifact::MOST_BYTES)].to_owned();
            let kept = length(&text);
            let id = self.turn.port.spill(Artifact { trust, text }).await;
            let reader = self.turn.toolset.get(read_artifact::NAME).map(|tool| tool.spec.name);
            (Over { id: &id, text: &content, kept, reader }.content(most), Some(id))
        };
        room.taken(length(&content));
        let duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        ToolEnd { tool_call_id: call.id, tool: call.tool, content, preview, bytes, artifact_id, duration_ms, trust, sources }
    }
}

fn failed(call: ToolCall, failure: ToolFailure, room: &mut Room) -> ToolError {
    let ToolFailure { code, error } = failure;
    let mut record = ToolError { tool_call_id: call.id, tool: call.tool, code, error: String::new() };
    let most = room.next(ERROR_CAP).saturating_sub(length(&record.content()));
    record.error = cut(error, most);
    room.taken(length(&record.content()));
    record
}

fn denied(call: ToolCall, reason: String, by: Option<String>, room: &mut Room) -> ToolDenied {
    let mut record = ToolDenied { tool_call_id: call.id, tool: call.tool, reason: String::new(), by };
    let most = room.next(ERROR_CAP).saturating_sub(length(&record.content()));
    record.reason = cut(reason, most);
    room.taken(length(&record.content()));
    record
}
