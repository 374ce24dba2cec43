//! Requests to a model and what came of them. An attempt opens with `request` and ends with `message`, `retry` or the turn's `done`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Place;
use crate::domain::message::{calls_of, text_of};
use crate::domain::record::Head;
use crate::domain::state::{CallState, FoldError, OpenAttempt, SessionState, millis};
use crate::domain::{Block, DigestId, Finish, MessageId, Usage};

super::family! {
    /// What happens between the agent and a model.
    Model {
        "request" => Request,
        "retry" => Retry,
        "thinking" => Thinking,
        "message" => Message,
    }
}

/// One HTTP request to a provider. With the surface at this point and the blobs that it names it rebuilds byte for byte.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    /// Counts from 1 within the step.
    pub attempt: u32,
    pub provider: String,
    pub model: String,
    pub parameters: Parameters,
    pub system_digest: DigestId,
    /// Absent where the model was offered no tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools_digest: Option<DigestId>,
    /// Of the last answer, which may call nothing: the tools that the requests before it offered. Never beside `tools_digest`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub withheld_digest: Option<DigestId>,
    /// The provider has refused the conversation's files in this turn: they are named and not sent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_files: bool,
}

/// Settings of a request, as the agent chose them; the wire knows how its provider spells them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Parameters {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<String>,
}

/// The attempt failed and another follows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Retry {
    pub attempt: u32,
    pub code: String,
    pub delay_ms: u64,
    /// The attempt had live events: whatever a reader shows of it is void.
    pub discarded: bool,
    /// What the attempt cost all the same; absent where the provider had not said by then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// The text that stands beside tool calls; a view of the same text in `message`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Thinking {
    pub message: String,
}

/// A whole answer of a model, or (with `author`) of a person who took over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    pub message_id: MessageId,
    pub content: Vec<Block>,
    pub finish: Finish,
    #[serde(default)]
    pub usage: Usage,
    /// Cut short by a cancel: what was visible by then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
}

impl Retry {
    /// The code of an attempt that ended with its process.
    pub const RESTART: &str = "restart";
}

impl Model {
    pub(super) fn place(&self) -> Place {
        match self {
            Model::Message(m) if m.author.is_some() => Place::Session,
            Model::Message(_) | Model::Request(_) | Model::Retry(_) | Model::Thinking(_) => Place::Turn,
        }
    }

    pub(super) fn apply(&self, state: &mut SessionState, head: &Head) -> Result<(), FoldError> {
        match self {
            Model::Request(e) => {
                if state.attempt.is_some() {
                    return Err(FoldError::inconsistent(head, "a request while another attempt is open"));
                }
                let digests = std::iter::once(&e.system_digest).chain(&e.tools_digest).chain(&e.withheld_digest);
                state.blobs.extend(digests.cloned());
                let step = state.open_step(head)?;
                step.attempts = e.attempt;
                state.attempt = Some(OpenAttempt { seq: head.seq, attempt: e.attempt });
            }
            Model::Retry(e) => {
                state.attempt = None;
                // the first record after a restart: nothing ran since the one before it
                let since = state.updated_at;
                if let Some(turn) = state.turn.as_mut() {
                    turn.usage += e.usage.unwrap_or_default();
                    if e.code == Retry::RESTART {
                        turn.idle_ms += millis(head.at.since(since));
                    }
                }
            }
            Model::Thinking(_) => {}
            Model::Message(e) if e.author.is_some() => match state.turn.as_mut().and_then(|t| t.step.as_mut()) {
                Some(step) => step.aside.push(e.content.clone()),
                None => state.surface.assistant(&e.content),
            },
            Model::Message(e) => {
                state.attempt = None;
                let turn = state.open_turn(head)?;
                turn.usage += e.usage;
                turn.max_tokens |= e.finish == Finish::MaxTokens;
                turn.last_text = text_of(&e.content);
                let step = state.open_step(head)?;
                step.finish = Some(e.finish);
                step.calls = calls_of(&e.content).map(CallState::open).collect();
                state.surface.assistant(&e.content);
            }
        }
        Ok(())
    }
}
