//! What a stranger is told, and who was let in: the only words that no session sends.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tracing::{info, warn};

use super::{Outcome, Reception};
use crate::channel::access::reachable_at;
use crate::channel::accounts::Account;
use crate::channel::messenger::{ErrorClass, Person, Quotes, Say};
use crate::channel::pairings::{Asked, shown};
use crate::domain::pairing::Pairing;
use crate::domain::{Address, Recipient, Timestamp};

/// How often a message to a stranger is tried.
const TRIES: u32 = 3;
/// Before the second try; twice that before the third. The platform's own wish goes first.
const FIRST_WAIT: Duration = Duration::from_secs(2);
/// The longest wait: what is told later is told by his next message.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// For how long an echo of it may come, longer than the platform takes.
const SAID_KEPT: Duration = Duration::from_secs(60);
/// What comes back in the status of such a message: it belongs to no delivery.
const TOKEN: &str = "stranger";

impl Reception {
    /// Nothing that he wrote is kept: he writes again once he is let in.
    pub(super) async fn stranger(&self, account: &Arc<Account>, person: &Person) -> Outcome {
        let pairing = match self.pairings.ask(account, person).await? {
            Asked::Tell(pairing) => *pairing,
            // the platform is asked to send it again, and then it counts
            Asked::LetIn => return Err(super::Undone::Again("let in meanwhile".to_owned())),
            Asked::Waits => return Ok("stranger_waits"),
            Asked::Silence => return Ok("stranger_silenced"),
        };
        let Some(to) = reachable_at(person) else { return Ok("nobody") };
        let Some(telling) = Telling::begin(self, &pairing.code) else { return Ok("stranger_waits") };
        info!(account = account.scope(), "a stranger asks to be let in; GET /v1/pairings lists who waits");
        let (reception, account) = (self.clone(), account.clone());
        self.tasks.spawn(async move {
            let _telling = telling;
            let told = reception.say(&account, to, &asking(&pairing.code)).await;
            if told && let Err(error) = reception.pairings.told(&pairing).await {
                warn!(%error, "it was not noted that a stranger was told his code; he may be told again");
            }
        });
        Ok("stranger")
    }

    /// Tells somebody who was let in that he may write now. Best effort.
    pub(super) fn welcome(&self, account: &Arc<Account>, pairing: &Pairing) {
        let by_number = pairing.ids.iter().find(|id| matches!(id, Recipient::Phone(_)));
        let Some(to) = by_number.or(pairing.ids.first()).cloned() else { return };
        let (reception, account) = (self.clone(), account.clone());
        self.tasks.spawn(async move { reception.say(&account, to, WELCOME).await });
    }

    /// Says it there, with a few tries. Whether the platform took it.
    async fn say(&self, account: &Account, to: Recipient, text: &str) -> bool {
        let address: Address = account.address(to, None);
        for part in account.messenger.render(Say::Markdown(text), &address) {
            self.said.note(account.scope(), address.to.clone(), part.text.clone(), self.clock.now());
            let mut tries = 1;
            loop {
                let sent = tokio::select! { biased;
                    // whether it went out or not: he writes again, and is told again
                    () = self.stop.cancelled() => return false,
                    sent = account.messenger.deliver(&address, &part, TOKEN, Quotes::Nothing) => sent,
                };
                let Err(error) = sent else { break };
                let wait = match error.class {
                    ErrorClass::Retry { after } | ErrorClass::TooFast { after } if tries < TRIES => after.unwrap_or(FIRST_WAIT * tries),
                    ErrorClass::Retry { .. }
                    | ErrorClass::TooFast { .. }
                    | ErrorClass::Closed
                    | ErrorClass::Account
                    | ErrorClass::Final
                    // one that may have been sent is not sent again
                    | ErrorClass::Ambiguous => {
                        warn!(account = account.scope(), code = error.code, detail = error.detail, "a stranger was not told");
                        return false;
                    }
                };
                tries += 1;
                tokio::select! { biased;
                    () = self.stop.cancelled() => return false,
                    () = tokio::time::sleep(wait.min(LONGEST_WAIT)) => {}
                }
            }
        }
        true
    }
}

/// What was said without a session in the last minute: the platform may tell of it as if a person had.
#[derive(Debug, Default)]
pub(super) struct Said(Mutex<Vec<(Timestamp, String, Recipient, String)>>);

impl Said {
    fn note(&self, scope: String, to: Recipient, text: String, now: Timestamp) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(at, ..)| now.since(*at) < SAID_KEPT);
        all.push((now, scope, to, text));
    }

    pub(super) fn has(&self, scope: &str, to: &[Recipient], text: &str, now: Timestamp) -> bool {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().any(|(at, own, there, said)| now.since(*at) < SAID_KEPT && own == scope && to.contains(there) && said == text)
    }
}

/// A code that is being told: what was not told is told again, but not twice at once.
struct Telling {
    code: String,
    all: Arc<Mutex<BTreeSet<String>>>,
}

impl Telling {
    /// `None` where he is being told already.
    fn begin(reception: &Reception, code: &str) -> Option<Self> {
        let all = reception.telling.clone();
        let began = all.lock().unwrap_or_else(PoisonError::into_inner).insert(code.to_owned());
        began.then(|| Self { code: code.to_owned(), all })
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.code);
    }
}

const WELCOME: &str = "You have been let in. Write whatever you would like to know.";

fn asking(code: &str) -> String {
    let code = shown(code);
    format!(
        "Hello! I answer only people whom my operator knows. If that should be you, give the operator this code: {code}. It counts for one \
         hour. You will hear from me once you are let in; please write again then."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_is_told_in_a_form_that_can_be_read_aloud() {
        assert!(asking("ABCDEFGH").contains(" ABCD-EFGH. "));
    }
}
