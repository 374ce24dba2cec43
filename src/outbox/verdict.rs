//! What an error means for a part: tried again, held, given up, or unknown.

use std::time::Duration;

use uuid::Uuid;

use crate::channel::messenger::{DeliveryError, ErrorClass};
use crate::domain::Timestamp;
use crate::session::delivery::PartOutcome;

/// How failures of one kind are tried again: `base` x 2^n, at most `most`, less a random part of up to a half, in `attempts` attempts.
#[derive(Clone, Copy, Debug)]
struct Schedule {
    base: Duration,
    most: Duration,
    attempts: u32,
}

/// The platform is busy, or does not answer: soon at first, then every some minutes for about five hours. Nobody watches, and an outage of the
/// platform's is to leave nobody with silence. An operator may try a dead part again.
const RETRY: Schedule = Schedule { base: Duration::from_secs(2), most: Duration::from_secs(600), attempts: 48 };
/// This conversation was written to too fast. Meta's own spacing is six seconds; the last wait is ten minutes.
const TOO_FAST: Schedule = Schedule { base: Duration::from_secs(6), most: Duration::from_secs(600), attempts: 10 };

/// What is recorded of a failed attempt, and whether the account it went by can send at all. `attempt` counts from 1.
pub(super) fn verdict(error: &DeliveryError, attempt: u32, now: Timestamp, chance: Uuid) -> (PartOutcome, Account) {
    let code = error.code.clone();
    let outcome = match error.class {
        ErrorClass::Retry { after } => RETRY.again(code, after, attempt, now, chance),
        ErrorClass::TooFast { after } => TOO_FAST.again(code, after, attempt, now, chance),
        ErrorClass::Closed => PartOutcome::Held { code },
        // no attempt of its own counts against the part: it goes as soon as the account does
        ErrorClass::Account => return (PartOutcome::Refused { code, retry_at: now }, Account::Stopped),
        ErrorClass::Final => PartOutcome::Dead { code },
        ErrorClass::Ambiguous => PartOutcome::Unknown { code },
    };
    (outcome, Account::Sends)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Account {
    Sends,
    Stopped,
}

impl Schedule {
    fn again(self, code: String, after: Option<Duration>, attempt: u32, now: Timestamp, chance: Uuid) -> PartOutcome {
        if attempt >= self.attempts {
            return PartOutcome::Dead { code };
        }
        let full = self.base.saturating_mul(1 << attempt.saturating_sub(1).min(16)).min(self.most);
        let wait = jittered(full, chance).max(after.unwrap_or_default().min(self.most));
        PartOutcome::Failed { code, retry_at: now + wait }
    }
}

/// Anywhere between half of `full` and all of it, so that what failed together does not come back together.
fn jittered(full: Duration, chance: Uuid) -> Duration {
    // the last half of a version 7 UUID is random
    let (_, random) = chance.as_u64_pair();
    full.mul_f64(0.5 + f64::from((random & 0xffff) as u32) / 131_072.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000);

    fn of(class: ErrorClass, attempt: u32, chance: u128) -> (PartOutcome, Account) {
        verdict(&DeliveryError { code: "7".into(), class, detail: String::new() }, attempt, NOW, Uuid::from_u128(chance))
    }

    fn wait(class: ErrorClass, attempt: u32, chance: u128) -> Duration {
        match of(class, attempt, chance) {
            (PartOutcome::Failed { retry_at, .. }, Account::Sends) => retry_at.since(NOW),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_class_has_its_outcome() {
        let code = || "7".to_owned();
        assert_eq!(of(ErrorClass::Closed, 1, 0), (PartOutcome::Held { code: code() }, Account::Sends));
        assert_eq!(of(ErrorClass::Final, 1, 0), (PartOutcome::Dead { code: code() }, Account::Sends));
        assert_eq!(of(ErrorClass::Ambiguous, 1, 0), (PartOutcome::Unknown { code: code() }, Account::Sends));
        let stopped = (PartOutcome::Refused { code: code(), retry_at: NOW }, Account::Stopped);
        assert_eq!([of(ErrorClass::Account, 1, 0), of(ErrorClass::Account, 99, 0)], [stopped.clone(), stopped], "however often");
    }

    #[test]
    fn waits_grow_within_bounds_and_end() {
        let all = u128::from(u64::MAX);
        let (retry, fast) = (ErrorClass::Retry { after: None }, ErrorClass::TooFast { after: None });
        assert_eq!(wait(retry, 1, 0), RETRY.base / 2);
        let shortest: Duration = (1..RETRY.attempts).map(|attempt| wait(retry, attempt, 0)).sum();
        assert!(shortest > Duration::from_secs(3 * 3_600), "an outage of hours is waited out: {shortest:?}");
        for (class, schedule) in [(retry, RETRY), (fast, TOO_FAST)] {
            let longest: Vec<Duration> = (1..schedule.attempts).map(|attempt| wait(class, attempt, all)).collect();
            assert!(longest.is_sorted() && longest.iter().all(|wait| *wait <= schedule.most), "{longest:?}");
            assert!(longest[0] <= schedule.base && longest[1] > schedule.base, "{longest:?}");
            assert_eq!(of(class, schedule.attempts, all).0, PartOutcome::Dead { code: "7".into() });
        }
    }

    #[test]
    fn the_platforms_own_wish_is_the_least_and_has_a_bound() {
        let asked = |after| ErrorClass::Retry { after: Some(Duration::from_secs(after)) };
        assert_eq!(wait(asked(40), 1, 0), Duration::from_secs(40));
        assert_eq!(wait(asked(90_000), 1, 0), RETRY.most);
    }
}
