//! What a ledger needs after its actor was gone: pure plans over the state.
//!
//! An open attempt is void; an open turn goes on, or ends where it may not. The results of its calls are not made here: the agent resumes
//! the step and takes each call through the same table as a new one.

use crate::domain::event::model::Retry;
use crate::domain::event::pending::{ClientCallResult, QuestionAnswered, ToolApproval};
use crate::domain::event::tool::{ToolError, codes};
use crate::domain::event::turn::{ContinueCause, Done, DoneReason, StepEnd, TurnContinued};
use crate::domain::pending::{Decision, Item, ItemKind};
use crate::domain::state::{OpenTurn, SessionState};
use crate::domain::{AgentEvent, ChannelProfile, Timestamp};

use super::sources::with_sources;
use crate::agent::{Begin, End, Said, StepInput};

/// Crashes that a turn may go on after.
const MOST_CRASHES: u32 = 2;

/// What is appended first after a restart, before any reader is served. True when the open turn goes on.
pub(super) fn after_restart(state: &SessionState, cause: ContinueCause) -> (Vec<AgentEvent>, bool) {
    let mut events = Vec::new();
    if let Some(open) = state.attempt {
        let retry = Retry { attempt: open.attempt, code: Retry::RESTART.into(), delay_ms: 0, discarded: true, usage: None };
        events.push(retry.into());
    }
    let Some(turn) = &state.turn else { return (events, false) };
    // a person took over: the turn was to end, and the process ended first
    if state.handoff.is_some() {
        return (events, false);
    }
    if state.waits_for_person() {
        return (events, true);
    }
    if cause == ContinueCause::Crash && turn.crashes >= MOST_CRASHES {
        return (events, false);
    }
    events.push(TurnContinued { count: turn.continued + 1, cause }.into());
    (events, true)
}

/// What the next request is made of.
pub(super) fn step_input(state: &SessionState) -> StepInput {
    StepInput { surface: state.surface.messages.clone(), taint: state.surface.taint.clone() }
}

/// Where the agent resumes the open turn.
pub(super) fn resume(state: &SessionState, turn: &OpenTurn) -> Begin {
    let input = step_input(state);
    let said = Said { text: turn.last_text.clone(), truncated: turn.max_tokens };
    match &turn.step {
        Some(step) => Begin::Within { step: step.clone(), input, said },
        None if turn.steps == 0 => Begin::Fresh(input),
        None => Begin::Between { steps: turn.steps, answered: turn.answered, said },
    }
}

/// Everything that the open turn still lacks but its `done`: the waits' outcomes, the missing results in the model's order, the step's end.
pub(super) fn close_step(state: &SessionState) -> Vec<AgentEvent> {
    let Some(step) = state.turn.as_ref().and_then(|t| t.step.as_ref()) else { return Vec::new() };
    let mut events: Vec<AgentEvent> = state.open_items().map(|item| outcome(item, Lapse::Cancelled)).collect();
    for call in step.calls.iter().filter(|c| !c.has_result()) {
        let (code, error) = match call.started {
            true => (codes::TOOL_OUTCOME_UNKNOWN, "it had started, and nobody knows what it did"),
            false => (codes::TOOL_NOT_STARTED, "it was not started"),
        };
        let (tool_call_id, tool) = (call.call.id.clone(), call.call.tool.clone());
        events.push(ToolError { tool_call_id, tool, code: code.into(), error: error.into() }.into());
    }
    events.push(StepEnd {}.into());
    events
}

/// Why a wait ends without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lapse {
    Expired,
    Cancelled,
    /// What was asked about cannot be done any more.
    Withdrawn,
}

/// The record that closes a wait without an answer.
pub(super) fn outcome(item: &Item, why: Lapse) -> AgentEvent {
    let tool_call_id = item.tool_call_id().clone();
    let (decision, reason) = match why {
        Lapse::Expired => (Decision::Expired, "expired"),
        Lapse::Cancelled => (Decision::Cancelled, "cancelled"),
        Lapse::Withdrawn => (Decision::Unavailable, "unavailable"),
    };
    let reason = Some(reason.to_owned());
    match &item.kind {
        ItemKind::Approval(a) => {
            ToolApproval { approval_id: a.approval_id.clone(), tool_call_id, decision, by: None, note: None, heard: false }.into()
        }
        ItemKind::Question(q) => {
            let question_id = q.question_id.clone();
            QuestionAnswered { question_id, tool_call_id, answers: None, declined: true, reason, by: None }.into()
        }
        ItemKind::ClientCall(_) => ClientCallResult { tool_call_id, content: None, reason, by: None }.into(),
    }
}

/// Whether an answer of that end is the model's, from what it read.
fn rests_on_pages(reason: DoneReason) -> bool {
    match reason {
        DoneReason::Completed | DoneReason::MaxTokens | DoneReason::MaxSteps | DoneReason::Budget => true,
        DoneReason::Blocked | DoneReason::Aborted | DoneReason::Error | DoneReason::Interrupted => false,
    }
}

/// What a sender reads when a turn ended and the model had said nothing: one sentence, for a phone too.
pub fn unsaid(reason: DoneReason, attended: bool) -> &'static str {
    match reason {
        // who sits there has stopped it, and sees that it stopped; elsewhere it was somebody else
        DoneReason::Aborted if attended => "",
        DoneReason::Aborted => "Sorry, this was stopped before I had an answer.",
        DoneReason::Budget => "Sorry, I ran out of time before I had an answer.",
        DoneReason::MaxSteps => "Sorry, this took more steps than I have, and I have no answer yet.",
        DoneReason::MaxTokens => "Sorry, my answer was cut off before it said anything.",
        DoneReason::Blocked => "Sorry, I cannot answer this: the model's provider withheld the answer.",
        DoneReason::Completed | DoneReason::Error | DoneReason::Interrupted => "Sorry, I have no answer to that.",
    }
}

/// The turn's `done`, from its end and the ledger's own counts. `profile` is its channel's, where there is one.
pub(super) fn done(turn: &OpenTurn, end: End, now: Timestamp, profile: Option<&ChannelProfile>) -> Done {
    let total_time_ms = u64::try_from(now.since(turn.started_at).as_millis()).unwrap_or(u64::MAX);
    let mut usage = turn.usage;
    usage += end.usage;
    let written = usage.output + usage.reasoning;
    let tokens_per_second = (written > 0 && total_time_ms > 0).then(|| (written as f64 * 1e6 / total_time_ms as f64).round() / 1e3);
    // nobody is left with silence
    let answer = match end.answer.trim().is_empty() {
        true => unsaid(end.reason, profile.is_some_and(|profile| profile.capabilities.attended)).into(),
        false if rests_on_pages(end.reason) && profile.is_some_and(|profile| profile.tone.sources) => {
            with_sources(end.answer, &turn.sources)
        }
        false => end.answer,
    };
    Done {
        reason: end.reason,
        cause: end.cause,
        code: end.code,
        detail: end.detail,
        answer,
        message_ids: turn.message_ids.clone(),
        tool_calls: turn.calls.clone(),
        steps: turn.steps,
        total_time_ms,
        usage,
        tokens_per_second,
    }
}
