//! The file of node ids in a dataset folder.

use crate::atomic::write_text;
use crate::data::id_file::{self, IdFile};
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

/// Writes one id per line.
pub(super) fn save(path: &Path, ids: &NodeIds) -> Result<Option<IdKind>> {
    let kind = match ids {
        NodeIds::Implicit => return Ok(None),
        NodeIds::Numbers(_) => IdKind::Numbers,
        NodeIds::Names(_) => IdKind::Names,
    };
    write_text(path, &id_file::text_of(ids, ids.len().unwrap_or(0)))?;
    Ok(Some(kind))
}

/// Reads a file written by [`save`].
pub(super) fn read(path: &Path, kind: IdKind, nodes: usize, budget: &Budget) -> Result<NodeIds> {
    let found = IdFile::open(path, budget)?;
    if !found.ends && nodes > 0 {
        return Err(Error::format(path, "is truncated"));
    }
    if found.count != nodes {
        return Err(Error::format(path, format!("has {} ids for {nodes} nodes", found.count)));
    }
    match (kind, found.ids) {
        (IdKind::Numbers, NodeIds::Names(_)) => Err(Error::format(path, "contains ids that are not numbers")),
        // Names may all be numbers.
        (IdKind::Names, ids @ (NodeIds::Implicit | NodeIds::Numbers(_))) => {
            NodeIds::from_names((0..nodes as u32).map(|node| ids.name(node).into()).collect())
        }
        (_, ids) => Ok(ids),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_back(path: &Path, kind: IdKind, nodes: usize) -> Result<NodeIds> {
        read(path, kind, nodes, &Budget::default())
    }

    #[test]
    fn ids_read_back_equal() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ids.txt");
        for names in [["", "two\nlines"], ["0", "1"], ["7", "3"]] {
            let ids = NodeIds::from_names(names.map(Box::from).to_vec()).unwrap();
            assert_eq!(save(&path, &ids).unwrap(), Some(IdKind::Names));
            assert_eq!(read_back(&path, IdKind::Names, 2).unwrap(), ids);
        }
        assert_eq!(save(&path, &NodeIds::Implicit).unwrap(), None);
    }

    #[test]
    fn files_that_do_not_fit_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ids.txt");
        for (text, kind) in [
            ("1\n2\n3\n", IdKind::Numbers),
            ("1", IdKind::Numbers),
            ("1\nx\n", IdKind::Numbers),
            ("1\n1\n", IdKind::Numbers),
            ("a\na\n", IdKind::Names),
        ] {
            std::fs::write(&path, text).unwrap();
            assert!(matches!(read_back(&path, kind, 2), Err(Error::Format { .. })), "{text:?}");
        }
    }
}
