//! A wait for somebody outside the process: the item, its answer, and the shape that lists and `hello` show.

use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use super::event::pending::{ApprovalRequested, ClientCallRequested, QuestionAsked};
use super::{Args, SessionId, Timestamp, ToolCallId};

/// What became of an approval. A person may take the first four; the rest are outcomes, all of which deny.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    AllowOnce,
    AllowSession,
    AllowAlways,
    Deny,
    Expired,
    Cancelled,
    Unavailable,
}

impl Decision {
    pub fn allows(self) -> bool {
        matches!(self, Self::AllowOnce | Self::AllowSession | Self::AllowAlways)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::AllowOnce => "allow_once",
            Self::AllowSession => "allow_session",
            Self::AllowAlways => "allow_always",
            Self::Deny => "deny",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
            Self::Unavailable => "unavailable",
        }
    }
}

/// One question to a person, with options, free text, or both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Question {
    pub id: String,
    pub text: String,
    #[serde(default)]
    pub options: Vec<Choice>,
    /// More than one option may be selected.
    #[serde(default)]
    pub multiple: bool,
    /// The answer may have words of its own.
    #[serde(default)]
    pub free_text: bool,
}

/// An option of a question; its label is what an answer selects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Choice {
    pub label: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// A person's answer to one question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = selected_may_be_absent)]
pub struct Answer {
    /// The question's id.
    pub id: String,
    /// Of what the question offers.
    #[serde(default)]
    pub selected: Vec<String>,
    /// In the person's own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// One schema for what is read and what is written: who answers may leave out `selected`.
fn selected_may_be_absent(schema: &mut Schema) {
    schema.insert("required".into(), serde_json::json!(["id"]));
}

/// Checks that `answers` answer `questions`, each exactly once and only with what was offered.
///
/// # Errors
/// A JSON pointer into the body and what is wrong there.
pub fn check_answers(questions: &[Question], answers: &[Answer]) -> Result<(), (String, String)> {
    for (i, answer) in answers.iter().enumerate() {
        let Some(question) = questions.iter().find(|q| q.id == answer.id) else {
            return Err((format!("/answers/{i}/id"), format!("there is no question {:?}", answer.id)));
        };
        if answers[..i].iter().any(|a| a.id == answer.id) {
            return Err((format!("/answers/{i}/id"), format!("question {:?} is answered twice", answer.id)));
        }
        if !question.multiple && answer.selected.len() > 1 {
            return Err((format!("/answers/{i}/selected"), "this question takes one option".into()));
        }
        if let Some(label) = answer.selected.iter().find(|l| !question.options.iter().any(|o| o.label == **l)) {
            return Err((format!("/answers/{i}/selected"), format!("{label:?} is not one of the options")));
        }
        if answer.text.is_some() && !question.free_text {
            return Err((format!("/answers/{i}/text"), "this question takes no free text".into()));
        }
    }
    match questions.iter().find(|q| !answers.iter().any(|a| a.id == q.id)) {
        Some(missing) => Err(("/answers".into(), format!("question {:?} is not answered", missing.id))),
        None => Ok(()),
    }
}

/// One wait, open or closed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Item {
    pub kind: ItemKind,
    pub requested_at: Timestamp,
    pub outcome: Option<Outcome>,
}

/// What is waited for, as it was asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ItemKind {
    Approval(ApprovalRequested),
    Question(QuestionAsked),
    ClientCall(ClientCallRequested),
}

/// How a wait ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Outcome {
    Decision { decision: Decision, by: Option<String>, note: Option<String> },
    Answers { answers: Option<Vec<Answer>>, reason: Option<String> },
    Content { content: Option<String>, reason: Option<String> },
}

impl Item {
    pub fn new(kind: ItemKind, requested_at: Timestamp) -> Self {
        Self { kind, requested_at, outcome: None }
    }

    /// The id that its POST names.
    pub fn id(&self) -> &str {
        match &self.kind {
            ItemKind::Approval(a) => a.approval_id.as_str(),
            ItemKind::Question(q) => q.question_id.as_str(),
            ItemKind::ClientCall(c) => c.tool_call_id.as_str(),
        }
    }

    pub fn tool_call_id(&self) -> &ToolCallId {
        match &self.kind {
            ItemKind::Approval(a) => &a.tool_call_id,
            ItemKind::Question(q) => &q.tool_call_id,
            ItemKind::ClientCall(c) => &c.tool_call_id,
        }
    }

    pub fn expires_at(&self) -> Timestamp {
        match &self.kind {
            ItemKind::Approval(a) => a.expires_at,
            ItemKind::Question(q) => q.expires_at,
            ItemKind::ClientCall(c) => c.expires_at,
        }
    }

    /// How it stands; an approval that nobody could give is unavailable.
    pub fn status(&self) -> ItemStatus {
        match &self.outcome {
            None => ItemStatus::Pending,
            Some(Outcome::Decision { decision: Decision::Expired, .. }) => ItemStatus::Expired,
            Some(Outcome::Decision { decision: Decision::Cancelled, .. }) => ItemStatus::Cancelled,
            Some(Outcome::Decision { decision: Decision::Unavailable, .. }) => ItemStatus::Unavailable,
            Some(Outcome::Decision { .. }) => ItemStatus::Decided,
            Some(Outcome::Answers { reason, .. } | Outcome::Content { reason, .. }) => match reason.as_deref() {
                Some("expired") => ItemStatus::Expired,
                Some("cancelled") => ItemStatus::Cancelled,
                Some(_) => ItemStatus::Unavailable,
                None => ItemStatus::Decided,
            },
        }
    }
}

/// How a wait stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ItemStatus {
    Pending,
    Decided,
    Expired,
    Cancelled,
    Unavailable,
}

impl ItemStatus {
    pub const ALL: [Self; 5] = [Self::Pending, Self::Decided, Self::Expired, Self::Cancelled, Self::Unavailable];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Decided => "decided",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
            Self::Unavailable => "unavailable",
        }
    }
}

impl FromStr for ItemStatus {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let there = || Self::ALL.map(Self::as_str).join(", ");
        Self::ALL.into_iter().find(|status| status.as_str() == text).ok_or_else(|| format!("one of {}", there()))
    }
}

impl fmt::Display for ItemStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An approval as lists, `hello` and the answer to its POST show it. What a view may not show is absent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Approval")]
pub struct ApprovalView {
    pub approval_id: String,
    pub session_id: SessionId,
    pub tool_call_id: ToolCallId,
    pub tool: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Args>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decisions: Option<Vec<Decision>>,
    pub status: ItemStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    pub requested_at: Timestamp,
    pub expires_at: Timestamp,
}

/// Questions as `hello` and the answer to their POST show them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Questions")]
pub struct QuestionView {
    pub question_id: String,
    pub session_id: SessionId,
    pub tool_call_id: ToolCallId,
    pub questions: Vec<Question>,
    pub status: ItemStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers: Option<Vec<Answer>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub declined: bool,
    pub requested_at: Timestamp,
    pub expires_at: Timestamp,
}

/// A client call as `hello` and the answer to its POST show it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ClientCall")]
pub struct ClientCallView {
    pub tool_call_id: ToolCallId,
    pub session_id: SessionId,
    pub tool: String,
    pub args: Args,
    pub status: ItemStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    pub requested_at: Timestamp,
    pub expires_at: Timestamp,
}

impl ApprovalView {
    pub fn new(session: &SessionId, item: &Item, approval: &ApprovalRequested) -> Self {
        let decision = match &item.outcome {
            Some(Outcome::Decision { decision, .. }) => Some(*decision),
            Some(Outcome::Answers { .. } | Outcome::Content { .. }) | None => None,
        };
        Self {
            approval_id: approval.approval_id.to_string(),
            session_id: session.clone(),
            tool_call_id: approval.tool_call_id.clone(),
            tool: approval.tool.clone(),
            args: Some(approval.args.clone()),
            digest: Some(approval.digest.clone()),
            reason: Some(approval.reason.clone()),
            decisions: Some(approval.decisions.clone()),
            status: item.status(),
            decision,
            requested_at: item.requested_at,
            expires_at: approval.expires_at,
        }
    }

    /// For a reader that may not decide it and sees only the chat.
    pub fn narrowed(self) -> Self {
        Self { args: None, digest: None, reason: None, decisions: None, ..self }
    }
}

impl QuestionView {
    pub fn new(session: &SessionId, item: &Item, asked: &QuestionAsked) -> Self {
        let answers = match &item.outcome {
            Some(Outcome::Answers { answers, .. }) => answers.clone(),
            Some(Outcome::Decision { .. } | Outcome::Content { .. }) | None => None,
        };
        Self {
            question_id: asked.question_id.to_string(),
            session_id: session.clone(),
            tool_call_id: asked.tool_call_id.clone(),
            questions: asked.questions.clone(),
            status: item.status(),
            declined: item.outcome.is_some() && answers.is_none(),
            answers,
            requested_at: item.requested_at,
            expires_at: asked.expires_at,
        }
    }
}

impl ClientCallView {
    pub fn new(session: &SessionId, item: &Item, call: &ClientCallRequested) -> Self {
        let content = match &item.outcome {
            Some(Outcome::Content { content, .. }) => content.clone(),
            Some(Outcome::Decision { .. } | Outcome::Answers { .. }) | None => None,
        };
        Self {
            tool_call_id: call.tool_call_id.clone(),
            session_id: session.clone(),
            tool: call.tool.clone(),
            args: call.args.clone(),
            status: item.status(),
            content,
            requested_at: item.requested_at,
            expires_at: call.expires_at,
        }
    }
}
