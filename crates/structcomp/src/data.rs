//! Datasets: from files in any known format to a checked graph, features and labels.
//!
//! A format is one file here and one line in [`FORMATS`].

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

use crate::{Budget, Error, Features, Graph, Repairs, Result, Seed};
use bytes::Head;
use edges::{Nodes, RawEdges};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

pub use ids::NodeIds;
pub use labels::Labels;
pub use splits::{PAPER_TRAIN_PER_CLASS, Split, SplitSet};
pub use summary::{DataSummary, Degrees, FeatureSummary, SplitSummary, Summary};
pub use synthetic::{FeatureKind, Synthetic};

/// A graph with what is known about its nodes.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// What people call it; by default the file's or folder's name.
    pub name: String,
    /// The graph.
    pub graph: Graph,
    /// One row a node, if there are features.
    pub features: Option<Features>,
    /// Class labels, if there are any.
    pub labels: Option<Labels>,
    /// The splits that came with the data.
    pub splits: Vec<SplitSet>,
    /// What the files call the nodes.
    pub ids: NodeIds,
    /// What was mended while reading.
    pub repairs: Repairs,
    /// Where it all came from.
    pub source: Source,
}

/// Where a dataset came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// The name of the format it was read as.
    pub format: &'static str,
    /// Whether the graph was made by a generator.
    pub synthetic: bool,
    /// The files read, or nothing where data was made in memory.
    pub files: Vec<PathBuf>,
    /// The fingerprint, where it is known without reading the files again.
    pub sha256: Option<String>,
    /// What a reader of results should know, such as "15 nodes are unlabelled".
    pub notes: Vec<String>,
}

/// How to read a dataset.
#[derive(Clone, Debug)]
pub struct Options {
    /// The format's name from [`FORMATS`]; recognised by content if absent.
    pub format: Option<String>,
    /// Treat anything that would be repaired as an error.
    pub strict: bool,
    /// Whether a third column of an edge list is read as weights.
    pub weights: bool,
    /// The most memory a file's contents may make us allocate at once.
    pub budget: Budget,
}

impl Default for Options {
    fn default() -> Self {
        Self { format: None, strict: false, weights: true, budget: Budget::default() }
    }
}

/// A file format: how to recognise it and how to read it.
pub struct Format {
    /// What `--format` calls it.
    pub name: &'static str,
    /// One line for people.
    pub about: &'static str,
    /// Whether the file or folder looks like this format.
    pub(crate) recognizes: fn(&Head) -> bool,
    /// Reads it.
    pub(crate) read: fn(&Path, &Options) -> Result<Parts>,
}

/// Every format, in the order in which they are tried.
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
    scipy_npz::FORMAT,
    edge_index::FORMAT,
    parquet::FORMAT,
    // Text; an edge list is what no other text format claims.
    matrix_market::FORMAT,
    metis_graph::FORMAT,
    edge_list::FORMAT,
];

#[cfg(fuzzing)]
pub(crate) use {
    pickle::Pickle,
    pickled_arrays::{one_hot_classes, sparse_matrix},
};

/// What a reader found, before it is checked and put together.
#[derive(Default)]
pub(crate) struct Parts {
    pub(crate) nodes: Nodes,
    pub(crate) edges: EdgeSource,
    pub(crate) features: Option<Features>,
    pub(crate) labels: Option<Labels>,
    pub(crate) splits: Vec<SplitSet>,
    pub(crate) notes: Vec<String>,
    pub(crate) synthetic: bool,
    /// What the data calls itself, if it does.
    pub(crate) name: Option<String>,
    /// The files read, for the fingerprint.
    pub(crate) files: Vec<PathBuf>,
}

/// Edges still to be put together, or a graph that a file already holds finished.
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
    let parts = (format.read)(path, options).map_err(|error| error.within(path))?;
    Dataset::assemble(name_of(path), format.name, parts, options).map_err(|error| error.within(path))
}

/// Opens edges in any of the [`FORMATS`] with features and labels from other files, joined by the
/// ids of the nodes.
///
/// The nodes are the rows of the features; without features, those with labels and those that the
/// edges name. Rows without ids are the nodes from 0. Features may be npy, npz, Matrix Market,
/// Parquet, CSV or TSV; labels also one a line, or a JSON object from id to class.
pub fn open_files(
    edges: impl AsRef<Path>,
    features: Option<&Path>,
    labels: Option<&Path>,
    options: &Options,
) -> Result<Dataset> {
    let edges = edges.as_ref();
    let parts = tables::join(edges, features, labels, options)?;
    if let (Some(path), None) = (features, &parts.features) {
        return Err(Error::format(path, "has no column of numbers to take as features"));
    }
    Dataset::assemble(name_of(edges), tables::FORMAT.name, parts, options)
        .map_err(|error| error.within(edges))
}

/// A table of rows on its own, such as an embedding: no graph belongs to it.
#[derive(Clone, Debug)]
pub struct Table {
    /// What the rows are called.
    pub ids: NodeIds,
    /// The columns of numbers, if there are any.
    pub features: Option<Features>,
    /// A column of classes, if there is one.
    pub labels: Option<Labels>,
}

/// Reads a table of rows: npy, scipy's or numpy's npz, Matrix Market, Parquet, CSV or TSV.
pub fn open_table(path: impl AsRef<Path>, options: &Options) -> Result<Table> {
    let table = table::files::open_features(path.as_ref(), options)?;
    Ok(Table { ids: table.ids.unwrap_or_default(), features: table.features, labels: table.labels })
}

/// Reads the embedding of a dataset's nodes from any table that [`open_table`] reads, in the order
/// of the nodes: rows with ids are joined by id, others are taken as they stand.
pub fn open_embedding(path: impl AsRef<Path>, dataset: &Dataset, options: &Options) -> Result<Features> {
    let path = path.as_ref();
    let table = open_table(path, options)?;
    tables::rows_of_nodes(table, &dataset.ids, dataset.graph.nodes()).map_err(|error| error.within(path))
}

/// Whether a file holds rows of numbers that cannot be edges: a numpy array that is not of whole
/// numbers.
pub fn is_matrix(path: impl AsRef<Path>) -> Result<bool> {
    let head = Head::of(path.as_ref())?;
    Ok(npy::Array::dtype_of(&head.bytes).is_some_and(|dtype| dtype.kind == npy::Kind::Float))
}

/// Loads a dataset by what a person calls it: a named dataset kept below `data_dir`, a synthetic
/// one, which is generated, or the path of a file or folder.
///
/// Names win over paths; `./cora` is always a path.
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
        // Whoever writes no path separator and no ending meant a name.
        false if !data.contains(['/', '\\', '.']) => Err(named::unknown(data)),
        false => Err(Error::format(data, "there is no such file or folder")),
    }
}

fn name_of(path: &Path) -> String {
    path.file_stem().map_or_else(|| "data".into(), |stem| stem.to_string_lossy().into_owned())
}

fn recognize(path: &Path, options: &Options) -> Result<&'static Format> {
    if let Some(name) = &options.format {
        return FORMATS.iter().find(|format| format.name == name).ok_or_else(|| {
            let known: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
            Error::Input(format!("there is no format '{name}'; known are {}", known.join(", ")))
        });
    }
    let head = Head { budget: options.budget, ..Head::of(path)? };
    FORMATS.iter().find(|format| (format.recognizes)(&head)).ok_or_else(|| {
        let what = match head.names.is_empty() {
            true => "is in no known format; say which with --format, or see docs/formats.md",
            false => "is a folder without files of any known dataset; see docs/formats.md",
        };
        Error::format(path, what)
    })
}

impl Dataset {
    /// Checks that the parts fit together and builds the graph.
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
            EdgeSource::Raw(raw) => {
                let resolved = raw.resolve(nodes)?;
                let (graph, mut repairs) = resolved.edges.build(resolved.nodes)?;
                repairs.unknown_ids = resolved.unknown;
                repairs.listed += resolved.unknown;
                if graph.edges() == 0 && repairs.unknown_ids > 0 {
                    return Err(Error::Input(format!(
                        "none of the {} edges joins two nodes of the node table; do both use the same ids?",
                        repairs.unknown_ids
                    )));
                }
                (graph, resolved.ids, repairs)
            }
        };
        let nodes = graph.nodes();
        let check = |what: &str, rows: usize| match rows == nodes {
            true => Ok(()),
            false => Err(Error::Input(format!("{what} have {rows} rows but the graph has {nodes} nodes"))),
        };
        features.as_ref().map_or(Ok(()), |features| check("features", features.rows()))?;
        labels.as_ref().map_or(Ok(()), |labels| check("labels", labels.nodes()))?;
        if options.strict
            && let Some(said) = repairs.describe(graph.edges() as u64)
        {
            return Err(Error::Strict(said));
        }
        let source = Source { format, synthetic, files, sha256: None, notes };
        Ok(Self { name, graph, features, labels, splits, ids, repairs, source })
    }

    /// The data's fingerprint: SHA-256 of the one file read, or of what `sha256sum` prints for
    /// several in the order of their names.
    pub fn sha256(&self) -> Result<String> {
        self.source.sha256.clone().map_or_else(|| fingerprint(&self.source.files), Ok)
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

    /// The share of edges that join nodes of the same class, among edges whose both ends have one.
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

/// SHA-256 of a file, in hexadecimal.
pub(crate) fn sha256_of(path: &Path) -> Result<String> {
    Ok(hex(&Sha256::digest(&crate::MappedFile::open(path)?[..])))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
