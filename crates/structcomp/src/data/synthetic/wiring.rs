//! The edges: stubs of a block are matched by a permutation, so each row can be computed on its own.

use super::{
    Synthetic,
    blocks::{BlockPosition, Blocks, LEVELS},
    permutation::Permutation,
    stubs::{self, FittedDegrees, Stubs, WEIGHT_SHIFT},
};
use crate::{Error, Result, Seed, random::mix};
use rayon::prelude::*;
use std::ops::Range;

/// The graph of a model, computed row by row in any order.
pub(super) struct Wiring {
    pub(super) blocks: Blocks,
    /// From positions to node numbers, so that the numbers reveal nothing about the blocks.
    pub(super) numbers: Permutation,
    stubs: Stubs,
    /// Edges between positions, in both directions and sorted, for nodes that the matching left isolated.
    extra: Vec<(u32, u32)>,
    key: u64,
}

/// The neighbour lists of consecutive nodes.
#[derive(Default)]
pub(super) struct NeighborLists {
    /// End of the list of each node in `targets`.
    pub(super) ends: Vec<usize>,
    pub(super) targets: Vec<u32>,
}

/// Number of nodes sampled for the fit; smaller graphs are used entirely.
const SAMPLE: u64 = 1 << 16;
const FITS: usize = 10;
/// Stubs per remaining end of an edge, for a graph that is neither dense nor tiny.
const USUAL_LOSS: f64 = 1.05;
/// Tolerances (edges, homophily) for stopping early, and for accepting a fit at all.
const NEAR: (f64, f64) = (0.002, 0.004);
const FAR: (f64, f64) = (0.01, 0.02);

impl Wiring {
    /// Fits the number of stubs and their levels to the requested number of edges and homophily.
    pub(super) fn new(model: &Synthetic, seed: Seed) -> Result<Self> {
        let blocks = Blocks::new(model, seed)?;
        let same = blocks.same_class();
        let mut fit = first_fit(model, &blocks, seed)?;
        let mut best: Option<((f64, f64), FittedDegrees)> = None;
        for _ in 0..FITS {
            let wiring = Self::matched(model, &blocks, seed, fit);
            let (edges, homophily) = wiring.estimate(model, seed);
            let off = distance(model, edges, homophily);
            if off.0 < NEAR.0 && off.1 < NEAR.1 {
                return Ok(wiring.complete(model));
            }
            let badness = |off: (f64, f64)| (off.0 / FAR.0).max(off.1 / FAR.1);
            if best.is_none_or(|(before, _)| badness(off) < badness(before)) {
                best = Some((off, fit));
            }
            // More and more stubs that add no edges: the graph is too small.
            if wiring.stubs.total() / 16 > model.edges as u64 {
                break;
            }
            fit.scale *= (model.edges as f64 / edges.max(1.0)).clamp(0.5, 2.0);
            fit.global =
                (fit.global + (homophily - model.homophily) / (1.0 - same).max(1e-9)).clamp(0.0, 1.0);
        }
        match best {
            Some((off, fit)) if off.0 <= FAR.0 && off.1 <= FAR.1 => {
                Ok(Self::matched(model, &blocks, seed, fit).complete(model))
            }
            _ => Err(Error::Input(format!(
                "{} edges with homophily {} are not possible for {} nodes, {} of them isolated, with degrees up to \
                     {}; choose less extreme values, or larger communities",
                model.edges, model.homophily, model.nodes, model.isolated, model.max_degree
            ))),
        }
    }

    fn matched(model: &Synthetic, blocks: &Blocks, seed: Seed, fit: FittedDegrees) -> Self {
        let stubs = Stubs::new(model, blocks, seed, fit);
        let numbers = Permutation::new(model.nodes as u64, seed.key("node numbers"));
        Self { blocks: blocks.clone(), numbers, stubs, extra: Vec::new(), key: seed.key("matching") }
    }

    /// The rows of the nodes in `range`.
    pub(super) fn rows(&self, range: Range<u64>) -> NeighborLists {
        let mut rows = NeighborLists::default();
        let mut mates = Vec::new();
        for node in range {
            let start = rows.targets.len();
            self.push_neighbors(self.numbers.backward(node), &mut mates, &mut rows.targets);
            let positions = &mut rows.targets[start..];
            positions.iter_mut().for_each(|at| *at = self.numbers.forward(*at as u64) as u32);
            sort_and_dedup(&mut rows.targets, start);
            rows.ends.push(rows.targets.len());
        }
        rows
    }

    /// Appends the neighbours of a position, unsorted and with duplicates.
    fn push_neighbors(&self, position: u64, mates: &mut Vec<u64>, out: &mut Vec<u32>) {
        let place = self.blocks.place(position);
        for level in 0..LEVELS {
            mates.clear();
            mates.extend(self.mates(&place, level, position));
            self.stubs.push_owners(level, mates, out);
        }
        let first = self.extra.partition_point(|&(from, _)| (from as u64) < position);
        let extra = self.extra[first..].iter().take_while(|&&(from, _)| from as u64 == position);
        out.extend(extra.map(|&(_, to)| to));
    }

    /// The mates of a position's stubs at a level, except its own stubs.
    fn mates(&self, place: &BlockPosition, level: usize, position: u64) -> impl Iterator<Item = u64> + use<> {
        let block = &place.blocks[level];
        let all = self.stubs.within(level, block);
        let own = self.stubs.of(level, position);
        let key = mix(self.key ^ mix(block.start << 2 | level as u64));
        let matching = Permutation::new(all.end - all.start, key);
        let mates = own.clone().filter_map(move |stub| Some(all.start + matching.mate(stub - all.start)?));
        mates.filter(move |mate| !own.contains(mate))
    }

    /// Estimates the number of edges and the homophily.
    fn estimate(&self, model: &Synthetic, seed: Seed) -> (f64, f64) {
        let nodes = model.nodes as u64;
        let chosen = Permutation::new(nodes, seed.key("fit"));
        let look = |at: u64| {
            let position = chosen.forward(at);
            let label = self.blocks.label(position);
            let mut neighbors = Vec::new();
            self.push_neighbors(position, &mut Vec::new(), &mut neighbors);
            sort_and_dedup(&mut neighbors, 0);
            let same = neighbors.iter().filter(|&&other| self.blocks.label(other as u64) == label).count();
            [self.stubs.count(position), neighbors.len() as u64, same as u64]
        };
        let sum = |a: [u64; 3], b: [u64; 3]| std::array::from_fn(|i| a[i] + b[i]);
        let [stubs, ends, same] = (0..nodes.min(SAMPLE)).into_par_iter().map(look).reduce(|| [0; 3], sum);
        // The number of stubs is exact; only the share that survives is estimated.
        let edges = self.stubs.total() as f64 * (ends as f64 / stubs.max(1) as f64) / 2.0;
        (edges, same as f64 / ends.max(1) as f64)
    }

    /// Adds an edge to each node that the matching left isolated, so that the number of isolated nodes is
    /// exact.
    fn complete(mut self, model: &Synthetic) -> Self {
        let nodes = model.nodes as u64;
        let alone = |&position: &u64| {
            let place = self.blocks.place(position);
            let met = |level| self.mates(&place, level, position).next().is_some();
            self.stubs.count(position) > 0 && !(0..LEVELS).any(met)
        };
        let lonely: Vec<u64> = (0..nodes).into_par_iter().filter(alone).collect();
        let mut extra: Vec<(u32, u32)> = Vec::new();
        for position in lonely {
            if let Some(friend) = self.next_with_stubs(position) {
                extra.extend([(position as u32, friend as u32), (friend as u32, position as u32)]);
            }
        }
        extra.sort_unstable();
        extra.dedup();
        self.extra = extra;
        self
    }

    /// The next position with stubs, in the same class if there is one.
    fn next_with_stubs(&self, position: u64) -> Option<u64> {
        let place = self.blocks.place(position);
        let [whole, class, ..] = place.blocks;
        let around = |block: Range<u64>| (position + 1..block.end).chain(block.start..position);
        around(class).chain(around(whole)).find(|&other| self.stubs.count(other) > 0)
    }
}

/// A first fit to the number of stubs only. It is cheap and saves rounds of matching.
fn first_fit(model: &Synthetic, blocks: &Blocks, seed: Seed) -> Result<FittedDegrees> {
    let same = blocks.same_class();
    if model.homophily < same - FAR.1 || (same >= 1.0 && model.homophily < 1.0) {
        return Err(Error::Input(format!(
            "homophily {} is not possible: random edges already reach {same:.3} ({} classes, class_skew {}); \
                 choose a value between that and 1",
            model.homophily, model.classes, model.class_skew
        )));
    }
    let global = if same >= 1.0 { 0.0 } else { ((1.0 - model.homophily) / (1.0 - same)).clamp(0.0, 1.0) };
    let mean_degree = 2.0 * model.edges as f64 / (model.nodes - model.isolated) as f64;
    let mean_weight = (model.degree_exponent - 1.0) / (model.degree_exponent - 2.0) - WEIGHT_SHIFT;
    let mut fit = FittedDegrees { scale: mean_degree / mean_weight, global };
    for _ in 0..6 {
        let mean = stubs::mean(model, blocks, seed, fit, SAMPLE);
        fit.scale *= (mean_degree * USUAL_LOSS / mean).clamp(0.1, 10.0);
    }
    Ok(fit)
}

/// The relative error of the number of edges and the error of the homophily. Up to three edges are
/// ignored, as a tiny graph cannot be more exact.
fn distance(model: &Synthetic, edges: f64, homophily: f64) -> (f64, f64) {
    let wanted = model.edges as f64;
    let forgiven = 3.0 / wanted;
    let edges = ((edges - wanted).abs() / wanted - forgiven).max(0.0);
    (edges, ((homophily - model.homophily).abs() - forgiven).max(0.0))
}

fn sort_and_dedup(values: &mut Vec<u32>, start: usize) {
    values[start..].sort_unstable();
    let mut end = start;
    for at in start..values.len() {
        if at == start || values[at] != values[end - 1] {
            values[end] = values[at];
            end += 1;
        }
    }
    values.truncate(end);
}
