//! Folders that appear complete or not at all.

use super::temporary::{Unfinished, folder_in};
use super::{flush_names, folder_of};
use crate::{Error, Result};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A folder written under a temporary name. Dropping it leaves nothing behind.
pub(crate) struct Staging {
    // Deleted before its lock is given up.
    folder: TempDir,
    entry: Unfinished,
}

impl Staging {
    /// A new folder in `parent`, which is made if it does not exist.
    pub(crate) fn create_in(parent: &Path) -> Result<Self> {
        fs::create_dir_all(parent).map_err(Error::io(parent))?;
        let (folder, entry) = folder_in(parent).map_err(Error::io(parent))?;
        Ok(Self { folder, entry })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Moves the folder to `target`. A folder that is there is replaced in one step, and then deleted.
    pub(crate) fn replace(self, target: &Path) -> Result<()> {
        let staged = self.folder.path();
        let replaced = self.entry.complete(|| match fs::symlink_metadata(target) {
            Err(_) => fs::rename(staged, target).map(|()| false),
            Ok(_) => exchange(staged, target).or_else(|_| swap_by_renaming(staged, target)).map(|()| true),
        });
        match replaced.map_err(Error::io(target))? {
            true => self.folder.close().map_err(Error::io(target))?,
            // The folder has been moved, so there is nothing to delete.
            false => drop(self.folder.keep()),
        }
        flush_names(folder_of(target)).map_err(Error::io(target))
    }
}

/// Exchanges two folders in one step.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The same where the system cannot do it in one step; [`recover`] undoes what a crash leaves half done.
fn swap_by_renaming(staged: &Path, target: &Path) -> io::Result<()> {
    let aside = aside(target);
    fs::rename(target, &aside)?;
    if let Err(error) = fs::rename(staged, target) {
        fs::rename(&aside, target)?;
        return Err(error);
    }
    fs::rename(&aside, staged)
}

/// Where the old folder is between the two renames.
fn aside(target: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".structcomp-old-");
    name.push(target.file_name().unwrap_or_default());
    target.with_file_name(name)
}

/// Brings back a folder whose replacement was interrupted between two renames.
pub(crate) fn recover(target: &Path) -> Result<()> {
    let aside = aside(target);
    if !aside.is_dir() {
        return Ok(());
    }
    match target.exists() {
        true => fs::remove_dir_all(&aside).map_err(Error::io(&aside)),
        false => fs::rename(&aside, target).map_err(Error::io(target)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_replaced_in_one_step_or_two() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("data");
        for (at, swap) in [exchange, swap_by_renaming].into_iter().enumerate() {
            let staging = Staging::create_in(place.path()).unwrap();
            fs::write(staging.path().join("new"), "").unwrap();
            fs::create_dir_all(&target).unwrap();
            fs::write(target.join("old"), "").unwrap();
            match at {
                0 => staging.replace(&target).unwrap(),
                _ => swap(staging.path(), &target).unwrap(),
            }
            assert!(target.join("new").exists() && !target.join("old").exists());
            fs::remove_dir_all(&target).unwrap();
            assert_eq!(fs::read_dir(place.path()).unwrap().count(), at, "the old folder is in its place");
        }
    }

    #[test]
    fn a_folder_that_a_crash_put_aside_comes_back() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("data");
        fs::create_dir(aside(&target)).unwrap();
        fs::write(aside(&target).join("graph.scg"), "years of work").unwrap();
        recover(&target).unwrap();
        assert_eq!(fs::read_to_string(target.join("graph.scg")).unwrap(), "years of work");
        recover(&target).unwrap();
        fs::create_dir(aside(&target)).unwrap();
        recover(&target).unwrap();
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
    }
}
