//! The actor: one task per active session, and the only writer of its ledger.
//!
//! One select loop. No branch's handler awaits, and the turn's stream is polled nowhere else, also while cancelling and stopping: a turn
//! that asks its session something is answered by the loop that polls it. Branches that are always ready stand behind those that must not
//! starve, and nothing that makes records goes on while an append that must not wait could begin.

use std::future::ready;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::{FutureExt, Stream, StreamExt};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::WaitForCancellationFutureOwned;
use tracing::{info, warn};

use super::command::{Control, Input, SessionError};
use super::ledger::{Ledger, LedgerError};
use super::registry::{Entry, Shared};
use super::repair;
use crate::agent::Output;
use crate::domain::event::turn::ContinueCause;
use crate::domain::state::FOLD_VERSION;
use crate::domain::{AgentEvent, Overview, Record, Seq, SessionState};
use crate::meter::Share;
use crate::store::{Appended, Most, Position, Snapshot, StoreError};

mod deliveries;
mod handoff;
mod input;
mod port;
mod timers;
mod turns;
mod waits;

use port::PortCall;
use turns::Running;

/// Records of one read while the ledger is folded.
const PAGE: usize = 1_000;
/// How long the actor of a session that is not there stays: many times what a look into the index takes.
const UNBORN: Duration = Duration::from_secs(2);
/// A snapshot is due after this many records.
const SNAPSHOT_EVERY: Seq = 1_000;

type TurnStream = Pin<Box<dyn Stream<Item = Output> + Send>>;

/// A session that is awake.
pub(super) struct Actor {
    // what comes in
    control: mpsc::Receiver<Box<Control>>,
    input: mpsc::Receiver<Box<Input>>,
    stop: Pin<Box<WaitForCancellationFutureOwned>>,
    turn: Option<TurnStream>,
    port: Option<mpsc::Receiver<Box<PortCall>>>,
    // what it holds
    shared: Arc<Shared>,
    entry: Arc<Entry>,
    generation: u64,
    ledger: Ledger,
    running: Option<Running>,
    /// Since a graceful stop was asked for: when it no longer waits.
    stopping: Option<Instant>,
    quit: bool,
    /// Since when there is nothing to do; `None` while there is.
    idle_since: Option<Instant>,
    /// It is counted among those that are awake, and its inbox among what waits.
    _awake: Share,
    queued: Share,
    /// The channel's, zero until the session is made.
    debounce: Duration,
    /// Keys that this actor has accepted lately.
    accepted: input::Accepted,
    /// What the newest saved snapshot covers, and the newest that was begun.
    snapshot_at: Arc<AtomicU64>,
    snapshot_tried: Seq,
}

/// How an actor ended.
#[derive(Debug)]
pub(super) enum Exit {
    /// Nothing to do for a while; the slot is free already.
    Retired,
    /// The process stops, or the session is deleted.
    Told,
    Failed(LedgerError),
}

/// The inboxes of an actor, its end and the way to it.
pub(super) struct Inboxes {
    pub(super) control: mpsc::Receiver<Box<Control>>,
    pub(super) input: mpsc::Receiver<Box<Input>>,
    pub(super) generation: u64,
}

/// Runs a session's actor from the disk to its end.
pub(super) async fn run(shared: Arc<Shared>, entry: Arc<Entry>, inboxes: Inboxes) {
    let generation = inboxes.generation;
    let loaded = {
        let _permit = shared.loading.acquire().await;
        let began = Instant::now();
        load(&shared, &entry).await.inspect(|_| shared.settings.metrics.activation.record(began.elapsed()))
    };
    let exit = match loaded {
        Ok(folded) => Actor::new(&shared, &entry, inboxes, folded).run().await,
        Err(error) => Exit::Failed(error),
    };
    match exit {
        Exit::Retired => shared.settings.metrics.passivations.increment(1),
        Exit::Told => entry.vacate(generation, false),
        Exit::Failed(error) => {
            warn!(session = %entry.id, %error, "the session's actor is dropped; the next one reads the disk");
            shared.settings.metrics.failures.increment(1);
            entry.vacate(generation, true);
        }
    }
    let id = entry.id.clone();
    drop(entry);
    shared.forget(&id);
}

/// A ledger, folded.
#[derive(Default)]
struct Folded {
    state: SessionState,
    position: Position,
    /// What the newest snapshot covers.
    snapshot_at: Seq,
}

/// The newest snapshot of this build and the tail behind it.
async fn load(shared: &Shared, entry: &Entry) -> Result<Folded, LedgerError> {
    let store = &shared.settings.store;
    let Some(loaded) = store.load(&entry.id).await? else { return Ok(Folded::default()) };
    let snapshot = loaded.snapshot.filter(|s| s.fold_version == FOLD_VERSION);
    let mut state: SessionState = snapshot.and_then(|s| serde_json::from_slice(&s.state).ok()).unwrap_or_default();
    let snapshot_at = state.head;
    loop {
        let page = store.read(&entry.id, state.head, Most::rows(PAGE)).await?;
        for stored in page.rows {
            state.apply(&Record::from_json(&stored.json)?)?;
        }
        if !page.more {
            return Ok(Folded { state, position: loaded.position, snapshot_at });
        }
    }
}

impl Actor {
    fn new(shared: &Arc<Shared>, entry: &Arc<Entry>, inboxes: Inboxes, folded: Folded) -> Self {
        if let Some(overview) = Overview::of(&entry.id, &folded.state) {
            entry.feed.awake(overview);
        }
        let metrics = &shared.settings.metrics;
        let mut actor = Self {
            control: inboxes.control,
            input: inboxes.input,
            // made once: registering anew at each delta would be one lock for all actors
            stop: Box::pin(shared.stop.clone().cancelled_owned()),
            turn: None,
            port: None,
            shared: shared.clone(),
            entry: entry.clone(),
            generation: inboxes.generation,
            snapshot_at: Arc::new(AtomicU64::new(folded.snapshot_at)),
            snapshot_tried: folded.snapshot_at,
            ledger: Ledger::new(entry.id.clone(), folded.state, folded.position),
            running: None,
            stopping: None,
            quit: false,
            idle_since: None,
            _awake: Share::one(&metrics.actors),
            queued: Share::new(&metrics.inbox, 0),
            accepted: input::Accepted::default(),
            debounce: Duration::ZERO,
        };
        actor.learn_debounce();
        actor
    }

    fn learn_debounce(&mut self) {
        let (state, setup) = (&self.ledger.state, &self.shared.settings.setup);
        let profile = state.profile.as_ref().and_then(|p| setup.profile(&p.channel, p.account.as_deref()));
        self.debounce = profile.map_or(Duration::ZERO, |profile| profile.debounce);
    }

    async fn run(mut self) -> Exit {
        if let Err(error) = self.wake_up() {
            return Exit::Failed(error);
        }
        loop {
            if let Some(exit) = self.ended() {
                return exit;
            }
            match self.next().await {
                Ok(()) => {}
                Err(error) => return Exit::Failed(error),
            }
        }
    }

    /// One event of the loop.
    async fn next(&mut self) -> Result<(), LedgerError> {
        let opening = self.running.as_ref().is_some_and(|r| r.opening);
        let flush_due = self.ledger.must_flush() && !opening;
        let may_append = self.ledger.has_staged() && !self.ledger.writing();
        let deadline = self.deadline();
        tokio::select! { biased;
            () = &mut self.stop, if self.stopping.is_none() => self.on_stop(),
            control = self.control.recv(), if !flush_due => match control {
                Some(control) => return self.on_control(*control),
                // nobody has its senders any more: the session is deleted
                None => self.quit = true,
            },
            appended = self.ledger.written(), if self.ledger.writing() => return self.on_durable(&appended?),
            Some(call) = recv(&mut self.port) => return self.on_port(*call),
            () = at(deadline), if deadline.is_some() => return self.on_timer(),
            Some(input) = self.input.recv(), if !flush_due => return self.on_input(*input),
            output = poll(&mut self.turn), if !flush_due => return self.on_output(output),
            () = ready(()), if may_append => self.append(),
        }
        Ok(())
    }

    /// The repair, and whatever waits to be done.
    fn wake_up(&mut self) -> Result<(), LedgerError> {
        let state = &self.ledger.state;
        let before = state.updated_at < self.shared.started_at;
        let graceful = before && self.shared.settings.store.stopped_gracefully();
        let (events, goes_on) = repair::after_restart(state, if graceful { ContinueCause::Stop } else { ContinueCause::Crash });
        for event in events {
            self.stage(event)?;
        }
        self.disown()?;
        self.lapse()?;
        self.tell_due();
        match (self.ledger.state.turn.is_some(), goes_on) {
            (true, true) => self.resume_turn(),
            (true, false) => self.interrupt_turn(),
            (false, _) => self.start_turn(),
        }
    }

    fn stage(&mut self, event: impl Into<AgentEvent>) -> Result<Seq, LedgerError> {
        self.ledger.stage(self.shared.settings.clock.now(), event.into())
    }

    fn append(&mut self) {
        let wake_at = self.wake_at();
        self.ledger.begin_append(self.shared.settings.store.as_ref(), wake_at);
    }

    fn on_durable(&mut self, appended: &Appended) -> Result<(), LedgerError> {
        let (feed, queued) = (&self.entry.feed, &mut self.queued);
        let metrics = &self.shared.settings.metrics;
        let mut outside = false;
        self.ledger.committed(appended, |durable| {
            outside = durable.outside;
            queued.set(u32::try_from(durable.overview.queued).unwrap_or(u32::MAX));
            metrics.count(durable.facts);
            feed.advance(durable.records, durable.overview);
        })?;
        if outside {
            self.tell_due();
        }
        let behind = self.ledger.state.head - self.snapshot_at.load(Ordering::Relaxed).max(self.snapshot_tried);
        if behind >= SNAPSHOT_EVERY && self.ledger.is_clean() {
            self.save_snapshot();
        }
        Ok(())
    }

    /// Saves the fold as of the durable head, off the append path.
    fn save_snapshot(&mut self) {
        let (state, store, session) = (self.ledger.state.clone(), self.shared.settings.store.clone(), self.entry.id.clone());
        let saved_at = self.snapshot_at.clone();
        self.snapshot_tried = state.head;
        self.shared.tasks.spawn(async move {
            let through_seq = state.head;
            let bytes = tokio::task::spawn_blocking(move || serde_json::to_vec(&state)).await;
            let saved = match bytes {
                Ok(Ok(state)) => store.save_snapshot(&session, Snapshot { fold_version: FOLD_VERSION, through_seq, state }).await,
                Ok(Err(error)) => Err(StoreError(error.to_string())),
                Err(error) => Err(StoreError(error.to_string())),
            };
            match saved {
                Ok(()) => drop(saved_at.fetch_max(through_seq, Ordering::Relaxed)),
                Err(error) => warn!(session = %session, %error, "the snapshot was not saved"),
            }
        });
    }

    fn on_stop(&mut self) {
        self.stopping = Some(Instant::now() + self.shared.settings.drain);
    }

    fn on_timer(&mut self) -> Result<(), LedgerError> {
        self.expire()?;
        self.lapse()?;
        self.end_handoff()?;
        self.start_turn()?;
        self.tell_due();
        if self.stopping.is_some_and(|by| by <= Instant::now()) && self.running.take().is_some() {
            // the turn stays open in the ledger and goes on after the start
            info!(session = %self.entry.id, "the turn does not end in time; it goes on after the restart");
            (self.turn, self.port) = (None, None);
        }
        Ok(())
    }

    fn ended(&mut self) -> Option<Exit> {
        if self.quit {
            return Some(Exit::Told);
        }
        if !self.may_retire() {
            self.idle_since = None;
            return None;
        }
        let idle_since = *self.idle_since.get_or_insert_with(Instant::now);
        if self.stopping.is_some() {
            self.save_snapshot_if_behind();
            return Some(Exit::Told);
        }
        if idle_since.elapsed() < self.patience() {
            return None;
        }
        if !self.entry.retire(self.generation, || self.control.is_empty() && self.input.is_empty()) {
            // something has come: it is work, and a timer that stays due would be served before it
            self.idle_since = Some(Instant::now());
            return None;
        }
        self.save_snapshot_if_behind();
        if let Some(at) = self.wake_at() {
            self.shared.wake_at(at);
        }
        Some(Exit::Retired)
    }

    /// How long it stays with nothing to do. One whose session is not there waits for what is about to make it, and whoever brings that looks
    /// its key up first.
    fn patience(&self) -> Duration {
        let passivate = self.shared.settings.passivate;
        if self.ledger.state.profile.is_none() { passivate.min(UNBORN) } else { passivate }
    }

    fn save_snapshot_if_behind(&mut self) {
        if self.ledger.state.head > self.snapshot_at.load(Ordering::Relaxed) {
            self.save_snapshot();
        }
    }

    fn session_exists(&self) -> Result<(), SessionError> {
        match (&self.ledger.state.profile, self.stopping) {
            (None, _) => Err(SessionError::NotFound),
            (Some(_), Some(_)) => Err(SessionError::Stopping),
            (Some(_), None) => Ok(()),
        }
    }
}

async fn at(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

async fn recv(port: &mut Option<mpsc::Receiver<Box<PortCall>>>) -> Option<Box<PortCall>> {
    match port {
        Some(port) => port.recv().await,
        None => std::future::pending().await,
    }
}

/// The turn's next output; an error when it panicked.
async fn poll(turn: &mut Option<TurnStream>) -> Result<Option<Output>, ()> {
    match turn {
        Some(turn) => AssertUnwindSafe(turn.next()).catch_unwind().await.map_err(drop),
        None => std::future::pending().await,
    }
}
