//! Which sessions are awake, and the way to each.
//!
//! An entry lives while it has a user: an actor, a reader, a call under way. Its feed outlives actors. A message is sent under the entry's
//! lock and an actor retires under the same lock with empty inboxes, so no message is lost between an actor and its successor.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dashmap::DashMap;
use tokio::sync::{Notify, Semaphore, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

use super::command::{
    Cancelled, Control, Input, IntakeKey, Post, Posted, Queue, Removal, Reply, Resolution, Resolved, SessionError, SessionPatch,
};
use super::feed::Closing;
use super::setup::Settings;
use crate::domain::event::session::SessionCreated;
use crate::domain::{MessageId, Overview, SessionId, Timestamp};
use crate::store::IntakeRow;

mod entry;
mod outside;
mod schedule;

pub use entry::{Entry, Lease};
use entry::{Forget, Message};

/// How often a post looks for the actor that stays while it looks its key up.
const TRIES: usize = 16;
/// Ledgers that are folded at once.
const LOADING: usize = 32;
/// How long a reader waits for a repair.
const REPAIR: Duration = Duration::from_secs(30);

/// All sessions. Clones share them.
#[derive(Clone, Debug)]
pub struct Sessions {
    shared: Arc<Shared>,
}

/// What actors share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) settings: Settings,
    pub(super) tasks: TaskTracker,
    pub(super) stop: CancellationToken,
    /// Of this process: what was open before is to be repaired.
    pub(super) started_at: Timestamp,
    pub(super) loading: Semaphore,
    entries: DashMap<SessionId, Arc<Entry>>,
    /// The earliest time that a session which went to sleep is to be woken at.
    wakes: Mutex<Option<Timestamp>>,
    rescheduled: Notify,
    /// Everything that was due at the start has been activated.
    woke: AtomicBool,
}

impl Sessions {
    pub fn new(settings: Settings) -> Self {
        let started_at = settings.clock.now();
        Self {
            shared: Arc::new(Shared {
                settings,
                tasks: TaskTracker::new(),
                stop: CancellationToken::new(),
                started_at,
                loading: Semaphore::new(LOADING),
                entries: DashMap::new(),
                wakes: Mutex::new(None),
                rescheduled: Notify::new(),
                woke: AtomicBool::new(false),
            }),
        }
    }

    /// The parts and numbers that this process was put together with; they never change.
    pub fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    /// Starts what wakes sessions by itself: what was open, queued or due. Erases what was marked and not erased.
    pub fn start(&self) {
        let shared = self.shared.clone();
        self.shared.tasks.spawn(async move {
            match shared.settings.store.marked().await {
                Ok(marked) => {
                    for session in marked {
                        if let Err(error) = shared.settings.store.erase(&session).await {
                            warn!(%session, %error, "a deleted session was not erased; the next start tries again");
                        }
                    }
                }
                Err(error) => warn!(%error, "deleted sessions were not looked for"),
            }
            shared.schedule().await;
        });
    }

    /// Whether this process has come to what was open when it started. One that has not leaves it as it found it.
    pub fn has_woken(&self) -> bool {
        self.shared.woke.load(Ordering::Relaxed)
    }

    /// Stops: no new input, running turns get their drain time, everything staged is flushed. Returns when the last actor has ended.
    /// Cancel-safe: the stop goes on, and another call waits for it again.
    pub async fn stop(&self) {
        self.shared.stop.cancel();
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
    }

    /// The session, with its feed loaded. Cancel-safe: it only reads.
    ///
    /// # Errors
    /// `NotFound`, also after its deletion; `Unavailable`.
    pub async fn open(&self, id: &SessionId) -> Result<Lease, SessionError> {
        let lease = self.shared.lease(id);
        while lease.feed().overview().is_none() {
            let epoch = lease.feed().epoch();
            let read = self.shared.settings.store.overview(id).await?;
            lease.feed().load(epoch, read.ok_or(SessionError::NotFound)?);
        }
        Ok(lease)
    }

    /// Makes an open session ready for readers: an attempt that was open before a restart is void first. It wakes the actor and may wait for
    /// long, so whoever calls has asked before whose session it is. Cancel-safe: a repair that it began goes on.
    ///
    /// # Errors
    /// `NotFound` where it was deleted since it was opened; `Stopping`, `Unavailable`.
    pub async fn repair(&self, session: &Lease) -> Result<(), SessionError> {
        let feed = session.feed();
        if feed.is_sound() {
            return Ok(());
        }
        let mut wake = feed.subscribe();
        session.entry.activate(&self.shared)?;
        let sound = async {
            while !feed.is_sound() {
                if wake.changed().await.is_err() {
                    return;
                }
            }
        };
        match tokio::time::timeout(REPAIR, sound).await {
            // an actor that could not write the repair is gone, and readers come again
            Ok(()) => session.overview().map(drop),
            Err(_) => Err(SessionError::Unavailable("the session was not repaired in time".into())),
        }
    }

    /// Makes a session with that id. Cancel-safe: one that is dropped is made or not, and the same id or key tells which.
    ///
    /// # Errors
    /// `Exists` where there is one; `Stopping`, `Busy`, `Unavailable`.
    pub async fn create(&self, id: &SessionId, created: SessionCreated, intake: Option<IntakeRow>) -> Result<Overview, SessionError> {
        let lease = self.shared.lease(id);
        self.input(&lease, |reply| Input::Create { created, intake, reply }).await
    }

    /// Posts a message, once however often its key comes. Cancel-safe: a post that is dropped is accepted or not, and the key tells which.
    ///
    /// # Errors
    /// `NotFound`, `QueueFull`, `Stopping`, `Busy`, `Unavailable`.
    pub async fn post(&self, session: &Lease, post: Post) -> Result<Posted, SessionError> {
        let (reply, answer) = oneshot::channel();
        let mut message = Message::Input(Box::new(Input::Post { post: post.clone(), reply }));
        for _ in 0..TRIES {
            // the actor remembers each key that it accepts; what was accepted before it woke is in the index
            let generation = session.entry.activate(&self.shared)?;
            if let Some(key) = &post.key
                && let Some(posted) = self.indexed(key).await?
            {
                return Ok(posted);
            }
            match session.entry.send_to(generation, &self.shared, message)? {
                None => return session.answer(answer).await,
                Some(back) => message = back,
            }
        }
        Err(SessionError::Busy)
    }

    /// The message that was accepted with that key.
    async fn indexed(&self, key: &IntakeKey) -> Result<Option<Posted>, SessionError> {
        let row = self.shared.settings.store.intake(&key.tenant, &key.scope, &key.external_id).await?;
        Ok(row.and_then(Posted::indexed))
    }

    /// Cancels the running turn and, with [`Queue::Remove`], takes away the input that waits. Answered when the turn's end is on disk.
    ///
    /// # Errors
    /// `NotFound`, `Busy`, `Unavailable`.
    pub async fn cancel(&self, session: &Lease, queue: Queue, by: String) -> Result<Cancelled, SessionError> {
        self.control(session, |reply| Control::Cancel { queue, by, reply }).await
    }

    /// Takes back a message that no turn has claimed.
    ///
    /// # Errors
    /// `NotQueued` where the inbox does not have it; as [`Sessions::cancel`].
    pub async fn take_back(&self, session: &Lease, message_id: MessageId, by: String) -> Result<(), SessionError> {
        self.control(session, |reply| Control::Remove { message_id, by, why: Removal::TakenBack, reply }).await
    }

    /// Answers what waits for somebody outside.
    ///
    /// # Errors
    /// As [`Sessions::cancel`].
    pub async fn resolve(&self, session: &Lease, id: String, answer: Resolution, by: String) -> Result<Resolved, SessionError> {
        self.control(session, |reply| Control::Resolve { id, answer, by, reply }).await
    }

    /// Changes title and metadata.
    ///
    /// # Errors
    /// As [`Sessions::cancel`].
    pub async fn update(&self, session: &Lease, patch: SessionPatch) -> Result<Overview, SessionError> {
        self.control(session, |reply| Control::Update { patch, reply }).await
    }

    /// Deletes a session: one commit marks it, and from there it exists for nobody; then its turn is dropped, its readers are told, and all
    /// of it goes in one commit. Cancel-safe: what was asked is done.
    ///
    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub async fn delete(&self, id: &SessionId) -> Result<(), SessionError> {
        let (shared, id) = (self.shared.clone(), id.clone());
        // a task of its own: a caller that hangs up leaves no session half deleted
        let deleted = self.shared.tasks.spawn(async move { shared.delete(&id).await });
        deleted.await.unwrap_or_else(|_| Err(dropped()))
    }

    /// Every session that somebody uses, and whether its actor is awake.
    #[cfg(test)]
    pub(super) fn awake(&self) -> Vec<(SessionId, bool)> {
        self.shared.entries.iter().map(|entry| (entry.key().clone(), entry.value().lock().actor.is_some())).collect()
    }

    async fn input<T>(&self, session: &Lease, input: impl FnOnce(Reply<T>) -> Input) -> Result<T, SessionError> {
        let (reply, answer) = oneshot::channel();
        session.entry.send(&self.shared, Message::Input(Box::new(input(reply))))?;
        session.answer(answer).await
    }

    async fn control<T>(&self, session: &Lease, control: impl FnOnce(Reply<T>) -> Control) -> Result<T, SessionError> {
        let (reply, answer) = oneshot::channel();
        session.entry.send(&self.shared, Message::Control(Box::new(control(reply))))?;
        session.answer(answer).await
    }
}

fn dropped() -> SessionError {
    SessionError::Unavailable("the session's ledger could not be written".into())
}

impl Shared {
    fn lease(self: &Arc<Self>, id: &SessionId) -> Lease {
        let new = || Arc::new(Entry::new(id.clone(), self));
        let entry = self.entries.entry(id.clone()).or_insert_with(new).value().clone();
        Lease { entry, _forget: Forget { id: id.clone(), shared: self.clone() } }
    }

    async fn delete(self: &Arc<Self>, id: &SessionId) -> Result<(), SessionError> {
        let lease = self.lease(id);
        lease.entry.deleting.store(true, Ordering::Relaxed);
        match self.settings.store.mark_deleted(id).await {
            Ok(true) => {}
            Ok(false) => return Err(SessionError::NotFound),
            Err(error) => {
                lease.entry.deleting.store(false, Ordering::Relaxed);
                return Err(error.into());
            }
        }
        lease.feed().close(Closing::Deleted);
        lease.entry.quit();
        self.settings.store.erase(id).await?;
        info!(session = %id, "session deleted");
        Ok(())
    }

    /// Lets the entry go if nobody uses it any more. Whoever held it has let go before.
    pub(super) fn forget(&self, id: &SessionId) {
        self.entries.remove_if(id, |_, entry| Arc::strong_count(entry) == 1 && entry.lock().actor.is_none());
    }
}
