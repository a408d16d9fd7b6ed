//! Temporary files and folders. Their names show what they are, a lock shows that somebody still writes them, and what
//! nobody writes any more is deleted by whoever writes next in the same folder.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::{Builder, NamedTempFile, TempDir};

const PREFIX: &str = ".structcomp-";
const SUFFIX: &str = ".part";

/// What this process is writing.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn unfinished() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Deletes everything that this process is writing, before it ends on a signal. Threads that want to start or complete
/// a file wait from now on, so nothing new appears.
pub fn discard_unfinished() {
    let unfinished = unfinished();
    unfinished.iter().for_each(|path| remove(path));
    std::mem::forget(unfinished);
}

/// A temporary file or folder that is deleted on a signal, as long as this lives.
pub(super) struct Unfinished {
    path: PathBuf,
    /// Holds the lock of a folder; a file is locked by its own handle.
    lock: Option<File>,
}

impl Unfinished {
    /// Makes a file or folder. No signal comes between that and taking note of it.
    fn begin<T>(make: impl FnOnce() -> io::Result<T>, path: impl Fn(&T) -> &Path) -> io::Result<(T, Self)> {
        let mut unfinished = unfinished();
        let made = make()?;
        let path = path(&made).to_owned();
        unfinished.insert(path.clone());
        Ok((made, Self { path, lock: None }))
    }

    /// Gives the file or folder its final name, which no signal interrupts.
    pub(super) fn complete<T>(&self, rename: impl FnOnce() -> T) -> T {
        let _no_signal = unfinished();
        rename()
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        unfinished().remove(&self.path);
    }
}

/// A new temporary file in a folder, after a sweep.
pub(super) fn file_in(folder: &Path) -> io::Result<(NamedTempFile, Unfinished)> {
    sweep(folder);
    loop {
        // Temporary files are private by default; this one gets the usual mode, subject to the umask.
        let make = || builder(0o666).tempfile_in(folder);
        let (file, entry) = Unfinished::begin(make, NamedTempFile::path)?;
        if is_ours(file.as_file(), file.path()) {
            return Ok((file, entry));
        }
    }
}

/// A new temporary folder in a folder, after a sweep.
pub(super) fn folder_in(parent: &Path) -> io::Result<(TempDir, Unfinished)> {
    sweep(parent);
    loop {
        let (folder, mut entry) = Unfinished::begin(|| builder(0o777).tempdir_in(parent), TempDir::path)?;
        // Folders cannot be opened, and so not be locked, on every system.
        entry.lock = File::open(folder.path()).ok();
        if entry.lock.as_ref().is_none_or(|lock| is_ours(lock, folder.path())) {
            return Ok((folder, entry));
        }
    }
}

/// A folder for what is needed only while the program runs; it is deleted when this is dropped, or on a signal.
pub struct ScratchFolder {
    folder: TempDir,
    _entry: Unfinished,
}

impl ScratchFolder {
    /// A new one in the system's folder for temporary files.
    pub fn create() -> crate::Result<Self> {
        let parent = std::env::temp_dir();
        let (folder, entry) = folder_in(&parent).map_err(crate::Error::io(&parent))?;
        Ok(Self { folder, _entry: entry })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

fn builder(mode: u32) -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
    #[cfg(not(unix))]
    let _ = mode;
    builder
}

/// Locks what was just created, unless a sweep of another process was faster.
fn is_ours(handle: &File, path: &Path) -> bool {
    !matches!(handle.try_lock(), Err(TryLockError::WouldBlock)) && path.exists()
}

/// Deletes temporary files and folders that no living process has locked. Whatever cannot be deleted stays.
fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let named = |name: &str| name.starts_with(PREFIX) && name.ends_with(SUFFIX);
    for entry in entries.flatten().filter(|entry| entry.file_name().to_str().is_some_and(named)) {
        let path = entry.path();
        let handle = match entry.file_type() {
            Ok(kind) if kind.is_dir() => File::open(&path),
            Ok(kind) if kind.is_file() => File::options().write(true).open(&path),
            _ => continue,
        };
        if handle.is_ok_and(|handle| handle.try_lock().is_ok()) {
            remove(&path);
        }
    }
}

fn remove(path: &Path) {
    // There is nobody to tell if it fails.
    let _ = fs::remove_file(path).or_else(|_| fs::remove_dir_all(path));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_a_dead_process_left_is_swept_and_what_a_living_one_writes_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path();
        fs::write(place.join(".structcomp-dead.part"), "half").unwrap();
        fs::create_dir(place.join(".structcomp-gone.part")).unwrap();
        fs::write(place.join(".structcomp-gone.part/graph.scg"), "half").unwrap();
        fs::write(place.join(".structcomp-notes"), "mine").unwrap();
        let (file, _file_entry) = file_in(place).unwrap();
        let (staged, _folder_entry) = folder_in(place).unwrap();
        sweep(place);
        assert!(file.path().exists() && staged.path().exists());
        assert_eq!(names(place).len(), 3, "{:?}", names(place));
        drop((file, staged));
        assert_eq!(names(place), [".structcomp-notes"]);
    }
}
