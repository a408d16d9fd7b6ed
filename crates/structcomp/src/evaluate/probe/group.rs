//! Splits that are learnt side by side: the nodes that any of them uses, and by which they are used.

use super::super::SplitNodes;
use crate::Features;
use rayon::prelude::*;

/// Columns of a layer at most, where that leaves more than one split.
const COLUMNS: usize = 128;
/// Nodes judged at once: their hidden layers need memory, and there may be millions of nodes.
const BLOCK: usize = 4096;

/// How many splits to learn side by side. Every training node of any of them costs as much as if all used it, so
/// they should mostly be the same.
pub(super) fn together(splits: &[SplitNodes], classes: usize) -> usize {
    let most = (COLUMNS / classes.max(1)).clamp(1, splits.len().max(1));
    let group = &splits[..most.min(splits.len())];
    let train = Pool::new(group.iter().map(|split| &split.train[..]).collect());
    let used: usize = train.sizes.iter().sum();
    if 4 * used >= group.len() * train.nodes.len() { most } else { 1 }
}

/// The nodes that some splits use for one purpose, each once and with its class.
pub(super) struct Pool {
    nodes: Vec<(u32, u32)>,
    /// Whether a split uses a node: one row per node, one column per split.
    used: Vec<bool>,
    /// How many nodes each split uses.
    pub(super) sizes: Vec<usize>,
}

/// What a step of training sees.
pub(super) struct LabelledRows {
    pub(super) rows: Features,
    pub(super) labels: Vec<u32>,
    /// The weight of each node in the mean over a split's nodes: one row per node, one column per split.
    pub(super) weights: Vec<f32>,
}

impl Pool {
    /// From the nodes of each split.
    pub(super) fn new(lists: Vec<&[(u32, u32)]>) -> Self {
        let mut nodes = lists.concat();
        nodes.sort_unstable();
        nodes.dedup();
        let splits = lists.len();
        let mut used = vec![false; nodes.len() * splits];
        for (split, list) in lists.iter().enumerate() {
            for row in list.iter().filter_map(|node| nodes.binary_search(node).ok()) {
                used[row * splits + split] = true;
            }
        }
        let size = |split: usize| used.iter().skip(split).step_by(splits).filter(|used| **used).count();
        let sizes = (0..splits).map(size).collect();
        Self { nodes, used, sizes }
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The nodes at some places of the pool.
    pub(super) fn batch(&self, x: &Features, places: &[usize]) -> LabelledRows {
        let splits = self.sizes.len();
        let used = |place: usize| &self.used[place * splits..][..splits];
        let mut sizes = vec![0f32; splits];
        for &place in places {
            sizes.iter_mut().zip(used(place)).for_each(|(size, &used)| *size += f32::from(u8::from(used)));
        }
        let weights = |&place: &usize| {
            used(place).iter().zip(&sizes).map(|(&used, size)| if used { 1.0 / size } else { 0.0 })
        };
        let nodes: Vec<(u32, u32)> = places.iter().map(|&place| self.nodes[place]).collect();
        LabelledRows {
            rows: rows(x, &nodes),
            labels: nodes.iter().map(|&(_, class)| class).collect(),
            weights: places.iter().flat_map(weights).collect(),
        }
    }

    /// The classes of the nodes of each split and those predicted for them, given the logits of some rows.
    pub(super) fn predictions(
        &self,
        x: &Features,
        classes: usize,
        logits: impl Fn(&Features) -> Vec<f32> + Sync,
    ) -> Vec<Vec<(u32, u32)>> {
        let splits = self.sizes.len();
        let block = |(nodes, used): (&[(u32, u32)], &[bool])| {
            let mut told = vec![Vec::new(); splits];
            let logits = logits(&rows(x, nodes));
            let each = logits.chunks(splits * classes).zip(used.chunks(splits)).zip(nodes);
            for ((row, used), &(_, class)) in each {
                for ((logits, &used), told) in row.chunks(classes).zip(used).zip(&mut told) {
                    if used {
                        told.push((class, likeliest(logits)));
                    }
                }
            }
            told
        };
        let blocks = self.nodes.par_chunks(BLOCK).zip(self.used.par_chunks(BLOCK * splits));
        let blocks: Vec<Vec<Vec<_>>> = blocks.map(block).collect();
        (0..splits).map(|split| blocks.iter().flat_map(|told| &told[split]).copied().collect()).collect()
    }
}

fn rows(x: &Features, nodes: &[(u32, u32)]) -> Features {
    x.select(&nodes.iter().map(|&(node, _)| node).collect::<Vec<_>>())
}

/// The first of equally likely classes.
fn likeliest(logits: &[f32]) -> u32 {
    let first = |best: usize, class: usize| if logits[class] > logits[best] { class } else { best };
    (0..logits.len()).fold(0, first) as u32
}
