//! Files with one id per line: the names of rows and nodes whose own file has no place for them.

use super::bytes::Bytes;
use super::table::Column;
use super::{Options, text};
use crate::{Budget, Error, NodeIds, Result};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// The ids in a file.
pub(crate) struct IdFile {
    pub(crate) ids: NodeIds,
    pub(crate) count: usize,
    /// Whether the last line has an end.
    pub(crate) ends: bool,
    pub(crate) path: PathBuf,
}

impl IdFile {
    pub(crate) fn open(path: &Path, budget: &Budget) -> Result<Self> {
        let bytes = Bytes::open(path, budget)?;
        let lines: Vec<&[u8]> = lines(&bytes).collect();
        budget.check_items("the ids", lines.len() as u64, 64)?;
        let escaped = lines.iter().all(|line| unescaped(line).is_some());
        let mut column = Column::<u64>::default();
        for (line, at) in lines.iter().zip(1..) {
            let id = if escaped { unescaped(line).unwrap_or_default() } else { Cow::Borrowed(*line) };
            column.push(text::utf8(&id, path, at)?);
        }
        let (count, ends) = (lines.len(), bytes.ends_with(b"\n"));
        Ok(Self { ids: column.into_ids(path)?, count, ends, path: path.to_owned() })
    }

    /// The ids of `rows` rows of a file that has none: from the file that the user named, or from one beside it.
    pub(crate) fn of_rows(file: &Path, rows: usize, options: &Options) -> Result<Option<Self>> {
        let found = match &options.ids {
            Some(path) => Some(Self::open(path, &options.budget)?),
            None => Self::beside(file, rows, &options.budget)?,
        };
        match found {
            Some(ids) if ids.count != rows => Err(ids.unequal(rows)),
            found => Ok(found),
        }
    }

    /// `NAME.ids.txt` in the folder of a file, or else `ids.txt` or `names.txt`, if they have as many lines as needed:
    /// these two may belong to another file.
    pub(crate) fn beside(file: &Path, rows: usize, budget: &Budget) -> Result<Option<Self>> {
        let candidates = [own_name(file), file.with_file_name("ids.txt"), file.with_file_name("names.txt")];
        for path in candidates.into_iter().filter(|path| path != file && path.is_file()) {
            if path == own_name(file) || lines(&Bytes::open(&path, budget)?).count() == rows {
                return Self::open(&path, budget).map(Some);
            }
        }
        Ok(None)
    }

    pub(crate) fn unequal(&self, rows: usize) -> Error {
        Error::format(&self.path, format!("has {} ids for {rows} rows", self.count))
    }

    /// What is said of ids that the user did not ask for.
    pub(crate) fn note(&self, what: &str) -> String {
        format!("the ids of the {what} were read from {}", shown(&self.path))
    }
}

/// The name of a file, without its folder.
pub(crate) fn shown(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The file of ids that belongs to one file only: `z.ids.txt` for `z.npy`.
pub(crate) fn own_name(file: &Path) -> PathBuf {
    file.with_extension("ids.txt")
}

/// The ids as lines. Line breaks and backslashes are escaped with a backslash.
pub(crate) fn text_of(ids: &NodeIds, count: usize) -> String {
    let line = |node| escape(&ids.name(node)) + "\n";
    let text: String = (0..count as u32).map(line).collect();
    // A reader takes one mark of the byte order away.
    if text.starts_with('\u{feff}') { format!("\u{feff}{text}") } else { text }
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    text::lines(text).map(|(_, line)| line)
}

fn escape(id: &str) -> String {
    id.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r")
}

/// The id in a line, if every backslash in it is one that [`escape`] writes.
fn unescaped(line: &[u8]) -> Option<Cow<'_, [u8]>> {
    if !line.contains(&b'\\') {
        return Some(Cow::Borrowed(line));
    }
    let mut id = Vec::with_capacity(line.len());
    let mut bytes = line.iter();
    while let Some(&byte) = bytes.next() {
        id.push(match byte {
            b'\\' => match bytes.next()? {
                b'\\' => b'\\',
                b'n' => b'\n',
                b'r' => b'\r',
                _ => return None,
            },
            plain => plain,
        });
    }
    Some(Cow::Owned(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: impl AsRef<[u8]>) -> Result<(NodeIds, usize)> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        IdFile::open(file.path(), &Budget::default()).map(|found| (found.ids, found.count))
    }

    #[test]
    fn names_with_any_characters_read_back_equal() {
        let names = ["", "two\nlines", "back\\slash", "\\n", "\r", " blanks ", "#x", "é ü"];
        let ids = NodeIds::from_names(names.map(Box::from).to_vec()).unwrap();
        let text = text_of(&ids, 8);
        assert_eq!(text.lines().count(), 8);
        assert_eq!(read(text).unwrap(), (ids, 8));
    }

    #[test]
    fn lists_of_other_tools_are_read_as_they_are() {
        let names = |names: &[&str]| NodeIds::Names(names.iter().map(|&name| name.into()).collect());
        assert_eq!(read("ann\r\nbob").unwrap(), (names(&["ann", "bob"]), 2));
        assert_eq!(read("\u{feff}\\alpha\n\\nu\n").unwrap(), (names(&["\\alpha", "\\nu"]), 2));
        assert_eq!(read("7\n3\n").unwrap(), (NodeIds::Numbers(vec![7, 3]), 2));
        assert_eq!(read("0\n1\n").unwrap(), (NodeIds::Implicit, 2));
        assert_eq!(read("").unwrap(), (NodeIds::Implicit, 0));
        assert!(read("a\na\n").unwrap_err().to_string().contains("'a' appears twice"));
        assert!(read(b"a\n\xff\n").unwrap_err().to_string().ends_with(":2: is not UTF-8 text"));
    }
}
