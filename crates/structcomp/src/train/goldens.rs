//! Training and embedding beside PyTorch.
//!
//! `tests/goldens/make.py` computes two epochs of every model from what `given.json` holds: a small
//! graph, initial weights, and what our seeded streams draw. It also embeds Cora by a GCN.

use super::*;
use crate::encoder::Encoder;
use crate::graph::Hops;
use crate::matrix::column_sums;
use crate::model::{CcaSsg, Coles, Grace, Pairs, Sce, random_pairs};
use crate::nn::{Layer, Network, Towers};
use crate::plan::Plan;
use crate::random::normal;
use crate::sample::Inputs;
use crate::{
    Activation, Compressed, Csr, Dense, DropMember, Features, Graph, Model, Optimizer, Partition, Seed,
};
use rand::RngExt;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

#[path = "../../tests/published/mod.rs"]
#[allow(clippy::print_stderr)] // says what it skips
mod published;

const SEED: Seed = Seed(7);
const EPOCHS: usize = 2;

/// What PyTorch is given.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Given {
    nodes: usize,
    edges: Vec<(u32, u32)>,
    features: Vec<Vec<f32>>,
    cluster: Vec<u32>,
    /// The members that each cluster's second view averages, in each epoch.
    kept: Vec<Vec<Vec<u32>>>,
    /// The rows that each is pushed away from by SCE, from either side, in each epoch.
    sce: Vec<Vec<Vec<u32>>>,
    /// How often COLES draws a row with others.
    coles: Vec<Vec<(u32, f32)>>,
    cases: Vec<Case>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Case {
    name: String,
    training: Training,
    initial: Vec<f32>,
}

/// What PyTorch gives.
#[derive(Deserialize)]
struct Steps {
    name: String,
    epochs: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    loss: f64,
    gradient: Vec<f64>,
    parameters: Vec<f64>,
}

#[derive(Deserialize)]
struct Embedded {
    nodes: usize,
    rows: Vec<usize>,
    values: Vec<Vec<f64>>,
    sums: Vec<f64>,
}

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens").join(name)
}

fn read<T: DeserializeOwned>(name: &str) -> T {
    serde_json::from_str(&std::fs::read_to_string(path(name)).unwrap()).unwrap()
}

/// Synthetic: 40 nodes in 11 clusters of 1 to 6, with six features.
fn graph() -> (Graph, Features, Partition) {
    let nodes = 40;
    let mut rng = Seed(1).stream("golden graph");
    let edges: Vec<(u32, u32)> =
        (0..90).map(|_| (rng.random_range(0..nodes), rng.random_range(0..nodes))).collect();
    let values: Vec<f32> = (0..nodes * 6).map(|_| normal(&mut rng)).collect();
    // The last cluster is a single node.
    let cluster = (0..nodes).map(|node| if node == 39 { 10 } else { node * 7 % 40 * 10 / 40 }).collect();
    (
        Graph::from_edges(nodes as usize, &edges).unwrap(),
        Features::Dense(Dense::new(nodes as usize, 6, values).unwrap()),
        Partition::new(cluster).unwrap(),
    )
}

fn trainings() -> Vec<(&'static str, Training)> {
    let base = Training {
        hidden: 5,
        learning_rate: 0.01,
        weight_decay: 0.02,
        inner_activation: Some(Activation::None),
        ..Training::default()
    };
    let with = |model: Model, layers: usize| Training { model, layers, ..base.clone() };
    let grace = with(Model::Grace(Grace { tau: 0.4, projection: Some(4) }), 2);
    vec![
        ("sce", with(Model::Sce(Sce { alpha: 20.0, negatives: 3 }), 1)),
        ("coles", with(Model::Coles(Coles { lambda: 0.7, negatives: 2, ..Coles::default() }), 1)),
        ("grace", grace.clone()),
        // Not of CCA-SSG: it is blind to some biases, and without a decay in their gradient Adam scales
        // nothing but its rounding up to a whole step.
        ("grace with AdamW", Training { optimizer: Optimizer::AdamW, ..grace }),
        ("cca-ssg", with(Model::CcaSsg(CcaSsg { lambda: 0.1 }), 2)),
    ]
}

fn given() -> Given {
    let (graph, x, partition) = graph();
    let clusters = partition.clusters();
    let nodes = graph.nodes();
    // A feature a node tells which members were averaged.
    let ones: Vec<Vec<(u32, f32)>> = (0..nodes as u32).map(|node| vec![(node, 1.0)]).collect();
    let ones = Features::Sparse(Csr::from_sorted_rows(nodes, &ones));
    let named = Compressed::new(&ones, &partition).unwrap();
    let kept = |epoch: usize| {
        let view = named.drop_member(DropMember::Half, SEED, epoch).unwrap().to_dense();
        let of = |row: usize| (0..nodes as u32).filter(|&node| view.row(row)[node as usize] > 0.0).collect();
        (0..clusters).map(of).collect()
    };
    let drawn = |epoch: usize| {
        let pairs = Pairs { config: Sce { alpha: 20.0, negatives: 3 }, rows: clusters, seed: SEED };
        let (starts, others) = pairs.draw(epoch);
        starts.windows(2).map(|row| others[row[0] as usize..row[1] as usize].to_vec()).collect()
    };
    let coles = random_pairs(clusters, 2, SEED);
    let pairs = |row: usize| {
        let (columns, counts) = coles.row(row);
        columns.iter().copied().zip(counts.iter().copied()).collect()
    };
    let case = |(name, training): (&str, Training)| {
        let initial = Plan::new(&training, false, x.cols()).unwrap().network.initial(SEED);
        Case { name: name.into(), training, initial }
    };
    let dense = x.to_dense();
    Given {
        nodes,
        edges: graph.edge_iter().collect(),
        features: (0..nodes).map(|node| dense.row(node).to_vec()).collect(),
        cluster: partition.assignment().to_vec(),
        kept: (0..EPOCHS).map(kept).collect(),
        sce: (0..EPOCHS).map(drawn).collect(),
        coles: (0..clusters).map(pairs).collect(),
        cases: trainings().into_iter().map(case).collect(),
    }
}

#[test]
#[ignore = "writes what make.py reads"]
fn write_what_pytorch_is_given() {
    std::fs::write(path("given.json"), serde_json::to_string(&given()).unwrap() + "\n").unwrap();
}

#[test]
fn pytorch_was_given_what_we_draw() {
    let written: Given = read("given.json");
    assert_eq!(written, given(), "write given.json anew, then run make.py");
}

/// Losses to 1e-5, gradients to 1e-4 of the largest and parameters to 1e-6, which single precision keeps.
#[test]
fn two_epochs_are_those_of_pytorch() {
    let golden: Vec<Steps> = read("steps.json");
    let (graph, x, partition) = graph();
    let compressed = Compressed::new(&x, &partition).unwrap();
    assert_eq!(golden.len(), trainings().len());
    for ((name, training), golden) in trainings().into_iter().zip(&golden) {
        assert_eq!((name, EPOCHS), (golden.name.as_str(), golden.epochs.len()));
        let mut trainer = Trainer::new(&training, Inputs::Clusters(&compressed), &graph, SEED, None).unwrap();
        for (epoch, step) in golden.epochs.iter().enumerate() {
            let (_, mean, _) = trainer.engine.optimizer().unwrap();
            let before = (mean.to_vec(), trainer.parameters().unwrap().to_vec());
            let loss = trainer.step().unwrap().loss;
            let what = format!("{name}, epoch {epoch}");
            assert!((loss / step.loss - 1.0).abs() < 1e-5, "{what}: loss {loss}, not {}", step.loss);
            let gradient = gradient(&trainer, &before.0, &before.1);
            let largest = step.gradient.iter().fold(0.0, |most: f64, g| most.max(g.abs()));
            assert_near(&format!("{what}, gradient"), &gradient, &step.gradient, 1e-4 * largest);
            let parameters: Vec<f64> =
                trainer.parameters().unwrap().iter().map(|&value| value as f64).collect();
            assert_near(&format!("{what}, parameters"), &parameters, &step.parameters, 1e-6);
        }
    }
}

/// What Adam's running mean was moved by.
fn gradient(trainer: &Trainer, mean_before: &[f32], parameters_before: &[f32]) -> Vec<f64> {
    let decay = match trainer.plan.optimizer {
        Optimizer::Adam => trainer.plan.weight_decay,
        Optimizer::AdamW => 0.0,
    };
    let (_, mean, _) = trainer.engine.optimizer().unwrap();
    let of = |at: usize| (mean[at] as f64 - 0.9 * mean_before[at] as f64) / 0.1;
    (0..mean.len()).map(|at| of(at) - decay * parameters_before[at] as f64).collect()
}

fn assert_near(what: &str, got: &[f64], want: &[f64], within: f64) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (at, (got, want)) in got.iter().zip(want).enumerate() {
        assert!((got - want).abs() <= within, "{what}: number {at} is {got}, not {want} ± {within:e}");
    }
}

/// Numbers from -1/2 to 1/2 that make.py computes alike.
fn formula(rows: usize, cols: usize, salt: usize) -> Vec<f32> {
    let number = |i: usize, j: usize| {
        let at = i * 31 + j * 17 + salt * 7;
        ((at * at % 1009) as f64 / 1009.0 - 0.5) as f32
    };
    (0..rows).flat_map(|i| (0..cols).map(move |j| number(i, j))).collect()
}

#[test]
fn a_gcn_embeds_cora_as_pytorch_does() {
    let Some(folder) = published::folder() else { return };
    let golden: Embedded = read("gcn.json");
    let cora = crate::data::open(folder.join("cora"), &Default::default()).unwrap();
    let x = cora.features.unwrap();
    let sizes = [(x.cols(), 16), (16, 8)];
    let layer = |(inputs, outputs)| Layer::plain(inputs, outputs, Activation::Prelu, Hops::power(1));
    let towers = Towers::new(vec![Network::new(sizes.map(layer).to_vec())], false);
    // Weight, bias and slopes of one layer after the other.
    let numbers = |(at, (inputs, outputs)): (usize, (usize, usize))| {
        let shapes = [(inputs, outputs), (1, outputs), (1, outputs)];
        (3 * at..)
            .zip(shapes)
            .flat_map(|(salt, (rows, cols))| formula(rows, cols, salt))
            .collect::<Vec<f32>>()
    };
    let parameters: Vec<f32> = sizes.into_iter().enumerate().flat_map(numbers).collect();
    let encoder = Encoder::new(towers, &parameters, &[], Hops::none());
    let z = encoder.embed(&cora.graph, &x).unwrap();
    assert_eq!((z.rows(), z.cols()), (golden.nodes, 8));
    for (&row, want) in golden.rows.iter().zip(&golden.values) {
        let got: Vec<f64> = z.row(row).iter().map(|&value| value as f64).collect();
        assert_near(&format!("row {row}"), &got, want, 1e-5);
    }
    let sums = column_sums(z.values(), 8);
    // Over all nodes the roundings of a single number add up.
    assert_near("column sums", &sums, &golden.sums, 1e-3);
}
