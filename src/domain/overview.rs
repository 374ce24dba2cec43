//! A session in one row: what lists, `hello` and a start of the process need to know without its ledger.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::session::Metadata;
use super::pending::{ApprovalView, ClientCallView, Item, ItemKind, QuestionView};
use super::state::{OpenAttempt, SessionState};
use super::{Seq, SessionId, Timestamp, ToolCallId};

/// A function of the state; written in the same commit as the records that changed it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Overview {
    pub id: SessionId,
    pub tenant: String,
    pub owner: String,
    pub channel: String,
    pub agent: String,
    /// On a messaging channel.
    pub account: Option<String>,
    pub parent: Option<String>,
    pub title: Option<String>,
    pub metadata: Metadata,
    pub status: Status,
    /// The open turn.
    pub turn: Option<u32>,
    pub head: Seq,
    pub queued: usize,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub attempt: Option<OpenAttempt>,
    pub attempt_edge: Seq,
    /// Open waits, in the model's order.
    pub pending: Vec<Item>,
    /// Tools that run now.
    pub tools: Vec<RunningTool>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunningTool {
    pub tool_call_id: ToolCallId,
    pub tool: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Idle,
    Running,
    /// An open turn waits for a person.
    Waiting,
    /// A person has taken over: input waits.
    Paused,
}

/// The session object of `POST, GET, PATCH /v1/sessions` and of the list's rows.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Session")]
pub struct SessionObject {
    pub id: SessionId,
    pub channel: String,
    /// On a messaging channel: the name of its account in the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    pub agent: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub metadata: Metadata,
    pub status: Status,
    /// The open turn; absent where none is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// The `seq` of the newest record of its ledger.
    pub head: Seq,
    /// Accepted messages that no turn has claimed yet.
    pub queued: usize,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Overview {
    /// `None` before `session_created`.
    pub fn of(id: &SessionId, state: &SessionState) -> Option<Self> {
        let profile = state.profile.as_ref()?;
        let status = match &state.turn {
            _ if state.handoff.is_some() => Status::Paused,
            None => Status::Idle,
            Some(_) if state.waits_for_person() => Status::Waiting,
            Some(_) => Status::Running,
        };
        Some(Self {
            id: id.clone(),
            tenant: profile.tenant.clone(),
            owner: profile.principal.clone(),
            channel: profile.channel.clone(),
            agent: profile.agent.clone(),
            account: profile.account.clone(),
            parent: profile.parent.clone(),
            title: profile.title.clone(),
            metadata: profile.metadata.clone(),
            status,
            turn: state.turn.as_ref().map(|t| t.turn),
            head: state.head,
            queued: state.inbox.len(),
            created_at: state.created_at,
            updated_at: state.updated_at,
            attempt: state.attempt,
            attempt_edge: state.attempt_edge,
            pending: state.open_items().cloned().collect(),
            tools: state.running_tools().collect(),
        })
    }

    pub fn object(&self) -> SessionObject {
        SessionObject {
            id: self.id.clone(),
            channel: self.channel.clone(),
            account: self.account.clone(),
            agent: self.agent.clone(),
            title: self.title.clone(),
            metadata: self.metadata.clone(),
            status: self.status,
            turn: self.turn,
            head: self.head,
            queued: self.queued,
            created_at: self.created_at,
            updated_at: self.updated_at,
        }
    }

    pub fn approvals(&self) -> impl Iterator<Item = ApprovalView> {
        self.pending.iter().filter_map(|item| approval_view(&self.id, item))
    }

    pub fn questions(&self) -> impl Iterator<Item = QuestionView> {
        self.pending.iter().filter_map(|item| match &item.kind {
            ItemKind::Question(q) => Some(QuestionView::new(&self.id, item, q)),
            ItemKind::Approval(_) | ItemKind::ClientCall(_) => None,
        })
    }

    pub fn client_calls(&self) -> impl Iterator<Item = ClientCallView> {
        self.pending.iter().filter_map(|item| match &item.kind {
            ItemKind::ClientCall(c) => Some(ClientCallView::new(&self.id, item, c)),
            ItemKind::Approval(_) | ItemKind::Question(_) => None,
        })
    }
}

/// The item as an approval, if it is one.
pub fn approval_view(session: &SessionId, item: &Item) -> Option<ApprovalView> {
    match &item.kind {
        ItemKind::Approval(a) => Some(ApprovalView::new(session, item, a)),
        ItemKind::Question(_) | ItemKind::ClientCall(_) => None,
    }
}
