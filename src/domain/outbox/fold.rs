//! How records change the outbox.

use std::collections::VecDeque;

use super::{NOTICES, Notice, OutPart, Outbox, Outgoing, PLACES, Place, RECENT};
use crate::domain::delivery::{DeliveryState, Part, Purpose};
use crate::domain::event::delivery::Delivery;
use crate::domain::{Address, Timestamp};

impl Outbox {
    /// # Errors
    /// Why the record does not follow.
    pub(in super::super) fn apply(&mut self, at: Timestamp, event: &Delivery) -> Result<(), &'static str> {
        if let (DeliveryState::Queued, Some(to), Some(parts)) = (event.state, &event.to, &event.parts) {
            return self.queue(at, event, to, parts);
        }
        let mut outgoing = self.take(event)?;
        let place = outgoing.place;
        let next = outgoing.delivery.next();
        let index = usize::try_from(event.part).unwrap_or(usize::MAX).saturating_sub(1);
        if event.of != outgoing.delivery.of() || event.part == 0 || index >= outgoing.delivery.parts.len() {
            return Err("the delivery has no such part");
        }
        outgoing.delivery.parts[index].become_(at, event, next == Some(index))?;
        outgoing.delivery.updated_at = at;
        self.put(outgoing.delivery, place);
        Ok(())
    }

    /// Somebody did something in the conversation that is no message: pressed a button, say.
    pub(in super::super) fn heard_of(&mut self, at: Timestamp) {
        let from = self.reply_to().or_else(|| self.held().next().map(|o| &o.to)).cloned();
        from.into_iter().for_each(|from| self.heard(at, &from));
    }

    /// Somebody wrote from there: what waited for that waits no longer.
    pub(in super::super) fn heard(&mut self, at: Timestamp, from: &Address) {
        for outgoing in self.open.iter_mut().filter(|o| o.to.same_conversation(from)) {
            for part in outgoing.parts.iter_mut().filter(|p| p.held) {
                part.held = false;
                outgoing.updated_at = at;
            }
        }
        self.touch(from, |place| place.last_inbound = Some(at));
    }

    fn queue(&mut self, at: Timestamp, event: &Delivery, to: &Address, parts: &[Part]) -> Result<(), &'static str> {
        let purpose = event.purpose.ok_or("a delivery without its purpose")?;
        if self.get(&event.delivery_id).is_some() {
            return Err("the delivery is known");
        }
        if parts.is_empty() || event.part != 1 || usize::try_from(event.of) != Ok(parts.len()) {
            return Err("a delivery begins with its first part, and says how many there are");
        }
        if event.heard {
            self.heard(at, to);
        }
        if purpose == Purpose::Notice {
            let notice = Notice { text: parts[0].text.clone(), at };
            self.touch(to, |place| place.noticed(notice));
        }
        let mut parts: Vec<OutPart> = parts.iter().map(|content| OutPart::new(at, content)).collect();
        (parts[0].held, parts[0].retry_at) = (event.held, event.retry_at);
        let delivery_id = event.delivery_id.clone();
        self.open.push(Outgoing { delivery_id, purpose, to: to.clone(), created_at: at, updated_at: at, parts });
        Ok(())
    }

    /// Out of the list that has it.
    fn take(&mut self, event: &Delivery) -> Result<Taken, &'static str> {
        let named = |o: &Outgoing| o.delivery_id == event.delivery_id;
        if let Some(at) = self.open.iter().position(named) {
            return Ok(Taken { delivery: self.open.remove(at), place: Some(at) });
        }
        let of = |over: &mut VecDeque<Outgoing>| over.iter().position(named).and_then(|at| over.remove(at));
        let over = of(&mut self.recent).or_else(|| of(&mut self.dead));
        over.map(|delivery| Taken { delivery, place: None }).ok_or("no such delivery is known")
    }

    /// Back where it was, or to where it belongs now.
    fn put(&mut self, mut delivery: Outgoing, place: Option<usize>) {
        if delivery.next().is_some() {
            let end = self.open.len();
            self.open.insert(place.unwrap_or(end), delivery);
            return;
        }
        for part in delivery.parts.iter_mut().filter(|p| matches!(p.state, DeliveryState::Delivered | DeliveryState::Read)) {
            part.content = Part::default();
        }
        let over = if delivery.is_dead() { &mut self.dead } else { &mut self.recent };
        over.push_back(delivery);
        if over.len() > RECENT {
            over.pop_front();
        }
    }

    fn touch(&mut self, address: &Address, change: impl FnOnce(&mut Place)) {
        let known = self.places.iter().position(|p| p.address.same_place(address)).and_then(|at| self.places.remove(at));
        let mut place = known.unwrap_or_else(|| Place { address: address.clone(), last_inbound: None, notices: VecDeque::new() });
        if address.message.is_some() {
            place.address = address.clone();
        }
        change(&mut place);
        self.places.push_back(place);
        if self.places.len() > PLACES {
            self.places.pop_front();
        }
    }
}

impl Place {
    fn noticed(&mut self, notice: Notice) {
        self.notices.retain(|known| known.text != notice.text);
        self.notices.push_back(notice);
        if self.notices.len() > NOTICES {
            self.notices.pop_front();
        }
    }
}

/// A delivery out of its list, and where it stood among the open ones.
struct Taken {
    delivery: Outgoing,
    place: Option<usize>,
}

impl OutPart {
    fn new(at: Timestamp, content: &Part) -> Self {
        Self {
            content: content.clone(),
            state: DeliveryState::Queued,
            since: at,
            attempts: 0,
            code: None,
            held: false,
            retry_at: None,
            channel_message_id: None,
            denied: false,
        }
    }

    /// `is_next` where it is the first part of its delivery that is not sent.
    fn become_(&mut self, at: Timestamp, event: &Delivery, is_next: bool) -> Result<(), &'static str> {
        use DeliveryState::{Dead, Delivered, Failed, Queued, Read, Sending, Sent, Unknown};
        let over = self.is_over();
        match event.state {
            Sending if !matches!(self.state, Queued | Failed) || over || !is_next => return Err("the part is not the one to be sent"),
            Sending => self.attempts += 1,
            Unknown if self.state != Sending => return Err("the part was not being sent"),
            Failed if event.retry_at.is_some() && !matches!(self.state, Sending | Sent | Unknown) => {
                return Err("the part was not being sent");
            }
            Failed if matches!(self.state, Delivered | Read) => {
                self.denied = true;
                return Ok(());
            }
            Failed if matches!(self.state, Queued | Dead) => return Err("the part was not sent"),
            // held, it is what the platform told to have refused after all
            Queued if matches!(self.state, Sent | Unknown) && !event.held => return Err("the part was sent, or may have been"),
            Queued if matches!(self.state, Delivered | Read) => return Err("the part has arrived"),
            Queued => (self.channel_message_id, self.denied) = (None, false),
            Dead if over && self.state != Sent => return Err("the part was sent"),
            Sent | Delivered | Read if super::rank(event.state) <= self.rank() => return Err("the part is further than that"),
            Delivered | Read => self.denied |= self.state == Failed && over,
            Failed if event.refused => self.attempts = self.attempts.saturating_sub(1),
            Unknown | Failed | Dead | Sent => {}
        }
        if event.channel_message_id.is_some() {
            self.channel_message_id.clone_from(&event.channel_message_id);
        }
        (self.state, self.since, self.held, self.retry_at) = (event.state, at, event.held, event.retry_at);
        self.code.clone_from(&event.code);
        Ok(())
    }
}
