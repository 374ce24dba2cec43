//! The local key: proof that its holder reads the files of whoever runs the gateway.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use anyhow::{Context, bail};
use secrecy::SecretString;
use uuid::Uuid;

/// The file's name in the store's folder.
pub const FILE: &str = "local.key";

/// Reads the key, and makes it at the first start: mode 0600, 244 random bits.
///
/// # Errors
/// When the file can be neither read nor made.
pub fn ensure(folder: &Path) -> anyhow::Result<SecretString> {
    let path = folder.join(FILE);
    let key = format!("pl_{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
        Ok(mut file) => {
            let written = file.write_all(key.as_bytes()).and_then(|()| file.sync_all());
            written.with_context(|| format!("{} cannot be written", path.display()))?;
            Ok(key.into())
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            keep_private(&path)?;
            read(&path)
        }
        Err(error) => Err(error).with_context(|| format!("{} cannot be made", path.display())),
    }
}

/// A key that others can read is theirs too.
fn keep_private(path: &Path) -> anyhow::Result<()> {
    let mode = fs::metadata(path).with_context(|| format!("{} cannot be read", path.display()))?.permissions().mode();
    if mode & 0o077 == 0 {
        return Ok(());
    }
    tracing::warn!(path = %path.display(), mode = format!("{:o}", mode & 0o777), "others could read the local key; its mode is 600 again");
    fs::set_permissions(path, Permissions::from_mode(0o600)).with_context(|| format!("{} cannot be made private", path.display()))
}

/// Reads a key that is there.
///
/// # Errors
/// When there is none, or it is not a local key.
pub fn read(path: &Path) -> anyhow::Result<SecretString> {
    let text = fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let key = text.trim();
    if !key.starts_with("pl_") || key.len() < 40 {
        bail!("{} does not hold a local key: remove it, and the next start makes a new one", path.display());
    }
    Ok(key.into())
}
