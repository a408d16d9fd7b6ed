//! The solved model: features projected on their principal axes, filtered over hops, weighted by reliability.
//!
//! 1. Rows of X are scaled to length one, centred, and projected on their first principal axes: P = XB.
//! 2. Filters over hops are computed from P, side by side: the features themselves, two hops, and the mean over sixteen.
//!    Each is rotated to its own principal axes.
//! 3. The axes of the smoothest filter are weighted by [reliability](reliability::Halves): how well two random halves
//!    of a cluster agree on them.
//! 4. [`weights`](weights::Evidence) decides without labels how much each filter counts.
//! 5. The strongest axes of all filters are kept. Rows of each filter are scaled to length one, so that neither long
//!    documents nor hubs count more than others.

mod principal;
mod reliability;
#[cfg(test)]
mod tests;
mod weights;

pub(crate) use principal::covariance;

use crate::encoder::{Filtered, Part};
use crate::graph::Hops;
use crate::matrix::eigen::eigen;
use crate::model::{Contrastive, Solved};
use crate::{Budget, Compressed, Error, Features, Graph, Normalization, Propagation, Result, Seed};
use principal::Principal;
use reliability::Halves;
use weights::Evidence;

/// Hops of the smoothest filter, and the share of a node's own features in it, as in SSGC.
const HOPS: usize = 16;
const OWN: f64 = 0.05;

/// How a model was solved, for reports.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Solution {
    /// How much each filter counts, by name; they sum to one.
    pub weights: Vec<(String, f64)>,
    /// The share of the two-hop features that two halves of a cluster agree on.
    pub reliability: f64,
    /// The effective number of dimensions that are left after sixteen hops.
    pub dimensions: f64,
}

/// A filter before the strongest axes are chosen.
struct Candidate {
    name: &'static str,
    hops: Hops,
    /// Variance along each axis after weighting, largest first by axis.
    variances: Vec<f64>,
    /// Maps a row of P to the axes: one row per column of P.
    map: Vec<f64>,
    mean: Vec<f64>,
}

/// Solves the model for a graph with prepared features.
pub(crate) fn solve(
    settings: &Solved,
    graph: &Graph,
    compressed: &Compressed,
    seed: Seed,
) -> Result<(Filtered, Solution)> {
    let (x, partition) = (compressed.source(), compressed.partition());
    settings.check()?;
    settings.check_memory(x)?;
    if partition.clusters() < 2 {
        return Err(Error::Input(
            "the solved model needs at least 2 clusters, but there is 1; ask for more".into(),
        ));
    }
    let Principal { basis, mean, rows, columns } = principal::of(x, settings.directions, seed)?;
    let halves = Halves::draw(&rows, columns, partition, settings.draws, seed)?;
    let propagation = Propagation::new(graph, Normalization::Symmetric);
    let size = columns;

    let own = candidate("features", Hops::none(), &rows, size, None);
    let (mut current, mut next, mut sum) = (rows.clone(), vec![0.0; rows.len()], vec![0.0; rows.len()]);
    let mut two = None;
    for hop in 1..=HOPS {
        propagation.hop_into(&current, size, &mut next)?;
        std::mem::swap(&mut current, &mut next);
        sum.iter_mut().zip(&current).for_each(|(sum, row)| *sum += row);
        if hop == 2 {
            two = Some(candidate("two hops", Hops::power(2), &current, size, None));
        }
    }
    drop(next);
    let dimensions = effective_dimensions(&current, size);
    let (share, each) = (OWN as f32, ((1.0 - OWN) / HOPS as f64) as f32);
    sum.iter_mut().zip(&rows).for_each(|(sum, row)| *sum = share * row + each * *sum);
    let smooth = candidate("sixteen hops", Hops::ssgc(HOPS, OWN), &sum, size, Some(&halves));
    let two = two.unwrap_or_else(|| unreachable!("there are more than two hops"));
    let evidence = Evidence {
        own: halves.mean_reliability(&own.map, &own.variances),
        reliability: halves.mean_reliability(&two.map, &two.variances),
        dimensions,
    };
    drop((current, sum));

    let candidates = [own, two, smooth];
    let weights = settings.weights.map_or_else(|| evidence.weights(), weights::normalized);
    let parts = strongest(&candidates, &weights, settings.width, size);
    if parts.is_empty() {
        let same = "all nodes have the same features up to their scale, so there is nothing to embed";
        return Err(Error::Input(same.into()));
    }
    let filtered = Filtered::new(basis, mean, size, parts).balanced(graph, x)?;
    let named = candidates.iter().zip(weights).map(|(part, weight)| (part.name.to_owned(), weight));
    let Evidence { reliability, dimensions, .. } = evidence;
    Ok((filtered, Solution { weights: named.collect(), reliability, dimensions }))
}

impl Solved {
    /// Refuses what does not fit: the basis, and a few matrices with a row per node.
    fn check_memory(&self, x: &Features) -> Result<()> {
        let columns = (self.directions.min(x.cols()) + principal::EXTRA) as u64;
        let rows = (x.rows() as u64).saturating_mul(5).saturating_add(3 * x.cols() as u64);
        Budget::default().check_items("solving the model", rows.saturating_mul(columns), 4)
    }
}

/// A filter's principal axes, weighted by the reliability of each if halves of clusters are given.
fn candidate(
    name: &'static str,
    hops: Hops,
    rows: &[f32],
    size: usize,
    halves: Option<&Halves>,
) -> Candidate {
    let (mean, covariance) = covariance(rows, size);
    let (mut variances, mut map) = eigen(&covariance, size);
    if let Some(halves) = halves {
        let reliability = halves.reliability(&map);
        for row in map.chunks_exact_mut(size) {
            row.iter_mut().zip(&reliability).for_each(|(value, reliable)| *value *= reliable);
        }
        variances.iter_mut().zip(&reliability).for_each(|(value, reliable)| *value *= reliable * reliable);
    }
    Candidate { name, hops, variances, map, mean }
}

/// (Σλ)²/Σλ² of the covariance: how many dimensions rows really have.
fn effective_dimensions(rows: &[f32], size: usize) -> f64 {
    let (_, covariance) = covariance(rows, size);
    let trace: f64 = covariance.iter().step_by(size + 1).sum();
    let squares: f64 = covariance.iter().map(|value| value * value).sum();
    if squares > 0.0 { trace * trace / squares } else { 0.0 }
}

/// The strongest axes of all filters, at most so many, each filter scaled to a variance of its weight.
fn strongest(candidates: &[Candidate], weights: &[f64], width: usize, size: usize) -> Vec<Part> {
    /// Axes with a smaller share of the variance are rounding errors.
    const LEAST: f64 = 1e-7;
    let mut axes: Vec<(f64, usize, usize)> = Vec::new();
    for (at, (candidate, weight)) in candidates.iter().zip(weights).enumerate() {
        let total: f64 = candidate.variances.iter().map(|value| value.max(0.0)).sum();
        let share = |value: f64| if total > 0.0 { weight * value / total } else { 0.0 };
        axes.extend(candidate.variances.iter().enumerate().map(|(axis, &value)| (share(value), at, axis)));
    }
    axes.retain(|axis| axis.0 > LEAST);
    axes.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    axes.truncate(width);
    let part = |(at, (candidate, &weight)): (usize, (&Candidate, &f64))| {
        let mut kept: Vec<usize> = axes.iter().filter(|axis| axis.1 == at).map(|axis| axis.2).collect();
        kept.sort_unstable();
        if kept.is_empty() {
            return None;
        }
        let pick = |row: &[f64]| kept.iter().map(|&axis| row[axis] as f32).collect::<Vec<f32>>();
        let map: Vec<f32> = candidate.map.chunks_exact(size).flat_map(pick).collect();
        let shift = kept.iter().map(|&axis| {
            (0..size).map(|row| candidate.mean[row] * candidate.map[row * size + axis]).sum::<f64>() as f32
        });
        Some(Part::new(candidate.hops.clone(), map, shift.collect(), weight.sqrt()))
    };
    candidates.iter().zip(weights).enumerate().filter_map(part).collect()
}
