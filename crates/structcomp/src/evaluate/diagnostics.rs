//! The paper's theory in numbers for a given graph: how far clusters are from the graph, how much that can change a
//! loss, and what DropMember does.

use crate::encoder::Encoder;
use crate::matrix::{View, sum_of_products, symmetric_product};
use crate::nn::first_layer;
use crate::partition::Gap;
use crate::{
    Compressed, Dataset, Dense, DropMember, Error, Features, Fitted, Graph, Mode, Partition, Result, Seed,
};
use rayon::prelude::*;
use serde::Serialize;

/// The paper's quantities for a graph, its clusters and the weights W of an encoder.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnostics {
    /// ‖P'Pᵀ − Â^k‖ for one and two hops.
    pub gaps: Vec<Gap>,
    /// The mean length of f(u) − f(v) over edges.
    pub edges: EdgeLoss,
    /// The spectral contrastive loss of two views.
    pub spectral: SpectralLoss,
    /// The mean and variance of DropMember over many draws.
    pub drop_member: Moments,
}

/// The mean length of f(u) − f(v) over edges, for sums over neighbours f = AXW and for sums over clusters
/// f = P'P'ᵀXW. They differ by |nodes − clusters| ≤ apart ≤ bound, with R = A − P'P'ᵀ.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EdgeLoss {
    /// With sums over neighbours.
    pub nodes: f64,
    /// With sums over clusters.
    pub clusters: f64,
    /// The mean length of (RXW)_u − (RXW)_v over edges.
    pub apart: f64,
    /// √2 ‖R‖ ‖X‖₂ ‖W‖₂, a bound that always holds.
    pub bound: f64,
    /// ‖R‖ max‖x‖ ‖W‖₂, the bound in the paper, which can fail.
    pub printed_bound: f64,
}

/// −2 Σ ω a·b + Σ Σ ω ω' (a·b')² for rows a and b of two views.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpectralLoss {
    /// Over nodes, each with the row of its cluster.
    pub nodes: f64,
    /// Over clusters weighted by size, which is equal.
    pub weighted: f64,
    /// Over clusters with equal weights, as in training.
    pub alike: f64,
}

/// The means over kept members, compared with what is expected.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Moments {
    /// Number of draws.
    pub draws: usize,
    /// Observed over expected variance κΣ: near 1.
    pub variance_ratio: f64,
    /// The squared distance of the mean over draws from the mean of all members, over its expectation without bias:
    /// near 1 if there is no bias.
    pub bias_ratio: f64,
}

impl Diagnostics {
    /// Computes all of them; this needs memory for a few matrices with one row per node.
    pub fn of(
        graph: &Graph,
        compressed: &Compressed,
        encoder: &Encoder,
        how: DropMember,
        seed: Seed,
    ) -> Result<Self> {
        let (x, partition) = (compressed.source(), compressed.partition());
        let (rows, nodes) = (x.rows(), graph.nodes());
        if rows != nodes {
            let what = format!("there are features for {rows} nodes, but the graph has {nodes}");
            return Err(Error::Input(what));
        }
        let (takes, has) = (encoder.inputs(), x.cols());
        if takes != has {
            return Err(Error::Input(format!(
                "the encoder takes {takes} features, but the nodes have {has}"
            )));
        }
        if graph.edges() == 0 {
            return Err(Error::Input("a graph without edges has no loss over edges".into()));
        }
        let (weight, outputs) = encoder.linear_map();
        let gaps = [1, 2].map(|hops| Gap::of(graph, partition, hops, seed));
        let second = compressed.drop_member(how, seed, 0)?;
        let encoded = |x: &Features| {
            let mut z = vec![0.0; x.rows() * outputs];
            first_layer::forward(x, &weight, outputs, &mut z);
            z
        };
        let views = [compressed.features(), &second].map(encoded);
        Ok(Self {
            gaps: gaps.into_iter().collect::<Result<_>>()?,
            edges: EdgeLoss::of(graph, partition, x, &weight, outputs),
            spectral: SpectralLoss::of(partition, &views[0], &views[1], outputs),
            drop_member: Moments::of(compressed, how, seed)?,
        })
    }

    /// One line per quantity: a name, its value and a description.
    pub fn rows(&self) -> Vec<(&'static str, String, String)> {
        let Self { gaps, edges, spectral, drop_member } = self;
        let mut rows: Vec<_> = gaps
            .iter()
            .map(|gap| {
                let error = gap.standard_error.map_or(String::new(), |error| format!(", ± {error:.3}"));
                ("gap", format!("{:.3}", gap.value), format!("‖P'Pᵀ − Â^{}‖{error}", gap.hops))
            })
            .collect();
        let short = |value: f64| format!("{value:.4}");
        rows.extend([
            ("edges", short(edges.nodes), "mean ‖f(u) − f(v)‖ over edges, f by neighbours".into()),
            ("", short(edges.clusters), "the same, f by clusters".into()),
            ("", short((edges.nodes - edges.clusters).abs()), "the difference, at most the next line".into()),
            ("", short(edges.apart), "mean ‖(RXW)_u − (RXW)_v‖, at most the next line".into()),
            ("", short(edges.bound), "√2 ‖R‖ ‖X‖ ‖W‖".into()),
            ("", short(edges.printed_bound), "the paper's bound, which can fail".into()),
            ("spectral", short(spectral.nodes), "loss on nodes".into()),
            ("", short(spectral.weighted), "on clusters weighted by size: equal".into()),
            ("", short(spectral.alike), "on clusters with equal weights".into()),
            (
                "kept",
                short(drop_member.variance_ratio),
                format!("observed over expected variance, {} draws", drop_member.draws),
            ),
            ("", short(drop_member.bias_ratio), "squared bias over its expectation without bias".into()),
        ]);
        rows
    }
}

impl EdgeLoss {
    /// The loss for a linear map of `outputs` columns, and its bounds.
    pub fn of(graph: &Graph, partition: &Partition, x: &Features, weight: &[f32], outputs: usize) -> Self {
        let mut h = vec![0.0; graph.nodes() * outputs];
        first_layer::forward(x, weight, outputs, &mut h);
        let near = sums_of_rows(&h, outputs, graph.nodes(), |node| graph.neighbors(node));
        let of_cluster =
            sums_of_rows(&h, outputs, partition.clusters(), |cluster| partition.members(cluster));
        let [nodes, clusters, apart] = mean_lengths(graph, partition, &near, &of_cluster, outputs);
        let inside = |node: u32| {
            graph.neighbors(node).iter().filter(|&&other| partition.of(node) == partition.of(other)).count()
        };
        let inside: usize = (0..graph.nodes() as u32).into_par_iter().map(inside).sum();
        let squares: f64 = partition.sizes().map(|size| (size as f64).powi(2)).sum();
        // ‖R‖² = 2m + Σ s² − 4 (edges inside clusters), where `inside` counts each edge twice.
        let r = (graph.targets().len() as f64 + squares - 2.0 * inside as f64).max(0.0).sqrt();
        let mut row = vec![0f32; x.cols()];
        let mut longest = 0f64;
        for node in 0..graph.nodes() {
            x.write_row(node, &mut row);
            longest = longest.max(sum_of_products(&row, &row).sqrt());
        }
        let w = spectral_norm(&Features::Dense(Dense::computed(outputs, weight.to_vec())));
        let bound = 2f64.sqrt() * r * spectral_norm(x) * w;
        Self { nodes, clusters, apart, bound, printed_bound: r * longest * w }
    }
}

/// For each of `count` sets of rows, their sum.
fn sums_of_rows<'a>(
    rows: &[f32],
    width: usize,
    count: usize,
    set: impl Fn(u32) -> &'a [u32] + Sync,
) -> Vec<f32> {
    let mut sums = vec![0.0; count * width];
    sums.par_chunks_mut(width).enumerate().for_each(|(at, sum)| {
        for &row in set(at as u32) {
            sum.iter_mut().zip(&rows[row as usize * width..]).for_each(|(sum, value)| *sum += value);
        }
    });
    sums
}

/// The mean length over edges of f(u) − f(v): with f by neighbours, by clusters, and for their difference.
fn mean_lengths(
    graph: &Graph,
    partition: &Partition,
    near: &[f32],
    of_cluster: &[f32],
    width: usize,
) -> [f64; 3] {
    let rows = |node: u32| {
        let own = &near[node as usize * width..][..width];
        own.iter().zip(&of_cluster[partition.of(node) as usize * width..][..width])
    };
    let of_node = |node: u32| {
        let mut sums = [0f64; 3];
        for &other in graph.neighbors(node) {
            let mut squares = [0f64; 3];
            for ((near, cluster), (near_other, cluster_other)) in rows(node).zip(rows(other)) {
                let (by_nodes, by_clusters) = ((near - near_other) as f64, (cluster - cluster_other) as f64);
                squares[0] += by_nodes * by_nodes;
                squares[1] += by_clusters * by_clusters;
                squares[2] += (by_nodes - by_clusters).powi(2);
            }
            sums.iter_mut().zip(squares).for_each(|(sum, square)| *sum += square.sqrt());
        }
        sums
    };
    // Each edge is met from both sides.
    let all: Vec<[f64; 3]> = (0..graph.nodes() as u32).into_par_iter().map(of_node).collect();
    [0, 1, 2].map(|at| all.iter().map(|sums| sums[at]).sum::<f64>() / graph.targets().len() as f64)
}

impl SpectralLoss {
    fn of(partition: &Partition, a: &[f32], b: &[f32], width: usize) -> Self {
        let nodes = partition.nodes() as f64;
        let shares: Vec<f64> = partition.sizes().map(|size| size as f64 / nodes).collect();
        let alike = vec![1.0 / shares.len() as f64; shares.len()];
        let each = vec![1.0 / nodes; partition.nodes()];
        let lifted = |rows: &[f32]| -> Vec<f32> {
            let of_node = |&cluster: &u32| &rows[cluster as usize * width..][..width];
            partition.assignment().iter().flat_map(of_node).copied().collect()
        };
        Self {
            nodes: spectral(&lifted(a), &lifted(b), width, &each),
            weighted: spectral(a, b, width, &shares),
            alike: spectral(a, b, width, &alike),
        }
    }
}

/// By the matrices AᵀΩA and BᵀΩB: the trace of their product is the second sum.
fn spectral(a: &[f32], b: &[f32], width: usize, weights: &[f64]) -> f64 {
    let scaled = |rows: &[f32]| -> Vec<f32> {
        let scale = |(row, weight): (&[f32], &f64)| {
            row.iter().map(|value| (*value as f64 * weight.sqrt()) as f32).collect::<Vec<_>>()
        };
        rows.chunks(width).zip(weights).flat_map(scale).collect()
    };
    let (a, b) = (scaled(a), scaled(b));
    let gram = |rows: &[f32]| {
        let mut out = vec![0.0; width * width];
        symmetric_product(&mut out, View::new(rows, width).t(), View::new(rows, width));
        out
    };
    sum_of_products(&gram(&a), &gram(&b)) - 2.0 * sum_of_products(&a, &b)
}

impl Moments {
    fn of(compressed: &Compressed, how: DropMember, seed: Seed) -> Result<Self> {
        const DRAWS: usize = 64;
        let partition = compressed.partition();
        let (x, mean) = (compressed.source(), compressed.features().to_dense());
        let (clusters, width) = (partition.clusters(), x.cols());
        let mut row = vec![0f32; width];
        let mut expected = 0.0;
        for cluster in 0..clusters {
            let members = partition.members(cluster as u32);
            let mut spread = 0.0;
            for &member in members {
                x.write_row(member as usize, &mut row);
                let square = |(x, mean): (&f32, &f32)| ((x - mean) as f64).powi(2);
                spread += row.iter().zip(mean.row(cluster)).map(square).sum::<f64>();
            }
            if members.len() > 1 {
                expected += how.variance_share(members.len()) * spread / (members.len() - 1) as f64;
            }
        }
        let mut sum = vec![0f64; clusters * width];
        let mut seen = 0.0;
        for draw in 0..DRAWS {
            let view = compressed.drop_member(how, seed, draw)?.to_dense();
            for ((sum, &value), &mean) in sum.iter_mut().zip(view.values()).zip(mean.values()) {
                let away = (value - mean) as f64;
                *sum += away;
                seen += away * away / DRAWS as f64;
            }
        }
        let bias: f64 = sum.iter().map(|sum| (sum / DRAWS as f64).powi(2)).sum();
        let over = |seen: f64, expected: f64| if expected > 0.0 { seen / expected } else { 1.0 };
        Ok(Self {
            draws: DRAWS,
            variance_ratio: over(seen, expected),
            bias_ratio: over(bias, expected / DRAWS as f64),
        })
    }
}

/// The largest singular value, by power iteration with XᵀX.
fn spectral_norm(x: &Features) -> f64 {
    let (rows, cols) = (x.rows(), x.cols());
    let mut v: Vec<f32> = (0..cols).map(|at| 1.0 + (at % 7) as f32 / 7.0).collect();
    let mut norm = 0.0;
    for _ in 0..200 {
        let length = sum_of_products(&v, &v).sqrt();
        if length == 0.0 {
            return 0.0;
        }
        v.iter_mut().for_each(|v| *v = (*v as f64 / length) as f32);
        let mut image = vec![0.0; rows];
        first_layer::forward(x, &v, 1, &mut image);
        let before = norm;
        norm = sum_of_products(&image, &image).sqrt();
        first_layer::backward(x, &image, 1, &mut v);
        if (norm - before).abs() <= 1e-9 * norm {
            break;
        }
    }
    norm
}

impl Fitted {
    /// The paper's bounds for this graph, its clusters and the trained encoder.
    pub fn diagnostics(&self, data: &Dataset) -> Result<Diagnostics> {
        let Some(partition) = self.partition.as_ref().filter(|_| self.settings.mode == Mode::Structcomp)
        else {
            return Err(Error::Input("the model was not trained on clusters, or they are not known".into()));
        };
        let x = self.features(data)?;
        let compressed = Compressed::new(&x, partition)?;
        let how = self.settings.training.drop_member;
        Diagnostics::of(&data.graph, &compressed, self.encoder.layers()?, how, self.settings.seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Training;
    use crate::sample::Inputs;

    #[test]
    fn a_star_violates_the_printed_bound_and_keeps_the_other() {
        // With equal features and a weight of 1, nodes differ by their degree, clusters of ten do not.
        let edges: Vec<(u32, u32)> = (1..2000).map(|leaf| (0, leaf)).collect();
        let graph = Graph::from_edges(2000, &edges).unwrap();
        let partition = Partition::new((0..2000).map(|node| node / 10).collect()).unwrap();
        let x = Features::Dense(Dense::new(2000, 1, vec![1.0; 2000]).unwrap());
        let loss = EdgeLoss::of(&graph, &partition, &x, &[1.0], 1);
        assert!((loss.nodes - 1998.0).abs() < 1e-3 && loss.clusters == 0.0, "{loss:?}");
        assert!((loss.printed_bound - 154.8).abs() < 0.01 && loss.apart <= loss.bound, "{loss:?}");
        assert!((loss.nodes - loss.clusters).abs() <= loss.apart * (1.0 + 1e-6), "{loss:?}");
    }

    #[test]
    fn bounds_and_moments_hold_on_a_synthetic_graph() {
        let demo = crate::data::Synthetic::named("demo").unwrap().generate(Seed(1)).unwrap();
        let x = demo.features.unwrap();
        let partition = crate::Partitioning { clusters: Some(150), ..Default::default() };
        let partition = partition.partition(&demo.graph, Seed(0)).unwrap();
        let compressed = Compressed::new(&x, &partition).unwrap();
        let model = crate::Model::named("sce").unwrap();
        let training = Training { model, hidden: 24, epochs: 3, layers: 2, ..Training::default() };
        let inputs = Inputs::Clusters(&compressed);
        let encoder =
            crate::train::trained_by(&training, inputs, &demo.graph, Seed(0)).unwrap().encoder().unwrap();
        for how in [DropMember::Half, DropMember::Bernoulli] {
            let Diagnostics { gaps, edges, spectral, drop_member } =
                Diagnostics::of(&demo.graph, &compressed, &encoder, how, Seed(0)).unwrap();
            assert!(gaps.len() == 2 && gaps.iter().all(|gap| gap.value > 0.0));
            assert!((edges.nodes - edges.clusters).abs() <= edges.apart && edges.apart <= edges.bound);
            assert!((spectral.nodes / spectral.weighted - 1.0).abs() < 1e-3, "{spectral:?}");
            assert!((drop_member.variance_ratio - 1.0).abs() < 0.05, "{how:?} {drop_member:?}");
            assert!((drop_member.bias_ratio - 1.0).abs() < 0.2, "{how:?} {drop_member:?}");
        }
    }
}
