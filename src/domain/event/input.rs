//! Input: queued, taken back, claimed. A message is in the inbox from `message_queued` until exactly one claim or removal.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Place;
use crate::domain::record::Head;
use crate::domain::state::{FoldError, OpenTurn, Queued, SessionState};
use crate::domain::{Address, Attachment, MessageId};

super::family! {
    /// What happens to input.
    Input {
        "message_queued" => MessageQueued,
        "message_removed" => MessageRemoved,
        "turn_start" => TurnStart,
        "queue_drain" => QueueDrain,
    }
}

/// Which list of the inbox a message waits in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// For a turn of its own.
    NextTurn,
    /// For the next step of the running turn.
    NextStep,
}

/// How a message that comes while a turn runs is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// It waits for a turn of its own.
    Followup,
    /// It goes into the running turn's next step.
    Steer,
}

/// How far content may be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    Trusted,
    User,
    Untrusted,
}

/// A message that was accepted: from here on it is in exactly one turn, or removed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessageQueued {
    pub message_id: MessageId,
    pub target: Target,
    pub mode: Mode,
    pub text: String,
    /// Who wrote it: a principal.
    pub author: String,
    pub trust: Trust,
    /// The address its answer goes to, where it came from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<Address>,
    /// What came with it beside the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// The model that the turn which claims it uses, where the caller chose one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Added to the system prompt of the turn that claims it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
}

/// A message left the inbox without a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessageRemoved {
    pub message_id: MessageId,
    pub by: String,
    pub reason: RemovedReason,
}

/// Why a message left the inbox without a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RemovedReason {
    TakenBack,
    Cancelled,
    Expired,
    Retracted,
}

/// A turn opens and claims its input: all of `next_step` and the oldest of `next_turn`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnStart {
    pub message_ids: Vec<MessageId>,
}

/// The running turn claims, before one of its later steps, what waited for its next step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QueueDrain {
    pub message_ids: Vec<MessageId>,
    pub message_count: usize,
    /// What the model reads: the texts, a blank line between them.
    pub merged_text: String,
}

impl Input {
    pub(super) fn place(&self) -> Place {
        match self {
            Input::MessageQueued(_) | Input::MessageRemoved(_) => Place::Session,
            Input::TurnStart(_) | Input::QueueDrain(_) => Place::Turn,
        }
    }

    pub(super) fn apply(&self, state: &mut SessionState, head: &Head) -> Result<(), FoldError> {
        match self {
            Input::MessageQueued(e) => {
                if let Some(from) = &e.reply_to {
                    state.outbox.heard(head.at, from);
                }
                state.inbox.push(head.seq, head.at, e.clone());
            }
            Input::MessageRemoved(e) => drop(state.inbox.claim(head, std::slice::from_ref(&e.message_id))?),
            Input::TurnStart(e) => {
                let turn = head.turn.ok_or_else(|| FoldError::inconsistent(head, "turn_start without its turn"))?;
                if state.turn.is_some() || turn != state.last_turn + 1 {
                    return Err(FoldError::inconsistent(head, "a turn opens while another is open, or out of order"));
                }
                let claimed = state.inbox.claim(head, &e.message_ids)?;
                state.surface.taint.input |= claimed.iter().any(Queued::is_untrusted);
                state.last_turn = turn;
                state.turn = Some(OpenTurn::open(turn, head.at, &claimed));
                state.surface.user(&claimed);
            }
            Input::QueueDrain(e) => {
                let claimed = state.inbox.claim(head, &e.message_ids)?;
                state.surface.taint.input |= claimed.iter().any(Queued::is_untrusted);
                let turn = state.open_turn(head)?;
                turn.claims(&claimed);
                turn.answered = false;
                state.surface.user(&claimed);
            }
        }
        Ok(())
    }
}
