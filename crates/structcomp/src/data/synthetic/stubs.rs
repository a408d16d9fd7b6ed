//! Stubs (half edges): how many each node has at each level, and which node owns a stub.

use super::{
    Synthetic,
    blocks::{BlockPosition, Blocks, LEVELS},
    permutation::Permutation,
};
use crate::Seed;
use rand::RngExt;
use rayon::prelude::*;

/// Parameters fitted to meet the requested number of edges and homophily.
#[derive(Clone, Copy, Debug)]
pub(super) struct FittedDegrees {
    /// Stubs per unit of a node's weight.
    pub(super) scale: f64,
    /// Share of stubs that connect nodes of any class.
    pub(super) global: f64,
}

/// The stubs of all nodes in the order of positions, numbered separately at each level.
pub(super) struct Stubs {
    /// For each position, and for the end, the index of its first stub at each level.
    starts: Vec<[u64; LEVELS]>,
    /// For every 16th stub of a level, its position.
    index: [Vec<u32>; LEVELS],
}

const INDEX_SHIFT: u32 = 4;
/// Subtracted from the power law, so that degrees 1 and 2 are as common as in real graphs.
pub(super) const WEIGHT_SHIFT: f64 = 0.5;
/// Positions per task.
const CHUNK: usize = 1 << 13;

/// Bytes per node, without the index.
pub(super) const NODE_BYTES: u64 = size_of::<[u64; LEVELS]>() as u64;

impl Stubs {
    pub(super) fn new(model: &Synthetic, blocks: &Blocks, seed: Seed, fit: FittedDegrees) -> Self {
        let nodes = model.nodes;
        let isolated = Permutation::new(nodes as u64, seed.key("isolated"));
        let stubs_of = |position: u64| match isolated.forward(position) < model.isolated as u64 {
            true => [0; LEVELS],
            false => count(model, &blocks.place(position), seed, position, fit),
        };
        let mut starts = vec![[0u64; LEVELS]; nodes + 1];
        // Prefix sums within each chunk, then over the chunks, then both combined.
        starts[1..].par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, ends)| {
            let mut sum = [0; LEVELS];
            for (position, end) in ((chunk * CHUNK) as u64..).zip(ends) {
                sum = add(sum, stubs_of(position));
                *end = sum;
            }
        });
        let mut base = [0; LEVELS];
        let bases: Vec<[u64; LEVELS]> = starts[1..]
            .chunks(CHUNK)
            .map(|ends| {
                let before = base;
                base = add(base, ends[ends.len() - 1]);
                before
            })
            .collect();
        starts[1..]
            .par_chunks_mut(CHUNK)
            .zip(bases)
            .for_each(|(ends, base)| ends.iter_mut().for_each(|end| *end = add(*end, base)));
        let index = index_of(&starts);
        Self { starts, index }
    }

    /// The stubs of a position at a level.
    pub(super) fn of(&self, level: usize, position: u64) -> std::ops::Range<u64> {
        self.starts[position as usize][level]..self.starts[position as usize + 1][level]
    }

    /// The stubs of a block of positions at a level.
    pub(super) fn within(&self, level: usize, block: &std::ops::Range<u64>) -> std::ops::Range<u64> {
        self.starts[block.start as usize][level]..self.starts[block.end as usize][level]
    }

    /// Number of stubs of a position at all levels.
    pub(super) fn count(&self, position: u64) -> u64 {
        (0..LEVELS).map(|level| self.of(level, position)).map(|stubs| stubs.end - stubs.start).sum()
    }

    pub(super) fn total(&self) -> u64 {
        self.starts[self.starts.len() - 1].iter().sum()
    }

    /// Appends the positions that own the given stubs of a level.
    ///
    /// Both lookups miss the cache in large graphs; in separate loops, the misses overlap.
    pub(super) fn push_owners(&self, level: usize, stubs: &[u64], out: &mut Vec<u32>) {
        let index = &self.index[level];
        let start = out.len();
        out.extend(stubs.iter().map(|&stub| index[(stub >> INDEX_SHIFT) as usize]));
        for (position, &stub) in out[start..].iter_mut().zip(stubs) {
            let ends = &self.starts[*position as usize + 1..];
            *position += ends.iter().take_while(|end| end[level] <= stub).count() as u32;
        }
    }
}

/// Mean number of stubs of the nodes that have any, from a sample.
pub(super) fn mean(model: &Synthetic, blocks: &Blocks, seed: Seed, fit: FittedDegrees, sample: u64) -> f64 {
    let nodes = model.nodes as u64;
    let chosen = Permutation::new(nodes, seed.key("fit"));
    let looked_at = nodes.min(sample);
    let stubs = |at: u64| {
        let position = chosen.forward(at);
        count(model, &blocks.place(position), seed, position, fit).iter().sum::<u64>()
    };
    (0..looked_at).into_par_iter().map(stubs).sum::<u64>() as f64 / looked_at as f64
}

fn index_of(starts: &[[u64; LEVELS]]) -> [Vec<u32>; LEVELS] {
    let levels: Vec<Vec<u32>> = (0..LEVELS)
        .into_par_iter()
        .map(|level| {
            let stubs = starts[starts.len() - 1][level];
            let mut index = Vec::with_capacity(stubs.div_ceil(1 << INDEX_SHIFT) as usize);
            let mut next = 0;
            for (position, end) in (0..).zip(&starts[1..]) {
                while next < end[level] {
                    index.push(position);
                    next += 1 << INDEX_SHIFT;
                }
            }
            index
        })
        .collect();
    let mut levels = levels.into_iter();
    std::array::from_fn(|_| levels.next().unwrap_or_default())
}

fn add(a: [u64; LEVELS], b: [u64; LEVELS]) -> [u64; LEVELS] {
    std::array::from_fn(|level| a[level] + b[level])
}

/// Number of stubs of a node at each level, at least one in total.
fn count(
    model: &Synthetic,
    place: &BlockPosition,
    seed: Seed,
    position: u64,
    fit: FittedDegrees,
) -> [u64; LEVELS] {
    let mut rng = seed.stream_at("degrees", position);
    let [u, round, mixing, systematic]: [f64; 4] = std::array::from_fn(|_| rng.random());
    // 1 - u is in (0, 1], so the power is at least 1 and finite.
    let weight = (1.0 - u).powf(-1.0 / (model.degree_exponent - 1.0)) - WEIGHT_SHIFT;
    let class = &place.blocks[1];
    // A node cannot have more neighbours than its class has members. Close to that limit, most stubs
    // would be duplicates.
    let most = ((class.end - class.start) / 4).clamp(1, (model.max_degree as u64).max(1));
    let stubs = ((fit.scale * weight + round) as u64).clamp(1, most);
    // Its mean is `fit.global`: most nodes connect within their class, a few mostly outside. If all nodes
    // had the same share, two steps of averaging over neighbours would reveal nearly every class.
    let global = mixing.powf((1.0 - fit.global) / fit.global.max(1e-9));
    let shares = level_shares(model, global);
    let mut counts = [0; LEVELS];
    let mut share = 0.0;
    let mut taken = 0;
    // Systematic sampling: the share of each level is rounded up or down, and the sum is exact.
    for level in 0..LEVELS {
        share += shares[level];
        let until = if level + 1 == LEVELS { stubs } else { (stubs as f64 * share + systematic) as u64 };
        let until = until.clamp(taken, stubs);
        counts[level] = until - taken;
        taken = until;
    }
    spill(counts, place)
}

/// Stubs that exceed a small block move to the next larger one, up to the class.
fn spill(mut counts: [u64; LEVELS], place: &BlockPosition) -> [u64; LEVELS] {
    for level in (2..LEVELS).rev() {
        let size = place.blocks[level].end - place.blocks[level].start;
        let capacity = if size < 2 { 0 } else { (size + 2) / 4 };
        let surplus = counts[level].saturating_sub(capacity);
        counts[level] -= surplus;
        counts[level - 1] += surplus;
    }
    counts
}

fn level_shares(model: &Synthetic, global: f64) -> [f64; LEVELS] {
    let class = 1.0 - model.group_share - model.community_share;
    let [class, group, community] =
        [class, model.group_share, model.community_share].map(|share| share * (1.0 - global));
    [global, class, group, community]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stubs() -> Stubs {
        let model = Synthetic { nodes: 500, classes: 3, isolated: 100, ..Synthetic::default() };
        let blocks = Blocks::new(&model, Seed(4)).unwrap();
        Stubs::new(&model, &blocks, Seed(4), FittedDegrees { scale: 2.5, global: 0.2 })
    }

    #[test]
    fn the_owner_of_every_stub_is_the_position_that_counts_it() {
        let stubs = stubs();
        for level in 0..LEVELS {
            for position in 0..500 {
                let own: Vec<u64> = stubs.of(level, position).collect();
                let mut owners = Vec::new();
                stubs.push_owners(level, &own, &mut owners);
                assert_eq!(owners, vec![position as u32; own.len()]);
            }
        }
        assert_eq!((0..500).map(|position| stubs.count(position)).sum::<u64>(), stubs.total());
    }

    #[test]
    fn the_requested_number_of_nodes_has_no_stubs() {
        let stubs = stubs();
        assert_eq!((0..500).filter(|&position| stubs.count(position) == 0).count(), 100);
    }

    #[test]
    fn a_small_block_passes_its_surplus_on() {
        let place = BlockPosition { label: 0, group: 0, blocks: [0..900, 0..400, 0..40, 0..10] };
        assert_eq!(spill([5, 4, 9, 20], &place), [5, 4 + 16, 10, 3]);
        let place = BlockPosition { label: 0, group: 0, blocks: [0..900, 0..400, 0..40, 0..1] };
        assert_eq!(spill([1, 0, 0, 2], &place), [1, 0, 2, 0]);
    }
}
