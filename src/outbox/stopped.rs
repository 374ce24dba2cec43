//! Accounts by which nothing can be sent: their token was refused, say. What waits stays where it is, and no part is claimed, so that a ledger
//! does not grow by failures that all say the same.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use metrics::Gauge;
use tracing::error;

use super::lock;
use super::metrics::STOPPED;
use crate::channel::accounts::Accounts;
use crate::channel::messenger::DeliveryError;
use crate::domain::{Address, SessionId};
use crate::meter::Meter;

#[derive(Debug)]
pub(super) struct Stopped {
    accounts: Mutex<BTreeMap<(String, String), Standstill>>,
    gauges: BTreeMap<(String, String), Gauge>,
}

/// An account by which nothing can be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoppedAccount {
    /// As `whatsapp:main`.
    pub account: String,
    /// The platform's code.
    pub code: String,
    /// What its operator does about it.
    pub remedy: &'static str,
}

#[derive(Debug)]
struct Standstill {
    code: String,
    remedy: &'static str,
    /// Sessions whose parts wait for it.
    waiting: BTreeSet<SessionId>,
}

impl Stopped {
    pub(super) fn new(accounts: &Accounts, meter: &Meter) -> Self {
        let gauge = |channel: &str, account: &str| {
            let gauge = meter.gauge(&STOPPED, &[channel, account]);
            gauge.set(0);
            gauge
        };
        let gauges = accounts.all().map(|account| {
            let (channel, name) = (account.channel(), account.name());
            ((channel.to_owned(), name.to_owned()), gauge(channel, name))
        });
        Self { gauges: gauges.collect(), accounts: Mutex::default() }
    }

    /// The platform refused the account itself.
    pub(super) fn stop(&self, to: &Address, error: &DeliveryError, remedy: &'static str) {
        let key = key(to);
        let mut accounts = lock(&self.accounts);
        if accounts.contains_key(&key) {
            return;
        }
        if let Some(gauge) = self.gauges.get(&key) {
            gauge.set(1);
        }
        error!(
            channel = to.channel,
            account = to.account,
            code = error.code,
            detail = error.detail,
            "nothing can be sent by this account: {remedy}; then restart, or retry one of its deliveries (POST /v1/deliveries/{{id}}/retry). \
             What waits is kept"
        );
        accounts.insert(key, Standstill { code: error.code.clone(), remedy, waiting: BTreeSet::new() });
    }

    /// Whether the account is stopped; then the session is noted, and is due when it goes on.
    pub(super) fn holds(&self, channel: &str, account: &str, session: &SessionId) -> bool {
        let mut accounts = lock(&self.accounts);
        let Some(standstill) = accounts.get_mut(&(channel.to_owned(), account.to_owned())) else { return false };
        standstill.waiting.insert(session.clone());
        true
    }

    /// The account goes on; the sessions that waited for it. `None` where it was not stopped.
    pub(super) fn resume(&self, to: &Address) -> Option<BTreeSet<SessionId>> {
        let key = key(to);
        let Standstill { waiting, .. } = lock(&self.accounts).remove(&key)?;
        if let Some(gauge) = self.gauges.get(&key) {
            gauge.set(0);
        }
        Some(waiting)
    }

    pub(super) fn all(&self) -> Vec<StoppedAccount> {
        let stopped = |((channel, account), standstill): (&(String, String), &Standstill)| StoppedAccount {
            account: format!("{channel}:{account}"),
            code: standstill.code.clone(),
            remedy: standstill.remedy,
        };
        lock(&self.accounts).iter().map(stopped).collect()
    }
}

fn key(to: &Address) -> (String, String) {
    (to.channel.clone(), to.account.clone())
}
