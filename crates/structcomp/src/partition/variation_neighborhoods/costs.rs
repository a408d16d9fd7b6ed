//! The cost of contracting a set of nodes.

use super::{WIDTH, axpy};
use crate::partition::level::Level;
use rayon::prelude::*;

pub(super) type Row = [f64; WIDTH];

/// Computes the costs of sets on one level.
pub(super) struct Costs<'a> {
    level: &'a Level<'a>,
    degree: &'a [f64],
    a: &'a [Row],
    /// Each edge once, stored at its end of lower degree. No node stores many, and the inner edges of a
    /// set are found among those of its members.
    starts: Vec<usize>,
    upward: Vec<(u32, f32)>,
}

/// Reusable buffers for one cost.
pub(super) struct CostBuffers {
    /// The set whose cost is computed.
    pub(super) members: Vec<u32>,
    /// The index of each node in `members`, or [`OUTSIDE`].
    place: Vec<u32>,
    b: Vec<Row>,
    product: Vec<Row>,
    inner: Vec<f64>,
}

const OUTSIDE: u32 = u32::MAX;
/// The maximum number of tasks; each needs an array over all nodes.
const TASKS: usize = 64;

impl CostBuffers {
    pub(super) fn new(nodes: usize) -> Self {
        let place = vec![OUTSIDE; nodes];
        Self { members: Vec::new(), place, b: Vec::new(), product: Vec::new(), inner: Vec::new() }
    }
}

impl<'a> Costs<'a> {
    pub(super) fn new(level: &'a Level, degree: &'a [f64], a: &'a [Row]) -> Self {
        let rank = |node: u32| (level.degree(node), node);
        let mut starts = vec![0];
        let mut upward = Vec::with_capacity(level.entries() / 2);
        for node in 0..level.nodes() as u32 {
            level.each_neighbor(node, |to, weight| {
                if rank(node) < rank(to) {
                    upward.push((to, weight));
                }
            });
            starts.push(upward.len());
        }
        Self { level, degree, a, starts, upward }
    }

    pub(super) fn nodes(&self) -> usize {
        self.a.len()
    }

    pub(super) fn degree(&self, node: u32) -> usize {
        self.level.degree(node)
    }

    /// The cost of each node's closed neighbourhood.
    pub(super) fn of_all(&self) -> Vec<f64> {
        let mut costs = vec![0.0; self.nodes()];
        let task = self.nodes().div_ceil(TASKS).max(256);
        costs.par_chunks_mut(task).enumerate().for_each(|(block, costs)| {
            let mut scratch = CostBuffers::new(self.nodes());
            for (cost, center) in costs.iter_mut().zip((block * task) as u32..) {
                self.closed(center, |_| true, &mut scratch.members);
                *cost = self.of_members(&mut scratch);
            }
        });
        costs
    }

    /// Collects the closed neighbourhood of `center`, restricted to `free` nodes.
    pub(super) fn closed(&self, center: u32, free: impl Fn(u32) -> bool, members: &mut Vec<u32>) {
        members.clear();
        let around = self.level.neighbors(center).iter().chain([&center]);
        members.extend(around.copied().filter(|&node| free(node)));
    }

    /// ‖BᵀL_S B‖ / (|S| − 1) for the set S in `scratch.members`.
    pub(super) fn of_members(&self, scratch: &mut CostBuffers) -> f64 {
        let CostBuffers { members, place, b, product, inner } = scratch;
        let mean = self.mean(members);
        b.clear();
        for (at, &node) in members.iter().enumerate() {
            place[node as usize] = at as u32;
            let mut row = self.a[node as usize];
            axpy(&mut row, -1.0, &mean);
            b.push(row);
        }
        // −W_S B, and the weight of each member's edges inside S.
        product.clear();
        product.resize(members.len(), [0.0; WIDTH]);
        inner.clear();
        inner.resize(members.len(), 0.0);
        for (at, &node) in members.iter().enumerate() {
            for &(to, weight) in &self.upward[self.starts[node as usize]..self.starts[node as usize + 1]] {
                let (to, weight) = (place[to as usize] as usize, weight as f64);
                if to != OUTSIDE as usize {
                    axpy(&mut product[at], -weight, &b[to]);
                    axpy(&mut product[to], -weight, &b[at]);
                    inner[at] += weight;
                    inner[to] += weight;
                }
            }
        }
        let mut total = [[0.0; WIDTH]; WIDTH];
        for (at, &node) in members.iter().enumerate() {
            axpy(&mut product[at], 2.0 * self.degree[node as usize] - inner[at], &b[at]);
            (0..WIDTH).for_each(|k| axpy(&mut total[k], b[at][k], &product[at]));
            place[node as usize] = OUTSIDE;
        }
        let norm = total.as_flattened().iter().map(|x| x * x).sum::<f64>().sqrt();
        norm / (members.len() as f64 - 1.0)
    }

    /// Keeps the `most` members whose rows of A are closest to the mean.
    pub(super) fn keep_closest(&self, members: &mut Vec<u32>, most: usize) {
        if members.len() <= most {
            return;
        }
        let mean = self.mean(members);
        let distance = |node: u32| -> f64 {
            self.a[node as usize].iter().zip(&mean).map(|(a, mean)| (a - mean) * (a - mean)).sum()
        };
        let mut order: Vec<(f64, u32)> = members.iter().map(|&node| (distance(node), node)).collect();
        order.sort_unstable_by(|p, q| p.0.total_cmp(&q.0).then(p.1.cmp(&q.1)));
        members.clear();
        members.extend(order.iter().take(most).map(|&(_, node)| node));
    }

    fn mean(&self, members: &[u32]) -> Row {
        let mut sum = [0.0; WIDTH];
        members.iter().for_each(|&node| axpy(&mut sum, 1.0, &self.a[node as usize]));
        sum.map(|sum| sum / members.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::coarsening::laplacian::{Laplacian, random};
    use crate::partition::coarsening::testing::{chords, full, levels};

    /// The formula with dense matrices.
    fn naive(w: &[Vec<f64>], a: &[Row], s: &[u32]) -> f64 {
        let w_s = |i: usize, j: usize| w[s[i] as usize][s[j] as usize];
        let l_s = |i: usize, j: usize| {
            let degree: f64 = w[s[i] as usize].iter().sum();
            let within: f64 = (0..s.len()).map(|j| w_s(i, j)).sum();
            if i == j { 2.0 * degree - within } else { -w_s(i, j) }
        };
        let mean = |k: usize| s.iter().map(|&v| a[v as usize][k]).sum::<f64>() / s.len() as f64;
        let b = |i: usize, k: usize| a[s[i] as usize][k] - mean(k);
        let entry = |k: usize, l: usize| {
            let all = (0..s.len()).flat_map(|i| (0..s.len()).map(move |j| (i, j)));
            all.map(|(i, j)| b(i, k) * l_s(i, j) * b(j, l)).sum::<f64>()
        };
        let all = (0..WIDTH).flat_map(|k| (0..WIDTH).map(move |l| (k, l)));
        all.map(|(k, l)| entry(k, l).powi(2)).sum::<f64>().sqrt() / (s.len() as f64 - 1.0)
    }

    #[test]
    fn costs_match_the_formula() {
        let graph = chords(30, 90, 7);
        for level in levels(&graph) {
            let (w, degree) = (full(&level), Laplacian::of(&level).degree);
            let a: Vec<Row> = random(level.nodes(), 2);
            let costs = Costs::new(&level, &degree, &a);
            let mut scratch = CostBuffers::new(level.nodes());
            for (center, cost) in costs.of_all().into_iter().enumerate() {
                costs.closed(center as u32, |_| true, &mut scratch.members);
                assert_eq!(scratch.members.len(), level.degree(center as u32) + 1);
                let want = naive(&w, &a, &scratch.members);
                assert!((cost - want).abs() < 1e-9 * want);
                costs.closed(center as u32, |node| node % 3 != 0, &mut scratch.members);
                if scratch.members.len() > 1 {
                    let want = naive(&w, &a, &scratch.members);
                    assert!((costs.of_members(&mut scratch) - want).abs() < 1e-9 * want);
                }
            }
        }
    }

    #[test]
    fn the_members_closest_to_the_mean_are_kept() {
        let graph = chords(5, 0, 0);
        let [level, _] = levels(&graph);
        let row = |x: f64| std::array::from_fn(|k| if k == 2 { x } else { 0.0 });
        let a = [0.0, 9.0, 4.0, 3.0, 4.0].map(row);
        let costs = Costs::new(&level, &[1.0; 5], &a);
        let mut members = vec![4, 0, 1, 2, 3];
        costs.keep_closest(&mut members, 5);
        assert_eq!(members, [4, 0, 1, 2, 3]);
        costs.keep_closest(&mut members, 2);
        assert_eq!(members, [2, 4]);
    }
}
