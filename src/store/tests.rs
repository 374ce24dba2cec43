//! The port's contract: each test runs on every engine.

use super::Store;
use super::memory::MemoryStore;
use super::sqlite::SqliteStore;
use crate::meter::Meter;
use crate::test_folder::TestFolder;

mod append;
mod deletion;
mod lists;
mod outside;
mod random;
pub(crate) mod samples;

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
        let folder = TestFolder::absent();
        Self { store: SqliteStore::open(folder.path(), &Meter::none()).unwrap(), folder }
    }

    fn store(&self) -> &dyn Store {
        &self.store
    }

    fn restart(self) -> Self {
        let Self { store, folder } = self;
        drop(store);
        Self { store: SqliteStore::open(folder.path(), &Meter::none()).unwrap(), folder }
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
