//! The accounts of all messaging platforms that this gateway serves: the adapter of each, and what its operator says about it.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use tokio::sync::{Mutex, MutexGuard};

use super::access::{Rules, reachable_at};
use super::messenger::{InboundMessage, Messenger, Person};
use crate::domain::{Address, Recipient};

/// Far more than are decided about at once.
const LOCKS: usize = 64;

/// One account.
#[derive(Debug)]
pub struct Account {
    pub messenger: Arc<dyn Messenger>,
    pub rules: Rules,
    /// Held while it is decided whose conversation a message is: two messages of one person may come at once.
    pub(super) deciding: Deciding,
    /// Held while a message is changed or taken back: each change goes on from what the one before it left.
    pub(super) editing: Mutex<()>,
}

impl Account {
    pub fn new(messenger: Arc<dyn Messenger>, rules: Rules) -> Self {
        Self { messenger, rules, deciding: Deciding::new(), editing: Mutex::default() }
    }

    pub fn channel(&self) -> &'static str {
        self.messenger.channel()
    }

    pub fn name(&self) -> &str {
        self.messenger.account()
    }

    /// What its conversations and its messages are unique in: `whatsapp:main`.
    pub fn scope(&self) -> String {
        format!("{}:{}", self.channel(), self.name())
    }

    /// What the platform's ids of our own messages are unique in.
    pub(super) fn sent_scope(&self) -> String {
        self.address(Recipient::Phone(String::new()), None).sent_scope()
    }

    /// As somebody of this account stands in records.
    pub(super) fn principal(&self, who: &Recipient) -> String {
        format!("{}:{who}", self.scope())
    }

    pub(super) fn address(&self, to: Recipient, message: Option<String>) -> Address {
        Address { channel: self.channel().to_owned(), account: self.name().to_owned(), to, message }
    }

    /// Where what that person or group wrote is answered; `None` where the platform named nobody.
    pub(super) fn place(&self, person: &Person, group: Option<&str>, message: Option<&str>) -> Option<Address> {
        let to = group.map(|group| Recipient::Group(group.to_owned())).or_else(|| reachable_at(person))?;
        Some(self.address(to, message.map(ToOwned::to_owned)))
    }

    pub(super) fn place_of(&self, message: &InboundMessage) -> Option<Address> {
        self.place(&message.from, message.group.as_deref(), Some(&message.id))
    }
}

/// Locks of persons and groups, shared by those whose ids fall together.
#[derive(Debug)]
pub(super) struct Deciding([Mutex<()>; LOCKS]);

impl Deciding {
    fn new() -> Self {
        Self(std::array::from_fn(|_| Mutex::default()))
    }

    /// Until what it gives is dropped, nothing else is decided about any of these. Taken in one order, so that no two wait for each other.
    pub(super) async fn hold(&self, ids: &[Recipient]) -> Vec<MutexGuard<'_, ()>> {
        let lock = |id: &Recipient| {
            let mut hasher = DefaultHasher::new();
            id.hash(&mut hasher);
            usize::try_from(hasher.finish() % LOCKS as u64).unwrap_or_default()
        };
        let locks: BTreeSet<usize> = ids.iter().map(lock).collect();
        let mut held = Vec::with_capacity(locks.len());
        for lock in locks {
            held.push(self.0[lock].lock().await);
        }
        held
    }
}

/// All of them. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Accounts(Arc<BTreeMap<(String, String), Arc<Account>>>);

impl Accounts {
    pub fn new(accounts: impl IntoIterator<Item = Account>) -> Self {
        let named = |account: Account| ((account.channel().to_owned(), account.name().to_owned()), Arc::new(account));
        Self(Arc::new(accounts.into_iter().map(named).collect()))
    }

    pub fn get(&self, channel: &str, name: &str) -> Option<&Arc<Account>> {
        self.0.get(&(channel.to_owned(), name.to_owned()))
    }

    /// The one that an address belongs to; `None` where it is not configured any more.
    pub fn of(&self, address: &Address) -> Option<&Arc<Account>> {
        self.get(&address.channel, &address.account)
    }

    pub fn all(&self) -> impl Iterator<Item = &Arc<Account>> {
        self.0.values()
    }

    /// Whose an item is that came to `asked`: that account's, also where it names none, or another's of the same app. An app that only shares
    /// the gateway proves nothing for this one.
    pub(super) fn by_line<'a>(&'a self, asked: &'a Arc<Account>, line: &str) -> Option<&'a Arc<Account>> {
        if line.is_empty() {
            return Some(asked);
        }
        let same = |account: &&Arc<Account>| {
            let (own, other) = (&asked.messenger, &account.messenger);
            other.line() == line && other.channel() == own.channel() && other.app() == own.app()
        };
        self.all().find(same)
    }
}
