//! The brackets of a turn and its steps. Each start has its end.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::record::Head;
use crate::domain::state::{FoldError, OpenStep, SessionState, millis};
use crate::domain::{MessageId, ToolCallId, Usage};

super::family! {
    /// The brackets of a turn.
    Turn {
        "step_start" => StepStart,
        "step_end" => StepEnd,
        "turn_continued" => TurnContinued,
        "done" => Done,
    }
}

/// One model answer and the tools it asked for begin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepStart {}

/// Each call of the step has its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepEnd {}

/// An open turn goes on after a restart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnContinued {
    /// How often this turn was continued, this time included.
    pub count: u32,
    pub cause: ContinueCause,
}

/// A graceful stop does not count against a turn; a crash does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ContinueCause {
    Crash,
    Stop,
}

/// The one honest end of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Done {
    pub reason: DoneReason,
    /// With `aborted`: who stopped it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<AbortCause>,
    /// With `error` and `budget`: a stable word for what went wrong or ran out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// For the owner: what happened, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// What the sender reads.
    pub answer: String,
    pub message_ids: Vec<MessageId>,
    pub tool_calls: Vec<CallSummary>,
    pub steps: u32,
    /// From `turn_start` to here, by the wall clock; waits for a person and time without a process are in it.
    pub total_time_ms: u64,
    /// Of all the turn's requests, as far as their providers said: also of those that came to no answer.
    pub usage: Usage,
    /// Output and reasoning tokens per second of `total_time_ms`, to three decimals; absent where there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_second: Option<f64>,
}

/// Why a turn is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DoneReason {
    /// The model answered and asked for no more tools.
    Completed,
    /// It answered, and was cut at its output limit in one of the steps.
    MaxTokens,
    /// The steps were used up; the answer is the last one, without tools.
    MaxSteps,
    /// The time was over, as `code` says; the answer is the last one, without tools.
    Budget,
    /// The provider withheld the answer: its content filter.
    Blocked,
    /// Somebody cancelled it; `cause` says who.
    Aborted,
    /// It could not go on; `code` says why.
    Error,
    /// Crashes cut it more often than a turn may go on after.
    Interrupted,
}

impl DoneReason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::MaxTokens => "max_tokens",
            Self::MaxSteps => "max_steps",
            Self::Budget => "budget",
            Self::Blocked => "blocked",
            Self::Aborted => "aborted",
            Self::Error => "error",
            Self::Interrupted => "interrupted",
        }
    }
}

/// Who cancelled a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AbortCause {
    User,
    Parent,
}

/// What became of one tool call of the turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallSummary {
    pub tool_call_id: ToolCallId,
    pub tool: String,
    pub status: CallStatus,
    /// How long its body ran; 0 where it has no result.
    pub duration_ms: u64,
}

/// How a tool call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    /// It has a result.
    Ok,
    /// It failed, or could not be run.
    Error,
    /// Nobody permitted it.
    Denied,
    /// A cancel came before it did anything that lasts.
    Aborted,
    /// It had started, and nobody knows what it did.
    Unknown,
}

impl CallStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Denied => "denied",
            Self::Aborted => "aborted",
            Self::Unknown => "unknown",
        }
    }
}

impl Turn {
    pub(super) fn apply(&self, state: &mut SessionState, head: &Head) -> Result<(), FoldError> {
        match self {
            Turn::StepStart(_) => {
                let step = head.step.ok_or_else(|| FoldError::inconsistent(head, "step_start without its step"))?;
                let turn = state.open_turn(head)?;
                if turn.step.is_some() || step != turn.steps + 1 {
                    return Err(FoldError::inconsistent(head, "a step opens while another is open, or out of order"));
                }
                turn.steps = step;
                turn.step = Some(OpenStep::open(step));
            }
            Turn::StepEnd(_) => {
                let turn = state.open_turn(head)?;
                let step = turn.step.take().ok_or_else(|| FoldError::inconsistent(head, "step_end without step_start"))?;
                turn.answered = step.finish.is_some() && step.calls.is_empty();
                if let Some(call) = step.calls.iter().find(|c| !c.has_result()) {
                    return Err(FoldError::inconsistent(head, &format!("the step ends before the result of {}", call.call.id)));
                }
                step.aside.iter().for_each(|content| state.surface.assistant(content));
            }
            Turn::TurnContinued(e) => {
                let since = state.updated_at;
                let turn = state.open_turn(head)?;
                turn.idle_ms += millis(head.at.since(since));
                turn.continued = e.count;
                turn.crashes += u32::from(e.cause == ContinueCause::Crash);
            }
            Turn::Done(_) => {
                let turn = state.turn.take().ok_or_else(|| FoldError::inconsistent(head, "done without an open turn"))?;
                if turn.step.is_some() {
                    return Err(FoldError::inconsistent(head, "done before step_end"));
                }
                state.attempt = None;
            }
        }
        Ok(())
    }
}
