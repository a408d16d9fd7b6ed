//! What this program writes itself: models, checkpoints and datasets. They are read, written and read again. And two
//! readers of one format are compared.

use super::{BUDGET, PLACE, check, file};
use crate::data::edges::{Nodes, RawEdges};
use crate::data::table::files::open_features;
use crate::data::{self, Options, Source, both_ways};
use crate::graph::Repairs;
use crate::output::{Export, write_clusters};
use crate::{
    Csr, Dataset, Dense, EdgeList, Epoch, Features, Fitted, Graph, Hooks, Labels, Model, NodeIds, Partition,
    Partitioning, Result, StructComp, Trainer, Training,
};
use std::{path::Path, sync::LazyLock};

/// Reads an edge list by both of its readers; where both take it, they find the same edges.
pub fn edge_lists(bytes: &[u8]) {
    LazyLock::force(&PLACE);
    let options = Options { budget: BUDGET, ..Options::default() };
    let Some(found) = both_ways(bytes, Path::new("e"), &options) else { return };
    let built = |edges: Result<RawEdges>| {
        let (graph, ids, _) = edges?.build(Nodes::FromEdges, &BUDGET)?;
        Ok::<_, crate::Error>((names(&ids, graph.nodes()), entries(&graph)))
    };
    match found.map(built) {
        [Ok(fast), Ok(careful)] => assert!(fast == careful, "the readers of edge lists differ"),
        [fast, careful] => {
            assert_eq!(fast.is_ok(), careful.is_ok(), "one reader takes what the other refuses")
        }
    }
}

/// Reads a model; a model that was read is written and read again as the same.
pub fn model(bytes: &[u8]) {
    LazyLock::force(&PLACE);
    let Ok(fitted) = Fitted::from_bytes(bytes.to_vec()) else { return };
    let written = fitted.to_bytes().expect("a model that was read can be written");
    let again = Fitted::from_bytes(written.clone()).expect("a model that was written can be read");
    assert!(again.to_bytes().expect("a model can be written") == written, "writing is not stable");
    // Features and graph that need not fit.
    let _ = fitted.embed(&small());
}

/// Continues training from a checkpoint, after making it one of that training.
pub fn checkpoint(bytes: &[u8]) {
    const MARK: &[u8] = br#"run\":\""#;
    const LENGTH: usize = 32;
    let run_of = |bytes: &[u8]| Some(bytes.windows(MARK.len()).position(|at| at == MARK)? + MARK.len());
    let own = &*OWN_CHECKPOINT;
    let mut bytes = bytes.to_vec();
    if let (Some(from), Some(to)) = (run_of(own), run_of(&bytes))
        && let (Some(run), Some(place)) = (own.get(from..from + LENGTH), bytes.get_mut(to..to + LENGTH))
    {
        place.copy_from_slice(run);
    }
    let path = file("checkpoint.safetensors", &bytes);
    let _ = trained().fit_with(&small(), Hooks { resume: Some(path), ..Hooks::default() });
}

/// A checkpoint after the first of two epochs.
static OWN_CHECKPOINT: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let path = file("own.safetensors", b"");
    let mut save = |_: &Epoch, trainer: &Trainer<'_>| trainer.save(&path).map(|()| true);
    let hooks = Hooks { on_epoch: Some(&mut save), ..Hooks::default() };
    trained().fit_with(&small(), hooks).expect("training");
    std::fs::read(&path).expect("a checkpoint")
});

fn trained() -> StructComp {
    let model = Model::named("sce").expect("a model");
    StructComp {
        partitioning: Partitioning { clusters: Some(3), ..Partitioning::default() },
        training: Training { model, hidden: 2, epochs: 2, ..Training::default() },
        ..StructComp::default()
    }
}

/// A path of eight nodes with two features.
fn small() -> Dataset {
    let edges: Vec<(u32, u32)> = (1..8).map(|node| (node - 1, node)).collect();
    let x = (0..16).map(|at| (at * 5 % 7) as f32).collect::<Vec<_>>();
    let x = Dense::new(8, 2, x).expect("a matrix");
    of(Graph::from_edges(8, &edges).expect("a graph"), Some(Features::Dense(x)), None, NodeIds::default())
}

fn of(graph: Graph, features: Option<Features>, labels: Option<Labels>, ids: NodeIds) -> Dataset {
    let (repairs, source) = (Repairs::default(), Source::default());
    Dataset { name: "a".into(), graph, features, labels, splits: Vec::new(), ids, repairs, source }
}

/// Builds a dataset from the bytes, writes it in each of our formats, and reads it again as the same.
pub fn datasets(bytes: &[u8]) {
    LazyLock::force(&PLACE);
    let mut bytes = Source8(bytes);
    let nodes = 2 + bytes.next() as usize % 30;
    let [kind, with] = [bytes.next(), bytes.next()];
    let ids = bytes.ids(nodes, kind);
    let labels = (with & 1 > 0).then(|| bytes.labels(nodes));
    let features = match with >> 1 & 3 {
        0 => None,
        1 => Some(bytes.dense(nodes)),
        _ => Some(bytes.sparse(nodes)),
    };
    let Some(graph) = bytes.graph(nodes, with & 8 > 0) else { return };
    let data = of(graph, features, labels, ids);
    folder(&data);
    edge_files(&data);
    tables(&data);
    clusters(&data);
}

/// The rest of the input, which goes on with zeros.
struct Source8<'a>(&'a [u8]);

impl Source8<'_> {
    fn next(&mut self) -> u8 {
        match self.0 {
            [first, rest @ ..] => {
                self.0 = rest;
                *first
            }
            [] => 0,
        }
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.next())
    }

    /// Any number that a file may have.
    fn number(&mut self) -> f32 {
        match f32::from_le_bytes(self.bytes()) {
            value if value.is_finite() => value,
            _ => 0.25,
        }
    }

    /// Names, numbers or none.
    fn ids(&mut self, nodes: usize, kind: u8) -> NodeIds {
        let found = match kind % 3 {
            0 => Ok(NodeIds::default()),
            1 => NodeIds::from_numbers((0..nodes).map(|_| u64::from_le_bytes(self.bytes())).collect()),
            _ => {
                let name = |_| {
                    let length = self.next() as usize % 6;
                    let bytes: Vec<u8> = (0..length).map(|_| self.next()).collect();
                    String::from_utf8_lossy(&bytes).into_owned().into_boxed_str()
                };
                NodeIds::from_names((0..nodes).map(name).collect())
            }
        };
        found.unwrap_or_default()
    }

    fn labels(&mut self, nodes: usize) -> Labels {
        let labels = (0..nodes).map(|_| Some(self.next() as u32 % 5).filter(|&class| class > 0));
        Labels::new(labels.collect::<Vec<_>>()).expect("few classes")
    }

    fn dense(&mut self, nodes: usize) -> Features {
        let cols = 1 + self.next() as usize % 4;
        let values = (0..nodes * cols).map(|_| self.number()).collect::<Vec<_>>();
        Features::Dense(Dense::new(nodes, cols, values).expect("a matrix"))
    }

    fn sparse(&mut self, nodes: usize) -> Features {
        let cols = 1 + self.next() as u32 % 9;
        let (mut ends, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for _ in 0..nodes {
            let which = self.next();
            for column in (0..cols).filter(|column| which >> (column % 8) & 1 > 0) {
                columns.push(column);
                values.push(self.number());
            }
            ends.push(columns.len() as u64);
        }
        Features::Sparse(Csr::new(cols as usize, ends, columns, values).expect("a matrix"))
    }

    fn graph(&mut self, nodes: usize, weighted: bool) -> Option<Graph> {
        let mut pair = || {
            let [from, to] = self.bytes().map(|end: u8| (end as usize % nodes) as u64);
            (from << 32 | to, if weighted { self.number().abs().clamp(1e-30, 1e30) } else { 1.0 })
        };
        let count = 1 + pair().0 as usize % 40;
        let pairs: Vec<(u64, f32)> = (0..count).map(|_| pair()).collect();
        let edges = match weighted {
            true => EdgeList::from_weighted(pairs),
            false => EdgeList::from_packed(pairs.into_iter().map(|(pair, _)| pair).collect()),
        };
        edges.build(nodes).ok().map(|(graph, _)| graph)
    }
}

fn read(path: &Path, format: Option<&str>) -> Dataset {
    let options = Options { format: format.map(str::to_owned), ..Options::default() };
    let data = data::open(path, &options).expect("what was written can be read");
    check(&data);
    data
}

fn names(ids: &NodeIds, nodes: usize) -> Vec<String> {
    (0..nodes as u32).map(|node| ids.name(node).into_owned()).collect()
}

/// Every edge with the bits of its weight.
fn entries(graph: &Graph) -> Vec<(u32, u32, u32)> {
    let of = |node: u32| {
        let weight = move |at: usize| graph.edge_weights(node).map_or(1.0, |weights| weights[at]).to_bits();
        graph.neighbors(node).iter().enumerate().map(move |(at, &other)| (node, other, weight(at)))
    };
    (0..graph.nodes() as u32).flat_map(of).collect()
}

/// Every value with its bits; zeros of either sign are the same.
fn values(features: &Features) -> Vec<u32> {
    features.to_dense().values().iter().map(|value| (value + 0.0).to_bits()).collect()
}

fn folder(data: &Dataset) {
    let path = PLACE.path().join("written");
    data.save(&path).expect("a dataset can be written");
    let again = read(&path, None);
    assert_eq!(entries(&again.graph), entries(&data.graph));
    assert_eq!(again.features.as_ref().map(values), data.features.as_ref().map(values));
    assert_eq!(again.labels, data.labels);
    assert_eq!(names(&again.ids, again.graph.nodes()), names(&data.ids, data.graph.nodes()));
}

/// Edges between names, in whatever order the nodes come back.
fn named_edges(data: &Dataset) -> Vec<(String, String, u32)> {
    let names = names(&data.ids, data.graph.nodes());
    let name = |node: u32| names[node as usize].clone();
    let mut edges: Vec<_> =
        entries(&data.graph).into_iter().map(|(from, to, weight)| (name(from), name(to), weight)).collect();
    edges.sort();
    edges
}

fn edge_files(data: &Dataset) {
    if data.graph.edges() == 0 {
        return;
    }
    for name in
        ["edges.csv", "edges.tsv", "edges.mtx", "edges.npz", "edges.graph", "edges.parquet", "edges.npy"]
    {
        let path = PLACE.path().join(name);
        let _ = std::fs::remove_file(path.with_file_name("ids.txt"));
        match data.export(&path, Some(Export::Edges)) {
            // Matrices have a row for every node; tables of edges have names.
            Ok(_) if name.ends_with(['x', 'z', 'h']) => {
                assert_eq!(entries(&read(&path, None).graph), entries(&data.graph), "{name}");
            }
            Ok(_) => assert_eq!(named_edges(&read(&path, None)), named_edges(data), "{name}"),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

fn tables(data: &Dataset) {
    let Some(features) = &data.features else { return };
    for name in ["x.csv", "x.tsv", "x.npy", "x.parquet", "x.mtx", "x.npz"] {
        let path = PLACE.path().join(name);
        let _ = std::fs::remove_file(path.with_file_name("ids.txt"));
        if data.export(&path, Some(Export::Features)).is_ok() {
            let read = open_features(&path, &Options::default()).expect("features can be read again");
            assert_eq!(read.features.as_ref().map(values), Some(values(features)), "{name}");
        }
    }
}

fn clusters(data: &Dataset) {
    let of = (0..data.graph.nodes() as u32).map(|node| node % 3).collect::<Vec<_>>();
    let Ok(partition) = Partition::new(of) else { return };
    let path = PLACE.path().join("clusters.csv");
    let _ = write_clusters(&path, &partition, &data.ids);
}
