//! Aliases, deliveries and pairings in memory.

use std::collections::BTreeMap;

use super::disk::{Disk, json_bytes, take};
use crate::domain::delivery::DeliveryView;
use crate::domain::pairing::Pairing;
use crate::domain::{DeliveryId, Recipient, SessionId};
use crate::store::outside::first_id;
use crate::store::{Alias, DeliveryFilter, Most, PairingFilter, Slice, StoreError};

impl Disk {
    pub(super) fn alias(&self, (tenant, scope, name): (&str, &str, &str)) -> Option<SessionId> {
        let named = self.aliases.get(&(tenant.to_owned(), scope.to_owned(), name.to_owned()))?;
        self.session(named).map(|_| named.clone())
    }

    pub(super) fn aliases(&self, session: &SessionId) -> Vec<Alias> {
        if self.session(session).is_none() {
            return Vec::new();
        }
        let of_it = self.aliases.iter().filter(|(_, named)| *named == session);
        let alias = |((tenant, scope, name), session): (&(String, String, String), &SessionId)| Alias {
            tenant: tenant.clone(),
            scope: scope.clone(),
            name: name.clone(),
            session: session.clone(),
        };
        of_it.map(alias).collect()
    }

    pub(super) fn put_aliases(&mut self, aliases: Vec<Alias>) {
        for alias in aliases {
            if self.session(&alias.session).is_some() {
                self.aliases.insert((alias.tenant, alias.scope, alias.name), alias.session);
            }
        }
    }

    pub(super) fn remove_aliases(&mut self, gone: Vec<Alias>) {
        for Alias { tenant, scope, name, session } in gone {
            let key = (tenant, scope, name);
            if self.aliases.get(&key) == Some(&session) {
                self.aliases.remove(&key);
            }
        }
    }

    pub(super) fn deliveries(&self, filter: &DeliveryFilter) -> Slice<DeliveryView> {
        let of_tenant = || self.sessions.values().filter(|s| s.overview.tenant == filter.tenant);
        let end = match &filter.after {
            None => None,
            Some(after) => match of_tenant().find_map(|s| s.deliveries.get(after)) {
                Some(view) => Some(place(view)),
                None => return Slice::empty(),
            },
        };
        let mut rows: Vec<&DeliveryView> = self
            .live()
            .map(|(_, session)| session)
            .filter(|session| session.overview.tenant == filter.tenant)
            .filter(|session| filter.owner.as_ref().is_none_or(|owner| *owner == session.overview.owner))
            .flat_map(|session| session.deliveries.values())
            .filter(|view| filter.session.as_ref().is_none_or(|wanted| *wanted == view.session_id))
            .filter(|view| filter.state.is_none_or(|state| state == view.state))
            .filter(|view| end.is_none_or(|end| place(view) < end))
            .collect();
        rows.sort_by(|a, b| place(b).cmp(&place(a)));
        take(rows.into_iter().map(|view| (json_bytes(view), view.clone())), Most::rows(filter.limit))
    }

    pub(super) fn delivery(&self, id: &DeliveryId) -> Option<DeliveryView> {
        self.live().find_map(|(_, session)| session.deliveries.get(id).cloned())
    }
}

/// Where a delivery stands in its list.
fn place(view: &DeliveryView) -> (u64, &str) {
    (view.created_at.0, view.delivery_id.as_str())
}

/// What names a stranger: tenant, channel, account and an id.
type Name = (String, String, String, String);

/// Strangers who asked to be let in.
#[derive(Debug, Default)]
pub(super) struct Pairings {
    /// By their first ids.
    rows: BTreeMap<Name, Pairing>,
    /// Which first id an id belongs to.
    names: BTreeMap<Name, String>,
}

impl Pairings {
    pub(super) fn save(&mut self, pairing: Pairing) -> Result<(), StoreError> {
        let first = first_id(&pairing);
        let named = |id: String| (pairing.tenant.clone(), pairing.channel.clone(), pairing.account.clone(), id);
        let taken = |(key, other): (&Name, &Pairing)| *key != named(first.clone()) && is(other, &pairing.tenant, &pairing.code);
        if self.rows.iter().any(taken) {
            return Err(StoreError("another stranger has that code".into()));
        }
        self.forget(&named(first.clone()));
        for id in &pairing.ids {
            self.names.insert(named(id.to_string()), first.clone());
        }
        self.rows.insert(named(first), pairing);
        Ok(())
    }

    fn forget(&mut self, key: &Name) {
        let (tenant, channel, account, first) = key;
        let of_it = |name: &Name, of: &String| (&name.0, &name.1, &name.2, of) == (tenant, channel, account, first);
        self.names.retain(|name, of| !of_it(name, of));
        self.rows.remove(key);
    }

    pub(super) fn get(&self, tenant: &str, code: &str) -> Option<Pairing> {
        self.rows.values().find(|row| is(row, tenant, code)).cloned()
    }

    pub(super) fn of(&self, (tenant, channel, account): (&str, &str, &str), id: &Recipient) -> Option<Pairing> {
        let named = |id: String| (tenant.to_owned(), channel.to_owned(), account.to_owned(), id);
        let first = self.names.get(&named(id.to_string()))?;
        self.rows.get(&named(first.clone())).cloned()
    }

    pub(super) fn list(&self, filter: &PairingFilter) -> Slice<Pairing> {
        let end = match &filter.after {
            None => None,
            Some(after) => match self.get(&filter.tenant, after) {
                Some(row) => Some((row.asked_at, row.code)),
                None => return Slice::empty(),
            },
        };
        let mut rows: Vec<&Pairing> = self
            .rows
            .values()
            .filter(|row| row.tenant == filter.tenant && filter.status.is_none_or(|status| status == row.status))
            .filter(|row| end.as_ref().is_none_or(|(asked_at, code)| (row.asked_at, &row.code) < (*asked_at, code)))
            .collect();
        rows.sort_by(|a, b| (b.asked_at, &b.code).cmp(&(a.asked_at, &a.code)));
        take(rows.into_iter().map(|row| (json_bytes(row), row.clone())), Most::rows(filter.limit))
    }

    pub(super) fn delete(&mut self, tenant: &str, code: &str) -> bool {
        let key = self.rows.iter().find(|(_, row)| is(row, tenant, code)).map(|(key, _)| key.clone());
        key.inspect(|key| self.forget(key)).is_some()
    }
}

fn is(row: &Pairing, tenant: &str, code: &str) -> bool {
    (row.tenant.as_str(), row.code.as_str()) == (tenant, code)
}
