//! Datasets: reads files in any supported format into a graph, features and labels.
//!
//! Each format is one file in this folder and one line in [`FORMATS`].

mod by_name;
pub(crate) mod bytes;
mod edge_index;
mod edge_list;
pub(crate) mod edges;
pub mod fetch;
pub(crate) mod folder;
mod geom_gcn;
mod gnn_benchmark;
mod graph_file;
mod graphsaint;
mod heterophilous;
pub(crate) mod id_file;
mod ids;
mod labels;
mod masks;
pub(crate) mod matrix_market;
mod metis_graph;
pub mod named;
pub(crate) mod npy;
pub(crate) mod npz;
mod number_rows;
mod ogb;
mod parquet;
mod pickle;
mod pickled_arrays;
mod planetoid;
pub(crate) mod scipy_npz;
mod sparse_arrays;
mod splits;
mod summary;
mod synthetic;
pub(crate) mod table;
mod tables;
pub(crate) mod text;

use crate::graph::Repairs;
use crate::{Budget, Error, Features, Graph, Result, Seed};
use bytes::FileHead;
use edges::{Nodes, RawEdges};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

pub use by_name::EdgesByName;
pub use bytes::read_text;
pub use ids::NodeIds;
pub use labels::Labels;
pub use splits::{PAPER_TRAIN_PER_CLASS, Split, SplitSet};
pub use summary::{DataSummary, Degrees, FeatureSummary, SplitSummary, Summary};
pub use synthetic::{FeatureKind, Synthetic};

/// A graph with the features and labels of its nodes.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// Name of the dataset; by default that of the file or folder.
    pub name: String,
    /// The graph.
    pub graph: Graph,
    /// One row per node, if there are features.
    pub features: Option<Features>,
    /// Class labels, if there are any.
    pub labels: Option<Labels>,
    /// The splits that came with the data.
    pub splits: Vec<SplitSet>,
    /// The ids of the nodes in the files.
    pub ids: NodeIds,
    /// Repairs made while reading.
    pub repairs: Repairs,
    /// Where the data came from.
    pub source: Source,
}

/// Where a dataset came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// The name of the format it was read as.
    pub format: &'static str,
    /// Whether the graph was generated.
    pub synthetic: bool,
    /// The files read; empty for data made in memory.
    pub files: Vec<PathBuf>,
    /// SHA-256, if it is known without reading the files again.
    pub sha256: Option<String>,
    /// Remarks that matter for the results, such as "15 nodes are unlabelled".
    pub notes: Vec<String>,
}

/// How to read a dataset.
#[derive(Clone, Debug)]
pub struct Options {
    /// Name of the format, one of [`FORMATS`]; detected from the contents if `None`.
    pub format: Option<String>,
    /// Treat anything that would be repaired as an error.
    pub strict: bool,
    /// Whether to read edge weights, such as the third column of an edge list.
    pub weights: bool,
    /// Whether the first line of a text table is a header; judged by the contents if `None`.
    pub header: Option<bool>,
    /// The columns of an edge table.
    pub columns: EdgeColumns,
    /// A file with one id per line: those of the rows of tables and matrices without ids, in order.
    pub ids: Option<PathBuf>,
    /// Limit for a single allocation whose size comes from a file.
    pub budget: Budget,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            format: None,
            strict: false,
            weights: true,
            header: None,
            columns: EdgeColumns::default(),
            ids: None,
            budget: Budget::default(),
        }
    }
}

/// The columns of an edge table: names, or numbers from 1. Found by their names and places if `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EdgeColumns {
    /// One end of each edge.
    pub source: Option<String>,
    /// The other end.
    pub target: Option<String>,
    /// The weight.
    pub weight: Option<String>,
}

impl EdgeColumns {
    /// The columns that were chosen.
    fn iter(&self) -> impl Iterator<Item = &String> {
        [&self.source, &self.target, &self.weight].into_iter().flatten()
    }

    /// The place of a chosen column among those of a table, or what is wrong with the choice.
    fn find(&self, column: &str, names: &[String]) -> Result<usize, String> {
        let exact = names.iter().position(|name| name == column);
        let by_name = exact.or_else(|| names.iter().position(|name| name.eq_ignore_ascii_case(column)));
        let number = column.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        by_name.or(number.filter(|&at| at < names.len())).ok_or_else(|| {
            let names: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
            format!("has no column '{column}'; there are {}", names.join(", "))
        })
    }
}

/// A file format: how to detect it and how to read it.
pub struct Format {
    /// Name of the format, as in [`Options::format`].
    pub name: &'static str,
    /// Description in one line.
    pub about: &'static str,
    /// Whether the file or folder looks like this format.
    pub(crate) recognizes: fn(&FileHead) -> bool,
    pub(crate) read: fn(&Path, &Options) -> Result<Parts>,
}

/// Every format, in the order of detection.
pub const FORMATS: &[Format] = &[
    // Folders.
    folder::FORMAT,
    planetoid::FORMAT,
    geom_gcn::FORMAT,
    graphsaint::FORMAT,
    ogb::FORMAT,
    tables::FORMAT,
    // Binary files.
    graph_file::FORMAT,
    gnn_benchmark::FORMAT,
    heterophilous::FORMAT,
    scipy_npz::FORMAT,
    edge_index::FORMAT,
    parquet::FORMAT,
    // Text. Any other text is an edge list, so that comes last.
    matrix_market::FORMAT,
    metis_graph::FORMAT,
    edge_list::FORMAT,
];

#[cfg(fuzzing)]
pub(crate) use {
    edge_list::both_ways,
    pickle::Pickle,
    pickled_arrays::{one_hot_classes, sparse_matrix},
};

/// What a reader found, before validation.
#[derive(Default)]
pub(crate) struct Parts {
    pub(crate) nodes: Nodes,
    pub(crate) edges: EdgeSource,
    pub(crate) features: Option<Features>,
    pub(crate) labels: Option<Labels>,
    pub(crate) splits: Vec<SplitSet>,
    pub(crate) notes: Vec<String>,
    pub(crate) synthetic: bool,
    /// The name stored in the data, if there is one.
    pub(crate) name: Option<String>,
    /// The files read, for the checksum.
    pub(crate) files: Vec<PathBuf>,
}

/// Edges to build a graph from, or a graph stored in a file.
pub(crate) enum EdgeSource {
    Raw(RawEdges),
    Graph(Graph, NodeIds),
}

impl Default for EdgeSource {
    fn default() -> Self {
        Self::Raw(RawEdges::Small(Vec::new()))
    }
}

/// Opens a file or folder in any of the [`FORMATS`].
pub fn open(path: impl AsRef<Path>, options: &Options) -> Result<Dataset> {
    let path = path.as_ref();
    let format = recognize(path, options)?;
    let mut parts = (format.read)(path, options).map_err(|error| error.within(path))?;
    if format.name != tables::FORMAT.name {
        tables::name_by_file(&mut parts, path, options)?;
    }
    Dataset::assemble(name_of(path), format.name, parts, options).map_err(|error| error.within(path))
}

/// Opens edges in any of the [`FORMATS`], with features and labels from other files, joined by node id.
///
/// The nodes are the rows of the features. Without features, they are the labelled nodes and those in
/// the edges. Rows without ids are nodes 0, 1, 2 and so on. Features may be npy, npz, Matrix Market,
/// Parquet, CSV or TSV; labels also a text file with one label per line, or a JSON object from id to class.
pub fn open_files(
    edges: impl AsRef<Path>,
    features: Option<&Path>,
    labels: Option<&Path>,
    options: &Options,
) -> Result<Dataset> {
    let edges = edges.as_ref();
    let parts = tables::join(edges, features, labels, options)?;
    if let (Some(path), None) = (features, &parts.features) {
        return Err(Error::format(path, "has no numeric column to use as features"));
    }
    Dataset::assemble(name_of(edges), tables::FORMAT.name, parts, options)
        .map_err(|error| error.within(edges))
}

/// A table without a graph, such as an embedding.
#[derive(Clone, Debug)]
pub struct Table {
    /// Ids of the rows.
    pub ids: NodeIds,
    /// The numeric columns, if there are any.
    pub features: Option<Features>,
    /// The class column, if there is one.
    pub labels: Option<Labels>,
}

/// Reads a table: npy, npz of NumPy or scipy, Matrix Market, Parquet, CSV or TSV.
pub fn open_table(path: impl AsRef<Path>, options: &Options) -> Result<Table> {
    let path = path.as_ref();
    let table = table::files::open_features(path, options)?;
    let columns = table.features.as_ref().map_or(0, Features::cols);
    options.budget.check_columns(columns).map_err(|error| error.within(path))?;
    Ok(Table { ids: table.ids.unwrap_or_default(), features: table.features, labels: table.labels })
}

/// Reads an embedding of a dataset's nodes from any table that [`open_table`] supports. Rows with ids
/// are matched by id; rows without ids must be in node order.
pub fn open_embedding(path: impl AsRef<Path>, dataset: &Dataset, options: &Options) -> Result<Features> {
    let path = path.as_ref();
    let table = table::files::open_features(path, options)?;
    tables::rows_of_nodes(table, &dataset.ids, dataset.graph.nodes()).map_err(|error| error.within(path))
}

/// Whether a file is a matrix that cannot be a list of edges: a NumPy array of floats, or a matrix of scipy that
/// is not square.
pub fn is_matrix(path: impl AsRef<Path>) -> Result<bool> {
    let path = path.as_ref();
    let head = FileHead::of(path)?;
    if scipy_npz::recognizes(&head) {
        let (archive, budget) = (npz::Archive::open(path, &Budget::default())?, Budget::default());
        let matrix = scipy_npz::open(&archive, &budget)?;
        return Ok(matrix.rows != matrix.cols);
    }
    Ok(npy::Array::dtype_of(&head.bytes).is_some_and(|dtype| dtype.kind == npy::Kind::Float))
}

/// Loads a dataset by name from `data_dir`, generates a synthetic one, or opens the path of a file or
/// folder.
///
/// Names take precedence over paths; `./cora` is always a path.
pub fn load(data: &str, data_dir: &Path, seed: Seed, options: &Options) -> Result<Dataset> {
    if let Some(model) = Synthetic::named(data) {
        return model.generate_within(seed, &options.budget);
    }
    if let Some(named) = named::find(data) {
        let mut dataset = open(named.locate(data_dir)?, options)?;
        dataset.name = named.name.clone();
        let differences = named.check_counts(&dataset);
        dataset.source.notes.extend(differences);
        return Ok(dataset);
    }
    match Path::new(data).exists() {
        true => open(data, options),
        // Without a path separator or an extension, it was meant as a name.
        false if !data.contains(['/', '\\', '.']) => Err(named::unknown(data)),
        false => Err(Error::format(data, "no such file or folder")),
    }
}

fn name_of(path: &Path) -> String {
    path.file_stem().map_or_else(|| "data".into(), |stem| stem.to_string_lossy().into_owned())
}

fn recognize(path: &Path, options: &Options) -> Result<&'static Format> {
    if let Some(name) = &options.format {
        return FORMATS.iter().find(|format| format.name == name).ok_or_else(|| {
            let known: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
            Error::Input(format!("unknown format '{name}'; expected one of {}", known.join(", ")))
        });
    }
    let head = FileHead { budget: options.budget, ..FileHead::of(path)? };
    if head.is_json() {
        return Err(Error::format(
            path,
            "is JSON, which is not read as a graph; specify the format if it is another",
        ));
    }
    FORMATS.iter().find(|format| (format.recognizes)(&head)).ok_or_else(|| {
        if head.names.is_empty() && head.bytes.trim_ascii().is_empty() {
            return Error::format(path, "is empty");
        }
        let known: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
        let what = match path.is_dir() {
            true => "is a folder without a recognised dataset",
            false => "has an unrecognised format",
        };
        Error::format(path, format!("{what}; the formats are {}", known.join(", ")))
    })
}

impl Dataset {
    /// Builds the graph and checks that all parts have the same number of nodes.
    pub(crate) fn assemble(
        name: String,
        format: &'static str,
        parts: Parts,
        options: &Options,
    ) -> Result<Self> {
        let Parts { nodes, edges, features, labels, splits, notes, synthetic, name: own_name, files } = parts;
        let name = own_name.unwrap_or(name);
        let (graph, ids, repairs) = match edges {
            EdgeSource::Graph(graph, ids) => {
                let repairs = Repairs { isolated: graph.isolated() as u64, ..Repairs::default() };
                (graph, ids, repairs)
            }
            EdgeSource::Raw(raw) => raw.build(nodes, &options.budget)?,
        };
        let nodes = graph.nodes();
        let check = |what: &str, rows: usize| match rows == nodes {
            true => Ok(()),
            false => Err(Error::Input(format!("{what} have {rows} rows but the graph has {nodes} nodes"))),
        };
        features.as_ref().map_or(Ok(()), |features| {
            options.budget.check_columns(features.cols())?;
            check("features", features.rows())
        })?;
        labels.as_ref().map_or(Ok(()), |labels| check("labels", labels.nodes()))?;
        if options.strict
            && let Some(said) = repairs.describe(graph.edges() as u64)
        {
            return Err(Error::Strict(said));
        }
        let source = Source { format, synthetic, files, sha256: None, notes };
        Ok(Self { name, graph, features, labels, splits, ids, repairs, source })
    }

    /// SHA-256 of the file read. For several files, that of the output of `sha256sum` for them, sorted by
    /// name.
    pub fn sha256(&self) -> Result<String> {
        self.source.sha256.clone().map_or_else(|| fingerprint(&self.source.files), Ok)
    }

    /// Some of the nodes with the edges between them, in this order; without splits and ids.
    pub fn induced(&self, nodes: &[u32]) -> Result<Self> {
        let features = self.features.as_ref().map(|features| features.select(nodes));
        Ok(Self::in_memory(&self.name, self.graph.induced(nodes)?, features))
    }

    /// A graph and perhaps features, which were made in memory.
    pub fn in_memory(name: &str, graph: Graph, features: Option<Features>) -> Self {
        Self {
            name: name.to_owned(),
            graph,
            features,
            labels: None,
            splits: Vec::new(),
            ids: NodeIds::Implicit,
            repairs: Repairs::default(),
            source: Source { format: "memory", ..Source::default() },
        }
    }

    /// Share of edges within a class, among edges with two labelled ends.
    pub fn homophily(&self) -> Option<f64> {
        let labels = self.labels.as_ref()?;
        let (mut same, mut known) = (0u64, 0u64);
        for (u, v) in self.graph.edge_iter() {
            if let (Some(a), Some(b)) = (labels.of(u), labels.of(v)) {
                known += 1;
                same += (a == b) as u64;
            }
        }
        (known > 0).then(|| same as f64 / known as f64)
    }
}

fn fingerprint(files: &[PathBuf]) -> Result<String> {
    let mut files: Vec<(String, &PathBuf)> = files
        .iter()
        .map(|file| (file.file_name().unwrap_or_default().to_string_lossy().into_owned(), file))
        .collect();
    files.sort();
    files.dedup();
    let hashes: Result<Vec<String>> = files.iter().map(|(_, path)| sha256_of(path)).collect();
    let hashes = hashes?;
    if let [only] = &hashes[..] {
        return Ok(only.clone());
    }
    let lines: String =
        hashes.iter().zip(&files).map(|(hash, (name, _))| format!("{hash}  {name}\n")).collect();
    Ok(hex(&Sha256::digest(lines.as_bytes())))
}

pub(crate) fn sha256_of(path: &Path) -> Result<String> {
    Ok(hex(&Sha256::digest(&crate::matrix::MappedFile::open(path)?[..])))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
