//! One session's parts, one after the other.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::Instant;
use tracing::{debug, info, warn};

use super::Shared;
use super::metrics::SENDS;
use super::verdict::{self, verdict};
use crate::channel::accounts::Account;
use crate::channel::messenger::{DeliveryError, ErrorClass, Quotes};
use crate::domain::event::session::Session;
use crate::domain::{AgentEvent, Record, SessionId, Timestamp};
use crate::session::delivery::{Claimed, Due, PartOutcome};
use crate::session::{Lease, SessionError, Sessions};
use crate::store::Most;

/// How often an outcome that could not be recorded is offered again: the platform has the part, and a record of it is worth waiting for.
const RECORD_TRIES: u32 = 5;
/// Between them.
const RECORD_WAIT: Duration = Duration::from_millis(500);

/// The attempt whose failure is told: a platform that is busy for a moment is no news.
const TOLD_AT: u32 = 2;

/// Sends what is due, until nothing is.
pub(super) async fn run(shared: &Arc<Shared>, sessions: &Sessions, session: &SessionId) {
    match parts(shared, sessions, session).await {
        Ok(()) | Err(SessionError::NotFound | SessionError::Stopping) => {}
        // whatever is due is told again when the session wakes
        Err(error) => warn!(%session, %error, "a session's deliveries stop for now"),
    }
}

async fn parts(shared: &Arc<Shared>, sessions: &Sessions, session: &SessionId) -> Result<(), SessionError> {
    let account = account(shared, sessions, session).await?;
    let lease = sessions.open(session).await?;
    loop {
        if let Some(account) = &account {
            if shared.stopped.holds(account.channel(), account.name(), session) {
                return Ok(());
            }
            // before a part is claimed, for a claim that waits would be taken for one that may have been sent
            let wait = shared.spacing.wait(session, account.messenger.pace(), Instant::now());
            if !wait.is_zero() && !shared.pause(wait).await {
                return Ok(());
            }
        }
        if shared.stop.is_cancelled() {
            return Ok(());
        }
        match sessions.claim_part(&lease).await? {
            Due::Part(claimed) => one(shared, sessions, &lease, &claimed).await?,
            // the session tells when that time has come
            Due::Later(_) | Due::Nothing => return Ok(()),
        }
    }
}

/// Sends a part that was claimed and records what came of it.
async fn one(shared: &Arc<Shared>, sessions: &Sessions, lease: &Lease, claimed: &Claimed) -> Result<(), SessionError> {
    let outcome = match shared.accounts.of(&claimed.to) {
        Some(account) => send(shared, sessions, lease, account, claimed).await,
        None => Some(PartOutcome::Dead { code: "account_gone".to_owned() }),
    };
    // cut off by the stop: it stays `sending`, and is unknown to the next process
    let Some(outcome) = outcome else { return Err(SessionError::Stopping) };
    shared.meter.counter(&SENDS, &[&claimed.to.channel, word(&outcome)]).increment(1);
    record(sessions, lease, claimed, outcome).await
}

async fn send(shared: &Arc<Shared>, sessions: &Sessions, lease: &Lease, account: &Account, claimed: &Claimed) -> Option<PartOutcome> {
    let (pace, now) = (account.messenger.pace(), sessions.settings().clock.now());
    if is_closed(pace.window, claimed.last_inbound, now) {
        return Some(PartOutcome::Held { code: "window_closed".to_owned() });
    }
    shared.spacing.sent(lease.id(), pace, Instant::now());
    let token = format!("{}:{}", claimed.delivery_id, claimed.part);
    let quotes = if claimed.part == 1 { Quotes::Address } else { Quotes::Nothing };
    let sent = tokio::select! { biased;
        () = shared.cut.cancelled() => return None,
        sent = AssertUnwindSafe(account.messenger.deliver(&claimed.to, &claimed.content, &token, quotes)).catch_unwind() => sent,
    };
    let error = match sent {
        Ok(Ok(receipt)) => {
            reached(shared, claimed);
            return Some(PartOutcome::Sent { channel_message_id: receipt.message });
        }
        Ok(Err(error)) => error,
        // it may have gone out before
        Err(_) => DeliveryError { code: "internal".to_owned(), class: ErrorClass::Ambiguous, detail: "the adapter panicked".to_owned() },
    };
    let settings = sessions.settings();
    let (outcome, standing) = verdict(&error, claimed.attempt, settings.clock.now(), settings.ids.uuid());
    tell(claimed, &error, &outcome);
    shared.reach.failed(&claimed.to, error.class, settings.clock.now());
    if standing == verdict::Account::Stopped {
        shared.stopped.stop(&claimed.to, &error, account.messenger.remedy(&error.code));
    }
    Some(outcome)
}

/// Whether the receiver wrote too long ago to be written to. One who is not known to have written is for the platform to judge.
fn is_closed(window: Option<Duration>, last_inbound: Option<Timestamp>, now: Timestamp) -> bool {
    window.zip(last_inbound).is_some_and(|(window, at)| now.since(at) >= window)
}

/// The platform took a part.
fn reached(shared: &Shared, claimed: &Claimed) {
    shared.reach.sent(&claimed.to);
    if claimed.attempt >= TOLD_AT {
        let (delivery, part, attempt) = (&claimed.delivery_id, claimed.part, claimed.attempt);
        info!(%delivery, part, attempt, "a part was sent after all");
    }
}

fn tell(claimed: &Claimed, error: &DeliveryError, outcome: &PartOutcome) {
    let DeliveryError { code, class, detail } = error;
    let (delivery, part, attempt) = (&claimed.delivery_id, claimed.part, claimed.attempt);
    match outcome {
        // once is nothing, and every time is too often
        PartOutcome::Failed { retry_at, .. } if attempt == TOLD_AT => {
            warn!(%delivery, part, attempt, code, detail, ?class, "a part was not sent twice in a row; it is tried again at {retry_at}, and so on");
        }
        PartOutcome::Dead { .. } => warn!(%delivery, part, attempt, code, detail, ?class, "a part is given up"),
        PartOutcome::Unknown { .. } => warn!(%delivery, part, attempt, code, detail, ?class, "nobody knows whether a part was sent"),
        PartOutcome::Failed { .. } | PartOutcome::Refused { .. } | PartOutcome::Held { .. } | PartOutcome::Sent { .. } => {
            debug!(%delivery, part, attempt, code, detail, ?class, "a part was not sent yet");
        }
    }
}

async fn record(sessions: &Sessions, lease: &Lease, claimed: &Claimed, outcome: PartOutcome) -> Result<(), SessionError> {
    for _ in 1..RECORD_TRIES {
        match sessions.part_outcome(lease, &claimed.delivery_id, claimed.part, outcome.clone()).await {
            Err(SessionError::Busy | SessionError::Unavailable(_)) => tokio::time::sleep(RECORD_WAIT).await,
            done => return done,
        }
    }
    sessions.part_outcome(lease, &claimed.delivery_id, claimed.part, outcome).await
}

fn word(outcome: &PartOutcome) -> &'static str {
    match outcome {
        PartOutcome::Sent { .. } => "sent",
        PartOutcome::Failed { .. } | PartOutcome::Refused { .. } => "failed",
        PartOutcome::Held { .. } => "held",
        PartOutcome::Unknown { .. } => "unknown",
        PartOutcome::Dead { .. } => "dead",
    }
}

/// The account that the session was made by; `None` where it is not configured any more, or never was one.
pub(super) async fn account(shared: &Shared, sessions: &Sessions, session: &SessionId) -> Result<Option<Arc<Account>>, SessionError> {
    let first = sessions.settings().store.read(session, 0, Most::rows(1)).await?.rows.pop();
    let first = first.and_then(|record| Record::from_json(&record.json).ok());
    let Some(AgentEvent::Session(Session::SessionCreated(created))) = first.map(|record| record.event) else { return Ok(None) };
    let named = created.account.map(|account| (created.channel, account));
    Ok(named.and_then(|(channel, account)| shared.accounts.get(&channel, &account).cloned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_closes_to_the_second() {
        let (window, at) = (Some(Duration::from_secs(86_400)), Some(Timestamp(1_000)));
        assert!(!is_closed(window, at, Timestamp(86_400_000)));
        assert!(is_closed(window, at, Timestamp(86_401_000)) && is_closed(window, at, Timestamp(90_000_000)));
        assert!(!is_closed(None, at, Timestamp(90_000_000)) && !is_closed(window, None, Timestamp(90_000_000)));
    }
}
