//! Coarsening by local variation: contract neighbourhoods in which smooth vectors hardly vary.

mod costs;

use super::coarsening::laplacian::{Laplacian, WIDTH, axpy, gram, turned};
use super::coarsening::{Groups, LevelLimits, Reduction, Rule, coarsened};
use super::config::{Limits, Method};
use super::level::Level;
use super::{Partition, Partitioner};
use crate::matrix::eigen::eigen;
use crate::{Graph, Result, Seed};
use costs::{CostBuffers, Costs, Row};
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub(super) const METHOD: Method = Method {
    name: "variation-neighborhoods",
    about: "coarsening: contracts neighbourhoods that preserve the lowest eigenvectors",
    limits: Limits::No,
    weighs_nodes: false,
    per_component: true,
    make: |config| Box::new(VariationNeighborhoods { reduction: Reduction::of(config.per_component) }),
};

/// Contracts whole neighbourhoods, starting with those that change the ten lowest eigenvectors of the
/// Laplacian least. The cost of a set S is ‖BᵀL_S B‖ / (|S| − 1), where A = UΛ^-1/2, B holds the
/// members' rows of A minus their mean, and L_S is the Laplacian inside S with edges that leave S
/// counted twice on the diagonal. When a set loses nodes to a cheaper one, its cost is recomputed for
/// the remaining nodes.
///
/// Cluster sizes are not limited, and clusters around hubs may be large. Edges are looked up from the
/// end of lower degree, so the initial costs of a level take no longer than listing its triangles,
/// also around hubs. Recomputing the cost of a set that repeatedly loses nodes has no such bound.
///
/// # Differences from published code
/// - On coarser levels A = B(BᵀLB)^-1/2, where B averages the rows of the previous level. Published
///   code multiplies the factors of this root in the wrong order; we follow the paper.
/// - Its eigensolver stops at 1e-5 of the largest eigenvalue of 2 d_max − L. In graphs with hubs this
///   may exceed the lowest eigenvalues of L. Ours stops when each residual is below a hundredth of its
///   eigenvalue, or after a fixed number of rounds.
/// - Ties between sets of equal cost are broken at random.
///
/// # Reference
/// Loukas, "Graph reduction with spectral and cut guarantees", JMLR 2019.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VariationNeighborhoods {
    /// How connected components are treated.
    pub reduction: Reduction,
}

impl Partitioner for VariationNeighborhoods {
    fn partition(&self, graph: &Graph, clusters: usize, seed: Seed) -> Result<Partition> {
        coarsened(graph, clusters, self.reduction, seed, || Smoothest { b: None })
    }
}

struct Smoothest {
    /// B of the next level.
    b: Option<Vec<Row>>,
}

impl Rule for Smoothest {
    fn groups(&mut self, level: &Level, step: LevelLimits) -> Groups {
        let laplacian = Laplacian::of(level);
        let b = self.b.take().unwrap_or_else(|| lowest(&laplacian, step.key));
        let a = normalized(&laplacian, &b);
        let groups = cheapest(&Costs::new(level, &laplacian.degree, &a), step);
        self.b = Some(averaged(&b, &groups));
        groups
    }
}

/// Eigenvalues below this fraction of the largest count as zero.
const NOTHING: f64 = 1e-10;

/// d^-1/2, or zero if d is negligible compared with `most`.
fn inverse_root(d: f64, most: f64) -> f64 {
    if d > NOTHING * most { 1.0 / d.sqrt() } else { 0.0 }
}

/// UΛ^-1/2 for the lowest eigenpairs.
fn lowest(laplacian: &Laplacian, key: u64) -> Vec<Row> {
    let (values, mut u) = laplacian.lowest(key);
    let most = values.iter().copied().fold(0.0, f64::max);
    let scale = values.map(|value| inverse_root(value, most));
    u.par_iter_mut().for_each(|row| row.iter_mut().zip(&scale).for_each(|(x, scale)| *x *= scale));
    u
}

/// A = BVd^-1/2 for BᵀLB = V diag(d) Vᵀ. The paper multiplies by Vᵀ once more, which changes no cost. On
/// the finest level BᵀLB is already the identity.
fn normalized(laplacian: &Laplacian, b: &[Row]) -> Vec<Row> {
    let mut product = vec![[0.0; WIDTH]; b.len()];
    laplacian.times(b, &mut product);
    let (d, mut turn) = eigen(&gram(b, &product), WIDTH);
    for row in turn.chunks_exact_mut(WIDTH) {
        row.iter_mut().zip(&d).for_each(|(x, &value)| *x *= inverse_root(value, d[0]));
    }
    b.par_iter().map(|row| turned(row, &turn)).collect()
}

/// The rows of B on the next level: the sum over each group, divided by the square root of its size.
fn averaged(b: &[Row], groups: &Groups) -> Vec<Row> {
    let (label, count) = groups.numbered();
    let (mut sum, mut size) = (vec![[0.0; WIDTH]; count], vec![0.0f64; count]);
    for (row, &c) in b.iter().zip(&label) {
        axpy(&mut sum[c as usize], 1.0, row);
        size[c as usize] += 1.0;
    }
    sum.iter_mut().zip(&size).for_each(|(sum, size)| *sum = sum.map(|x| x / size.sqrt()));
    sum
}

/// Contracts the cheapest neighbourhoods one by one.
///
/// A set that would remove too many nodes is skipped. If that leaves hardly any others, as in a clique
/// or a star, the cheapest skipped sets are reduced to the members closest to their mean.
fn cheapest(costs: &Costs, step: LevelLimits) -> Groups {
    let nodes = costs.nodes();
    let mut groups = Groups::none(nodes);
    let mut scratch = CostBuffers::new(nodes);
    // Costs are not negative, so their bits sort like the numbers.
    let entry = |cost: f64, center: u32, size: usize| {
        Reverse((cost.to_bits(), step.chance(center as u64), center, size as u32))
    };
    let all = costs.of_all().into_iter().zip(0..);
    let mut queue: BinaryHeap<_> =
        all.map(|(cost, center)| entry(cost, center, costs.degree(center) + 1)).collect();
    let mut too_large = Vec::new();
    while groups.removed() < step.most
        && let Some(Reverse((_, _, center, size))) = queue.pop()
    {
        costs.closed(center, |node| groups.is_alone(node), &mut scratch.members);
        let members = scratch.members.len();
        if members < 2 {
            continue;
        }
        if members < size as usize {
            let cost = costs.of_members(&mut scratch);
            queue.push(entry(cost, center, members));
        } else if members - 1 <= step.most - groups.removed() {
            groups.join(&scratch.members);
        } else {
            too_large.push(center);
        }
    }
    if step.stalls(nodes, &groups) {
        for center in too_large {
            costs.closed(center, |node| groups.is_alone(node), &mut scratch.members);
            costs.keep_closest(&mut scratch.members, step.most - groups.removed() + 1);
            if scratch.members.len() > 1 {
                groups.join(&scratch.members);
            }
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::coarsening::laplacian::random;
    use crate::partition::coarsening::testing::{chords, levels, step};

    #[test]
    fn vectors_are_orthonormal_in_the_laplacian_on_every_level() {
        let graph = chords(200, 300, 1);
        let [fine, coarse] = levels(&graph);
        let b = lowest(&Laplacian::of(&fine), 1);
        let mut pairs = Groups::none(200);
        (0..100).for_each(|pair| pairs.join(&[2 * pair, 2 * pair + 1]));
        let averaged = averaged(&b, &pairs);
        let want = (b[6][4] + b[7][4]) / 2f64.sqrt();
        assert!((averaged[3][4] - want).abs() < 1e-12);
        // AᵀLA = I holds for B(BᵀLB)^-1/2 but not for the factors in another order.
        for (level, b) in [(&fine, &b), (&coarse, &averaged)] {
            let laplacian = Laplacian::of(level);
            let a = normalized(&laplacian, b);
            let mut product = a.clone();
            laplacian.times(&a, &mut product);
            for (at, got) in gram(&a, &product).into_iter().enumerate() {
                let want = (at % (WIDTH + 1) == 0) as u8 as f64;
                assert!((got - want).abs() < 1e-9, "{at}: {got}");
            }
        }
        assert_eq!(inverse_root(1e-12, 1.0), 0.0);
        assert_eq!(inverse_root(4.0, 9.0), 0.5);
    }

    /// The paper's loop, with explicit sets.
    fn naive(costs: &Costs, step: LevelLimits) -> Groups {
        let mut scratch = CostBuffers::new(costs.nodes());
        let mut cost = |set: &[u32]| {
            scratch.members = set.to_vec();
            costs.of_members(&mut scratch)
        };
        let mut groups = Groups::none(costs.nodes());
        let mut sets: Vec<(f64, Vec<u32>)> = Vec::new();
        for center in 0..costs.nodes() as u32 {
            let mut set = Vec::new();
            costs.closed(center, |_| true, &mut set);
            sets.push((cost(&set), set));
        }
        while let Some(at) = (0..sets.len()).min_by(|&p, &q| sets[p].0.total_cmp(&sets[q].0)) {
            let (_, mut set) = sets.swap_remove(at);
            let before = set.len();
            set.retain(|&node| groups.is_alone(node));
            if set.len() == before {
                if set.len() - 1 <= step.most - groups.removed() {
                    groups.join(&set);
                }
            } else if set.len() > 1 {
                sets.push((cost(&set), set));
            }
        }
        groups
    }

    #[test]
    fn the_cheapest_sets_are_contracted_first() {
        for (seed, most) in [(1, 10), (2, 35), (3, 60)] {
            let graph = chords(80, 120, seed);
            for level in levels(&graph) {
                let degree = Laplacian::of(&level).degree;
                let a: Vec<Row> = random(level.nodes(), seed);
                let costs = Costs::new(&level, &degree, &a);
                let most = most.min(level.nodes() - 1);
                let got = cheapest(&costs, step(most));
                assert_eq!(got.numbered(), naive(&costs, step(most)).numbered());
                assert!(got.removed() > 0 && got.removed() <= most);
            }
        }
    }

    #[test]
    fn a_clique_is_contracted_in_part_only_if_the_target_must_be_reached() {
        let edges: Vec<(u32, u32)> = (0..20).flat_map(|u| (0..u).map(move |v| (u, v))).collect();
        let graph = Graph::from_edges(20, &edges).unwrap();
        let [level, _] = levels(&graph);
        let run = |insist: bool| Smoothest { b: None }.groups(&level, LevelLimits { insist, ..step(7) });
        assert_eq!((run(false).removed(), run(true).removed()), (0, 7));
    }
}
