//! One writer per folder.

use crate::{Error, Result};
use std::fs::{File, TryLockError};
use std::path::Path;

/// A folder that no other process writes to as long as this lives; the end of the process ends it too.
#[derive(Debug)]
pub struct FolderLock {
    _handle: Option<File>,
}

impl FolderLock {
    /// Locks a folder, which is made if it does not exist; fails if another run writes to it.
    pub fn of(folder: impl AsRef<Path>) -> Result<Self> {
        let folder = folder.as_ref();
        super::make_folder(folder)?;
        // Not every system can open a folder, nor every file system lock one.
        let handle = File::open(folder).ok();
        match handle.as_ref().map(File::try_lock) {
            Some(Err(TryLockError::WouldBlock)) => {
                Err(Error::format(folder, "is in use by another run; wait for it or choose another folder"))
            }
            _ => Ok(Self { _handle: handle }),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_folder_has_one_writer_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let first = FolderLock::of(folder.path()).unwrap();
        let said = FolderLock::of(folder.path()).unwrap_err().to_string();
        assert!(said.contains("in use by another run"), "{said}");
        drop(first);
        FolderLock::of(folder.path()).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "a lock leaves nothing");
    }
}
