//! What the log is told of requests that lead to nothing. Anybody may send them, so each account and reason has a line a minute at most, and
//! nothing of theirs comes into it as it is.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tracing::warn;

use crate::channel::accounts::Account;
use crate::channel::messenger::Refusal;
use crate::domain::Timestamp;

const EVERY: Duration = Duration::from_secs(60);
/// Characters of a name that somebody else chose.
const NAME_CAP: usize = 64;

/// When each was said last, by account and reason: as many as the accounts, and few reasons.
#[derive(Clone, Debug, Default)]
pub(super) struct Complaints(Arc<Mutex<BTreeMap<(String, &'static str), Timestamp>>>);

impl Complaints {
    pub(super) fn no_account(&self, channel: &str, account: &str, now: Timestamp) {
        if self.is_due(String::new(), "no account", now) {
            let (channel, account) = (harmless(channel), harmless(account));
            warn!(channel, account, "a webhook came for an account that there is not (404): is the name in Meta's callback URL right?");
        }
    }

    pub(super) fn refused(&self, account: &Account, refusal: Refusal, why: &'static str, now: Timestamp) {
        let status = match refusal {
            Refusal::Unproven => 401,
            Refusal::Wrong => 403,
            Refusal::Malformed => 400,
        };
        if self.is_due(account.scope(), why, now) {
            warn!(account = account.scope(), status, why, "a webhook was refused");
        }
    }

    pub(super) fn no_line(&self, asked: &Account, line: &str, now: Timestamp) {
        if self.is_due(asked.scope(), "no line", now) {
            let (asked, number) = (asked.scope(), harmless(line));
            warn!(account = asked, "a webhook came for number id {number}, which no account of its app has: is phone_number_id right?");
        }
    }

    fn is_due(&self, account: String, why: &'static str, now: Timestamp) -> bool {
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (account, why);
        if said.get(&key).is_some_and(|at| now.since(*at) < EVERY) {
            return false;
        }
        said.insert(key, now);
        true
    }
}

/// What somebody else chose, in a line of ours.
fn harmless(name: &str) -> String {
    name.chars().take(NAME_CAP).map(|c| if c.is_ascii_alphanumeric() || "-_.:".contains(c) { c } else { '?' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_account_and_reason_has_a_line_a_minute() {
        let said = Complaints::default();
        let due = |account: &str, why, at| said.is_due(account.to_owned(), why, Timestamp(at));
        assert!(due("whatsapp:main", "a", 0) && due("whatsapp:main", "b", 0) && due("whatsapp:second", "a", 0));
        assert!(!due("whatsapp:main", "a", 59_999) && due("whatsapp:main", "a", 60_000));
    }

    #[test]
    fn a_name_of_somebody_elses_is_no_line_of_the_log() {
        assert_eq!(harmless("main"), "main");
        assert_eq!(harmless("x\n2026 ERROR all is lost\u{1b}[31m\u{202e}"), "x?2026?ERROR?all?is?lost??31m?");
        assert_eq!(harmless(&"x".repeat(5_000)).len(), NAME_CAP);
    }
}
