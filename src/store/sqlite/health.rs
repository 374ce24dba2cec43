//! Whether the writer gets its commits done. The thread notes it, and whoever asks sees it at once, also while the disk hangs.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::store::Trouble;

/// A commit that takes longer is stuck: a disk under heavy load answers within a second or two.
const STALLED: Duration = Duration::from_secs(5);

/// What is known of the writer.
#[derive(Debug, Default)]
pub(super) struct Health(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    committing_since: Option<Instant>,
    /// Why the last commit failed, if it did.
    failure: Option<Trouble>,
    /// A write that only tries the disk is on its way.
    trying: bool,
}

/// What is to be done to know more.
#[derive(Debug, PartialEq)]
pub(super) enum Verdict {
    Sound,
    Bad(Trouble),
    /// The last commit failed: one write, which the caller has to ask for, says whether the next would.
    Try,
}

impl Health {
    pub(super) fn begins(&self) {
        self.known().committing_since = Some(Instant::now());
    }

    /// Gives how long the commit took.
    pub(super) fn ended(&self, failure: Option<Trouble>) -> Duration {
        let mut known = self.known();
        known.failure = failure;
        known.trying = false;
        known.committing_since.take().map_or(Duration::ZERO, |since| since.elapsed())
    }

    pub(super) fn verdict(&self, now: Instant) -> Verdict {
        let mut known = self.known();
        if let Some(took) = known.committing_since.map(|since| now.saturating_duration_since(since)).filter(|took| *took >= STALLED) {
            let detail = format!("a commit has been under way for {} s; look at the disk", took.as_secs());
            return Verdict::Bad(Trouble { code: "store_stalled", detail });
        }
        match &known.failure {
            None => Verdict::Sound,
            // one at a time, however many ask
            Some(failure) if known.trying => Verdict::Bad(failure.clone()),
            Some(_) => {
                known.trying = true;
                Verdict::Try
            }
        }
    }

    /// Why the last commit failed, if it did.
    pub(super) fn failure(&self) -> Option<Trouble> {
        self.known().failure.clone()
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A failed commit, as an operator should hear of it.
pub(super) fn trouble(code: Option<rusqlite::ErrorCode>, error: &str) -> Trouble {
    let (code, advice) = match code {
        Some(rusqlite::ErrorCode::DiskFull) => ("disk_full", "make room on the disk of store.path"),
        Some(rusqlite::ErrorCode::ReadOnly) => ("store_read_only", "make store.path writable for this process"),
        Some(_) | None => ("store_failing", "the log has each failure"),
    };
    Trouble { code, detail: format!("the last commit failed: {error}; {advice}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_stands_until_a_commit_succeeds_and_is_tried_one_at_a_time() {
        let health = Health::default();
        assert_eq!(health.verdict(Instant::now()), Verdict::Sound);
        health.begins();
        assert_eq!(health.verdict(Instant::now()), Verdict::Sound, "a commit that has just begun is no trouble");
        let full = trouble(Some(rusqlite::ErrorCode::DiskFull), "database or disk is full");
        health.ended(Some(full.clone()));
        assert_eq!(health.verdict(Instant::now()), Verdict::Try);
        assert_eq!(health.verdict(Instant::now()), Verdict::Bad(full.clone()), "the first one tries");
        health.ended(Some(full));
        assert_eq!(health.verdict(Instant::now()), Verdict::Try);
        health.ended(None);
        assert_eq!(health.verdict(Instant::now()), Verdict::Sound);
    }

    #[test]
    fn a_commit_that_does_not_end_is_trouble_while_it_lasts() {
        let health = Health::default();
        health.begins();
        let Verdict::Bad(trouble) = health.verdict(Instant::now() + STALLED) else { panic!("it is stuck") };
        assert_eq!(trouble.code, "store_stalled");
        health.ended(None);
        assert_eq!(health.verdict(Instant::now() + STALLED), Verdict::Sound);
    }

    #[test]
    fn the_code_says_what_to_mend() {
        for (error, code) in [
            (Some(rusqlite::ErrorCode::DiskFull), "disk_full"),
            (Some(rusqlite::ErrorCode::ReadOnly), "store_read_only"),
            (Some(rusqlite::ErrorCode::SystemIoFailure), "store_failing"),
            (None, "store_failing"),
        ] {
            assert_eq!(trouble(error, "why").code, code);
        }
    }
}
