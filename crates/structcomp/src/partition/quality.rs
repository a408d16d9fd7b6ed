//! Quality measures of a partition: cut, balance, and distance between the graph and its compression.

use super::Partition;
use crate::{Error, Graph, Labels, Normalization, Propagation, Result, Seed};
use rand::Rng as _;
use rayon::prelude::*;
use serde::Serialize;

/// Quality measures of a partition.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Quality {
    /// The number of clusters.
    pub clusters: usize,
    /// The total weight of edges between clusters, or their number in an unweighted graph.
    pub cut: f64,
    /// The cut as a fraction of the total edge weight.
    pub cut_share: f64,
    /// The number of nodes in the largest cluster.
    pub largest: usize,
    /// The number of nodes in the smallest cluster.
    pub smallest: usize,
    /// The size of the largest cluster divided by the average.
    pub balance: f64,
    /// The number of clusters of one node.
    pub singletons: usize,
    /// The number of clusters that induce a disconnected subgraph.
    pub disconnected: usize,
    /// The paper's objective ‖P'Pᵀ − Â‖ in the Frobenius norm.
    pub gap: f64,
    /// The fraction of labelled nodes with the most frequent label of their cluster; `None` without labels.
    pub purity: Option<f64>,
}

/// The paper's objective ‖P'Pᵀ − Â^k‖ in the Frobenius norm, for k hops.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gap {
    /// The number of hops k.
    pub hops: usize,
    /// The value of the objective.
    pub value: f64,
    /// The standard error if the value is an estimate; `None` if it is exact.
    pub standard_error: Option<f64>,
}

impl Quality {
    /// Measures a partition of `graph`.
    pub fn of(graph: &Graph, partition: &Partition, labels: Option<&Labels>) -> Result<Self> {
        check_nodes(graph, partition)?;
        let (inside, all) = sum_pairs(graph.nodes(), |node| {
            let (own, weights) = (partition.of(node), graph.edge_weights(node));
            let mut sum = (0.0, 0.0);
            for (at, &neighbor) in graph.neighbors(node).iter().enumerate() {
                let weight = weights.map_or(1.0, |weights| weights[at] as f64);
                sum.1 += weight;
                sum.0 += if partition.of(neighbor) == own { weight } else { 0.0 };
            }
            sum
        });
        let cut = (all - inside) / 2.0;
        let largest = partition.sizes().max().unwrap_or(0);
        let average = partition.nodes() as f64 / partition.clusters().max(1) as f64;
        let clusters = 0..partition.clusters() as u32;
        Ok(Self {
            clusters: partition.clusters(),
            cut,
            cut_share: if all > 0.0 { 2.0 * cut / all } else { 0.0 },
            largest,
            smallest: partition.sizes().min().unwrap_or(0),
            balance: if largest > 0 { largest as f64 / average } else { 1.0 },
            singletons: partition.sizes().filter(|&size| size == 1).count(),
            disconnected: clusters.into_par_iter().filter(|&c| !is_connected(graph, partition, c)).count(),
            gap: Gap::one_hop(graph, partition),
            purity: labels.and_then(|labels| purity(partition, labels)),
        })
    }
}

impl Gap {
    /// The number of random vectors per estimate.
    const PROBES: usize = 256;
    /// The number of random vectors propagated at once.
    const BLOCK: usize = 32;

    /// Measures a partition of `graph` over `hops` hops: exactly for one or two, estimated for more.
    ///
    /// Two hops take time proportional to the sum of squared degrees; an estimate multiplies 256 vectors by
    /// Â for each hop.
    pub fn of(graph: &Graph, partition: &Partition, hops: usize, seed: Seed) -> Result<Self> {
        check_nodes(graph, partition)?;
        match hops {
            0 => Err(Error::Input("the number of hops must be at least 1, got 0".into())),
            1 => Ok(Self { hops, value: Self::one_hop(graph, partition), standard_error: None }),
            2 => Ok(Self { hops, value: Self::two_hops(graph, partition), standard_error: None }),
            _ => Self::estimate(graph, partition, hops, seed),
        }
    }

    /// The square is k' + ‖Â‖² − 2 Σ_c W_c / s_c, where k' is the number of clusters, s_c the size of
    /// cluster c, and W_c the sum of Â inside it, including the diagonal.
    fn one_hop(graph: &Graph, partition: &Partition) -> f64 {
        let scale = scale(graph);
        let (within, squares) = sum_pairs(graph.nodes(), |node| {
            let (own, weights, at) = (partition.of(node), graph.edge_weights(node), scale[node as usize]);
            let loops = at * at;
            let mut sum = (loops, loops * loops);
            for (i, &neighbor) in graph.neighbors(node).iter().enumerate() {
                let value = at * scale[neighbor as usize] * weights.map_or(1.0, |weights| weights[i] as f64);
                sum.1 += value * value;
                sum.0 += if partition.of(neighbor) == own { value } else { 0.0 };
            }
            (sum.0 / partition.members(own).len() as f64, sum.1)
        });
        distance(partition, squares, within)
    }

    /// Like [`one_hop`](Self::one_hop). The sum of Â² inside cluster c is Σ_u y_u², where y_u is the sum of
    /// Â from node u to c.
    fn two_hops(graph: &Graph, partition: &Partition) -> f64 {
        let scale = scale(graph);
        let row = |node: u32| {
            let (weights, at) = (graph.edge_weights(node), scale[node as usize]);
            let values = graph.neighbors(node).iter().enumerate().map(move |(i, &neighbor)| (neighbor, i));
            let scale = &scale;
            values
                .map(move |(neighbor, i)| {
                    let weight = weights.map_or(1.0, |weights| weights[i] as f64);
                    (neighbor, at * scale[neighbor as usize] * weight)
                })
                .chain([(node, at * at)])
        };
        let (within, squares) = sum_with(
            graph.nodes(),
            || (SparseSums::new(graph.nodes()), SparseSums::new(partition.clusters())),
            |(two_hops, to_cluster), node| {
                for (middle, first) in row(node) {
                    to_cluster.add(partition.of(middle), first);
                    row(middle).for_each(|(end, second)| two_hops.add(end, first * second));
                }
                let size = |cluster: u32| partition.members(cluster).len() as f64;
                let within = to_cluster.drain().map(|(cluster, sum)| sum * sum / size(cluster)).sum();
                (within, two_hops.drain().map(|(_, value)| value * value).sum())
            },
        );
        distance(partition, squares, within)
    }

    /// Hutchinson's estimator: the expectation of ‖(P'Pᵀ − Â^k) z‖² over random sign vectors z is the
    /// squared distance.
    fn estimate(graph: &Graph, partition: &Partition, hops: usize, seed: Seed) -> Result<Self> {
        let (nodes, width) = (graph.nodes(), Self::BLOCK);
        let propagation = Propagation::new(graph, Normalization::Symmetric);
        let (mut signs, mut spread) = (vec![0.0f32; nodes * width], vec![0.0f32; nodes * width]);
        let mut squares = Vec::with_capacity(Self::PROBES);
        for block in 0..Self::PROBES / width {
            signs.par_chunks_mut(width).enumerate().for_each(|(node, signs)| {
                let bits = seed.stream_at("gap", (block * nodes + node) as u64).next_u64();
                for (i, sign) in signs.iter_mut().enumerate() {
                    *sign = if bits >> i & 1 == 1 { 1.0 } else { -1.0 };
                }
            });
            propagation.power_into(&signs, width, hops, &mut spread)?;
            let of_cluster = |cluster: u32| {
                let members = partition.members(cluster);
                let row = |values: &[f32], node: u32, i: usize| values[node as usize * width + i] as f64;
                let mut sums = [0.0; Self::BLOCK];
                for (i, sum) in sums.iter_mut().enumerate() {
                    let mean =
                        members.iter().map(|&node| row(&signs, node, i)).sum::<f64>() / members.len() as f64;
                    *sum = members.iter().map(|&node| (mean - row(&spread, node, i)).powi(2)).sum();
                }
                sums
            };
            let sums: Vec<[f64; Self::BLOCK]> =
                (0..partition.clusters() as u32).into_par_iter().map(of_cluster).collect();
            squares.extend((0..width).map(|i| sums.iter().map(|sums| sums[i]).sum::<f64>()));
        }
        let count = squares.len() as f64;
        let mean = squares.iter().sum::<f64>() / count;
        let variance = squares.iter().map(|square| (square - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let value = mean.sqrt();
        let error = if value > 0.0 { (variance / count).sqrt() / (2.0 * value) } else { 0.0 };
        Ok(Self { hops, value, standard_error: Some(error) })
    }
}

fn distance(partition: &Partition, squares: f64, within: f64) -> f64 {
    // Rounding may make a squared distance of zero slightly negative.
    (partition.clusters() as f64 + squares - 2.0 * within).max(0.0).sqrt()
}

fn check_nodes(graph: &Graph, partition: &Partition) -> Result<()> {
    let (nodes, given) = (graph.nodes(), partition.nodes());
    match nodes == given {
        true => Ok(()),
        false => Err(Error::Input(format!("the partition has {given} nodes, but the graph has {nodes}"))),
    }
}

/// D̃^-1/2 in double precision.
fn scale(graph: &Graph) -> Vec<f64> {
    let degree = |node: u32| match graph.edge_weights(node) {
        Some(weights) => weights.iter().map(|&weight| weight as f64).sum(),
        None => graph.degree(node) as f64,
    };
    (0..graph.nodes() as u32).into_par_iter().map(|node| 1.0 / (1.0 + degree(node)).sqrt()).collect()
}

fn sum_pairs(nodes: usize, of: impl Fn(u32) -> (f64, f64) + Sync) -> (f64, f64) {
    sum_with(nodes, || (), |_, node| of(node))
}

/// Sums over all nodes in a fixed order, so that rounding does not depend on the number of threads.
fn sum_with<S>(
    nodes: usize,
    scratch: impl Fn() -> S + Sync + Send,
    of: impl Fn(&mut S, u32) -> (f64, f64) + Sync,
) -> (f64, f64) {
    const BLOCK: usize = 1 << 10;
    let block = |scratch: &mut S, block: usize| {
        let range = block * BLOCK..nodes.min((block + 1) * BLOCK);
        range.fold((0.0, 0.0), |sum, node| {
            let add = of(scratch, node as u32);
            (sum.0 + add.0, sum.1 + add.1)
        })
    };
    let sums: Vec<(f64, f64)> = (0..nodes.div_ceil(BLOCK)).into_par_iter().map_init(scratch, block).collect();
    sums.into_iter().fold((0.0, 0.0), |sum, add| (sum.0 + add.0, sum.1 + add.1))
}

/// A sparse vector of sums over a dense buffer.
struct SparseSums {
    sum: Vec<f64>,
    met: Vec<u32>,
}

impl SparseSums {
    fn new(len: usize) -> Self {
        Self { sum: vec![0.0; len], met: Vec::new() }
    }

    /// Adds a positive value.
    fn add(&mut self, at: u32, value: f64) {
        if self.sum[at as usize] == 0.0 {
            self.met.push(at);
        }
        self.sum[at as usize] += value;
    }

    fn drain(&mut self) -> impl Iterator<Item = (u32, f64)> + '_ {
        self.met.drain(..).map(|at| (at, std::mem::take(&mut self.sum[at as usize])))
    }
}

fn is_connected(graph: &Graph, partition: &Partition, cluster: u32) -> bool {
    let members = partition.members(cluster);
    let mut seen = vec![false; members.len()];
    let mut reached = 0;
    let mut stack = vec![0];
    seen[0] = true;
    while let Some(at) = stack.pop() {
        reached += 1;
        for &neighbor in graph.neighbors(members[at]) {
            if partition.of(neighbor) == cluster
                && let Ok(at) = members.binary_search(&neighbor)
                && !std::mem::replace(&mut seen[at], true)
            {
                stack.push(at);
            }
        }
    }
    reached == members.len()
}

fn purity(partition: &Partition, labels: &Labels) -> Option<f64> {
    let mut counts = vec![0usize; labels.classes()];
    let (mut labelled, mut frequent) = (0, 0);
    for cluster in 0..partition.clusters() as u32 {
        counts.fill(0);
        let classes = partition.members(cluster).iter().filter_map(|&node| labels.of(node));
        classes.for_each(|class| counts[class as usize] += 1);
        labelled += counts.iter().sum::<usize>();
        frequent += counts.iter().max().unwrap_or(&0);
    }
    (labelled > 0).then(|| frequent as f64 / labelled as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// ‖P'Pᵀ − Â^k‖ computed with dense matrices.
    fn naive_gap(graph: &Graph, partition: &Partition, hops: usize) -> f64 {
        let nodes = graph.nodes();
        let scale = scale(graph);
        let mut hop = vec![vec![0.0; nodes]; nodes];
        for u in 0..nodes {
            hop[u][u] = scale[u] * scale[u];
            for (i, &v) in graph.neighbors(u as u32).iter().enumerate() {
                let weight = graph.edge_weights(u as u32).map_or(1.0, |weights| weights[i] as f64);
                hop[u][v as usize] = scale[u] * scale[v as usize] * weight;
            }
        }
        let mut power = hop.clone();
        for _ in 1..hops {
            let cell = |i: usize, j: usize| (0..nodes).map(|u| power[i][u] * hop[u][j]).sum();
            power = (0..nodes).map(|i| (0..nodes).map(|j| cell(i, j)).collect()).collect();
        }
        let square = |i: usize, j: usize| {
            let (own, other) = (partition.of(i as u32), partition.of(j as u32));
            let value = if own == other { 1.0 / partition.members(own).len() as f64 } else { 0.0 };
            (value - power[i][j]).powi(2)
        };
        (0..nodes)
            .flat_map(|i| (0..nodes).map(move |j| (i, j)))
            .map(|(i, j)| square(i, j))
            .sum::<f64>()
            .sqrt()
    }

    fn naive_cut(graph: &Graph, partition: &Partition) -> f64 {
        let weight = |u: u32, v: u32| {
            let at = graph.neighbors(u).iter().position(|&other| other == v).unwrap();
            graph.edge_weights(u).map_or(1.0, |weights| weights[at] as f64)
        };
        let cut = graph.edge_iter().filter(|&(u, v)| partition.of(u) != partition.of(v));
        cut.map(|(u, v)| weight(u, v)).sum()
    }

    fn path() -> (Graph, Partition) {
        let graph = Graph::from_edges(6, &[(0, 1), (1, 2), (2, 3), (3, 4)]).unwrap();
        (graph, Partition::new(vec![0, 0, 1, 1, 0, 2]).unwrap())
    }

    #[test]
    fn measures_match_a_count_by_hand() {
        let (graph, partition) = path();
        let labels = Labels::new([Some(0), Some(1), Some(1), Some(1), Some(1), None]).unwrap();
        let quality = Quality::of(&graph, &partition, Some(&labels)).unwrap();
        assert_eq!((quality.cut, quality.cut_share), (2.0, 0.5));
        assert_eq!((quality.largest, quality.smallest, quality.singletons), (3, 1, 1));
        assert_eq!((quality.balance, quality.disconnected), (1.5, 1));
        assert_eq!(quality.purity, Some(0.8));
        assert_eq!(Quality::of(&graph, &partition, None).unwrap().purity, None);
    }

    #[test]
    fn a_partition_of_another_graph_is_rejected() {
        let (_, partition) = path();
        let graph = Graph::from_edges(5, &[]).unwrap();
        assert!(Quality::of(&graph, &partition, None).unwrap_err().to_string().contains("has 6 nodes"));
        assert!(Gap::of(&graph, &partition, 2, Seed(0)).is_err());
        let (graph, partition) = path();
        assert!(Gap::of(&graph, &partition, 0, Seed(0)).is_err());
    }

    #[test]
    fn p08_gaps_of_up_to_four_hops_match_the_dense_matrices() {
        let edges: Vec<_> = (0..190u32).flat_map(|u| [(u, (u + 1) % 190), (u, (u * 7 + 3) % 190)]).collect();
        let graph = Graph::from_edges(200, &edges).unwrap();
        let partition = Partition::new((0..200).map(|node| node / 7).collect()).unwrap();
        for hops in 1..=4 {
            let gap = Gap::of(&graph, &partition, hops, Seed(3)).unwrap();
            let exact = naive_gap(&graph, &partition, hops);
            assert_eq!(gap.standard_error.is_some(), hops > 2);
            let error = gap.standard_error.unwrap_or(0.0);
            assert!((gap.value - exact).abs() < 1e-8 + 4.0 * error, "{gap:?}, exactly {exact}");
            assert!(error < 0.03 * exact, "{gap:?}");
            assert_eq!(gap, Gap::of(&graph, &partition, hops, Seed(3)).unwrap());
        }
    }

    proptest! {
        #[test]
        fn p08_cut_and_gap_match_the_dense_matrices(
            edges in prop::collection::vec((0u32..30, 0u32..30, 1u8..5), 0..120),
            cluster in prop::collection::vec(0u32..6, 30),
            weighted: bool,
        ) {
            let pairs: Vec<_> = edges.iter().map(|&(u, v, _)| (u, v)).collect();
            let graph = match weighted {
                true => {
                    let entry = |&(u, v, w): &(u32, u32, u8)| ((u as u64) << 32 | v as u64, w as f32);
                    crate::EdgeList::from_weighted(edges.iter().map(entry).collect()).build(30).unwrap().0
                }
                false => Graph::from_edges(30, &pairs).unwrap(),
            };
            let partition = Partition::renumbered(cluster);
            let quality = Quality::of(&graph, &partition, None).unwrap();
            prop_assert_eq!(quality.cut, naive_cut(&graph, &partition));
            prop_assert!((quality.gap - naive_gap(&graph, &partition, 1)).abs() < 1e-9);
            let two = Gap::of(&graph, &partition, 2, Seed(0)).unwrap();
            prop_assert!((two.value - naive_gap(&graph, &partition, 2)).abs() < 1e-9);
        }
    }
}
