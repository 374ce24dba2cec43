//! One message's fate: which turn claims it, and how that turn ends.

use std::sync::Arc;

use super::feed::{Closing, Feed};
use super::reader::{Filter, Reader};
use super::record::FeedRecord;
use crate::domain::event::turn::{Done, Turn};
use crate::domain::{AgentEvent, Cursor, MessageId, Record, Seq, View};
use crate::store::StoreError;

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The record at `seq` claims it for the turn.
    Claimed {
        turn: u32,
        seq: Seq,
    },
    /// The record at `seq` removes it.
    Removed {
        seq: Seq,
    },
    Closing(Closing),
}

/// Follows a message from its `message_queued` on.
#[derive(Debug)]
pub struct Follow {
    reader: Reader,
    message_id: MessageId,
}

impl Follow {
    /// From the message's `message_queued` at `seq`; `None` where that is not durable.
    pub fn new(feed: &Arc<Feed>, message_id: MessageId, seq: Seq) -> Option<Self> {
        let filter = Filter { view: View::Admin, types: None, may_decide: Arc::new(|_| false) };
        let reader = Reader::new(feed.clone(), filter, Cursor { seq, n: 0 }).ok()?;
        Some(Self { reader, message_id })
    }

    /// Waits until the message is claimed or removed. Cancel-safe.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn fate(&mut self) -> Result<Fate, StoreError> {
        loop {
            let record = match self.reader.next_record().await? {
                Ok(record) => record,
                Err(closing) => return Ok(Fate::Closing(closing)),
            };
            match (&*record.kind, record.turn) {
                ("turn_start" | "queue_drain", Some(turn)) if record.names_message(&self.message_id) => {
                    return Ok(Fate::Claimed { turn, seq: record.seq });
                }
                ("message_removed", _) if record.names_message(&self.message_id) => return Ok(Fate::Removed { seq: record.seq }),
                _ => {}
            }
        }
    }

    /// Waits for the end of that turn. Cancel-safe.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn done(&mut self, turn: u32) -> Result<Result<Done, Closing>, StoreError> {
        loop {
            let record = match self.reader.next_record().await? {
                Ok(record) => record,
                Err(closing) => return Ok(Err(closing)),
            };
            if let Some(done) = done_of(&record).filter(|_| record.turn == Some(turn)) {
                return Ok(Ok(done));
            }
        }
    }
}

fn done_of(record: &FeedRecord) -> Option<Done> {
    if &*record.kind != "done" {
        return None;
    }
    let AgentEvent::Turn(Turn::Done(done)) = Record::from_json(&record.json).ok()?.event else { return None };
    Some(done)
}
