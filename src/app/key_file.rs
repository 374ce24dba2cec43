//! Keys that the gateway makes for itself and keeps in the store's folder: proof that their holder reads the files of whoever runs it.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

use crate::domain::api_key;

/// What the local key begins with.
const LOCAL_PREFIX: &str = "pl_";
/// The fewest characters of a key that was written whole.
const SHORTEST: usize = 40;

/// Which key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyFile {
    /// Of the local administrator, good on this machine.
    Local,
    /// An API key of the administrator, good from anywhere.
    Admin,
}

impl KeyFile {
    fn name(self) -> &'static str {
        match self {
            Self::Local => "local.key",
            Self::Admin => "admin.key",
        }
    }

    fn prefix(self) -> &'static str {
        match self {
            Self::Local => LOCAL_PREFIX,
            Self::Admin => api_key::PREFIX,
        }
    }

    /// Where it stands in the store's folder.
    pub fn path(self, folder: &Path) -> PathBuf {
        folder.join(self.name())
    }

    /// Reads the key, and makes it where there is none, with mode 0600. For the process that has the folder to itself.
    ///
    /// # Errors
    /// When the file can be neither read nor made, or holds no key: nobody is served without one.
    pub fn ensure(self, folder: &Path) -> anyhow::Result<SecretString> {
        let path = self.path(folder);
        match fs::metadata(&path) {
            Ok(_) => {
                keep_private(&path)?;
                self.read(folder)
            }
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error).with_context(|| format!("{} cannot be read", path.display())),
            Err(_) => {
                let key = fresh(self.prefix());
                write_whole(folder, &path, &key).with_context(|| format!("{} cannot be made", path.display()))?;
                Ok(key)
            }
        }
    }

    /// Reads a key that is there.
    ///
    /// # Errors
    /// When there is none, or it is not such a key.
    pub fn read(self, folder: &Path) -> anyhow::Result<SecretString> {
        let path = self.path(folder);
        let text = fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        let key = text.trim();
        if !key.starts_with(self.prefix()) || key.len() < SHORTEST {
            bail!("{} does not hold a key of its kind: remove it, and the next start makes a new one", path.display());
        }
        Ok(key.into())
    }
}

/// A new API key, which nobody has yet.
pub fn new_api_key() -> SecretString {
    fresh(api_key::PREFIX)
}

/// 244 bits from the operating system's own source.
fn fresh(prefix: &str) -> SecretString {
    format!("{prefix}{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple()).into()
}

/// All of it or nothing stands at the path, whenever the process or the machine ends.
fn write_whole(folder: &Path, path: &Path, key: &SecretString) -> io::Result<()> {
    let unfinished = path.with_extension("key.new");
    // what a process before this one left is no key of anybody
    match fs::remove_file(&unfinished) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
    file.write_all(key.expose_secret().as_bytes())?;
    file.sync_all()?;
    fs::rename(&unfinished, path)?;
    File::open(folder)?.sync_all()
}

/// A key that others can read is theirs too.
fn keep_private(path: &Path) -> anyhow::Result<()> {
    let mode = fs::metadata(path).with_context(|| format!("{} cannot be read", path.display()))?.permissions().mode();
    if mode & 0o077 == 0 {
        return Ok(());
    }
    tracing::warn!(path = %path.display(), mode = format!("{:o}", mode & 0o777), "others could read this key; its mode is 600 again");
    fs::set_permissions(path, Permissions::from_mode(0o600)).with_context(|| format!("{} cannot be made private", path.display()))
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;
    use crate::test_folder::TestFolder;

    #[test]
    fn each_is_made_once_and_is_its_own() {
        let folder = TestFolder::empty();
        for (file, prefix) in [(KeyFile::Local, "pl_"), (KeyFile::Admin, "pk_")] {
            let made = file.ensure(folder.path()).unwrap();
            assert!(made.expose_secret().starts_with(prefix) && made.expose_secret().len() == 3 + 64);
            fs::set_permissions(file.path(folder.path()), Permissions::from_mode(0o644)).unwrap();
            assert_eq!(file.ensure(folder.path()).unwrap().expose_secret(), made.expose_secret());
            assert_eq!(fs::metadata(file.path(folder.path())).unwrap().permissions().mode() & 0o777, 0o600);
        }
        fs::copy(KeyFile::Local.path(folder.path()), KeyFile::Admin.path(folder.path())).unwrap();
        assert!(KeyFile::Admin.ensure(folder.path()).is_err(), "another kind of key");
        fs::write(KeyFile::Admin.path(folder.path()), "pk_").unwrap();
        assert!(KeyFile::Admin.ensure(folder.path()).is_err(), "a key that was not written whole");
        assert_ne!(new_api_key().expose_secret(), new_api_key().expose_secret());
    }

    #[test]
    fn a_start_that_was_cut_off_does_not_stop_the_next() {
        let folder = TestFolder::empty();
        folder.write("local.key.new", "pl_half");
        let made = KeyFile::Local.ensure(folder.path()).unwrap();
        assert_eq!(made.expose_secret().len(), 3 + 64);
        assert_eq!(fs::metadata(KeyFile::Local.path(folder.path())).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    }

    #[test]
    fn the_file_is_never_there_without_its_key() {
        let folder = TestFolder::empty();
        // where the key cannot be written, its file is not made
        fs::create_dir(folder.path().join("admin.key.new")).unwrap();
        KeyFile::Admin.ensure(folder.path()).unwrap_err();
        assert!(!KeyFile::Admin.path(folder.path()).exists());
    }
}
