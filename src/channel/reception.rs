//! From a webhook's bytes to the session: who wrote, whether he may, and which conversation it is.
//!
//! A request is answered 200 once everything that it held is durable, and long before any model is asked. An item that is understood and
//! leads to nothing is counted under a fixed word; one that could not be made durable makes the whole answer "again", and its siblings are
//! known by their ids when they come again. No item's failure costs a sibling.
//!
//! Read [`access`](super::access) and [`accounts`](super::accounts) first, then `message` (words), `place` (whose conversation), `stranger`,
//! `decision`, `outside` (what became of ours, echoes, new ids), and `complaints` (what the log is told of requests that lead to nothing).

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use futures_util::future::ready;
use futures_util::{StreamExt, stream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::warn;

use super::accounts::{Account, Accounts};
use super::messenger::{HttpReply, Inbound, Item, Received, Refusal, WebhookRequest};
use super::metrics::ITEMS;
use super::pairings::{Admission, Pairings};
use crate::domain::{Clock, Timestamp};
use crate::meter::Meter;
use crate::session::{SessionError, Sessions};
use crate::store::{Store, StoreError};

mod complaints;
mod decision;
mod lanes;
mod message;
mod outside;
mod place;
mod stranger;

use complaints::Complaints;

/// Persons, groups and deliveries of one request that are worked on at once: enough to share commits, few enough to leave readers for others.
const LANES: usize = 16;

/// What a webhook's request is answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// All of it is durable.
    Taken(HttpReply),
    /// And why, without secrets.
    Refused(Refusal, &'static str),
    /// There is no such account.
    Unknown,
    /// Not all of it could be made durable: the platform is to send it again.
    Again,
}

/// The word that an item is counted by, where it came to an end.
type Outcome = Result<&'static str, Undone>;

/// Why an item could not be made durable.
#[derive(Debug)]
enum Undone {
    /// Too much waits in that conversation. To come again would not help, and costs the siblings.
    QueueFull,
    /// It is to come again; the cause is for the log.
    Again(String),
}

impl From<SessionError> for Undone {
    fn from(error: SessionError) -> Self {
        if matches!(error, SessionError::QueueFull) { Self::QueueFull } else { Self::Again(error.to_string()) }
    }
}

impl From<StoreError> for Undone {
    fn from(error: StoreError) -> Self {
        Self::Again(error.to_string())
    }
}

/// The way in for all accounts. Clones share it.
#[derive(Clone, Debug)]
pub struct Reception {
    accounts: Accounts,
    sessions: Sessions,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    pairings: Pairings,
    /// Of messages to strangers, which no session sends.
    tasks: TaskTracker,
    /// What no session sends.
    said: Arc<stranger::Said>,
    /// Codes that are being told now.
    telling: Arc<Mutex<BTreeSet<String>>>,
    stop: CancellationToken,
    complaints: Complaints,
    meter: Meter,
}

impl Reception {
    /// `stop` ends what it does on its own.
    pub fn new(accounts: Accounts, sessions: Sessions, meter: &Meter, stop: CancellationToken) -> Self {
        let settings = sessions.settings();
        let (store, clock) = (settings.store.clone(), settings.clock.clone());
        let pairings = Pairings::new(store.clone(), clock.clone(), settings.ids.clone());
        Self {
            accounts,
            sessions,
            store,
            clock,
            pairings,
            tasks: TaskTracker::new(),
            said: Arc::default(),
            telling: Arc::default(),
            stop,
            complaints: Complaints::default(),
            meter: meter.clone(),
        }
    }

    /// Takes a request to that account. Not cancel-safe in that a request that is dropped was taken in part; the platform sends it again.
    pub async fn take(&self, channel: &str, account: &str, request: WebhookRequest) -> Answer {
        let Some(account) = self.accounts.get(channel, account) else {
            self.complaints.no_account(channel, account, self.clock.now());
            return Answer::Unknown;
        };
        let method = request.method.clone();
        let verified = match account.messenger.verify(request) {
            Ok(verified) => verified,
            Err(refusal) => {
                let why = account.messenger.why(&method, refusal);
                self.complaints.refused(account, refusal, why, self.clock.now());
                self.count(account, "refused");
                return Answer::Refused(refusal, why);
            }
        };
        let Received { items, reply } = account.messenger.receive(&verified);
        let at_once = stream::iter(lanes::lanes(items)).map(|lane| {
            let (reception, account) = (self.clone(), account.clone());
            async move { reception.lane(&account, lane).await }
        });
        let again = at_once.buffer_unordered(LANES).fold(false, |again, of_lane| ready(again || of_lane)).await;
        if again { Answer::Again } else { Answer::Taken(reply) }
    }

    /// One item after the other. Whether one of them is to come again.
    async fn lane(&self, account: &Arc<Account>, items: Vec<Item>) -> bool {
        let mut again = false;
        for item in items {
            match self.item(account, item).await {
                Ok(outcome) => self.count(account, outcome),
                Err(Undone::QueueFull) => self.count(account, "queue_full"),
                Err(Undone::Again(cause)) => {
                    warn!(account = account.scope(), cause, "an item of a webhook was not kept; the platform is asked to send it again");
                    self.count(account, "again");
                    again = true;
                }
            }
        }
        again
    }

    /// Lets the stranger with that code in, and welcomes him.
    ///
    /// # Errors
    /// The store's.
    pub async fn admit(&self, tenant: &str, by: &str, code: &str) -> Result<Admission, StoreError> {
        let attempts = self.accounts.all().filter(|account| account.rules.tenant == tenant).map(|account| account.rules.pairing_attempts);
        let admission = self.pairings.admit(tenant, by, code, attempts.min().unwrap_or(1)).await?;
        if let Admission::Admitted(pairing) = &admission
            && let Some(account) = self.accounts.get(&pairing.channel, &pairing.account)
        {
            self.welcome(account, pairing);
        }
        Ok(admission)
    }

    /// Sends the stranger with that code away, also one who was let in before.
    ///
    /// # Errors
    /// The store's.
    pub async fn refuse(&self, tenant: &str, code: &str) -> Result<bool, StoreError> {
        self.pairings.refuse(tenant, code).await
    }

    /// Waits for what it does on its own; the token that it was made with has ended it.
    pub async fn stopped(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    async fn item(&self, asked: &Arc<Account>, item: Item) -> Outcome {
        if let Inbound::Ignored { why } = item.inbound {
            return Ok(why);
        }
        let Some(account) = self.accounts.by_line(asked, &item.line) else {
            self.complaints.no_line(asked, &item.line, self.clock.now());
            return Ok("unknown_line");
        };
        match item.inbound {
            Inbound::Message(message) => self.heard(account, message).await,
            Inbound::Decision { id, from, group, approval_id, decision, sent_at } => {
                self.decision(account, &decision::Press { id, from, group, approval_id, decision, sent_at }).await
            }
            Inbound::Status { message, token, state, code, .. } => {
                self.status(account, outside::Told { message, token, state, code }).await
            }
            Inbound::Identity { old, new } => self.identity(account, &old, &new).await,
            Inbound::Echo { id, to, text, sent_at } => self.echo(account, outside::Echo { id, to, text, sent_at }).await,
            Inbound::Retract { original, .. } => self.retract(account, &original).await,
            Inbound::Ignored { why } => Ok(why),
        }
    }

    /// Whether something of that time comes too late to be acted on. A clock that runs ahead of ours makes nothing
    /// old, and nor does a message that does not say when it was sent.
    fn is_too_old(&self, account: &Account, sent_at: Timestamp) -> bool {
        let says = sent_at > Timestamp(0);
        says && account.rules.max_age.is_some_and(|most| self.clock.now().since(sent_at) > most)
    }

    fn count(&self, account: &Account, outcome: &'static str) {
        self.meter.counter(&ITEMS, &[account.channel(), outcome]).increment(1);
    }
}
