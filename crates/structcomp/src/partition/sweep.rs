//! Parallel local search whose result does not depend on the number of threads.
//!
//! Nodes are visited in batches. All threads propose moves for the nodes of a batch against the same
//! state; the moves are then applied sequentially. A proposal that an earlier move of its batch may have
//! invalidated is recomputed. Batches depend only on the graph, so every run applies the same moves.

use super::connections::Connections;
use crate::random::mix;
use rayon::prelude::*;
use std::sync::Mutex;

/// Reusable hash tables for one proposal.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) near: Connections,
    pub(super) beyond: Connections,
}

/// A local search that moves nodes between clusters.
pub(super) trait Search: Sync {
    type Move: Send;
    /// What a proposal learns about a node, whether or not it moves.
    type Note: Send;
    /// The best move of a node, or `None` if no move improves the result.
    fn propose(&self, scratch: &mut Scratch, node: u32) -> (Self::Note, Option<Self::Move>);
    fn note(&mut self, node: u32, note: Self::Note);
    /// Whether an earlier move of this batch may have changed the state that a proposal relied on.
    fn is_stale(&self, proposal: &Self::Move) -> bool;
    /// Applies a move; returns `false` to end the search.
    fn take(&mut self, proposal: Self::Move) -> bool;
    fn start_batch(&mut self);
    /// Prefetches what the proposals for the next two nodes will read.
    fn fetch(&self, _next: u32, _then: u32) {}
    /// A rough estimate of the work for one node.
    fn work(&self, node: u32) -> usize;
}

/// The least work per batch that is worth sharing among threads.
const SHARED: usize = 1 << 13;
/// Nodes per task. Small, because all threads wait for the last task of a batch.
const CHUNK: usize = 128;

/// Runs work with many sweeps on a thread of the pool. From outside the pool, each of the thousands of
/// small parallel steps would put the calling thread to sleep and wake it again.
pub(super) fn in_pool<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    rayon::scope(|_| work())
}

/// Visits `nodes` in order; returns `false` if the search ended itself.
pub(super) fn sweep<S: Search>(search: &mut S, nodes: &[u32], batch: usize) -> bool {
    let mut own = Scratch::default();
    let threads = rayon::current_num_threads();
    let pool: Vec<Mutex<Scratch>> = (0..threads).map(|_| Mutex::default()).collect();
    let mut proposals = Vec::new();
    for batch in nodes.chunks(batch) {
        search.start_batch();
        let work: usize = batch.iter().map(|&node| search.work(node)).sum();
        let goes_on = if threads == 1 || work < SHARED {
            proposals.extend((0..batch.len()).map(|at| propose_ahead(search, &mut own, batch, at)));
            take_all(search, &mut own, batch, proposals.drain(..))
        } else {
            let chunk = |chunk: &[u32]| -> Vec<_> {
                let place = rayon::current_thread_index().unwrap_or(0) % threads;
                // A poisoned lock does no harm: the tables are cleared before use.
                let mut scratch = pool[place].lock().unwrap_or_else(|poison| poison.into_inner());
                (0..chunk.len()).map(|at| propose_ahead(search, &mut scratch, chunk, at)).collect()
            };
            let made: Vec<Vec<_>> = batch.par_chunks(CHUNK).with_max_len(1).map(chunk).collect();
            take_all(search, &mut own, batch, made.into_iter().flatten())
        };
        if !goes_on {
            return false;
        }
    }
    true
}

#[inline(always)]
fn propose_ahead<S: Search>(
    search: &S,
    scratch: &mut Scratch,
    nodes: &[u32],
    at: usize,
) -> (S::Note, Option<S::Move>) {
    if at + 2 < nodes.len() {
        search.fetch(nodes[at + 1], nodes[at + 2]);
    }
    search.propose(scratch, nodes[at])
}

/// Applies the moves proposed for `nodes` in order.
fn take_all<S: Search>(
    search: &mut S,
    scratch: &mut Scratch,
    nodes: &[u32],
    proposals: impl Iterator<Item = (S::Note, Option<S::Move>)>,
) -> bool {
    for (&node, (mut note, mut proposal)) in nodes.iter().zip(proposals) {
        if proposal.as_ref().is_some_and(|proposal| search.is_stale(proposal)) {
            (note, proposal) = search.propose(scratch, node);
        }
        search.note(node, note);
        if proposal.is_some_and(|proposal| !search.take(proposal)) {
            return false;
        }
    }
    true
}

/// All nodes in random order, but in runs of consecutive ids, whose adjacency lists share cache lines.
pub(super) fn shuffled(nodes: usize, seed: u64) -> Vec<u32> {
    const TOGETHER: usize = 8;
    let groups = nodes.div_ceil(TOGETHER);
    let mut order: Vec<u32> = (0..groups as u32).collect();
    let mut state = seed;
    for last in (1..groups).rev() {
        state = mix(state);
        let other = ((state >> 32) * (last as u64 + 1)) >> 32;
        order.swap(last, other as usize);
    }
    let group = |group: u32| {
        let first = group as usize * TOGETHER;
        first as u32..(first + TOGETHER).min(nodes) as u32
    };
    order.into_iter().flat_map(group).collect()
}

/// The number of nodes per batch, small compared with the number of nodes and clusters so that few
/// proposals become stale.
pub(super) fn batch_size(nodes: usize, clusters: usize) -> usize {
    (nodes / 16).min(clusters / 4).clamp(32, 1 << 13)
}
