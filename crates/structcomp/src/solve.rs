//! The solved model: what a node's features, its neighbourhood and its position say, weighted without labels.
//!
//! 1. Columns of X are scaled, and then rows to length one; they are centred, and projected on their first principal
//!    axes: P = XB.
//! 2. Six [parts](Signal) are computed, side by side: P itself, the mean over neighbours, two hops, the mean over
//!    sixteen hops, positions in the graph, and sizes: how many neighbours a node has, and how long its row was.
//! 3. [`reliability`](reliability::reliability) tells for each axis how well two random halves of a cluster agree. Its
//!    root weights the axes of P.
//! 4. [`weights`](weights::Evidence) decides without labels how much each part counts. What it needs most is whether
//!    features and edges have to do with each other, which [`prediction`] tells.
//! 5. Rows of each part but the sizes are scaled to length one, so that neither long documents nor hubs count more than
//!    others.
//! 6. All parts are turned to their common principal axes, of which the strongest are kept.

mod correlation;
mod prediction;
mod principal;
mod reliability;
mod sketch;
#[cfg(test)]
mod tests;
mod weights;

use correlation::significance;
use prediction::Prediction;
use principal::axes_of;
pub(crate) use principal::{axes, covariance};
pub use sketch::{Gathered, Sketch};

use crate::encoder::{Filtered, Part, Projected, Projection, Signal, block, inverse_root};
use crate::graph::Hops;
use crate::matrix::eigen::eigen;
use crate::matrix::{mean_and_variance, zeros};
use crate::model::{Contrastive, Solved};
use crate::prepare::{FittedStandIn, StandIn};
use crate::{Budget, Compressed, Error, Features, Graph, Normalization, Propagation, Result, Seed, progress};
use rayon::prelude::*;
use reliability::reliability;
pub use reliability::{shares_of, sums_of_halves};
use weights::Evidence;

/// Hops of the smoothest part, and the share of a node's own features in it, as in SSGC.
const HOPS: usize = 16;
const OWN: f64 = 0.05;
/// Axes of the smoothest part at most: many hops leave few.
const SMOOTH: usize = 256;
/// Columns of the positions.
const POSITIONS: usize = 128;
/// Nodes that means, variances and common axes are computed from, at equal distances.
const SAMPLE: usize = 16_384;
/// Numbers that the smoothest part, positions and the embedding have at most in large graphs, where they get narrower,
/// but no narrower than this many columns.
const LARGE: usize = 1 << 26;
const WIDTH: usize = 3 << 26;
const FEWEST: usize = 32;
/// A part of weight w has w to this power times as many columns as the embedding: labels of many classes need many
/// columns of the parts that they depend on, and the others should not take their place.
const COLUMNS: f64 = 0.35;
const NARROW: usize = 8;
/// Parts that count less are left out.
const LITTLE: f64 = 0.004;
/// The least reliability of an axis.
const UNRELIABLE: f64 = 1e-6;
/// The length of rows times their effective dimension, and the range of lengths. Classifiers with a fixed
/// regularisation depend on the length; the more dimensions there are, the stronger it has to be.
const LENGTH: f64 = 60.0;
const LENGTHS: [f64; 2] = [1.0, 8.0];
/// Axes with a smaller share of the variance are rounding errors.
const LEAST: f64 = 1e-7;

/// How a model was solved, for reports.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Solution {
    /// How much each part counts, by name; they sum to one.
    pub weights: Vec<(String, f64)>,
    /// The share of the features that two halves of a cluster agree on.
    pub own: f64,
    /// The share of one half of the features that the other half tells.
    pub told_by_features: f64,
    /// The share of one half of the features that the other half tells when it is that of the neighbours.
    pub told_by_neighbors: f64,
    /// How far beyond chance features are correlated with those of neighbours, in standard deviations.
    pub correlated: f64,
    /// The effective number of dimensions that are left after sixteen hops.
    pub dimensions: f64,
}

/// The names of the parts, in the order of their weights.
const NAMES: [&str; 6] = ["features", "neighbours", "two hops", "sixteen hops", "positions", "sizes"];

impl Solution {
    fn of(evidence: Evidence, weights: [f64; 6]) -> Self {
        let Evidence { own, told, correlated, dimensions } = evidence;
        Self {
            weights: NAMES.iter().zip(weights).map(|(name, weight)| ((*name).to_owned(), weight)).collect(),
            own,
            told_by_features: told.own,
            told_by_neighbors: told.neighbors,
            correlated,
            dimensions,
        }
    }
}

/// A part before its columns are chosen.
struct Candidate {
    signal: Signal,
    /// Its columns for the sampled nodes.
    rows: Vec<f32>,
    mean: Vec<f64>,
    variance: Vec<f64>,
    scale: Vec<f64>,
}

impl Candidate {
    fn new(signal: Signal, rows: Vec<f32>, size: usize, sample: &Sample) -> Self {
        let (mean, variance) = mean_and_variance(&sample.connected(&rows, size), size);
        Self { signal, rows, mean, variance, scale: vec![1.0; size] }
    }

    fn with_unit_variance(mut self) -> Self {
        self.scale = self.variance.iter().map(|&variance| f64::from(inverse_root(variance))).collect();
        self
    }
}

/// Nodes that stand for all, and which of them have neighbours.
struct Sample {
    nodes: Vec<u32>,
    connected: Vec<u32>,
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
    let projection = axes(x, settings.axes(x.rows()), seed);
    let x = Projected::new(x, &projection);
    let mut reliable = Vec::with_capacity(x.width());
    // Each block is read once for reliability, and once for each of three kinds of candidates.
    progress::steps(4 * blocks(graph, x.width()).count());
    for columns in blocks(graph, x.width()) {
        let rows = x.columns(&columns);
        reliable.extend(reliability(&rows, columns.len(), graph, partition, settings.draws, seed));
        progress::step();
    }
    let sample = Sample::of(graph);
    let (candidates, dimensions) = candidates(graph, &x, &sample, seed)?;
    check_varies(&candidates[0])?;
    drop(x);

    let told = Prediction::of(compressed.source(), graph, &sample, seed)?;
    let known = Facts { reliable, dimensions, told, edges: graph.edges() > 0, nodes: graph.nodes() };
    known.assembled(settings, projection, candidates, &sample)
}

/// Refuses features of which nothing is left.
fn check_varies(own: &Candidate) -> Result<()> {
    if own.variance.iter().any(|&variance| variance >= 1e-12) {
        return Ok(());
    }
    Err(Error::Input(
        "all nodes have the same features up to their scale; leave the features out to embed positions in the graph"
            .into(),
    ))
}

/// What is known of a graph besides the candidates.
struct Facts {
    reliable: Vec<f64>,
    dimensions: f64,
    told: Prediction,
    /// Whether there are any.
    edges: bool,
    nodes: usize,
}

impl Facts {
    /// The encoder that candidates and their weights make.
    fn assembled(
        self,
        settings: &Solved,
        projection: Projection,
        mut candidates: [Candidate; 6],
        sample: &Sample,
    ) -> Result<(Filtered, Solution)> {
        let Self { reliable, dimensions, told, edges, nodes } = self;
        let own = weighted_mean(&reliable, &candidates[0].variance);
        let correlated = significance(&candidates[0].rows, &candidates[1].rows, reliable.len(), sample);
        let evidence = Evidence { own, told, correlated, dimensions };
        let weights = match settings.weights {
            Some(weights) => weights::normalized(weights),
            None if !edges => [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            None => evidence.weights(),
        };
        // Where edges have nothing to do with features, clusters do not tell which axes are reliable.
        let trust = 0.5 * evidence.related();
        candidates[0].scale = reliable.iter().map(|share| share.max(UNRELIABLE).powf(trust)).collect();
        let parts = strongest(&candidates, &weights, settings.width);
        if parts.is_empty() {
            let none = "the parts that have a weight are the same for all nodes; give the others a weight";
            return Err(Error::Input(none.into()));
        }
        let width = within(WIDTH, settings.width, nodes);
        let filtered = turned(projection, parts, &candidates, &weights, width);
        Ok((filtered, Solution::of(evidence, weights)))
    }
}

impl Solved {
    /// Principal axes to look for among so many nodes.
    fn axes(&self, nodes: usize) -> usize {
        self.directions.min((nodes / 8).max(64))
    }

    /// Refuses what does not fit: the basis, rows on all axes, and parts by blocks.
    fn check_memory(&self, x: &Features) -> Result<()> {
        let columns = (self.axes(x.rows()).min(x.cols()) + principal::EXTRA) as u64;
        let (rows, cols) = (x.rows() as u64, x.cols() as u64);
        let projected = rows.saturating_mul(2).saturating_add(3 * cols).saturating_mul(columns);
        let numbers = projected.saturating_add(2 * WIDTH.min(x.rows() * self.width) as u64);
        Budget::default().check_items("solving the model", numbers, 4)
    }
}

impl Sample {
    fn of(graph: &Graph) -> Self {
        let step = graph.nodes().div_ceil(SAMPLE).max(1);
        let nodes: Vec<u32> = (0..graph.nodes()).step_by(step).map(|node| node as u32).collect();
        let connected = |&at: &u32| graph.degree(nodes[at as usize]) > 0;
        let mut found: Vec<u32> = (0..nodes.len() as u32).filter(connected).collect();
        if found.len() < 2 {
            found = (0..nodes.len() as u32).collect();
        }
        Self { nodes, connected: found }
    }

    /// Writes the sampled rows of some consecutive columns into rows of all.
    fn place(&self, rows: &[f32], columns: &[u32], all: &mut [f32]) {
        place(&self.rows(rows, columns.len()), columns, all);
    }

    /// The sampled rows.
    fn rows(&self, rows: &[f32], size: usize) -> Vec<f32> {
        gather(rows, size, &self.nodes)
    }

    /// Those of nodes with neighbours, given the sampled rows: nodes without any keep their features as they are, which
    /// would hide what hops do to the others.
    fn connected(&self, sampled: &[f32], size: usize) -> Vec<f32> {
        gather(sampled, size, &self.connected)
    }
}

fn gather(rows: &[f32], size: usize, which: &[u32]) -> Vec<f32> {
    let mut out = zeros(which.len() * size);
    out.par_chunks_mut(size.max(1)).zip(which).for_each(|(out, &row)| {
        out.copy_from_slice(&rows[row as usize * size..][..size]);
    });
    out
}

/// The six parts, and the effective dimensions after all hops.
fn candidates(graph: &Graph, x: &Projected, sample: &Sample, seed: Seed) -> Result<([Candidate; 6], f64)> {
    let size = x.width();
    let plain =
        |signal: Signal, sampled: Vec<f32>, size: usize| Candidate::new(signal, sampled, size, sample);
    let made = |signal: Signal| {
        let mut sampled = zeros(sample.nodes.len() * size);
        for columns in blocks(graph, size) {
            sample.place(&signal.rows(graph, x, &columns)?, &columns, &mut sampled);
            progress::step();
        }
        Ok::<_, Error>(plain(signal, sampled, size))
    };
    let own = made(Signal::Hops(Hops::none()))?;
    let (near, two) = (made(Signal::Neighbors)?, made(Signal::Hops(Hops::power(2)))?);

    let few = within(LARGE, size.min(SMOOTH), graph.nodes());
    let (smooth, last) = smoothest(graph, x, few, sample)?;
    let smooth = plain(Signal::Hops(Hops::ssgc(HOPS, OWN)), smooth, few);
    let dimensions = effective_dimensions(&sample.connected(&last, few), few);

    let width = within(LARGE, POSITIONS, graph.nodes());
    let positions = FittedStandIn::new(StandIn::Position, width, graph, seed);
    let found = sample.rows(&positions.of_known(graph)?, width);
    let positions = plain(Signal::Positions(positions), found, width);
    let squares: f64 = x.squares.iter().sum();
    let signal = Signal::Sizes { mean: squares / x.squares.len().max(1) as f64 };
    let found = sample.rows(&signal.rows(graph, x, &[0, 1])?, 2);
    let sizes = plain(signal, found, 2).with_unit_variance();
    Ok(([own, near, two, smooth, positions, sizes], dimensions))
}

/// The sampled rows of the mean over all hops, and of the last hop alone, on the first axes.
fn smoothest(graph: &Graph, x: &Projected, few: usize, sample: &Sample) -> Result<(Vec<f32>, Vec<f32>)> {
    let propagation = Propagation::new(graph, Normalization::Symmetric);
    let (share, each) = (OWN as f32, ((1.0 - OWN) / HOPS as f64) as f32);
    let (mut all, mut end) = (zeros(sample.nodes.len() * few), zeros(sample.nodes.len() * few));
    for columns in blocks(graph, few) {
        let mut current = x.columns(&columns);
        let mut next = zeros(current.len());
        let mut sum: Vec<f32> =
            sample.rows(&current, columns.len()).iter().map(|value| share * value).collect();
        let mut last = Vec::new();
        for _ in 0..HOPS {
            propagation.hop_into(&current, columns.len(), &mut next)?;
            std::mem::swap(&mut current, &mut next);
            last = sample.rows(&current, columns.len());
            sum.iter_mut().zip(&last).for_each(|(sum, value)| *sum += each * value);
        }
        place(&sum, &columns, &mut all);
        place(&last, &columns, &mut end);
    }
    Ok((all, end))
}

/// The columns, in blocks of as many as there is room for.
fn blocks(graph: &Graph, size: usize) -> impl Iterator<Item = Vec<u32>> {
    let step = block(graph.nodes());
    (0..size).step_by(step).map(move |first| (first as u32..size.min(first + step) as u32).collect())
}

/// Writes rows of some consecutive columns into rows of all.
fn place(rows: &[f32], columns: &[u32], all: &mut [f32]) {
    let nodes = rows.len() / columns.len();
    let (size, first) = (all.len() / nodes.max(1), columns[0] as usize);
    all.par_chunks_mut(size).zip(rows.par_chunks(columns.len())).for_each(|(to, row)| {
        to[first..first + row.len()].copy_from_slice(row);
    });
}

/// As many columns as make `numbers` in all, but no fewer than `FEWEST` and no more than `most`.
fn within(numbers: usize, most: usize, nodes: usize) -> usize {
    most.min((numbers / nodes.max(1)).max(FEWEST))
}

fn weighted_mean(values: &[f64], weights: &[f64]) -> f64 {
    let total: f64 = weights.iter().sum();
    let sum: f64 = values.iter().zip(weights).map(|(value, weight)| value * weight).sum();
    if total > 0.0 { sum / total } else { 0.0 }
}

/// (Σλ)²/Σλ² of the covariance: how many dimensions rows really have.
fn effective_dimensions(rows: &[f32], size: usize) -> f64 {
    let (_, covariance) = covariance(rows, size);
    let trace: f64 = covariance.iter().step_by(size + 1).sum();
    let squares: f64 = covariance.iter().map(|value| value * value).sum();
    if squares > 0.0 { trace * trace / squares } else { 0.0 }
}

/// The strongest columns of each part: the more, the more the part counts.
fn strongest(candidates: &[Candidate; 6], weights: &[f64; 6], width: usize) -> Vec<(usize, Part)> {
    let part = |((at, of), &weight): ((usize, &Candidate), &f64)| {
        let scaled = of.variance.iter().zip(&of.scale).map(|(variance, scale)| variance * scale * scale);
        let mut columns: Vec<(usize, f64)> = scaled.enumerate().collect();
        let least = LEAST * columns.iter().map(|column| column.1).sum::<f64>();
        columns.retain(|column| column.1 > least);
        columns.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        columns.truncate(((width as f64 * weight.powf(COLUMNS)) as usize).max(NARROW));
        let mut kept: Vec<usize> = columns.into_iter().map(|column| column.0).collect();
        kept.sort_unstable();
        let pick = |values: &[f64]| kept.iter().map(|&column| values[column] as f32).collect();
        let (shift, scale) = (pick(&of.mean), pick(&of.scale));
        let columns: Vec<u32> = kept.iter().map(|&column| column as u32).collect();
        let counts = weight > LITTLE && !kept.is_empty();
        counts.then(|| (at, Part { signal: of.signal.clone(), columns, shift, scale }))
    };
    candidates.iter().enumerate().zip(weights).filter_map(part).collect()
}

/// The encoder: all parts on their common principal axes.
fn turned(
    projection: Projection,
    parts: Vec<(usize, Part)>,
    candidates: &[Candidate; 6],
    weights: &[f64; 6],
    width: usize,
) -> Filtered {
    let wide: usize = parts.iter().map(|(_, part)| part.width()).sum();
    let nodes = candidates[0].rows.len() / candidates[0].mean.len();
    let mut all = zeros(nodes * wide);
    let mut factors = Vec::with_capacity(wide);
    for (at, part) in &parts {
        let (first, own, size) = (factors.len(), part.width(), candidates[*at].mean.len());
        let mut rows = zeros(nodes * own);
        rows.par_chunks_mut(own).zip(candidates[*at].rows.par_chunks(size)).for_each(|(to, row)| {
            to.iter_mut().zip(&part.columns).for_each(|(to, &column)| *to = row[column as usize]);
        });
        part.scale_rows(&mut rows);
        let spread: f64 = mean_and_variance(&rows, own).1.iter().sum();
        let factor = if spread > 1e-12 { (weights[*at] / spread).sqrt() } else { 0.0 };
        factors.resize(first + own, factor);
        all.par_chunks_mut(wide).zip(rows.par_chunks(own)).for_each(|(to, row)| {
            let placed = to[first..first + own].iter_mut().zip(row);
            placed.for_each(|(to, value)| *to = value * factor as f32);
        });
    }
    let (mean, covariance) = covariance(&all, wide);
    let (variances, axes) = eigen(&covariance, wide);
    let kept = variances.iter().take(width).filter(|&&value| value > LEAST * variances[0]).count().max(1);
    let square: f64 = variances[..kept].iter().map(|value| value.max(0.0)).sum();
    let fourth: f64 = variances[..kept].iter().map(|value| value * value).sum();
    let length = (LENGTH * fourth / (square * square)).clamp(LENGTHS[0], LENGTHS[1]);
    let scale = if square > 0.0 { length / square.sqrt() } else { 0.0 };
    let unscaled = |(mean, factor): (&f64, &f64)| if *factor > 0.0 { (mean / factor) as f32 } else { 0.0 };
    let center = mean.iter().zip(&factors).map(unscaled).collect();
    let turn = axes
        .chunks_exact(wide)
        .zip(&factors)
        .flat_map(|(row, factor)| row[..kept].iter().map(move |value| (value * factor * scale) as f32));
    Filtered {
        turn: turn.collect(),
        projection,
        parts: parts.into_iter().map(|(_, part)| part).collect(),
        center,
    }
}
