//! Whose conversation it is. A person has one, under every id that he is known by; a group has one.

use std::sync::Arc;

use super::{Reception, Undone};
use crate::channel::access::ids;
use crate::channel::accounts::Account;
use crate::channel::messenger::Person;
use crate::domain::event::session::{Metadata, SessionCreated};
use crate::domain::{Recipient, SessionId};
use crate::session::Lease;
use crate::session::command::{Arrival, IntakeKey, Post, Posted, SessionError};
use crate::store::Alias;

/// What the aliases say about a place.
#[derive(Clone, Debug, PartialEq)]
struct Found {
    session: Option<SessionId>,
    /// Ids that are to lead to it from here on.
    fresh: Vec<Recipient>,
}

/// A message for its conversation.
#[derive(Clone, Debug)]
pub(super) struct Words<'a> {
    pub(super) from: &'a Person,
    pub(super) group: Option<&'a str>,
    pub(super) post: Post,
    /// What it is found by as a new wording of another.
    pub(super) wording: Option<IntakeKey>,
}

impl Reception {
    /// Puts a message into its conversation, which is made if it is not there.
    pub(super) async fn deliver(&self, account: &Arc<Account>, words: Words<'_>) -> Result<Posted, Undone> {
        let Words { from, group, .. } = words;
        let found = self.find(account, from, group).await?;
        if let Found { session: Some(session), fresh } = &found
            && fresh.is_empty()
        {
            match self.arrive(account, session, fresh, words.clone()).await {
                Err(SessionError::NotFound) => {}
                posted => return Ok(posted?),
            }
        }
        // two messages of a new person may come at once, and are one conversation: the second finds what the first has written
        let _deciding = account.deciding.hold(&all(from, group)).await;
        let Found { session, fresh } = self.find(account, from, group).await?;
        if let Some(session) = session {
            match self.arrive(account, &session, &fresh, words.clone()).await {
                // it is being deleted: what comes now begins anew
                Err(SessionError::NotFound) => {}
                posted => return Ok(posted?),
            }
        }
        let first = words.post.key.as_ref().map(|key| key.external_id.clone()).unwrap_or_default();
        let session = self.derived(account, from, group, &first);
        Ok(self.arrive(account, &session, &all(from, group), words).await?)
    }

    /// The conversation, made if it is not there, for what is no message of its own.
    pub(super) async fn conversation(&self, account: &Arc<Account>, from: &Person, group: Option<&str>, id: &str) -> Result<Lease, Undone> {
        let _deciding = account.deciding.hold(&all(from, group)).await;
        let Found { session, fresh } = self.find(account, from, group).await?;
        let open = match &session {
            Some(session) => match self.sessions.open(session).await {
                Err(SessionError::NotFound) => None,
                lease => Some(lease?),
            },
            None => None,
        };
        let (lease, fresh) = match open {
            Some(lease) => (lease, fresh),
            None => {
                let session = self.derived(account, from, group, id);
                match self.sessions.create(&session, created(account, from, group), None).await {
                    Ok(_) | Err(SessionError::Exists) => {}
                    Err(error) => return Err(error.into()),
                }
                (self.sessions.open(&session).await?, all(from, group))
            }
        };
        if !fresh.is_empty() {
            self.store.put_aliases(aliases(account, lease.id(), &fresh), Vec::new()).await?;
        }
        Ok(lease)
    }

    /// The conversation, if there is one.
    pub(super) async fn known(&self, account: &Account, from: &Person, group: Option<&str>) -> Result<Option<Lease>, Undone> {
        let Some(session) = self.find(account, from, group).await?.session else { return Ok(None) };
        match self.sessions.open(&session).await {
            Err(SessionError::NotFound) => Ok(None),
            lease => Ok(Some(lease?)),
        }
    }

    async fn find(&self, account: &Account, from: &Person, group: Option<&str>) -> Result<Found, Undone> {
        if let Some(group) = group {
            let id = Recipient::Group(group.to_owned());
            return Ok(Found { session: self.alias(account, &id).await?, fresh: Vec::new() });
        }
        let (user, phone) = (from.user.clone().map(Recipient::User), from.phone.clone().map(Recipient::Phone));
        let by_phone = match &phone {
            Some(phone) => self.alias(account, phone).await?,
            None => None,
        };
        let Some(user) = user else { return Ok(Found { session: by_phone, fresh: Vec::new() }) };
        if let Some(session) = self.alias(account, &user).await? {
            // the number is his now, whoever's it was
            let fresh = phone.filter(|_| by_phone.as_ref() != Some(&session)).into_iter().collect();
            return Ok(Found { session: Some(session), fresh });
        }
        let Some(session) = by_phone else { return Ok(Found { session: None, fresh: Vec::new() }) };
        let users = format!("{}:", Recipient::User(String::new()).to_string().trim_end_matches(':'));
        let is_another_persons = self.store.aliases(&session).await?.iter().any(|alias| alias.name.starts_with(&users));
        if is_another_persons {
            // a number that was given to somebody else
            return Ok(Found { session: None, fresh: Vec::new() });
        }
        Ok(Found { session: Some(session), fresh: vec![user] })
    }

    /// A person with the ids that his conversation has of him, where one is asked for that he does not show. Looked up only where it decides
    /// something: on accounts with approvers.
    pub(super) async fn whole(&self, account: &Account, person: &Person) -> Result<Person, Undone> {
        let mut whole = person.clone();
        if account.rules.approvers.is_empty() || (person.phone.is_some() && person.user.is_some()) {
            return Ok(whole);
        }
        let Some(session) = self.find(account, person, None).await?.session else { return Ok(whole) };
        let names = self.store.aliases(&session).await?;
        let is_his = |id: &&Recipient| names.iter().any(|alias| alias.scope == account.scope() && alias.name == id.to_string());
        for id in account.rules.approvers.iter().filter(is_his) {
            match id {
                Recipient::Phone(phone) => whole.phone = whole.phone.or_else(|| Some(phone.clone())),
                Recipient::User(user) => whole.user = whole.user.or_else(|| Some(user.clone())),
                Recipient::Group(_) => {}
            }
        }
        Ok(whole)
    }

    pub(super) async fn alias(&self, account: &Account, id: &Recipient) -> Result<Option<SessionId>, Undone> {
        Ok(self.store.alias(&account.rules.tenant, &account.scope(), &id.to_string()).await?)
    }

    async fn arrive(&self, account: &Account, session: &SessionId, fresh: &[Recipient], words: Words<'_>) -> Result<Posted, SessionError> {
        let Words { from, group, post, wording } = words;
        let arrival =
            Arrival { created: created(account, from, group), aliases: aliases(account, session, fresh), post, found_by: wording };
        self.sessions.receive(session, arrival).await
    }

    /// The id of a conversation that begins with that message: it follows from both, so that the message finds it again, and another
    /// message after a deletion does not.
    fn derived(&self, account: &Account, from: &Person, group: Option<&str>, first: &str) -> SessionId {
        let place = all(from, group).first().map(ToString::to_string).unwrap_or_default();
        SessionId::derived(&self.store.secret(), &[&account.rules.tenant, account.channel(), account.name(), &place, first])
    }
}

/// All ids that a new conversation is found by.
fn all(from: &Person, group: Option<&str>) -> Vec<Recipient> {
    group.map_or_else(|| ids(from), |group| vec![Recipient::Group(group.to_owned())])
}

pub(super) fn aliases(account: &Account, session: &SessionId, names: &[Recipient]) -> Vec<Alias> {
    let alias = |id: &Recipient| Alias {
        tenant: account.rules.tenant.clone(),
        scope: account.scope(),
        name: id.to_string(),
        session: session.clone(),
    };
    names.iter().map(alias).collect()
}

fn created(account: &Account, from: &Person, group: Option<&str>) -> SessionCreated {
    let owner = account.place(from, group, None).map(|place| account.principal(&place.to));
    SessionCreated {
        channel: account.channel().to_owned(),
        agent: account.rules.agent.clone(),
        tenant: account.rules.tenant.clone(),
        principal: owner.unwrap_or_else(|| account.scope()),
        account: Some(account.name().to_owned()),
        parent: None,
        title: None,
        metadata: Metadata::new(),
    }
}
