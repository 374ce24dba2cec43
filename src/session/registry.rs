//! Which sessions are awake, and the way to each.
//!
//! An entry lives while it has a user: an actor, a reader, a call under way. Its feed outlives actors. A message is sent under the entry's
//! lock and an actor retires under the same lock with empty inboxes, so no message is lost between an actor and its successor.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dashmap::DashMap;
use tokio::sync::{Notify, Semaphore, mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

use super::actor::{self, Inboxes};
use super::command::{Cancelled, Control, Input, IntakeKey, Post, Posted, Reply, Resolution, Resolved, SessionError};
use super::feed::{Closing, Feed};
use super::setup::Settings;
use crate::domain::event::session::{SessionCreated, SessionUpdated};
use crate::domain::{MessageId, Overview, SessionId, Timestamp};
use crate::store::IntakeRow;

/// Room in each inbox. A sender that finds it full is told to come back.
const INBOX: usize = 128;
/// Ledgers that are folded at once.
const LOADING: usize = 32;
/// The longest that the scheduler sleeps.
const POLL: Duration = Duration::from_secs(30);
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

/// A session that somebody uses.
#[derive(Debug)]
pub struct Entry {
    pub(super) id: SessionId,
    pub(super) feed: Arc<Feed>,
    slot: Mutex<Slot>,
    /// It is being deleted: an actor that fails now does so because of that.
    deleting: AtomicBool,
}

#[derive(Debug, Default)]
struct Slot {
    /// Tells one actor of the session from the next.
    generation: u64,
    actor: Option<Senders>,
}

#[derive(Clone, Debug)]
struct Senders {
    control: mpsc::Sender<Box<Control>>,
    input: mpsc::Sender<Box<Input>>,
}

/// Keeps a session's entry. Its drop is what lets the entry go: first the hold on it, then the entry if that was the last.
#[derive(Debug)]
pub struct Lease {
    entry: Arc<Entry>,
    _release: Release,
}

#[derive(Debug)]
struct Release {
    id: SessionId,
    shared: Arc<Shared>,
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
    pub async fn stop(&self) {
        self.shared.stop.cancel();
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
    }

    /// The session, with its feed loaded.
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

    /// The session, ready for readers: an attempt that was open before a restart is void first.
    ///
    /// # Errors
    /// As [`Sessions::open`].
    pub async fn open_to_read(&self, id: &SessionId) -> Result<Lease, SessionError> {
        let lease = self.open(id).await?;
        if lease.feed().is_sound() {
            return Ok(lease);
        }
        let mut wake = lease.feed().subscribe();
        lease.entry.activate(&self.shared)?;
        let sound = async {
            while !lease.feed().is_sound() {
                if wake.changed().await.is_err() {
                    return;
                }
            }
        };
        match tokio::time::timeout(REPAIR, sound).await {
            Ok(()) => Ok(lease),
            Err(_) => Err(SessionError::Unavailable("the session was not repaired in time".into())),
        }
    }

    /// Makes a session with that id.
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
        loop {
            // the actor remembers each key that it accepts; what was accepted before it woke is in the index
            let generation = session.entry.activate(&self.shared)?;
            if let Some(key) = &post.key
                && let Some(posted) = self.indexed(key).await?
            {
                return Ok(posted);
            }
            match session.entry.send_to(generation, &self.shared, message)? {
                None => break,
                Some(back) => message = back,
            }
        }
        answer.await.unwrap_or_else(|_| Err(dropped()))
    }

    /// The message that was accepted with that key.
    async fn indexed(&self, key: &IntakeKey) -> Result<Option<Posted>, SessionError> {
        let row = self.shared.settings.store.intake(&key.tenant, &key.scope, &key.external_id).await?;
        Ok(row.and_then(|row| {
            let (seq, body_hash) = (row.seq, Some(row.body_hash));
            row.message_id.map(|message_id| Posted { message_id, seq, replayed: true, body_hash })
        }))
    }

    /// Cancels the running turn, and the queue unless it is to be kept.
    ///
    /// # Errors
    /// `NotFound`, `Busy`, `Unavailable`.
    pub async fn cancel(&self, session: &Lease, keep_queue: bool, by: String) -> Result<Cancelled, SessionError> {
        self.control(session, |reply| Control::Cancel { keep_queue, by, reply }).await
    }

    /// Takes back a message that no turn has claimed.
    ///
    /// # Errors
    /// `NotQueued` where the inbox does not have it; as [`Sessions::cancel`].
    pub async fn take_back(&self, session: &Lease, message_id: MessageId, by: String) -> Result<(), SessionError> {
        self.control(session, |reply| Control::TakeBack { message_id, by, reply }).await
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
    pub async fn update(&self, session: &Lease, change: SessionUpdated) -> Result<Overview, SessionError> {
        self.control(session, |reply| Control::Update { change, reply }).await
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
        answer.await.unwrap_or_else(|_| Err(dropped()))
    }

    async fn control<T>(&self, session: &Lease, control: impl FnOnce(Reply<T>) -> Control) -> Result<T, SessionError> {
        let (reply, answer) = oneshot::channel();
        session.entry.send(&self.shared, Message::Control(Box::new(control(reply))))?;
        answer.await.unwrap_or_else(|_| Err(dropped()))
    }
}

fn dropped() -> SessionError {
    SessionError::Unavailable("the session's ledger could not be written".into())
}

enum Message {
    Control(Box<Control>),
    Input(Box<Input>),
}

impl Shared {
    /// Activates what is due, for as long as the process takes input.
    async fn schedule(self: &Arc<Self>) {
        loop {
            let pass = self.settings.clock.now() + self.wake_due().await;
            // sessions that retire meanwhile may name an earlier time
            loop {
                let at = self.earliest().map_or(pass, |at| at.min(pass));
                let left = at.since(self.settings.clock.now());
                if left.is_zero() {
                    break;
                }
                tokio::select! { biased;
                    () = self.stop.cancelled() => return,
                    () = self.rescheduled.notified() => {}
                    () = tokio::time::sleep(left) => {}
                }
            }
            if self.stop.is_cancelled() {
                return;
            }
        }
    }

    /// Activates all that is due; how long until the next is, at most [`POLL`].
    async fn wake_due(self: &Arc<Self>) -> Duration {
        let now = self.settings.clock.now();
        *self.wakes.lock().unwrap_or_else(PoisonError::into_inner) = None;
        match self.settings.store.due(now, usize::MAX).await {
            Ok((due, next)) => {
                for id in due {
                    if let Err(error) = self.lease(&id).entry.activate(self) {
                        warn!(session = %id, %error, "a session that is due was not activated");
                    }
                }
                self.woke.store(true, Ordering::Relaxed);
                next.map_or(POLL, |at| at.since(now).min(POLL))
            }
            Err(error) => {
                warn!(%error, "what is due could not be read");
                POLL
            }
        }
    }

    fn earliest(&self) -> Option<Timestamp> {
        *self.wakes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A session that goes to sleep is to be woken then.
    pub(super) fn wake_at(&self, at: Timestamp) {
        {
            let mut wakes = self.wakes.lock().unwrap_or_else(PoisonError::into_inner);
            *wakes = Some(wakes.map_or(at, |known| known.min(at)));
        }
        self.rescheduled.notify_one();
    }

    fn lease(self: &Arc<Self>, id: &SessionId) -> Lease {
        let new = || Arc::new(Entry::new(id.clone(), self));
        let entry = self.entries.entry(id.clone()).or_insert_with(new).value().clone();
        Lease { entry, _release: Release { id: id.clone(), shared: self.clone() } }
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

impl Entry {
    fn new(id: SessionId, shared: &Shared) -> Self {
        let feed = Arc::new(Feed::new(id.clone(), shared.settings.store.clone()));
        Self { id, feed, slot: Mutex::default(), deleting: AtomicBool::new(false) }
    }

    fn lock(&self) -> MutexGuard<'_, Slot> {
        // nothing panics while it holds the lock
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the actor if it is not awake. Gives its generation.
    fn activate(self: &Arc<Self>, shared: &Arc<Shared>) -> Result<u64, SessionError> {
        let mut slot = self.lock();
        self.awake(&mut slot, shared)?;
        Ok(slot.generation)
    }

    /// The actor's inboxes; an actor that is not awake is woken.
    fn awake(self: &Arc<Self>, slot: &mut Slot, shared: &Arc<Shared>) -> Result<Senders, SessionError> {
        if let Some(actor) = slot.actor.as_ref().filter(|a| !a.control.is_closed()) {
            return Ok(actor.clone());
        }
        if shared.stop.is_cancelled() {
            return Err(SessionError::Stopping);
        }
        let (control, control_inbox) = mpsc::channel(INBOX);
        let (input, input_inbox) = mpsc::channel(INBOX);
        slot.generation += 1;
        let inboxes = Inboxes { control: control_inbox, input: input_inbox, generation: slot.generation };
        shared.tasks.spawn(actor::run(shared.clone(), self.clone(), inboxes));
        let senders = Senders { control, input };
        slot.actor = Some(senders.clone());
        Ok(senders)
    }

    /// Sends to the actor of that generation; gives the message back where there is another by now.
    fn send_to(self: &Arc<Self>, generation: u64, shared: &Arc<Shared>, message: Message) -> Result<Option<Message>, SessionError> {
        let mut slot = self.lock();
        self.awake(&mut slot, shared)?;
        if slot.generation != generation {
            return Ok(Some(message));
        }
        self.send_locked(&mut slot, shared, message).map(|()| None)
    }

    fn send(self: &Arc<Self>, shared: &Arc<Shared>, message: Message) -> Result<(), SessionError> {
        self.send_locked(&mut self.lock(), shared, message)
    }

    fn send_locked(self: &Arc<Self>, slot: &mut Slot, shared: &Arc<Shared>, message: Message) -> Result<(), SessionError> {
        let actor = self.awake(slot, shared)?;
        let sent = match message {
            Message::Control(control) => actor.control.try_send(control).is_ok(),
            Message::Input(input) => actor.input.try_send(input).is_ok(),
        };
        if sent { Ok(()) } else { Err(SessionError::Busy) }
    }

    /// Frees the slot if nothing has come in meanwhile.
    pub(super) fn retire(&self, generation: u64, is_empty: impl FnOnce() -> bool) -> bool {
        let mut slot = self.lock();
        if slot.generation != generation || !is_empty() {
            return false;
        }
        slot.actor = None;
        self.feed.retire();
        true
    }

    /// The actor of that generation is gone, and its readers with it where it failed. A successor's feed is not touched.
    pub(super) fn vacate(&self, generation: u64, failed: bool) {
        let mut slot = self.lock();
        if slot.generation != generation {
            return;
        }
        slot.actor = None;
        match (failed, self.deleting.load(Ordering::Relaxed)) {
            (true, false) => self.feed.close(Closing::Draining),
            // they are told by the deletion
            (true, true) | (false, _) => self.feed.retire(),
        }
    }

    /// Tells the actor, if there is one, that its session is gone.
    fn quit(&self) {
        if let Some(actor) = self.lock().actor.take() {
            // a full inbox belongs to an actor that will find its ledger marked
            let _ = actor.control.try_send(Box::new(Control::Quit));
        }
    }
}

impl Lease {
    pub fn feed(&self) -> &Arc<Feed> {
        &self.entry.feed
    }

    pub fn id(&self) -> &SessionId {
        &self.entry.id
    }
}

impl Drop for Release {
    fn drop(&mut self) {
        self.shared.forget(&self.id);
    }
}
