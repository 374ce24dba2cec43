//! What callers ask of a session, and what they are told.
//!
//! Every answer comes after what it speaks of is on disk.

use tokio::sync::oneshot;

use outside::Outward;

use crate::domain::event::input::{Mode, Trust};
use crate::domain::event::session::{Metadata, SessionCreated, SessionUpdated};
use crate::domain::pending::{Answer, Decision, Item, ItemKind, ItemStatus, Outcome};
use crate::domain::state::Profile;
use crate::domain::{Address, Attachment, MessageId, Overview, Seq};
use crate::store::{IntakeRow, StoreError};

pub mod outside;

pub use outside::{AfterFailure, Arrival, DeliveryStatus, Notice, ReplyTo, Retried, TakeOver};

/// Why a session did not do it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SessionError {
    #[error("there is no such session")]
    NotFound,
    #[error("as much input waits as may wait")]
    QueueFull,
    #[error("the message was claimed by a turn, or removed")]
    NotQueued,
    #[error("the session exists already")]
    Exists,
    #[error("the metadata would have more than {METADATA_CAP} bytes")]
    MetadataTooLarge,
    #[error("the gateway is stopping")]
    Stopping,
    #[error("more is asked of this session at once than it can take; ask again in a moment")]
    Busy,
    #[error("the ledger could not be written or read: {0}")]
    Unavailable(String),
}

impl From<StoreError> for SessionError {
    fn from(error: StoreError) -> Self {
        Self::Unavailable(error.0)
    }
}

pub(super) type Reply<T> = oneshot::Sender<Result<T, SessionError>>;

/// The first inbox: what must not queue behind input.
#[derive(Debug)]
pub(super) enum Control {
    Cancel { queue: Queue, by: String, reply: Reply<Cancelled> },
    Remove { message_id: MessageId, by: String, why: Removal, reply: Reply<()> },
    Resolve { id: String, answer: Resolution, by: String, reply: Reply<Resolved> },
    Update { patch: SessionPatch, reply: Reply<Overview> },
    Outward(Outward),
}

/// Who takes a message away that no turn has claimed: a client of the gateway, or its sender where he wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Removal {
    TakenBack,
    Retracted,
}

/// What a cancel does with input that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    Keep,
    Remove,
}

/// The second inbox.
#[derive(Debug)]
pub(super) enum Input {
    Create { created: SessionCreated, intake: Option<IntakeRow>, reply: Reply<Overview> },
    Post { post: Post, reply: Reply<Posted> },
    Receive { arrival: Box<Arrival>, reply: Reply<Posted> },
}

/// A merge-patch of what can be changed. Merged by the actor, so that no two of them lose each other's fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionPatch {
    /// Empty is none.
    pub title: Option<String>,
    /// `Some(None)` clears all of it.
    pub metadata: Option<Option<Metadata>>,
}

/// The most bytes of a session's metadata as JSON.
pub const METADATA_CAP: usize = 64 * 1024;

impl SessionPatch {
    /// What it changes, against what stands.
    ///
    /// # Errors
    /// `MetadataTooLarge`.
    pub(super) fn against(self, profile: &Profile) -> Result<SessionUpdated, SessionError> {
        let merged = self.metadata.map(|patch| patch.map_or_else(Metadata::new, |patch| merge_metadata(&profile.metadata, &patch)));
        let metadata = merged.filter(|merged| *merged != profile.metadata);
        if metadata.as_ref().is_some_and(|m| serde_json::to_string(m).map_or(0, |text| text.len()) > METADATA_CAP) {
            return Err(SessionError::MetadataTooLarge);
        }
        let title = self.title.filter(|title| title != profile.title.as_deref().unwrap_or_default());
        Ok(SessionUpdated { title, metadata })
    }
}

/// A message for a session.
#[derive(Clone, Debug)]
pub struct Post {
    pub text: String,
    pub mode: Option<Mode>,
    pub model: Option<String>,
    pub instructions: Option<String>,
    pub author: String,
    pub trust: Trust,
    /// Where it came from and its answer goes; `None` where whoever posted it reads along.
    pub reply_to: Option<Address>,
    pub attachments: Vec<Attachment>,
    /// Key and body hash of an `Idempotency-Key`; the session fills in the rest.
    pub key: Option<IntakeKey>,
}

/// What makes a message the same one however often it comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntakeKey {
    pub tenant: String,
    pub scope: String,
    pub external_id: String,
    pub body_hash: String,
}

impl IntakeKey {
    /// As the index has it with that message.
    pub(super) fn row(&self, session: &crate::domain::SessionId, posted: &Posted, at: crate::domain::Timestamp) -> IntakeRow {
        IntakeRow {
            tenant: self.tenant.clone(),
            scope: self.scope.clone(),
            external_id: self.external_id.clone(),
            session: session.clone(),
            message_id: Some(posted.message_id.clone()),
            seq: posted.seq,
            body_hash: self.body_hash.clone(),
            at,
        }
    }
}

/// A message that stands in the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posted {
    pub message_id: MessageId,
    /// Of its `message_queued`.
    pub seq: Seq,
    /// It was here before; this post added nothing.
    pub replayed: bool,
    /// Of the body it was first posted with, where it had a key.
    pub body_hash: Option<String>,
}

impl Posted {
    /// As the index has it; `None` for a row without a message.
    pub(super) fn indexed(row: IntakeRow) -> Option<Self> {
        let (seq, body_hash) = (row.seq, Some(row.body_hash));
        row.message_id.map(|message_id| Self { message_id, seq, replayed: true, body_hash })
    }
}

/// What a cancel did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cancelled {
    pub turn: Option<u32>,
    pub removed: Vec<MessageId>,
}

/// An answer to something that waits.
#[derive(Clone, Debug, PartialEq)]
pub enum Resolution {
    Decision {
        decision: Decision,
        note: Option<String>,
        digest: Option<String>,
    },
    /// `None` declines.
    Answers(Option<Vec<Answer>>),
    Content(String),
    /// A button was pressed in the conversation that asked.
    Press(Decision),
}

/// What became of the answer. The item is as it stands now.
#[derive(Clone, Debug, PartialEq)]
pub enum Resolved {
    /// It counts, now or because the same was said before.
    Stands(Box<Item>),
    /// Another answer was first.
    Conflict,
    /// The decision names another digest than the one that was asked about.
    DigestMismatch,
    /// Too late: expired, cancelled.
    Gone(Box<Item>),
    /// Not one of the decisions that are offered, or no answer to the questions. `pointer` is a JSON pointer into the body of the POST.
    Invalid { pointer: String, detail: String },
    /// The session's memory does not have it; the index may.
    Unknown,
}

impl Post {
    pub(super) fn row(&self, session: &crate::domain::SessionId, posted: &Posted, at: crate::domain::Timestamp) -> Option<IntakeRow> {
        self.key.as_ref().map(|key| key.row(session, posted, at))
    }
}

/// What an answer means to a wait that has its outcome: the same again, another, or too late.
pub fn standing(item: Item, answer: &Resolution) -> Resolved {
    if item.status() != ItemStatus::Decided {
        return Resolved::Gone(Box::new(item));
    }
    let same = match (&item.outcome, &item.kind, answer) {
        (Some(Outcome::Decision { decision, .. }), ItemKind::Approval(_), Resolution::Press(again)) => decision == again,
        (Some(Outcome::Decision { decision, .. }), ItemKind::Approval(a), Resolution::Decision { decision: again, digest, .. }) => {
            if digest.as_ref().is_some_and(|d| *d != a.digest) {
                return Resolved::DigestMismatch;
            }
            decision == again
        }
        (Some(Outcome::Answers { answers, .. }), ItemKind::Question(_), Resolution::Answers(again)) => answers == again,
        (Some(Outcome::Content { content, .. }), ItemKind::ClientCall(_), Resolution::Content(again)) => content.as_ref() == Some(again),
        _ => return Resolved::Unknown,
    };
    if same { Resolved::Stands(Box::new(item)) } else { Resolved::Conflict }
}

/// The body of a merge-patch, resolved against what stands.
fn merge_metadata(current: &Metadata, patch: &Metadata) -> Metadata {
    fn merge(target: &mut Metadata, patch: &Metadata) {
        for (key, value) in patch {
            match (target.get_mut(key), value) {
                (_, serde_json::Value::Null) => drop(target.remove(key)),
                (Some(serde_json::Value::Object(inner)), serde_json::Value::Object(changes)) => merge(inner, changes),
                (_, serde_json::Value::Object(changes)) => {
                    let mut inner = Metadata::new();
                    merge(&mut inner, changes);
                    target.insert(key.clone(), inner.into());
                }
                (_, other) => drop(target.insert(key.clone(), other.clone())),
            }
        }
    }
    let mut merged = current.clone();
    merge(&mut merged, patch);
    merged
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::merge_metadata;

    /// The examples of RFC 7396, appendix A, that are objects.
    #[test]
    fn metadata_is_merged_as_rfc_7396_says() {
        for (current, patch, merged) in [
            (json!({"a":"b"}), json!({"a":"c"}), json!({"a":"c"})),
            (json!({"a":"b","b":"c"}), json!({"a":null}), json!({"b":"c"})),
            (json!({"a":["b"]}), json!({"a":"c"}), json!({"a":"c"})),
            (json!({"a":{"b":"c"}}), json!({"a":{"b":"d","c":null}}), json!({"a":{"b":"d"}})),
            (json!({}), json!({"a":{"bb":{"ccc":null}}}), json!({"a":{"bb":{}}})),
        ] {
            let result = merge_metadata(current.as_object().unwrap(), patch.as_object().unwrap());
            assert_eq!(json!(result), merged);
        }
    }
}
