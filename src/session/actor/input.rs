//! What callers ask: sessions made and renamed, messages posted and taken back, turns cancelled.

use std::collections::VecDeque;

use super::{Actor, LedgerError};
use crate::domain::event::input::{MessageQueued, MessageRemoved, Mode, RemovedReason, Target};
use crate::domain::event::session::{SessionCreated, SessionUpdated};
use crate::domain::{MessageId, Overview};
use crate::session::command::{
    Arrival, Cancelled, Control, Input, IntakeKey, Post, Posted, Queue, Removal, Reply, SessionError, SessionPatch,
};
use crate::store::IntakeRow;

/// How many accepted keys an actor remembers. The index has them all; these are the ones that may not be durable yet.
const ACCEPTED_KEPT: usize = 256;

/// Keys accepted lately.
#[derive(Debug, Default)]
pub(super) struct Accepted(VecDeque<(IntakeKey, Posted)>);

impl Accepted {
    pub(super) fn find(&self, key: &IntakeKey) -> Option<(&IntakeKey, &Posted)> {
        self.0.iter().find(|(k, _)| (&k.scope, &k.external_id) == (&key.scope, &key.external_id)).map(|(k, p)| (k, p))
    }

    pub(super) fn remember(&mut self, key: IntakeKey, posted: Posted) {
        self.0.push_back((key, posted));
        if self.0.len() > ACCEPTED_KEPT {
            self.0.pop_front();
        }
    }
}

impl Actor {
    pub(super) fn on_input(&mut self, input: Input) -> Result<(), LedgerError> {
        match input {
            Input::Create { created, intake, reply } => self.create(created, intake, reply),
            Input::Post { post, reply } => match self.session_exists() {
                Ok(()) => self.post(post, reply),
                Err(error) => refuse(reply, error),
            },
            Input::Receive { arrival, reply } => self.receive(*arrival, reply),
        }
    }

    pub(super) fn on_control(&mut self, control: Control) -> Result<(), LedgerError> {
        match control {
            Control::Cancel { queue, by, reply } => match self.session_exists() {
                Ok(()) | Err(SessionError::Stopping) => self.cancel(queue, &by, reply),
                Err(error) => refuse(reply, error),
            },
            Control::Remove { message_id, by, why, reply } => match self.session_exists() {
                Ok(()) => self.remove(&message_id, by, why, reply),
                Err(error) => refuse(reply, error),
            },
            Control::Resolve { id, answer, by, reply } => match self.session_exists() {
                Ok(()) => self.resolve(&id, answer, by, reply),
                Err(error) => refuse(reply, error),
            },
            Control::Update { patch, reply } => match self.session_exists() {
                Ok(()) => self.update(patch, reply),
                Err(error) => refuse(reply, error),
            },
            Control::Outward(outward) => self.on_outward(outward),
        }
    }

    fn create(&mut self, created: SessionCreated, intake: Option<IntakeRow>, reply: Reply<Overview>) -> Result<(), LedgerError> {
        if self.stopping.is_some() {
            return refuse(reply, SessionError::Stopping);
        }
        if self.ledger.state.profile.is_some() {
            self.ledger.when_durable(Box::new(move || drop(reply.send(Err(SessionError::Exists)))));
            return Ok(());
        }
        self.stage(created)?;
        self.learn_debounce();
        if let Some(row) = intake {
            self.ledger.intake(row);
        }
        self.answer_overview(reply);
        Ok(())
    }

    /// A message from a place outside: it makes the session if that is not there.
    fn receive(&mut self, arrival: Arrival, reply: Reply<Posted>) -> Result<(), LedgerError> {
        let Arrival { created, aliases, post, found_by } = arrival;
        if self.stopping.is_some() {
            return refuse(reply, SessionError::Stopping);
        }
        let is_accepted = |key: &Option<IntakeKey>| key.as_ref().is_some_and(|key| self.accepted.find(key).is_some());
        if is_accepted(&found_by) && !is_accepted(&post.key) {
            return refuse(reply, SessionError::Busy);
        }
        if self.ledger.state.profile.is_none() {
            self.stage(created)?;
            self.learn_debounce();
        }
        let before = self.ledger.state.head;
        let key = post.key.clone();
        self.post(post, reply)?;
        if self.ledger.state.head > before {
            self.ledger.aliases(aliases);
            self.find_by(found_by, key.as_ref());
        }
        Ok(())
    }

    /// The message that was accepted with `key` a moment ago is found by another key too.
    fn find_by(&mut self, other: Option<IntakeKey>, key: Option<&IntakeKey>) {
        let posted = key.and_then(|key| self.accepted.find(key)).map(|(_, posted)| posted.clone());
        if let Some((other, posted)) = other.zip(posted) {
            self.ledger.intake(other.row(&self.entry.id, &posted, self.shared.settings.clock.now()));
            self.accepted.remember(other, posted);
        }
    }

    fn update(&mut self, patch: SessionPatch, reply: Reply<Overview>) -> Result<(), LedgerError> {
        let Some(profile) = &self.ledger.state.profile else { return refuse(reply, SessionError::NotFound) };
        match patch.against(profile) {
            Err(error) => return refuse(reply, error),
            Ok(change) if change == SessionUpdated::default() => {}
            Ok(change) => drop(self.stage(change)?),
        }
        self.answer_overview(reply);
        Ok(())
    }

    pub(super) fn answer_overview(&mut self, reply: Reply<Overview>) {
        let overview = Overview::of(&self.entry.id, &self.ledger.state).ok_or(SessionError::NotFound);
        self.ledger.when_durable(Box::new(move || drop(reply.send(overview))));
    }

    /// Looks the key up before anything is staged: a duplicate adds nothing.
    fn post(&mut self, post: Post, reply: Reply<Posted>) -> Result<(), LedgerError> {
        if let Some((key, posted)) = post.key.as_ref().and_then(|key| self.accepted.find(key)) {
            let posted = Posted { replayed: true, body_hash: Some(key.body_hash.clone()), ..posted.clone() };
            self.ledger.when_durable(Box::new(move || drop(reply.send(Ok(posted)))));
            return Ok(());
        }
        let Some(profile) = &self.ledger.state.profile else { return refuse(reply, SessionError::NotFound) };
        let settings = &self.shared.settings;
        if self.ledger.state.inbox.len() >= settings.setup.max_queue(&profile.agent) {
            return refuse(reply, SessionError::QueueFull);
        }
        let mode = post
            .mode
            .unwrap_or_else(|| settings.setup.profile(&profile.channel, profile.account.as_deref()).map_or(Mode::Followup, |p| p.mid_run));
        let takes_steer = self.running.as_ref().is_some_and(|r| !r.cancel.is_cancelled());
        let message_id = MessageId::from_uuid(settings.ids.uuid());
        let seq = self.stage(MessageQueued {
            message_id: message_id.clone(),
            target: if mode == Mode::Steer && takes_steer { Target::NextStep } else { Target::NextTurn },
            mode,
            text: post.text.clone(),
            author: post.author.clone(),
            trust: post.trust,
            reply_to: post.reply_to.clone(),
            attachments: post.attachments.clone(),
            model: post.model.clone(),
            instructions: post.instructions.clone(),
        })?;
        let posted = Posted { message_id, seq, replayed: false, body_hash: None };
        if let Some(row) = post.row(&self.entry.id, &posted, self.shared.settings.clock.now()) {
            self.ledger.intake(row);
        }
        if let Some(key) = post.key {
            self.accepted.remember(key, posted.clone());
        }
        self.ledger.when_durable(Box::new(move || drop(reply.send(Ok(posted)))));
        self.start_turn()
    }

    fn remove(&mut self, message_id: &MessageId, by: String, why: Removal, reply: Reply<()>) -> Result<(), LedgerError> {
        if self.ledger.state.inbox.get(message_id).is_none() {
            return refuse(reply, SessionError::NotQueued);
        }
        let reason = match why {
            Removal::TakenBack => RemovedReason::TakenBack,
            Removal::Retracted => RemovedReason::Retracted,
        };
        self.stage(MessageRemoved { message_id: message_id.clone(), by, reason })?;
        self.ledger.when_durable(Box::new(move || drop(reply.send(Ok(())))));
        Ok(())
    }

    /// Stops the running turn; the first cause wins. Input that waits goes too, unless it is to be kept. The answer comes with the turn's end.
    fn cancel(&mut self, queue: Queue, by: &str, reply: Reply<Cancelled>) -> Result<(), LedgerError> {
        if self.running.is_none() && self.ledger.state.turn.is_some() {
            // the stop has waited for it long enough: it goes on after the restart, and nothing here ends it
            return refuse(reply, SessionError::Stopping);
        }
        let mut removed = Vec::new();
        if queue == Queue::Remove {
            removed.extend(self.ledger.state.inbox.waiting.iter().map(|q| q.message.message_id.clone()));
        }
        let unanswered = self.ledger.state.inbox.waiting.iter().filter(|_| queue == Queue::Remove);
        let unanswered = unanswered.filter_map(|q| q.message.reply_to.clone()).collect();
        for message_id in removed.clone() {
            self.stage(MessageRemoved { message_id, by: by.into(), reason: RemovedReason::Cancelled })?;
        }
        self.tell_unanswered(unanswered)?;
        let cancelled = Cancelled { turn: self.ledger.state.turn.as_ref().map(|t| t.turn), removed };
        let Some(running) = &mut self.running else {
            self.ledger.when_durable(Box::new(move || drop(reply.send(Ok(cancelled)))));
            return Ok(());
        };
        running.cancel.cancel();
        running.cancelled_by.get_or_insert_with(|| by.into());
        running.cancels.push((reply, cancelled));
        self.cancel_waits()
    }
}

fn refuse<T>(reply: Reply<T>, error: SessionError) -> Result<(), LedgerError> {
    // a caller that has gone does not hear it
    let _ = reply.send(Err(error));
    Ok(())
}
