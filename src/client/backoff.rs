//! How long to wait before the next try: 0.5 s, times 1.8 each time, up to 30 s, with full jitter. Knows no clock and never sleeps itself.

use std::time::Duration;

use uuid::Uuid;

const BASE: Duration = Duration::from_millis(500);
const FACTOR: f64 = 1.8;
const CAP: Duration = Duration::from_secs(30);

/// How long trouble is borne. A person waits and can leave; a script wants its answer or its error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    Endless,
    /// Give up after that many failures in a row.
    Failures(u32),
}

#[derive(Debug)]
pub(super) struct Backoff {
    failures: u32,
    /// The server's `retry:`: no wait is shorter.
    floor: Duration,
    patience: Patience,
    random: fn() -> f64,
}

impl Backoff {
    pub(super) fn new(patience: Patience) -> Self {
        Self { failures: 0, floor: Duration::ZERO, patience, random: uniform }
    }

    /// It works again: the next failure is the first.
    pub(super) fn reset(&mut self) {
        self.failures = 0;
    }

    pub(super) fn set_floor(&mut self, floor: Duration) {
        self.floor = floor;
    }

    /// The wait after one more failure, or `None` when patience is at its end. `asked` is what this failure's answer asked for, on top of
    /// which the jitter comes, so that all clients of one server do not return in the same instant.
    pub(super) fn next(&mut self, asked: Option<Duration>) -> Option<Duration> {
        let step = BASE.mul_f64(FACTOR.powi(i32::try_from(self.failures.min(32)).unwrap_or(32))).min(CAP);
        self.failures = self.failures.saturating_add(1);
        match self.patience {
            Patience::Failures(most) if self.failures > most => None,
            Patience::Failures(_) | Patience::Endless => Some(asked.unwrap_or_default().max(self.floor) + step.mul_f64((self.random)())),
        }
    }
}

/// Uniform in 0..1, from the random bits of a time-ordered UUID: good enough to spread reconnects.
fn uniform() -> f64 {
    let bits = u32::try_from(Uuid::now_v7().as_u128() & u128::from(u32::MAX)).unwrap_or_default();
    f64::from(bits) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Backoff, Patience};

    fn worst(patience: Patience) -> Backoff {
        Backoff { random: || 1.0, ..Backoff::new(patience) }
    }

    #[test]
    fn waits_grow_to_their_cap_and_start_over() {
        let mut backoff = worst(Patience::Endless);
        let waits: Vec<u128> = (0..10).map(|_| backoff.next(None).unwrap().as_millis()).collect();
        assert_eq!(waits[..4], [500, 900, 1620, 2916]);
        assert_eq!(waits[9], 30_000);
        backoff.reset();
        assert_eq!(backoff.next(None), Some(Duration::from_millis(500)));
    }

    #[test]
    fn full_jitter_reaches_down_to_what_the_server_asked_for() {
        let mut backoff = Backoff { random: || 0.0, ..Backoff::new(Patience::Endless) };
        assert_eq!(backoff.next(None), Some(Duration::ZERO));
        backoff.set_floor(Duration::from_millis(700));
        assert_eq!(backoff.next(None), Some(Duration::from_millis(700)));
        assert_eq!(backoff.next(Some(Duration::from_secs(60))), Some(Duration::from_secs(60)));
    }

    #[test]
    fn patience_ends() {
        let mut backoff = worst(Patience::Failures(2));
        assert!(backoff.next(None).is_some() && backoff.next(None).is_some());
        assert_eq!(backoff.next(None), None);
    }

    #[test]
    fn jitter_is_a_fraction_and_varies() {
        let samples: Vec<f64> = (0..64).map(|_| super::uniform()).collect();
        assert!(samples.iter().all(|x| (0.0..=1.0).contains(x)));
        assert!(samples.windows(2).any(|w| w[0] != w[1]));
    }
}
