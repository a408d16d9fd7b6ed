//! The dataset folder: a manifest, a graph file, NumPy arrays and text files.
//!
//! `docs/reference/formats.md` specifies the files. The graph and dense features are memory-mapped.

mod array_writer;
mod ids;
mod read;
mod writer;

pub(crate) use array_writer::ArrayWriter;
pub(crate) use writer::FolderWriter;

use super::Format;
use super::bytes::read_text;
use crate::atomic::write_text;
use crate::{Budget, Dataset, Error, Features, Labels, Result};
use ids::IdKind;
use serde::{Deserialize, Serialize};
use std::path::Path;

pub(crate) const FORMAT: Format = Format {
    name: "structcomp",
    about: "dataset folder with dataset.json and graph.scg, as written by structcomp",
    recognizes: |head| head.has(MANIFEST) && head.has(GRAPH),
    read: read::read,
};

const MANIFEST: &str = "dataset.json";
pub(crate) const GRAPH: &str = "graph.scg";
pub(crate) const FEATURES: &str = "features.npy";
pub(crate) const INDPTR: &str = "features.indptr.npy";
pub(crate) const INDICES: &str = "features.indices.npy";
pub(crate) const DATA: &str = "features.data.npy";
pub(crate) const LABELS: &str = "labels.npy";
const SPLITS: &str = "splits.json";
const IDS: &str = "ids.txt";
/// Every file that a dataset folder may contain.
const FILES: [&str; 9] = [MANIFEST, GRAPH, FEATURES, INDPTR, INDICES, DATA, LABELS, SPLITS, IDS];
const VERSION: u32 = 1;

/// The contents of `dataset.json`. File names are fixed; absent parts have no file.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Manifest {
    format: String,
    version: u32,
    pub(crate) name: String,
    pub(crate) synthetic: bool,
    /// Parameters and seed of the generator, for information.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) generator: Option<serde_json::Value>,
    pub(crate) nodes: u64,
    pub(crate) edges: u64,
    pub(crate) features: Option<FeatureFiles>,
    pub(crate) labels: Option<LabelFile>,
    splits: bool,
    ids: Option<IdKind>,
    pub(crate) notes: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum FeatureFiles {
    Dense { width: u64 },
    Sparse { width: u64 },
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LabelFile {
    pub(crate) classes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) names: Option<Vec<String>>,
}

impl Manifest {
    pub(crate) fn new(name: &str, nodes: u64, edges: u64) -> Self {
        Self {
            format: FORMAT.name.into(),
            version: VERSION,
            name: name.into(),
            synthetic: false,
            generator: None,
            nodes,
            edges,
            features: None,
            labels: None,
            splits: false,
            ids: None,
            notes: Vec::new(),
        }
    }

    fn read(folder: &Path) -> Result<Self> {
        #[derive(Deserialize)]
        struct Kind {
            format: String,
            version: u32,
        }
        let path = folder.join(MANIFEST);
        let text = read_text(&path, &Budget::default())?;
        let wrong = |error: serde_json::Error| Error::format(&path, error.to_string());
        let kind: Kind = serde_json::from_str(&text).map_err(wrong)?;
        if kind.format != FORMAT.name || kind.version != VERSION {
            let Kind { format, version } = kind;
            let what = format!(
                "has format '{format}' version {version}; expected '{}' version {VERSION}",
                FORMAT.name
            );
            return Err(Error::format(&path, what));
        }
        serde_json::from_str(&text).map_err(wrong)
    }
}

impl Dataset {
    /// Writes everything except repairs and origin as a folder that [`open`](super::open) reads.
    ///
    /// The write is atomic. An existing dataset folder is replaced; a folder with any other content is an
    /// error.
    pub fn save(&self, folder: impl AsRef<Path>) -> Result<()> {
        let writer = FolderWriter::create(folder.as_ref())?;
        let mut manifest = Manifest::new(&self.name, self.graph.nodes() as u64, self.graph.edges() as u64);
        manifest.synthetic = self.source.synthetic;
        manifest.notes.clone_from(&self.source.notes);
        self.graph.save(writer.file(GRAPH))?;
        manifest.features =
            self.features.as_ref().map(|features| save_features(&writer, features)).transpose()?;
        manifest.labels = self.labels.as_ref().map(|labels| save_labels(&writer, labels)).transpose()?;
        if !self.splits.is_empty() {
            manifest.splits = true;
            let text =
                serde_json::to_string(&self.splits).map_err(|error| Error::Input(error.to_string()))?;
            write_text(writer.file(SPLITS), &text)?;
        }
        manifest.ids = ids::save(&writer.file(IDS), &self.ids)?;
        writer.finish(&manifest)
    }
}

fn save_features(writer: &FolderWriter, features: &Features) -> Result<FeatureFiles> {
    let width = features.cols() as u64;
    match features {
        Features::Dense(x) => {
            let mut array = ArrayWriter::create::<f32>(writer.file(FEATURES), "<f4")?;
            array.push(x.values())?;
            array.finish(&[x.rows() as u64, width])?;
            Ok(FeatureFiles::Dense { width })
        }
        Features::Sparse(x) => {
            let (offsets, indices, values) = x.parts();
            let mut arrays = SparseWriter::create(writer)?;
            arrays.push(&offsets[1..], indices, values)?;
            arrays.finish()?;
            Ok(FeatureFiles::Sparse { width })
        }
    }
}

/// The three arrays of a CSR matrix, named as in scipy.
pub(crate) struct SparseWriter {
    indptr: ArrayWriter,
    indices: ArrayWriter,
    data: ArrayWriter,
    rows: u64,
    entries: u64,
}

impl SparseWriter {
    pub(crate) fn create(writer: &FolderWriter) -> Result<Self> {
        let mut indptr = ArrayWriter::create::<u64>(writer.file(INDPTR), "<i8")?;
        indptr.push(&[0u64])?;
        let indices = ArrayWriter::create::<u32>(writer.file(INDICES), "<u4")?;
        let data = ArrayWriter::create::<f32>(writer.file(DATA), "<f4")?;
        Ok(Self { indptr, indices, data, rows: 0, entries: 0 })
    }

    /// Appends rows: the end of each among all entries, and the entries.
    pub(crate) fn push(&mut self, ends: &[u64], indices: &[u32], values: &[f32]) -> Result<()> {
        self.rows += ends.len() as u64;
        self.entries += indices.len() as u64;
        self.indptr.push(ends)?;
        self.indices.push(indices)?;
        self.data.push(values)
    }

    pub(crate) fn entries(&self) -> u64 {
        self.entries
    }

    pub(crate) fn finish(self) -> Result<()> {
        self.indptr.finish(&[self.rows + 1])?;
        self.indices.finish(&[self.entries])?;
        self.data.finish(&[self.entries])
    }
}

fn save_labels(writer: &FolderWriter, labels: &Labels) -> Result<LabelFile> {
    let mut array = ArrayWriter::create::<i32>(writer.file(LABELS), "<i4")?;
    let classes: Vec<i32> = labels.iter().map(|class| class.map_or(-1, |class| class as i32)).collect();
    array.push(&classes)?;
    array.finish(&[classes.len() as u64])?;
    let names = labels.names().map(<[String]>::to_vec);
    Ok(LabelFile { classes: labels.classes() as u64, names })
}

#[cfg(test)]
mod tests;
