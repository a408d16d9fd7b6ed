//! Read-only arrays that are owned, memory-mapped or borrowed from a foreign owner.

#[cfg(target_endian = "big")]
compile_error!("mapped files are little-endian; this machine is not");

use crate::{Error, Result};
use bytemuck::Pod;
use memmap2::Mmap;
use std::{fmt, fs::File, io, marker::PhantomData, ops::Deref, path::Path, sync::Arc, time::SystemTime};

/// A read-only array of plain numbers: owned, mapped from a file, or shared with a foreign owner.
pub struct Buffer<T> {
    storage: Storage<T>,
}

enum Storage<T> {
    /// Clones share the array.
    Owned(Arc<Vec<T>>),
    Mapped {
        file: MappedFile,
        start: usize,
        bytes: usize,
        of: PhantomData<T>,
    },
    Lent(Arc<dyn AsRef<[T]> + Send + Sync>),
}

impl<T: Pod> Buffer<T> {
    /// Maps `count` items at byte offset `start` of the file, without copying.
    ///
    /// Returns an error if they exceed the file or are not aligned for `T`.
    pub fn mapped(file: &MappedFile, start: u64, count: u64) -> Result<Self> {
        let outside = || Error::format(file.path(), "an array reaches past the end of the file");
        let bytes = count.checked_mul(size_of::<T>() as u64).ok_or_else(outside)?;
        let end = start.checked_add(bytes).ok_or_else(outside)?;
        if end > file.len() as u64 {
            return Err(outside());
        }
        let (start, bytes) = (start as usize, bytes as usize);
        bytemuck::try_cast_slice::<u8, T>(&file[start..start + bytes])
            .map_err(|_| Error::format(file.path(), "an array is not aligned for its type"))?;
        let file = file.clone();
        Ok(Self { storage: Storage::Mapped { file, start, bytes, of: PhantomData } })
    }

    /// Wraps an array that stays with its owner, such as a NumPy array.
    ///
    /// The owner must return the same values every time.
    pub fn lent(owner: Arc<dyn AsRef<[T]> + Send + Sync>) -> Self {
        Self { storage: Storage::Lent(owner) }
    }

    /// The file that the array is mapped from, if it is.
    pub(crate) fn file(&self) -> Option<&MappedFile> {
        match &self.storage {
            Storage::Mapped { file, .. } => Some(file),
            Storage::Owned(_) | Storage::Lent(_) => None,
        }
    }

    /// Whether only this program can change it.
    #[cfg(feature = "metis")]
    pub(crate) fn is_owned(&self) -> bool {
        matches!(self.storage, Storage::Owned(_))
    }

    /// Whether the array is mapped from a file.
    pub fn is_mapped(&self) -> bool {
        matches!(self.storage, Storage::Mapped { .. })
    }

    /// The array as an owned vector, copied only where somebody else has it too.
    pub fn into_vec(self) -> Vec<T> {
        match self.storage {
            Storage::Owned(values) => Arc::unwrap_or_clone(values),
            Storage::Mapped { .. } | Storage::Lent(_) => self.to_vec(),
        }
    }

    /// The array as one that can be changed, copied first where somebody else has it too.
    pub(crate) fn to_mut(&mut self) -> &mut [T] {
        if !matches!(self.storage, Storage::Owned(_)) {
            self.storage = Storage::Owned(Arc::new(self.to_vec()));
        }
        match &mut self.storage {
            Storage::Owned(values) => Arc::<Vec<T>>::make_mut(values),
            Storage::Mapped { .. } | Storage::Lent(_) => &mut [],
        }
    }
}

impl<T: Pod> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.storage {
            Storage::Owned(values) => values,
            Storage::Mapped { file, start, bytes, .. } => {
                bytemuck::cast_slice(&file[*start..*start + *bytes])
            }
            Storage::Lent(owner) => (**owner).as_ref(),
        }
    }
}

impl<T> From<Vec<T>> for Buffer<T> {
    fn from(values: Vec<T>) -> Self {
        Self { storage: Storage::Owned(Arc::new(values)) }
    }
}

impl<T: Pod> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        let storage = match &self.storage {
            Storage::Owned(values) => Storage::Owned(values.clone()),
            Storage::Mapped { file, start, bytes, .. } => {
                Storage::Mapped { file: file.clone(), start: *start, bytes: *bytes, of: PhantomData }
            }
            Storage::Lent(owner) => Storage::Lent(owner.clone()),
        };
        Self { storage }
    }
}

impl<T: Pod + PartialEq> PartialEq for Buffer<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Pod> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match self.storage {
            Storage::Owned(_) => "owned",
            Storage::Mapped { .. } => "mapped",
            Storage::Lent(_) => "lent",
        };
        write!(f, "Buffer({} items, {place})", self.len())
    }
}

/// A whole file mapped read-only. Clones share the mapping.
#[derive(Clone)]
pub struct MappedFile {
    // `None` for an empty file, which cannot be mapped.
    map: Option<Arc<Mmap>>,
    path: Arc<Path>,
    file: Arc<File>,
    /// Length and time of the last change when it was opened.
    state: (u64, Option<SystemTime>),
}

impl MappedFile {
    /// Maps the file at `path`.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let file = open_file(path)?;
        let state = state(&file).map_err(Error::io(path))?;
        let map = if state.0 == 0 { None } else { Some(Arc::new(map(&file, path)?)) };
        Ok(Self { map, path: path.into(), file: Arc::new(file), state })
    }

    /// Fails if the file was written to since it was opened. One that was replaced by another is still there.
    pub fn check_unchanged(&self) -> Result<()> {
        match state(&self.file).map_err(Error::io(&*self.path))? == self.state {
            true => Ok(()),
            false => Err(Error::format(&*self.path, "was changed while it was read; run the command again")),
        }
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn state(file: &File) -> io::Result<(u64, Option<SystemTime>)> {
    let about = file.metadata()?;
    Ok((about.len(), about.modified().ok()))
}

/// Opens a file to read. Pipes and devices, which may block or never end, are errors.
pub(crate) fn open_file(path: &Path) -> Result<File> {
    // Checked before opening, since opening a pipe blocks until there is a writer.
    let about = std::fs::metadata(path).map_err(Error::io(path))?;
    if about.is_dir() {
        return Err(Error::format(path, "is a folder where a file was expected"));
    }
    if !about.is_file() {
        return Err(Error::format(path, "is a pipe or a device; write its contents to a file first"));
    }
    File::open(path).map_err(Error::io(path))
}

#[allow(unsafe_code)] // the only place that maps files; see below
fn map(file: &File, path: &Path) -> Result<Mmap> {
    // SAFETY: the map is private and read-only. A process that truncates the file while it is mapped can
    // still cause SIGBUS, as with any mapping. Files that we write are replaced by renaming, which leaves
    // existing maps intact.
    unsafe { Mmap::map(file) }.map_err(Error::io(path))
}

impl Deref for MappedFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.map.as_deref().map_or(&[], |map| map)
    }
}

impl AsRef<[u8]> for MappedFile {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn file_with(bytes: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
        file.write_all(bytes).expect("written");
        file
    }

    #[test]
    fn a_mapped_array_equals_the_owned_one() {
        let numbers: Vec<u32> = (0..100).collect();
        let file = file_with(bytemuck::cast_slice(&numbers));
        let mapped = Buffer::<u32>::mapped(&MappedFile::open(file.path()).unwrap(), 40, 90).unwrap();
        assert!(mapped.is_mapped());
        assert_eq!(mapped, Buffer::from((10..100).collect::<Vec<u32>>()));
    }

    #[test]
    fn a_lent_array_is_read_where_it_lies_and_copied_to_be_owned() {
        let owner = Arc::new(vec![1.5f32, 2.5]);
        let lent = Buffer::lent(owner.clone());
        assert_eq!(lent.as_ptr(), owner.as_ptr());
        assert_eq!(lent.clone().as_ptr(), owner.as_ptr());
        assert_eq!(lent.into_vec(), [1.5, 2.5]);
        assert_eq!(Arc::strong_count(&owner), 1, "nothing is kept");
    }

    #[test]
    fn arrays_outside_the_file_or_misaligned_are_errors() {
        let file = MappedFile::open(file_with(&[0; 64]).path()).unwrap();
        assert!(Buffer::<u32>::mapped(&file, 0, 17).is_err());
        assert!(Buffer::<u32>::mapped(&file, 1, 2).is_err());
        assert!(Buffer::<u64>::mapped(&file, 8, u64::MAX).is_err());
    }

    #[test]
    fn folders_devices_and_empty_files_are_told_apart() {
        assert!(MappedFile::open(std::env::temp_dir()).is_err());
        if cfg!(unix) {
            assert!(MappedFile::open("/dev/null").is_err());
        }
        assert!(MappedFile::open(file_with(&[]).path()).unwrap().is_empty());
    }
}
