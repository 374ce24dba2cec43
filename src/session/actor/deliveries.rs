//! What goes to places outside: queued with what it says, handed out part by part, and what became of each; and the files that come from there.

use bytes::Bytes;
use tracing::{info, warn};

use super::{Actor, LedgerError};
use crate::domain::delivery::{DeliveryState, Part, Purpose};
use crate::domain::event::delivery::{AttachmentSettled, Delivery};
use crate::domain::event::pending::ApprovalRequested;
use crate::domain::event::turn::{Done, DoneReason};
use crate::domain::outbox::{MOST_OPEN, Merge, Outgoing};
use crate::domain::pending::ItemKind;
use crate::domain::{Address, AttachmentId, DeliveryId, DigestId, Seq};
use crate::session::command::outside::{Indexed, Outward, SentPart};
use crate::session::command::{AfterFailure, DeliveryStatus, Notice, Reply, ReplyTo, Retried, SessionError};
use crate::session::delivery::{Claimed, Due, PartOutcome, Say, Typing};
use crate::session::repair::unsaid;
use crate::store::IntakeRow;

/// What he reads when his message was taken away by a cancel.
const NOT_ANSWERED: &str = "I stopped; your last message was not answered.";

/// How often a part is sent that the platform takes each time and does not bring.
const MOST_TAKEN: u32 = 5;

impl Actor {
    pub(super) fn on_outward(&mut self, outward: Outward) -> Result<(), LedgerError> {
        let takes = match (&outward, self.session_exists()) {
            // what was sent before the stop is to be known after it
            (Outward::Outcome { .. } | Outward::Status { .. }, Err(SessionError::Stopping)) => Ok(()),
            (_, exists) => exists,
        };
        if let Err(error) = takes {
            outward.refuse(error);
            return Ok(());
        }
        match outward {
            Outward::Claim { reply } => self.claim(reply),
            Outward::Outcome { sent, outcome, reply } => self.outcome(&sent, outcome, reply),
            Outward::Status { status, reply } => self.status(status, reply),
            Outward::Retry { delivery_id, by, reply } => self.retry(&delivery_id, &by, reply),
            Outward::Notice { notice, reply } => self.notice(notice, reply),
            Outward::TakeOver { wish, reply } => self.take_over(wish, reply),
            Outward::Unsettled { reply } => {
                let unsettled = self.ledger.state.inbox.unsettled().cloned().collect();
                self.answer(reply, unsettled)
            }
            Outward::Settle { id, file, reply } => self.settle(id, file, reply),
            Outward::MayBeSending { reply } => {
                let sends = self.ledger.state.outbox.may_be_sending();
                self.answer(reply, sends)
            }
            Outward::ReplyTo { reply } => {
                let has_account = self.ledger.state.profile.as_ref().is_some_and(|profile| profile.account.is_some());
                let nobody = if has_account { ReplyTo::Unknown } else { ReplyTo::Here };
                let reply_to = self.ledger.state.outbox.reply_to().cloned().map_or(nobody, ReplyTo::Place);
                self.answer(reply, reply_to)
            }
        }
    }

    /// Queues what is said, as the channel's own messages. What cannot be rendered now (its account is gone) stands as plain text.
    pub(super) fn deliver(&mut self, purpose: Purpose, to: Address, say: Say<'_>, plain: &str) -> Result<(), LedgerError> {
        let delivery = self.delivery(purpose, to, say, plain);
        self.queue(delivery)
    }

    fn delivery(&self, purpose: Purpose, to: Address, say: Say<'_>, plain: &str) -> Delivery {
        let settings = &self.shared.settings;
        let mut parts = settings.deliveries.parts(&to, say);
        if parts.is_empty() {
            parts.push(Part { text: plain.into(), buttons: Vec::new() });
        }
        Delivery::first(DeliveryId::from_uuid(settings.ids.uuid()), purpose, to, parts)
    }

    pub(super) fn queue(&mut self, delivery: Delivery) -> Result<(), LedgerError> {
        let open = &self.ledger.state.outbox.open;
        if open.len() >= MOST_OPEN
            && let Some((oldest, part)) = open.iter().find_map(|o| o.unsent().map(|part| (o, part)))
        {
            let dead = Delivery { code: Some("too_many".into()), ..of(oldest, part, DeliveryState::Dead) };
            self.stage(dead)?;
        }
        self.stage(delivery).map(drop)
    }

    /// The end of the open turn as it goes to each place that the turn has claimed something from, and what its sender reads. Nothing goes
    /// where a person has taken over, or where who wrote stopped it himself.
    pub(super) fn answers(&self, done: &mut Done, cancelled_by: Option<&str>) -> Vec<Delivery> {
        let Some(turn) = self.ledger.state.turn.as_ref().filter(|turn| !turn.addresses.is_empty()) else { return Vec::new() };
        let paused = self.ledger.state.handoff.is_some();
        if done.reason == DoneReason::Aborted && cancelled_by.is_some_and(|by| turn.authors.contains(by)) {
            return Vec::new();
        }
        if done.answer.trim().is_empty() {
            // whoever writes from a place outside does not sit there
            done.answer = unsaid(done.reason, false).into();
        }
        if paused {
            return Vec::new();
        }
        let answer = |to: &Address| self.delivery(Purpose::Answer, to.clone(), Say::Done(done), &done.answer);
        turn.addresses.iter().map(answer).collect()
    }

    /// Asks for permission where the turn's messages came from.
    pub(super) fn ask_outside(&mut self, asked: &ApprovalRequested) -> Result<(), LedgerError> {
        let places = self.ledger.state.turn.as_ref().map(|turn| turn.addresses.clone()).unwrap_or_default();
        for to in places {
            let ApprovalRequested { approval_id, tool, args, decisions, .. } = asked;
            let plain = format!("May I run {tool}? {}", args.as_str());
            self.deliver(Purpose::Approval, to, Say::Approval { approval_id, tool, args, decisions }, &plain)?;
        }
        Ok(())
    }

    /// Buttons that are not sent yet go with the waits that they are for: a press would only hear that it is over.
    pub(super) fn withdraw(&mut self) -> Result<(), LedgerError> {
        let state = &self.ledger.state;
        if state.open_items().any(|item| matches!(item.kind, ItemKind::Approval(_))) {
            return Ok(());
        }
        let asks = state.outbox.open.iter().filter(|o| o.purpose == Purpose::Approval);
        let unsent = asks.filter_map(|o| o.waiting().map(|part| (o, part)));
        let withdrawn = |(o, part)| Delivery { code: Some("withdrawn".into()), ..of(o, part, DeliveryState::Dead) };
        let dead: Vec<Delivery> = unsent.map(withdrawn).collect();
        dead.into_iter().try_for_each(|event| self.stage(event).map(drop))
    }

    /// Tells those whose messages a cancel takes away, unless a person has taken over, who tells them himself.
    pub(super) fn tell_unanswered(&mut self, places: Vec<Address>) -> Result<(), LedgerError> {
        self.end_handoff()?;
        if self.ledger.state.handoff.is_some() {
            return Ok(());
        }
        let mut told: Vec<Address> = Vec::new();
        for to in places {
            if !told.iter().any(|place| place.same_place(&to)) {
                told.push(to.clone());
                self.deliver(Purpose::Notice, to, Say::Text(NOT_ANSWERED), NOT_ANSWERED)?;
            }
        }
        Ok(())
    }

    /// Shows where the turn's messages came from that an answer is being written, or no longer while it waits for a person.
    pub(super) fn show_typing(&mut self) {
        let state = &self.ledger.state;
        let (Some(running), Some(turn)) = (&mut self.running, &state.turn) else { return };
        let to: &[Address] = if state.waits_for_person() { &[] } else { &turn.addresses };
        // each sign that begins is a request to the platform, and a step of a turn is no news
        if running.typing_to == to {
            return;
        }
        running.typing = if to.is_empty() { Typing::default() } else { self.shared.settings.deliveries.typing(to) };
        running.typing_to = to.to_vec();
    }

    /// Tells whoever delivers, or fetches files, that there is something to do.
    pub(super) fn tell_due(&self) {
        let (state, settings) = (&self.ledger.state, &self.shared.settings);
        let due = state.outbox.due(settings.clock.now()).is_some() || state.inbox.unsettled().next().is_some();
        if due && self.stopping.is_none() {
            settings.deliveries.due(&self.entry.id);
        }
    }

    /// What the process before this one was sending is unknown.
    pub(super) fn disown(&mut self) -> Result<(), LedgerError> {
        let orphan = |(o, part): (&Outgoing, u32)| Delivery { code: Some("restart".into()), ..of(o, part, DeliveryState::Unknown) };
        let orphans: Vec<Delivery> = self.ledger.state.outbox.orphans(self.shared.started_at).map(orphan).collect();
        orphans.into_iter().try_for_each(|event| self.stage(event).map(drop))
    }

    /// What nobody has heard of for too long, and files that do not come.
    pub(super) fn lapse(&mut self) -> Result<(), LedgerError> {
        let (state, now) = (&self.ledger.state, self.shared.settings.clock.now());
        let lapsed = |(o, part): (&Outgoing, u32)| {
            let sends = o.part(part).is_some_and(|p| p.state == DeliveryState::Sending);
            let (state, code) = if sends { (DeliveryState::Unknown, "timeout") } else { (DeliveryState::Dead, "outcome_unknown") };
            Delivery { code: Some(code.into()), ..of(o, part, state) }
        };
        let parts: Vec<Delivery> = state.outbox.lapsed(now).map(lapsed).collect();
        let late = state.inbox.waiting.iter().filter(|q| q.settles_at().is_some_and(|at| at <= now));
        let files: Vec<AttachmentId> = late.flat_map(|q| q.unsettled().map(|a| a.attachment_id.clone())).collect();
        for event in parts {
            warn!(session = %self.entry.id, delivery = %event.delivery_id, part = event.part, code = event.code, "nobody knows whether it was sent");
            self.stage(event)?;
        }
        for attachment_id in files {
            self.stage(AttachmentSettled { attachment_id, bytes: None, code: Some("timeout".into()) })?;
        }
        Ok(())
    }

    fn claim(&mut self, reply: Reply<Due>) -> Result<(), LedgerError> {
        let outbox = &self.ledger.state.outbox;
        let Some((outgoing, part)) = outbox.due(self.shared.settings.clock.now()).filter(|_| !reply.is_closed()) else {
            let due = outbox.ready_at().map_or(Due::Nothing, Due::Later);
            return self.answer(reply, due);
        };
        let (event, last_inbound) = (of(outgoing, part, DeliveryState::Sending), outbox.last_inbound(&outgoing.to));
        let id = event.delivery_id.clone();
        self.stage(event)?;
        let Some(outgoing) = self.ledger.state.outbox.get(&id) else { return Ok(()) };
        let due = outgoing.part(part).map_or(Due::Nothing, |p| {
            Due::Part(Claimed {
                delivery_id: id,
                part,
                of: outgoing.of(),
                to: outgoing.to.clone(),
                purpose: outgoing.purpose,
                content: p.content.clone(),
                attempt: p.attempts,
                last_inbound,
            })
        });
        self.answer(reply, due)
    }

    fn outcome(&mut self, sent: &SentPart, outcome: PartOutcome, reply: Reply<()>) -> Result<(), LedgerError> {
        let found = self.ledger.state.outbox.get(&sent.delivery_id).and_then(|o| o.part(sent.part).map(|p| (o, p)));
        let Some((outgoing, part)) = found else { return self.answer(reply, ()) };
        let late = part.state == DeliveryState::Unknown && matches!(outcome, PartOutcome::Sent { .. } | PartOutcome::Dead { .. });
        if part.state != DeliveryState::Sending && !late {
            return self.answer(reply, ());
        }
        let (to, since) = (outgoing.to.clone(), part.since);
        let base = |state| of(outgoing, sent.part, state);
        let event = match outcome {
            PartOutcome::Sent { channel_message_id } => {
                let index = sent.indexed == Indexed::No && self.ledger.state.outbox.sent_as(&channel_message_id).is_none();
                let event = Delivery { channel_message_id: Some(channel_message_id.clone()), ..base(DeliveryState::Sent) };
                let seq = self.stage(event)?;
                if index {
                    self.index(sent, &to, channel_message_id, seq);
                }
                return self.answer(reply, ());
            }
            PartOutcome::Failed { code, retry_at } => {
                Delivery { code: Some(code), retry_at: Some(retry_at), ..base(DeliveryState::Failed) }
            }
            PartOutcome::Refused { code, retry_at } => {
                Delivery { code: Some(code), retry_at: Some(retry_at), refused: true, ..base(DeliveryState::Failed) }
            }
            PartOutcome::Held { code } => {
                // who wrote while it was being sent is there: it is tried again at once
                let held = self.ledger.state.outbox.last_inbound(&to).is_none_or(|at| at <= since);
                Delivery { code: Some(code), held, ..base(DeliveryState::Queued) }
            }
            PartOutcome::Unknown { code } => Delivery { code: Some(code), ..base(DeliveryState::Unknown) },
            PartOutcome::Dead { code } => Delivery { code: Some(code), ..base(DeliveryState::Dead) },
        };
        self.stage(event)?;
        self.withdraw()?;
        self.answer(reply, ())
    }

    /// The row by which a status finds what it is about, where the platform gives no token back.
    fn index(&mut self, sent: &SentPart, to: &Address, channel_message_id: String, seq: Seq) {
        let Some(profile) = &self.ledger.state.profile else { return };
        let row = IntakeRow {
            tenant: profile.tenant.clone(),
            scope: to.sent_scope(),
            external_id: channel_message_id,
            session: self.entry.id.clone(),
            message_id: None,
            seq,
            body_hash: format!("{}:{}", sent.delivery_id, sent.part),
            at: self.shared.settings.clock.now(),
        };
        self.ledger.intake(row);
    }

    fn status(&mut self, status: DeliveryStatus, reply: Reply<()>) -> Result<(), LedgerError> {
        let outbox = &self.ledger.state.outbox;
        let named = status.delivery_id.as_ref().zip(status.part).and_then(|(id, part)| outbox.get(id).map(|o| (o, part)));
        let found = named.or_else(|| outbox.sent_as(&status.channel_message_id));
        let told =
            found.filter(|(o, part)| o.part(*part).is_some_and(|p| p.merge(status.state, &status.channel_message_id) == Merge::Record));
        if let Some((outgoing, part)) = told {
            let arrived = outgoing.part(part).is_none_or(|p| matches!(p.state, DeliveryState::Delivered | DeliveryState::Read));
            let event = match status.then.filter(|_| status.state == DeliveryState::Failed && !arrived) {
                Some(then) => self.refused_later(outgoing, part, then, status.code),
                None => {
                    let channel_message_id = Some(status.channel_message_id);
                    Delivery { channel_message_id, code: status.code, ..of(outgoing, part, status.state) }
                }
            };
            self.stage(event)?;
            self.tell_due();
        }
        self.answer(reply, ())
    }

    /// The platform took it, or may have, and tells that it did not bring it.
    fn refused_later(&self, outgoing: &Outgoing, part: u32, then: AfterFailure, code: Option<String>) -> Delivery {
        let now = self.shared.settings.clock.now();
        let (attempts, since) = outgoing.part(part).map_or((0, now), |p| (p.attempts, p.since));
        let again = |at| Delivery { retry_at: Some(at), ..of(outgoing, part, DeliveryState::Failed) };
        let event = match then {
            // who wrote since is there: it is tried again at once
            AfterFailure::Hold if self.ledger.state.outbox.last_inbound(&outgoing.to).is_some_and(|at| at > since) => again(now),
            AfterFailure::Hold => Delivery { held: true, ..of(outgoing, part, DeliveryState::Queued) },
            AfterFailure::RetryAt(at) if attempts < MOST_TAKEN => again(at),
            AfterFailure::RetryAt(_) | AfterFailure::Dead => of(outgoing, part, DeliveryState::Dead),
        };
        Delivery { code, ..event }
    }

    fn retry(&mut self, id: &DeliveryId, by: &str, reply: Reply<Option<Retried>>) -> Result<(), LedgerError> {
        let Some(outgoing) = self.ledger.state.outbox.get(id) else { return self.answer(reply, None) };
        let Some(part) = outgoing.again() else {
            let standing = Retried::Standing(outgoing.view(&self.entry.id));
            return self.answer(reply, Some(standing));
        };
        let event = of(outgoing, part, DeliveryState::Queued);
        info!(session = %self.entry.id, delivery = %id, part, by, "a delivery is tried again");
        self.stage(event)?;
        let queued = self.ledger.state.outbox.get(id).map(|o| Retried::Queued(o.view(&self.entry.id)));
        self.answer(reply, queued)
    }

    fn notice(&mut self, notice: Notice, reply: Reply<bool>) -> Result<(), LedgerError> {
        let Notice { to, text, every, key } = notice;
        let now = self.shared.settings.clock.now();
        self.end_handoff()?;
        let is_known = key.as_ref().is_some_and(|key| self.accepted.find(key).is_some());
        // where a person has taken over, he answers
        if is_known || self.ledger.state.handoff.is_some() {
            return self.answer(reply, false);
        }
        let delivery = Delivery { heard: true, ..self.delivery(Purpose::Notice, to.clone(), Say::Text(&text), &text) };
        let parts = delivery.parts.as_deref().unwrap_or_default();
        if self.ledger.state.outbox.last_notice(&to, parts).is_some_and(|at| now.since(at) < every) {
            return self.answer(reply, false);
        }
        self.queue(delivery)?;
        if let Some(key) = key {
            let seq = self.ledger.state.head;
            self.index_key(&key, seq);
            self.remember(key, seq);
        }
        self.answer(reply, true)
    }

    fn settle(&mut self, id: AttachmentId, file: Result<Bytes, &'static str>, reply: Reply<()>) -> Result<(), LedgerError> {
        if self.ledger.state.inbox.unsettled().any(|a| a.attachment_id == id) {
            let (bytes, code) = match &file {
                Ok(file) => (Some(file.len() as u64), None),
                Err(code) => (None, Some((*code).to_owned())),
            };
            let blob = DigestId::from(id.as_str());
            self.stage(AttachmentSettled { attachment_id: id, bytes, code })?;
            if let Ok(file) = file {
                self.ledger.blob(blob, file.as_ref().into());
            }
        }
        self.answer(reply, ())?;
        self.start_turn()
    }

    /// Answers when all that is staged by now is on disk.
    fn answer<T: Send + 'static>(&mut self, reply: Reply<T>, answer: T) -> Result<(), LedgerError> {
        // a caller that has gone does not hear it
        self.ledger.when_durable(Box::new(move || drop(reply.send(Ok(answer)))));
        Ok(())
    }
}

fn of(outgoing: &Outgoing, part: u32, state: DeliveryState) -> Delivery {
    Delivery::of(outgoing.delivery_id.clone(), part, outgoing.of(), state)
}
