//! A session that somebody uses: its feed, its actor while it is awake, and the hold on both.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{mpsc, oneshot};

use super::{Shared, dropped};
use crate::domain::{Overview, SessionId};
use crate::session::actor::{self, Inboxes};
use crate::session::command::{Control, Input, SessionError};
use crate::session::feed::{Closing, Feed};

/// Room in each inbox. A sender that finds it full is told to come back.
const INBOX: usize = 128;

/// A session that somebody uses.
#[derive(Debug)]
pub struct Entry {
    pub(in crate::session) id: SessionId,
    pub(in crate::session) feed: Arc<Feed>,
    pub(super) slot: Mutex<Slot>,
    /// It is being deleted: an actor that fails now does so because of that.
    pub(super) deleting: AtomicBool,
}

#[derive(Debug, Default)]
pub(super) struct Slot {
    /// Tells one actor of the session from the next.
    generation: u64,
    pub(super) actor: Option<Senders>,
}

#[derive(Clone, Debug)]
pub(super) struct Senders {
    control: mpsc::Sender<Box<Control>>,
    input: mpsc::Sender<Box<Input>>,
}

/// Keeps a session's entry. Its drop is what lets the entry go: first the hold on it, then the entry if that was the last.
#[derive(Debug)]
pub struct Lease {
    pub(super) entry: Arc<Entry>,
    pub(super) _forget: Forget,
}

#[derive(Debug)]
pub(super) struct Forget {
    pub(super) id: SessionId,
    pub(super) shared: Arc<Shared>,
}

pub(super) enum Message {
    Control(Box<Control>),
    Input(Box<Input>),
}

impl Entry {
    pub(super) fn new(id: SessionId, shared: &Shared) -> Self {
        let feed = Arc::new(Feed::new(id.clone(), shared.settings.store.clone()));
        Self { id, feed, slot: Mutex::default(), deleting: AtomicBool::new(false) }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Slot> {
        // nothing panics while it holds the lock
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the actor if it is not awake. Gives its generation.
    pub(super) fn activate(self: &Arc<Self>, shared: &Arc<Shared>) -> Result<u64, SessionError> {
        let mut slot = self.lock();
        self.ensure_awake(&mut slot, shared)?;
        Ok(slot.generation)
    }

    pub(super) fn is_awake(&self) -> bool {
        self.lock().actor.is_some()
    }

    /// The actor's inboxes; an actor that is not awake is woken.
    fn ensure_awake(self: &Arc<Self>, slot: &mut Slot, shared: &Arc<Shared>) -> Result<Senders, SessionError> {
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
    pub(super) fn send_to(
        self: &Arc<Self>,
        generation: u64,
        shared: &Arc<Shared>,
        message: Message,
    ) -> Result<Option<Message>, SessionError> {
        let mut slot = self.lock();
        self.ensure_awake(&mut slot, shared)?;
        if slot.generation != generation {
            return Ok(Some(message));
        }
        self.send_locked(&mut slot, shared, message).map(|()| None)
    }

    pub(super) fn send(self: &Arc<Self>, shared: &Arc<Shared>, message: Message) -> Result<(), SessionError> {
        self.send_locked(&mut self.lock(), shared, message)
    }

    fn send_locked(self: &Arc<Self>, slot: &mut Slot, shared: &Arc<Shared>, message: Message) -> Result<(), SessionError> {
        let actor = self.ensure_awake(slot, shared)?;
        let sent = match message {
            Message::Control(control) => actor.control.try_send(control).is_ok(),
            Message::Input(input) => actor.input.try_send(input).is_ok(),
        };
        if sent { Ok(()) } else { Err(SessionError::Busy) }
    }

    /// Frees the slot if nothing has come in meanwhile.
    pub(in crate::session) fn retire(&self, generation: u64, is_empty: impl FnOnce() -> bool) -> bool {
        let mut slot = self.lock();
        if slot.generation != generation || !is_empty() {
            return false;
        }
        slot.actor = None;
        self.feed.retire();
        true
    }

    /// The actor of that generation is gone, and its readers with it where it failed. A successor's feed is not touched.
    pub(in crate::session) fn vacate(&self, generation: u64, failed: bool) {
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
    pub(super) fn quit(&self) {
        // that its senders are gone tells it, also behind a full inbox
        self.lock().actor = None;
    }
}

impl Lease {
    /// The actor's answer. One that is gone without it was deleted under the caller, or could not write.
    pub(super) async fn answer<T>(&self, answer: oneshot::Receiver<Result<T, SessionError>>) -> Result<T, SessionError> {
        match answer.await {
            Ok(answer) => answer,
            Err(_) if self.entry.deleting.load(Ordering::Relaxed) => Err(SessionError::NotFound),
            Err(_) => Err(dropped()),
        }
    }

    pub fn feed(&self) -> &Arc<Feed> {
        &self.entry.feed
    }

    /// The session as of its durable head.
    ///
    /// # Errors
    /// `NotFound` where it was deleted since it was opened; `Unavailable` while its readers are told to come back.
    pub fn overview(&self) -> Result<Arc<Overview>, SessionError> {
        match self.feed().overview() {
            Some(overview) => Ok(overview),
            None if self.feed().is_deleted() => Err(SessionError::NotFound),
            None => Err(dropped()),
        }
    }

    pub fn id(&self) -> &SessionId {
        &self.entry.id
    }
}

impl Drop for Forget {
    fn drop(&mut self) {
        self.shared.forget(&self.id);
    }
}
