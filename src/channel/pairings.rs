//! Strangers: each is told a code, by which an operator can let him in.
//!
//! Nothing of what a stranger wrote is kept. He is told once for each code, and a few codes in all, so that the gateway cannot be made to
//! write to somebody again and again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::access::{Access, given_up, ids};
use super::accounts::Account;
use super::messenger::Person;
use crate::domain::digest::keyed;
use crate::domain::pairing::{Pairing, PairingStatus};
use crate::domain::{Clock, IdSource, Recipient, Timestamp};
use crate::store::{PairingFilter, Slice, Store, StoreError};

/// How long a code counts.
pub const VALID: Duration = Duration::from_secs(60 * 60);
/// Within which wrong codes of one caller are counted.
const TRIES_KEPT: Duration = Duration::from_secs(10 * 60);
/// How long a stranger who was not let in is remembered after his code.
const PENDING_KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// How seldom the others are looked for.
const PRUNED_EVERY: Duration = Duration::from_secs(24 * 60 * 60);
/// Rows that are read for it at once.
const PRUNED_AT_ONCE: usize = 200;
/// What codes are made of: nothing that is taken for something else when it is read aloud or copied by hand. 32 of them, so five bits each.
const ALPHABET: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
/// Of a code; forty bits.
const LENGTH: usize = 8;
/// How often a code is made anew that somebody has already; the second is rare beyond measure.
const DRAWS: u32 = 8;

/// Who is to be let in.
#[derive(Clone, Debug)]
pub struct Pairings {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    wrong: Arc<Mutex<Tries>>,
    /// Held from reading a row until it is written: rows are written whole.
    writing: Arc<tokio::sync::Mutex<()>>,
    /// When rows that nobody asks for any more were last taken away.
    pruned_at: Arc<Mutex<Option<Timestamp>>>,
}

/// When each caller, by tenant and name, came with codes that there are not.
type Tries = BTreeMap<(String, String), Vec<Timestamp>>;

/// What the account makes of a person.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Standing {
    LetIn,
    /// Not yet.
    Stranger,
    /// Not here; the word that this is counted by.
    Out(&'static str),
}

/// What a stranger's message leads to.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Asked {
    /// He is to be told his code.
    Tell(Box<Pairing>),
    /// He knows it.
    Waits,
    /// He had as many as anybody gets.
    Silence,
    /// An operator was faster.
    LetIn,
}

/// A row that a person is found in.
#[derive(Debug)]
struct Looked {
    pairing: Pairing,
    /// An id of his that it does not have yet.
    fresh: Option<Recipient>,
}

/// What became of a code that an operator came with.
#[derive(Clone, Debug, PartialEq)]
pub enum Admission {
    Admitted(Pairing),
    /// He was in before.
    AlreadyIn(Pairing),
    Expired,
    Unknown,
    /// This caller came with too many codes that there are not.
    TooMany {
        again_in: Duration,
    },
}

impl Pairings {
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, ids: Arc<dyn IdSource>) -> Self {
        Self { store, clock, ids, wrong: Arc::default(), writing: Arc::default(), pruned_at: Arc::default() }
    }

    pub(super) async fn standing(&self, account: &Account, person: &Person) -> Result<Standing, StoreError> {
        let rules = &account.rules;
        match rules.access {
            Access::Disabled => Ok(Standing::Out("disabled")),
            Access::Open => Ok(Standing::LetIn),
            Access::Allowlist | Access::Pairing if rules.is_listed(person) => Ok(Standing::LetIn),
            Access::Allowlist => {
                // who was on the list under an id that he has no more is kept by a pairing
                let known = self.known(account, person).await?;
                let listed = known.is_some_and(|p| {
                    p.status == PairingStatus::Admitted && p.ids.iter().chain(&p.former).any(|id| rules.allow.contains(id))
                });
                Ok(if listed { Standing::LetIn } else { Standing::Out("not_allowed") })
            }
            Access::Pairing => Ok(match self.known(account, person).await? {
                Some(pairing) if pairing.status == PairingStatus::Admitted => Standing::LetIn,
                _ => Standing::Stranger,
            }),
        }
    }

    /// What is known of a person under any of his ids, and from here on under all of them.
    async fn known(&self, account: &Account, person: &Person) -> Result<Option<Pairing>, StoreError> {
        match self.look(account, person).await? {
            Some(Looked { fresh: Some(_), .. }) => {
                let _writing = self.writing.lock().await;
                self.learn(account, person).await
            }
            known => Ok(known.map(|looked| looked.pairing)),
        }
    }

    /// The same, while the rows are held.
    async fn learn(&self, account: &Account, person: &Person) -> Result<Option<Pairing>, StoreError> {
        let Some(Looked { mut pairing, fresh }) = self.look(account, person).await? else { return Ok(None) };
        if let Some(user) = fresh {
            pairing.ids.push(user);
            self.store.save_pairing(pairing.clone()).await?;
        }
        Ok(Some(pairing))
    }

    /// A number that belongs to another user id by now is another person's.
    async fn look(&self, account: &Account, person: &Person) -> Result<Option<Looked>, StoreError> {
        for id in ids(person) {
            let found = self.store.pairing_of(&account.rules.tenant, account.channel(), account.name(), &id).await?;
            let Some(pairing) = found else { continue };
            let fresh = person.user.clone().map(Recipient::User).filter(|user| !pairing.ids.contains(user));
            if fresh.is_some() && pairing.ids.iter().any(|id| matches!(id, Recipient::User(_))) {
                continue;
            }
            return Ok(Some(Looked { pairing, fresh }));
        }
        Ok(None)
    }

    /// A stranger asks.
    pub(super) async fn ask(&self, account: &Account, person: &Person) -> Result<Asked, StoreError> {
        let _writing = self.writing.lock().await;
        let now = self.clock.now();
        let known = self.learn(account, person).await?;
        if known.as_ref().is_some_and(|pairing| pairing.status == PairingStatus::Admitted) {
            return Ok(Asked::LetIn);
        }
        if known.is_none() {
            self.prune(account, now).await?;
        }
        if let Some(pairing) = &known
            && pairing.expires_at > now
        {
            return Ok(if pairing.told { Asked::Waits } else { Asked::Tell(Box::new(pairing.clone())) });
        }
        let codes = known.as_ref().map_or(0, |pairing| pairing.codes);
        if codes >= account.rules.pairing_attempts {
            return Ok(Asked::Silence);
        }
        let fresh = self.pairing(account, known.map_or_else(|| ids(person), |pairing| pairing.ids), person.name.clone()).await?;
        let pairing = Pairing { codes: codes + 1, ..fresh };
        self.store.save_pairing(pairing.clone()).await?;
        Ok(Asked::Tell(Box::new(pairing)))
    }

    /// Takes away who asked long ago and was not let in. Once a day, and only where somebody new asks: else the list does not grow.
    async fn prune(&self, account: &Account, now: Timestamp) -> Result<(), StoreError> {
        let pruned_at = self.pruned_at.lock().unwrap_or_else(PoisonError::into_inner).replace(now);
        if pruned_at.is_some_and(|at| now.since(at) < PRUNED_EVERY) {
            return Ok(());
        }
        let tenant = &account.rules.tenant;
        let mut filter = PairingFilter { tenant: tenant.clone(), status: Some(PairingStatus::Pending), after: None, limit: PRUNED_AT_ONCE };
        let mut over = Vec::new();
        loop {
            let Slice { rows, more } = self.store.pairings(filter.clone()).await?;
            filter.after = rows.last().filter(|_| more).map(|last| last.code.clone());
            over.extend(rows.into_iter().filter(|row| now.since(row.expires_at) > PENDING_KEPT).map(|row| row.code));
            if filter.after.is_none() {
                break;
            }
        }
        for code in over {
            self.store.delete_pairing(tenant, &code).await?;
        }
        Ok(())
    }

    /// The platform took the message with the code.
    pub(super) async fn told(&self, pairing: &Pairing) -> Result<(), StoreError> {
        let _writing = self.writing.lock().await;
        match self.store.pairing(&pairing.tenant, &pairing.code).await? {
            Some(now) => self.store.save_pairing(Pairing { told: true, ..now }).await,
            None => Ok(()),
        }
    }

    /// A person has new ids: what was decided about him holds for these too.
    pub(super) async fn renamed(&self, account: &Account, old: &Person, new: &Person) -> Result<(), StoreError> {
        let _writing = self.writing.lock().await;
        let known = match self.learn(account, old).await? {
            Some(pairing) => pairing,
            None if account.rules.is_listed(old) => {
                let listed = self.pairing(account, ids(old), old.name.clone()).await?;
                Pairing { status: PairingStatus::Admitted, ..listed }
            }
            None => return Ok(()),
        };
        let gone = given_up(old, new);
        let fresh: Vec<Recipient> = ids(new).into_iter().filter(|id| !known.ids.contains(id)).collect();
        let ids: Vec<Recipient> = known.ids.iter().filter(|id| !gone.contains(id)).cloned().chain(fresh).collect();
        let lost = known.ids.iter().filter(|id| gone.contains(id) && !known.former.contains(id)).cloned();
        let former: Vec<Recipient> = known.former.iter().cloned().chain(lost).collect();
        if ids.first() == known.ids.first() {
            return self.store.save_pairing(Pairing { ids, former, ..known }).await;
        }
        // a row is named by its first id: a new one, with a code of its own, and only then the old one goes
        let code = self.free_code(&known.tenant).await?;
        let told = known.told && known.status == PairingStatus::Admitted;
        let old_code = known.code.clone();
        self.store.save_pairing(Pairing { ids, former, code, told, ..known }).await?;
        self.store.delete_pairing(&account.rules.tenant, &old_code).await.map(drop)
    }

    /// An operator lets the stranger with that code in. `attempts` are the wrong codes that a caller may try.
    ///
    /// # Errors
    /// The store's.
    pub async fn admit(&self, tenant: &str, by: &str, code: &str, attempts: u32) -> Result<Admission, StoreError> {
        let (now, caller) = (self.clock.now(), (tenant.to_owned(), by.to_owned()));
        if let Some(again_in) = self.tried_too_often(&caller, attempts, now) {
            return Ok(Admission::TooMany { again_in });
        }
        let _writing = self.writing.lock().await;
        let found = self.store.pairing(tenant, &plain(code)).await?;
        match found {
            None => {
                self.wrong.lock().unwrap_or_else(PoisonError::into_inner).entry(caller).or_default().push(now);
                Ok(Admission::Unknown)
            }
            Some(pairing) if pairing.status == PairingStatus::Admitted => Ok(Admission::AlreadyIn(pairing)),
            Some(pairing) if pairing.expires_at <= now => Ok(Admission::Expired),
            Some(pairing) => {
                let admitted = Pairing { status: PairingStatus::Admitted, ..pairing };
                self.store.save_pairing(admitted.clone()).await?;
                Ok(Admission::Admitted(admitted))
            }
        }
    }

    /// Takes back what was decided about the stranger with that code, or refuses him. He counts as never seen.
    ///
    /// # Errors
    /// The store's.
    pub async fn refuse(&self, tenant: &str, code: &str) -> Result<bool, StoreError> {
        let _writing = self.writing.lock().await;
        self.store.delete_pairing(tenant, &plain(code)).await
    }

    /// How long this caller has to wait.
    fn tried_too_often(&self, caller: &(String, String), attempts: u32, now: Timestamp) -> Option<Duration> {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        wrong.retain(|_, tries| {
            tries.retain(|at| now.since(*at) < TRIES_KEPT);
            !tries.is_empty()
        });
        let tries = wrong.get(caller).filter(|tries| tries.len() >= attempts as usize)?;
        tries.first().map(|first| TRIES_KEPT.saturating_sub(now.since(*first)))
    }

    async fn pairing(&self, account: &Account, ids: Vec<Recipient>, name: Option<String>) -> Result<Pairing, StoreError> {
        let now = self.clock.now();
        let tenant = account.rules.tenant.clone();
        let code = self.free_code(&tenant).await?;
        Ok(Pairing {
            tenant,
            channel: account.channel().to_owned(),
            account: account.name().to_owned(),
            ids,
            former: Vec::new(),
            name,
            code,
            status: PairingStatus::Pending,
            asked_at: now,
            expires_at: now + VALID,
            codes: 0,
            told: false,
        })
    }

    async fn free_code(&self, tenant: &str) -> Result<String, StoreError> {
        let mut code = self.code();
        for _ in 0..DRAWS {
            if self.store.pairing(tenant, &code).await?.is_none() {
                break;
            }
            code = self.code();
        }
        Ok(code)
    }

    /// A new code. Keyed, because an id alone tells when it was made.
    fn code(&self) -> String {
        let hash = keyed(&self.store.secret(), &["pairing", &self.ids.uuid().to_string()]);
        let letter = |pair: &[u8]| {
            let byte = std::str::from_utf8(pair).ok().and_then(|hex| u8::from_str_radix(hex, 16).ok()).unwrap_or_default();
            char::from(ALPHABET[usize::from(byte) % ALPHABET.len()])
        };
        hash.as_bytes().chunks(2).take(LENGTH).map(letter).collect()
    }
}

/// A code as it is kept: people write it small, and with a dash.
fn plain(code: &str) -> String {
    code.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_uppercase()).take(2 * LENGTH).collect()
}

/// As it is shown: `ABCD-EFGH`.
pub fn shown(code: &str) -> String {
    match code.split_at_checked(LENGTH / 2) {
        Some((first, rest)) if !rest.is_empty() => format!("{first}-{rest}"),
        _ => code.to_owned(),
    }
}
