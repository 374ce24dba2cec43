//! The statements that write, each inside the group's transaction.
//!
//! An append checks before it writes: with one writer nothing can come between, so an append that is refused has left no trace and the
//! others of its group are not touched.

use std::time::SystemTime;

use rusqlite::{Connection, OptionalExtension, params};

use super::outside;
use super::read::{self, sql_int};
use crate::domain::delivery::DeliveryView;
use crate::domain::pending::{Item, ItemKind};
use crate::domain::{SessionId, Timestamp};
use crate::store::{Append, Appended, INTAKE_KEPT, Position, Snapshot, StoreError};

/// Intake rows removed in one commit: a few milliseconds, so that appends hardly wait for it.
const SWEEP_BATCH: usize = 1000;

/// An append whose JSON is made already: on the thread that asks, not on the one that everybody waits for.
#[derive(Debug)]
pub(super) struct Prepared {
    append: Append,
    overview: String,
    items: Vec<String>,
    deliveries: Vec<(DeliveryView, String)>,
}

impl Prepared {
    pub(super) fn new(mut append: Append) -> Result<Self, StoreError> {
        append.check()?;
        let overview = serde_json::to_string(&append.overview)?;
        let items = append.items.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
        let json = |view: DeliveryView| serde_json::to_string(&view).map(|json| (view, json));
        let deliveries = std::mem::take(&mut append.deliveries).into_iter().map(json).collect::<Result<_, _>>()?;
        Ok(Self { append, overview, items, deliveries })
    }

    /// What of it goes to disk, nearly.
    pub(super) fn bytes(&self) -> usize {
        let records: usize = self.append.records.iter().map(|record| record.json.len()).sum();
        let blobs: usize = self.append.blobs.iter().map(|(_, bytes)| bytes.len()).sum();
        records + blobs + self.overview.len()
    }
}

pub(super) fn append(db: &Connection, prepared: &Prepared) -> rusqlite::Result<Appended> {
    let append = &prepared.append;
    for row in &append.intake {
        if let Some(taken) = read::intake(db, &row.tenant, &row.scope, &row.external_id)? {
            return Ok(Appended::IntakeTaken(taken));
        }
    }
    let Some(session) = write_session(db, prepared)? else { return Ok(Appended::Conflict) };
    write_records(db, session, append)?;
    write_intake(db, append)?;
    write_blobs(db, session, append)?;
    write_items(db, session, prepared)?;
    outside::write_deliveries(db, session, &append.overview, &prepared.deliveries)?;
    outside::put_aliases(db, &append.aliases)?;
    Ok(Appended::Committed(append.position()))
}

/// The session's short key; `None` is a conflict, and then nothing is written.
fn write_session(db: &Connection, prepared: &Prepared) -> rusqlite::Result<Option<i64>> {
    let append = &prepared.append;
    let found = db
        .prepare_cached("SELECT n, head, deleted, wake_at FROM session WHERE id = ?1")?
        .query_row([append.session.as_str()], |row| {
            Ok((row.get(0)?, row.get::<_, i64>(1)?, row.get::<_, bool>(2)?, row.get::<_, Option<i64>>(3)?))
        })
        .optional()?;
    let head = sql_int(append.position().0);
    let wake_at: Option<i64> = append.wake_at.map(|at| sql_int(at.0));
    match found {
        None if append.expected == Position(0) => insert_session(db, prepared, head, wake_at),
        Some((n, found, false, woken)) if found == sql_int(append.expected.0) => {
            // A statement that sets `wake_at` rewrites its index entry even where the value stays; most appends leave it alone.
            if woken == wake_at {
                db.prepare_cached("UPDATE session SET head = ?2, overview = ?3 WHERE n = ?1")?.execute(params![
                    n,
                    head,
                    prepared.overview
                ])?;
            } else {
                db.prepare_cached("UPDATE session SET head = ?2, overview = ?3, wake_at = ?4 WHERE n = ?1")?.execute(params![
                    n,
                    head,
                    prepared.overview,
                    wake_at
                ])?;
            }
            Ok(Some(n))
        }
        None | Some(_) => Ok(None),
    }
}

/// `None` where it is a child whose parent is gone: nobody would ever erase it.
fn insert_session(db: &Connection, prepared: &Prepared, head: i64, wake_at: Option<i64>) -> rusqlite::Result<Option<i64>> {
    let overview = &prepared.append.overview;
    if let Some(parent) = &overview.parent
        && !db.prepare_cached("SELECT 1 FROM session WHERE id = ?1 AND deleted = 0")?.exists([parent])?
    {
        return Ok(None);
    }
    db.prepare_cached(
        "INSERT INTO session (id, tenant, owner, channel, parent, created_at, head, wake_at, overview) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?
    .execute(params![
        prepared.append.session.as_str(),
        overview.tenant,
        overview.owner,
        overview.channel,
        overview.parent,
        sql_int(overview.created_at.0),
        head,
        wake_at,
        prepared.overview,
    ])?;
    Ok(Some(db.last_insert_rowid()))
}

fn write_records(db: &Connection, session: i64, append: &Append) -> rusqlite::Result<()> {
    let mut insert = db.prepare_cached("INSERT INTO record (session, seq, kind, json) VALUES (?1, ?2, ?3, ?4)")?;
    for record in &append.records {
        insert.execute(params![session, sql_int(record.seq), record.kind, &*record.json])?;
    }
    Ok(())
}

fn write_intake(db: &Connection, append: &Append) -> rusqlite::Result<()> {
    for row in &append.intake {
        db.prepare_cached(
            "INSERT INTO intake (tenant, scope, external_id, session, message_id, seq, body_hash, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![
            row.tenant,
            row.scope,
            row.external_id,
            row.session.as_str(),
            row.message_id.as_ref().map(|id| id.as_str()),
            sql_int(row.seq),
            row.body_hash,
            sql_int(row.at.0),
        ])?;
    }
    Ok(())
}

fn write_blobs(db: &Connection, session: i64, append: &Append) -> rusqlite::Result<()> {
    for (id, bytes) in &append.blobs {
        db.prepare_cached("INSERT OR IGNORE INTO blob (session, id, bytes) VALUES (?1, ?2, ?3)")?.execute(params![
            session,
            id.as_str(),
            bytes
        ])?;
    }
    Ok(())
}

fn write_items(db: &Connection, session: i64, prepared: &Prepared) -> rusqlite::Result<()> {
    let overview = &prepared.append.overview;
    for (item, json) in prepared.append.items.iter().zip(&prepared.items) {
        db.prepare_cached(
            "INSERT INTO item (session, id, kind, tenant, owner, status, requested_at, json) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             ON CONFLICT (session, id) DO UPDATE SET status = excluded.status, json = excluded.json",
        )?
        .execute(params![
            session,
            item.id(),
            kind(item),
            overview.tenant,
            overview.owner,
            item.status().as_str(),
            sql_int(item.requested_at.0),
            json,
        ])?;
    }
    Ok(())
}

fn kind(item: &Item) -> &'static str {
    match item.kind {
        ItemKind::Approval(_) => "approval",
        ItemKind::Question(_) => "question",
        ItemKind::ClientCall(_) => "client_call",
    }
}

pub(super) fn save_snapshot(db: &Connection, session: &SessionId, snapshot: &Snapshot) -> rusqlite::Result<()> {
    db.prepare_cached(
        "INSERT INTO snapshot (session, fold_version, through_seq, state)
         SELECT n, ?2, ?3, ?4 FROM session WHERE id = ?1 AND deleted = 0
         ON CONFLICT (session) DO UPDATE SET fold_version = excluded.fold_version, through_seq = excluded.through_seq, state = excluded.state
         WHERE excluded.fold_version <> fold_version OR excluded.through_seq >= through_seq",
    )?
    .execute(params![session.as_str(), snapshot.fold_version, sql_int(snapshot.through_seq), snapshot.state])
    .map(drop)
}

/// A session and all below it.
const TREE: &str = "WITH RECURSIVE tree (n, id) AS (
    SELECT n, id FROM session WHERE id = ?1
    UNION SELECT child.n, child.id FROM tree JOIN session AS child ON child.parent = tree.id)";

pub(super) fn mark_deleted(db: &Connection, session: &SessionId) -> rusqlite::Result<bool> {
    if !db.prepare_cached("SELECT 1 FROM session WHERE id = ?1 AND deleted = 0")?.exists([session.as_str()])? {
        return Ok(false);
    }
    db.prepare_cached(&format!("{TREE} UPDATE session SET deleted = 1 WHERE n IN (SELECT n FROM tree)"))?.execute([session.as_str()])?;
    Ok(true)
}

pub(super) fn erase(db: &Connection, session: &SessionId) -> rusqlite::Result<()> {
    if !db.prepare_cached("SELECT 1 FROM session WHERE id = ?1 AND deleted = 1")?.exists([session.as_str()])? {
        return Ok(());
    }
    let hash_only = format!("{TREE} UPDATE intake SET message_id = NULL, seq = 0 WHERE session IN (SELECT id FROM tree)");
    db.execute(&hash_only, [session.as_str()])?;
    db.execute(&format!("{TREE} DELETE FROM alias WHERE session IN (SELECT id FROM tree)"), [session.as_str()])?;
    for table in ["record", "blob", "snapshot", "item", "delivery"] {
        db.execute(&format!("{TREE} DELETE FROM {table} WHERE session IN (SELECT n FROM tree)"), [session.as_str()])?;
    }
    db.execute(&format!("{TREE} DELETE FROM session WHERE n IN (SELECT n FROM tree)"), [session.as_str()])?;
    Ok(())
}

/// Removes a batch of old intake rows; true where there may be more.
pub(super) fn sweep(db: &Connection) -> rusqlite::Result<bool> {
    let kept = i64::try_from(INTAKE_KEPT.as_millis()).unwrap_or(i64::MAX);
    // back from the newest row, so that a clock which stands still keeps everything; and never from a row of the future, which a clock
    // that was wrong for a moment may have left
    let now = sql_int(Timestamp::from_system(SystemTime::now()).0);
    let removed = db.execute(
        "DELETE FROM intake WHERE rowid IN
           (SELECT rowid FROM intake WHERE at < (SELECT min(max(at), ?3) FROM intake) - ?1 ORDER BY at LIMIT ?2)",
        params![kept, SWEEP_BATCH as i64, now],
    )?;
    Ok(removed == SWEEP_BATCH)
}
