//! The one thread that writes. It takes whatever is queued as one group, commits it at once, then answers each: what arrives during a commit
//! is the next group, so nobody waits for company and a slow disk makes larger groups.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};

use super::folder::Folder;
use super::health::{self, Health};
use super::write::{self, Prepared};
use super::{OpenError, closed, outside, schema};
use crate::domain::SessionId;
use crate::domain::pairing::Pairing;
use crate::store::metrics::StoreMetrics;
use crate::store::{Alias, Appended, Snapshot, StoreError, StoreFuture, Trouble};

/// Requests in the queue. A session has at most one append in flight, so this is more sessions than one process runs; beyond it a request
/// is refused at once rather than left to wait, for a future that was dropped while it waits would not have been asked.
const QUEUE: usize = 16_384;

/// Bytes of records and blobs in one commit: keeps the wait of those behind it bounded.
const GROUP_BYTES: usize = 4 << 20;

/// How often old intake rows are looked for.
const SWEEP_EVERY: Duration = Duration::from_secs(60 * 60);

/// The queue to the thread.
#[derive(Debug)]
pub(super) struct Writer {
    // Dropped before the thread is waited for (fields drop in this order), or it would never end.
    queue: mpsc::Sender<Command>,
    _thread: Thread,
}

/// One request and where its answer goes.
#[derive(Debug)]
pub(super) enum Command {
    Append(Box<Prepared>, Asked<Appended>),
    SaveSnapshot(SessionId, Snapshot, Asked<()>),
    MarkDeleted(SessionId, Asked<bool>),
    Erase(SessionId, Asked<()>),
    /// And those that are taken away.
    PutAliases(Vec<Alias>, Vec<Alias>, Asked<()>),
    /// With its JSON. False where another stranger has its code.
    SavePairing(Box<Pairing>, String, Asked<bool>),
    /// Tenant and code.
    DeletePairing(String, String, Asked<bool>),
    /// Writes what changes nothing, to know whether the disk takes it.
    Try(Asked<()>),
    Close(Asked<()>),
}

/// An answer that is known before the commit, and told after it.
#[derive(Debug)]
pub(super) struct Asked<T> {
    reply: oneshot::Sender<Result<T, StoreError>>,
    outcome: Option<T>,
    at: Instant,
}

impl<T> Asked<T> {
    pub(super) fn new() -> (Self, oneshot::Receiver<Result<T, StoreError>>) {
        let (reply, answer) = oneshot::channel();
        (Self { reply, outcome: None, at: Instant::now() }, answer)
    }

    fn settle(self, commit: Result<(), StoreError>) {
        let answer = commit.and_then(|()| self.outcome.ok_or_else(closed));
        // Whoever asked may have gone; what was asked has happened all the same.
        _ = self.reply.send(answer);
    }
}

impl Writer {
    pub(super) fn start(folder: Folder, db: Connection, health: Arc<Health>, metrics: StoreMetrics) -> io::Result<Self> {
        let (queue, inbox) = mpsc::channel(QUEUE);
        let scribe = Scribe { inbox, folder, db: Some(db), next_sweep: Instant::now() + SWEEP_EVERY, health, metrics };
        let thread = thread::Builder::new().name("portico-store".into()).spawn(|| scribe.run())?;
        Ok(Self { queue, _thread: Thread(Some(thread)) })
    }

    /// Queues the command before it returns, so that the answer may be dropped.
    pub(super) fn ask<T: Send + 'static>(&self, command: impl FnOnce(Asked<T>) -> Command) -> StoreFuture<T> {
        let (asked, answer) = Asked::new();
        match self.queue.try_send(command(asked)) {
            Ok(()) => Box::pin(async { answer.await.unwrap_or_else(|_| Err(closed())) }),
            Err(mpsc::error::TrySendError::Full(_)) => super::ready(Err(StoreError("too much is queued for the disk".into()))),
            Err(mpsc::error::TrySendError::Closed(_)) => super::ready(Err(closed())),
        }
    }
}

/// Waited for when dropped: after that the folder is free and all that was asked has been tried.
#[derive(Debug)]
struct Thread(Option<JoinHandle<()>>);

impl Drop for Thread {
    fn drop(&mut self) {
        if let Some(Err(_)) = self.0.take().map(JoinHandle::join) {
            tracing::error!("the store's writer thread panicked");
        }
    }
}

/// What the thread owns.
struct Scribe {
    inbox: mpsc::Receiver<Command>,
    folder: Folder,
    /// `None` after a failed commit, until it could be opened again.
    db: Option<Connection>,
    next_sweep: Instant,
    health: Arc<Health>,
    metrics: StoreMetrics,
}

/// Why a group was not written.
struct Failed {
    trouble: Trouble,
    error: String,
}

impl Failed {
    fn new(code: Option<rusqlite::ErrorCode>, error: String) -> Self {
        Self { trouble: health::trouble(code, &error), error }
    }
}

impl From<rusqlite::Error> for Failed {
    fn from(error: rusqlite::Error) -> Self {
        Self::new(error.sqlite_error_code(), error.to_string())
    }
}

impl From<OpenError> for Failed {
    fn from(error: OpenError) -> Self {
        if let OpenError::Database(error) = error { error.into() } else { Self::new(None, error.to_string()) }
    }
}

impl From<Trouble> for Failed {
    fn from(trouble: Trouble) -> Self {
        Self { error: trouble.detail.clone(), trouble }
    }
}

impl Scribe {
    fn run(mut self) {
        while let Some(first) = self.inbox.blocking_recv() {
            let (group, close) = self.gather(first);
            if !group.is_empty() {
                self.commit(group);
            }
            if let Some(asked) = close {
                return self.close(asked);
            }
            self.sweep();
        }
    }

    /// The group, and whoever asked to close behind it.
    fn gather(&mut self, first: Command) -> (Vec<Command>, Option<Asked<()>>) {
        let mut group = Vec::new();
        let mut bytes = 0;
        let mut next = Some(first);
        while let Some(command) = next {
            match command {
                Command::Close(asked) => return (group, Some(asked)),
                Command::Append(..)
                | Command::SaveSnapshot(..)
                | Command::MarkDeleted(..)
                | Command::Erase(..)
                | Command::PutAliases(..)
                | Command::SavePairing(..)
                | Command::DeletePairing(..)
                | Command::Try(_) => {
                    bytes += command.bytes();
                    group.push(command);
                }
            }
            next = if bytes < GROUP_BYTES { self.inbox.try_recv().ok() } else { None };
        }
        (group, None)
    }

    fn commit(&mut self, mut group: Vec<Command>) {
        self.health.begins();
        let result = self.write(&mut group);
        let failure = result.as_ref().err().map(|failed| failed.trouble.clone());
        let took = self.health.ended(failure);
        self.metrics.commit.record(took);
        self.metrics.group.record(group.len() as f64);
        if let Err(Failed { error, .. }) = &result {
            tracing::error!(error, requests = group.len(), "a commit failed");
            self.metrics.failed_commits.increment(1);
        }
        let result = result.map_err(|failed| StoreError(failed.error));
        for command in group {
            if let Command::Append(_, asked) = &command {
                self.metrics.append.record(asked.at.elapsed());
            }
            command.settle(result.clone());
        }
    }

    fn write(&mut self, group: &mut [Command]) -> Result<(), Failed> {
        let written = write_group(self.connection()?, group);
        if written.is_err() {
            // What SQLite and the kernel still hold of the failed commit is not to be trusted: the next group starts from the disk.
            self.db = None;
        }
        Ok(written?)
    }

    /// To the database of the start: one that was put in its place is not written to, and none is made.
    fn connection(&mut self) -> Result<&mut Connection, Failed> {
        if let Some(gone) = self.folder.database.gone() {
            return Err(gone.into());
        }
        let db = match self.db.take() {
            Some(db) => db,
            None => schema::connect(&self.folder.database.path)?,
        };
        Ok(self.db.insert(db))
    }

    /// One batch when it is time; the next group brings the next batch while there are more.
    fn sweep(&mut self) {
        if let Some(db) = &self.db
            && Instant::now() >= self.next_sweep
        {
            match write::sweep(db) {
                Ok(true) => {}
                Ok(false) => self.next_sweep = Instant::now() + SWEEP_EVERY,
                Err(error) => {
                    tracing::warn!(%error, "old intake rows could not be removed");
                    self.next_sweep = Instant::now() + SWEEP_EVERY;
                }
            }
        }
    }

    fn close(mut self, mut asked: Asked<()>) {
        let noted = self.connection().and_then(|db| Ok(schema::note_clean(db)?)).map_err(|failed| StoreError(failed.error));
        if let Some(db) = self.db.take()
            && let Err(error) = db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        {
            tracing::warn!(%error, "the write-ahead log could not be emptied; the next start does it");
        }
        // The folder is free before the answer says so.
        drop(self);
        asked.outcome = Some(());
        asked.settle(noted);
    }
}

/// All of the group or nothing of it.
pub(super) fn write_group(db: &mut Connection, group: &mut [Command]) -> rusqlite::Result<()> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for command in group {
        command.run(&tx)?;
    }
    tx.commit()
}

impl Command {
    /// About how much of it goes to disk.
    fn bytes(&self) -> usize {
        match self {
            Self::Append(append, _) => append.bytes(),
            Self::SaveSnapshot(_, snapshot, _) => snapshot.state.len(),
            Self::SavePairing(_, json, _) => json.len(),
            Self::MarkDeleted(..) | Self::Erase(..) | Self::PutAliases(..) | Self::DeletePairing(..) | Self::Try(_) | Self::Close(_) => 0,
        }
    }

    fn run(&mut self, db: &Connection) -> rusqlite::Result<()> {
        match self {
            Self::Append(append, asked) => asked.outcome = Some(write::append(db, append)?),
            Self::SaveSnapshot(session, snapshot, asked) => asked.outcome = Some(write::save_snapshot(db, session, snapshot)?),
            Self::MarkDeleted(session, asked) => asked.outcome = Some(write::mark_deleted(db, session)?),
            Self::Erase(session, asked) => asked.outcome = Some(write::erase(db, session)?),
            Self::PutAliases(aliases, gone, asked) => {
                outside::remove_aliases(db, gone)?;
                asked.outcome = Some(outside::put_aliases(db, aliases)?);
            }
            Self::SavePairing(pairing, json, asked) => asked.outcome = Some(outside::save_pairing(db, pairing, json)?),
            Self::DeletePairing(tenant, code, asked) => asked.outcome = Some(outside::delete_pairing(db, tenant, code)?),
            Self::Try(asked) => asked.outcome = Some(schema::touch(db)?),
            Self::Close(asked) => asked.outcome = Some(()),
        }
        Ok(())
    }

    fn settle(self, commit: Result<(), StoreError>) {
        match self {
            Self::Append(_, asked) => asked.settle(commit),
            Self::MarkDeleted(_, asked) | Self::SavePairing(_, _, asked) | Self::DeletePairing(_, _, asked) => asked.settle(commit),
            Self::SaveSnapshot(_, _, asked)
            | Self::Erase(_, asked)
            | Self::PutAliases(_, _, asked)
            | Self::Try(asked)
            | Self::Close(asked) => asked.settle(commit),
        }
    }
}
