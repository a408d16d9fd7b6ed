//! From any list of edges to a [`Graph`], with an account of what had to be mended.
//!
//! Every listed edge becomes one 64-bit key: the smaller end, the larger end, and a bit for the
//! direction. The keys are sorted in place, so equal edges meet, and no second list is held: at
//! the most twice the finished graph is in memory, whether the list names each edge once or in
//! both directions.

use super::{Graph, MAX_NODES};
use crate::{Error, Result, matrix::prefetch};
use rayon::prelude::*;
use serde::Serialize;

/// What a file contained that a simple undirected graph does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Repairs {
    /// Edges as listed, before anything was mended.
    pub listed: u64,
    /// Distinct nodes that were joined to themselves; dropped.
    pub self_loops: u64,
    /// Listed edges that repeat an earlier one in the same direction; dropped. Of several
    /// weights the largest is kept.
    pub duplicates: u64,
    /// Edges listed in one direction only; the other direction was added.
    pub directed: u64,
    /// Edges of weight zero, which is no edge; dropped.
    pub zero_weights: u64,
    /// Edges naming a node that the node table does not have; dropped.
    pub unknown_ids: u64,
    /// Nodes without any edge; kept.
    pub isolated: u64,
}

impl Repairs {
    /// The repairs in words, or `None` where the list was clean.
    ///
    /// Isolated nodes are reported and not repaired; an edge listed once is how most undirected
    /// files are written, so it only counts when the file lists others in both directions.
    pub fn describe(&self, edges: u64) -> Option<String> {
        let mut said = Vec::new();
        let mut say = |count: u64, one: &str, many: &str, done: &str| match count {
            0 => {}
            1 => said.push(format!("1 {one} {done}")),
            _ => said.push(format!("{count} {many} {done}")),
        };
        say(self.self_loops, "self loop", "self loops", "dropped");
        say(self.duplicates, "duplicate", "duplicates", "dropped");
        let one_way = if self.directed == edges { 0 } else { self.directed };
        say(one_way, "one-way edge", "one-way edges", "made two-way");
        say(self.zero_weights, "edge of weight zero", "edges of weight zero", "dropped");
        say(self.unknown_ids, "edge with an unknown node id", "edges with unknown node ids", "dropped");
        if said.is_empty() { None } else { Some(said.join(", ")) }
    }
}

/// Edges as a file lists them: in any order and direction, with repeats and loops.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EdgeList {
    /// `source << 32 | target`.
    plain: Vec<u64>,
    /// Used instead of `plain` from the first weight on.
    weighted: Vec<(u64, f32)>,
}

impl EdgeList {
    /// An empty list with room for `edges` edges.
    pub fn with_capacity(edges: usize) -> Self {
        Self { plain: Vec::with_capacity(edges), weighted: Vec::new() }
    }

    /// Edges from `source << 32 | target` numbers.
    pub fn from_packed(pairs: Vec<u64>) -> Self {
        Self { plain: pairs, weighted: Vec::new() }
    }

    /// Edges from `source << 32 | target` numbers with their weights.
    pub fn from_weighted(pairs: Vec<(u64, f32)>) -> Self {
        Self { plain: Vec::new(), weighted: pairs }
    }

    /// Adds an edge.
    pub fn push(&mut self, source: u32, target: u32) {
        let pair = pack(source, target);
        if self.weighted.is_empty() { self.plain.push(pair) } else { self.weighted.push((pair, 1.0)) }
    }

    /// How many edges are listed.
    pub fn len(&self) -> usize {
        self.plain.len() + self.weighted.len()
    }

    /// Whether no edge is listed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Makes the graph on `nodes` nodes and tells what was mended.
    pub fn build(self, nodes: usize) -> Result<(Graph, Repairs)> {
        if nodes > MAX_NODES {
            return Err(Error::Input(format!("{nodes} nodes are more than the 2^31 supported")));
        }
        let Self { plain, weighted } = self;
        if weighted.iter().any(|&(_, weight)| weight != 1.0) {
            return build(nodes, weighted);
        }
        // Weights that all equal one say nothing; the graph is smaller without them.
        let plain =
            if weighted.is_empty() { plain } else { weighted.into_iter().map(|(pair, _)| pair).collect() };
        build(nodes, plain)
    }
}

/// One listed edge as a number.
pub(crate) fn pack(source: u32, target: u32) -> u64 {
    (source as u64) << 32 | target as u64
}

/// A listed edge, with or without a weight.
trait Listed: Copy + Send + Sync {
    const WEIGHTED: bool;
    fn key(&self) -> u64;
    fn set_key(&mut self, key: u64);
    fn weight(&self) -> f32;
}

impl Listed for u64 {
    const WEIGHTED: bool = false;
    fn key(&self) -> u64 {
        *self
    }
    fn set_key(&mut self, key: u64) {
        *self = key;
    }
    fn weight(&self) -> f32 {
        1.0
    }
}

impl Listed for (u64, f32) {
    const WEIGHTED: bool = true;
    fn key(&self) -> u64 {
        self.0
    }
    fn set_key(&mut self, key: u64) {
        self.0 = key;
    }
    fn weight(&self) -> f32 {
        self.1
    }
}

fn build<T: Listed>(nodes: usize, mut listed: Vec<T>) -> Result<(Graph, Repairs)> {
    check(nodes, &listed)?;
    let mut repairs = sort_and_drop_repeats(nodes, &mut listed);
    listed.shrink_to_fit();
    let offsets = row_starts(nodes, &listed);
    let (targets, weights) = fill_rows(&offsets, &listed);
    drop(listed);
    let weights = T::WEIGHTED.then(|| weights.into());
    let graph = Graph { offsets: offsets.into(), targets: targets.into(), weights };
    repairs.isolated = graph.isolated() as u64;
    Ok((graph, repairs))
}

/// Refuses edges that leave the graph and weights that are none.
fn check<T: Listed>(nodes: usize, listed: &[T]) -> Result<()> {
    let largest = |edge: &T| ((edge.key() >> 32) as u32).max(edge.key() as u32);
    let is_bad =
        |edge: &&T| largest(edge) as usize >= nodes || !(edge.weight().is_finite() && edge.weight() >= 0.0);
    // By chunks: rayon's search would look at a shared flag before every edge.
    let found = listed.par_chunks(1 << 14).find_map_first(|chunk| chunk.iter().find(is_bad));
    let Some(edge) = found else { return Ok(()) };
    let (u, v, weight) = (edge.key() >> 32, edge.key() as u32, edge.weight());
    Err(Error::Input(match largest(edge) {
        node if node as usize >= nodes => format!("an edge names node {node}, but there are {nodes} nodes"),
        _ => format!("the edge {u} - {v} has weight {weight}; weights must be finite and not negative"),
    }))
}

/// `source, target` becomes `smaller, larger, direction`.
fn canonical<T: Listed>(edge: &mut T) {
    let (u, v) = ((edge.key() >> 32) as u32, edge.key() as u32);
    edge.set_key((u.min(v) as u64) << 32 | (u.max(v) as u64) << 1 | (u > v) as u64);
}

fn ends(key: u64) -> (u32, u32) {
    ((key >> 32) as u32, (key as u32) >> 1)
}

/// Sorts by key and keeps the heaviest of equal edges; counts what goes.
///
/// One pass of radix sort in place by the smaller end, then each bucket, which fits a core's cache
/// and holds all repeats of its edges, on its own.
fn sort_and_drop_repeats<T: Listed>(nodes: usize, listed: &mut Vec<T>) -> Repairs {
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
            // As long as the bucket and its twin stay in a core's cache.
            256..65_536 => sort_by_digits(bucket, scratch, &bits),
            // The edges of a hub: worth sharing.
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

/// Few enough that the place where each grows stays in the fastest cache.
const BUCKETS: usize = 1 << 8;

/// The bits in which keys of one bucket can differ: the lower ones of the smaller end, then the
/// larger end with the direction.
fn key_bits(nodes: usize) -> [std::ops::Range<u32>; 2] {
    let end = nodes.max(1).ilog2() + 1;
    [0..end + 1, 32..32 + end.saturating_sub(BUCKETS.ilog2())]
}

/// Sorts by the given bits of the keys, a few at a time from the lowest on.
fn sort_by_digits<T: Listed>(listed: &mut [T], scratch: &mut Vec<T>, bits: &[std::ops::Range<u32>; 2]) {
    const DIGIT: u32 = 12;
    scratch.clear();
    scratch.extend_from_slice(listed);
    let (mut from, mut to) = (&mut *listed, &mut scratch[..]);
    let mut swapped = false;
    for range in bits {
        let digits = range.len().div_ceil(DIGIT as usize) as u32;
        // Equal shares, so that no pass is spent on a single bit.
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

/// Moves every entry, now with the smaller end first, into the bucket of that end and tells the sizes
/// of the buckets.
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
    // Halves are never quite equal; an eighth more saves cutting the larger one again.
    let task = (listed.len() / rayon::current_num_threads() + listed.len() / 8).max(1 << 16);
    spread(listed, 0, &starts, &ends, task, &bucket);
    sizes
}

/// Moves entries to their buckets, which begin and end at the given places from `first` on: a list
/// larger than `task` is cut in two at the bucket in its middle, so that threads can share it.
fn spread<T: Listed>(
    listed: &mut [T],
    first: usize,
    starts: &[usize],
    ends: &[usize],
    task: usize,
    bucket: &(impl Fn(&T) -> usize + Sync),
) {
    let base = starts[0];
    if listed.len() <= task || starts.len() == 1 {
        let mut next: Vec<usize> = starts.iter().map(|start| start - base).collect();
        for home in 0..starts.len() {
            while next[home] < ends[home] - base {
                // Follow the cycle of displaced entries until one belongs here.
                let mut held = listed[next[home]];
                while bucket(&held) - first != home {
                    let place = &mut next[bucket(&held) - first];
                    std::mem::swap(&mut held, &mut listed[*place]);
                    *place += 1;
                    // So many streams are more than the processor follows by itself.
                    if let Some(later) = listed.get(*place + AHEAD) {
                        prefetch(later);
                    }
                }
                listed[next[home]] = held;
                next[home] += 1;
            }
        }
        return;
    }
    let half = starts.partition_point(|start| start - base < listed.len() / 2).clamp(1, starts.len() - 1);
    let is_low = |edge: &T| bucket(edge) < first + half;
    let middle = listed.len() / 2;
    let (left, right) = listed.split_at_mut(middle);
    let (low, low_right) = rayon::join(|| low_first(left, is_low), || low_first(right, is_low));
    let high = middle - low;
    let swapped = high.min(low_right);
    // What is high at the end of the left half and low at the start of the right one changes places.
    let (front, back) = listed[low..middle + low_right].split_at_mut(high);
    let ahead = back.len() - swapped;
    front[..swapped].swap_with_slice(&mut back[ahead..]);
    let (below, above) = listed.split_at_mut(low + low_right);
    rayon::join(
        || spread(below, first, &starts[..half], &ends[..half], task, bucket),
        || spread(above, first + half, &starts[half..], &ends[half..], task, bucket),
    );
}

/// Moves the low entries to the front, without a branch on which they are; how many.
fn low_first<T: Copy>(listed: &mut [T], is_low: impl Fn(&T) -> bool) -> usize {
    let mut low = 0;
    for at in 0..listed.len() {
        let entry = listed[at];
        listed.swap(low, at);
        low += is_low(&entry) as usize;
    }
    low
}

/// Moves one entry of each edge to the front, in order; how many, and what goes.
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

/// Each task owns a range of rows and walks the edges for it, as in [`fill_rows`].
fn row_starts<T: Listed>(nodes: usize, edges: &[T]) -> Vec<u64> {
    let mut offsets = vec![0; nodes + 1];
    let size = nodes.div_ceil(tasks(0)).max(1);
    offsets[1..].par_chunks_mut(size).enumerate().for_each(|(task, ends_of)| {
        let first = task * size;
        let rows = first..first + ends_of.len();
        let (reach, own) = reach(edges, &rows);
        // One place more, for the rows of others: a branch would be guessed wrong half of the time.
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

/// How many share a walk over the edges: more than threads would only repeat it, but the entries of
/// each must be counted by 32 bits.
fn tasks(entries: usize) -> usize {
    rayon::current_num_threads().clamp(1, 8).max(entries >> 31)
}

/// The edges that can have their larger end among the rows, and those that have their smaller end there.
fn reach<'a, T: Listed>(edges: &'a [T], rows: &std::ops::Range<usize>) -> (&'a [T], &'a [T]) {
    let end_of = |node: usize| edges.partition_point(|edge| (ends(edge.key()).0 as usize) < node);
    let reach = &edges[..end_of(rows.end)];
    (reach, &reach[end_of(rows.start)..])
}

/// Writes both directions of every edge. Edges come in ascending order, so rows fill up sorted:
/// first the smaller neighbours, then the larger.
///
/// Each task owns a range of rows and walks the edges for it. The result is the same for any number
/// of them.
fn fill_rows<T: Listed>(offsets: &[u64], edges: &[T]) -> (Vec<u32>, Vec<f32>) {
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
    rows: std::ops::Range<usize>,
    edges: &[T],
    targets: &mut [u32],
    weights: &mut [f32],
) {
    let base = offsets[rows.start];
    // Half the size of the offsets: much of it stays in a core's cache.
    let mut next: Vec<u32> = offsets[rows.clone()].iter().map(|&at| (at - base) as u32).collect();
    let mut put = |at: &mut u32, target: u32, weight: f32| {
        targets[*at as usize] = target;
        if T::WEIGHTED {
            weights[*at as usize] = weight;
        }
        *at += 1;
    };
    let (reach, own) = reach(edges, &rows);
    // The larger end's row gets the smaller neighbours first; where it lies is a matter of chance,
    // so it is fetched ahead, which makes the whole walk a third faster (`benchmarks/load.py`).
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

/// How many edges ahead a row's place is fetched.
const AHEAD: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn list(pairs: &[(u32, u32)]) -> EdgeList {
        EdgeList::from_packed(pairs.iter().map(|&(u, v)| pack(u, v)).collect())
    }

    #[test]
    fn every_repair_is_counted_once() {
        // 0-1 both ways and once more, 1-2 one way, 2-2 twice, node 3 alone
        let edges = [(0, 1), (1, 0), (0, 1), (2, 1), (2, 2), (2, 2)];
        let (graph, repairs) = list(&edges).build(4).unwrap();
        assert_eq!(graph.targets(), [1, 0, 2, 1]);
        let expected = Repairs {
            listed: 6,
            self_loops: 1,
            duplicates: 2,
            directed: 1,
            isolated: 1,
            ..Repairs::default()
        };
        assert_eq!(repairs, expected);
        let said = "1 self loop dropped, 2 duplicates dropped, 1 one-way edge made two-way";
        assert_eq!(repairs.describe(2).as_deref(), Some(said));
    }

    #[test]
    fn the_largest_weight_wins_and_zero_is_no_edge() {
        let weighted = [(pack(0, 1), 2.0), (pack(1, 0), 5.0), (pack(0, 1), 3.0), (pack(1, 2), 0.0)];
        let (graph, repairs) = EdgeList::from_weighted(weighted.to_vec()).build(3).unwrap();
        assert_eq!(graph.edge_weights(0), Some(&[5.0][..]));
        assert_eq!(graph.edge_weights(1), Some(&[5.0][..]));
        assert_eq!((repairs.duplicates, repairs.zero_weights, repairs.isolated), (1, 1, 1));
        Graph::from_csr(graph.offsets.clone(), graph.targets.clone(), graph.weights.clone()).unwrap();
    }

    #[test]
    fn weights_of_one_are_not_kept() {
        let (graph, _) = EdgeList::from_weighted(vec![(pack(0, 1), 1.0)]).build(2).unwrap();
        assert!(graph.weights().is_none());
    }

    #[test]
    fn bad_ends_and_weights_are_errors() {
        assert!(list(&[(0, 3)]).build(3).is_err());
        for weight in [-1.0, f32::NAN, f32::INFINITY] {
            assert!(EdgeList::from_weighted(vec![(pack(0, 1), weight)]).build(2).is_err());
        }
        assert!(EdgeList::default().build(MAX_NODES + 1).is_err());
        assert_eq!(EdgeList::default().build(0).unwrap().0.nodes(), 0);
    }

    #[test]
    fn large_lists_are_built_as_by_a_simple_program() {
        for nodes in [3u64, 700, 70_000] {
            let mixed = (0..400_000u64).map(crate::random::mix);
            let pairs: Vec<u64> =
                mixed.map(|r| pack((r % nodes) as u32, (r >> 32) as u32 % nodes as u32)).collect();
            let (graph, repairs) = EdgeList::from_packed(pairs.clone()).build(nodes as usize).unwrap();
            let mut ordered = std::collections::BTreeSet::new();
            let mut rows = vec![std::collections::BTreeSet::new(); nodes as usize];
            for pair in pairs {
                let (u, v) = ((pair >> 32) as usize, pair as u32);
                ordered.insert(pair);
                if u != v as usize {
                    rows[u].insert(v);
                    rows[v as usize].insert(u as u32);
                }
            }
            let targets: Vec<u32> = rows.iter().flatten().copied().collect();
            assert!(graph.targets() == targets, "{nodes}");
            assert_eq!(repairs.duplicates, 400_000 - ordered.len() as u64);
            assert!(graph.check().is_ok());
        }
    }

    proptest! {
        #[test]
        fn digits_sort_as_comparisons_do(
            nodes in 1usize..100_000,
            ends in prop::collection::vec((any::<u32>(), any::<u32>(), any::<bool>()), 0..600),
        ) {
            // Ends of one bucket: the smaller differs in its lower bits only.
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
        fn entries_reach_their_buckets_however_the_list_is_cut(
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

        #[test]
        fn order_direction_and_repeats_do_not_change_a_byte(
            edges in prop::collection::vec((0u32..40, 0u32..40, any::<bool>(), 1usize..3), 0..200),
            threads in 1usize..9,
            shuffle in any::<u64>(),
        ) {
            let clean: Vec<_> = edges.iter().map(|&(u, v, ..)| (u, v)).collect();
            let (expected, _) = list(&clean).build(40).unwrap();
            let mut messy: Vec<_> = edges
                .iter()
                .flat_map(|&(u, v, flip, times)| vec![if flip { (v, u) } else { (u, v) }; times])
                .collect();
            messy.sort_by_key(|&(u, v)| crate::random::mix(shuffle ^ pack(u, v)));
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let (graph, _) = pool.install(|| list(&messy).build(40)).unwrap();
            prop_assert_eq!(&graph, &expected);
            let checked = Graph::from_csr(graph.offsets.clone(), graph.targets.clone(), None);
            prop_assert_eq!(checked.unwrap(), expected);
        }

        #[test]
        fn weighted_graphs_are_symmetric_and_independent_of_order(
            edges in prop::collection::vec((0u32..20, 0u32..20, 0u8..4), 0..100),
        ) {
            let entries: Vec<_> = edges.iter().map(|&(u, v, w)| (pack(u, v), w as f32)).collect();
            let backwards: Vec<_> = edges.iter().rev().map(|&(u, v, w)| (pack(v, u), w as f32)).collect();
            let (graph, _) = EdgeList::from_weighted(entries).build(20).unwrap();
            let (other, _) = EdgeList::from_weighted(backwards).build(20).unwrap();
            prop_assert_eq!(&graph, &other);
            prop_assert!(graph.check().is_ok());
        }
    }
}
