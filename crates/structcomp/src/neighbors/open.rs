//! Embeddings from files, with the names of their rows.

use crate::data::Options;
use crate::data::id_file::IdFile;
use crate::data::table::files::open_features;
use crate::{Budget, Dense, Error, Features, NodeIds, Result};
use std::path::{Path, PathBuf};

/// The rows of an embedding and their names.
#[derive(Clone, Debug)]
pub struct NamedRows {
    /// The names.
    pub ids: NodeIds,
    /// The rows.
    pub rows: Dense,
}

/// What the embedding is called in a folder that a run wrote.
const IN_FOLDER: [&str; 4] = ["embedding.npy", "embedding.parquet", "embedding.csv", "embedding.tsv"];

impl NamedRows {
    /// Reads an embedding: npy, npz, Matrix Market, Parquet, CSV or TSV, or a folder with `embedding.npy` or the like.
    ///
    /// The names are the lines of the file `ids`; else those of the table; else, for formats without names, those of
    /// a file beside it: `NAME.ids.txt`, `ids.txt` or `names.txt`, if it has a line for each row.
    pub fn open(path: impl AsRef<Path>, ids: Option<&Path>, options: &Options) -> Result<Self> {
        let path = file(path.as_ref())?;
        let options = Options { ids: ids.map(Path::to_owned), ..options.clone() };
        let table = open_features(&path, &options)?;
        let nothing = || Error::format(&path, "has no numeric column");
        let features = table.features.ok_or_else(nothing)?;
        let given = match ids {
            Some(_) => IdFile::of_rows(&path, features.rows(), &options)?.map(|found| found.ids),
            None => table.ids,
        };
        let ids = given.unwrap_or(NodeIds::Implicit);
        Ok(Self { ids, rows: dense(features, &path, &options.budget)? })
    }
}

/// The file itself, or the embedding in a folder.
fn file(path: &Path) -> Result<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let inside = IN_FOLDER.iter().map(|name| path.join(name)).find(|file| file.is_file());
    inside.ok_or_else(|| {
        Error::format(path, format!("is a folder without an embedding; expected {}", IN_FOLDER[0]))
    })
}

fn dense(features: Features, path: &Path, budget: &Budget) -> Result<Dense> {
    match features {
        Features::Dense(rows) => Ok(rows),
        Features::Sparse(_) => {
            let values = features.rows().saturating_mul(features.cols()) as u64;
            let what = format!("{}, with all its zeros,", path.display());
            budget.check_items(&what, values, size_of::<f32>() as u64)?;
            Ok(features.to_dense())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::{MatrixLayout, MatrixWriter};
    use std::fs;

    fn opened(path: &Path, ids: Option<&Path>) -> Result<NamedRows> {
        NamedRows::open(path, ids, &Options::default())
    }

    fn write(path: &Path, ids: &NodeIds) {
        let layout = MatrixLayout { rows: 3, cols: 2, ids, labels: None, column: "embedding" };
        let mut writer = MatrixWriter::create(path, layout).unwrap();
        writer.push_rows(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        writer.finish().unwrap();
    }

    #[test]
    fn names_come_from_the_table_or_from_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let ids = NodeIds::from_names(["a", "b c", "7"].map(Into::into).to_vec()).unwrap();
        let others = folder.path().join("others.txt");
        fs::write(&others, "30\r\n10\r\n20").unwrap();
        for name in ["z.csv", "z.tsv.gz", "z.parquet", "run/embedding.npy"] {
            let path = folder.path().join(name);
            if name.ends_with("parquet") && cfg!(not(feature = "parquet")) {
                continue;
            }
            write(&path, &ids);
            if name.ends_with("npy") {
                assert_eq!(opened(path.parent().unwrap(), None).unwrap().ids, ids, "a folder");
            }
            let found = opened(&path, None).unwrap();
            assert_eq!((found.ids, found.rows.row(2)), (ids.clone(), &[5.0, 6.0][..]), "{name}");
            assert_eq!(opened(&path, Some(&others)).unwrap().ids, NodeIds::Numbers(vec![30, 10, 20]));
        }
    }

    #[test]
    fn files_that_do_not_fit_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let said = |path: &Path, ids: Option<&Path>| opened(path, ids).unwrap_err().to_string();
        assert!(
            said(folder.path(), None).contains("is a folder without an embedding; expected embedding.npy")
        );
        let path = folder.path().join("z.npy");
        write(&path, &NodeIds::Implicit);
        let ids = folder.path().join("z.ids.txt");
        for (text, what) in [(&b"a\nb\n"[..], "has 2 ids for 3 rows"), (b"a\na\nb", "'a' appears twice")] {
            fs::write(&ids, text).unwrap();
            assert!(said(&path, None).contains(what), "{what}");
        }
        fs::write(&ids, b"a\n\xff\nb").unwrap();
        assert!(said(&path, Some(&ids)).contains("is not UTF-8 text"));
        fs::write(folder.path().join("w.csv"), "id,word\na,x\nb,y\n").unwrap();
        assert!(said(&folder.path().join("w.csv"), None).contains("has no numeric column"));
        let small = Options { budget: Budget { bytes: 100 }, ..Options::default() };
        let wide: String = (0..70).map(|_| "0,").collect::<String>() + "1\n";
        fs::write(folder.path().join("s.csv"), wide.repeat(2)).unwrap();
        let sparse = folder.path().join("s.csv");
        assert!(matches!(NamedRows::open(&sparse, None, &small), Err(Error::Memory { .. })));
    }
}
