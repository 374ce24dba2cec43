//! Which sessions are awake, and the way to each.
//!
//! An entry lives while it has a user: an actor, a reader, a call under way. Its feed outlives actors. A message is sent under the entry's
//! lock and an actor retires under the same lock with empty inboxes, so no message is lost between an actor and its successor.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dashmap::DashMap;
use tokio::sync::{Notify, Semaphore, mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

use super::actor::{self, Inboxes};
use super::command::{Cancelled, Control, Input, Post, Posted, Reply, Resolution, Resolved, SessionError};
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
    rescheduled: Notify,
}

/// A session that somebody uses.
#[derive(Debug)]
pub struct Entry {
    pub(super) id: SessionId,
    pub(super) feed: Arc<Feed>,
    slot: Mutex<Slot>,
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
                rescheduled: Notify::new(),
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
        let lease = self.lease(id);
        if lease.feed().overview().is_none() {
            match self.shared.settings.store.overview(id).await? {
                Some(overview) => lease.feed().load(overview),
                None => return Err(SessionError::NotFound),
            }
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
        let lease = self.lease(id);
        self.input(&lease, |reply| Input::Create { created, intake, reply }).await
    }

    /// Posts a message. Cancel-safe: a post that is dropped is accepted or not, and the key tells which.
    ///
    /// # Errors
    /// `NotFound`, `QueueFull`, `Stopping`, `Busy`, `Unavailable`.
    pub async fn post(&self, session: &Lease, post: Post) -> Result<Posted, SessionError> {
        self.input(session, |reply| Input::Post { post, reply }).await
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
    /// of it goes in one commit.
    ///
    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub async fn delete(&self, id: &SessionId) -> Result<(), SessionError> {
        let lease = self.lease(id);
        if !self.shared.settings.store.mark_deleted(id).await? {
            return Err(SessionError::NotFound);
        }
        lease.feed().close(Closing::Deleted);
        lease.entry.quit();
        self.shared.settings.store.erase(id).await?;
        info!(session = %id, "session deleted");
        Ok(())
    }

    /// Every session that somebody uses, and whether its actor is awake.
    #[cfg(test)]
    pub(super) fn awake(&self) -> Vec<(SessionId, bool)> {
        self.shared.entries.iter().map(|entry| (entry.key().clone(), entry.value().lock().actor.is_some())).collect()
    }

    fn lease(&self, id: &SessionId) -> Lease {
        let new = || Arc::new(Entry::new(id.clone(), &self.shared));
        let entry = self.shared.entries.entry(id.clone()).or_insert_with(new).value().clone();
        Lease { entry, _release: Release { id: id.clone(), shared: self.shared.clone() } }
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
            let now = self.settings.clock.now();
            let next = match self.settings.store.due(now, usize::MAX).await {
                Ok((due, next)) => {
                    due.iter().for_each(|id| self.wake(id));
                    next.map_or(POLL, |at| at.since(now).min(POLL))
                }
                Err(error) => {
                    warn!(%error, "what is due could not be read");
                    POLL
                }
            };
            tokio::select! { biased;
                () = self.stop.cancelled() => return,
                () = self.rescheduled.notified() => {}
                () = tokio::time::sleep(next) => {}
            }
        }
    }

    fn wake(self: &Arc<Self>, id: &SessionId) {
        let new = || Arc::new(Entry::new(id.clone(), self));
        let entry = self.entries.entry(id.clone()).or_insert_with(new).value().clone();
        if let Err(error) = entry.activate(self) {
            warn!(session = %id, %error, "a session that is due was not activated");
        }
    }

    /// A time to wake at may be earlier than the scheduler knows.
    pub(super) fn reschedule(&self) {
        self.rescheduled.notify_one();
    }

    /// Lets the entry go if nobody uses it any more. Whoever held it has let go before.
    pub(super) fn forget(&self, id: &SessionId) {
        self.entries.remove_if(id, |_, entry| Arc::strong_count(entry) == 1 && entry.lock().actor.is_none());
    }
}

impl Entry {
    fn new(id: SessionId, shared: &Shared) -> Self {
        let feed = Arc::new(Feed::new(id.clone(), shared.settings.store.clone()));
        Self { id, feed, slot: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Slot> {
        // nothing panics while it holds the lock
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn activate(self: &Arc<Self>, shared: &Arc<Shared>) -> Result<(), SessionError> {
        self.awake(&mut self.lock(), shared).map(drop)
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

    fn send(self: &Arc<Self>, shared: &Arc<Shared>, message: Message) -> Result<(), SessionError> {
        let mut slot = self.lock();
        let actor = self.awake(&mut slot, shared)?;
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

    /// The actor of that generation is gone.
    pub(super) fn vacate(&self, generation: u64) {
        let mut slot = self.lock();
        if slot.generation == generation {
            slot.actor = None;
            self.feed.retire();
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
