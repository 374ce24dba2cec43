//! The queries. Each sees one state of the database, and none of a session that is marked deleted.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::de::DeserializeOwned;

use crate::domain::pending::{Item, ItemStatus};
use crate::domain::{DigestId, Overview, Seq, SessionId, Timestamp};
use crate::store::{ApprovalFilter, IntakeRow, Loaded, Most, Pending, Position, SessionFilter, Slice, Snapshot, StoreError, StoredRecord};

/// SQLite's integers are signed: times and counts beyond them (no real ones are) stand at the largest.
pub(super) fn sql_int(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn limit(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}

fn unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(u64::try_from(row.get::<_, i64>(column)?).unwrap_or(0))
}

/// One row more than is wanted, which tells whether there are more.
pub(super) fn one_more(rows: usize) -> i64 {
    limit(rows.saturating_add(1))
}

/// A record with the bytes of its text.
fn stored(row: &Row<'_>) -> rusqlite::Result<(usize, StoredRecord)> {
    let record = StoredRecord { seq: unsigned(row, 0)?, kind: row.get(1)?, json: row.get(2)? };
    Ok((record.json.len(), record))
}

/// The JSON of a column, read, with its bytes.
pub(super) fn parsed<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> Result<(usize, T), StoreError> {
    let text = row.get_ref(column)?.as_str().map_err(rusqlite::Error::from)?;
    Ok((text.len(), serde_json::from_str(text)?))
}

pub(super) fn records(db: &Connection, session: &SessionId, after: Seq, most: Most) -> Result<Slice<StoredRecord>, StoreError> {
    let mut query = db.prepare_cached(
        "SELECT r.seq, r.kind, r.json FROM session AS s JOIN record AS r ON r.session = s.n
         WHERE s.id = ?1 AND s.deleted = 0 AND r.seq > ?2 ORDER BY r.seq LIMIT ?3",
    )?;
    Ok(Slice::take(query.query_map(params![session.as_str(), sql_int(after), one_more(most.rows)], stored)?, most)?)
}

/// The index is named so that a change that makes it unusable is an error here, not a slow read of whole ledgers.
pub(super) fn transcript(
    db: &mut Connection,
    session: &SessionId,
    after: Seq,
    most: Most,
) -> Result<(Slice<StoredRecord>, Seq), StoreError> {
    let tx = db.transaction()?;
    let found = tx
        .prepare_cached("SELECT n, head FROM session WHERE id = ?1 AND deleted = 0")?
        .query_row([session.as_str()], |row| Ok((row.get::<_, i64>(0)?, unsigned(row, 1)?)))
        .optional()?;
    let Some((n, head)) = found else { return Ok((Slice::empty(), 0)) };
    let mut query = tx.prepare_cached(
        "SELECT seq, kind, json FROM record INDEXED BY record_of_transcript
         WHERE session = ?1 AND kind IN ('message_queued', 'message_removed', 'turn_start', 'queue_drain', 'message') AND seq > ?2
         ORDER BY seq LIMIT ?3",
    )?;
    let records = Slice::take(query.query_map(params![n, sql_int(after), one_more(most.rows)], stored)?, most)?;
    Ok((records, head))
}

pub(super) const LOAD: &str = "SELECT s.head, p.fold_version, p.through_seq, p.state
    FROM session AS s LEFT JOIN snapshot AS p ON p.session = s.n WHERE s.id = ?1 AND s.deleted = 0";

pub(super) fn load(db: &Connection, session: &SessionId) -> Result<Option<Loaded>, StoreError> {
    let mut query = db.prepare_cached(LOAD)?;
    let loaded = query.query_row([session.as_str()], |row| {
        let snapshot = match row.get::<_, Option<u32>>(1)? {
            Some(fold_version) => Some(Snapshot { fold_version, through_seq: unsigned(row, 2)?, state: row.get(3)? }),
            None => None,
        };
        Ok(Loaded { position: Position(unsigned(row, 0)?), snapshot })
    });
    Ok(loaded.optional()?)
}

pub(super) fn overview(db: &Connection, session: &SessionId) -> Result<Option<Overview>, StoreError> {
    let json: Option<String> = db
        .prepare_cached("SELECT overview FROM session WHERE id = ?1 AND deleted = 0")?
        .query_row([session.as_str()], |row| row.get(0))
        .optional()?;
    Ok(json.map(|json| serde_json::from_str(&json)).transpose()?)
}

pub(super) fn sessions(db: &mut Connection, filter: &SessionFilter) -> Result<Slice<Overview>, StoreError> {
    let tx = db.transaction()?;
    let (created_at, id) = match &filter.after {
        None => (i64::MAX, String::new()),
        Some(after) => {
            let mut query = tx.prepare_cached("SELECT created_at, id FROM session WHERE id = ?1 AND tenant = ?2")?;
            let row = query.query_row(params![after.as_str(), filter.tenant], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
            let Some(row) = row else { return Ok(Slice::empty()) };
            row
        }
    };
    // Two texts, so that each can walk its own index.
    let owned = if filter.owner.is_some() { "owner = ?2" } else { "?2 IS NULL" };
    let mut query = tx.prepare_cached(&format!(
        "SELECT overview FROM session
         WHERE tenant = ?1 AND {owned} AND deleted = 0 AND parent IS NULL AND (?3 IS NULL OR channel = ?3) AND (created_at, id) < (?4, ?5)
         ORDER BY created_at DESC, id DESC LIMIT ?6",
    ))?;
    let asked = params![filter.tenant, filter.owner, filter.channel, created_at, id, one_more(filter.limit)];
    Slice::take(query.query_and_then(asked, |row| parsed(row, 0))?, Most::rows(filter.limit))
}

pub(super) fn approvals(db: &mut Connection, filter: &ApprovalFilter) -> Result<Slice<(SessionId, Item)>, StoreError> {
    let tx = db.transaction()?;
    let (requested_at, id) = match &filter.after {
        None => (-1_i64, String::new()),
        Some(after) => {
            let mut query = tx.prepare_cached("SELECT requested_at, id FROM item WHERE id = ?1 AND tenant = ?2 AND kind = 'approval'")?;
            let row = query.query_row(params![after, filter.tenant], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
            let Some(row) = row else { return Ok(Slice::empty()) };
            row
        }
    };
    // One text for each way to filter, so that each walks its own index: of what is pending, of the owner, of the session (where the plus
    // keeps the tenant's index out), or of the tenant.
    let status = if filter.status == Some(ItemStatus::Pending) {
        "i.status = 'pending' AND ?4 IS NOT NULL"
    } else {
        "(?4 IS NULL OR i.status = ?4)"
    };
    let owner = if filter.owner.is_some() { "i.owner = ?2" } else { "?2 IS NULL" };
    let (tenant, session) = if filter.session.is_some() { ("+i.tenant", "s.id = ?3") } else { ("i.tenant", "?3 IS NULL") };
    let mut query = tx.prepare_cached(&format!(
        "SELECT s.id, i.json FROM item AS i JOIN session AS s ON s.n = i.session
         WHERE {tenant} = ?1 AND i.kind = 'approval' AND s.deleted = 0 AND {owner} AND {session} AND {status}
           AND (i.requested_at, i.id) > (?5, ?6)
         ORDER BY i.requested_at, i.id LIMIT ?7",
    ))?;
    let of = filter.session.as_ref().map(SessionId::as_str);
    let asked = params![filter.tenant, filter.owner, of, filter.status.map(ItemStatus::as_str), requested_at, id, one_more(filter.limit)];
    let found = query.query_and_then(asked, |row| {
        let (bytes, item) = parsed(row, 1)?;
        Ok::<_, StoreError>((bytes, (SessionId::from(row.get::<_, String>(0)?), item)))
    })?;
    Slice::take(found, Most::rows(filter.limit))
}

pub(super) fn item(db: &Connection, session: &SessionId, id: &str) -> Result<Option<Item>, StoreError> {
    let json: Option<String> = db
        .prepare_cached(
            "SELECT i.json FROM session AS s JOIN item AS i ON i.session = s.n WHERE s.id = ?1 AND s.deleted = 0 AND i.id = ?2",
        )?
        .query_row([session.as_str(), id], |row| row.get(0))
        .optional()?;
    Ok(json.map(|json| serde_json::from_str(&json)).transpose()?)
}

pub(super) fn intake(db: &Connection, tenant: &str, scope: &str, external_id: &str) -> rusqlite::Result<Option<IntakeRow>> {
    db.prepare_cached("SELECT session, message_id, seq, body_hash, at FROM intake WHERE tenant = ?1 AND scope = ?2 AND external_id = ?3")?
        .query_row([tenant, scope, external_id], |row| {
            Ok(IntakeRow {
                tenant: tenant.into(),
                scope: scope.into(),
                external_id: external_id.into(),
                session: row.get::<_, String>(0)?.into(),
                message_id: row.get::<_, Option<String>>(1)?.map(Into::into),
                seq: unsigned(row, 2)?,
                body_hash: row.get(3)?,
                at: Timestamp(unsigned(row, 4)?),
            })
        })
        .optional()
}

pub(super) fn blob(db: &Connection, session: &SessionId, id: &DigestId) -> Result<Option<Vec<u8>>, StoreError> {
    let mut query = db.prepare_cached(
        "SELECT b.bytes FROM session AS s JOIN blob AS b ON b.session = s.n WHERE s.id = ?1 AND s.deleted = 0 AND b.id = ?2",
    )?;
    Ok(query.query_row([session.as_str(), id.as_str()], |row| row.get(0)).optional()?)
}

pub(super) fn due(db: &mut Connection, now: Timestamp, rows: usize) -> Result<(Vec<SessionId>, Option<Timestamp>), StoreError> {
    let tx = db.transaction()?;
    let mut query = tx.prepare_cached(
        "SELECT id FROM session WHERE deleted = 0 AND wake_at IS NOT NULL AND wake_at <= ?1 ORDER BY wake_at, id LIMIT ?2",
    )?;
    let due = query.query_map(params![sql_int(now.0), limit(rows)], |row| Ok(SessionId::from(row.get::<_, String>(0)?)))?;
    let due = due.collect::<rusqlite::Result<_>>()?;
    let next = tx
        .prepare_cached("SELECT wake_at FROM session WHERE deleted = 0 AND wake_at IS NOT NULL AND wake_at > ?1 ORDER BY wake_at LIMIT 1")?
        .query_row([sql_int(now.0)], |row| unsigned(row, 0))
        .optional()?;
    Ok((due, next.map(Timestamp)))
}

pub(super) fn marked(db: &Connection) -> Result<Vec<SessionId>, StoreError> {
    let mut query = db.prepare_cached(
        "SELECT id FROM session AS s WHERE deleted = 1
           AND NOT EXISTS (SELECT 1 FROM session AS above WHERE above.id = s.parent AND above.deleted = 1)
         ORDER BY id",
    )?;
    let ids = query.query_map([], |row| Ok(SessionId::from(row.get::<_, String>(0)?)))?;
    Ok(ids.collect::<rusqlite::Result<_>>()?)
}

/// Whether a read gets through at all, however much there is to read.
pub(super) fn probe(db: &Connection) -> Result<(), StoreError> {
    Ok(db.query_row("SELECT 1 FROM meta LIMIT 1", [], |_| Ok(()))?)
}

/// Walks the index of open items alone, but for whether each one's session is marked.
pub(super) fn pending(db: &Connection) -> Result<Pending, StoreError> {
    let mut query = db.prepare_cached(
        "SELECT i.kind, count(*) FROM item AS i INDEXED BY item_open JOIN session AS s ON s.n = i.session
         WHERE i.status = 'pending' AND s.deleted = 0 GROUP BY i.kind",
    )?;
    let counts = query.query_map([], |row| Ok((row.get::<_, String>(0)?, unsigned(row, 1)?)))?;
    let counts = counts.collect::<rusqlite::Result<BTreeMap<_, _>>>()?;
    let count = |kind: &str| counts.get(kind).copied().unwrap_or(0);
    Ok(Pending { approvals: count("approval"), questions: count("question"), client_calls: count("client_call") })
}
