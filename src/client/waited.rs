//! How much of a turn's time it waited for a person: for a decision or an answer. Pure: it goes by the records' own times.

use std::collections::BTreeSet;

use super::wire::{Ask, Record, What};
use crate::domain::Timestamp;

#[derive(Debug, Default)]
pub(super) struct Waited {
    open: BTreeSet<String>,
    since: Timestamp,
    total_ms: u64,
}

impl Waited {
    pub(super) fn record(&mut self, record: &Record) {
        let Some(at) = record.at else { return };
        if let What::Asked(ask @ (Ask::Approval(_) | Ask::Questions(_))) = &record.what {
            if self.open.is_empty() {
                self.since = at;
            }
            self.open.insert(ask.id().to_owned());
            return;
        }
        let had_open = !self.open.is_empty();
        if let What::Answered(id, _) = &record.what {
            self.open.remove(id);
        } else if let What::Done(_) = &record.what {
            self.open.clear();
        }
        // two waits at the same time are one
        if had_open && self.open.is_empty() {
            self.add(at);
        }
    }

    fn add(&mut self, until: Timestamp) {
        let ms = u64::try_from(until.since(self.since).as_millis()).unwrap_or(u64::MAX);
        self.total_ms = self.total_ms.saturating_add(ms);
    }

    /// Of the turn that is over.
    pub(super) fn take_ms(&mut self) -> u64 {
        std::mem::take(&mut self.total_ms)
    }
}
