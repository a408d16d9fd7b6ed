//! The `.npz` files of gnn-benchmark (Amazon, Coauthor, Cora-ML and others): adjacency and attributes
//! as CSR arrays, and labels.
//!
//! Attributes are read as they are. The paper's loader sets X to X > 0 for Photo and Computers, whose
//! published values are 0 and 1 already; counts in other files carry information.

use super::{
    EdgeSource, Format, Options, Parts,
    bytes::FileHead,
    edges::Nodes,
    npz::Archive,
    sparse_arrays::{Layout, SparseArrays},
};
use crate::{Budget, Dense, Error, Features, Labels, Result};
use std::path::{Path, PathBuf};

pub(crate) const FORMAT: Format = Format {
    name: "gnn-benchmark",
    about: ".npz with adj_*, attr_* and labels as in gnn-benchmark, or a folder with one",
    recognizes,
    read,
};

fn recognizes(head: &FileHead) -> bool {
    match head.names.is_empty() {
        true => Archive::of_head(head).is_some_and(|archive| is_one(&archive)),
        false => only_in(&head.path, &head.names).is_some(),
    }
}

fn is_one(archive: &Archive) -> bool {
    ["adj_indices", "adj_indptr", "adj_shape"].iter().all(|name| archive.has(name))
}

/// The only such file in a folder.
fn only_in(folder: &Path, names: &[String]) -> Option<PathBuf> {
    let archives = names.iter().filter(|name| name.ends_with(".npz")).map(|name| folder.join(name));
    let mut found = archives.filter(|path| Archive::open(path, &Budget::default()).is_ok_and(|a| is_one(&a)));
    found.next().filter(|_| found.next().is_none())
}

fn read(path: &Path, options: &Options) -> Result<Parts> {
    let path = match path.is_dir() {
        true => only_in(path, &FileHead::of(path)?.names)
            .ok_or_else(|| Error::format(path, "does not contain exactly one gnn-benchmark .npz file"))?,
        false => path.to_owned(),
    };
    let budget = &options.budget;
    let archive = Archive::open(&path, budget)?;
    let adjacency = SparseArrays::new(&archive, "adj_", Layout::Csr, budget)?;
    let nodes = adjacency.rows;
    let mut parts = Parts {
        nodes: Nodes::Count(nodes),
        edges: EdgeSource::Raw(adjacency.edges(options.weights)?),
        features: features(&archive, nodes, budget)?,
        ..Parts::default()
    };
    parts.labels = labels(&archive, nodes, budget, &mut parts.notes)?;
    parts.files.push(path);
    Ok(parts)
}

fn features(archive: &Archive, nodes: usize, budget: &Budget) -> Result<Option<Features>> {
    let check = |name: &str, rows: usize| match rows == nodes {
        true => Ok(()),
        false => {
            let what = format!("has {rows} rows, but adj_shape has {nodes} nodes");
            Err(Error::format(archive.path_of(name), what))
        }
    };
    if archive.has("attr_data") {
        let matrix = SparseArrays::new(archive, "attr_", Layout::Csr, budget)?;
        check("attr_shape", matrix.rows)?;
        return Ok(Some(Features::Sparse(matrix.matrix()?)));
    }
    let Some(name) = ["attr_matrix", "attributes"].into_iter().find(|name| archive.has(name)) else {
        return Ok(None);
    };
    let array = archive.array(name)?;
    let (rows, cols) = array.rows_cols()?;
    check(name, rows)?;
    let dense = Dense::new(rows, cols, array.to_f32(budget)?);
    dense
        .map(|dense| Some(Features::Dense(dense)))
        .map_err(|error| Error::format(archive.path_of(name), error.to_string()))
}

fn labels(
    archive: &Archive,
    nodes: usize,
    budget: &Budget,
    notes: &mut Vec<String>,
) -> Result<Option<Labels>> {
    if archive.has("labels_data") {
        let what = "has several labels per node; multi-label data is not supported";
        return Err(Error::format(archive.path_of("labels_data"), what));
    }
    if !archive.has("labels") {
        return Ok(None);
    }
    let array = archive.array("labels")?;
    let wrong = |what: String| Error::format(archive.path_of("labels"), what);
    if array.rows_cols()? != (nodes, 1) {
        return Err(wrong(format!(
            "has shape {:?}; expected one label for each of {nodes} nodes",
            array.shape
        )));
    }
    let labels = Labels::from_signed(array.to_i64(budget)?).map_err(|error| wrong(error.to_string()))?;
    if !archive.has("class_names") {
        return Ok(Some(labels));
    }
    // Class names are optional and often pickled, so their absence is not an error.
    match archive.array("class_names").and_then(|names| names.to_strings(budget)) {
        Ok(names) if names.len() >= labels.classes() => labels.with_names(names).map(Some),
        Ok(names) => {
            notes.push(format!(
                "the class names were ignored: {} names for {} classes",
                names.len(),
                labels.classes()
            ));
            Ok(Some(labels))
        }
        Err(error) => {
            let why = if let Error::Format { what, .. } = error { what } else { error.to_string() };
            notes.push(format!("the class names were ignored: the array {why}"));
            Ok(Some(labels))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{self, npz::tests::integers};

    // 0 -> 1, 1 -> 2, two features, two classes
    fn members() -> Vec<(&'static str, Vec<i64>)> {
        vec![
            ("adj_shape", vec![3, 3]),
            ("adj_indptr", vec![0, 1, 2, 2]),
            ("adj_indices", vec![1, 2]),
            ("adj_data", vec![1, 1]),
            ("attr_shape", vec![3, 2]),
            ("attr_indptr", vec![0, 1, 1, 2]),
            ("attr_indices", vec![1, 0]),
            ("attr_data", vec![4, 5]),
            ("labels", vec![1, 0, 1]),
        ]
    }

    fn open(bytes: &[u8]) -> Result<data::Dataset> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        data::open(file.path(), &Options { format: Some("gnn-benchmark".into()), ..Options::default() })
    }

    fn with(name: &str, items: &[i64]) -> Vec<u8> {
        let members = members();
        let chosen = |held: &&'static str| *held == name;
        let members: Vec<_> =
            members.iter().map(|(held, own)| (*held, if chosen(held) { items } else { &own[..] })).collect();
        integers(&members)
    }

    #[test]
    fn adjacency_attributes_and_labels_are_read() {
        let data = open(&with("", &[])).unwrap();
        assert_eq!(data.graph.edge_iter().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
        assert_eq!(data.features.unwrap().to_dense().values(), [0.0, 4.0, 0.0, 0.0, 5.0, 0.0]);
        let labels = data.labels.unwrap();
        assert_eq!(labels.iter().collect::<Vec<_>>(), [Some(1), Some(0), Some(1)]);
    }

    #[test]
    fn parts_of_different_sizes_and_labels_out_of_range_are_errors() {
        for (name, items, said) in [
            ("attr_shape", &[2, 2][..], "attr_shape: has 2 rows, but adj_shape has 3 nodes"),
            ("labels", &[0, 1], "labels: has shape [2]; expected one label for each of 3 nodes"),
            ("labels", &[0, 1, 1 << 40], "labels: class number 1099511627776 is too large"),
            ("attr_indices", &[1, 2], "attr_indices: item 1 is 2, outside 0..2"),
            ("adj_indices", &[1, -1], "adj_indices: item 1 is -1, outside 0..3"),
        ] {
            let error = open(&with(name, items)).unwrap_err().to_string();
            assert!(error.ends_with(said), "{error}");
        }
        let mut several = members();
        several.push(("labels_data", vec![1]));
        let several: Vec<_> = several.iter().map(|(name, items)| (*name, &items[..])).collect();
        assert!(open(&integers(&several)).unwrap_err().to_string().contains("several labels"));
    }

    #[test]
    fn a_file_cut_anywhere_is_an_error() {
        let whole = with("", &[]);
        for length in 0..whole.len() {
            assert!(open(&whole[..length]).is_err(), "cut to {length}");
        }
    }
}
