//! How well a node's features can be told: from its other features, and from those of its neighbours.
//!
//! Where neighbours tell about as much as the node itself, features and edges have to do with each other, and means over
//! neighbours say more than one row. Where they tell next to nothing, hops only blur what a node says.

use super::{LARGE, Sample, axes_of, covariance, within};
use crate::encoder::{Projected, Projection, Scaling, Signal};
use crate::graph::Hops;
use crate::matrix::eigen::eigen;
use crate::random::Rng;
use crate::{Features, Graph, Result, Seed};
use rand::seq::SliceRandom;

/// Principal axes of each half of the features at most; there is one for every four columns at most.
const AXES: usize = 64;
/// How often the features are split into halves.
const DRAWS: u64 = 2;
/// Penalties that are tried, relative to the mean variance of the axes.
const PENALTIES: [f64; 4] = [1e-3, 1e-2, 1e-1, 1.0];

/// Shares of the variance of one half of the features, from 0 to 1, told for nodes that were left out.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prediction {
    /// From the other half.
    pub(super) own: f64,
    /// From the mean over neighbours of the other half.
    pub(super) neighbors: f64,
}

impl Prediction {
    pub(super) fn of(x: &Features, graph: &Graph, sample: &Sample, seed: Seed) -> Result<Self> {
        let mut mean = Self::default();
        if x.cols() < 2 || sample.connected.len() < 4 {
            return Ok(mean);
        }
        for draw in 0..DRAWS {
            let found = Self::of_halves(x, graph, sample, seed, draw)?;
            mean.own += found.own / DRAWS as f64;
            mean.neighbors += found.neighbors / DRAWS as f64;
        }
        Ok(mean)
    }

    fn of_halves(x: &Features, graph: &Graph, sample: &Sample, seed: Seed, draw: u64) -> Result<Self> {
        let halves = Halves::new(x, graph.nodes(), seed, draw);
        let (given, asked) = (Projected::new(x, &halves.given), Projected::new(x, &halves.asked));
        let sampled = |signal: Signal, x: &Projected| -> Result<Vec<f32>> {
            let every: Vec<u32> = (0..x.width() as u32).collect();
            Ok(sample.rows(&signal.rows(graph, x, &every)?, x.width()))
        };
        let own = sampled(Signal::Hops(Hops::none()), &given)?;
        let near = sampled(Signal::Neighbors, &given)?;
        let target = sampled(Signal::Hops(Hops::none()), &asked)?;
        Ok(halves.told(&own, &near, &target, sample))
    }
}

/// Two halves of the features, each on its axes.
pub(super) struct Halves {
    pub(super) given: Projection,
    pub(super) asked: Projection,
    rng: Rng,
}

impl Halves {
    pub(super) const DRAWS: u64 = DRAWS;

    /// The halves of a draw, for a graph of so many nodes, of which X may be a sample.
    pub(super) fn new(x: &Features, nodes: usize, seed: Seed, draw: u64) -> Self {
        let mut rng = seed.stream_at("halves of the features", draw);
        let mut columns: Vec<usize> = (0..x.cols()).collect();
        columns.shuffle(&mut rng);
        let (first, second) = columns.split_at(columns.len() / 2);
        let (all, width) = (Scaling::fit(x), within(LARGE, (x.cols() / 4).clamp(1, AXES), nodes));
        let projection = |left_out| axes_of(x, all.clone().without(left_out), width, seed);
        let (given, asked) = (projection(second), projection(first));
        Self { given, asked, rng }
    }

    /// What sampled rows of the given half, and the means over neighbours of these, tell of the rows asked for.
    pub(super) fn told(&self, own: &[f32], near: &[f32], target: &[f32], sample: &Sample) -> Prediction {
        let (given, asked) = (self.given.columns(), self.asked.columns());
        let mut nodes = sample.connected.clone();
        nodes.shuffle(&mut self.rng.clone());
        let (seen, unseen) = nodes.split_at(nodes.len() / 2);
        let share = |rows: &[f32]| {
            let beside = |nodes| beside(nodes, rows, given, target, asked);
            explained(&beside(seen), &beside(unseen), given, asked)
        };
        Prediction { own: share(own), neighbors: share(near) }
    }
}

/// What is given and what is asked for, side by side, for some nodes.
fn beside(nodes: &[u32], given: &[f32], width: usize, asked: &[f32], others: usize) -> Vec<f32> {
    let of = |&node: &u32| {
        let node = node as usize;
        given[node * width..][..width].iter().chain(&asked[node * others..][..others]).copied()
    };
    nodes.iter().flat_map(of).collect()
}

/// The share of the variance of the last columns that a ridge regression on the first `given` explains for rows that
/// it has not seen, with the best of a few penalties.
fn explained(seen: &[f32], unseen: &[f32], given: usize, asked: usize) -> f64 {
    let size = given + asked;
    let (mean, seen) = covariance(seen, size);
    let (other, mut unseen) = covariance(unseen, size);
    // Second moments around the means that were seen.
    let shift: Vec<f64> = other.iter().zip(&mean).map(|(other, mean)| other - mean).collect();
    for (row, a) in unseen.chunks_exact_mut(size).zip(&shift) {
        row.iter_mut().zip(&shift).for_each(|(value, b)| *value += a * b);
    }
    let inner: Vec<f64> =
        seen.chunks_exact(size).take(given).flat_map(|row| &row[..given]).copied().collect();
    let (values, axes) = eigen(&inner, given);
    let total: f64 = (given..size).map(|at| unseen[at * size + at]).sum();
    let scale = values.iter().sum::<f64>() / given as f64;
    if !(total > 0.0 && scale > 0.0) {
        return 0.0;
    }
    // Along the axes of what is given: its products with what is asked for, and its second moments.
    let turned = |matrix: &[f64]| -> Vec<f64> {
        let mut out = vec![0.0; given * size];
        for (i, row) in matrix.chunks_exact(size).take(given).enumerate() {
            for k in 0..given {
                let axis = axes[i * given + k];
                out[k * size..][..size].iter_mut().zip(row).for_each(|(out, value)| *out += axis * value);
            }
        }
        out
    };
    let (told, checked) = (turned(&seen), turned(&unseen));
    let explained = |penalty: f64| {
        let coefficient =
            |k: usize, at: usize| told[k * size + given + at] / (values[k].max(0.0) + penalty * scale);
        let mut explained = 0.0;
        for at in 0..asked {
            // What the regression says, in the given columns.
            let weights: Vec<f64> = (0..given).map(|k| coefficient(k, at)).collect();
            let plain: Vec<f64> =
                (0..given).map(|i| (0..given).map(|k| axes[i * given + k] * weights[k]).sum()).collect();
            for (k, weight) in weights.iter().enumerate() {
                let squared: f64 = checked[k * size..][..given].iter().zip(&plain).map(|(a, b)| a * b).sum();
                explained += weight * (2.0 * checked[k * size + given + at] - squared);
            }
        }
        explained / total
    };
    PENALTIES.into_iter().map(explained).fold(0.0, f64::max).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::normal;

    /// Rows of three given columns and two asked for.
    fn rows(count: usize, seed: u64, asked: impl Fn(&[f32], f32) -> f32) -> Vec<f32> {
        let mut rng = Seed(seed).stream("rows");
        (0..count)
            .flat_map(|_| {
                let given = [0; 3].map(|_| 2.0 + normal(&mut rng));
                let told = [0; 2].map(|_| asked(&given, normal(&mut rng)));
                given.into_iter().chain(told).collect::<Vec<_>>()
            })
            .collect()
    }

    #[test]
    fn the_share_is_that_of_the_signal() {
        let share = |asked: &dyn Fn(&[f32], f32) -> f32| {
            explained(&rows(4000, 1, asked), &rows(4000, 2, asked), 3, 2)
        };
        assert!(share(&|_, noise| noise) < 0.01);
        assert!(share(&|given, _| given[0] - 3.0 * given[2]) > 0.999);
        // Signal of variance 2 and noise of variance 2.
        let half = share(&|given, noise| given[0] + given[1] + 2f32.sqrt() * noise);
        assert!((half - 0.5).abs() < 0.03, "{half}");
    }
}
