//! How fast a conversation is written to: a few messages at once, then one in a while. Platforms hold a conversation that goes faster.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use super::lock;
use crate::channel::messenger::Pace;
use crate::domain::SessionId;

/// Conversations that are remembered; those that have all their burst again are forgotten when there are more.
const KEPT: usize = 4_096;

/// By session: it is one conversation of one account. In memory, because a platform's own word comes behind it: a restart may send a burst
/// too many, and is told so.
#[derive(Debug, Default)]
pub(super) struct Spacing(Mutex<HashMap<SessionId, Theoretical>>);

/// When the next message would be due if they all had come evenly: what a token bucket is in one number.
#[derive(Clone, Copy, Debug)]
struct Theoretical(Instant);

impl Spacing {
    /// How long the next message has to wait; zero where nothing is known of the conversation.
    pub(super) fn wait(&self, session: &SessionId, pace: Pace, now: Instant) -> Duration {
        let Some(Theoretical(due)) = lock(&self.0).get(session).copied() else { return Duration::ZERO };
        let ahead = pace.spacing * pace.burst.saturating_sub(1);
        due.saturating_duration_since(now).saturating_sub(ahead)
    }

    /// A message goes out now.
    pub(super) fn sent(&self, session: &SessionId, pace: Pace, now: Instant) {
        let mut all = lock(&self.0);
        if all.len() >= KEPT {
            all.retain(|_, Theoretical(due)| *due > now);
        }
        let due = all.get(session).map_or(now, |Theoretical(due)| (*due).max(now));
        all.insert(session.clone(), Theoretical(due + pace.spacing));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_goes_at_once_and_then_one_at_a_time() {
        let (spacing, session) = (Spacing::default(), SessionId::from("ses_1"));
        let pace = Pace { window: None, spacing: Duration::from_secs(6), burst: 3, typing: Duration::from_secs(20) };
        let start = Instant::now();
        let mut gone = Vec::new();
        for _ in 0..5 {
            tokio::time::advance(spacing.wait(&session, pace, Instant::now())).await;
            spacing.sent(&session, pace, Instant::now());
            gone.push(start.elapsed().as_secs());
        }
        assert_eq!(gone, [0, 0, 0, 6, 12]);
        assert_eq!(spacing.wait(&SessionId::from("ses_2"), pace, Instant::now()), Duration::ZERO, "another conversation");
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(spacing.wait(&session, pace, Instant::now()), Duration::ZERO, "it has its burst again");
    }
}
