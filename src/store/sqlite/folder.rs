//! The folder that holds the database, and the lock that lets one process at a time have it.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::OpenError;
use crate::store::Trouble;

const DATABASE: &str = "portico.db";
const LOCK: &str = "portico.lock";
/// How long a lock may outlive its process in a child that has not become its own program yet.
const HANDED_ON: Duration = Duration::from_secs(1);

/// The folder is ours while this value lives. The kernel lets go of the lock with the process, however that ends.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) database: Database,
    _lock: File,
}

/// The database file as it was at the start. Its path may come to lead elsewhere: the folder is removed, or another is put in its place.
#[derive(Clone, Debug)]
pub(super) struct Database {
    pub(super) path: PathBuf,
    /// Device and inode.
    file: (u64, u64),
}

impl Database {
    /// Where the path leads to it no more, what to tell the operator: what is written to a file without a name is gone with the process.
    pub(super) fn gone(&self) -> Option<Trouble> {
        let why = match fs::metadata(&self.path) {
            Ok(found) if identity(&found) == self.file => return None,
            Ok(_) => "is another file than at the start",
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => "is not there any more",
            // whether it can be read is asked otherwise
            Err(_) => return None,
        };
        let detail = format!("{} {why}; put the store's folder back, or stop the gateway and restore a backup", self.path.display());
        Some(Trouble { code: "store_gone", detail })
    }
}

fn identity(file: &Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
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
        let file = open(DATABASE).and_then(|file| file.metadata()).map_err(failed)?;
        let database = Database { path: dir.join(DATABASE), file: identity(&file) };
        Ok(Self { database, _lock: lock })
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
