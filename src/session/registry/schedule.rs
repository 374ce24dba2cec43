//! What wakes sessions by itself: all that is due at the start, and whatever becomes due.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tracing::warn;

use super::Shared;
use crate::domain::Timestamp;

/// The longest that the scheduler sleeps.
const POLL: Duration = Duration::from_secs(30);

impl Shared {
    /// Activates what is due, for as long as the process takes input.
    pub(super) async fn schedule(self: &Arc<Self>) {
        loop {
            let pass = self.settings.clock.now() + self.wake_due().await;
            // sessions that retire meanwhile may name an earlier time
            loop {
                let at = self.earliest().map_or(pass, |at| at.min(pass));
                let left = at.since(self.settings.clock.now());
                if left.is_zero() {
                    break;
                }
                tokio::select! { biased;
                    () = self.stop.cancelled() => return,
                    () = self.rescheduled.notified() => {}
                    () = tokio::time::sleep(left) => {}
                }
            }
            if self.stop.is_cancelled() {
                return;
            }
        }
    }

    /// Activates all that is due; how long until the next is, at most [`POLL`].
    async fn wake_due(self: &Arc<Self>) -> Duration {
        let now = self.settings.clock.now();
        *self.wakes.lock().unwrap_or_else(PoisonError::into_inner) = None;
        match self.settings.store.due(now, usize::MAX).await {
            Ok((due, next)) => {
                for id in due {
                    let lease = self.lease(&id);
                    let slept = !lease.entry.is_awake();
                    if lease.entry.activate(self).is_err() {
                        // the process stops before it has come to all of them
                        return POLL;
                    }
                    self.settings.metrics.wake_ups.increment(u64::from(slept));
                }
                self.woke.store(true, Ordering::Relaxed);
                next.map_or(POLL, |at| at.since(now).min(POLL))
            }
            Err(error) => {
                warn!(%error, "what is due could not be read");
                POLL
            }
        }
    }

    fn earliest(&self) -> Option<Timestamp> {
        *self.wakes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A session that goes to sleep is to be woken then.
    pub(in crate::session) fn wake_at(&self, at: Timestamp) {
        {
            let mut wakes = self.wakes.lock().unwrap_or_else(PoisonError::into_inner);
            *wakes = Some(wakes.map_or(at, |known| known.min(at)));
        }
        self.rescheduled.notify_one();
    }
}
