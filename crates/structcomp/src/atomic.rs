//! Atomic writes: a file appears complete or not at all.

use crate::{Error, Result};
use std::{
    fs::{self, File},
    io::{self, BufWriter, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};
use tempfile::NamedTempFile;

/// A file written under a temporary name in the target's folder and renamed by [`commit`].
///
/// Dropping it without `commit`, as any error does, leaves nothing behind.
///
/// [`commit`]: AtomicFile::commit
pub(crate) struct AtomicFile {
    writer: BufWriter<NamedTempFile>,
    path: PathBuf,
}

impl AtomicFile {
    /// Starts writing `path`; missing folders are created.
    pub(crate) fn create(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        if path.is_dir() {
            return Err(Error::format(path, "is a folder; name a file to write"));
        }
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        fs::create_dir_all(folder).map_err(Error::io(folder))?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(".structcomp-").suffix(".part");
        // Temporary files are private by default; this one gets the usual mode, subject to the umask.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder.tempfile_in(folder).map_err(Error::io(path))?;
        Ok(Self { writer: BufWriter::with_capacity(1 << 20, file), path: path.to_owned() })
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
        let path = self.path;
        let file = self.writer.into_inner().map_err(|error| Error::io(&path)(error.into_error()))?;
        file.as_file().sync_all().map_err(Error::io(&path))?;
        file.persist(&path).map_err(|error| Error::io(&path)(error.error))?;
        Ok(())
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
}
