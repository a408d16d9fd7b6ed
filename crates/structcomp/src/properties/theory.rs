//! P7 and P9: the spectral loss on clusters, and how far losses on clusters are from those on nodes.

use super::*;
use crate::graph::Hops;
use crate::nn::{Layer, Network, Pass};
use crate::{Activation, Compressed, Normalization, Propagation, Quality};
use proptest::prelude::*;

/// −2 Σ ω_k a_k·b_k + Σ_kl ω_k ω_l (a_k·b_l)².
fn spectral(a: &[f64], b: &[f64], width: usize, weights: &[f64]) -> f64 {
    let product = |k: usize, l: usize| dot(&a[k * width..][..width], &b[l * width..][..width]);
    let rows = weights.len();
    let pairs = (0..rows).flat_map(|k| (0..rows).map(move |l| (k, l)));
    let apart: f64 = pairs.map(|(k, l)| weights[k] * weights[l] * product(k, l).powi(2)).sum();
    apart - 2.0 * (0..rows).map(|k| weights[k] * product(k, k)).sum::<f64>()
}

/// The spectral loss of a linear encoder on all nodes, whose features are spread over their clusters; on
/// clusters weighted by their size; and on clusters weighted alike.
fn spectral_losses(partition: &Partition, seed: u64) -> [f64; 3] {
    let (nodes, clusters) = (partition.nodes(), partition.clusters());
    let layer = Layer::plain(4, 3, Activation::None, Hops::none());
    let network = Network::new(vec![layer]);
    let parameters = network.initial(Seed(seed));
    let encoded = |x: &Features| exact(&network.forward(&parameters, x, Pass::default()).0);
    let graph = cliques(partition);
    let spread = Propagation::new(&graph, Normalization::Symmetric);
    let views = [0, 1].map(|view| dense(nodes, scaled(&numbers(4 * nodes, seed ^ view), 4.0)));
    let lifted = [0, 1].map(|view: usize| encoded(&spread.hop(&views[view]).unwrap()));
    let small =
        [0, 1].map(|view: usize| encoded(Compressed::new(&views[view], partition).unwrap().features()));
    let by_size: Vec<f64> = partition.sizes().map(|size| size as f64 / nodes as f64).collect();
    [
        spectral(&lifted[0], &lifted[1], 3, &vec![1.0 / nodes as f64; nodes]),
        spectral(&small[0], &small[1], 3, &by_size),
        spectral(&small[0], &small[1], 3, &vec![1.0 / clusters as f64; clusters]),
    ]
}

fn scaled(values: &[f32], by: f32) -> Vec<f32> {
    values.iter().map(|value| by * value).collect()
}

fn length(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// The largest singular value of rows of `width` numbers, by powers of MᵀM.
fn spectral_norm(matrix: &[f64], width: usize) -> f64 {
    let mut x = vec![1.0; width];
    let mut square = 0.0;
    for _ in 0..300 {
        let mut next = vec![0.0; width];
        for row in matrix.chunks(width) {
            let along = dot(row, &x);
            next.iter_mut().zip(row).for_each(|(next, value)| *next += along * value);
        }
        square = length(&next) / length(&x);
        let long = length(&next);
        x = next.iter().map(|value| value / long).collect();
    }
    square.sqrt()
}

/// The two sides of theorem 4.1 and what lies between them, for f_G = AXW and f_P = P'ᵀXW.
struct Bound {
    /// |L_G − L_P|, both the mean length of differences over the edges.
    left: f64,
    /// The same mean of RXW, R = A − P'P'ᵀ.
    middle: f64,
    /// √2 ‖R‖_F ‖X‖₂ ‖W‖₂.
    right: f64,
    /// ‖R‖_F max ‖x_i‖ ‖W‖₂, which the paper prints.
    printed: f64,
}

impl Bound {
    fn of(graph: &Graph, partition: &Partition, x: &Features, w: &[f64], width: usize) -> Self {
        let (nodes, inputs) = (graph.nodes(), x.cols());
        let encoded = |row: &[f32]| -> Vec<f64> {
            (0..width).map(|j| (0..inputs).map(|i| row[i] as f64 * w[i * width + j]).sum()).collect()
        };
        let values = x.to_dense();
        let xw: Vec<Vec<f64>> = (0..nodes).map(|node| encoded(values.row(node))).collect();
        let heard = |node: u32| {
            let sum = |j: usize| graph.neighbors(node).iter().map(|&near| xw[near as usize][j]).sum();
            (0..width).map(sum).collect::<Vec<f64>>()
        };
        let f_g: Vec<Vec<f64>> = (0..nodes as u32).map(heard).collect();
        let means = Compressed::new(x, partition).unwrap().features().to_dense();
        let sum = |node: u32| {
            let cluster = partition.of(node);
            let size = partition.members(cluster).len() as f64;
            encoded(means.row(cluster as usize)).iter().map(|mean| size * mean).collect::<Vec<f64>>()
        };
        let f_p: Vec<Vec<f64>> = (0..nodes as u32).map(sum).collect();
        let rest: Vec<Vec<f64>> = f_g.iter().zip(&f_p).map(|(g, p)| difference(g, p)).collect();
        let edges = graph.edges() as f64;
        let mean = |f: &[Vec<f64>]| {
            let apart = |(u, v): (u32, u32)| length(&difference(&f[u as usize], &f[v as usize]));
            graph.edge_iter().map(apart).sum::<f64>() / edges
        };
        // ‖R‖² = 2m + Σ s² − 4 m_inside.
        let inside = edges - Quality::of(graph, partition, None).unwrap().cut;
        let squares: f64 = partition.sizes().map(|size| (size * size) as f64).sum();
        let r = (2.0 * edges + squares - 4.0 * inside).sqrt();
        let of_w = spectral_norm(w, width);
        let longest = (0..nodes).map(|node| length(&exact(values.row(node)))).fold(0.0, f64::max);
        Self {
            left: (mean(&f_g) - mean(&f_p)).abs(),
            middle: mean(&rest),
            right: 2f64.sqrt() * r * spectral_norm(&exact(values.values()), inputs) * of_w,
            printed: r * longest * of_w,
        }
    }
}

/// ‖A − P'P'ᵀ‖² entry by entry.
fn residual(graph: &Graph, partition: &Partition) -> f64 {
    let nodes = graph.nodes() as u32;
    let joined = |u: u32, v: u32| f64::from(u8::from(graph.neighbors(u).contains(&v)));
    let together = |u: u32, v: u32| f64::from(u8::from(partition.of(u) == partition.of(v)));
    let pairs = (0..nodes).flat_map(|u| (0..nodes).map(move |v| (u, v)));
    pairs.map(|(u, v)| (joined(u, v) - together(u, v)).powi(2)).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn p07_the_spectral_loss_on_clusters_weighted_by_size_is_that_on_nodes(
        cluster in prop::collection::vec(0u32..6, 2..30),
        seed: u64,
    ) {
        let [nodes, weighted, _] = spectral_losses(&Partition::renumbered(cluster), seed);
        prop_assert!((nodes - weighted).abs() < 1e-4 * (1.0 + nodes.abs()), "{} {}", nodes, weighted);
    }

    #[test]
    fn p07_even_clusters_need_no_weights(clusters in 1u32..7, size in 1u32..6, seed: u64) {
        let partition = Partition::new((0..clusters * size).map(|node| node % clusters).collect()).unwrap();
        let [nodes, _, alike] = spectral_losses(&partition, seed);
        prop_assert!((nodes - alike).abs() < 1e-4 * (1.0 + nodes.abs()), "{} {}", nodes, alike);
    }

    #[test]
    fn p09_losses_on_nodes_and_clusters_are_within_the_rigorous_bound(
        edges in prop::collection::vec((0u32..24, 0u32..24), 1..80),
        cluster in prop::collection::vec(0u32..7, 24),
        seed: u64,
    ) {
        let graph = Graph::from_edges(24, &edges).unwrap();
        prop_assume!(graph.edges() > 0);
        let partition = Partition::renumbered(cluster);
        let x = dense(24, numbers(24 * 3, seed));
        let bound = Bound::of(&graph, &partition, &x, &exact(&numbers(6, seed ^ 1)), 2);
        prop_assert!(bound.left <= bound.middle + 1e-5, "{} {}", bound.left, bound.middle);
        prop_assert!(bound.middle <= bound.right, "{} {}", bound.middle, bound.right);
        // With X and W the identity, the bound is √2 ‖R‖.
        let ones = Features::Sparse(identity(24));
        let w: Vec<f64> = exact(ones.to_dense().values());
        let r = Bound::of(&graph, &partition, &ones, &w, 24).printed;
        prop_assert!((r * r - residual(&graph, &partition)).abs() < 1e-6);
    }
}

#[test]
fn p07_uneven_clusters_weighted_alike_are_another_loss() {
    let partition = Partition::new([vec![0; 12], vec![1; 2], vec![2; 1]].concat()).unwrap();
    let [nodes, weighted, alike] = spectral_losses(&partition, 5);
    assert!((nodes - weighted).abs() < 1e-4 && (nodes - alike).abs() > 0.01, "{nodes} {weighted} {alike}");
}

/// A star of 2000 nodes in clusters of ten, with equal features: nodes differ, clusters do not.
#[test]
fn p09_the_printed_bound_fails_on_a_star_and_the_rigorous_one_holds() {
    let edges: Vec<(u32, u32)> = (1..2000).map(|leaf| (0, leaf)).collect();
    let graph = Graph::from_edges(2000, &edges).unwrap();
    let partition = Partition::new((0..2000).map(|node| node / 10).collect()).unwrap();
    let bound = Bound::of(&graph, &partition, &dense(2000, vec![1.0; 2000]), &[1.0], 1);
    assert!((bound.left - 1998.0).abs() < 1e-9 && (bound.printed - 154.8).abs() < 0.01);
    assert!(
        bound.left <= bound.middle + 1e-9 && bound.middle <= bound.right,
        "{} {}",
        bound.middle,
        bound.right
    );
}
