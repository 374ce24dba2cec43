//! Aliases, deliveries and pairings: the statements that read and write them.

use rusqlite::{Connection, OptionalExtension, params};

use super::read::{one_more, parsed, sql_int};
use crate::domain::delivery::{DeliveryState, DeliveryView};
use crate::domain::pairing::{Pairing, PairingStatus};
use crate::domain::{DeliveryId, Overview, Recipient, SessionId};
use crate::store::outside::first_id;
use crate::store::{Alias, DeliveryFilter, Most, PairingFilter, Slice, StoreError};

pub(super) fn alias(db: &Connection, tenant: &str, scope: &str, name: &str) -> Result<Option<SessionId>, StoreError> {
    let mut query = db.prepare_cached(
        "SELECT a.session FROM alias AS a JOIN session AS s ON s.id = a.session
         WHERE a.tenant = ?1 AND a.scope = ?2 AND a.name = ?3 AND s.deleted = 0",
    )?;
    Ok(query.query_row([tenant, scope, name], |row| Ok(SessionId::from(row.get::<_, String>(0)?))).optional()?)
}

pub(super) fn aliases(db: &Connection, session: &SessionId) -> Result<Vec<Alias>, StoreError> {
    let mut query = db.prepare_cached(
        "SELECT a.tenant, a.scope, a.name FROM alias AS a JOIN session AS s ON s.id = a.session
         WHERE a.session = ?1 AND s.deleted = 0 ORDER BY a.tenant, a.scope, a.name",
    )?;
    let rows = query.query_map([session.as_str()], |row| {
        Ok(Alias { tenant: row.get(0)?, scope: row.get(1)?, name: row.get(2)?, session: session.clone() })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Those whose session is there; the others would outlive what erases them.
pub(super) fn put_aliases(db: &Connection, aliases: &[Alias]) -> rusqlite::Result<()> {
    for alias in aliases {
        db.prepare_cached(
            "INSERT INTO alias (tenant, scope, name, session)
             SELECT ?1, ?2, ?3, ?4 WHERE EXISTS (SELECT 1 FROM session WHERE id = ?4 AND deleted = 0)
             ON CONFLICT (tenant, scope, name) DO UPDATE SET session = excluded.session",
        )?
        .execute([&*alias.tenant, &*alias.scope, &*alias.name, alias.session.as_str()])?;
    }
    Ok(())
}

/// Those that still name their session.
pub(super) fn remove_aliases(db: &Connection, gone: &[Alias]) -> rusqlite::Result<()> {
    for alias in gone {
        db.prepare_cached("DELETE FROM alias WHERE tenant = ?1 AND scope = ?2 AND name = ?3 AND session = ?4")?.execute([
            &*alias.tenant,
            &*alias.scope,
            &*alias.name,
            alias.session.as_str(),
        ])?;
    }
    Ok(())
}

/// `rows` are the views and their JSON.
pub(super) fn write_deliveries(
    db: &Connection,
    session: i64,
    overview: &Overview,
    rows: &[(DeliveryView, String)],
) -> rusqlite::Result<()> {
    for (view, json) in rows {
        db.prepare_cached(
            "INSERT INTO delivery (session, id, tenant, owner, state, created_at, json) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (session, id) DO UPDATE SET state = excluded.state, json = excluded.json",
        )?
        .execute(params![
            session,
            view.delivery_id.as_str(),
            overview.tenant,
            overview.owner,
            view.state.as_str(),
            sql_int(view.created_at.0),
            json,
        ])?;
    }
    Ok(())
}

pub(super) fn deliveries(db: &mut Connection, filter: &DeliveryFilter) -> Result<Slice<DeliveryView>, StoreError> {
    let tx = db.transaction()?;
    let (created_at, id) = match &filter.after {
        None => (i64::MAX, String::new()),
        Some(after) => {
            let mut query = tx.prepare_cached("SELECT created_at, id FROM delivery WHERE id = ?1 AND tenant = ?2")?;
            let row = query.query_row(params![after.as_str(), filter.tenant], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
            let Some(row) = row else { return Ok(Slice::empty()) };
            row
        }
    };
    // One text for each way to filter, so that each walks its own index: of the session, of the state, of the owner, or of the tenant.
    let owner = if filter.owner.is_some() { "d.owner = ?2" } else { "?2 IS NULL" };
    let (tenant, session) = if filter.session.is_some() { ("+d.tenant", "s.id = ?3") } else { ("d.tenant", "?3 IS NULL") };
    let state = if filter.state.is_some() { "d.state = ?4" } else { "?4 IS NULL" };
    let mut query = tx.prepare_cached(&format!(
        "SELECT d.json FROM delivery AS d JOIN session AS s ON s.n = d.session
         WHERE {tenant} = ?1 AND s.deleted = 0 AND {owner} AND {session} AND {state} AND (d.created_at, d.id) < (?5, ?6)
         ORDER BY d.created_at DESC, d.id DESC LIMIT ?7",
    ))?;
    let of = filter.session.as_ref().map(SessionId::as_str);
    let state = filter.state.map(DeliveryState::as_str);
    let asked = params![filter.tenant, filter.owner, of, state, created_at, id, one_more(filter.limit)];
    Slice::take(query.query_and_then(asked, |row| parsed(row, 0))?, Most::rows(filter.limit))
}

pub(super) fn delivery(db: &Connection, id: &DeliveryId) -> Result<Option<DeliveryView>, StoreError> {
    let json: Option<String> = db
        .prepare_cached("SELECT d.json FROM delivery AS d JOIN session AS s ON s.n = d.session WHERE d.id = ?1 AND s.deleted = 0")?
        .query_row([id.as_str()], |row| row.get(0))
        .optional()?;
    Ok(json.map(|json| serde_json::from_str(&json)).transpose()?)
}

/// False where another stranger has its code: then nothing is written.
pub(super) fn save_pairing(db: &Connection, pairing: &Pairing, json: &str) -> rusqlite::Result<bool> {
    let first = first_id(pairing);
    let Pairing { tenant, channel, account, code, .. } = pairing;
    let taken = db
        .prepare_cached("SELECT 1 FROM pairing WHERE tenant = ?1 AND code = ?2 AND (channel, account, id) <> (?3, ?4, ?5)")?
        .exists([tenant, code, channel, account, &first])?;
    if taken {
        return Ok(false);
    }
    db.prepare_cached(
        "INSERT INTO pairing (tenant, channel, account, id, code, status, asked_at, json) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
         ON CONFLICT (tenant, channel, account, id)
         DO UPDATE SET code = excluded.code, status = excluded.status, asked_at = excluded.asked_at, json = excluded.json",
    )?
    .execute(params![tenant, channel, account, first, code, status(pairing.status), sql_int(pairing.asked_at.0), json])?;
    forget_ids(db, [tenant, channel, account, &first])?;
    for id in &pairing.ids {
        db.prepare_cached("INSERT OR REPLACE INTO pairing_id (tenant, channel, account, id, first) VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute([tenant, channel, account, &id.to_string(), &first])?;
    }
    Ok(true)
}

fn forget_ids(db: &Connection, of: [&String; 4]) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM pairing_id WHERE tenant = ?1 AND channel = ?2 AND account = ?3 AND first = ?4")?.execute(of).map(drop)
}

pub(super) fn pairing(db: &Connection, tenant: &str, code: &str) -> Result<Option<Pairing>, StoreError> {
    let mut query = db.prepare_cached("SELECT json FROM pairing WHERE tenant = ?1 AND code = ?2")?;
    let json: Option<String> = query.query_row([tenant, code], |row| row.get(0)).optional()?;
    Ok(json.map(|json| serde_json::from_str(&json)).transpose()?)
}

pub(super) fn pairing_of(
    db: &Connection,
    tenant: &str,
    channel: &str,
    account: &str,
    id: &Recipient,
) -> Result<Option<Pairing>, StoreError> {
    let mut query = db.prepare_cached(
        "SELECT p.json FROM pairing_id AS i JOIN pairing AS p
           ON p.tenant = i.tenant AND p.channel = i.channel AND p.account = i.account AND p.id = i.first
         WHERE i.tenant = ?1 AND i.channel = ?2 AND i.account = ?3 AND i.id = ?4",
    )?;
    let json: Option<String> = query.query_row([tenant, channel, account, &*id.to_string()], |row| row.get(0)).optional()?;
    Ok(json.map(|json| serde_json::from_str(&json)).transpose()?)
}

pub(super) fn pairings(db: &mut Connection, filter: &PairingFilter) -> Result<Slice<Pairing>, StoreError> {
    let tx = db.transaction()?;
    let (asked_at, code) = match &filter.after {
        None => (i64::MAX, String::new()),
        Some(after) => {
            let mut query = tx.prepare_cached("SELECT asked_at, code FROM pairing WHERE tenant = ?1 AND code = ?2")?;
            let row = query.query_row([&filter.tenant, after], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
            let Some(row) = row else { return Ok(Slice::empty()) };
            row
        }
    };
    let mut query = tx.prepare_cached(
        "SELECT json FROM pairing WHERE tenant = ?1 AND (?2 IS NULL OR status = ?2) AND (asked_at, code) < (?3, ?4)
         ORDER BY asked_at DESC, code DESC LIMIT ?5",
    )?;
    let asked = params![filter.tenant, filter.status.map(status), asked_at, code, one_more(filter.limit)];
    Slice::take(query.query_and_then(asked, |row| parsed(row, 0))?, Most::rows(filter.limit))
}

pub(super) fn delete_pairing(db: &Connection, tenant: &str, code: &str) -> rusqlite::Result<bool> {
    let tenant = tenant.to_owned();
    let found: Option<(String, String, String)> = db
        .prepare_cached("SELECT channel, account, id FROM pairing WHERE tenant = ?1 AND code = ?2")?
        .query_row([&*tenant, code], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let Some((channel, account, first)) = found else { return Ok(false) };
    forget_ids(db, [&tenant, &channel, &account, &first])?;
    db.prepare_cached("DELETE FROM pairing WHERE tenant = ?1 AND code = ?2")?.execute([&*tenant, code])?;
    Ok(true)
}

fn status(status: PairingStatus) -> &'static str {
    match status {
        PairingStatus::Pending => "pending",
        PairingStatus::Admitted => "admitted",
    }
}
