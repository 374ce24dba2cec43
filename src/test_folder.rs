//! A folder of one test's own, removed with the value however the test ends. In tests only.

use std::path::{Path, PathBuf};

use uuid::Uuid;

/// A path in the system's folder for such things.
#[derive(Debug)]
pub(crate) struct TestFolder(PathBuf);

impl TestFolder {
    /// The path alone: the folder is for whoever is tested to make.
    pub(crate) fn absent() -> Self {
        Self(std::env::temp_dir().join(format!("portico-test-{}", Uuid::now_v7())))
    }

    /// An empty folder.
    pub(crate) fn empty() -> Self {
        let folder = Self::absent();
        let made = std::fs::create_dir(folder.path());
        assert!(made.is_ok(), "{folder:?}: {made:?}");
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file; its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        let written = std::fs::write(&path, text);
        assert!(written.is_ok(), "{path:?}: {written:?}");
        path
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        // a path that was never made is none that is left
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
