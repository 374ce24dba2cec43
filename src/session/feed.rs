//! What readers of one session see: durable records, the live text behind them, and what waits.
//!
//! The feed outlives actors: readers of a passivated session cost a cursor and a waiter. Nobody is sent anything; the feed wakes readers,
//! and each pulls from its own position ([`super::Reader`]), so a slow one costs the others nothing.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::live::{Activity, LiveText};
use super::record::FeedRecord;
use crate::domain::event::AttemptEffect;
use crate::domain::live::StreamMode;
use crate::domain::{LiveEvent, MessageId, Overview, Seq, SessionId};
use crate::store::Store;

/// The newest records of an active session that stay in memory; older ones are read from the store.
const RING: usize = 256;

/// One session's feed.
#[derive(Debug)]
pub struct Feed {
    pub(super) session: SessionId,
    pub(super) store: Arc<dyn Store>,
    inner: Mutex<Inner>,
    wake: watch::Sender<()>,
}

/// Why the gateway ends its readers' streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closing {
    /// The session's actor or the process stops; come back.
    Draining,
    Deleted,
}

#[derive(Debug, Default)]
pub(super) struct Inner {
    /// As of the durable head; `None` until somebody loaded it.
    pub(super) overview: Option<Arc<Overview>>,
    pub(super) ring: VecDeque<Arc<FeedRecord>>,
    /// The text of the attempt that is open at the durable head, and of those that were opened since: an attempt stays until the record
    /// that closes it is on disk, and the next may have begun by then.
    pub(super) live: VecDeque<LiveText>,
    /// The live text that the newest `message` closed, for readers that were there and have not come to its end.
    pub(super) closed: Option<Arc<ClosedText>>,
    pub(super) activity: Activity,
    /// An attempt that was open before its actor came is still to be declared void.
    repairing: bool,
    /// Counts the times that all readers were told to go, and why the last time. What was read from the store before such a time is
    /// not shown after it.
    pub(super) closings: u64,
    pub(super) closing: Option<Closing>,
    /// Readers, and those who will be: while there are any, text that streams is kept for them.
    present: usize,
}

/// Live text whose attempt is over.
#[derive(Debug)]
pub(super) struct ClosedText {
    pub(super) text: LiveText,
    /// The `message` that closed it.
    pub(super) at: Seq,
}

/// The part of `hello` that lives in memory only.
#[derive(Clone, Debug, Default)]
pub struct LiveHello {
    pub message_id: Option<MessageId>,
    pub mode: Option<StreamMode>,
}

impl Inner {
    /// What an actor that is gone had in memory only.
    fn void(&mut self) {
        (self.live, self.closed) = (VecDeque::new(), None);
        self.activity = Activity::default();
        self.repairing = false;
    }

    fn is_deleted(&self) -> bool {
        self.closing == Some(Closing::Deleted)
    }
}

impl Feed {
    pub(super) fn new(session: SessionId, store: Arc<dyn Store>) -> Self {
        Self { session, store, inner: Mutex::default(), wake: watch::Sender::new(()) }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        // nothing panics while it holds the lock; a poisoned one still holds whole values
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<()> {
        self.wake.subscribe()
    }

    fn wake(&self) {
        self.wake.send_replace(());
    }

    /// The session as of its durable head.
    pub fn overview(&self) -> Option<Arc<Overview>> {
        self.lock().overview.clone()
    }

    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// What `hello` says of the open attempt.
    pub fn live_hello(&self) -> LiveHello {
        let inner = self.lock();
        LiveHello { message_id: inner.activity.message_id.clone(), mode: inner.activity.mode }
    }

    /// How often readers were told to go by now: what a caller notes before it reads the store.
    pub(super) fn epoch(&self) -> u64 {
        self.lock().closings
    }

    /// Sets the overview that was read from the store, unless an actor has done so meanwhile. False where it was read too long ago: readers
    /// were told to go since, and the session may be another or none.
    pub(super) fn load(&self, epoch: u64, overview: Overview) -> bool {
        let mut inner = self.lock();
        if inner.closings != epoch {
            return false;
        }
        inner.overview.get_or_insert_with(|| Arc::new(overview));
        true
    }

    /// The overview as the session's actor has read it. Nobody knows better, but that the session was deleted since.
    pub(super) fn awake(&self, overview: Overview) {
        let mut inner = self.lock();
        if inner.is_deleted() {
            return;
        }
        // an actor before it that failed may have left what never was
        inner.void();
        inner.repairing = overview.attempt.is_some();
        inner.overview = Some(Arc::new(overview));
        drop(inner);
        self.wake();
    }

    /// Nothing is shown any more, whatever an actor that has not heard of it brings.
    pub(super) fn is_deleted(&self) -> bool {
        self.lock().is_deleted()
    }

    /// Whether a reader may be served: an attempt that the ledger has open is the one in memory. It is not after a restart, until the
    /// repair is durable.
    pub(super) fn is_sound(&self) -> bool {
        let inner = self.lock();
        let open = inner.overview.as_ref().and_then(|o| o.attempt);
        open.is_none_or(|attempt| !inner.repairing && inner.live.back().is_some_and(|l| l.request >= attempt.seq))
    }

    /// An attempt opens; its `request` is staged.
    pub(super) fn open_attempt(&self, request: Seq) {
        self.lock().live.push_back(LiveText::new(request));
    }

    /// What that turn does now. `base` is the last staged record.
    pub(super) fn live(&self, turn: u32, base: Seq, event: LiveEvent) {
        let mut inner = self.lock();
        let Inner { live, activity, overview, .. } = &mut *inner;
        if activity.turn != turn {
            *activity = Activity { turn, ..Activity::default() };
        }
        activity.base = base;
        match event {
            LiveEvent::Delta(delta) => {
                activity.delta(&delta);
                let Some(live) = live.back_mut() else { return };
                live.push(base, delta);
                if !live.reveal(overview.as_ref().map_or(0, |o| o.head)) {
                    return;
                }
            }
            LiveEvent::Requesting(message_id) => {
                (activity.mode, activity.message_id) = (Some(StreamMode::Requesting), Some(message_id));
            }
            LiveEvent::UsingTools => activity.mode = Some(StreamMode::ToolUse),
            LiveEvent::ToolProgress { tool_call_id, fields } => activity.tool(&tool_call_id, fields),
        }
        drop(inner);
        self.wake();
    }

    /// These records are durable.
    pub(super) fn advance(&self, records: Vec<Arc<FeedRecord>>, overview: Arc<Overview>) {
        let mut inner = self.lock();
        if inner.is_deleted() {
            return;
        }
        for record in records {
            if record.effect == AttemptEffect::Closes {
                Self::close_attempt(&mut inner, &record);
            }
            // the next turn may be under way by the time that this is on disk
            if &*record.kind == "done" && record.turn == Some(inner.activity.turn) {
                inner.activity = Activity::default();
            }
            inner.ring.push_back(record);
        }
        while inner.ring.len() > RING {
            inner.ring.pop_front();
        }
        for live in &mut inner.live {
            live.reveal(overview.head);
        }
        inner.overview = Some(overview);
        // what an actor appends first has the repair in it
        inner.repairing = false;
        drop(inner);
        self.wake();
    }

    /// The attempt's text is void, or whole in the record that closed it. Who has read along until here gets the rest of it first.
    fn close_attempt(inner: &mut Inner, record: &FeedRecord) {
        let Some(mut text) = inner.live.pop_front_if(|live| live.request < record.seq) else { return };
        text.reveal(record.seq);
        let kept = &*record.kind == "message" && inner.present > 0;
        inner.closed = kept.then(|| Arc::new(ClosedText { text, at: record.seq }));
    }

    /// Somebody comes to read. Gives the durable head, and how often readers were told to go.
    pub(super) fn come(&self) -> (Seq, u64) {
        let mut inner = self.lock();
        inner.present += 1;
        (inner.overview.as_ref().map_or(0, |o| o.head), inner.closings)
    }

    /// Somebody who came goes. The last one takes along what was kept for readers.
    pub(super) fn leave(&self) {
        let mut inner = self.lock();
        inner.present = inner.present.saturating_sub(1);
        if inner.present == 0 {
            inner.closed = None;
        }
    }

    /// The actor is gone: what it had not made durable never was. Old records are the store's again.
    pub(super) fn retire(&self) {
        let mut inner = self.lock();
        inner.ring = VecDeque::new();
        inner.void();
    }

    /// Ends all readers' streams; each says why. Who comes afterwards is served, unless the session is gone.
    pub(super) fn close(&self, why: Closing) {
        let mut inner = self.lock();
        inner.overview = None;
        inner.ring = VecDeque::new();
        inner.void();
        inner.closings += 1;
        if !inner.is_deleted() {
            inner.closing = Some(why);
        }
        drop(inner);
        self.wake();
    }
}
