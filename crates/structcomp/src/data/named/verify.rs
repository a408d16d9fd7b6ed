//! Verifies the files of named datasets.

use super::{File, NamedDataset};
use crate::{Error, Result, data::hex};
use sha2::{Digest, Sha256};
use std::{fs, io::Read, path::Path};

/// Progress of the work on one file.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Name in the dataset's folder.
    pub file: &'a str,
    /// The current operation.
    pub stage: FileStage,
    /// Bytes done so far.
    pub done: u64,
    /// Bytes in total, if known.
    pub total: Option<u64>,
}

/// The current operation on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileStage {
    /// Downloading.
    Download,
    /// Computing the checksum.
    Check,
    /// Extracting from an archive.
    Unpack,
}

/// The result for one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Name in the dataset's folder.
    pub name: String,
    /// Whether the dataset can be read without it.
    pub optional: bool,
    /// How the file compares to the published one.
    pub state: FileState,
}

/// How a file compares to the published one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileState {
    /// Size and checksum are correct.
    Ok,
    /// The file does not exist.
    Missing,
    /// The size is wrong.
    SizeDiffers {
        /// Published size in bytes.
        expected: u64,
        /// Actual size in bytes.
        found: u64,
    },
    /// The checksum is wrong.
    ChecksumDiffers {
        /// Published SHA-256.
        expected: String,
        /// Actual SHA-256.
        found: String,
    },
    /// The file exists, but its checksum is not known in advance.
    NotOnRecord {
        /// Actual SHA-256.
        found: String,
    },
}

impl Verified {
    /// Whether this is an error: a required file is missing, or a file differs from the published one.
    pub fn is_fault(&self) -> bool {
        match self.state {
            FileState::Ok | FileState::NotOnRecord { .. } => false,
            FileState::Missing => !self.optional,
            FileState::SizeDiffers { .. } | FileState::ChecksumDiffers { .. } => true,
        }
    }
}

impl std::fmt::Display for FileState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ok => write!(f, "ok"),
            Self::Missing => write!(f, "missing"),
            Self::SizeDiffers { expected, found } => write!(f, "has {found} bytes, expected {expected}"),
            Self::ChecksumDiffers { expected, found } => {
                write!(f, "has SHA-256 {found}, expected {expected}")
            }
            Self::NotOnRecord { found } => {
                write!(f, "cannot be verified (no known checksum); its SHA-256 is {found}")
            }
        }
    }
}

impl NamedDataset {
    /// Compares every file in the folder with the published one.
    pub fn verify(
        &self,
        data_dir: impl AsRef<Path>,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Vec<Verified>> {
        let folder = self.folder(data_dir);
        let verified = |file: &File| {
            let state = state_of(file, &file.path_in(&folder), progress)?;
            Ok(Verified { name: file.name.clone(), optional: file.optional, state })
        };
        self.files.iter().map(verified).collect()
    }
}

/// Compares the file at `path` with the published one.
pub(crate) fn state_of(
    file: &File,
    path: &Path,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<FileState> {
    if !path.is_file() {
        return Ok(FileState::Missing);
    }
    let found = fs::metadata(path).map_err(Error::io(path))?.len();
    if let Some(expected) = file.bytes.filter(|&expected| expected != found) {
        return Ok(FileState::SizeDiffers { expected, found });
    }
    let found = hash_file(path, &file.name, progress)?;
    Ok(match &file.sha256 {
        None => FileState::NotOnRecord { found },
        Some(expected) if *expected == found => FileState::Ok,
        Some(expected) => FileState::ChecksumDiffers { expected: expected.clone(), found },
    })
}

/// SHA-256 of a file in hexadecimal. Read in pieces, as some files are larger than memory.
pub(crate) fn hash_file(path: &Path, name: &str, progress: &mut dyn FnMut(Progress<'_>)) -> Result<String> {
    let mut source = fs::File::open(path).map_err(Error::io(path))?;
    let total = source.metadata().map_err(Error::io(path))?.len();
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    let mut done = 0;
    loop {
        let read = source.read(&mut buffer).map_err(Error::io(path))?;
        if read == 0 {
            return Ok(hex(&hash.finalize()));
        }
        hash.update(&buffer[..read]);
        done += read as u64;
        progress(Progress { file: name, stage: FileStage::Check, done, total: Some(total) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The output of `printf abc | sha256sum`.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn file(bytes: Option<u64>, sha256: Option<&str>) -> File {
        File { name: "a".into(), url: None, bytes, sha256: sha256.map(str::to_owned), optional: false }
    }

    #[test]
    fn every_state_of_a_file_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut seen = Vec::new();
        let mut state = |file: File| state_of(&file, &path, &mut |p| seen.push((p.done, p.total))).unwrap();
        assert_eq!(state(file(None, None)), FileState::Missing);
        fs::write(&path, "abc").unwrap();
        assert_eq!(state(file(Some(3), Some(ABC))), FileState::Ok);
        assert_eq!(state(file(Some(4), Some(ABC))), FileState::SizeDiffers { expected: 4, found: 3 });
        assert_eq!(state(file(None, None)), FileState::NotOnRecord { found: ABC.into() });
        let other = FileState::ChecksumDiffers { expected: "00".into(), found: ABC.into() };
        assert_eq!(state(file(None, Some("00"))), other);
        assert_eq!(other.to_string(), format!("has SHA-256 {ABC}, expected 00"));
        assert_eq!(seen, [(3, Some(3)); 3], "hashed three times, not for the wrong size");
    }

    #[test]
    fn only_missing_required_files_are_an_error() {
        let verified = |optional, state| Verified { name: "a".into(), optional, state };
        assert!(verified(false, FileState::Missing).is_fault());
        assert!(!verified(true, FileState::Missing).is_fault());
        assert!(verified(true, FileState::SizeDiffers { expected: 1, found: 2 }).is_fault());
        assert!(!verified(false, FileState::NotOnRecord { found: ABC.into() }).is_fault());
    }
}
