//! Where ledgers live. One append is all or nothing, and an answer means that it is on disk.
//!
//! The trait stays honest for a cluster: [`Position`] is opaque, the writer names the one it expects, and a conflict is the fence against a
//! second writer. What is not in the trait: transactions across sessions, queries over records, and any way to change a record.
//! The engine is [`sqlite`]; the tests hold it to a second one, in memory.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::domain::delivery::DeliveryView;
use crate::domain::pairing::Pairing;
use crate::domain::pending::{Item, ItemStatus};
use crate::domain::{DeliveryId, DigestId, MessageId, Overview, Recipient, Seq, SessionId, Timestamp};

pub use outside::{Alias, DeliveryFilter, PairingFilter};

#[cfg(test)]
pub mod memory;
pub mod metrics;
mod outside;
pub mod sqlite;
#[cfg(test)]
pub(crate) mod tests;

/// How long a row of the intake index is kept, counted back from the newest row: the longest that any platform redelivers (7 days) and a
/// day more. Engines have no clock of their own for it.
pub const INTAKE_KEPT: Duration = Duration::from_secs(8 * 24 * 60 * 60);

/// The kinds that [`Store::transcript`] reads.
pub const TRANSCRIPT_KINDS: [&str; 5] = ["message_queued", "message_removed", "turn_start", "queue_drain", "message"];

/// Where a session's ledger stands in its engine; opaque to everyone else. 0 is a session without records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Position(pub u64);

/// All that one commit writes for one session.
#[derive(Clone, Debug)]
pub struct Append {
    pub session: SessionId,
    /// Where the writer believes the ledger stands; 0 makes the session, and is a conflict where there is one.
    pub expected: Position,
    pub records: Vec<StoredRecord>,
    /// Rows of the intake index; first writer wins, and a row that another holds refuses the whole append.
    pub intake: Vec<IntakeRow>,
    /// When the session is to be activated although nobody asks for it; `None` is never.
    pub wake_at: Option<Timestamp>,
    /// Prompts, tool lists, artifacts: written once, by id.
    pub blobs: Vec<(DigestId, Arc<[u8]>)>,
    /// The rows behind the lists across sessions.
    pub overview: Overview,
    /// Waits that opened or closed in these records.
    pub items: Vec<Item>,
    /// Names that the session is found by from here on.
    pub aliases: Vec<Alias>,
    /// Deliveries that these records changed, as they stand after them.
    pub deliveries: Vec<DeliveryView>,
}

impl Append {
    /// Refuses what is a fault of the caller, before any engine sees it: a hole in the records, a session that begins without one, an intake
    /// key twice in one append (the second would find the first and say that somebody else had it), another session's alias.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), StoreError> {
        let Position(head) = self.expected;
        if let Some((record, seq)) = self.records.iter().zip(head + 1..).find(|(record, seq)| record.seq != *seq) {
            return Err(StoreError(format!("record {} of {} stands where {seq} belongs", record.seq, self.session)));
        }
        if head == 0 && self.records.is_empty() {
            return Err(StoreError(format!("{} would begin without a record", self.session)));
        }
        if let Some(alias) = self.aliases.iter().find(|alias| alias.session != self.session) {
            return Err(StoreError(format!("{} would name {} in an append of {}", alias.name, alias.session, self.session)));
        }
        let twice = self.intake.iter().enumerate().any(|(i, row)| self.intake[..i].iter().any(|other| other.key() == row.key()));
        if twice { Err(StoreError(format!("an intake key stands twice in one append of {}", self.session))) } else { Ok(()) }
    }

    /// Where the ledger stands after it.
    pub fn position(&self) -> Position {
        Position(self.expected.0 + self.records.len() as u64)
    }
}

impl IntakeRow {
    /// What is unique of it.
    pub fn key(&self) -> (&str, &str, &str) {
        (&self.tenant, &self.scope, &self.external_id)
    }
}

/// A record's text, and what the engine indexes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRecord {
    pub seq: Seq,
    pub kind: String,
    pub json: Arc<str>,
}

/// One accepted message or creation: `(tenant, scope, external_id)` is unique.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntakeRow {
    pub tenant: String,
    /// Principal and path for an `Idempotency-Key`, channel and account for a channel's message id.
    pub scope: String,
    pub external_id: String,
    pub session: SessionId,
    /// Absent for a creation.
    pub message_id: Option<MessageId>,
    /// Of the `message_queued` record, or 1 for a creation; 0, and no `message_id`, once the session was erased.
    pub seq: Seq,
    /// Hex SHA-256 of the body, so that the same key with another body is told apart.
    pub body_hash: String,
    pub at: Timestamp,
}

/// What became of an append. An append whose answer was lost may be any of these: whoever lost it reads the ledger again.
#[derive(Clone, Debug, PartialEq)]
pub enum Appended {
    /// All of it is on disk, and the ledger stands there.
    Committed(Position),
    /// Somebody was first; nothing of the append was written. Said in preference to [`Conflict`](Self::Conflict), also where the session of
    /// the row was erased.
    IntakeTaken(IntakeRow),
    /// Another writer has appended, or the session (or the parent of a new child) was deleted; nothing of the append was written.
    Conflict,
}

/// What activation reads.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    pub position: Position,
    pub snapshot: Option<Snapshot>,
}

/// A saved fold. A snapshot of another fold version is ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    pub fold_version: u32,
    pub through_seq: Seq,
    pub state: Vec<u8>,
}

/// A filter of the session list.
#[derive(Clone, Debug, Default)]
pub struct SessionFilter {
    pub tenant: String,
    /// Only this owner's; `None` is the whole tenant.
    pub owner: Option<String>,
    pub channel: Option<String>,
    /// The last id of the page before. Nothing comes after a session that was erased meanwhile.
    pub after: Option<SessionId>,
    /// Rows, and [`Most::BYTES`] of them.
    pub limit: usize,
}

/// A filter of the approval lists. Order: oldest request first.
#[derive(Clone, Debug, Default)]
pub struct ApprovalFilter {
    pub tenant: String,
    pub owner: Option<String>,
    pub session: Option<SessionId>,
    /// `pending`, `decided`, `expired`, `cancelled`, `unavailable`; `None` is all.
    pub status: Option<ItemStatus>,
    /// The last approval id of the page before.
    pub after: Option<String>,
    /// Rows, and [`Most::BYTES`] of them.
    pub limit: usize,
}

/// How much one read gives: it ends where either is reached, and yet has a row where there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Most {
    pub rows: usize,
    /// Of the rows' text.
    pub bytes: usize,
}

impl Most {
    /// The bytes of a read that names none: a few times the longest record, and little enough for many readers at once.
    pub const BYTES: usize = 4 << 20;

    pub fn rows(rows: usize) -> Self {
        Self { rows, bytes: Self::BYTES }
    }
}

/// What a read gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice<T> {
    pub rows: Vec<T>,
    /// There was another row behind these.
    pub more: bool,
}

impl<T> Slice<T> {
    pub fn empty() -> Self {
        Self { rows: Vec::new(), more: false }
    }

    /// The first of these rows, each with its bytes. No more than one beyond them is asked for.
    ///
    /// # Errors
    /// The first row's that has one.
    pub fn take<E>(rows: impl IntoIterator<Item = Result<(usize, T), E>>, most: Most) -> Result<Self, E> {
        let (mut slice, mut bytes) = (Self::empty(), 0_usize);
        for row in rows {
            let (size, row) = row?;
            bytes = bytes.saturating_add(size);
            let fits = bytes <= most.bytes || slice.rows.is_empty();
            if slice.rows.len() >= most.rows || !fits {
                slice.more = true;
                break;
            }
            slice.rows.push(row);
        }
        Ok(slice)
    }
}

/// How many waits are open, in all sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pending {
    pub approvals: u64,
    pub questions: u64,
    pub client_calls: u64,
}

/// What keeps an engine from its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// A stable word.
    pub code: &'static str,
    /// For the operator: what is wrong and what to do.
    pub detail: String,
}

/// Why the store could not do it. The session's actor is dropped and reads the disk again.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the store failed: {0}")]
pub struct StoreError(pub String);

/// What an engine was asked for, on its way.
pub type StoreFuture<T> = BoxFuture<'static, Result<T, StoreError>>;

/// An engine. Every future may be dropped: what was asked still happens, only its answer is lost.
pub trait Store: fmt::Debug + Send + Sync + 'static {
    /// Commits all of it or nothing. Resolves when it is on disk.
    fn append(&self, append: Append) -> StoreFuture<Appended>;

    /// Records after `after`, in order. Only what is durable.
    fn read(&self, session: &SessionId, after: Seq, most: Most) -> StoreFuture<Slice<StoredRecord>>;

    /// Records after `after` of those that make up the transcript ([`TRANSCRIPT_KINDS`]), in order, and the durable head, from one read.
    fn transcript(&self, session: &SessionId, after: Seq, most: Most) -> StoreFuture<(Slice<StoredRecord>, Seq)>;

    /// Where the ledger stands and its newest snapshot. `None` where there is no such session or it was deleted.
    fn load(&self, session: &SessionId) -> StoreFuture<Option<Loaded>>;

    /// The session's row. `None` where there is no such session or it was deleted.
    fn overview(&self, session: &SessionId) -> StoreFuture<Option<Overview>>;

    /// Newest first: by `created_at`, then by id, both descending. Children are not among them.
    fn sessions(&self, filter: SessionFilter) -> StoreFuture<Slice<Overview>>;

    /// With the session that each belongs to.
    fn approvals(&self, filter: ApprovalFilter) -> StoreFuture<Slice<(SessionId, Item)>>;

    /// One wait of a session, open or closed.
    fn item(&self, session: &SessionId, id: &str) -> StoreFuture<Option<Item>>;

    fn intake(&self, tenant: &str, scope: &str, external_id: &str) -> StoreFuture<Option<IntakeRow>>;

    fn blob(&self, session: &SessionId, id: &DigestId) -> StoreFuture<Option<Vec<u8>>>;

    /// Saves a fold, unless one of the same version that reaches further is there. Off the append path, and a lost one costs only time.
    fn save_snapshot(&self, session: &SessionId, snapshot: Snapshot) -> StoreFuture<()>;

    /// Sessions to activate by `now`, oldest first, at most `limit`, and the time of the next one after `now`.
    fn due(&self, now: Timestamp, limit: usize) -> StoreFuture<(Vec<SessionId>, Option<Timestamp>)>;

    /// From here on the session and its children do not exist for anybody: they read as if they were empty, and an append is a conflict.
    /// False where it did not already.
    fn mark_deleted(&self, session: &SessionId) -> StoreFuture<bool>;

    /// Removes all of a marked session and of its children in one commit. Their intake rows stay, as hashes only. Nothing happens to a
    /// session that is not marked.
    fn erase(&self, session: &SessionId) -> StoreFuture<()>;

    /// Sessions that were marked and not erased: a crash came between. Children go with their parent and are not among them.
    fn marked(&self) -> StoreFuture<Vec<SessionId>>;

    /// The session of that name. `None` also while it is marked deleted.
    fn alias(&self, tenant: &str, scope: &str, name: &str) -> StoreFuture<Option<SessionId>>;

    /// All names of a session, in order.
    fn aliases(&self, session: &SessionId) -> StoreFuture<Vec<Alias>>;

    /// Writes them in one commit, and takes away those in `gone` that still name their session. One whose session is not there is left out.
    fn put_aliases(&self, aliases: Vec<Alias>, gone: Vec<Alias>) -> StoreFuture<()>;

    fn deliveries(&self, filter: DeliveryFilter) -> StoreFuture<Slice<DeliveryView>>;

    fn delivery(&self, id: &DeliveryId) -> StoreFuture<Option<DeliveryView>>;

    /// Writes it in the place of one with the same tenant, channel, account and first id. Fails where another has its code.
    fn save_pairing(&self, pairing: Pairing) -> StoreFuture<()>;

    fn pairing(&self, tenant: &str, code: &str) -> StoreFuture<Option<Pairing>>;

    /// The one that has that id, whichever of its ids it is; of several the one that was saved last.
    fn pairing_of(&self, tenant: &str, channel: &str, account: &str, id: &Recipient) -> StoreFuture<Option<Pairing>>;

    fn pairings(&self, filter: PairingFilter) -> StoreFuture<Slice<Pairing>>;

    /// False where there is none with that code.
    fn delete_pairing(&self, tenant: &str, code: &str) -> StoreFuture<bool>;

    /// How many waits are open, also in sessions that are not awake.
    fn pending(&self) -> StoreFuture<Pending>;

    /// What keeps it from reading or writing now, if anything. It is read, and written only where the last commit failed. Takes as long as
    /// the disk does: ask with a deadline.
    fn trouble(&self) -> BoxFuture<'static, Option<Trouble>>;

    /// A secret of this store, made when it was: the key of ids that derive from what the caller sent.
    fn secret(&self) -> [u8; 32];

    /// Whether the process before this one stopped gracefully; true for a new store.
    fn stopped_gracefully(&self) -> bool;

    /// Flushes, notes that the stop is graceful, and closes: whatever is asked from here on fails.
    fn close(&self) -> StoreFuture<()>;
}
