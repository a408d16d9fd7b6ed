//! NumPy's `.npz` archives: a zip of `.npy` members, stored or deflated.

use super::{
    bytes::FileHead,
    npy::{Array, data_start},
};
use crate::matrix::MappedFile;
use crate::{Budget, Error, Result};
use std::{
    io::{Cursor, Read},
    path::{Path, PathBuf},
};
use zip::{CompressionMethod, ZipArchive, result::ZipError};

/// A mapped `.npz` file.
pub(crate) struct Archive {
    file: MappedFile,
    zip: ZipArchive<Cursor<MappedFile>>,
    names: Vec<String>,
    budget: Budget,
}

/// The highest compression ratio of deflate; a member that claims more is invalid.
const MOST_SHRINKING: u64 = 1032;

impl Archive {
    /// Opens an archive and reads its directory.
    pub(crate) fn open(path: &Path, budget: &Budget) -> Result<Self> {
        let file = MappedFile::open(path)?;
        let wrong = |error: ZipError| Error::format(path, format!("is not a valid zip archive: {error}"));
        let zip = ZipArchive::new(Cursor::new(file.clone())).map_err(wrong)?;
        let names: Result<Vec<_>, ZipError> = zip.file_names().map(|name| Ok(name?.into_owned())).collect();
        let names = names.map_err(wrong)?.into_iter();
        let names = names.filter_map(|name| name.strip_suffix(".npy").map(str::to_owned)).collect();
        Ok(Self { file, zip, names, budget: *budget })
    }

    /// The archive, if the first bytes and the directory are those of a zip file.
    pub(crate) fn of_head(head: &FileHead) -> Option<Self> {
        let zipped = head.bytes.starts_with(b"PK\x03\x04");
        zipped.then(|| Self::open(&head.path, &Budget::default()).ok()).flatten()
    }

    /// Names of the arrays, in file order.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.iter().any(|held| held == name)
    }

    /// Path of a member, for messages.
    pub(crate) fn path_of(&self, name: &str) -> PathBuf {
        self.file.path().join(name)
    }

    /// Reads an array, in place if it is stored uncompressed.
    pub(crate) fn array(&self, name: &str) -> Result<Array<'_>> {
        let path = self.path_of(name);
        let wrong = |error: ZipError| Error::format(&path, format!("cannot be read: {error}"));
        if !self.has(name) {
            return Err(Error::format(self.file.path(), format!("has no array '{name}'")));
        }
        let index = self.zip.index_for_name(&format!("{name}.npy"));
        let index = index.ok_or_else(|| wrong(ZipError::FileNotFound))?;
        // A clone shares the directory and the map; only its position is separate.
        let mut zip = self.zip.clone();
        let entry = zip.by_index_data(index).map_err(wrong)?;
        let (packed, method, encrypted) = (entry.compressed_size(), entry.compression(), entry.encrypted());
        if encrypted {
            return Err(Error::format(&path, "is encrypted"));
        }
        match method {
            CompressionMethod::Stored => {
                let start = zip.by_index_raw(index).map_err(wrong)?.data_start();
                let bytes = start.and_then(|start| self.stored(start, packed));
                let outside = || Error::format(&path, "extends past the end of the archive");
                Array::parse(bytes.ok_or_else(outside)?, &path)
            }
            CompressionMethod::Deflated => {
                let member = zip.by_index(index).map_err(wrong)?;
                Array::parse(self.inflate(member, packed, &path)?, &path)
            }
            _ => {
                let what =
                    format!("uses compression {method}; only stored and deflated arrays are supported");
                Err(Error::format(&path, what))
            }
        }
    }

    fn stored(&self, start: u64, length: u64) -> Option<&[u8]> {
        self.file.get(start.try_into().ok()?..start.checked_add(length)?.try_into().ok()?)
    }

    /// Decompresses a member. Fails as soon as the size exceeds what its own header, its compressed size or
    /// the memory limit allow; the sizes in the zip directory are not trusted.
    fn inflate(&self, mut member: impl Read, packed: u64, path: &Path) -> Result<Vec<u8>> {
        let wrong = |what: String| Error::format(path, what);
        let damaged = |error: std::io::Error| wrong(format!("cannot be decompressed: {error}"));
        let most = packed.saturating_mul(MOST_SHRINKING);
        let mut bytes = Vec::new();
        member.by_ref().take(12).read_to_end(&mut bytes).map_err(damaged)?;
        let cut = || wrong("is truncated inside the header".into());
        let data_at = data_start(&bytes).map_err(wrong)?.ok_or_else(cut)? as u64;
        member.by_ref().take(data_at.saturating_sub(12)).read_to_end(&mut bytes).map_err(damaged)?;
        let size = Array::size_of_file(&bytes, path)?;
        if size > most {
            return Err(wrong(format!("claims {size} bytes, too many for {packed} compressed bytes")));
        }
        self.budget.check(&format!("{}, decompressed,", path.display()), size)?;
        bytes.reserve_exact((size as usize).saturating_sub(bytes.len()));
        // One byte more than expected, to detect excess data and to make the reader verify the checksum.
        let rest = size.saturating_sub(bytes.len() as u64).saturating_add(1);
        member.take(rest).read_to_end(&mut bytes).map_err(damaged)?;
        Ok(bytes)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::data::npy::tests::file as npy_file;
    use std::io::Write;
    use zip::{ZipWriter, write::SimpleFileOptions};

    const ALL: Budget = Budget { bytes: 1 << 30 };

    /// A `.npy` file of bytes that claims `items` of them.
    fn bytes_array(items: u64, data: &[u8]) -> Vec<u8> {
        let text = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({items},), }}\n");
        [&b"\x93NUMPY\x01\x00"[..], &(text.len() as u16).to_le_bytes(), text.as_bytes(), data].concat()
    }

    /// The bytes of an archive; also used by the tests of the formats.
    pub(crate) fn archive(method: CompressionMethod, members: &[(&str, &[u8])]) -> Vec<u8> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in members {
            zip.start_file(*name, SimpleFileOptions::default().compression_method(method)).unwrap();
            zip.write_all(bytes).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    /// An archive of one-dimensional arrays of 64-bit integers.
    pub(crate) fn integers(members: &[(&str, &[i64])]) -> Vec<u8> {
        let file = |items: &[i64]| {
            let bytes: Vec<u8> = items.iter().flat_map(|item| item.to_le_bytes()).collect();
            npy_file("<i8", "False", &format!("({},)", items.len()), &bytes)
        };
        let members: Vec<_> =
            members.iter().map(|(name, items)| (format!("{name}.npy"), file(items))).collect();
        let members: Vec<_> = members.iter().map(|(name, bytes)| (&name[..], &bytes[..])).collect();
        archive(CompressionMethod::Deflated, &members)
    }

    fn open(bytes: &[u8], budget: Budget) -> Result<Archive> {
        let mut file = tempfile::NamedTempFile::with_suffix(".npz").unwrap();
        file.write_all(bytes).unwrap();
        Archive::open(file.path(), &budget)
    }

    fn read(bytes: &[u8], budget: Budget) -> Result<Vec<i64>> {
        open(bytes, budget)?.array("a")?.to_i64(&budget)
    }

    const METHODS: [CompressionMethod; 2] = [CompressionMethod::Stored, CompressionMethod::Deflated];

    #[test]
    fn stored_and_deflated_arrays_read_alike_and_cuts_are_noticed() {
        for method in METHODS {
            let array = bytes_array(40, &[7; 40]);
            let bytes = archive(method, &[("a.npy", &array), ("readme.txt", b"hello"), ("b.npy", b"")]);
            assert_eq!(open(&bytes, ALL).unwrap().names(), ["a", "b"]);
            assert_eq!(read(&bytes, ALL).unwrap(), [7; 40]);
            let error = open(&bytes, ALL).unwrap().array("b").err().unwrap().to_string();
            assert!(error.contains(".npz/b: "), "{error}");
            let error = open(&bytes, ALL).unwrap().array("c").err().unwrap().to_string();
            assert!(error.ends_with(".npz: has no array 'c'"), "{error}");
            for length in 0..bytes.len() {
                assert!(read(&bytes[..length], ALL).is_err(), "{method}, cut to {length}");
            }
        }
    }

    #[test]
    fn a_damaged_byte_never_panics_and_the_checksum_of_compressed_data_is_verified() {
        for method in METHODS {
            let array = bytes_array(3, &[1, 2, 3]);
            let bytes = archive(method, &[("a.npy", &array)]);
            for at in 0..bytes.len() {
                for bit in 0..8 {
                    let mut damaged = bytes.clone();
                    damaged[at] ^= 1 << bit;
                    if let Ok(values) = read(&damaged, ALL) {
                        assert!(method == CompressionMethod::Stored || values == [1, 2, 3], "byte {at}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_bomb_stops_at_the_budget_or_at_what_its_header_says() {
        let zeros = vec![0; 120 << 20];
        let bomb = |items| archive(CompressionMethod::Deflated, &[("a.npy", &bytes_array(items, &zeros))]);
        let honest = bomb(zeros.len() as u64);
        assert!(matches!(read(&honest, Budget { bytes: 1 << 20 }), Err(Error::Memory { .. })));
        let error = read(&bomb(5), Budget { bytes: 1 << 20 }).unwrap_err().to_string();
        assert!(error.contains("needs 5 items"), "{error}");
        let error = read(&bomb(1 << 40), Budget { bytes: 1 << 50 }).unwrap_err().to_string();
        assert!(error.contains("too many for"), "{error}");
        let error = read(&bomb(u64::MAX), ALL).unwrap_err().to_string();
        assert!(error.contains("too large for any file"), "{error}");
    }

    #[test]
    fn encrypted_and_otherwise_packed_members_are_refused() {
        let bytes = archive(CompressionMethod::Stored, &[("a.npy", &bytes_array(1, &[1]))]);
        let central = memchr::memmem::find(&bytes, b"PK\x01\x02").unwrap();
        // In a central header, flags are at 8 and the method at 10; in a local one, at 6 and 8.
        let changed = |local: usize, value: u8| {
            let mut bytes = bytes.clone();
            bytes[local] = value;
            bytes[central + local + 2] = value;
            read(&bytes, ALL).unwrap_err().to_string()
        };
        assert!(changed(6, 1).ends_with("a: is encrypted"));
        assert!(changed(8, 93).contains("uses compression"), "{}", changed(8, 93));
    }

    #[test]
    fn a_table_of_contents_of_absurd_length_is_an_error() {
        let mut bytes = archive(CompressionMethod::Stored, &[("a.npy", &bytes_array(1, &[1]))]);
        let end = bytes.len() - 22;
        bytes[end + 8..end + 12].fill(0xff);
        assert!(read(&bytes, ALL).is_err());
    }
}
