//! Reduces the number of clusters to exactly the requested one.
//!
//! Filling clusters up to a limit is bin packing, so clustering stalls with too many clusters. The weakest
//! are dissolved: each of their nodes goes to the best connected cluster with room, else to the nearest
//! one with room, else to the smallest. A dissolved cluster without edges to others, such as a small
//! component, moves as a whole if it fits.

use super::refine::Sizes;
use crate::partition::level::{Level, group};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const LOOSE: u32 = u32::MAX;
/// The maximum number of nodes visited in a search for the nearest cluster with room.
const REACH: usize = 200;
const PASSES: usize = 4;

/// Dissolves the surplus of `count` clusters. Returns `false` and changes nothing if some node of this
/// level fits nowhere.
pub(super) fn reduce(level: &Level, part: &mut Vec<u32>, count: usize, sizes: Sizes) -> bool {
    if count <= sizes.clusters {
        return true;
    }
    let gone = weakest(level, part, count, count - sizes.clusters);
    let mut placing = Placing::new(level, part, &gone, sizes.cap);
    let (mut todo, whole) = placing.loosen(part, &gone);
    for _ in 0..PASSES {
        let before = todo.len();
        todo.retain(|&node| !placing.join_best(node));
        if todo.is_empty() || todo.len() == before {
            break;
        }
    }
    todo.retain(|&node| !placing.join_nearest(node));
    if !placing.fill(whole, todo, &gone) {
        return false;
    }
    let mut number = vec![LOOSE; count];
    let kept = (0..count).filter(|&c| !gone[c]);
    kept.zip(0..).for_each(|(c, new)| number[c] = new);
    *part = placing.part.iter().map(|&c| number[c as usize]).collect();
    true
}

/// The clusters to dissolve: those with the least edge weight inside, then the smaller ones.
fn weakest(level: &Level, part: &[u32], count: usize, surplus: usize) -> Vec<bool> {
    let (size, inner) = level.clusters(part, count);
    let mut order: Vec<u32> = (0..count as u32).collect();
    let strength = |&c: &u32| (inner[c as usize], size[c as usize], c);
    let weaker = |a: &u32, b: &u32| {
        let ((x, s, a), (y, t, b)) = (strength(a), strength(b));
        x.total_cmp(&y).then((s, a).cmp(&(t, b)))
    };
    order.select_nth_unstable_by(surplus, weaker);
    let mut gone = vec![false; count];
    order[..surplus].iter().for_each(|&c| gone[c as usize] = true);
    gone
}

struct Placing<'a> {
    level: &'a Level<'a>,
    part: Vec<u32>,
    size: Vec<u32>,
    cap: u32,
    found: crate::partition::connections::Connections,
    seen: Vec<u32>,
    search: u32,
    queue: Vec<u32>,
}

impl<'a> Placing<'a> {
    fn new(level: &'a Level, part: &[u32], gone: &[bool], cap: u32) -> Self {
        let mut size = vec![0; gone.len()];
        for (node, &c) in (0..).zip(part) {
            size[c as usize] += level.size(node);
        }
        let seen = vec![0; level.nodes()];
        let (found, queue) = Default::default();
        Self { level, part: part.to_vec(), size, cap, found, seen, search: 0, queue }
    }

    /// Unassigns the nodes of dissolved clusters. Returns the nodes to place one by one, heaviest first,
    /// and the clusters without edges to others, to place as a whole.
    fn loosen(&mut self, part: &[u32], gone: &[bool]) -> (Vec<u32>, Vec<Vec<u32>>) {
        let (starts, members) = group(part, gone.len());
        let (mut single, mut whole) = (Vec::new(), Vec::new());
        for c in (0..gone.len()).filter(|&c| gone[c]) {
            let members = &members[starts[c] as usize..starts[c + 1] as usize];
            let stays = |&v: &u32| part[v as usize] as usize == c;
            match members.iter().all(|&u| self.level.neighbors(u).iter().all(stays)) {
                true => whole.push(members.to_vec()),
                false => single.extend_from_slice(members),
            }
            members.iter().for_each(|&u| self.part[u as usize] = LOOSE);
        }
        single.sort_by_key(|&u| Reverse(self.level.size(u)));
        (single, whole)
    }

    fn has_room(&self, cluster: u32, node: u32) -> bool {
        cluster != LOOSE && self.size[cluster as usize] + self.level.size(node) <= self.cap
    }

    fn put(&mut self, node: u32, cluster: u32) {
        self.part[node as usize] = cluster;
        self.size[cluster as usize] += self.level.size(node);
    }

    fn join_best(&mut self, node: u32) -> bool {
        self.found.clear(self.level.degree(node));
        let (level, part, found) = (self.level, &self.part, &mut self.found);
        level.each_neighbor(node, |v, weight| {
            if part[v as usize] != LOOSE {
                found.add(part[v as usize], weight);
            }
        });
        let open = self.found.iter().filter(|&(c, _)| self.has_room(c, node));
        let size = |c: u32| self.size[c as usize];
        let best = open.max_by(|a, b| a.1.total_cmp(&b.1).then((size(b.0), b.0).cmp(&(size(a.0), a.0))));
        best.inspect(|&(c, _)| self.put(node, c)).is_some()
    }

    fn join_nearest(&mut self, node: u32) -> bool {
        self.search += 1;
        let mut queue = std::mem::take(&mut self.queue);
        queue.clear();
        queue.push(node);
        let mut found = None;
        let mut at = 0;
        while let Some(&u) = queue.get(at).filter(|_| found.is_none() && queue.len() < REACH) {
            at += 1;
            for &v in self.level.neighbors(u) {
                if std::mem::replace(&mut self.seen[v as usize], self.search) == self.search {
                    continue;
                }
                if self.has_room(self.part[v as usize], node) {
                    found = Some(self.part[v as usize]);
                    break;
                }
                queue.push(v);
            }
        }
        self.queue = queue;
        found.inspect(|&c| self.put(node, c)).is_some()
    }

    /// Fills the smallest clusters: whole groups first, then single nodes, each from the heaviest down.
    fn fill(&mut self, mut whole: Vec<Vec<u32>>, mut single: Vec<u32>, gone: &[bool]) -> bool {
        let kept = (0..gone.len() as u32).filter(|&c| !gone[c as usize]);
        let mut smallest: BinaryHeap<_> = kept.map(|c| Reverse((self.size[c as usize], c))).collect();
        whole.sort_by_key(|group| Reverse(self.weight(group)));
        for group in whole {
            let Some(Reverse((size, c))) = smallest.peek().copied() else { return false };
            if size + self.weight(&group) > self.cap {
                single.extend(group);
                continue;
            }
            smallest.pop();
            group.iter().for_each(|&node| self.put(node, c));
            smallest.push(Reverse((self.size[c as usize], c)));
        }
        single.sort_by_key(|&u| Reverse(self.level.size(u)));
        for node in single {
            let Some(Reverse((size, c))) = smallest.pop() else { return false };
            if size + self.level.size(node) > self.cap {
                return false;
            }
            self.put(node, c);
            smallest.push(Reverse((self.size[c as usize], c)));
        }
        true
    }

    fn weight(&self, nodes: &[u32]) -> u32 {
        nodes.iter().map(|&node| self.level.size(node)).sum()
    }
}
