//! Atomic writes: files, sets of files and folders appear complete or not at all.
//!
//! This is the only place that writes files under their final names.

mod lock;
mod set;
mod staging;
mod temporary;

pub use lock::FolderLock;
pub use set::FileSet;
pub(crate) use staging::{Staging, recover};
pub use temporary::{ScratchFolder, discard_unfinished};

use crate::{Error, Result};
use std::{
    fs::{self, File},
    io::{self, BufWriter, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};
use tempfile::NamedTempFile;
use temporary::Unfinished;

/// A file written under a temporary name in the target's folder and renamed by [`commit`].
///
/// Dropping it without `commit`, as any error does, leaves nothing behind. A file that is replaced hands on its
/// permissions. Links are followed; pipes and devices get the contents at the end.
///
/// [`commit`]: AtomicFile::commit
pub(crate) struct AtomicFile {
    writer: BufWriter<NamedTempFile>,
    entry: Unfinished,
    path: PathBuf,
    target: Target,
}

/// Where the contents go in the end.
enum Target {
    /// A file of this name, which may not exist yet.
    File(PathBuf),
    /// A pipe or a device.
    Stream,
}

impl Target {
    fn of(path: &Path) -> Result<Self> {
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => Err(Error::format(path, "is a folder; name a file to write")),
            Ok(found) if !found.is_file() => Ok(Self::Stream),
            _ => behind_links(path).map(Self::File),
        }
    }
}

/// Follows links, also to a file that does not exist yet.
fn behind_links(path: &Path) -> Result<PathBuf> {
    let mut place = path.to_owned();
    // As many as Linux follows.
    for _ in 0..40 {
        let Ok(next) = fs::read_link(&place) else { return Ok(place) };
        place = place.parent().unwrap_or(Path::new("")).join(next);
    }
    Err(Error::format(path, "is a link that leads nowhere"))
}

/// Gives a new file the permissions of the one that it replaces and, as far as allowed, its owner.
fn keep_permissions(file: &File, replaced: &Path) -> io::Result<()> {
    let before = match fs::metadata(replaced) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        // What cannot be looked at may be private.
        before => before?,
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        // Only root may give files away.
        let _ = fchown(file, Some(before.uid()), Some(before.gid()));
    }
    file.set_permissions(before.permissions())
}

/// The folder of a file.
fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Flushes the names in a folder to disk, so that they outlive a power failure, where the file system can.
fn flush_names(folder: &Path) -> io::Result<()> {
    use io::ErrorKind::{InvalidInput, IsADirectory, PermissionDenied, Unsupported};
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        Err(error)
            if matches!(error.kind(), InvalidInput | IsADirectory | PermissionDenied | Unsupported) =>
        {
            Ok(())
        }
        flushed => flushed,
    }
}

/// Makes a folder and those above it.
pub(crate) fn make_folder(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(|error| {
        let file = folder.ancestors().find(|part| part.exists() && !part.is_dir());
        match file {
            Some(file) => Error::format(file, "is a file, not a folder"),
            None => Error::io(folder)(error),
        }
    })
}

/// Whether there is such a file or folder; a disk that cannot tell is an error.
pub(crate) fn exists(path: &Path) -> Result<bool> {
    path.try_exists().map_err(Error::io(path))
}

/// Fails if a file cannot be written, so that a long computation need not find out at its end.
pub fn check_writable(path: impl AsRef<Path>) -> Result<()> {
    AtomicFile::create(path).map(drop)
}

/// Writes a text file atomically.
pub fn write_text(path: impl AsRef<Path>, text: &str) -> Result<()> {
    let mut file = AtomicFile::create(path)?;
    file.write(text.as_bytes())?;
    file.commit()
}

impl AtomicFile {
    /// Starts writing `path`; missing folders are created.
    pub(crate) fn create(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let target = Target::of(path)?;
        let folder = match &target {
            Target::File(file) => folder_of(file).to_owned(),
            Target::Stream => std::env::temp_dir(),
        };
        make_folder(&folder)?;
        let (file, entry) = temporary::file_in(&folder).map_err(Error::io(path))?;
        if let Target::File(replaced) = &target {
            keep_permissions(file.as_file(), replaced).map_err(Error::io(path))?;
        }
        Ok(Self { writer: BufWriter::with_capacity(1 << 20, file), entry, path: path.to_owned(), target })
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.writer.write_all(bytes).map_err(Error::io(&self.path))
    }

    /// Overwrites the bytes at `at`, then seeks back to the end.
    pub(crate) fn write_at(&mut self, at: u64, bytes: &[u8]) -> Result<()> {
        let mut patch = || -> io::Result<()> {
            self.writer.seek(SeekFrom::Start(at))?;
            self.writer.write_all(bytes)?;
            self.writer.seek(SeekFrom::End(0))?;
            Ok(())
        };
        patch().map_err(Error::io(&self.path))
    }

    /// Seeks to `at`; a gap that nothing was written to reads as zeros.
    pub(crate) fn seek_to(&mut self, at: u64) -> Result<()> {
        self.writer.seek(SeekFrom::Start(at)).map_err(Error::io(&self.path))?;
        Ok(())
    }

    pub(crate) fn folder(&self) -> &Path {
        self.writer.get_ref().path().parent().unwrap_or(Path::new("."))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A second handle on the same file, with its own position.
    pub(crate) fn reopen(&self) -> Result<File> {
        self.writer.get_ref().reopen().map_err(Error::io(&self.path))
    }

    /// Flushes the file to disk and renames it to its final path.
    pub(crate) fn commit(self) -> Result<()> {
        let Self { writer, entry, path, target } = self;
        let mut file = writer.into_inner().map_err(|error| Error::io(&path)(error.into_error()))?;
        let written = match &target {
            Target::File(place) => file
                .as_file()
                .sync_all()
                .and_then(|()| entry.complete(|| file.persist(place)).map(drop).map_err(|error| error.error))
                .and_then(|()| flush_names(folder_of(place))),
            Target::Stream => file.rewind().and_then(|()| {
                let mut stream = File::options().write(true).open(&path)?;
                io::copy(&mut file, &mut stream).map(drop)
            }),
        };
        written.map_err(Error::io(&path))
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_whole_or_absent() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/out.bin");
        let mut file = AtomicFile::create(&path).unwrap();
        AtomicFile::write(&mut file, b"----data").unwrap();
        file.write_at(0, b"head").unwrap();
        AtomicFile::write(&mut file, b"!").unwrap();
        assert!(!path.exists(), "nothing there before commit");
        file.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"headdata!");

        let mut given_up = AtomicFile::create(folder.path().join("other")).unwrap();
        AtomicFile::write(&mut given_up, b"half").unwrap();
        drop(given_up);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "only deep/ is left");
        assert!(AtomicFile::create(folder.path()).is_err());
    }
    #[cfg(unix)]
    #[test]
    fn permissions_and_links_survive() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("deep")).unwrap();
        fs::write(at("deep/secret"), "old").unwrap();
        fs::set_permissions(at("deep/secret"), PermissionsExt::from_mode(0o600)).unwrap();
        symlink("deep/secret", at("link")).unwrap();
        symlink("deep/new", at("dangling")).unwrap();
        symlink("loop", at("loop")).unwrap();
        write_text(at("link"), "new").unwrap();
        write_text(at("dangling"), "new").unwrap();
        assert!(at("link").is_symlink() && at("dangling").is_symlink());
        assert_eq!(fs::read_to_string(at("deep/secret")).unwrap(), "new");
        assert_eq!(fs::read_to_string(at("deep/new")).unwrap(), "new");
        let mode = |name: &str| fs::metadata(at(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode("deep/secret"), 0o600);
        write_text(at("usual"), "new").unwrap();
        fs::write(at("theirs"), "").unwrap();
        assert_eq!(mode("usual"), mode("theirs"));
        assert!(write_text(at("loop"), "new").is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn devices_and_pipes_are_written_through() {
        use std::os::unix::fs::FileTypeExt;
        write_text(Path::new("/dev/null"), "nothing").unwrap();
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
        assert!(write_text(Path::new("/dev/full"), "too much").is_err());
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = {
            let pipe = pipe.clone();
            std::thread::spawn(move || fs::read_to_string(pipe).unwrap())
        };
        write_text(&pipe, "through").unwrap();
        assert_eq!(reader.join().unwrap(), "through");
        assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
