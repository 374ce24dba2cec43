//! The connections that only read: a few, each used by one call at a time on a blocking thread. No read transaction outlives its call, so a
//! slow reader of the feed never pins the write-ahead log.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use metrics::Counter;
use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::schema;
use crate::store::{StoreError, StoreFuture};

/// Enough to overlap reads with the writer; more would only queue for the same disk and cores.
const READERS: usize = 4;

/// Opened when first needed, and kept.
#[derive(Clone, Debug)]
pub(super) struct Readers {
    database: PathBuf,
    failed: Counter,
    permits: Arc<Semaphore>,
    /// The one who asks whether the disk can be read does not wait for those who read it: that would be no answer.
    probe: Arc<Semaphore>,
    idle: Arc<Mutex<Vec<Connection>>>,
}

impl Readers {
    pub(super) fn new(database: PathBuf, failed: Counter) -> Self {
        Self { database, failed, permits: Arc::new(Semaphore::new(READERS)), probe: Arc::new(Semaphore::new(1)), idle: Arc::default() }
    }

    /// Runs `query` when a connection is free.
    pub(super) fn run<T, Q>(&self, query: Q) -> StoreFuture<T>
    where
        T: Send + 'static,
        Q: FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    {
        self.permitted(&self.permits, query)
    }

    /// Runs `query` however many others read, one at a time.
    pub(super) fn probe<T, Q>(&self, query: Q) -> StoreFuture<T>
    where
        T: Send + 'static,
        Q: FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    {
        self.permitted(&self.probe, query)
    }

    fn permitted<T, Q>(&self, permits: &Arc<Semaphore>, query: Q) -> StoreFuture<T>
    where
        T: Send + 'static,
        Q: FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let (readers, permits) = (self.clone(), Arc::clone(permits));
        Box::pin(async move {
            let permit = permits.acquire_owned().await.map_err(|_| super::closed())?;
            let work = tokio::task::spawn_blocking(move || {
                // Moved in: the connection is in use until the query ends, also when nobody waits for it any more.
                let _permit = permit;
                readers.with_connection(query).inspect_err(|_| readers.failed.increment(1))
            });
            work.await.unwrap_or_else(|error| Err(StoreError(error.to_string())))
        })
    }

    fn with_connection<T>(&self, query: impl FnOnce(&mut Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let idle = self.idle().pop();
        let mut db = match idle {
            Some(db) => db,
            None => schema::connect_reader(&self.database)?,
        };
        let answer = query(&mut db)?;
        // One whose query failed is not kept: the next call opens a fresh one.
        let mut idle = self.idle();
        if !self.permits.is_closed() {
            idle.push(db);
        }
        Ok(answer)
    }

    /// Queries under way end; later ones fail.
    pub(super) fn close(&self) {
        self.permits.close();
        self.probe.close();
        self.idle().clear();
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
