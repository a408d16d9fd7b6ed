//! Reads and validates a dataset folder.

use super::{
    DATA, FEATURES, FeatureFiles, GRAPH, IDS, INDICES, INDPTR, LABELS, LabelFile, MANIFEST, Manifest, SPLITS,
    ids,
};
use crate::{
    Budget, Csr, Error, Features, Graph, Labels, NodeIds, Result, Split, SplitSet,
    data::{
        EdgeSource, Options, Parts,
        bytes::{Bytes, read_file},
        npy,
    },
};
use std::path::{Path, PathBuf};

pub(super) fn read(folder: &Path, options: &Options) -> Result<Parts> {
    let manifest = Manifest::read(folder)?;
    let mut files = vec![folder.join(MANIFEST), folder.join(GRAPH)];
    let mut part = |name: &str| -> PathBuf {
        files.push(folder.join(name));
        folder.join(name)
    };
    let budget = &options.budget;
    let graph = Graph::open(folder.join(GRAPH))?;
    if (graph.nodes() as u64, graph.edges() as u64) != (manifest.nodes, manifest.edges) {
        let what = format!("has {} nodes and {} edges, unlike {GRAPH}", manifest.nodes, manifest.edges);
        return Err(Error::format(folder.join(MANIFEST), what));
    }
    let features = match manifest.features {
        None => None,
        Some(FeatureFiles::Dense { width }) => {
            let path = part(FEATURES);
            let matrix = npy::open_matrix(&path, budget)?;
            if matrix.cols() as u64 != width {
                return Err(Error::format(path, format!("has {} columns, expected {width}", matrix.cols())));
            }
            Some(Features::Dense(matrix))
        }
        Some(FeatureFiles::Sparse { width }) => {
            Some(Features::Sparse(read_sparse([INDPTR, INDICES, DATA].map(&mut part), width, budget)?))
        }
    };
    let labels = match manifest.labels {
        None => None,
        Some(about) => Some(read_labels(&part(LABELS), about, budget)?),
    };
    let splits = if manifest.splits { read_splits(&part(SPLITS), graph.nodes())? } else { Vec::new() };
    let ids = match manifest.ids {
        None => NodeIds::Implicit,
        Some(kind) => ids::read(&part(IDS), kind, graph.nodes(), budget)?,
    };
    Ok(Parts {
        name: Some(manifest.name),
        edges: EdgeSource::Graph(graph, ids),
        features,
        labels,
        splits,
        notes: manifest.notes,
        synthetic: manifest.synthetic,
        files,
        ..Parts::default()
    })
}

fn read_numbers(path: &Path, budget: &Budget) -> Result<Vec<i64>> {
    let bytes = Bytes::open(path, budget)?;
    npy::Array::parse(&bytes[..], path)?.to_i64(budget)
}

fn read_sparse([indptr, indices, data]: [PathBuf; 3], width: u64, budget: &Budget) -> Result<Csr> {
    let negative = |path: &Path| Error::format(path, "contains a number that is negative or too large");
    let offsets =
        read_numbers(&indptr, budget)?.into_iter().map(u64::try_from).collect::<Result<Vec<u64>, _>>();
    let columns =
        read_numbers(&indices, budget)?.into_iter().map(u32::try_from).collect::<Result<Vec<u32>, _>>();
    let bytes = Bytes::open(&data, budget)?;
    let values = npy::Array::parse(&bytes[..], &data)?.to_f32(budget)?;
    let offsets = offsets.map_err(|_| negative(&indptr))?;
    let columns = columns.map_err(|_| negative(&indices))?;
    let matrix = Csr::new(width as usize, offsets, columns, values);
    matrix.map_err(|error| Error::format(&indptr, error.to_string()))
}

fn read_labels(path: &Path, about: LabelFile, budget: &Budget) -> Result<Labels> {
    let wrong = |error: Error| Error::format(path, error.to_string());
    let labels = Labels::from_signed(read_numbers(path, budget)?).map_err(wrong)?;
    match about.names {
        Some(names) => labels.with_names(names).map_err(wrong),
        None => Ok(labels),
    }
}

fn read_splits(path: &Path, nodes: usize) -> Result<Vec<SplitSet>> {
    let bytes = read_file(path, &Budget::default())?;
    let sets: Vec<SplitSet> =
        serde_json::from_slice(&bytes).map_err(|error| Error::format(path, error.to_string()))?;
    for split in sets.iter().flat_map(|set| &set.splits) {
        let Split { train, validation, test } = split.clone();
        Split::new(nodes, train, validation, test).map_err(|error| Error::format(path, error.to_string()))?;
    }
    Ok(sets)
}
