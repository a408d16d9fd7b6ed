//! Contents of files, decompressed if necessary, and the first bytes for format detection.

use crate::matrix::{MappedFile, open_file};
use crate::{Budget, Error, Result};
use std::{
    io::Read,
    ops::Deref,
    path::{Path, PathBuf},
};

/// A file's contents, memory-mapped or decompressed into memory.
pub(crate) enum Bytes {
    Mapped(MappedFile),
    Owned(Vec<u8>),
}

impl Bytes {
    /// Opens a file; gzip and Zstandard are detected by content.
    pub(crate) fn open(path: &Path, budget: &Budget) -> Result<Self> {
        let file = MappedFile::open(path)?;
        if let Some(decoder) = decoder(&file) {
            return Ok(Self::Owned(read_all(decoder, path, budget)?));
        }
        Ok(Self::Mapped(file))
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(file) => file,
            Self::Owned(bytes) => bytes,
        }
    }
}

/// Reads to the end, up to the memory limit.
pub(crate) fn read_all(source: impl Read, path: &Path, budget: &Budget) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source
        .take(budget.bytes.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| Error::format(path, format!("cannot be decompressed: {error}")))?;
    budget.check(&format!("{}, decompressed,", path.display()), bytes.len() as u64)?;
    Ok(bytes)
}

/// The contents of a file as they are, up to the memory limit.
pub(crate) fn read_file(path: &Path, budget: &Budget) -> Result<Vec<u8>> {
    let file = open_file(path)?;
    budget.check(&path.display().to_string(), file.metadata().map_err(Error::io(path))?.len())?;
    let mut bytes = Vec::new();
    file.take(budget.bytes).read_to_end(&mut bytes).map_err(Error::io(path))?;
    Ok(bytes)
}

/// The contents of a text file, up to the memory limit. Pipes and devices are errors.
pub fn read_text(path: impl AsRef<Path>, budget: &Budget) -> Result<String> {
    let path = path.as_ref();
    let invalid = |_| Error::format(path, "is not valid UTF-8 text");
    String::from_utf8(read_file(path, budget)?).map_err(invalid)
}

fn decoder<'a>(bytes: &'a [u8]) -> Option<Box<dyn Read + 'a>> {
    match bytes {
        [0x1f, 0x8b, ..] => Some(Box::new(flate2::read::MultiGzDecoder::new(bytes))),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => match zstd::stream::read::Decoder::with_buffer(bytes) {
            Ok(decoder) => Some(Box::new(decoder)),
            Err(_) => None,
        },
        _ => None,
    }
}

/// The part of a file or folder that is needed to detect its format.
pub(crate) struct FileHead {
    pub(crate) path: PathBuf,
    /// Names in a folder, sorted; empty for a file.
    pub(crate) names: Vec<String>,
    /// The first bytes of a file, decompressed.
    pub(crate) bytes: Vec<u8>,
    /// For formats that must read more to be sure.
    pub(crate) budget: Budget,
}

const HEAD_BYTES: u64 = 1 << 16;

impl FileHead {
    pub(crate) fn of(path: &Path) -> Result<Self> {
        let (path, budget) = (path.to_owned(), Budget::default());
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).map_err(Error::io(&path))?;
            let mut names: Vec<String> =
                entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
            names.sort();
            return Ok(Self { path, names, bytes: Vec::new(), budget });
        }
        let file = MappedFile::open(&path)?;
        let mut bytes = Vec::new();
        match decoder(&file) {
            // A file that cannot be decompressed is reported when it is read.
            Some(decoder) => drop(decoder.take(HEAD_BYTES).read_to_end(&mut bytes)),
            None => bytes.extend(file.iter().take(HEAD_BYTES as usize)),
        }
        Ok(Self { path, names: Vec::new(), bytes, budget })
    }

    /// Whether a folder contains this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.binary_search_by(|held| held.as_str().cmp(name)).is_ok()
    }

    /// Whether this looks like a JSON file; ids do not start like one.
    pub(crate) fn is_json(&self) -> bool {
        let text = self.bytes.trim_ascii_start();
        let list = text.strip_prefix(b"[").map(<[u8]>::trim_ascii_start);
        self.is_text() && (text.starts_with(b"{") || matches!(list, Some([b'{' | b'[' | b'"', ..])))
    }

    /// Whether this is a text file, judging by the first bytes.
    pub(crate) fn is_text(&self) -> bool {
        self.names.is_empty() && !self.bytes.is_empty() && !self.bytes.contains(&0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn gzip_and_zstd_are_detected_by_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plainly.named");
        let mut twice = gzip(b"0 1\n");
        twice.extend(gzip(b"1 2\n"));
        for stored in [b"0 1\n1 2\n".to_vec(), twice, zstd::encode_all(&b"0 1\n1 2\n"[..], 3).unwrap()] {
            std::fs::write(&path, stored).unwrap();
            assert_eq!(&Bytes::open(&path, &Budget::default()).unwrap()[..], b"0 1\n1 2\n");
            assert_eq!(FileHead::of(&path).unwrap().bytes, b"0 1\n1 2\n");
        }
    }

    #[test]
    fn a_compression_bomb_stops_at_the_budget() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bomb.gz");
        std::fs::write(&path, gzip(&vec![b'0'; 1 << 20])).unwrap();
        let result = Bytes::open(&path, &Budget { bytes: 1 << 16 });
        assert!(matches!(result, Err(Error::Memory { .. })));
        std::fs::write(&path, &gzip(b"0 1\n")[..12]).unwrap();
        assert!(matches!(Bytes::open(&path, &Budget::default()), Err(Error::Format { .. })));
    }
}
