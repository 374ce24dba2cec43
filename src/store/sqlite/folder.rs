//! The folder that holds the database, and the lock that lets one process at a time have it.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::OpenError;

const DATABASE: &str = "portico.db";
const LOCK: &str = "portico.lock";
/// How long a lock may outlive its process in a child that has not become its own program yet.
const HANDED_ON: Duration = Duration::from_secs(1);

/// The folder is ours while this value lives. The kernel lets go of the lock with the process, however that ends.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) database: PathBuf,
    _lock: File,
}

impl Folder {
    /// Makes the folder (0700) and an empty database file (0600) where they are missing, and takes the lock.
    pub(super) fn take(dir: &Path) -> Result<Self, OpenError> {
        let failed = |source| OpenError::Folder { path: dir.to_owned(), source };
        if !dir.is_dir() {
            DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(failed)?;
            sync_parent(dir).map_err(failed)?;
        }
        let open = |name| OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(dir.join(name));
        let lock = open(LOCK).map_err(failed)?;
        take(&lock).map_err(|error| match error {
            TryLockError::WouldBlock => OpenError::InUse { path: dir.to_owned() },
            TryLockError::Error(source) => failed(source),
        })?;
        // SQLite gives its companion files the mode of the database: the secret in it is nobody else's, also in a folder that was there.
        open(DATABASE).map_err(failed)?;
        Ok(Self { database: dir.join(DATABASE), _lock: lock })
    }
}

/// A process that was killed while it started another left the lock with that one, for the moment until it becomes another program.
fn take(lock: &File) -> Result<(), TryLockError> {
    let until = Instant::now() + HANDED_ON;
    loop {
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) if Instant::now() < until => thread::sleep(HANDED_ON / 20),
            taken => return taken,
        }
    }
}

/// SQLite syncs the folder, but not the entry of a new folder in its parent.
fn sync_parent(dir: &Path) -> std::io::Result<()> {
    match dir.canonicalize()?.parent() {
        Some(parent) => File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}
