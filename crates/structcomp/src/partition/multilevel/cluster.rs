//! Size-constrained label propagation: each node joins the cluster it is connected to most.

use crate::partition::level::Level;
use crate::partition::sweep::{Scratch, Search, batch_size, shuffled, sweep};
use crate::random::mix;

const ROUNDS: usize = 3;

/// Clusters the nodes up to size `cap`, and stops when `enough` clusters are left, not counting isolated
/// nodes. Returns labels without gaps and their number.
///
/// If `within` is given, only nodes with equal values in it are clustered together.
pub(super) fn cluster(
    level: &Level,
    cap: u32,
    enough: usize,
    within: Option<&[u32]>,
    seed: u64,
) -> (Vec<u32>, usize) {
    let nodes = level.nodes();
    let mut search = Merging {
        level,
        cap,
        enough,
        within,
        seed,
        label: (0..nodes as u32).collect(),
        size: (0..nodes as u32).map(|node| level.size(node)).collect(),
        touched: vec![0; nodes],
        batch: 0,
        left: (0..nodes as u32).filter(|&node| level.degree(node) > 0).count(),
        joins: 0,
    };
    if search.left <= enough {
        return close_gaps(search.label);
    }
    let order = shuffled(nodes, seed);
    for _ in 0..ROUNDS {
        let before = search.joins;
        let goes_on = sweep(&mut search, &order, batch_size(nodes, nodes));
        // The last few moves are not worth their time.
        if !goes_on || (search.joins - before) * 20 < nodes {
            break;
        }
    }
    close_gaps(search.label)
}

struct Merging<'a> {
    level: &'a Level<'a>,
    cap: u32,
    enough: usize,
    within: Option<&'a [u32]>,
    seed: u64,
    label: Vec<u32>,
    size: Vec<u32>,
    /// The last batch in which a cluster changed.
    touched: Vec<u32>,
    batch: u32,
    left: usize,
    joins: usize,
}

struct Merge {
    node: u32,
    cluster: u32,
}

impl Search for Merging<'_> {
    type Move = Merge;
    type Note = ();

    fn propose(&self, scratch: &mut Scratch, node: u32) -> ((), Option<Merge>) {
        let (own, weight) = (self.label[node as usize], self.level.size(node));
        if weight >= self.cap {
            return ((), None);
        }
        let near = &mut scratch.near;
        near.clear(self.level.degree(node));
        match self.within {
            None => self.level.add_connections(node, &self.label, near),
            Some(within) => self.level.each_neighbor(node, |v, weight| {
                if within[v as usize] == within[node as usize] {
                    near.add(self.label[v as usize], weight);
                }
            }),
        }
        let alone = self.size[own as usize] == weight;
        let mut best: Option<(f32, u32, u32, u32)> = None;
        let stay = near.get(own);
        let mut least = stay;
        let salt = mix(self.seed ^ node as u64) as u32;
        for (cluster, joined) in near.iter() {
            if cluster == own || joined < least || (joined == stay && !alone) {
                continue;
            }
            let size = self.size[cluster as usize];
            if size + weight > self.cap {
                continue;
            }
            // Ties: prefer the smaller cluster, then choose at random.
            let chance = (cluster ^ salt).wrapping_mul(0x9e37_79b1);
            let better =
                best.is_none_or(|(most, held, luck, _)| joined > most || (size, luck) < (held, chance));
            if better {
                least = joined;
                best = Some((joined, size, chance, cluster));
            }
        }
        ((), best.map(|(.., cluster)| Merge { node, cluster }))
    }

    fn note(&mut self, _: u32, _: ()) {}

    fn is_stale(&self, join: &Merge) -> bool {
        let own = self.label[join.node as usize];
        self.touched[own as usize] == self.batch || self.touched[join.cluster as usize] == self.batch
    }

    fn take(&mut self, Merge { node, cluster }: Merge) -> bool {
        let weight = self.level.size(node);
        let own = std::mem::replace(&mut self.label[node as usize], cluster);
        self.size[own as usize] -= weight;
        self.size[cluster as usize] += weight;
        self.touched[own as usize] = self.batch;
        self.touched[cluster as usize] = self.batch;
        self.left -= (self.size[own as usize] == 0) as usize;
        self.joins += 1;
        self.left > self.enough
    }

    fn fetch(&self, next: u32, then: u32) {
        self.level.fetch(next, then, &self.label);
    }

    fn start_batch(&mut self) {
        self.batch += 1;
    }

    fn work(&self, node: u32) -> usize {
        self.level.degree(node)
    }
}

/// Renumbers labels in order of first occurrence.
fn close_gaps(mut label: Vec<u32>) -> (Vec<u32>, usize) {
    let mut number = vec![u32::MAX; label.len()];
    let mut count = 0;
    for label in &mut label {
        let number = &mut number[*label as usize];
        if *number == u32::MAX {
            *number = count;
            count += 1;
        }
        *label = *number;
    }
    (label, count as usize)
}
