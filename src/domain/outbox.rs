//! Answers on their way, as the ledger tells them: what waits, what is being sent, and what was sent lately.
//!
//! To one place everything goes strictly in order, part by part; places do not wait for each other, but that a person's addresses are one
//! conversation: only what is held for one of them lets what is for another go first. A part that is dead ends its delivery, and the next
//! one to that place goes on. How the records change it is in [`fold`].

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::delivery::{DeliveryState, DeliveryView, Part, Purpose};
use super::{Address, DeliveryId, SessionId, Timestamp};

pub mod fold;
#[cfg(test)]
mod tests;

/// How long after nobody knows whether a part was sent a status may still tell: WhatsApp's come within seconds, or after an outage of minutes.
pub const UNKNOWN_FOR: Duration = Duration::from_secs(10 * 60);
/// How long one part may be in sending before nobody is believed to send it any more: several times what a request may take.
pub const SENDING_FOR: Duration = Duration::from_secs(2 * 60);
/// Deliveries that wait at once. Beyond it the oldest is given up: whoever cannot be reached for so long does not want all of it.
pub const MOST_OPEN: usize = 64;
/// Deliveries that are over and may still hear a status, and as many that are dead and may be tried again.
const RECENT: usize = 32;
/// Notices that are remembered of each place: there are few different ones.
const NOTICES: usize = 8;
/// Places that one session remembers to have heard from or to have told something.
const PLACES: usize = 16;

/// What a session says to places outside.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outbox {
    /// Not over, in the order in which they go to their places.
    pub open: Vec<Outgoing>,
    /// Over lately, the newest last.
    pub recent: VecDeque<Outgoing>,
    /// Given up lately, the newest last. Kept apart, for neither kind is to push the other out.
    pub dead: VecDeque<Outgoing>,
    /// The newest last.
    places: VecDeque<Place>,
}

/// A place, with the address as it was last captured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Place {
    address: Address,
    last_inbound: Option<Timestamp>,
    /// Sentences of the gateway's own that went there lately, the newest last.
    notices: VecDeque<Notice>,
}

/// By its first part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Notice {
    text: String,
    at: Timestamp,
}

/// One delivery.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outgoing {
    pub delivery_id: DeliveryId,
    pub purpose: Purpose,
    pub to: Address,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Never none.
    pub parts: Vec<OutPart>,
}

/// One part of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutPart {
    /// Empty once it has arrived and the delivery is over.
    pub content: Part,
    pub state: DeliveryState,
    /// Since when.
    pub since: Timestamp,
    /// How often it was sent, without what the platform refused for the account's sake.
    pub attempts: u32,
    pub code: Option<String>,
    /// It waits for the receiver to write.
    pub held: bool,
    pub retry_at: Option<Timestamp>,
    pub channel_message_id: Option<String>,
    /// It had arrived when the platform told that it had not.
    pub denied: bool,
}

/// What a status changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    /// It was known, or comes too late to count.
    Nothing,
    /// It is worth a record.
    Record,
}

impl Outbox {
    /// The delivery, on its way or over lately.
    pub fn get(&self, id: &DeliveryId) -> Option<&Outgoing> {
        self.known().find(|o| o.delivery_id == *id)
    }

    /// The part (from 1) that the platform calls so.
    pub fn sent_as(&self, channel_message_id: &str) -> Option<(&Outgoing, u32)> {
        let part = |o: &Outgoing| o.parts.iter().position(|p| p.channel_message_id.as_deref() == Some(channel_message_id));
        self.known().find_map(|o| part(o).map(|at| (o, number(at))))
    }

    /// The first part that is to be sent by `now`.
    pub fn due(&self, now: Timestamp) -> Option<(&Outgoing, u32)> {
        let first = self.first_of_places().find(|o| o.ready_at().is_some_and(|at| at <= now))?;
        first.next().map(|at| (first, number(at)))
    }

    /// When the next part is to be sent: now for a time that is past.
    pub fn ready_at(&self) -> Option<Timestamp> {
        self.first_of_places().filter_map(Outgoing::ready_at).min()
    }

    /// When a session that sleeps is to wake for it: a time that is past for what is to be done now, as for what is being sent, which only
    /// a process that ended can have left so. Nothing is held for a time.
    pub fn wakes_at(&self) -> Option<Timestamp> {
        if self.is_sending() {
            return Some(Timestamp::default());
        }
        self.ready_at().into_iter().chain(self.parts().filter_map(|(_, _, part)| part.lapses_at())).min()
    }

    /// The earliest time after `now` at which something of it changes by itself.
    pub fn changes_at(&self, now: Timestamp) -> Option<Timestamp> {
        let later = self.first_of_places().filter_map(Outgoing::ready_at).filter(|at| *at > now);
        later.chain(self.parts().filter_map(|(_, _, part)| part.lapses_at())).min()
    }

    /// Parts that have been in sending, or unknown, for too long.
    pub fn lapsed(&self, now: Timestamp) -> impl Iterator<Item = (&Outgoing, u32)> {
        self.parts().filter(move |(_, _, part)| part.lapses_at().is_some_and(|at| at <= now)).map(|(o, at, _)| (o, at))
    }

    /// Parts in sending whose sender ended with the process before `started_at`.
    pub fn orphans(&self, started_at: Timestamp) -> impl Iterator<Item = (&Outgoing, u32)> {
        let orphan = move |part: &OutPart| part.state == DeliveryState::Sending && part.since < started_at;
        self.parts().filter(move |(_, _, part)| orphan(part)).map(|(o, at, _)| (o, at))
    }

    pub fn is_sending(&self) -> bool {
        self.open.iter().any(Outgoing::is_sending)
    }

    /// A part is being sent, or may have been: the platform may have it under an id that is not known here.
    pub fn may_be_sending(&self) -> bool {
        let open = |p: &OutPart| matches!(p.state, DeliveryState::Sending | DeliveryState::Unknown);
        self.open.iter().any(|o| o.parts.iter().any(open))
    }

    /// When somebody last wrote from that conversation.
    pub fn last_inbound(&self, place: &Address) -> Option<Timestamp> {
        self.places.iter().filter(|p| p.address.same_conversation(place)).filter_map(|p| p.last_inbound).max()
    }

    /// When that sentence of the gateway's own last went there.
    pub fn last_notice(&self, place: &Address, parts: &[Part]) -> Option<Timestamp> {
        let text = &parts.first()?.text;
        let place = self.places.iter().find(|p| p.address.same_place(place))?;
        place.notices.iter().rev().find(|notice| notice.text == *text).map(|notice| notice.at)
    }

    /// Where the newest input with an address came from.
    pub fn reply_to(&self) -> Option<&Address> {
        self.places.iter().filter(|p| p.last_inbound.is_some()).max_by_key(|p| p.last_inbound).map(|p| &p.address)
    }

    /// Deliveries that wait for somebody to write from that conversation.
    pub fn held_for<'a>(&'a self, place: &'a Address) -> impl Iterator<Item = &'a Outgoing> {
        self.held().filter(move |o| o.to.same_conversation(place))
    }

    /// Deliveries that wait for somebody to write.
    pub fn held(&self) -> impl Iterator<Item = &Outgoing> {
        self.open.iter().filter(|o| o.is_held())
    }

    /// On its way, or over lately.
    pub fn known(&self) -> impl Iterator<Item = &Outgoing> {
        self.open.iter().chain(&self.recent).chain(&self.dead)
    }

    /// Every part, with its number, of what is not over: one that was told not to have arrived may be tried again before later ones are through.
    fn parts(&self) -> impl Iterator<Item = (&Outgoing, u32, &OutPart)> {
        self.open.iter().flat_map(|o| o.parts.iter().enumerate().map(move |(at, part)| (o, number(at), part)))
    }

    /// Of each place the delivery that goes before all others.
    fn first_of_places(&self) -> impl Iterator<Item = &Outgoing> {
        let is_first = |(i, o): &(usize, &Outgoing)| !self.open[..*i].iter().any(|before| before.goes_before(o));
        self.open.iter().enumerate().filter(is_first).map(|(_, o)| o)
    }
}

impl Outgoing {
    /// The part (from 1), if it has so many.
    pub fn part(&self, part: u32) -> Option<&OutPart> {
        self.parts.get(usize::try_from(part).ok()?.checked_sub(1)?)
    }

    pub fn of(&self) -> u32 {
        number(self.parts.len().saturating_sub(1))
    }

    /// The first part that is not sent, from 0; `None` once all are, or one is dead.
    fn next(&self) -> Option<usize> {
        let next = self.parts.iter().position(|p| !p.is_over())?;
        (self.parts[next].state != DeliveryState::Dead).then_some(next)
    }

    /// The first part (from 1) that is not sent, where nobody is sending it.
    pub fn unsent(&self) -> Option<u32> {
        self.next().filter(|at| self.parts[*at].state != DeliveryState::Sending).map(number)
    }

    /// The first part (from 1) that is not sent, where it certainly was not.
    pub fn waiting(&self) -> Option<u32> {
        self.unsent().filter(|part| self.part(*part).is_some_and(|p| p.state != DeliveryState::Unknown))
    }

    /// Somebody sends a part of it.
    fn is_sending(&self) -> bool {
        self.parts.iter().any(|p| p.state == DeliveryState::Sending)
    }

    /// When its next part may be sent; `None` where something else comes first.
    fn ready_at(&self) -> Option<Timestamp> {
        let part = &self.parts[self.next().filter(|_| !self.is_sending())?];
        let waits = matches!(part.state, DeliveryState::Queued | DeliveryState::Failed) && !part.held;
        waits.then(|| part.retry_at.unwrap_or_default())
    }

    /// What a new attempt would send: the first part that is dead, waits, or did not arrive. None while a part is being sent, for two at
    /// once may change places.
    pub fn again(&self) -> Option<u32> {
        if self.is_sending() {
            return None;
        }
        let may = |p: &OutPart| matches!(p.state, DeliveryState::Dead | DeliveryState::Failed | DeliveryState::Queued);
        let first =
            self.parts.iter().position(|p| !matches!(p.state, DeliveryState::Sent | DeliveryState::Delivered | DeliveryState::Read))?;
        may(&self.parts[first]).then_some(number(first))
    }

    /// Whether it keeps one that was queued later waiting.
    fn goes_before(&self, later: &Self) -> bool {
        self.to.same_place(&later.to) || self.to.same_conversation(&later.to) && !self.is_held()
    }

    fn is_held(&self) -> bool {
        self.parts.iter().any(|p| p.held)
    }

    fn is_dead(&self) -> bool {
        self.parts.iter().any(|p| p.state == DeliveryState::Dead)
    }

    /// As lists show it.
    pub fn view(&self, session: &SessionId) -> DeliveryView {
        let unsent = self.parts.iter().position(|p| !p.is_over());
        let least = || (0..self.parts.len()).min_by_key(|at| self.parts[*at].rank());
        let at = unsent.or_else(least).unwrap_or_default();
        let part = &self.parts[at];
        DeliveryView {
            delivery_id: self.delivery_id.clone(),
            session_id: session.clone(),
            purpose: self.purpose,
            to: self.to.clone(),
            state: part.state,
            part: number(at),
            of: self.of(),
            code: part.code.clone(),
            held: part.held,
            retry_at: part.retry_at,
            channel_message_ids: self.parts.iter().filter_map(|p| p.channel_message_id.clone()).collect(),
            created_at: self.created_at,
            updated_at: self.updated_at,
        }
    }
}

impl OutPart {
    /// When it is given up as it stands.
    fn lapses_at(&self) -> Option<Timestamp> {
        match self.state {
            DeliveryState::Sending => Some(self.since + SENDING_FOR),
            DeliveryState::Unknown => Some(self.since + UNKNOWN_FOR),
            DeliveryState::Queued | DeliveryState::Failed | DeliveryState::Dead => None,
            DeliveryState::Sent | DeliveryState::Delivered | DeliveryState::Read => None,
        }
    }

    /// The platform took it; it may have told later that it did not arrive.
    pub fn is_over(&self) -> bool {
        self.rank() > 0
    }

    /// How far it is; states that come in any order never go back. 0 until the platform has it.
    fn rank(&self) -> u8 {
        let is_tried_again = self.state == DeliveryState::Failed && self.retry_at.is_some();
        if is_tried_again { 0 } else { rank(self.state) }
    }

    /// Whether what the platform tells later of the message that it calls so is worth a record.
    pub fn merge(&self, told: DeliveryState, channel_message_id: &str) -> Merge {
        let other = self.channel_message_id.as_ref().is_some_and(|known| known != channel_message_id);
        let counts = match told {
            DeliveryState::Sent | DeliveryState::Delivered | DeliveryState::Read => rank(told) > self.rank(),
            DeliveryState::Failed => match self.state {
                DeliveryState::Sending | DeliveryState::Unknown | DeliveryState::Sent => true,
                DeliveryState::Delivered | DeliveryState::Read => !self.denied,
                DeliveryState::Queued | DeliveryState::Failed | DeliveryState::Dead => false,
            },
            DeliveryState::Queued | DeliveryState::Sending | DeliveryState::Unknown | DeliveryState::Dead => false,
        };
        if counts && !other { Merge::Record } else { Merge::Nothing }
    }
}

/// Of what a platform tells. That something did not arrive says less than that it did.
fn rank(told: DeliveryState) -> u8 {
    match told {
        DeliveryState::Queued | DeliveryState::Sending | DeliveryState::Unknown | DeliveryState::Dead => 0,
        DeliveryState::Sent => 1,
        DeliveryState::Failed => 2,
        DeliveryState::Delivered => 3,
        DeliveryState::Read => 4,
    }
}

/// Parts count from 1.
fn number(at: usize) -> u32 {
    u32::try_from(at + 1).unwrap_or(u32::MAX)
}
