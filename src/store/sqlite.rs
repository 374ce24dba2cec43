//! The default engine: one SQLite file in a folder of its own, in WAL mode and with `synchronous=FULL`, so that what was answered survives a
//! power cut.
//!
//! All writes go through the one thread of [`writer`], many to a commit; reads run on a few connections of [`readers`]. It never holds a
//! read transaction beyond one call, never waits to gather a larger group, and never shares its folder with another process.
//! Read in this order: `schema.sql`, `schema_3.sql`, [`write`], [`read`], [`outside`], [`writer`], [`readers`], [`folder`].

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use futures_util::future::BoxFuture;

use crate::domain::delivery::DeliveryView;
use crate::domain::pairing::Pairing;
use crate::domain::pending::Item;
use crate::domain::{DeliveryId, DigestId, Overview, Recipient, Seq, SessionId, Timestamp};
use crate::meter::Meter;
use crate::store::metrics::StoreMetrics;
use crate::store::{
    Alias, Append, Appended, ApprovalFilter, DeliveryFilter, IntakeRow, Loaded, Most, PairingFilter, Pending, SessionFilter, Slice,
    Snapshot, Store, StoreError, StoreFuture, StoredRecord, Trouble,
};

use folder::{Database, Folder};
use health::{Health, Verdict};
use readers::Readers;
use write::Prepared;
use writer::{Command, Writer};

mod folder;
mod health;
mod outside;
mod read;
mod readers;
mod schema;
#[cfg(test)]
mod tests;
mod write;
mod writer;

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("another process has the store in {}: stop it, or set store.path to another folder", path.display())]
    InUse { path: PathBuf },
    #[error("{} has schema version {found}, and this build knows versions up to {known}: a newer build wrote it; use that build", path.display())]
    Newer { path: PathBuf, found: usize, known: usize },
    #[error("the folder {} cannot be used: {source}", path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("the store needs write-ahead logging, and the file system gave {mode:?}: put store.path on a local disk")]
    NoWal { mode: String },
    #[error("the store has lost its secret; restore it from a backup")]
    NoSecret,
    #[error("the store's writer thread did not start: {0}")]
    Thread(io::Error),
    #[error("the database cannot be used: {0}; {advice}", advice = advice(.0))]
    Database(#[from] rusqlite::Error),
}

fn advice(error: &rusqlite::Error) -> &'static str {
    use rusqlite::ErrorCode::{CannotOpen, DatabaseCorrupt, DiskFull, NotADatabase, PermissionDenied, ReadOnly, SystemIoFailure};
    match error.sqlite_error_code() {
        Some(DiskFull | SystemIoFailure) => "look at the disk of store.path: it may be full",
        Some(ReadOnly | CannotOpen | PermissionDenied) => "make store.path writable for this process",
        Some(NotADatabase | DatabaseCorrupt) => "the file is damaged: restore a backup",
        Some(_) | None => "look at store.path",
    }
}

/// A folder with a database in it, which is this process's alone. Dropping it waits for what was asked, and is no graceful stop:
/// [`close`](Store::close) is.
#[derive(Debug)]
pub struct SqliteStore {
    database: Database,
    writer: Writer,
    readers: Readers,
    health: Arc<Health>,
    secret: [u8; 32],
    stopped_gracefully: bool,
}

impl SqliteStore {
    /// Opens the store in `dir`; makes both where they are missing. Blocks for as long as the disk takes.
    ///
    /// # Errors
    /// When another process (or another part of this one) has the folder, a newer build wrote it, or it cannot be read and written.
    pub fn open(dir: &Path, meter: &Meter) -> Result<Self, OpenError> {
        let folder = Folder::take(dir)?;
        let mut db = schema::connect(&folder.database.path)?;
        schema::migrate(&mut db, &folder.database.path)?;
        let secret = schema::secret(&db)?;
        while write::sweep(&db)? {}
        let stopped_gracefully = schema::take_clean(&db)?;
        let (metrics, health) = (StoreMetrics::new(meter), Arc::new(Health::default()));
        let readers = Readers::new(folder.database.path.clone(), metrics.failed_reads.clone());
        let database = folder.database.clone();
        let writer = Writer::start(folder, db, health.clone(), metrics).map_err(OpenError::Thread)?;
        Ok(Self { database, writer, readers, health, secret, stopped_gracefully })
    }
}

impl Store for SqliteStore {
    fn append(&self, append: Append) -> StoreFuture<Appended> {
        match Prepared::new(append) {
            Ok(prepared) => self.writer.ask(|asked| Command::Append(Box::new(prepared), asked)),
            Err(error) => ready(Err(error)),
        }
    }

    fn read(&self, session: &SessionId, after: Seq, most: Most) -> StoreFuture<Slice<StoredRecord>> {
        let session = session.clone();
        self.readers.run(move |db| read::records(db, &session, after, most))
    }

    fn transcript(&self, session: &SessionId, after: Seq, most: Most) -> StoreFuture<(Slice<StoredRecord>, Seq)> {
        let session = session.clone();
        self.readers.run(move |db| read::transcript(db, &session, after, most))
    }

    fn load(&self, session: &SessionId) -> StoreFuture<Option<Loaded>> {
        let session = session.clone();
        self.readers.run(move |db| read::load(db, &session))
    }

    fn overview(&self, session: &SessionId) -> StoreFuture<Option<Overview>> {
        let session = session.clone();
        self.readers.run(move |db| read::overview(db, &session))
    }

    fn sessions(&self, filter: SessionFilter) -> StoreFuture<Slice<Overview>> {
        self.readers.run(move |db| read::sessions(db, &filter))
    }

    fn approvals(&self, filter: ApprovalFilter) -> StoreFuture<Slice<(SessionId, Item)>> {
        self.readers.run(move |db| read::approvals(db, &filter))
    }

    fn item(&self, session: &SessionId, id: &str) -> StoreFuture<Option<Item>> {
        let (session, id) = (session.clone(), id.to_owned());
        self.readers.run(move |db| read::item(db, &session, &id))
    }

    fn intake(&self, tenant: &str, scope: &str, external_id: &str) -> StoreFuture<Option<IntakeRow>> {
        let (tenant, scope, external_id) = (tenant.to_owned(), scope.to_owned(), external_id.to_owned());
        self.readers.run(move |db| Ok(read::intake(db, &tenant, &scope, &external_id)?))
    }

    fn blob(&self, session: &SessionId, id: &DigestId) -> StoreFuture<Option<Vec<u8>>> {
        let (session, id) = (session.clone(), id.clone());
        self.readers.run(move |db| read::blob(db, &session, &id))
    }

    fn save_snapshot(&self, session: &SessionId, snapshot: Snapshot) -> StoreFuture<()> {
        self.writer.ask(|asked| Command::SaveSnapshot(session.clone(), snapshot, asked))
    }

    fn due(&self, now: Timestamp, limit: usize) -> StoreFuture<(Vec<SessionId>, Option<Timestamp>)> {
        self.readers.run(move |db| read::due(db, now, limit))
    }

    fn mark_deleted(&self, session: &SessionId) -> StoreFuture<bool> {
        self.writer.ask(|asked| Command::MarkDeleted(session.clone(), asked))
    }

    fn erase(&self, session: &SessionId) -> StoreFuture<()> {
        self.writer.ask(|asked| Command::Erase(session.clone(), asked))
    }

    fn marked(&self) -> StoreFuture<Vec<SessionId>> {
        self.readers.run(|db| read::marked(db))
    }

    fn alias(&self, tenant: &str, scope: &str, name: &str) -> StoreFuture<Option<SessionId>> {
        let (tenant, scope, name) = (tenant.to_owned(), scope.to_owned(), name.to_owned());
        self.readers.run(move |db| outside::alias(db, &tenant, &scope, &name))
    }

    fn aliases(&self, session: &SessionId) -> StoreFuture<Vec<Alias>> {
        let session = session.clone();
        self.readers.run(move |db| outside::aliases(db, &session))
    }

    fn put_aliases(&self, aliases: Vec<Alias>, gone: Vec<Alias>) -> StoreFuture<()> {
        self.writer.ask(|asked| Command::PutAliases(aliases, gone, asked))
    }

    fn deliveries(&self, filter: DeliveryFilter) -> StoreFuture<Slice<DeliveryView>> {
        self.readers.run(move |db| outside::deliveries(db, &filter))
    }

    fn delivery(&self, id: &DeliveryId) -> StoreFuture<Option<DeliveryView>> {
        let id = id.clone();
        self.readers.run(move |db| outside::delivery(db, &id))
    }

    fn save_pairing(&self, pairing: Pairing) -> StoreFuture<()> {
        let json = match serde_json::to_string(&pairing) {
            Ok(json) => json,
            Err(error) => return ready(Err(error.into())),
        };
        let saved = self.writer.ask(|asked| Command::SavePairing(Box::new(pairing), json, asked));
        Box::pin(async { if saved.await? { Ok(()) } else { Err(StoreError("another stranger has that code".into())) } })
    }

    fn pairing(&self, tenant: &str, code: &str) -> StoreFuture<Option<Pairing>> {
        let (tenant, code) = (tenant.to_owned(), code.to_owned());
        self.readers.run(move |db| outside::pairing(db, &tenant, &code))
    }

    fn pairing_of(&self, tenant: &str, channel: &str, account: &str, id: &Recipient) -> StoreFuture<Option<Pairing>> {
        let (tenant, channel, account, id) = (tenant.to_owned(), channel.to_owned(), account.to_owned(), id.clone());
        self.readers.run(move |db| outside::pairing_of(db, &tenant, &channel, &account, &id))
    }

    fn pairings(&self, filter: PairingFilter) -> StoreFuture<Slice<Pairing>> {
        self.readers.run(move |db| outside::pairings(db, &filter))
    }

    fn delete_pairing(&self, tenant: &str, code: &str) -> StoreFuture<bool> {
        let (tenant, code) = (tenant.to_owned(), code.to_owned());
        self.writer.ask(|asked| Command::DeletePairing(tenant, code, asked))
    }

    fn pending(&self) -> StoreFuture<Pending> {
        self.readers.run(|db| read::pending(db))
    }

    fn trouble(&self) -> BoxFuture<'static, Option<Trouble>> {
        let tried = match self.health.verdict(Instant::now()) {
            Verdict::Bad(trouble) => return Box::pin(std::future::ready(Some(trouble))),
            Verdict::Try => Some(self.writer.ask(Command::Try)),
            Verdict::Sound => None,
        };
        let (health, database) = (self.health.clone(), self.database.clone());
        let looked_at = database.clone();
        let read = self.readers.probe(move |db| match looked_at.gone() {
            None => read::probe(db).map(|()| None),
            gone => Ok(gone),
        });
        Box::pin(async move {
            if let Some(tried) = tried
                && let Err(error) = tried.await
            {
                return Some(health.failure().unwrap_or_else(|| health::trouble(None, &error.to_string())));
            }
            // a connection to what is gone is not to be had either
            let unreadable = |error: StoreError| Trouble { code: "store_unreadable", detail: error.to_string() };
            read.await.unwrap_or_else(|error| database.gone().or_else(|| Some(unreadable(error))))
        })
    }

    fn secret(&self) -> [u8; 32] {
        self.secret
    }

    fn stopped_gracefully(&self) -> bool {
        self.stopped_gracefully
    }

    fn close(&self) -> StoreFuture<()> {
        self.readers.close();
        self.writer.ask(Command::Close)
    }
}

fn closed() -> StoreError {
    StoreError("it is closed".into())
}

fn ready<T: Send + 'static>(answer: Result<T, StoreError>) -> StoreFuture<T> {
    Box::pin(std::future::ready(answer))
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<serde_json::Error> for StoreError {
    fn from(error: serde_json::Error) -> Self {
        Self(error.to_string())
    }
}
