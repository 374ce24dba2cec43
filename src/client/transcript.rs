//! What a client holds of a session: a pure reducer over the feed. No I/O, and nothing about how it is drawn.
//!
//! The client's rule: live text is keyed by `message_id` and `block`; deltas append; the agent's `message` replaces everything live;
//! `retry {discarded}` and `done` drop what is still live; a join with anything but the client's own last id starts by dropping it; `reset`
//! empties all. A `message` of a person (`author`) ends no attempt and touches no live text.

use std::collections::BTreeMap;

use super::wire::{Ask, Delta, Event, Hello, Record, Voice, What};
use crate::domain::{MessageId, Seq};

/// Where a connection to the feed started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    /// At the last id that this client had: the stream goes on where it was cut.
    OwnLastId,
    Elsewhere,
}

/// One block of live text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Live {
    pub(super) voice: Voice,
    pub(super) text: String,
}

#[derive(Debug, Default)]
pub(super) struct Transcript {
    /// The records that say something to a person, in order.
    pub(super) entries: Vec<Record>,
    /// The open attempt's text.
    pub(super) live: BTreeMap<(MessageId, u32), Live>,
    /// The open turn.
    pub(super) turn: Option<u32>,
    /// Messages that no turn has claimed.
    pub(super) queued: Vec<MessageId>,
    /// What waits for a person, the oldest first.
    pub(super) asks: Vec<Ask>,
    /// Counts resets: everything shown before the last one is void.
    pub(super) generation: u32,
    /// Records up to here were there before the first join: history.
    pub(super) history: Option<Seq>,
    /// The head at the last join: of the waits opened up to it, those that `hello` did not name are over.
    joined: Seq,
    seq: Seq,
}

impl Transcript {
    pub(super) fn join(&mut self, join: Join) {
        if join == Join::Elsewhere {
            self.live.clear();
        }
    }

    pub(super) fn apply(&mut self, event: Event) {
        match event {
            Event::Hello(hello) => self.hello(&hello),
            Event::Reset => {
                let (generation, joined, history) = (self.generation + 1, self.joined, self.history);
                // a reset follows its hello, whose account of the present stands
                let (turn, asks) = (self.turn, std::mem::take(&mut self.asks));
                *self = Self { generation, joined, history, turn, asks, ..Self::default() };
            }
            Event::Delta(delta) => self.delta(delta),
            Event::Record(record) => self.record(record),
            Event::Closing(_) | Event::Other => {}
        }
    }

    fn hello(&mut self, hello: &Hello) {
        self.history.get_or_insert(hello.head);
        self.joined = hello.head;
        self.turn = hello.turn;
        self.asks = hello.asks();
    }

    /// Every record that was there at the join has come.
    pub(super) fn has_caught_up(&self) -> bool {
        self.history.is_some() && self.seq >= self.joined
    }

    fn delta(&mut self, delta: Delta) {
        let key = (delta.message_id, delta.block);
        let live = self.live.entry(key).or_insert_with(|| Live { voice: delta.voice, text: String::new() });
        live.text.push_str(&delta.text);
    }

    fn record(&mut self, record: Record) {
        if record.seq <= self.seq {
            return;
        }
        self.seq = record.seq;
        // of the time before the join, `hello` has told the outcome
        let news = record.seq > self.joined;
        match &record.what {
            What::Message(message) if message.author.is_none() => self.live.clear(),
            What::Retry(retry) if retry.discarded => self.live.clear(),
            What::Queued(queued) => self.queued.push(queued.message_id.clone()),
            What::Removed(removed) => self.queued.retain(|id| *id != removed.message_id),
            What::Claimed(claimed) => {
                self.queued.retain(|id| !claimed.message_ids.contains(id));
                if news {
                    self.turn = record.turn;
                }
            }
            What::Done(_) => {
                self.live.clear();
                if news {
                    self.turn = None;
                    self.asks.clear();
                }
            }
            What::Asked(ask) if news => self.asks.push(ask.clone()),
            What::Answered(id, _) => self.asks.retain(|ask| ask.id() != id),
            What::Retry(_) | What::Message(_) | What::Asked(_) => {}
            What::ToolStart(_) | What::ToolEnd(_) | What::ToolError(_) | What::ToolDenied(_) | What::Continued => {}
        }
        self.entries.push(record);
    }
}

#[cfg(test)]
mod tests;
