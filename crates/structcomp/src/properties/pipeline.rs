//! P13: from a planted partition to a judged embedding.

use super::*;
use crate::evaluate::classify;
use crate::random::normal;
use crate::sample::Inputs;
use crate::train::trained_by;
use crate::{Compressed, Labels, Normalization, Partitioning, Propagation, SplitSet, Training};

/// Synthetic: 1000 nodes in four blocks, joined with probability 0.05 inside and 0.005 across; features
/// around a centre for each block.
fn planted(seed: Seed) -> (Graph, Features, Labels) {
    let (nodes, width) = (1000u32, 16);
    let mut rng = seed.stream("planted");
    let block = |node: u32| node % 4;
    let mut edges = Vec::new();
    for (u, v) in (0..nodes).flat_map(|u| (0..u).map(move |v| (u, v))) {
        let chance = if block(u) == block(v) { 0.05 } else { 0.005 };
        if rng.random::<f64>() < chance {
            edges.push((u, v));
        }
    }
    let centres: Vec<f32> = (0..4 * width).map(|_| 0.3 * normal(&mut rng)).collect();
    let row = |node: u32| &centres[block(node) as usize * width..][..width];
    let values: Vec<f32> =
        (0..nodes).flat_map(|node| row(node).to_vec()).map(|c| c + normal(&mut rng)).collect();
    let labels = Labels::new((0..nodes).map(|node| Some(block(node)))).unwrap();
    (Graph::from_edges(nodes as usize, &edges).unwrap(), dense(nodes as usize, values), labels)
}

#[test]
fn p13_embeddings_of_planted_blocks_are_worth_two_hops_or_more() {
    let (graph, x, labels) = planted(Seed(0));
    let splits = SplitSet::random(&labels, 20, 10, Seed(0));
    let judged = |x: &Features| classify(x, &labels, &splits, 1.0).unwrap().mean;
    let propagation = Propagation::new(&graph, Normalization::Symmetric);
    let (raw, two_hops) = (judged(&x), judged(&propagation.power(&x, 2).unwrap()));
    assert!(raw < two_hops - 5.0, "the graph tells something that features do not: {raw} and {two_hops}");
    let config = Partitioning { clusters: Some(100), ..Partitioning::default() };
    let partition = config.partition(&graph, Seed(0)).unwrap();
    let compressed = Compressed::new(&x, &partition).unwrap();
    for name in Model::NAMES {
        let model = Model::named(name).unwrap();
        // Two hops for all: of linear encoders before their layer, of the others in two layers.
        let layers = if ["sce", "coles"].contains(name) { 1 } else { 2 };
        let training = Training { model, layers, hidden: 64, ..Training::default() };
        let trainer = trained_by(&training, Inputs::Clusters(&compressed), &graph, Seed(0)).unwrap();
        let embedding = Features::Dense(trainer.finish().unwrap().embed(&graph, &x).unwrap());
        let accuracy = judged(&embedding);
        assert!(accuracy >= two_hops - 2.0, "{name}: {accuracy:.1} after {two_hops:.1}");
    }
}
