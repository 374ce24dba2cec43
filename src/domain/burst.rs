//! When input begins a turn, and which of it: people send a thought in several messages, and a file comes after its message.
//!
//! A pure function of the inbox, the channel's debounce and the time.

use std::time::Duration;

use super::event::input::Target;
use super::state::{Inbox, Queued};
use super::{Attachment, MessageId, Timestamp};

/// How long a message waits for what came with it. Then the turn begins without.
pub const ATTACHMENT_WAIT: Duration = Duration::from_secs(60);
/// Messages of one burst: beyond them it is no thought in pieces.
const MOST: usize = 20;
/// A burst that does not end begins its turn after so many times the debounce.
const LONGEST: u32 = 5;

/// What a new turn claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// These, in the order in which they came.
    Now(Vec<MessageId>),
    /// Nothing before then.
    At(Timestamp),
    Nothing,
}

impl Queued {
    /// What came with it and is neither kept nor given up.
    pub fn unsettled(&self) -> impl Iterator<Item = &Attachment> {
        let settled = |a: &&Attachment| self.settled.iter().any(|s| s.attachment_id == a.attachment_id);
        self.message.attachments.iter().filter(move |a| !settled(a))
    }

    /// When it waits no longer for what came with it; `None` where it does not wait.
    pub fn settles_at(&self) -> Option<Timestamp> {
        self.unsettled().next().map(|_| self.at + ATTACHMENT_WAIT)
    }
}

impl Inbox {
    /// What waits for the next step of the running turn, and is whole.
    pub fn next_step(&self) -> impl Iterator<Item = &Queued> {
        self.whole().filter(|q| q.message.target == Target::NextStep)
    }

    /// What has all that came with it.
    pub fn whole(&self) -> impl Iterator<Item = &Queued> {
        self.waiting.iter().filter(|q| q.unsettled().next().is_none())
    }

    /// What a new turn claims: all of `next_step`, and of `next_turn` the oldest with the rest of its burst, once that is over.
    pub fn next_turn(&self, debounce: Duration, now: Timestamp) -> Claim {
        let burst = self.burst(debounce);
        let ready = burst.as_ref().map(|b| b.ready_at(debounce, now));
        let claims = |q: &&Queued| match q.message.target {
            Target::NextStep => q.settles_at().is_none(),
            Target::NextTurn => ready.is_some_and(|at| at <= now) && burst.as_ref().is_some_and(|b| b.has(q)),
        };
        let claimed: Vec<MessageId> = self.waiting.iter().filter(claims).map(|q| q.message.message_id.clone()).collect();
        if !claimed.is_empty() {
            return Claim::Now(claimed);
        }
        let steers = self.waiting.iter().filter(|q| q.message.target == Target::NextStep).filter_map(Queued::settles_at);
        steers.chain(ready).min().map_or(Claim::Nothing, Claim::At)
    }

    /// Attachments that nobody has settled.
    pub fn unsettled(&self) -> impl Iterator<Item = &Attachment> {
        self.waiting.iter().flat_map(Queued::unsettled)
    }

    /// The oldest message of `next_turn`, and those of the same author and place that follow within the debounce of each other.
    fn burst(&self, debounce: Duration) -> Option<Burst<'_>> {
        let mut waiting = self.waiting.iter().filter(|q| q.message.target == Target::NextTurn);
        let first = waiting.next()?;
        let mut messages = vec![first];
        if debounce.is_zero() || first.message.reply_to.is_none() {
            return Some(Burst { messages, end: End::Now });
        }
        for q in waiting.filter(|q| together(first, q)) {
            if q.at.since(messages[messages.len() - 1].at) > debounce {
                break;
            }
            messages.push(q);
            if messages.len() == MOST {
                return Some(Burst { messages, end: End::Now });
            }
        }
        Some(Burst { messages, end: End::Quiet })
    }
}

fn together(first: &Queued, other: &Queued) -> bool {
    let place = first.message.reply_to.as_ref().zip(other.message.reply_to.as_ref());
    first.message.author == other.message.author && place.is_some_and(|(a, b)| a.same_place(b))
}

/// Never empty.
struct Burst<'a> {
    messages: Vec<&'a Queued>,
    end: End,
}

/// When a burst is over.
#[derive(Clone, Copy)]
enum End {
    Now,
    /// When nothing more came for the debounce.
    Quiet,
}

impl Burst<'_> {
    fn has(&self, q: &Queued) -> bool {
        self.messages.iter().any(|m| m.seq == q.seq)
    }

    /// A message of the future is one from before the clock was set back: it waits for nothing.
    fn ready_at(&self, debounce: Duration, now: Timestamp) -> Timestamp {
        let (first, newest) = (self.messages[0], self.messages[self.messages.len() - 1]);
        let quiet = match self.end {
            End::Quiet if newest.at <= now => (newest.at + debounce).min(first.at + debounce * LONGEST),
            End::Quiet | End::Now => Timestamp::default(),
        };
        let files = self.messages.iter().filter(|q| q.at <= now).filter_map(|q| q.settles_at()).max();
        files.map_or(quiet, |at| at.max(quiet))
    }
}

#[cfg(test)]
mod tests;
