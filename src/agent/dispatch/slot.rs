//! A call on its way to its result, and the pure parts of scheduling.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::Id;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::agent::port::Verdict;
use crate::domain::event::input::Trust;
use crate::domain::event::tool::{ToolStart, codes};
use crate::domain::message::ToolCall;
use crate::tool::{Tool, ToolFailure, ToolOutput, ask_user};

pub(super) struct Slot {
    pub(super) call: ToolCall,
    pub(super) state: State,
    /// Its `tool_start` is in the ledger.
    pub(super) started: bool,
}

pub(super) enum State {
    /// Its result is in the ledger.
    Done,
    /// Its body may start.
    Ready(Arc<dyn Tool>),
    /// Somebody was asked about it, and it cannot run any more.
    Withdrawn(ToolFailure),
    Running {
        task: Id,
        since: Instant,
        cancel: CancellationToken,
        parallel: bool,
    },
    /// Its result waits for those before it.
    Result(Result<(ToolOutput, Duration), ToolFailure>),
    Denied {
        reason: String,
        by: Option<String>,
    },
}

pub(super) fn failure(code: &str, error: &str) -> State {
    State::Result(Err(ToolFailure { code: code.into(), error: error.into() }))
}

pub(super) fn start(call: &ToolCall) -> ToolStart {
    ToolStart { tool_call_id: call.id.clone(), tool: call.tool.clone(), args: call.args.clone() }
}

pub(super) fn abort_unstarted(slots: &mut [Slot]) {
    for slot in slots.iter_mut().filter(|s| matches!(s.state, State::Ready(_))) {
        slot.state = failure(codes::ABORTED_BEFORE_DISPATCH, "the turn was cancelled before it started");
    }
}

/// Which bodies may start now: a call that is not parallel waits for all before it and holds back all after it.
pub(super) fn startable(slots: &[Slot], pool: usize) -> Vec<usize> {
    let mut running = 0;
    let mut starts = Vec::new();
    for (i, slot) in slots.iter().enumerate() {
        match &slot.state {
            State::Running { parallel: false, .. } => break,
            State::Running { .. } => running += 1,
            State::Ready(tool) => {
                // asked again at each start, so that a tool may change its mind
                let parallel = tool.parallel(&slot.call.args);
                if running >= pool || (!parallel && running > 0) {
                    break;
                }
                starts.push(i);
                running += 1;
                if !parallel {
                    break;
                }
            }
            State::Done | State::Withdrawn(_) | State::Result(_) | State::Denied { .. } => {}
        }
    }
    starts
}

/// The body of that task has ended.
pub(super) fn finish(slots: &mut [Slot], ended: Id, result: Result<ToolOutput, ToolFailure>) {
    for slot in slots {
        if let State::Running { task, since, .. } = &slot.state
            && *task == ended
        {
            slot.state = State::Result(result.map(|output| (output, since.elapsed())));
            return;
        }
    }
}

impl Slot {
    pub(super) fn has_result(&self) -> bool {
        matches!(self.state, State::Result(_) | State::Denied { .. })
    }

    /// Where it cannot run any more since somebody was asked: the wait is closed first, then the model is told.
    pub(super) fn withdraw(&mut self) {
        if let State::Result(Err(why)) = &self.state {
            self.state = State::Withdrawn(why.clone());
        }
    }

    pub(super) fn decided(&mut self, verdict: Verdict) {
        let answer = |content: String| State::Result(Ok((ToolOutput::new(content, Trust::User), Duration::ZERO)));
        match verdict {
            Verdict::Run => {
                if let State::Withdrawn(why) = &self.state {
                    self.state = State::Result(Err(why.clone()));
                }
            }
            Verdict::Denied { reason, by } => self.state = State::Denied { reason, by },
            Verdict::Content(content) => self.state = answer(content),
            Verdict::Answered(answers) => {
                let questions = ask_user::questions(&self.call.args).unwrap_or_default();
                self.state = answer(ask_user::result_text(&questions, &answers));
            }
        }
    }
}
