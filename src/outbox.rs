//! From a session's ledger to the messenger: what waits is sent in order, part by part, and what came of it is recorded.
//!
//! The outbox keeps nothing that must survive. A session tells that parts wait ([`DeliverySink::due`]); its courier claims one, which makes
//! `sending` durable, sends it, and records the outcome, which names the next. So a part is sent twice only where nobody knows whether it
//! was sent once, and then the ledger says `unknown`. A session has one courier at a time, and one that fetches what came with its messages.
//!
//! Read `courier` first, then `verdict` (what an error means), `spacing` (how fast), `fetch` and `typing`.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{error, info};

use crate::channel::accounts::Accounts;
use crate::channel::messenger::Say as Rendered;
use crate::domain::delivery::Part;
use crate::domain::{Address, SessionId, Timestamp};
use crate::meter::Meter;
use crate::session::Sessions;
use crate::session::delivery::{DeliverySink, Say, Typing};
use reach::Reach;
use spacing::Spacing;
use stopped::Stopped;
pub use stopped::StoppedAccount;

mod caveat;
mod courier;
mod fetch;
pub mod metrics;
mod reach;
mod spacing;
mod stopped;
mod typing;
mod verdict;

/// Files that are fetched at once, of all sessions.
const FETCHES: usize = 4;
/// After a courier panicked: a fault that stays must not burn a core, and must not leave its session without one.
const AFTER_PANIC: Duration = Duration::from_secs(5);

/// The way out for all accounts. Clones share it.
#[derive(Clone)]
pub struct Outbox(Arc<Shared>);

struct Shared {
    accounts: Accounts,
    meter: Meter,
    /// Set once, at the start: sessions are made with this outbox.
    sessions: OnceLock<Sessions>,
    /// Sessions that told that something waits before there was anybody to look.
    early: Mutex<BTreeSet<SessionId>>,
    /// What is under way, and whether it was asked for again meanwhile.
    work: Mutex<HashMap<(SessionId, Work), Again>>,
    spacing: Spacing,
    stopped: Stopped,
    reach: Reach,
    fetches: Arc<Semaphore>,
    tasks: TaskTracker,
    /// No part is claimed any more, and nothing is waited for.
    stop: CancellationToken,
    /// Sends that are under way are dropped.
    cut: CancellationToken,
}

/// What [`Outbox::resume`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resumed {
    Account,
    /// The account was not stopped.
    Nothing,
}

/// What a session has one of at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Work {
    Deliver,
    Fetch,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Again {
    No,
    Yes,
}

impl Outbox {
    pub fn new(accounts: Accounts, meter: &Meter) -> Self {
        let stopped = Stopped::new(&accounts, meter);
        Self(Arc::new(Shared {
            accounts,
            meter: meter.clone(),
            sessions: OnceLock::new(),
            early: Mutex::default(),
            work: Mutex::default(),
            spacing: Spacing::default(),
            stopped,
            reach: Reach::default(),
            fetches: Arc::new(Semaphore::new(FETCHES)),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            cut: CancellationToken::new(),
        }))
    }

    /// From here on what waits is sent. Only the first call counts.
    pub fn start(&self, sessions: &Sessions) {
        if self.0.sessions.set(sessions.clone()).is_ok() {
            for session in std::mem::take(&mut *lock(&self.0.early)) {
                self.due(&session);
            }
        }
    }

    /// Claims nothing more, and lets what is being sent end, at most for `drain`: so that what came of it is on record, which the sessions that
    /// stop meanwhile take. What is cut is `unknown` after the next start. Cancel-safe: the stop goes on.
    pub async fn stop(&self, drain: Duration) {
        self.0.stop.cancel();
        self.0.tasks.close();
        if tokio::time::timeout(drain, self.0.tasks.wait()).await.is_err() {
            self.0.cut.cancel();
            self.0.tasks.wait().await;
        }
    }

    /// An account that was stopped because nothing could be sent by it is tried again.
    pub fn resume(&self, address: &Address) -> Resumed {
        let Some(waiting) = self.0.stopped.resume(address) else { return Resumed::Nothing };
        info!(channel = address.channel, account = address.account, sessions = waiting.len(), "the account is tried again");
        for session in waiting {
            self.due(&session);
        }
        Resumed::Account
    }

    /// The accounts by which nothing can be sent now.
    pub fn stopped_accounts(&self) -> Vec<StoppedAccount> {
        self.0.stopped.all()
    }

    /// The accounts whose every send has failed for more than a minute, as `whatsapp:main`, each with the time since when.
    pub fn unreachable_accounts(&self, now: Timestamp) -> Vec<(String, Timestamp)> {
        self.0.reach.troubles(now)
    }

    fn begin(&self, session: &SessionId, work: Work) {
        if self.0.stop.is_cancelled() {
            return;
        }
        match lock(&self.0.work).entry((session.clone(), work)) {
            std::collections::hash_map::Entry::Occupied(mut under_way) => {
                under_way.insert(Again::Yes);
                return;
            }
            std::collections::hash_map::Entry::Vacant(free) => free.insert(Again::No),
        };
        let (outbox, session) = (self.clone(), session.clone());
        self.0.tasks.spawn(async move { outbox.run(session, work).await });
    }

    /// Does that work until nothing is asked for any more.
    async fn run(&self, session: SessionId, work: Work) {
        let Some(sessions) = self.0.sessions.get() else { return };
        loop {
            let once = async {
                match work {
                    Work::Deliver => courier::run(&self.0, sessions, &session).await,
                    Work::Fetch => fetch::run(&self.0, sessions, &session).await,
                }
            };
            let panicked = AssertUnwindSafe(once).catch_unwind().await.is_err();
            if panicked {
                error!(%session, ?work, "a courier panicked; it is tried again");
                self.0.pause(AFTER_PANIC).await;
            }
            let mut all = lock(&self.0.work);
            let key = (session.clone(), work);
            let again = panicked || all.get(&key) == Some(&Again::Yes);
            if !again || self.0.stop.is_cancelled() {
                all.remove(&key);
                return;
            }
            all.insert(key, Again::No);
        }
    }
}

impl Shared {
    /// Waits, unless the process stops. Whether there is still something to do.
    async fn pause(&self, wait: Duration) -> bool {
        tokio::select! { biased;
            () = self.stop.cancelled() => false,
            () = tokio::time::sleep(wait) => true,
        }
    }
}

impl DeliverySink for Outbox {
    fn parts(&self, to: &Address, say: Say<'_>) -> Vec<Part> {
        let Some(account) = self.0.accounts.of(to) else { return Vec::new() };
        let whole;
        let rendered = match say {
            Say::Done(done) => {
                whole = caveat::with_caveat(done);
                Rendered::Markdown(&whole)
            }
            Say::Text(text) => Rendered::Markdown(text),
            Say::Approval { approval_id, tool, args, decisions } => {
                Rendered::Approval { approval_id, tool, args: args.as_str(), decisions }
            }
        };
        account.messenger.render(rendered, to)
    }

    fn due(&self, session: &SessionId) {
        if self.0.sessions.get().is_none() {
            lock(&self.0.early).insert(session.clone());
            // the start may have come between
            if self.0.sessions.get().is_none() || !lock(&self.0.early).remove(session) {
                return;
            }
        }
        self.begin(session, Work::Deliver);
        self.begin(session, Work::Fetch);
    }

    fn typing(&self, to: &[Address]) -> Typing {
        typing::show(&self.0, to)
    }
}

impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbox").finish_non_exhaustive()
    }
}

/// Nothing panics while it holds one of these.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
