//! Cells on the theorems: bounds by the library's diagnostics, and the regulariser by draws.

use super::outcome::{Regulariser, Theory};
use super::source::Source;
use super::{Repeats, Setup};
use crate::matrix::{dot, sum_of_products};
use crate::nn::first_layer;
use crate::{
    Compressed, Diagnostics, DropMember, EdgeLoss, Error, Features, Inputs, Partition, Result, Seed,
};
use rand::RngExt;

/// How often members are dropped.
const DRAWS: usize = 200;
/// Pairs of clusters that are looked at.
const PAIRS: usize = 400;

/// The star on which the printed bound fails: 200 clusters of ten, one weight of 1.
pub(super) fn star(source: &Source) -> Result<Theory> {
    let (graph, x) = (&source.dataset.graph, source.features()?);
    let partition = Partition::new((0..graph.nodes() as u32).map(|node| node / 10).collect())?;
    let gaps = [1, 2].map(|hops| crate::Gap::of(graph, &partition, hops, Seed(0)).map(|gap| gap.value));
    let edges = EdgeLoss::of(graph, &partition, x, &[1.0], 1);
    Ok(Theory {
        gaps: gaps.into_iter().collect::<Result<_>>()?,
        edges_nodes: edges.nodes,
        edges_clusters: edges.clusters,
        bound: edges.bound,
        printed_bound: edges.printed_bound,
        spectral: None,
        drop_member: None,
        regulariser: None,
    })
}

/// The theorems for a linear encoder, trained.
pub(super) fn theory(setup: &Setup, source: &Source, repeats: &Repeats) -> Result<Theory> {
    let (graph, x, seed) = (&source.dataset.graph, source.features()?, Seed(repeats.seed));
    let Some(training) = &setup.training else {
        return Err(Error::Input("theory needs settings to train by".into()));
    };
    let partition = setup.partitioning.partition(graph, seed)?;
    let compressed = Compressed::new(x, &partition)?;
    let trained = training.train(Inputs::Clusters(&compressed), graph, seed, |_| true)?;
    let found = Diagnostics::of(graph, &compressed, &trained.encoder, training.drop_member, seed)?;
    let (weight, width) = trained.encoder.linear_map();
    Ok(Theory {
        gaps: found.gaps.iter().map(|gap| gap.value).collect(),
        edges_nodes: found.edges.nodes,
        edges_clusters: found.edges.clusters,
        bound: found.edges.bound,
        printed_bound: found.edges.printed_bound,
        spectral: Some([found.spectral.nodes, found.spectral.weighted, found.spectral.alike]),
        drop_member: Some([found.drop_member.variance_ratio, found.drop_member.bias_ratio]),
        regulariser: Some(regulariser(&compressed, weight, width, training.drop_member, seed)?),
    })
}

/// The mean over random pairs of clusters of E f(h̃) − f(h), for f(x) = log(e^(x·hᵢ) + e^(x·hⱼ)), h = x̄W and h̃
/// with members dropped; by draws, by ½ p(1−p) (hᵢ−hⱼ)ᵀ Cov(h̃) (hᵢ−hⱼ), and by half of that, as printed.
fn regulariser(
    compressed: &Compressed,
    mut weight: Vec<f32>,
    width: usize,
    how: DropMember,
    seed: Seed,
) -> Result<Regulariser> {
    let encoded = |x: &Features, weight: &[f32]| {
        let mut h = vec![0.0; x.rows() * width];
        first_layer::forward(x, weight, width, &mut h);
        h
    };
    // Rows of length ½, so that a sum of exponentials is about as curved as its second derivative says.
    let h = encoded(compressed.features(), &weight);
    let length = (sum_of_products(&h, &h) / compressed.features().rows().max(1) as f64).sqrt();
    let scale = if length > 0.0 { 0.5 / length } else { 1.0 };
    weight.iter_mut().for_each(|weight| *weight = (*weight as f64 * scale) as f32);
    let h = encoded(compressed.features(), &weight);
    let nodes = encoded(compressed.source(), &weight);
    let partition = compressed.partition();
    let row = |h: &'_ [f32], at: u32| h[at as usize * width..][..width].to_vec();
    let mut rng = seed.stream("pairs of clusters");
    let clusters = partition.clusters() as u32;
    let pairs: Vec<Pair> = (0..PAIRS)
        .map(|_| {
            let (i, j) = (rng.random_range(0..clusters), rng.random_range(0..clusters));
            Pair::new(i, row(&h, i), row(&h, j))
        })
        .collect();

    let formula = pairs.iter().map(|pair| pair.formula(partition, &nodes, how)).sum::<f64>() / PAIRS as f64;
    let mut gains = Vec::with_capacity(DRAWS);
    for draw in 0..DRAWS {
        let dropped = encoded(&compressed.drop_member(how, seed, draw)?, &weight);
        let gain = |pair: &Pair| pair.gain(&dropped[pair.i as usize * width..][..width]);
        gains.push(pairs.iter().map(gain).sum::<f64>() / PAIRS as f64);
    }
    let drawn = gains.iter().sum::<f64>() / DRAWS as f64;
    let variance = gains.iter().map(|gain| (gain - drawn).powi(2)).sum::<f64>() / (DRAWS - 1) as f64;
    let standard_error = (variance / DRAWS as f64).sqrt();
    Ok(Regulariser { drawn, standard_error, formula, printed: formula / 2.0, draws: DRAWS })
}

/// Two clusters, the first of which drops members.
struct Pair {
    i: u32,
    own: Vec<f32>,
    apart: Vec<f32>,
    /// The derivative of the softmax at the mean.
    p: f64,
}

impl Pair {
    fn new(i: u32, own: Vec<f32>, other: Vec<f32>) -> Self {
        let apart: Vec<f32> = own.iter().zip(&other).map(|(a, b)| a - b).collect();
        let p = 1.0 / (1.0 + (-dot(&own, &apart)).exp());
        Self { i, own, apart, p }
    }

    /// ½ p(1−p) κ/(s−1) Σ ((x_l − x̄)W · (hᵢ − hⱼ))².
    fn formula(&self, partition: &Partition, nodes: &[f32], how: DropMember) -> f64 {
        let (members, width) = (partition.members(self.i), self.own.len());
        if members.len() < 2 {
            return 0.0;
        }
        let mean = dot(&self.own, &self.apart);
        let along = |&node: &u32| dot(&nodes[node as usize * width..][..width], &self.apart) - mean;
        let squares: f64 = members.iter().map(|node| along(node).powi(2)).sum();
        let variance = how.variance_share(members.len()) * squares / (members.len() - 1) as f64;
        0.5 * self.p * (1.0 - self.p) * variance
    }

    /// f(h̃) − f(h) − ∇f·(h̃ − h): the linear part has a mean of zero and would drown the rest. Of x·hⱼ, which is
    /// in both terms of f, the same holds, so that it is left out: f is the softplus of x·(hᵢ − hⱼ).
    fn gain(&self, dropped: &[f32]) -> f64 {
        let softplus = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
        let (before, after) = (dot(&self.own, &self.apart), dot(dropped, &self.apart));
        softplus(after) - softplus(before) - self.p * (after - before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dense, Graph, Training, data::Synthetic};

    #[test]
    fn draws_agree_with_the_formula_and_not_with_what_is_printed() {
        let demo = Synthetic { nodes: 600, edges: 1500, ..Synthetic::default() }.generate(Seed(1)).unwrap();
        let x = demo.features.unwrap();
        let partition = Partition::new((0..600).map(|node| node / 9).collect()).unwrap();
        let compressed = Compressed::new(&x, &partition).unwrap();
        let training = Training { hidden: 16, epochs: 2, ..Training::default() };
        let trained = training.train(Inputs::Clusters(&compressed), &demo.graph, Seed(0), |_| true).unwrap();
        let (weight, width) = trained.encoder.linear_map();
        let found = regulariser(&compressed, weight, width, DropMember::Half, Seed(0)).unwrap();
        assert!((found.drawn / found.formula - 1.0).abs() < 0.1, "{found:?}");
        assert!(found.drawn - found.printed > 5.0 * found.standard_error, "{found:?}");
    }

    #[test]
    fn members_that_are_alike_gain_nothing_by_being_dropped() {
        let graph = Graph::from_edges(6, &[(0, 1)]).unwrap();
        let x = Features::Dense(
            Dense::new(6, 2, vec![1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0]).unwrap(),
        );
        let partition = Partition::new(vec![0, 0, 0, 1, 1, 1]).unwrap();
        let compressed = Compressed::new(&x, &partition).unwrap();
        let found = regulariser(&compressed, vec![1.0, 0.0, 0.0, 1.0], 2, DropMember::Half, Seed(0)).unwrap();
        assert!(found.drawn.abs() < 1e-9 && found.formula.abs() < 1e-9, "{found:?}");
        assert_eq!(graph.nodes(), 6);
    }
}
