//! One recipe for data about which nothing is known.

use super::Preset;
use crate::model::CcaSsg;
use crate::{Activation, EncoderKind, Features, Graph, Model, Seed, Stop, Training};
use rand::RngExt;

impl Preset {
    /// How to train on data without settings of its own. The choices look at the graph and the features, and at no
    /// label.
    ///
    /// A linear encoder is trained by CCA-SSG until the views of a cluster agree, then scaled to the mean degree. It
    /// averages over one and two hops; where the features of neighbors are hardly correlated, over two hops alone; and
    /// gives a node's own features half of the weight where clusters turn out to share little but noise.
    pub fn recipe(graph: &Graph, x: &Features, seed: Seed) -> Training {
        let correlated = neighbor_correlation(graph, x, seed) >= 0.15;
        Training {
            model: Model::CcaSsg(CcaSsg::default()),
            hidden: 1024,
            epochs: 100,
            weight_decay: 0.0,
            encoder: Some(if correlated { EncoderKind::Ssgc } else { EncoderKind::Sgc }),
            hops: Some(2),
            activation: Some(Activation::None),
            stop: Stop::Auto,
            standardize: true,
            ..Training::default()
        }
    }
}

/// How much of a node's centered features is in the mean over itself and its neighbors: 1 where all are alike.
/// Measured on a sample of nodes.
fn neighbor_correlation(graph: &Graph, x: &Features, seed: Seed) -> f64 {
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
    let (mut shared, mut all, mut squares) = (0.0, 0.0, 0.0);
    for &node in &sample {
        let (mut own, mut around) = (vec![0f64; width], vec![0f64; width]);
        add(&mut own, node, 1.0);
        let neighbors = graph.neighbors(node);
        let share = 1.0 / (1 + neighbors.len()) as f64;
        neighbors.iter().chain([&node]).for_each(|&other| add(&mut around, other, share));
        for ((own, around), mean) in own.iter().zip(&around).zip(&mean) {
            shared += (own - mean) * (around - mean);
            all += (own - mean).powi(2);
            squares += own * own;
        }
    }
    // Features that are the same everywhere differ by rounding only.
    if all > 1e-12 * squares { shared / all } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dense;

    #[test]
    fn the_encoder_depends_on_the_correlation_of_neighbors() {
        let pairs: Vec<(u32, u32)> = (0..50).map(|i| (2 * i, 2 * i + 1)).collect();
        let graph = Graph::from_edges(100, &pairs).unwrap();
        let features = |of: &dyn Fn(usize) -> f32| {
            Features::Dense(Dense::new(100, 1, (0..100).map(of).collect::<Vec<_>>()).unwrap())
        };
        let correlation = |x: &Features| neighbor_correlation(&graph, x, Seed(0));
        let (same, opposite) = (features(&|i| (i / 2 * 7 % 5) as f32), features(&|i| (i % 2) as f32));
        assert!((correlation(&same) - 1.0).abs() < 1e-6);
        assert!(correlation(&opposite).abs() < 1e-6, "each is averaged with its opposite");
        assert_eq!(correlation(&features(&|_| 3.0)), 0.0);
        let encoder = |x: &Features| Preset::recipe(&graph, x, Seed(0)).encoder;
        assert_eq!(encoder(&same), Some(EncoderKind::Ssgc));
        assert_eq!(encoder(&opposite), Some(EncoderKind::Sgc));
    }
}
