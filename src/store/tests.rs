//! The port's contract: each test runs on every engine.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::Store;
use super::memory::MemoryStore;
use super::sqlite::SqliteStore;

mod append;
mod deletion;
mod lists;
mod random;
pub(super) mod samples;

/// Makes of each `async fn test(engine: impl Engine)` of a module one test an engine.
macro_rules! on_each_engine {
    ($($test:ident),* $(,)?) => {
        mod sqlite {
            $(#[tokio::test] async fn $test() { super::$test(<crate::store::tests::Sqlite as crate::store::tests::Engine>::start()).await })*
        }
        mod memory {
            $(#[tokio::test] async fn $test() { super::$test(<crate::store::tests::Memory as crate::store::tests::Engine>::start()).await })*
        }
    };
}
use on_each_engine;

pub(super) trait Engine {
    /// A new store.
    fn start() -> Self;

    fn store(&self) -> &dyn Store;

    /// The next process, after one that did not stop gracefully unless it had closed its store.
    fn restart(self) -> Self;
}

#[derive(Debug)]
pub(super) struct Sqlite {
    // Before the folder, which goes when the store has let go of it.
    store: SqliteStore,
    folder: TestFolder,
}

impl Engine for Sqlite {
    fn start() -> Self {
        let folder = TestFolder::new();
        Self { store: SqliteStore::open(folder.path()).unwrap(), folder }
    }

    fn store(&self) -> &dyn Store {
        &self.store
    }

    fn restart(self) -> Self {
        let Self { store, folder } = self;
        drop(store);
        Self { store: SqliteStore::open(folder.path()).unwrap(), folder }
    }
}

#[derive(Debug)]
pub(super) struct Memory(MemoryStore);

impl Engine for Memory {
    fn start() -> Self {
        Self(MemoryStore::new())
    }

    fn store(&self) -> &dyn Store {
        &self.0
    }

    fn restart(self) -> Self {
        Self(self.0.reopen())
    }
}

/// A path in the system's folder for such things, removed with the value. The folder is not made.
#[derive(Debug)]
pub(super) struct TestFolder(PathBuf);

impl TestFolder {
    pub(super) fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("portico-store-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        Self(std::env::temp_dir().join(name))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}
