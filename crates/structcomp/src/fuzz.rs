//! Entry points for the fuzzer: they accept any bytes, and only a panic is a finding.
//!
//! Compiled only with `--cfg fuzzing`, which cargo-fuzz sets; see `fuzz/README.md`.

mod written;

pub use written::{checkpoint, datasets, edge_lists, model};

use crate::{
    Budget, Dataset, Graph, Labels, SplitSet, Training,
    data::{self, Options, matrix_market, npy, npz::Archive, scipy_npz},
};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};
use tempfile::TempDir;
use xxhash_rust::xxh3::xxh3_64;

/// Small, so that a file that claims millions of nodes does not slow the fuzzer down.
const BUDGET: Budget = Budget { bytes: 4 << 20 };

/// The file names that the fuzzer may put into a folder, for all formats; it refers to them by index.
/// Append new names at the end: the collected corpus depends on the order.
static NAMES: LazyLock<Vec<&str>> =
    LazyLock::new(|| include_str!("../../../fuzz/names.txt").lines().collect());

/// Reads `bytes` as a dataset in the named format.
///
/// The lowest bit of the first byte decides whether the rest is one file or a folder: for each file
/// the index of its name, its length in two bytes and its contents. The next two bits select the
/// feature normalization.
pub fn read(format: &str, bytes: &[u8]) {
    open(Some(format), bytes);
}

/// Like [`read`], but detects the format.
pub fn recognize(bytes: &[u8]) {
    open(None, bytes);
}

fn open(format: Option<&str>, bytes: &[u8]) {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    let path = if kind % 2 == 0 { file("data", bytes) } else { folder(bytes) };
    let format = format.map(str::to_owned);
    let options = Options { format, budget: BUDGET, ..Options::default() };
    if let Ok(dataset) = data::open(&path, &options) {
        check(&dataset);
    }
}

/// Reads a pickle as each structure that Planetoid files contain.
pub fn pickle(bytes: &[u8]) {
    if let Ok(pickle) = data::Pickle::read(bytes, Path::new("pickle"), &BUDGET) {
        let _ = data::sparse_matrix(&pickle);
        let _ = data::one_hot_classes(&pickle);
    }
}

/// Reads settings as TOML and as JSON; what was read is written and read again as the same.
pub fn settings(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let found: [Option<Training>; 2] = [toml::from_str(text).ok(), serde_json::from_str(text).ok()];
    for training in found.into_iter().flatten() {
        let written = serde_json::to_string(&training).expect("settings can be written");
        // Numbers that JSON does not have become null.
        if !written.contains("null") {
            assert!(serde_json::from_str(&written).is_ok_and(|again: Training| again == training));
        }
        let _ = (training.model.name(), training.check_solved());
    }
}

/// Reads a numpy array as a matrix.
pub fn npy(bytes: &[u8]) {
    if let Ok(matrix) = npy::open_matrix(&file("matrix.npy", bytes), &BUDGET) {
        assert_eq!(matrix.rows() * matrix.cols(), matrix.values().len());
    }
}

/// Reads every array of an archive as every supported type.
pub fn npz(bytes: &[u8]) {
    let Ok(archive) = Archive::open(&file("arrays.npz", bytes), &BUDGET) else { return };
    for array in archive.names().iter().filter_map(|name| archive.array(name).ok()) {
        let _ = (array.to_f32(&BUDGET), array.to_i64(&BUDGET));
        let _ = (array.to_bool(&BUDGET), array.to_strings(&BUDGET));
    }
}

/// Reads a scipy or Matrix Market file as a feature matrix.
pub fn matrix(bytes: &[u8]) {
    let path = file("matrix", bytes);
    let _ = scipy_npz::open_matrix(&path, &BUDGET);
    let _ = matrix_market::open_matrix(&path, &BUDGET);
}

/// Reads a file of splits; a zero byte separates the training from the test file.
pub fn splits(bytes: &[u8]) {
    let mut files = bytes.splitn(2, |&byte| byte == 0);
    let train = file("split_train.txt", files.next().unwrap_or_default());
    match files.next() {
        Some(test) => drop(file("split_test.txt", test)),
        None => drop(fs::remove_file(train.with_file_name("split_test.txt"))),
    }
    let labels = Labels::new((0..40).map(|node| (node % 7 != 0).then_some(node % 3)));
    let labels = labels.expect("three classes are few");
    if let Ok(set) = SplitSet::from_file(&train, &labels) {
        check_splits(&[set], labels.nodes());
    }
}

/// Reads a graph file, after correcting its checksums.
pub fn graph(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    seal(&mut bytes);
    if let Ok(graph) = Graph::open(file("graph.scg", &bytes)) {
        check_graph(&graph);
    }
}

/// Updates the checksums in the header of a graph file to match its contents.
fn seal(bytes: &mut [u8]) {
    const FIELDS: [(usize, usize, u64); 3] = [(32, 56, 8), (40, 64, 4), (48, 72, 4)];
    let number = |bytes: &[u8], at: usize| {
        bytes.get(at..at + 8).and_then(|field| field.try_into().ok()).map_or(0, u64::from_le_bytes)
    };
    if bytes.len() < 128 {
        return;
    }
    for (start, hash, size) in FIELDS {
        let count = number(bytes, if size == 8 { 16 } else { 24 }).saturating_add((size == 8) as u64);
        let (start, length) = (number(bytes, start), count.saturating_mul(size));
        let range = start as usize..start.saturating_add(length) as usize;
        if let Some(array) = bytes.get(range) {
            let own = xxh3_64(array);
            bytes[hash..hash + 8].copy_from_slice(&own.to_le_bytes());
        }
    }
    let own = xxh3_64(&bytes[..120]);
    bytes[120..128].copy_from_slice(&own.to_le_bytes());
}

/// Checks the invariants of a dataset that was read.
fn check(dataset: &Dataset) {
    let nodes = dataset.graph.nodes();
    check_graph(&dataset.graph);
    check_splits(&dataset.splits, nodes);
    assert!(dataset.features.as_ref().is_none_or(|features| features.rows() == nodes));
    assert!(dataset.labels.as_ref().is_none_or(|labels| labels.nodes() == nodes));
    assert!(dataset.ids.len().is_none_or(|ids| ids == nodes));
    let summary = dataset.summary().expect("statistics of a dataset that was read");
    assert_eq!(summary.data.edges, dataset.graph.edges());
}

fn check_graph(graph: &Graph) {
    let weights = graph.weights().map(|weights| weights.to_vec().into());
    Graph::from_csr(graph.offsets().to_vec().into(), graph.targets().to_vec().into(), weights)
        .expect("a graph that was read is valid");
}

fn check_splits(sets: &[SplitSet], nodes: usize) {
    for split in sets.iter().flat_map(|set| &set.splits) {
        let mut named: Vec<u32> = [&split.train[..], &split.validation, &split.test].concat();
        named.sort_unstable();
        assert!(named.windows(2).all(|pair| pair[0] < pair[1]), "a node is in a split once");
        assert!(named.last().is_none_or(|&node| (node as usize) < nodes), "a node of a split exists");
    }
}

/// A folder in memory for the whole process. Rayon runs on the calling thread only.
static PLACE: LazyLock<TempDir> = LazyLock::new(|| {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
    pool.build_global().expect("no thread pool exists yet");
    // The fuzzer's hook would abort at panics that a reader catches by design. Uncaught panics still abort.
    drop(std::panic::take_hook());
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    place.expect("a folder for the fuzzer's files")
});

fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = PLACE.path().join(name);
    fs::write(&path, bytes).expect("a file can be written");
    path
}

fn folder(mut bytes: &[u8]) -> PathBuf {
    let folder = PLACE.path().join("a");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).expect("a folder can be made");
    while let [name, low, high, rest @ ..] = bytes {
        let length = u16::from_le_bytes([*low, *high]) as usize;
        let (contents, others) = rest.split_at(length.min(rest.len()));
        let path = folder.join(NAMES[*name as usize % NAMES.len()]);
        fs::create_dir_all(path.parent().unwrap_or(&folder)).expect("a folder can be made");
        let mut contents = contents.to_vec();
        if path.ends_with("graph.scg") {
            seal(&mut contents);
        }
        fs::write(path, contents).expect("a file can be written");
        bytes = others;
    }
    folder
}
