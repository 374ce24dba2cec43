//! Staging and commits: the one place where a session's records come from.
//!
//! A record is staged (it gets its `seq`, the fold applies it) and becomes durable with the next append. At most one append is under way;
//! what is staged meanwhile is the next. What waits for durability (answers, readers) is released when its append is in.

use std::fmt;
use std::sync::Arc;

use super::metrics::Fact;
use super::record::FeedRecord;
use crate::domain::delivery::DeliveryView;
use crate::domain::event::delivery::{Delivery, Outside};
use crate::domain::event::input::{Input, MessageQueued};
use crate::domain::event::pending::{Pending, ToolApproval};
use crate::domain::event::turn::Turn;
use crate::domain::event::{AgentEvent, Place};
use crate::domain::pending::Item;
use crate::domain::record::Head;
use crate::domain::state::FoldError;
use crate::domain::{ArtifactId, DeliveryId, DigestId, Overview, Record, Seq, SessionId, SessionState, Timestamp};
use crate::store::{Alias, Append, Appended, IntakeRow, Position, Store, StoreFuture};

/// What is staged must not wait longer for a turn that always has more: this many events, or this many bytes.
const MOST_EVENTS: usize = 64;
const MOST_BYTES: usize = 256 * 1024;

/// Runs when what it waited for is on disk. Dropped without running, it tells whoever waits that it is not.
pub(super) type Release = Box<dyn FnOnce() + Send>;

/// One session's ledger, as its actor holds it.
pub(super) struct Ledger {
    session: SessionId,
    /// The fold of all that is durable or staged.
    pub(super) state: SessionState,
    position: Position,
    staged: Staged,
    inflight: Option<Inflight>,
}

#[derive(Default)]
struct Staged {
    records: Vec<Arc<FeedRecord>>,
    bytes: usize,
    urgent: bool,
    intake: Vec<IntakeRow>,
    blobs: Vec<(DigestId, Arc<[u8]>)>,
    /// Ids of waits that opened or closed.
    items: Vec<String>,
    aliases: Vec<Alias>,
    /// Deliveries that changed, as they stand by now.
    deliveries: Vec<DeliveryView>,
    /// There may be something to deliver, or a file to fetch.
    outside: bool,
    facts: Vec<Fact>,
    releases: Vec<Release>,
}

struct Inflight {
    answer: StoreFuture<Appended>,
    records: Vec<Arc<FeedRecord>>,
    overview: Arc<Overview>,
    facts: Vec<Fact>,
    outside: bool,
    releases: Vec<Release>,
}

/// An append that is in.
pub(super) struct Durable {
    pub(super) records: Vec<Arc<FeedRecord>>,
    pub(super) overview: Arc<Overview>,
    pub(super) facts: Vec<Fact>,
    /// There may be something to deliver, or a file to fetch.
    pub(super) outside: bool,
}

/// The session cannot go on from memory: its actor is dropped and the next one reads the disk.
#[derive(Debug, thiserror::Error)]
pub(super) enum LedgerError {
    #[error("an event does not follow: {0}")]
    Fold(#[from] FoldError),
    #[error("a record does not serialise: {0}")]
    Json(#[from] serde_json::Error),
    #[error("{0}")]
    Store(#[from] crate::store::StoreError),
    #[error("another writer was first, or the session was deleted")]
    Conflict,
    #[error("the result names the artifact {0}, which it was not given for")]
    NoArtifact(ArtifactId),
    #[error("the message was accepted elsewhere meanwhile")]
    IntakeTaken,
}

impl Ledger {
    pub(super) fn new(session: SessionId, state: SessionState, position: Position) -> Self {
        Self { session, state, position, staged: Staged::default(), inflight: None }
    }

    /// Gives the event its `seq` and applies it.
    pub(super) fn stage(&mut self, at: Timestamp, event: AgentEvent) -> Result<Seq, LedgerError> {
        let (turn, step) = self.place(&event);
        let record = Record { head: Head { seq: self.state.head + 1, at, turn, step }, event };
        let idle_ms = self.state.turn.as_ref().map_or(0, |turn| turn.idle_ms);
        let changed = self.changes_outside(&record.event);
        self.state.apply(&record)?;
        self.note_outside(&changed);
        self.staged.facts.extend(Fact::of(&record.event, &self.state, idle_ms));
        let shared = Arc::new(FeedRecord::new(&record)?);
        self.staged.bytes += shared.json.len();
        self.staged.records.push(shared);
        self.staged.items.extend(item_of(&record.event));
        Ok(record.head.seq)
    }

    /// Deliveries that the event changes. What waits for somebody to write waits no longer once he has.
    fn changes_outside(&mut self, event: &AgentEvent) -> Vec<DeliveryId> {
        let mut changed = Vec::new();
        if let AgentEvent::Outside(Outside::Delivery(delivery)) = event {
            changed.push(delivery.delivery_id.clone());
            self.staged.outside = true;
        }
        let outbox = &self.state.outbox;
        let freed: Vec<DeliveryId> = match event {
            AgentEvent::Input(Input::MessageQueued(MessageQueued { reply_to: Some(from), .. }))
            | AgentEvent::Outside(Outside::Delivery(Delivery { heard: true, to: Some(from), .. })) => {
                self.staged.outside = true;
                outbox.held_for(from).map(|o| o.delivery_id.clone()).collect()
            }
            AgentEvent::Pending(Pending::ToolApproval(ToolApproval { heard: true, .. })) => {
                self.staged.outside = true;
                outbox.held().map(|o| o.delivery_id.clone()).collect()
            }
            AgentEvent::Session(_)
            | AgentEvent::Input(_)
            | AgentEvent::Turn(_)
            | AgentEvent::Model(_)
            | AgentEvent::Tool(_)
            | AgentEvent::Pending(_)
            | AgentEvent::Outside(_)
            | AgentEvent::Unknown(_) => Vec::new(),
        };
        changed.extend(freed);
        changed
    }

    /// Their rows are taken now: by the time of the append the session may have forgotten one that is over.
    fn note_outside(&mut self, changed: &[DeliveryId]) {
        for view in changed.iter().filter_map(|id| self.state.outbox.get(id)).map(|outgoing| outgoing.view(&self.session)) {
            self.staged.deliveries.retain(|known| known.delivery_id != view.delivery_id);
            self.staged.deliveries.push(view);
        }
    }

    /// What a record of the event carries: see [`Place`]. A drain stands before the step that it feeds.
    fn place(&self, event: &AgentEvent) -> (Option<u32>, Option<u32>) {
        let open = self.state.turn.as_ref();
        let step = open.and_then(|t| t.step.as_ref()).map(|s| s.step);
        let next_step = open.map(|t| t.steps + 1);
        let turn = open.map(|t| t.turn);
        if matches!(event, AgentEvent::Input(Input::TurnStart(_))) {
            return (Some(self.state.last_turn + 1), None);
        }
        if matches!(event, AgentEvent::Input(Input::QueueDrain(_)) | AgentEvent::Turn(Turn::StepStart(_))) {
            return (turn, next_step);
        }
        match event.place() {
            Place::Session => (None, None),
            Place::Turn => (turn, step),
        }
    }

    /// The next append goes as soon as it can, even if the turn has more ready.
    pub(super) fn urgent(&mut self) {
        self.staged.urgent |= self.has_staged();
    }

    pub(super) fn intake(&mut self, row: IntakeRow) {
        self.staged.intake.push(row);
    }

    /// The session is found by these from the next append on.
    pub(super) fn aliases(&mut self, aliases: Vec<Alias>) {
        self.staged.aliases.extend(aliases);
    }

    pub(super) fn blob(&mut self, id: DigestId, bytes: Arc<[u8]>) {
        self.staged.bytes += bytes.len();
        self.staged.blobs.push((id, bytes));
    }

    /// Runs `release` when all that is staged by now is on disk; at once when it is.
    pub(super) fn when_durable(&mut self, release: Release) {
        if self.has_staged() {
            self.staged.urgent = true;
            self.staged.releases.push(release);
        } else if let Some(inflight) = &mut self.inflight {
            inflight.releases.push(release);
        } else {
            release();
        }
    }

    pub(super) fn has_staged(&self) -> bool {
        !self.staged.records.is_empty()
    }

    pub(super) fn writing(&self) -> bool {
        self.inflight.is_some()
    }

    /// Whether the writer is free and what is staged must not wait for the turn to pause.
    pub(super) fn must_flush(&self) -> bool {
        let staged = &self.staged;
        !self.writing() && self.has_staged() && (staged.urgent || staged.records.len() >= MOST_EVENTS || staged.bytes >= MOST_BYTES)
    }

    /// Everything is on disk.
    pub(super) fn is_clean(&self) -> bool {
        !self.has_staged() && !self.writing()
    }

    /// Appends what is staged.
    pub(super) fn begin_append(&mut self, store: &dyn Store, wake_at: Option<Timestamp>) {
        let Some(overview) = Overview::of(&self.session, &self.state) else { return };
        let staged = std::mem::take(&mut self.staged);
        let items: Vec<Item> = staged.items.iter().filter_map(|id| self.state.item(id).cloned()).collect();
        let append = Append {
            session: self.session.clone(),
            expected: self.position,
            records: staged.records.iter().map(|r| r.stored()).collect(),
            intake: staged.intake,
            wake_at,
            blobs: staged.blobs,
            overview: overview.clone(),
            items,
            aliases: staged.aliases,
            deliveries: staged.deliveries,
        };
        self.inflight = Some(Inflight {
            answer: store.append(append),
            records: staged.records,
            overview: Arc::new(overview),
            facts: staged.facts,
            outside: staged.outside,
            releases: staged.releases,
        });
    }

    /// Waits for the append under way; for ever where there is none. Cancel-safe.
    pub(super) async fn written(&mut self) -> Result<Appended, LedgerError> {
        match &mut self.inflight {
            Some(inflight) => Ok((&mut inflight.answer).await?),
            None => std::future::pending().await,
        }
    }

    /// Takes the answer of the append under way. The releases run after `show`, so that nobody is answered before readers can see it.
    pub(super) fn committed(&mut self, appended: &Appended, show: impl FnOnce(Durable)) -> Result<(), LedgerError> {
        let Some(inflight) = self.inflight.take() else { return Ok(()) };
        match appended {
            Appended::Committed(position) => self.position = *position,
            Appended::Conflict => return Err(LedgerError::Conflict),
            Appended::IntakeTaken(_) => return Err(LedgerError::IntakeTaken),
        }
        show(Durable { records: inflight.records, overview: inflight.overview, facts: inflight.facts, outside: inflight.outside });
        for release in inflight.releases {
            release();
        }
        Ok(())
    }
}

/// The wait that the event opens or closes.
fn item_of(event: &AgentEvent) -> Option<String> {
    let AgentEvent::Pending(pending) = event else { return None };
    Some(match pending {
        Pending::ApprovalRequested(e) => e.approval_id.to_string(),
        Pending::ToolApproval(e) => e.approval_id.to_string(),
        Pending::QuestionAsked(e) => e.question_id.to_string(),
        Pending::QuestionAnswered(e) => e.question_id.to_string(),
        Pending::ClientCallRequested(e) => e.tool_call_id.to_string(),
        Pending::ClientCallResult(e) => e.tool_call_id.to_string(),
    })
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger").field("session", &self.session).field("head", &self.state.head).finish_non_exhaustive()
    }
}
