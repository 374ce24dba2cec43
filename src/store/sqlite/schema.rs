//! The database file: how a connection to it is set up, its schema with its version, and the two facts in `meta`.
//!
//! A change of the schema is a new entry of [`MIGRATIONS`]; entries that have shipped never change.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension, TransactionBehavior, params};
use uuid::Uuid;

use super::OpenError;

/// Entry `i` brings a file from version `i` to `i + 1`.
const MIGRATIONS: [&str; 3] = [include_str!("schema.sql"), OPEN_ITEMS, include_str!("schema_3.sql")];

/// What waits is counted often, and is few of all that ever waited.
const OPEN_ITEMS: &str = "CREATE INDEX item_open ON item (kind, session) WHERE status = 'pending'";

/// Waits for a lock are short here (one writer, readers do not block it in WAL): longer than this is somebody's shell in a transaction.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Pages (of 4 KiB) in the write-ahead log before a commit moves them into the database. Four times SQLite's default: appends rewrite the
/// same few pages, so a longer log moves each of them less often, and 16 MiB is still read quickly.
const CHECKPOINT_PAGES: i64 = 4000;

/// Bytes of the write-ahead log that are given back to the file system after a burst.
const LOG_LIMIT: i64 = 64 << 20;

/// Statements that a connection keeps prepared; more than there are.
const STATEMENTS: usize = 64;

/// A connection that writes. WAL and FULL: a commit that was answered survives a power cut.
pub(super) fn connect(path: &Path) -> Result<Connection, OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    db.busy_timeout(BUSY_TIMEOUT)?;
    let mode: String = db.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
    if mode != "wal" {
        return Err(OpenError::NoWal { mode });
    }
    db.pragma_update(None, "synchronous", "full")?;
    // What was erased is overwritten in the file, not only unlinked.
    db.pragma_update(None, "secure_delete", "on")?;
    db.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    db.pragma_update(None, "journal_size_limit", LOG_LIMIT)?;
    keep_prepared(&db)?;
    Ok(db)
}

/// A connection that only reads.
pub(super) fn connect_reader(path: &Path) -> rusqlite::Result<Connection> {
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    db.busy_timeout(BUSY_TIMEOUT)?;
    keep_prepared(&db)?;
    Ok(db)
}

/// A statement is compiled once. Without the planner's stability, one whose plan might depend on what is bound to it is compiled anew whenever
/// it comes from the cache, which costs more than most of them do.
fn keep_prepared(db: &Connection) -> rusqlite::Result<()> {
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}

/// Brings the file to this build's version; a new file gets its secret. Each step is one commit.
pub(super) fn migrate(db: &mut Connection, path: &Path) -> Result<(), OpenError> {
    let found: usize = db.pragma_query_value(None, "user_version", |row| row.get::<_, u32>(0))? as usize;
    if found > MIGRATIONS.len() {
        return Err(OpenError::Newer { path: path.to_owned(), found, known: MIGRATIONS.len() });
    }
    for (version, sql) in MIGRATIONS.iter().enumerate().skip(found) {
        let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        tx.execute_batch(sql)?;
        if version == 0 {
            tx.execute("INSERT INTO meta (key, value) VALUES ('secret', ?1)", [new_secret()])?;
            note_clean(&tx)?;
        }
        tx.pragma_update(None, "user_version", version as u32 + 1)?;
        tx.commit()?;
    }
    Ok(())
}

/// 244 random bits from the system.
fn new_secret() -> [u8; 32] {
    let mut secret = [0; 32];
    secret[..16].copy_from_slice(Uuid::new_v4().as_bytes());
    secret[16..].copy_from_slice(Uuid::new_v4().as_bytes());
    secret
}

pub(super) fn secret(db: &Connection) -> Result<[u8; 32], OpenError> {
    db.query_row("SELECT value FROM meta WHERE key = 'secret'", [], |row| row.get(0)).optional()?.ok_or(OpenError::NoSecret)
}

/// Notes that the process that wrote here stopped gracefully.
pub(super) fn note_clean(db: &Connection) -> rusqlite::Result<()> {
    db.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('clean', ?1)", params![&[1u8][..]]).map(drop)
}

/// Whether the note is there; takes it away, so that a crash from here on is known as one.
pub(super) fn take_clean(db: &Connection) -> rusqlite::Result<bool> {
    db.execute("DELETE FROM meta WHERE key = 'clean'", []).map(|rows| rows > 0)
}

/// A write that changes nothing that anybody reads.
pub(super) fn touch(db: &Connection) -> rusqlite::Result<()> {
    db.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('tried', x'')", []).map(drop)
}
