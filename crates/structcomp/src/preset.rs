//! Settings for known data and models, and a recipe for all data.

mod full;
mod recent;

pub use full::FullPreset;

use crate::{Activation, CcaSsg, Coles, EncoderKind, Features, Graph, Model, Result, Seed, Stop, Training};
use rand::RngExt;

/// Model, dataset, clusters, layers, epochs, learning rate, weight decay; 512 wide throughout.
///
/// Learning rates, epochs and clusters are from the paper's tables; layers and, for the smaller graphs,
/// weight decay from the authors' scripts. The paper's two-layer GRACE collapses on Pubmed: one layer.
const PUBLISHED: &[(&str, &str, usize, usize, usize, f64, f64)] = &[
    ("sce", "cora", 300, 1, 50, 0.001, 0.0005),
    ("sce", "citeseer", 300, 1, 50, 0.0001, 0.0005),
    ("sce", "pubmed", 2000, 1, 25, 0.02, 0.0005),
    ("sce", "amazon-photo", 700, 1, 20, 0.001, 0.0005),
    ("sce", "amazon-computers", 1300, 1, 20, 0.001, 0.0005),
    ("sce", "ogbn-arxiv", 20000, 1, 10, 0.0001, 0.0),
    ("sce", "ogbn-products", 25000, 1, 5, 0.0001, 0.0005),
    ("sce", "ogbn-papers100M", 5000, 1, 1, 0.001, 0.0005),
    ("coles", "cora", 300, 1, 20, 0.001, 0.0005),
    ("coles", "citeseer", 300, 1, 50, 0.0001, 0.0005),
    ("coles", "pubmed", 2000, 1, 50, 0.02, 0.0005),
    ("coles", "amazon-photo", 700, 1, 20, 0.001, 0.0005),
    ("coles", "amazon-computers", 1300, 1, 20, 0.001, 0.0005),
    ("coles", "ogbn-arxiv", 20000, 1, 5, 0.0001, 0.0005),
    ("coles", "ogbn-products", 25000, 1, 5, 0.001, 0.0005),
    ("coles", "ogbn-papers100M", 5000, 1, 1, 0.001, 0.0005),
    ("grace", "cora", 300, 2, 20, 0.001, 0.0005),
    ("grace", "citeseer", 300, 2, 30, 0.0001, 0.0005),
    ("grace", "pubmed", 2000, 1, 75, 0.02, 0.0005),
    ("grace", "amazon-photo", 700, 1, 200, 0.001, 0.0005),
    ("grace", "amazon-computers", 1300, 1, 150, 0.001, 0.0005),
    ("grace", "ogbn-arxiv", 20000, 2, 5, 0.001, 0.0005),
    ("grace", "ogbn-products", 25000, 2, 5, 0.001, 0.0005),
    ("grace", "ogbn-papers100M", 5000, 2, 1, 0.001, 0.0005),
    ("cca-ssg", "cora", 300, 2, 20, 0.001, 0.0005),
    ("cca-ssg", "citeseer", 300, 2, 50, 0.0001, 0.0005),
    ("cca-ssg", "pubmed", 2000, 2, 50, 0.01, 0.0005),
    ("cca-ssg", "amazon-photo", 700, 1, 100, 0.002, 0.0005),
    ("cca-ssg", "amazon-computers", 1300, 1, 40, 0.005, 0.0005),
    ("cca-ssg", "ogbn-arxiv", 20000, 2, 10, 0.0001, 0.0),
    ("cca-ssg", "ogbn-products", 25000, 2, 10, 0.001, 0.0),
    ("cca-ssg", "ogbn-papers100M", 5000, 2, 1, 0.001, 0.0005),
];

/// Settings for a model on a dataset.
#[derive(Clone, Debug, PartialEq)]
pub struct Preset {
    /// How many clusters.
    pub clusters: usize,
    /// How to train.
    pub training: Training,
}

impl Preset {
    /// Our setting for a model on a dataset: the paper's but for those that `docs/recipe.md` tells of, which
    /// were chosen on a part of the labels kept for choosing.
    pub fn ours(model: &str, dataset: &str) -> Result<Option<Self>> {
        let Some(mut preset) = Self::paper(model, dataset)? else {
            return Ok(Self::of_clusters(model, dataset));
        };
        let training = &mut preset.training;
        let linear = |training: &mut Training| {
            (training.encoder, training.activation) = (Some(EncoderKind::Sgc), Some(Activation::None));
            training.layers = 1;
        };
        match (model, dataset) {
            ("grace" | "cca-ssg", "cora") => {
                linear(training);
                (training.epochs, training.weight_decay) = (10, 0.0);
            }
            ("grace", "pubmed") => {
                linear(training);
                (training.learning_rate, training.epochs, training.weight_decay) = (0.001, 80, 0.0);
            }
            ("cca-ssg", "citeseer") => {
                (training.hidden, training.epochs, training.weight_decay) = (1024, 20, 0.0);
            }
            ("sce", "pubmed") => {
                (training.learning_rate, training.weight_decay) = (0.1, 0.0);
            }
            ("coles", "pubmed") => {
                training.model = Model::Coles(Coles { lambda: 1.0, ..Coles::default() });
                (training.learning_rate, training.epochs, training.weight_decay) = (0.05, 25, 0.0);
            }
            ("cca-ssg", "amazon-computers") => {
                (training.hidden, training.epochs) = (1024, 60);
                (training.learning_rate, training.weight_decay) = (0.001, 0.0);
            }
            _ => {}
        }
        Ok(Some(preset))
    }

    /// How to train on data of which nothing is known: one recipe for all, whose choices look at the graph
    /// and the features and at no label.
    ///
    /// A linear encoder is trained by CCA-SSG until the views of a cluster agree, then scaled to the mean
    /// degree. Nodes hear one and two hops; where the features of neighbours have little to do with each other,
    /// two hops alone; and themselves for a half where clusters turn out to share little but noise.
    pub fn recipe(graph: &Graph, x: &Features, seed: Seed) -> Training {
        let encoder =
            if neighbours_alike(graph, x, seed) < 0.15 { EncoderKind::Sgc } else { EncoderKind::Ssgc };
        Training {
            model: Model::CcaSsg(CcaSsg::default()),
            hidden: 1024,
            epochs: 100,
            weight_decay: 0.0,
            encoder: Some(encoder),
            hops: Some(2),
            activation: Some(Activation::None),
            stop: Stop::Auto,
            standardize: true,
            ..Training::default()
        }
    }

    /// The paper's setting for a model on a dataset, if it has one.
    pub fn paper(model: &str, dataset: &str) -> Result<Option<Self>> {
        let Some(&(_, _, clusters, layers, epochs, learning_rate, weight_decay)) =
            PUBLISHED.iter().find(|row| (row.0, row.1) == (model, dataset))
        else {
            return Ok(None);
        };
        let model = Model::named(model)?;
        let training = Training { model, layers, epochs, learning_rate, weight_decay, ..Training::default() };
        Ok(Some(Self { clusters, training }))
    }
}

/// How much of a node's features, less their mean, is in the mean over itself and its neighbours: 1 where all
/// are alike. Of a sample of nodes.
fn neighbours_alike(graph: &Graph, x: &Features, seed: Seed) -> f64 {
    const SAMPLE: usize = 4096;
    let (nodes, width) = (graph.nodes().min(x.rows()), x.cols());
    let mut rng = seed.stream("sample of nodes");
    let sample: Vec<u32> = match nodes {
        0..=SAMPLE => (0..nodes as u32).collect(),
        _ => (0..SAMPLE).map(|_| rng.random_range(0..nodes as u32)).collect(),
    };
    let mut row = vec![0f32; width];
    let mut add = |sum: &mut [f64], node: u32, times: f64| {
        x.write_row(node as usize, &mut row);
        sum.iter_mut().zip(&row).for_each(|(sum, &x)| *sum += times * x as f64);
    };
    let mut mean = vec![0f64; width];
    sample.iter().for_each(|&node| add(&mut mean, node, 1.0 / sample.len() as f64));
    let (mut alike, mut all, mut squares) = (0.0, 0.0, 0.0);
    for &node in &sample {
        let (mut own, mut around) = (vec![0f64; width], vec![0f64; width]);
        add(&mut own, node, 1.0);
        let near = graph.neighbors(node);
        let share = 1.0 / (1 + near.len()) as f64;
        near.iter().chain([&node]).for_each(|&other| add(&mut around, other, share));
        for ((own, around), mean) in own.iter().zip(&around).zip(&mean) {
            alike += (own - mean) * (around - mean);
            all += (own - mean).powi(2);
            squares += own * own;
        }
    }
    // Features that are the same everywhere differ by their rounding.
    if all > 1e-12 * squares { alike / all } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dense;

    #[test]
    fn neighbours_are_alike_or_not() {
        let pairs: Vec<(u32, u32)> = (0..50).map(|i| (2 * i, 2 * i + 1)).collect();
        let graph = Graph::from_edges(100, &pairs).unwrap();
        let features = |of: &dyn Fn(usize) -> f32| {
            Features::Dense(Dense::new(100, 1, (0..100).map(of).collect::<Vec<_>>()).unwrap())
        };
        let alike = |x: &Features| neighbours_alike(&graph, x, Seed(0));
        assert!((alike(&features(&|i| (i / 2 * 7 % 5) as f32)) - 1.0).abs() < 1e-6);
        assert!(alike(&features(&|i| (i % 2) as f32)).abs() < 1e-6, "each is half of its opposite");
        assert_eq!(alike(&features(&|_| 3.0)), 0.0);
        let recipe = |x: &Features| Preset::recipe(&graph, x, Seed(0)).encoder;
        assert_eq!(recipe(&features(&|i| (i / 2 * 7 % 5) as f32)), Some(EncoderKind::Ssgc));
        assert_eq!(recipe(&features(&|i| (i % 2) as f32)), Some(EncoderKind::Sgc));
    }

    #[test]
    fn every_row_is_of_a_model_that_exists() {
        for row in PUBLISHED {
            let (paper, ours) = (Preset::paper(row.0, row.1).unwrap(), Preset::ours(row.0, row.1).unwrap());
            assert!(paper.is_some_and(|preset| preset.clusters == row.2) && ours.is_some());
        }
        assert!(Preset::paper("sce", "mine").unwrap().is_none());
    }
}
