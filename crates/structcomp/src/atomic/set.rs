//! Files that belong together, in a folder that may hold others.

use super::lock::FolderLock;
use super::{AtomicFile, Target, exists};
use crate::matrix::MappedFile;
use crate::{Error, Result};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The files of one run. They are written to the subfolder `unfinished`, and replace those of an earlier run together.
///
/// The last of the names is the manifest, which can hold the checksums of the others, by name under `files`. Once it is
/// written, the set is complete: if the process is killed while the files are moved, the next set for this folder
/// completes that first. What is written before stays in `unfinished`, whatever happens, and the files of the earlier run
/// stay as they are.
pub struct FileSet {
    folder: PathBuf,
    names: &'static [&'static str],
    _lock: FolderLock,
}

impl FileSet {
    /// The subfolder of files that are not complete, or not at their place yet.
    pub const UNFINISHED: &str = "unfinished";

    /// Prepares a set in a folder, which is made if it does not exist. Fails if another run writes to it.
    pub fn create(folder: impl AsRef<Path>, names: &'static [&'static str]) -> Result<Self> {
        let set = Self { folder: folder.as_ref().to_owned(), names, _lock: FolderLock::of(folder.as_ref())? };
        for name in names {
            Target::of(&set.folder.join(name))?;
        }
        set.complete()?;
        super::check_writable(set.folder.join(names.last().unwrap_or(&"file")))?;
        Ok(set)
    }

    /// Makes room for the files; those that an earlier run did not finish are deleted.
    pub fn start(&self) -> Result<()> {
        let unfinished = self.unfinished();
        fs::create_dir_all(&unfinished).map_err(Error::io(&unfinished))?;
        self.names.iter().try_for_each(|name| remove(&self.file(name)))
    }

    fn unfinished(&self) -> PathBuf {
        self.folder.join(Self::UNFINISHED)
    }

    /// Where to write a file of the set.
    pub fn file(&self, name: &str) -> PathBuf {
        self.unfinished().join(name)
    }

    /// The files written so far.
    pub fn written(&self) -> Vec<PathBuf> {
        self.names.iter().map(|name| self.file(name)).filter(|file| file.exists()).collect()
    }

    /// SHA-256 of the files written so far, by name.
    pub fn checksums(&self) -> Result<BTreeMap<String, String>> {
        let mut checksums = BTreeMap::new();
        for path in self.names.iter().map(|name| self.file(name)) {
            if !exists(&path)? {
                continue;
            }
            let hash = Sha256::digest(&MappedFile::open(&path)?[..])
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            checksums.insert(path.file_name().unwrap_or_default().to_string_lossy().into_owned(), hash);
        }
        Ok(checksums)
    }

    /// Moves the files, of which the manifest must be one, to their final names. Files of an earlier set that this one
    /// lacks are deleted. Returns the files at their places.
    pub fn commit(self) -> Result<Vec<PathBuf>> {
        let mut moved = Vec::new();
        for name in self.names {
            match exists(&self.file(name))? {
                true => moved.push(self.folder.join(name)),
                false => self.remove_earlier(name)?,
            }
        }
        self.move_all()?;
        Ok(moved)
    }

    /// Goes on with the commit of a process that was killed. Which files the set lacks is in the manifest, as others may
    /// have been moved already.
    fn complete(&self) -> Result<()> {
        let Some((manifest, others)) = self.names.split_last() else { return Ok(()) };
        let manifest = self.file(manifest);
        if !exists(&manifest)? {
            return Ok(());
        }
        let text = fs::read(&manifest).map_err(Error::io(&manifest))?;
        let manifest: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
        if let Some(files) = manifest.get("files") {
            for lacking in others.iter().filter(|name| files.get(name).is_none()) {
                self.remove_earlier(lacking)?;
            }
        }
        self.move_all()
    }

    /// Deletes a file of an earlier set. Without a manifest, it is somebody else's.
    fn remove_earlier(&self, name: &str) -> Result<()> {
        match self.names.last() {
            Some(manifest) if exists(&self.folder.join(manifest))? => remove(&self.folder.join(name)),
            _ => Ok(()),
        }
    }

    /// In order, so that the manifest comes last, also on disk.
    fn move_all(&self) -> Result<()> {
        let flush = || super::flush_names(&self.folder).map_err(Error::io(&self.folder));
        for name in self.names {
            let from = self.file(name);
            if exists(&from)? {
                if Some(name) == self.names.last() {
                    flush()?;
                }
                move_file(&from, &self.folder.join(name))?;
            }
        }
        flush()
    }
}

/// Deletes a file if it is there.
fn remove(file: &Path) -> Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io(file)(error)),
        _ => Ok(()),
    }
}

impl Drop for FileSet {
    fn drop(&mut self) {
        // Only if it is empty.
        let _ = fs::remove_dir(self.unfinished());
    }
}

/// Renames a file, or writes its contents to what is there if that is a link or no file.
fn move_file(from: &Path, to: &Path) -> Result<()> {
    let file = File::open(from).map_err(Error::io(from))?;
    match Target::of(to)? {
        Target::File(place) if place == to => {
            super::keep_permissions(&file, to).map_err(Error::io(to))?;
            fs::rename(from, to).map_err(Error::io(to))
        }
        _ => {
            let mut target = AtomicFile::create(to)?;
            io::copy(&mut &file, &mut target).map_err(Error::io(to))?;
            target.commit()?;
            fs::remove_file(from).map_err(Error::io(from))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &[&str] = &["z.npy", "run.json"];

    fn write(set: &FileSet, run: &str) {
        set.start().unwrap();
        NAMES.iter().for_each(|name| fs::write(set.file(name), format!("{name} of {run}")).unwrap());
    }

    fn held(folder: &Path) -> Vec<(String, String)> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
        let files = entries.filter(|entry| entry.path().is_file());
        let text = |entry: fs::DirEntry| {
            (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap())
        };
        let mut held: Vec<_> = files.map(text).collect();
        held.sort();
        held
    }

    fn of_run(run: &str) -> Vec<(String, String)> {
        ["run.json", "z.npy"].map(|name| (name.into(), format!("{name} of {run}"))).to_vec()
    }

    #[test]
    fn the_files_of_two_runs_are_never_mixed() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("deep/r");
        let first = FileSet::create(&folder, NAMES).unwrap();
        assert!(FileSet::create(&folder, NAMES).is_err(), "one run at a time");
        write(&first, "one");
        assert_eq!(held(&folder), [], "nothing is there before the end");
        assert_eq!(first.checksums().unwrap().len(), 2);
        first.commit().unwrap();
        assert_eq!(held(&folder), of_run("one"));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "no other file or folder");

        let failed = FileSet::create(&folder, NAMES).unwrap();
        failed.start().unwrap();
        fs::write(failed.file("z.npy"), "z.npy of two").unwrap();
        assert_eq!(failed.written(), [folder.join("unfinished/z.npy")]);
        drop(failed);
        assert_eq!(held(&folder), of_run("one"));
        assert_eq!(held(&folder.join("unfinished")), [("z.npy".into(), "z.npy of two".into())]);

        let next = FileSet::create(&folder, NAMES).unwrap();
        write(&next, "three");
        next.commit().unwrap();
        assert_eq!(held(&folder), of_run("three"));
        assert!(!folder.join("unfinished").exists());
    }

    #[test]
    fn files_that_a_later_run_lacks_are_those_of_no_run() {
        let folder = tempfile::tempdir().unwrap();
        let held_by = |names: &[&str]| {
            let set = FileSet::create(folder.path(), NAMES).unwrap();
            set.start().unwrap();
            names.iter().for_each(|name| fs::write(set.file(name), *name).unwrap());
            set.commit().unwrap();
            held(folder.path()).into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        // Without a manifest of an earlier run, the file is somebody else's.
        fs::write(folder.path().join("z.npy"), "mine").unwrap();
        assert_eq!(held_by(&["run.json"]), ["run.json", "z.npy"]);
        assert_eq!(held_by(NAMES), ["run.json", "z.npy"]);
        assert_eq!(held_by(&["run.json"]), ["run.json"]);
    }

    #[test]
    fn a_set_that_was_killed_while_it_was_moved_is_completed() {
        let folder = tempfile::tempdir().unwrap();
        let set = FileSet::create(folder.path(), NAMES).unwrap();
        write(&set, "one");
        set.commit().unwrap();
        fs::write(folder.path().join("z.npy"), "z.npy of two").unwrap();
        fs::create_dir(folder.path().join("unfinished")).unwrap();
        fs::write(folder.path().join("unfinished/run.json"), "run.json of two").unwrap();
        drop(FileSet::create(folder.path(), NAMES).unwrap());
        assert_eq!(held(folder.path()), of_run("two"));
        assert!(!folder.path().join("unfinished").exists());
    }

    #[test]
    fn completing_a_killed_set_deletes_what_it_lacks() {
        let names: &[&str] = &["z.npy", "ids.txt", "run.json"];
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        names.iter().for_each(|name| write(name, "one"));
        fs::create_dir(folder.path().join(FileSet::UNFINISHED)).unwrap();
        // Killed after z.npy was moved, or before anything was: that cannot be seen from the files.
        write("unfinished/run.json", r#"{"files": {"z.npy": "1"}}"#);
        drop(FileSet::create(folder.path(), names).unwrap());
        assert_eq!(held(folder.path()).iter().map(|file| &file.0).collect::<Vec<_>>(), ["run.json", "z.npy"]);
        assert!(!folder.path().join(FileSet::UNFINISHED).exists());
    }

    #[test]
    fn what_cannot_be_replaced_is_refused_before_any_work() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("z.npy")).unwrap();
        assert!(FileSet::create(folder.path(), NAMES).is_err());
    }
}
