//! Local search: moves single nodes between clusters while that improves the partition.
//!
//! A node may move to a cluster with room, or replace a member of a full cluster. The ejected member
//! goes wherever it costs least: to the first node's cluster, which is a swap, or to a third cluster.

use crate::partition::level::{Level, group};
use crate::partition::sweep::{Scratch, Search, batch_size, shuffled, sweep};
use crate::random::mix;
use rayon::prelude::*;

/// The value of a partition, to be maximised: a sum over clusters.
pub(super) trait Worth: Copy + Send + Sync {
    /// The value of a cluster, from its size and the edge weight inside it, counting both directions.
    fn of(inner: f64, size: u32) -> f64;

    /// The change in value when the inner weight and size of a cluster change.
    #[inline]
    fn change(&Cluster { inner, size, .. }: &Cluster, more_inner: f64, more_size: i64) -> f64 {
        Self::of(inner + more_inner, (size as i64 + more_size) as u32) - Self::of(inner, size)
    }
}

/// Minimises the weight of edges between clusters.
#[derive(Clone, Copy)]
pub(super) struct Cut;

/// Minimises ‖P'Pᵀ − Â‖, on levels weighted by Â.
#[derive(Clone, Copy)]
pub(super) struct Distance;

impl Worth for Cut {
    #[inline]
    fn of(inner: f64, _: u32) -> f64 {
        inner
    }

    /// Does not read the cluster: a node has many neighbouring clusters, scattered in memory.
    #[inline]
    fn change(_: &Cluster, more_inner: f64, _: i64) -> f64 {
        more_inner
    }
}

impl Worth for Distance {
    #[inline]
    fn of(inner: f64, size: u32) -> f64 {
        if size == 0 { 0.0 } else { inner / size as f64 }
    }
}

/// The number of clusters and the limits on their size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) clusters: usize,
    /// The maximum size.
    pub(super) cap: u32,
    /// Moves do not shrink a cluster below this size.
    pub(super) floor: u32,
}

/// Smaller gains are rounding errors.
const LEAST: f64 = 1e-7;
/// The maximum number of edges examined in a search for a member to eject.
const LOOK: usize = 256;
/// The maximum number of members considered for ejection.
const MEMBERS: usize = 16;
/// A round with a smaller relative improvement is the last.
const ENOUGH: f64 = 0.004;
const ROUNDS: usize = 8;

/// Improves `part` until rounds gain too little, or for [`ROUNDS`] rounds.
pub(super) fn refine<W: Worth>(level: &Level, part: &mut Vec<u32>, sizes: Sizes, seed: u64) {
    let nodes = level.nodes();
    let mut search = Refinement::<W>::new(level, std::mem::take(part), sizes);
    let mut order = shuffled(nodes, mix(seed));
    for _ in 0..ROUNDS {
        sweep(&mut search, &order, batch_size(nodes, sizes.clusters));
        let little = std::mem::take(&mut search.gained) < ENOUGH * search.total();
        order = std::mem::take(&mut search.next);
        order.iter().for_each(|&node| search.active[node as usize] = false);
        if (little && search.ejects) || order.is_empty() {
            break;
        }
        search.ejects = true;
    }
    *part = search.part;
}

struct Refinement<'a, W> {
    level: &'a Level<'a>,
    sizes: Sizes,
    part: Vec<u32>,
    members: Vec<Vec<u32>>,
    /// The index of each node among the members of its cluster.
    place: Vec<u32>,
    clusters: Vec<Cluster>,
    batch: u32,
    /// An estimate of each node's best gain, ignoring size limits, from its last visit. Members whose loss
    /// would exceed the gain of the entering node are skipped.
    hope: Vec<f32>,
    /// Whether members of full clusters may be ejected. Not in the first round, whose plain moves are cheap
    /// and fill `hope`.
    ejects: bool,
    /// The total gain of the current round.
    gained: f64,
    active: Vec<bool>,
    next: Vec<u32>,
    worth: std::marker::PhantomData<W>,
}

/// The state of a cluster that a move changes, kept in one cache line: other threads may have read it, so
/// each line written costs a transfer between cores.
#[derive(Clone, Copy)]
pub(super) struct Cluster {
    inner: f64,
    size: u32,
    /// The last batch that changed it.
    touched: u32,
}

/// Moves `node` to the cluster `to`, and optionally ejects a member of `to` into another cluster.
struct Move {
    node: u32,
    to: u32,
    ejected: Option<(u32, u32)>,
    gain: f64,
}

/// A node that may leave its cluster.
struct Leaving {
    node: u32,
    from: u32,
    size: u32,
    /// The edge weight inside the node.
    own: f64,
    /// The edge weight between the node and the rest of its cluster.
    joined: f64,
}

impl<'a, W: Worth> Refinement<'a, W> {
    fn new(level: &'a Level, part: Vec<u32>, sizes: Sizes) -> Self {
        let (nodes, clusters) = (level.nodes(), sizes.clusters);
        let ((size, inner), (starts, nodes_of)) =
            rayon::join(|| level.clusters(&part, clusters), || group(&part, clusters));
        let mut place = vec![0; nodes];
        for (at, &node) in (0..).zip(&nodes_of) {
            place[node as usize] = at - starts[part[node as usize] as usize];
        }
        let of_cluster = |c: usize| nodes_of[starts[c] as usize..starts[c + 1] as usize].to_vec();
        let members = (0..clusters).into_par_iter().with_min_len(1 << 8).map(of_cluster).collect();
        Self {
            level,
            sizes,
            part,
            members,
            place,
            clusters: (size.into_iter().zip(inner))
                .map(|(size, inner)| Cluster { inner, size, touched: 0 })
                .collect(),
            batch: 0,
            hope: vec![f32::INFINITY; nodes],
            ejects: false,
            gained: 0.0,
            active: vec![false; nodes],
            next: Vec::new(),
            worth: std::marker::PhantomData,
        }
    }

    /// The value of the whole partition.
    fn total(&self) -> f64 {
        self.clusters.iter().map(|cluster| W::of(cluster.inner, cluster.size)).sum()
    }

    #[inline]
    fn size(&self, cluster: u32) -> u32 {
        self.clusters[cluster as usize].size
    }

    #[inline]
    fn change(&self, cluster: u32, inner: f64, size: i64) -> f64 {
        W::change(&self.clusters[cluster as usize], inner, size)
    }

    /// Searches the full cluster `to` for a member to eject in favour of the leaving node.
    fn eject(
        &self,
        scratch: &mut Scratch,
        leaving: &Leaving,
        (to, joined_to, hoped): (u32, f64, f64),
        least: f64,
    ) -> Option<Move> {
        let Scratch { beyond, .. } = scratch;
        let u = leaving;
        let members = &self.members[to as usize];
        let first = mix(u.node as u64) as usize % members.len();
        let at_from = self.change(u.from, -2.0 * u.joined - u.own, -(u.size as i64));
        let mut best: Option<Move> = None;
        let mut most = least + LEAST;
        let mut looked = 0;
        for step in 0..members.len().min(MEMBERS) {
            let w = members[(first + step) % members.len()];
            let size = self.level.size(w);
            if self.size(to) - size + u.size > self.sizes.cap || hoped + self.hope[w as usize] as f64 <= most
            {
                continue;
            }
            let degree = self.level.degree(w);
            looked += degree;
            if looked > LOOK && step > 0 {
                break;
            }
            beyond.clear(degree);
            self.level.add_connections(w, &self.part, beyond);
            let mut between = 0.0;
            self.level.each_neighbor(w, |v, weight| between += if v == u.node { weight as f64 } else { 0.0 });
            let own = self.level.inner(w);
            let lost = beyond.get(to) as f64;
            let grown = 2.0 * (joined_to - between - lost) + u.own - own;
            let at_to = self.change(to, grown, u.size as i64 - size as i64);
            let swapped = self.size(u.from) - u.size + size;
            if swapped <= self.sizes.cap && (swapped >= self.sizes.floor || size >= u.size) {
                let back = 2.0 * (beyond.get(u.from) as f64 - between - u.joined) + own - u.own;
                let gain = at_to + self.change(u.from, back, size as i64 - u.size as i64);
                if gain > most {
                    most = gain;
                    best = Some(Move { node: u.node, to, ejected: Some((w, u.from)), gain });
                }
            }
            if self.size(u.from) - u.size < self.sizes.floor {
                continue;
            }
            for (c, joined) in beyond.iter() {
                let gain = at_to + at_from + self.change(c, 2.0 * joined as f64 + own, size as i64);
                let better = gain > most && c != to && c != u.from;
                if better && self.size(c) + size <= self.sizes.cap {
                    most = gain;
                    best = Some(Move { node: u.node, to, ejected: Some((w, c)), gain });
                }
            }
        }
        best
    }

    fn shift(&mut self, node: u32, to: u32) {
        let from = self.part[node as usize] as usize;
        let (mut joined_from, mut joined_to) = (0.0, 0.0);
        self.level.each_neighbor(node, |v, weight| {
            let c = self.part[v as usize];
            joined_from += if c as usize == from { weight as f64 } else { 0.0 };
            joined_to += if c == to { weight as f64 } else { 0.0 };
        });
        let (own, size) = (self.level.inner(node), self.level.size(node));
        let left = &mut self.clusters[from];
        left.inner -= 2.0 * joined_from + own;
        (left.size, left.touched) = (left.size - size, self.batch);
        let joined = &mut self.clusters[to as usize];
        joined.inner += 2.0 * joined_to + own;
        (joined.size, joined.touched) = (joined.size + size, self.batch);
        let place = self.place[node as usize] as usize;
        self.members[from].swap_remove(place);
        if let Some(&moved) = self.members[from].get(place) {
            self.place[moved as usize] = place as u32;
        }
        self.place[node as usize] = self.members[to as usize].len() as u32;
        self.members[to as usize].push(node);
        self.part[node as usize] = to;
    }

    fn wake(&mut self, node: u32) {
        if !std::mem::replace(&mut self.active[node as usize], true) {
            self.next.push(node);
        }
    }
}

impl<W: Worth> Search for Refinement<'_, W> {
    type Move = Move;
    type Note = f32;

    fn propose(&self, scratch: &mut Scratch, node: u32) -> (f32, Option<Move>) {
        let (from, size) = (self.part[node as usize], self.level.size(node));
        if self.members[from as usize].len() == 1 {
            return (f32::NEG_INFINITY, None);
        }
        let near = &mut scratch.near;
        near.clear(self.level.degree(node));
        self.level.add_connections(node, &self.part, near);
        let (own, joined) = (self.level.inner(node), near.get(from) as f64);
        let leaving = Leaving { node, from, size, own, joined };
        let may_leave = self.size(from) - size >= self.sizes.floor;
        let left = self.change(from, -2.0 * joined - own, -(size as i64));
        let mut best: Option<(f64, u32)> = None;
        let mut full: Option<(f64, u32, f64)> = None;
        let mut hope = f64::NEG_INFINITY;
        for (to, joined) in near.iter() {
            if to == from {
                continue;
            }
            let joined = joined as f64;
            let gain = left + self.change(to, 2.0 * joined + own, size as i64);
            hope = hope.max(gain);
            if gain < -LEAST {
                continue;
            }
            if may_leave && self.size(to) + size <= self.sizes.cap {
                // Moves that only improve the balance make room for other nodes.
                let evens = gain.abs() <= LEAST && self.size(to) + size < self.size(from);
                let better = best.is_none_or(|(most, held)| {
                    gain > most || (gain == most && self.size(to) < self.size(held))
                });
                if better && (gain > LEAST || evens) {
                    best = Some((gain, to));
                }
            } else if gain > LEAST && full.is_none_or(|(most, ..)| gain > most) {
                full = Some((gain, to, joined));
            }
        }
        let (gain, _) = best.unwrap_or((0.0, from));
        if let Some((hoped, to, joined)) = full.filter(|&(hoped, ..)| self.ejects && hoped > gain + LEAST) {
            let step = self.eject(scratch, &leaving, (to, joined, hoped), gain.max(0.0));
            if step.is_some() {
                return (hope as f32, step);
            }
        }
        (hope as f32, best.map(|(gain, to)| Move { node, to, ejected: None, gain }))
    }

    fn note(&mut self, node: u32, hope: f32) {
        self.hope[node as usize] = hope;
        if !self.ejects && hope > LEAST as f32 {
            self.wake(node);
        }
    }

    fn is_stale(&self, step: &Move) -> bool {
        let touched = |cluster: u32| self.clusters[cluster as usize].touched == self.batch;
        touched(self.part[step.node as usize])
            || touched(step.to)
            || step.ejected.is_some_and(|(_, onward)| touched(onward))
    }

    fn take(&mut self, Move { node, to, ejected, gain }: Move) -> bool {
        if let Some((other, onward)) = ejected {
            self.shift(other, onward);
        }
        self.shift(node, to);
        self.gained += gain;
        if gain > LEAST {
            let level = self.level;
            for moved in [Some(node), ejected.map(|(other, _)| other)].into_iter().flatten() {
                self.wake(moved);
                level.neighbors(moved).iter().for_each(|&v| self.wake(v));
            }
        }
        true
    }

    fn fetch(&self, next: u32, then: u32) {
        self.level.fetch(next, then, &self.part);
    }

    fn start_batch(&mut self) {
        self.batch += 1;
    }

    fn work(&self, node: u32) -> usize {
        4 * self.level.degree(node)
    }
}
