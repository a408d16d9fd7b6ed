//! The nested blocks: the whole graph, classes, groups and communities.

use super::Synthetic;
use crate::{Error, Result, Seed, random::mix};
use rand::seq::SliceRandom;
use std::ops::Range;

/// Whole graph, class, group, community.
pub(super) const LEVELS: usize = 4;

/// The division of positions into blocks. Only classes are stored; groups and communities are computed.
#[derive(Clone)]
pub(super) struct Blocks {
    class_starts: Vec<u64>,
    /// Classes are ordered by size; their labels are shuffled.
    labels: Vec<u32>,
    /// Index of the first group of each class, followed by the number of groups.
    group_starts: Vec<u64>,
    community: f64,
    key: u64,
}

/// The blocks of a position.
pub(super) struct BlockPosition {
    pub(super) label: u32,
    /// Index of the group among those of all classes.
    pub(super) group: u64,
    /// The block at each level that contains the position, from the whole graph inwards.
    pub(super) blocks: [Range<u64>; LEVELS],
}

impl Blocks {
    pub(super) fn new(model: &Synthetic, seed: Seed) -> Result<Self> {
        let weights: Vec<f64> =
            (1..=model.classes).map(|rank| (rank as f64).powf(-model.class_skew)).collect();
        let total: f64 = weights.iter().sum();
        let mut class_starts = vec![0];
        let mut sum = 0.0;
        for weight in &weights {
            sum += weight;
            class_starts.push((model.nodes as f64 * (sum / total)).round().min(model.nodes as f64) as u64);
        }
        if class_starts.windows(2).any(|class| class[1] < class[0] + 2) {
            let (nodes, classes) = (model.nodes, model.classes);
            return Err(Error::Input(format!(
                "{nodes} nodes are too few for {classes} classes of unequal size: the smallest would have fewer \
                     than two"
            )));
        }
        let mut labels: Vec<u32> = (0..model.classes as u32).collect();
        labels.shuffle(&mut seed.stream("class order"));
        let community = model.community as f64;
        let mut group_starts = vec![0];
        for class in class_starts.windows(2) {
            group_starts.push(group_starts[group_starts.len() - 1] + groups(class[1] - class[0], community));
        }
        Ok(Self { class_starts, labels, group_starts, community, key: seed.key("blocks") })
    }

    /// Number of groups in all classes.
    pub(super) fn groups(&self) -> u64 {
        self.group_starts[self.group_starts.len() - 1]
    }

    /// Probability that two random nodes have the same class.
    pub(super) fn same_class(&self) -> f64 {
        let nodes = self.class_starts[self.class_starts.len() - 1] as f64;
        self.class_starts.windows(2).map(|class| ((class[1] - class[0]) as f64 / nodes).powi(2)).sum()
    }

    pub(super) fn place(&self, position: u64) -> BlockPosition {
        let at = self.class_at(position);
        let class = self.class_starts[at]..self.class_starts[at + 1];
        let groups = self.group_starts[at + 1] - self.group_starts[at];
        let (group, inside) = part(&class, groups, mix(self.key ^ at as u64), position);
        let number = self.group_starts[at] + group;
        let communities = communities(inside.end - inside.start, self.community);
        let key = mix(self.key.wrapping_add(number + 1));
        let (_, community) = part(&inside, communities, key, position);
        let whole = 0..self.class_starts[self.class_starts.len() - 1];
        BlockPosition { label: self.labels[at], group: number, blocks: [whole, class, inside, community] }
    }

    pub(super) fn label(&self, position: u64) -> u32 {
        self.labels[self.class_at(position)]
    }

    fn class_at(&self, position: u64) -> usize {
        self.class_starts.partition_point(|&start| start <= position) - 1
    }
}

fn communities(nodes: u64, community: f64) -> u64 {
    ((nodes as f64 / community).round() as u64).max(1)
}

/// About as many groups in a class as communities in a group.
fn groups(nodes: u64, community: f64) -> u64 {
    (communities(nodes, community) as f64).sqrt().round() as u64
}

/// Divides a block into `parts` of unequal size and finds the one that contains `position`.
fn part(block: &Range<u64>, parts: u64, key: u64, position: u64) -> (u64, Range<u64>) {
    let length = (block.end - block.start) as f64;
    // Boundaries move by at most 0.3 of a part in either direction, so they never cross.
    let border = |i: u64| match i {
        0 => block.start,
        i if i == parts => block.end,
        i => {
            let moved = 0.6 * ((mix(key ^ i) >> 11) as f64 / (1u64 << 53) as f64 - 0.5);
            block.start + (length * (i as f64 + moved) / parts as f64) as u64
        }
    };
    let guess = ((position - block.start) as f64 / length * parts as f64) as u64;
    let mut i = guess.min(parts - 1);
    while position < border(i) {
        i -= 1;
    }
    while position >= border(i + 1) {
        i += 1;
    }
    (i, border(i)..border(i + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_nest_and_tile_the_positions() {
        let model = Synthetic { nodes: 3000, classes: 5, community: 20, ..Synthetic::default() };
        let blocks = Blocks::new(&model, Seed(1)).unwrap();
        let mut last = [0..3000, 0..0, 0..0, 0..0];
        for position in 0..3000 {
            let place = blocks.place(position);
            assert!(place.group < blocks.groups());
            assert_eq!(place.label, blocks.label(position));
            for (level, before) in last.iter().enumerate() {
                let block = &place.blocks[level];
                assert!(block.contains(&position));
                assert!(level == 0 || place.blocks[level - 1].start <= block.start);
                assert!(level == 0 || place.blocks[level - 1].end >= block.end);
                assert!(block == before || block.start == before.end, "a gap before {block:?}");
            }
            last = place.blocks;
        }
        assert!(last.iter().all(|block| block.end == 3000));
    }

    #[test]
    fn class_sizes_follow_the_skew_and_communities_have_the_requested_size() {
        let model =
            Synthetic { nodes: 10_000, classes: 4, class_skew: 1.0, community: 25, ..Synthetic::default() };
        let blocks = Blocks::new(&model, Seed(0)).unwrap();
        // 1, 1/2, 1/3 and 1/4 of 25/12.
        assert_eq!(blocks.class_starts, [0, 4800, 7200, 8800, 10_000]);
        let expected = 0.48f64.powi(2) + 0.24f64.powi(2) + 0.16f64.powi(2) + 0.12f64.powi(2);
        assert!((blocks.same_class() - expected).abs() < 1e-9);
        let mut starts: Vec<u64> = (0..10_000).map(|p| blocks.place(p).blocks[3].start).collect();
        starts.dedup();
        assert!((380..=420).contains(&starts.len()), "{}", starts.len());
    }

    #[test]
    fn too_many_classes_are_refused() {
        let model = Synthetic { nodes: 20, classes: 10, ..Synthetic::default() };
        assert!(Blocks::new(&model, Seed(0)).is_err());
    }
}
