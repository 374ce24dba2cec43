//! When an actor is due by itself: the timer of its loop, and what the store is told for a session that sleeps.

use tokio::time::Instant;

use super::Actor;
use crate::domain::Timestamp;
use crate::domain::burst::Claim;

impl Actor {
    /// When the timer is due next: a wait expires, something outside is due, the stop waits no longer, or the session has been idle for long.
    /// A turn that streams has none, so that its deltas set no timers.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let expiry = self.ledger.state.open_items().map(|i| i.expires_at()).min();
        let expiry = expiry.into_iter().chain(self.outside_at()).min();
        let expiry = expiry.map(|at| Instant::now() + at.since(self.shared.settings.clock.now()));
        let stop = self.stopping.filter(|by| self.running.is_some() || self.sends() && *by > Instant::now());
        let idle = self.idle_since.map(|since| since + self.patience());
        [expiry, stop, idle].into_iter().flatten().min()
    }

    /// When something is due that came from outside or goes there: a part, a file that does not come, the end of a burst or of a handoff.
    fn outside_at(&self) -> Option<Timestamp> {
        let state = &self.ledger.state;
        if state.inbox.is_empty() && state.outbox.open.is_empty() && state.handoff.is_none() {
            return None;
        }
        let files = state.inbox.waiting.iter().filter_map(|q| q.settles_at()).min();
        let part = state.outbox.changes_at(self.shared.settings.clock.now());
        let begins = self.begins_at().filter(|_| self.stopping.is_none());
        [files, part, begins].into_iter().flatten().min()
    }

    /// When the next turn begins, if nothing more comes; a handoff's end where there is one.
    fn begins_at(&self) -> Option<Timestamp> {
        let state = &self.ledger.state;
        if let Some(handoff) = &state.handoff {
            return Some(handoff.until);
        }
        if state.turn.is_some() || state.inbox.is_empty() {
            return None;
        }
        match state.inbox.next_turn(self.debounce, self.shared.settings.clock.now()) {
            Claim::Now(_) => Some(Timestamp::default()),
            Claim::At(at) => Some(at),
            Claim::Nothing => None,
        }
    }

    /// When the session is to be activated though nobody asks: now for work, later for a wait that expires and for what is due outside.
    pub(super) fn wake_at(&self) -> Option<Timestamp> {
        let state = &self.ledger.state;
        let expiry = state.open_items().map(|i| i.expires_at()).min();
        let turn = expiry.or_else(|| state.turn.as_ref().map(|_| Timestamp::default()));
        let files = state.inbox.unsettled().next().map(|_| Timestamp::default());
        [turn, files, self.begins_at(), state.outbox.wakes_at()].into_iter().flatten().min()
    }

    /// A part is on its way, and whoever sends it may still say what came of it.
    fn sends(&self) -> bool {
        self.ledger.state.outbox.is_sending()
    }

    /// Nothing runs but, at most, a wait for a person; and nothing is being sent, unless the stop waits no longer.
    pub(super) fn may_retire(&self) -> bool {
        let waits = self.running.is_none() || self.ledger.state.waits_for_person();
        let sends = self.sends() && self.stopping.is_none_or(|by| by > Instant::now());
        self.ledger.is_clean() && waits && !sends
    }
}
