//! What waits for somebody outside: approvals, questions, client calls. One mechanism, three kinds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::pending::{Answer, Decision, Item, ItemKind, Outcome, Question};
use crate::domain::record::Head;
use crate::domain::state::{FoldError, SessionState};
use crate::domain::{ApprovalId, Args, QuestionId, Timestamp, ToolCallId};

super::family! {
    /// What opens and closes a wait for somebody outside.
    Pending {
        "approval_requested" => ApprovalRequested,
        "tool_approval" => ToolApproval,
        "question_asked" => QuestionAsked,
        "question_answered" => QuestionAnswered,
        "client_call_requested" => ClientCallRequested,
        "client_call_result" => ClientCallResult,
    }
}

/// A call waits for a person's permission.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalRequested {
    pub approval_id: ApprovalId,
    pub tool_call_id: ToolCallId,
    pub tool: String,
    pub args: Args,
    /// [`Args::digest`]: what exactly is to be approved.
    pub digest: String,
    /// Why somebody is asked, for that somebody.
    pub reason: String,
    /// The decisions that a person may take.
    pub decisions: Vec<Decision>,
    pub expires_at: Timestamp,
}

/// An approval was given, refused, or came to nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolApproval {
    pub approval_id: ApprovalId,
    pub tool_call_id: ToolCallId,
    pub decision: Decision,
    /// The principal who decided; absent where nobody did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// By a button in the conversation itself, which counts as a sign of life there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub heard: bool,
}

/// A call asks a person, and waits for the answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuestionAsked {
    pub question_id: QuestionId,
    pub tool_call_id: ToolCallId,
    pub questions: Vec<Question>,
    pub expires_at: Timestamp,
}

/// `answers`, or `declined` with a reason where it was not a person who declined.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuestionAnswered {
    pub question_id: QuestionId,
    pub tool_call_id: ToolCallId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers: Option<Vec<Answer>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub declined: bool,
    /// `expired` or `cancelled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// A call is for the client to run, and waits for its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientCallRequested {
    pub tool_call_id: ToolCallId,
    pub tool: String,
    pub args: Args,
    pub expires_at: Timestamp,
}

/// The client's result; without `content` none came, and `reason` says why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientCallResult {
    pub tool_call_id: ToolCallId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// `expired` or `cancelled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

impl Pending {
    pub(super) fn apply(&self, state: &mut SessionState, head: &Head) -> Result<(), FoldError> {
        match self {
            Pending::ApprovalRequested(e) => state.open_item(head, Item::new(ItemKind::Approval(e.clone()), head.at)),
            Pending::QuestionAsked(e) => state.open_item(head, Item::new(ItemKind::Question(e.clone()), head.at)),
            Pending::ClientCallRequested(e) => state.open_item(head, Item::new(ItemKind::ClientCall(e.clone()), head.at)),
            Pending::ToolApproval(e) => {
                let outcome = Outcome::Decision { decision: e.decision, by: e.by.clone(), note: e.note.clone() };
                if e.heard {
                    state.outbox.heard_of(head.at);
                }
                state.resolve(head, e.approval_id.as_str(), &e.tool_call_id, outcome)
            }
            Pending::QuestionAnswered(e) => {
                let outcome = Outcome::Answers { answers: e.answers.clone(), reason: e.reason.clone() };
                state.resolve(head, e.question_id.as_str(), &e.tool_call_id, outcome)
            }
            Pending::ClientCallResult(e) => {
                let outcome = Outcome::Content { content: e.content.clone(), reason: e.reason.clone() };
                state.resolve(head, e.tool_call_id.as_str(), &e.tool_call_id, outcome)
            }
        }
    }
}
