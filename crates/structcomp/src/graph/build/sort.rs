//! Sorts the listed edges in place and drops duplicates, self loops and zero weights.

use super::{AHEAD, Listed, ends};
use crate::{graph::Repairs, matrix::prefetch};
use rayon::prelude::*;
use std::ops::Range;

/// Sorts by key and keeps the largest weight of duplicates; counts what is dropped.
///
/// One pass of in-place radix sort by the smaller end, then each bucket separately. A bucket fits a
/// core's cache and contains all duplicates of its edges.
pub(super) fn sort_and_drop_repeats<T: Listed>(nodes: usize, listed: &mut Vec<T>) -> Repairs {
    let bits = key_bits(nodes);
    let sizes = into_buckets(nodes, listed);
    let mut rest = &mut listed[..];
    let mut buckets = Vec::with_capacity(BUCKETS);
    for &size in &sizes {
        let (bucket, others) = rest.split_at_mut(size);
        buckets.push(bucket);
        rest = others;
    }
    let tidy = |scratch: &mut Vec<T>, bucket: &mut [T]| {
        match bucket.len() {
            // While the bucket and its copy fit a core's cache.
            256..65_536 => sort_by_digits(bucket, scratch, &bits),
            // The edges of a hub: worth sorting in parallel.
            1_048_576.. => bucket.par_sort_unstable_by_key(T::key),
            _ => bucket.sort_unstable_by_key(T::key),
        }
        drop_repeats(bucket)
    };
    let kept: Vec<(usize, Repairs)> = buckets.into_par_iter().map_init(Vec::new, tidy).collect();
    let mut repairs = Repairs { listed: listed.len() as u64, ..Repairs::default() };
    let (mut from, mut to) = (0, 0);
    for (size, (kept, mended)) in sizes.into_iter().zip(kept) {
        listed.copy_within(from..from + kept, to);
        from += size;
        to += kept;
        repairs.self_loops += mended.self_loops;
        repairs.duplicates += mended.duplicates;
        repairs.directed += mended.directed;
        repairs.zero_weights += mended.zero_weights;
    }
    listed.truncate(to);
    repairs
}

/// Few enough that the write position of each stays in the L1 cache.
const BUCKETS: usize = 1 << 8;

/// `source, target` becomes `smaller, larger, direction`.
#[inline]
fn canonical<T: Listed>(edge: &mut T) {
    let (u, v) = ((edge.key() >> 32) as u32, edge.key() as u32);
    edge.set_key((u.min(v) as u64) << 32 | (u.max(v) as u64) << 1 | (u > v) as u64);
}

/// The bits in which keys of a bucket can differ: the larger end with the direction, and the lower bits
/// of the smaller end.
fn key_bits(nodes: usize) -> [Range<u32>; 2] {
    let end = nodes.max(1).ilog2() + 1;
    [0..end + 1, 32..32 + end.saturating_sub(BUCKETS.ilog2())]
}

/// Least-significant-digit radix sort by the given bits of the keys.
fn sort_by_digits<T: Listed>(listed: &mut [T], scratch: &mut Vec<T>, bits: &[Range<u32>; 2]) {
    const DIGIT: u32 = 12;
    scratch.clear();
    scratch.extend_from_slice(listed);
    let (mut from, mut to) = (&mut *listed, &mut scratch[..]);
    let mut swapped = false;
    for range in bits {
        let digits = range.len().div_ceil(DIGIT as usize) as u32;
        // Equal widths, so that no pass is spent on a single bit.
        let width = (range.len() as u32).div_ceil(digits.max(1));
        for shift in range.clone().step_by(width.max(1) as usize) {
            let digit = |edge: &T| (edge.key() >> shift) as usize & ((1 << width) - 1);
            let mut places = [0u32; 1 << DIGIT];
            from.iter().for_each(|edge| places[digit(edge)] += 1);
            let mut next = 0;
            for place in &mut places[..1 << width] {
                next += std::mem::replace(place, next);
            }
            for edge in &*from {
                let place = &mut places[digit(edge)];
                to[*place as usize] = *edge;
                *place += 1;
            }
            std::mem::swap(&mut from, &mut to);
            swapped = !swapped;
        }
    }
    if swapped {
        to.copy_from_slice(from);
    }
}

/// Makes the keys canonical and moves each to the bucket of its smaller end; returns the sizes of the
/// buckets.
fn into_buckets<T: Listed>(nodes: usize, listed: &mut [T]) -> Vec<usize> {
    let shift = 32 + (nodes.max(1).ilog2() + 1).saturating_sub(BUCKETS.ilog2());
    let bucket = |edge: &T| (edge.key() >> shift) as usize;
    let count = |chunk: &mut [T]| {
        let mut sizes = vec![0; BUCKETS];
        for edge in chunk {
            canonical(edge);
            sizes[bucket(edge)] += 1;
        }
        sizes
    };
    let add = |a: Vec<usize>, b: Vec<usize>| a.iter().zip(b).map(|(a, b)| a + b).collect();
    let sizes = listed.par_chunks_mut(1 << 16).map(count).reduce(|| vec![0; BUCKETS], add);
    let ends: Vec<usize> = sizes
        .iter()
        .scan(0, |end, size| {
            *end += size;
            Some(*end)
        })
        .collect();
    let starts: Vec<usize> = ends.iter().zip(&sizes).map(|(end, size)| end - size).collect();
    // Halves are never exactly equal; an eighth more avoids splitting the larger one again.
    let task = (listed.len() / rayon::current_num_threads() + listed.len() / 8).max(1 << 16);
    spread(listed, 0, &starts, &ends, task, &bucket);
    sizes
}

/// Moves entries to their buckets. The first bucket is `first`; `starts` and `ends` are the positions of
/// the buckets. A list larger than `task` is partitioned at the bucket in its middle and the two parts
/// are processed in parallel.
fn spread<T: Listed>(
    listed: &mut [T],
    first: usize,
    starts: &[usize],
    ends: &[usize],
    task: usize,
    bucket: &(impl Fn(&T) -> usize + Sync),
) {
    if listed.len() <= task || starts.len() == 1 {
        return permute(listed, first, starts, ends, bucket);
    }
    let base = starts[0];
    let half = starts.partition_point(|start| start - base < listed.len() / 2).clamp(1, starts.len() - 1);
    let is_low = |edge: &T| bucket(edge) < first + half;
    let middle = listed.len() / 2;
    let (left, right) = listed.split_at_mut(middle);
    let (low, low_right) = rayon::join(|| low_first(left, is_low), || low_first(right, is_low));
    let high = middle - low;
    let swapped = high.min(low_right);
    // Swap the high end of the left half with the low start of the right half.
    let (front, back) = listed[low..middle + low_right].split_at_mut(high);
    let ahead = back.len() - swapped;
    front[..swapped].swap_with_slice(&mut back[ahead..]);
    let (below, above) = listed.split_at_mut(low + low_right);
    rayon::join(
        || spread(below, first, &starts[..half], &ends[..half], task, bucket),
        || spread(above, first + half, &starts[half..], &ends[half..], task, bucket),
    );
}

/// [`spread`] on one thread: cycles of swaps, American flag sort.
fn permute<T: Listed>(
    listed: &mut [T],
    first: usize,
    starts: &[usize],
    ends: &[usize],
    bucket: &(impl Fn(&T) -> usize + Sync),
) {
    let base = starts[0];
    let mut next: Vec<usize> = starts.iter().map(|start| start - base).collect();
    for home in 0..starts.len() {
        while next[home] < ends[home] - base {
            // Follow the cycle of displaced entries until one belongs here.
            let mut held = listed[next[home]];
            while bucket(&held) - first != home {
                let place = &mut next[bucket(&held) - first];
                std::mem::swap(&mut held, &mut listed[*place]);
                *place += 1;
                // The hardware prefetcher cannot follow this many streams.
                if let Some(later) = listed.get(*place + AHEAD) {
                    prefetch(later);
                }
            }
            listed[next[home]] = held;
            next[home] += 1;
        }
    }
}

/// Moves the low entries to the front without branching on the data; returns their number.
fn low_first<T: Copy>(listed: &mut [T], is_low: impl Fn(&T) -> bool) -> usize {
    let mut low = 0;
    for at in 0..listed.len() {
        let entry = listed[at];
        listed.swap(low, at);
        low += is_low(&entry) as usize;
    }
    low
}

/// Moves one entry of each edge to the front, in order; returns their number and the repairs.
fn drop_repeats<T: Listed>(listed: &mut [T]) -> (usize, Repairs) {
    let mut repairs = Repairs::default();
    let (mut read, mut kept) = (0, 0);
    while read < listed.len() {
        let mut edge = listed[read];
        let pair = edge.key() >> 1;
        let (mut run, mut directions, mut last) = (0, 0, u64::MAX);
        while read < listed.len() && listed[read].key() >> 1 == pair {
            directions += (listed[read].key() != last) as u64;
            last = listed[read].key();
            if listed[read].weight() > edge.weight() {
                edge = listed[read];
            }
            run += 1;
            read += 1;
        }
        repairs.duplicates += run - directions;
        let (u, v) = ends(edge.key());
        if u == v {
            repairs.self_loops += 1;
        } else if edge.weight() == 0.0 {
            repairs.zero_weights += directions;
        } else {
            repairs.directed += (directions == 1) as u64;
            listed[kept] = edge;
            kept += 1;
        }
    }
    (kept, repairs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn radix_sort_gives_the_same_order_as_comparison_sort(
            nodes in 1usize..100_000,
            ends in prop::collection::vec((any::<u32>(), any::<u32>(), any::<bool>()), 0..600),
        ) {
            // Ends of one bucket: smaller ends differ only in their lower bits.
            let low = key_bits(nodes)[1].len();
            let key = |(u, v, back): (u32, u32, bool)| {
                ((u % (1 << low)) as u64) << 32 | ((v as usize % nodes) as u64) << 1 | back as u64
            };
            let mut keys: Vec<u64> = ends.into_iter().map(key).collect();
            let mut expected = keys.clone();
            expected.sort_unstable();
            sort_by_digits(&mut keys, &mut Vec::new(), &key_bits(nodes));
            prop_assert_eq!(keys, expected);
        }

        #[test]
        fn entries_reach_their_buckets_however_the_list_is_split(
            keys in prop::collection::vec(0u64..9, 0..200),
            task in 1usize..64,
        ) {
            let bucket = |key: &u64| *key as usize;
            let mut expected = keys.clone();
            expected.sort_unstable();
            let starts: Vec<usize> = (0..9).map(|key| expected.partition_point(|&k| k < key)).collect();
            let ends: Vec<usize> = (0..9).map(|key| expected.partition_point(|&k| k <= key)).collect();
            let mut spread_out = keys;
            spread(&mut spread_out, 0, &starts, &ends, task, &bucket);
            prop_assert_eq!(spread_out, expected);
        }
    }
}
