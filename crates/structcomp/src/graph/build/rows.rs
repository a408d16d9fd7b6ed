//! Fills the rows of a graph from sorted, distinct edges.

use super::{AHEAD, Listed, ends};
use crate::matrix::prefetch;
use rayon::prelude::*;
use std::ops::Range;

/// Row starts. Each task owns a range of rows and scans the edges for it, as in [`fill_rows`].
pub(super) fn row_starts<T: Listed>(nodes: usize, edges: &[T]) -> Vec<u64> {
    let mut offsets = vec![0; nodes + 1];
    let size = nodes.div_ceil(tasks(0)).max(1);
    offsets[1..].par_chunks_mut(size).enumerate().for_each(|(task, ends_of)| {
        let first = task * size;
        let rows = first..first + ends_of.len();
        let (reach, own) = reach(edges, &rows);
        // One extra slot for the rows of other tasks: a branch would be mispredicted half of the time.
        let mut degrees = vec![0u32; rows.len() + 1];
        for edge in reach {
            let row = (ends(edge.key()).1 as usize).wrapping_sub(first).min(rows.len());
            degrees[row] = degrees[row].wrapping_add(1);
        }
        own.iter().for_each(|edge| degrees[ends(edge.key()).0 as usize - first] += 1);
        ends_of.iter_mut().zip(degrees).for_each(|(end, degree)| *end = degree as u64);
    });
    let mut total = 0;
    for end in &mut offsets {
        total += *end;
        *end = total;
    }
    offsets
}

/// Number of tasks that scan the edges: more than threads would only repeat work, but each task counts
/// its entries in 32 bits.
fn tasks(entries: usize) -> usize {
    rayon::current_num_threads().clamp(1, 8).max(entries >> 31)
}

/// The edges whose larger end may be in the rows, and those whose smaller end is.
fn reach<'a, T: Listed>(edges: &'a [T], rows: &Range<usize>) -> (&'a [T], &'a [T]) {
    let end_of = |node: usize| edges.partition_point(|edge| (ends(edge.key()).0 as usize) < node);
    let reach = &edges[..end_of(rows.end)];
    (reach, &reach[end_of(rows.start)..])
}

/// Writes both directions of every edge. Edges are in ascending order, so rows come out sorted: first
/// the smaller neighbours, then the larger.
///
/// Each task owns a range of rows and scans the edges for it. The result does not depend on the number
/// of tasks.
pub(super) fn fill_rows<T: Listed>(offsets: &[u64], edges: &[T]) -> (Vec<u32>, Vec<f32>) {
    let entries = 2 * edges.len();
    let mut targets = vec![0u32; entries];
    let mut weights = vec![0f32; if T::WEIGHTED { entries } else { 0 }];
    let tasks = tasks(entries);
    let nodes = offsets.len() - 1;
    let bound = |task: usize| {
        let share = (entries as u128 * task as u128 / tasks as u128) as u64;
        if task == tasks { nodes } else { offsets.partition_point(|&at| at < share).min(nodes) }
    };
    rayon::scope(|scope| {
        let (mut rest, mut rest_weights) = (&mut targets[..], &mut weights[..]);
        for task in 0..tasks {
            let rows = bound(task)..bound(task + 1);
            let size = (offsets[rows.end] - offsets[rows.start]) as usize;
            let (mine, others) = std::mem::take(&mut rest).split_at_mut(size);
            rest = others;
            let (my_weights, others) =
                std::mem::take(&mut rest_weights).split_at_mut(if T::WEIGHTED { size } else { 0 });
            rest_weights = others;
            scope.spawn(move |_| fill_range(offsets, rows, edges, mine, my_weights));
        }
    });
    (targets, weights)
}

fn fill_range<T: Listed>(
    offsets: &[u64],
    rows: Range<usize>,
    edges: &[T],
    targets: &mut [u32],
    weights: &mut [f32],
) {
    let base = offsets[rows.start];
    // Half the size of the offsets, so that more of it stays in a core's cache.
    let mut next: Vec<u32> = offsets[rows.clone()].iter().map(|&at| (at - base) as u32).collect();
    let mut put = |at: &mut u32, target: u32, weight: f32| {
        targets[*at as usize] = target;
        if T::WEIGHTED {
            weights[*at as usize] = weight;
        }
        *at += 1;
    };
    let (reach, own) = reach(edges, &rows);
    // The row of the larger end gets the smaller neighbours first. Its position is random, so it is
    // prefetched, which makes the scan a third faster (`benchmarks/load.py`).
    let row_of = |edge: &T| (ends(edge.key()).1 as usize).wrapping_sub(rows.start);
    for (i, edge) in reach.iter().enumerate() {
        if let Some(later) = reach.get(i + AHEAD).and_then(|edge| next.get(row_of(edge))) {
            prefetch(later);
        }
        if let Some(at) = next.get_mut(row_of(edge)) {
            put(at, ends(edge.key()).0, edge.weight());
        }
    }
    for edge in own {
        let (u, v) = ends(edge.key());
        put(&mut next[u as usize - rows.start], v, edge.weight());
    }
}
