//! `scipy.sparse.save_npz`: a sparse matrix, read as a graph or as features.

use super::{
    EdgeSource, Format, Options, Parts,
    bytes::FileHead,
    edges::Nodes,
    npz::Archive,
    sparse_arrays::{Layout, SparseArrays},
};
use crate::{Budget, Csr, Error, Result};
use std::path::Path;

pub(crate) const FORMAT: Format = Format {
    name: "scipy-npz",
    about: "square sparse matrix from scipy.sparse.save_npz (csr, csc or coo); entries are edges",
    recognizes,
    read,
};

pub(crate) fn recognizes(head: &FileHead) -> bool {
    Archive::of_head(head).is_some_and(|archive| archive.has("format") && archive.has("shape"))
}

fn read(path: &Path, options: &Options) -> Result<Parts> {
    let archive = Archive::open(path, &options.budget)?;
    let matrix = open(&archive, &options.budget)?;
    let edges = matrix.edges(options.weights)?;
    let edges = EdgeSource::Raw(if options.weights { edges.added() } else { edges });
    Ok(Parts { nodes: Nodes::Count(matrix.rows), edges, files: vec![path.to_owned()], ..Parts::default() })
}

/// Reads the matrix of a file as features.
pub(crate) fn open_matrix(path: &Path, budget: &Budget) -> Result<Csr> {
    open(&Archive::open(path, budget)?, budget)?.matrix()
}

/// The matrix of a file; its entries are read later.
pub(crate) fn open<'a>(archive: &'a Archive, budget: &'a Budget) -> Result<SparseArrays<'a>> {
    // Bytes since scipy 1.0, text in some older files.
    let names = archive.array("format")?.to_strings(budget)?;
    let layout = match names.first().map(String::as_str) {
        Some("csr") => Layout::Csr,
        Some("csc") => Layout::Csc,
        Some("coo") => Layout::Coo,
        other => {
            let what = format!(
                "is '{}'; only csr, csc and coo are supported (use .tocsr() before saving)",
                other.unwrap_or_default()
            );
            return Err(Error::format(archive.path_of("format"), what));
        }
    };
    SparseArrays::new(archive, "", layout, budget)
}
