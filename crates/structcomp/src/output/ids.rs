//! The ids of a matrix or graph whose own file has no place for them.

use crate::atomic::exists;
use crate::data::id_file::{IdFile, own_name, text_of};
use crate::{Budget, NodeIds, Result};
use std::path::Path;

/// Writes the ids of the rows of `file` beside it, so that reading the file gives them back: as `ids.txt`, or as
/// `NAME.ids.txt` if there is another `ids.txt`. Without ids, nothing is written unless a list lies there that
/// would be taken for them.
pub(super) fn write_beside(file: &Path, ids: &NodeIds, rows: usize) -> Result<()> {
    let (own, shared) = (own_name(file), file.with_file_name("ids.txt"));
    if *ids == NodeIds::Implicit {
        return match IdFile::beside(file, rows, &Budget::default())? {
            Some(found) if found.ids != NodeIds::Implicit => super::write_text(own, &text_of(ids, rows)),
            _ => Ok(()),
        };
    }
    let text = text_of(ids, rows);
    let same = if exists(&shared)? {
        std::fs::read(&shared).is_ok_and(|held| held == text.as_bytes())
    } else {
        super::write_text(&shared, &text)?;
        true
    };
    // A file of the same name from earlier would be read in its place.
    if same && !exists(&own)? { Ok(()) } else { super::write_text(own, &text) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Options, open_table};
    use crate::output::{MatrixLayout, MatrixWriter};

    #[test]
    fn a_matrix_reads_back_with_its_ids_whatever_lies_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let names = |names: [&str; 2]| NodeIds::from_names(names.map(Into::into).to_vec()).unwrap();
        let write = |name: &str, ids: &NodeIds| {
            let layout = MatrixLayout { rows: 2, cols: 1, ids, labels: None, column: "embedding" };
            let mut writer = MatrixWriter::create(at(name), layout).unwrap();
            writer.push_rows(&[1.0, 2.0]).unwrap();
            writer.finish().unwrap();
        };
        let read = |name: &str| open_table(at(name), &Options::default()).unwrap().ids;
        let (friends, packages) = (names(["ann", "bob"]), names(["vim", "two\nlines"]));
        write("a.npy", &friends);
        assert_eq!(std::fs::read_to_string(at("ids.txt")).unwrap(), "ann\nbob\n");
        assert!(!at("a.ids.txt").exists());
        write("b.npy", &packages);
        write("c.npy", &NodeIds::Implicit);
        assert_eq!(
            (read("a.npy"), read("b.npy"), read("c.npy")),
            (friends.clone(), packages, NodeIds::Implicit)
        );
        write("b.npy", &friends);
        assert_eq!(read("b.npy"), friends);
        write("b.npy", &NodeIds::Implicit);
        assert_eq!(read("b.npy"), NodeIds::Implicit);
    }
}
