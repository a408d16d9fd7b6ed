//! The file of node ids, one per line.

use crate::atomic::write_text;
use crate::data::bytes::read_text;
use crate::{Budget, Error, NodeIds, Result};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The kind of ids in the file.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum IdKind {
    Numbers,
    Names,
}

/// Writes one id per line. Line breaks and backslashes are escaped with a backslash.
pub(super) fn save(path: &Path, ids: &NodeIds) -> Result<Option<IdKind>> {
    let (kind, text): (_, String) = match ids {
        NodeIds::Implicit => return Ok(None),
        NodeIds::Numbers(numbers) => (IdKind::Numbers, numbers.iter().map(|id| format!("{id}\n")).collect()),
        NodeIds::Names(names) => (IdKind::Names, names.iter().map(|id| escape(id) + "\n").collect()),
    };
    write_text(path, &text)?;
    Ok(Some(kind))
}

/// Reads a file written by [`save`].
pub(super) fn read(path: &Path, kind: IdKind, nodes: usize) -> Result<NodeIds> {
    let text = read_text(path, &Budget::default())?;
    let lines = text.strip_suffix('\n').map_or_else(Vec::new, |text| text.split('\n').collect());
    if lines.len() != nodes {
        return Err(Error::format(path, format!("has {} ids for {nodes} nodes", lines.len())));
    }
    let bad = |at: usize| Error::at_line(path, at as u64 + 1, format!("'{}' is not an id", lines[at]));
    let ids = match kind {
        IdKind::Numbers => {
            let number = |(at, line): (usize, &&str)| line.parse().map_err(|_| bad(at));
            NodeIds::from_numbers(lines.iter().enumerate().map(number).collect::<Result<_>>()?)
        }
        IdKind::Names => {
            let name = |(at, line): (usize, &&str)| unescape(line).map(Box::from).ok_or_else(|| bad(at));
            NodeIds::from_names(lines.iter().enumerate().map(name).collect::<Result<_>>()?)
        }
    };
    ids.map_err(|error| Error::format(path, error.to_string()))
}

fn escape(id: &str) -> String {
    id.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r")
}

fn unescape(line: &str) -> Option<String> {
    let mut id = String::with_capacity(line.len());
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        id.push(match letter {
            '\\' => match letters.next()? {
                '\\' => '\\',
                'n' => '\n',
                'r' => '\r',
                _ => return None,
            },
            plain => plain,
        });
    }
    Some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_any_characters_read_back_equal() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ids.txt");
        let names = ["", "two\nlines", "back\\slash", "\\n", "\r", "é ü"].map(Box::from).to_vec();
        let ids = NodeIds::from_names(names).unwrap();
        assert_eq!(save(&path, &ids).unwrap(), Some(IdKind::Names));
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 6);
        assert_eq!(read(&path, IdKind::Names, 6).unwrap(), ids);
        assert_eq!(save(&path, &NodeIds::Implicit).unwrap(), None);
    }

    #[test]
    fn files_that_do_not_fit_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ids.txt");
        for (text, kind) in [
            ("1\n2\n3\n", IdKind::Numbers),
            ("1\n2", IdKind::Numbers),
            ("1\nx\n", IdKind::Numbers),
            ("1\n1\n", IdKind::Numbers),
            ("a\nb\\\n", IdKind::Names),
            ("a\nb\\x\n", IdKind::Names),
        ] {
            std::fs::write(&path, text).unwrap();
            assert!(matches!(read(&path, kind, 2), Err(Error::Format { .. })), "{text:?}");
        }
    }
}
