//! How reliable a column is: how well two random halves of every cluster agree on it.

use crate::{Error, Graph, Partition, Result, Seed};
use rand::RngExt;
use rayon::prelude::*;

/// Clusters per task.
const CLUSTERS: usize = 128;

/// Sums over pairs of half means a and b, column by column.
struct HalfSums {
    pairs: f64,
    means: Vec<f64>,
    squares: Vec<f64>,
    products: Vec<f64>,
}

/// 2 Σ ab / Σ (a² + b²) for the centred means a and b of two halves of a cluster, cut to [0, 1], for every column: the
/// share of a cluster mean that is signal.
///
/// Nodes without neighbours are left out: they are in a cluster with nodes that they have nothing to do with.
pub(super) fn reliability(
    rows: &[f32],
    size: usize,
    graph: &Graph,
    partition: &Partition,
    draws: usize,
    seed: Seed,
) -> Vec<f64> {
    half_sums(rows, size, |node| graph.degree(node) > 0, partition, 0, draws, seed).shares()
}

/// The sums of some consecutive clusters of a larger graph, for [`shares_of`].
pub fn sums_of_halves(
    rows: &[f32],
    connected: &[bool],
    partition: &Partition,
    first: u32,
    draws: usize,
    seed: Seed,
) -> Result<Vec<f64>> {
    let nodes = partition.nodes();
    if connected.len() != nodes || nodes == 0 || !rows.len().is_multiple_of(nodes) {
        return Err(Error::Input(format!("the rows and degrees are not those of {nodes} nodes")));
    }
    let connected = |node: u32| connected[node as usize];
    Ok(half_sums(rows, rows.len() / nodes, connected, partition, first, draws, seed).into_sums())
}

/// How reliable each column is, from the sums of all clusters.
pub fn shares_of(sums: &[f64]) -> Result<Vec<f64>> {
    match sums.len() % 3 {
        1 => Ok(HalfSums::of_sums(sums).shares()),
        _ => Err(Error::Input("these are not the sums of halves".into())),
    }
}

/// Sums over clusters whose numbers start with `first`.
fn half_sums(
    rows: &[f32],
    size: usize,
    connected: impl Fn(u32) -> bool + Sync,
    partition: &Partition,
    first: u32,
    draws: usize,
    seed: Seed,
) -> HalfSums {
    let ids: Vec<u32> = (0..partition.clusters() as u32).collect();
    let partial = |clusters: &[u32]| {
        let mut sums = HalfSums::new(size);
        let mut halves = [vec![0f64; size], vec![0f64; size]];
        for &cluster in clusters {
            let members: Vec<u32> =
                partition.members(cluster).iter().copied().filter(|&node| connected(node)).collect();
            if members.len() < 2 {
                continue;
            }
            for draw in 0..draws {
                let (first, second) = split(members.clone(), seed, draw, first + cluster);
                mean(&mut halves[0], &first, rows, size);
                mean(&mut halves[1], &second, rows, size);
                sums.add(&halves[0], &halves[1]);
            }
        }
        sums
    };
    let parts: Vec<HalfSums> = ids.par_chunks(CLUSTERS).map(partial).collect();
    let mut total = HalfSums::new(size);
    parts.iter().for_each(|part| total.merge(part));
    total
}

/// Half of the members, rounded down, drawn without replacement, and the others.
fn split(mut members: Vec<u32>, seed: Seed, draw: usize, cluster: u32) -> (Vec<u32>, Vec<u32>) {
    let mut rng = seed.stream_at("halves", (draw as u64) << 32 | cluster as u64);
    let half = members.len() / 2;
    for at in 0..half {
        let other = rng.random_range(at..members.len());
        members.swap(at, other);
    }
    let rest = members.split_off(half);
    (members, rest)
}

fn mean(out: &mut [f64], members: &[u32], rows: &[f32], size: usize) {
    out.fill(0.0);
    for &node in members {
        let row = &rows[node as usize * size..][..size];
        out.iter_mut().zip(row).for_each(|(sum, &value)| *sum += value as f64);
    }
    out.iter_mut().for_each(|sum| *sum /= members.len() as f64);
}

impl HalfSums {
    fn new(size: usize) -> Self {
        let zeros = || vec![0.0; size];
        Self { pairs: 0.0, means: zeros(), squares: zeros(), products: zeros() }
    }

    fn add(&mut self, a: &[f64], b: &[f64]) {
        self.pairs += 1.0;
        for (at, (a, b)) in a.iter().zip(b).enumerate() {
            self.means[at] += (a + b) / 2.0;
            self.squares[at] += (a * a + b * b) / 2.0;
            self.products[at] += a * b;
        }
    }

    fn merge(&mut self, other: &Self) {
        self.pairs += other.pairs;
        let add = |to: &mut [f64], from: &[f64]| to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        add(&mut self.means, &other.means);
        add(&mut self.squares, &other.squares);
        add(&mut self.products, &other.products);
    }

    /// The number of pairs, and the sums over them side by side.
    fn into_sums(self) -> Vec<f64> {
        let sums = [vec![self.pairs], self.means, self.squares, self.products];
        sums.concat()
    }

    fn of_sums(sums: &[f64]) -> Self {
        let size = sums.len() / 3;
        let part = |at: usize| sums[1 + at * size..][..size].to_vec();
        Self { pairs: sums[0], means: part(0), squares: part(1), products: part(2) }
    }

    fn shares(&self) -> Vec<f64> {
        let share = |((mean, square), product): ((&f64, &f64), &f64)| {
            let center = mean * mean / self.pairs.max(1.0);
            let (within, between) = (square - center, product - center);
            // What is left of a constant column is rounding.
            if within > 1e-12 * square { (between / within).clamp(0.0, 1.0) } else { 0.0 }
        };
        self.means.iter().zip(&self.squares).zip(&self.products).map(share).collect()
    }
}
