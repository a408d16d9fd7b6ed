//! Edges in terms of the ids in a file, and their translation to node numbers.

use super::ids::Places;
use crate::graph::{EdgeList, Repairs};
use crate::{Budget, Error, Graph, NodeIds, Result};
use rayon::prelude::*;

/// Two ids and a weight.
pub(crate) type LargeEdge = ([u64; 2], f32);

/// Edges with the ids of the file.
pub(crate) enum RawEdges {
    /// Ids below 2^32: `source << 32 | target`.
    Small(Vec<u64>),
    /// Ids below 2^32 with weights.
    SmallWeighted(Vec<(u64, f32)>),
    /// Any integers.
    Large(Vec<LargeEdge>),
    /// Text ids, as indices into a list of distinct names.
    Names(Vec<([u32; 2], f32)>, Vec<Box<str>>),
}

/// The nodes, as far as a reader knows them.
#[derive(Default)]
pub(crate) enum Nodes {
    /// Those in the edges.
    #[default]
    FromEdges,
    /// `0..n`.
    Count(usize),
    /// Those of a node table.
    Table(NodeIds, usize),
    /// `0..n` in the edges, with ids from elsewhere.
    Numbered(NodeIds, usize),
}

/// Edges between node numbers.
pub(crate) struct Resolved {
    pub(crate) edges: EdgeList,
    pub(crate) nodes: usize,
    pub(crate) ids: NodeIds,
    /// Edges dropped because one end is not a node.
    pub(crate) unknown: u64,
}

impl RawEdges {
    /// The entries of a matrix: those in the same place are added.
    pub(crate) fn added(self) -> Self {
        let EdgeList { plain, weighted } = match self {
            Self::Small(pairs) => EdgeList::from_packed(pairs).added(),
            Self::SmallWeighted(pairs) => EdgeList::from_weighted(pairs).added(),
            other => return other,
        };
        if weighted.is_empty() { Self::Small(plain) } else { Self::SmallWeighted(weighted) }
    }

    /// Translates ids to node numbers. Nodes taken from the edges are numbered in id order, so the order
    /// of the edges does not matter.
    pub(crate) fn resolve(self, nodes: Nodes) -> Result<Resolved> {
        let (ids, n, by_number) = match nodes {
            Nodes::FromEdges => return self.number_by_edges(),
            Nodes::Count(n) | Nodes::Table(NodeIds::Implicit, n) => (NodeIds::Implicit, n, true),
            Nodes::Numbered(ids, n) => (ids, n, true),
            Nodes::Table(ids, n) => (ids, n, false),
        };
        if by_number {
            let small = |id: u64| (id < n as u64).then_some(id as u32);
            let (edges, unknown) = self.map_ids(small, |name| name.parse().ok().and_then(small));
            return Ok(Resolved { edges, nodes: n, ids, unknown });
        }
        let places = Places::of(&ids, n);
        check_match(&self, &ids, n, &places)?;
        let number = |id: u64| places.of_number(id);
        let (edges, unknown) = self.map_ids(number, |name| places.of_name(name));
        Ok(Resolved { edges, nodes: n, ids, unknown })
    }

    /// The graph, its ids and what was repaired.
    pub(crate) fn build(self, nodes: Nodes, budget: &Budget) -> Result<(Graph, NodeIds, Repairs)> {
        let Resolved { edges, nodes, ids, unknown } = self.resolve(nodes)?;
        budget.check_nodes(nodes)?;
        let (graph, mut repairs) = edges.build(nodes)?;
        repairs.unknown_ids = unknown;
        repairs.listed += unknown;
        if graph.edges() == 0 && unknown > 0 {
            return Err(Error::Input(format!(
                "none of the {unknown} edges connects two nodes of the table; do both use the same ids?"
            )));
        }
        Ok((graph, ids, repairs))
    }

    /// Translates both ends; edges with an end that is not a node are dropped and counted.
    fn map_ids(
        self,
        number: impl Fn(u64) -> Option<u32> + Sync,
        name: impl Fn(&str) -> Option<u32>,
    ) -> (EdgeList, u64) {
        const GONE: u64 = u64::MAX;
        let ends = |u: Option<u32>, v: Option<u32>| match (u, v) {
            (Some(u), Some(v)) => (u as u64) << 32 | v as u64,
            _ => GONE,
        };
        let of_pair = |pair: u64| ends(number(pair >> 32), number(pair & 0xffff_ffff));
        let weighted = |mut pairs: Vec<(u64, f32)>| {
            let before = pairs.len();
            pairs.retain(|&(pair, _)| pair != GONE);
            let unknown = (before - pairs.len()) as u64;
            (EdgeList::from_weighted(pairs), unknown)
        };
        match self {
            Self::Small(mut pairs) => {
                let rename = |pair: &mut u64| {
                    *pair = of_pair(*pair);
                    (*pair == GONE) as u64
                };
                let unknown = pairs.par_iter_mut().map(rename).sum();
                if unknown > 0 {
                    pairs.retain(|&pair| pair != GONE);
                }
                (EdgeList::from_packed(pairs), unknown)
            }
            Self::SmallWeighted(mut pairs) => {
                pairs.par_iter_mut().for_each(|(pair, _)| *pair = of_pair(*pair));
                weighted(pairs)
            }
            Self::Large(pairs) => {
                let renamed = |([u, v], weight): ([u64; 2], f32)| (ends(number(u), number(v)), weight);
                weighted(pairs.into_par_iter().map(renamed).collect())
            }
            Self::Names(pairs, names) => {
                let numbers: Vec<Option<u32>> = names.iter().map(|text| name(text)).collect();
                let of = |place: u32| numbers[place as usize];
                weighted(pairs.into_iter().map(|([u, v], weight)| (ends(of(u), of(v)), weight)).collect())
            }
        }
    }

    fn number_by_edges(self) -> Result<Resolved> {
        let done = |edges, ids: NodeIds, nodes| Resolved { edges, nodes, ids, unknown: 0 };
        if let Self::Names(pairs, names) = self {
            let mut order: Vec<u32> = (0..names.len() as u32).collect();
            order.sort_unstable_by(|&a, &b| names[a as usize].cmp(&names[b as usize]));
            let mut number = vec![0; names.len()];
            (0..).zip(&order).for_each(|(new, &old): (u32, _)| number[old as usize] = new);
            let pair = |[u, v]: [u32; 2]| (number[u as usize] as u64) << 32 | number[v as usize] as u64;
            let edges = pairs.into_iter().map(|(ends, weight)| (pair(ends), weight)).collect();
            let mut sorted = names;
            sorted.sort_unstable();
            let nodes = sorted.len();
            return Ok(done(EdgeList::from_weighted(edges), NodeIds::from_names(sorted)?, nodes));
        }
        let present = Present::of(&self);
        if present.count() > crate::graph::MAX_NODES {
            return Err(Error::Input(format!("{} nodes are more than the 2^31 supported", present.count())));
        }
        let nodes = present.count();
        let ids = NodeIds::from_numbers(present.ids())?;
        let edges = match (ids == NodeIds::Implicit, self) {
            (true, Self::Small(pairs)) => EdgeList::from_packed(pairs),
            (true, Self::SmallWeighted(pairs)) => EdgeList::from_weighted(pairs),
            (_, raw) => raw.map_ids(|id| Some(present.rank(id)), |_| None).0,
        };
        Ok(done(edges, ids, nodes))
    }

    /// The distinct ids in the edges, sorted, and their number.
    pub(crate) fn ids(&self) -> Result<(NodeIds, usize)> {
        if let Self::Names(_, names) = self {
            let mut names = names.clone();
            names.sort_unstable();
            let count = names.len();
            return Ok((NodeIds::from_names(names)?, count));
        }
        let present = Present::of(self);
        Ok((NodeIds::from_numbers(present.ids())?, present.count()))
    }

    /// The largest integer id, if there is one.
    pub(crate) fn largest_id(&self) -> Option<u64> {
        let of_pair = |pair: u64| (pair >> 32).max(pair & 0xffff_ffff);
        match self {
            Self::Small(pairs) => pairs.par_iter().map(|&pair| of_pair(pair)).max(),
            Self::SmallWeighted(pairs) => pairs.par_iter().map(|&(pair, _)| of_pair(pair)).max(),
            Self::Large(pairs) => pairs.par_iter().map(|&([u, v], _)| u.max(v)).max(),
            Self::Names(..) => None,
        }
    }

    /// Calls `see` with every integer id in a range of the edges.
    fn each_id(&self, range: std::ops::Range<usize>, mut see: impl FnMut(u64)) {
        let mut see_pair = |pair: u64| {
            see(pair >> 32);
            see(pair & 0xffff_ffff);
        };
        match self {
            Self::Small(pairs) => pairs[range].iter().for_each(|&pair| see_pair(pair)),
            Self::SmallWeighted(pairs) => pairs[range].iter().for_each(|&(pair, _)| see_pair(pair)),
            Self::Large(pairs) => {
                pairs[range].iter().for_each(|&(ends, _)| ends.into_iter().for_each(&mut see))
            }
            Self::Names(..) => {}
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Small(pairs) => pairs.len(),
            Self::SmallWeighted(pairs) => pairs.len(),
            Self::Large(pairs) => pairs.len(),
            Self::Names(pairs, _) => pairs.len(),
        }
    }
}

/// The set of ids that occur, and the rank of each.
enum Present {
    /// One word per 32 ids: the number of smaller ids in the upper half, and one bit per id in the lower
    /// half. A rank needs a single memory access.
    Bits(Vec<u64>),
    /// For ids too sparse for that.
    Sorted(Vec<u64>),
}

impl Present {
    fn of(edges: &RawEdges) -> Self {
        let words = edges.largest_id().unwrap_or(0) / 32 + 1;
        // The bits may take as much memory as the edges, and always a few MiB.
        if words <= (edges.len() as u64).max(1 << 20) {
            Self::bits(edges, words as usize)
        } else {
            Self::sorted(edges)
        }
    }

    fn bits(edges: &RawEdges, words: usize) -> Self {
        // Each task has its own bits: sharing them would be slowed down by cache contention. Together they
        // take at most half the memory of the edges.
        let tasks = (edges.len() / words).clamp(1, rayon::current_num_threads());
        let size = edges.len().div_ceil(tasks);
        let seen = |task: usize| {
            let mut bits = vec![0u32; words];
            let end = |task: usize| (task * size).min(edges.len());
            edges.each_id(end(task)..end(task + 1), |id| bits[(id / 32) as usize] |= 1 << (id % 32));
            bits
        };
        let seen: Vec<Vec<u32>> = (0..tasks).into_par_iter().map(seen).collect();
        let counted = (0..words).scan(0u64, |before, word| {
            let bits = seen.iter().fold(0, |bits, seen| bits | seen[word]) as u64;
            let counted = *before << 32 | bits;
            *before += bits.count_ones() as u64;
            Some(counted)
        });
        Self::Bits(counted.collect())
    }

    fn sorted(edges: &RawEdges) -> Self {
        let mut ids: Vec<u64> = match edges {
            RawEdges::Small(pairs) => pairs.iter().flat_map(|p| [p >> 32, p & 0xffff_ffff]).collect(),
            RawEdges::SmallWeighted(pairs) => {
                pairs.iter().flat_map(|(p, _)| [p >> 32, p & 0xffff_ffff]).collect()
            }
            RawEdges::Large(pairs) => pairs.iter().flat_map(|&(ends, _)| ends).collect(),
            RawEdges::Names(..) => Vec::new(),
        };
        ids.par_sort_unstable();
        ids.dedup();
        Self::Sorted(ids)
    }

    fn count(&self) -> usize {
        match self {
            Self::Bits(words) => {
                words.last().map_or(0, |&last| (last >> 32) as usize + (last as u32).count_ones() as usize)
            }
            Self::Sorted(ids) => ids.len(),
        }
    }

    fn rank(&self, id: u64) -> u32 {
        match self {
            Self::Bits(words) => {
                let word = words[(id / 32) as usize];
                (word >> 32) as u32 + (word as u32 & ((1 << (id % 32)) - 1)).count_ones()
            }
            Self::Sorted(ids) => ids.partition_point(|&other| other < id) as u32,
        }
    }

    fn ids(&self) -> Vec<u64> {
        let words = match self {
            Self::Bits(words) => words,
            Self::Sorted(ids) => return ids.clone(),
        };
        let mut ids = Vec::with_capacity(self.count());
        for (first, &word) in (0u64..).step_by(32).zip(words) {
            let mut left = word as u32;
            while left != 0 {
                ids.push(first + left.trailing_zeros() as u64);
                left &= left - 1;
            }
        }
        ids
    }
}

/// Fails if fewer than half of the nodes in the edges, or of the nodes of the table if there are fewer, have
/// the same ids.
fn check_match(edges: &RawEdges, ids: &NodeIds, nodes: usize, places: &Places) -> Result<()> {
    let (own, count) = edges.ids()?;
    let known = (0..count as u32).into_par_iter().filter(|&node| places.place(&own, node).is_some()).count();
    if enough_match(known, count, nodes) {
        return Ok(());
    }
    let first = |ids: &NodeIds, count: usize| {
        if count == 0 { String::new() } else { format!(" ('{}', …)", ids.name(0)) }
    };
    let (in_edges, in_table) = (first(&own, count), first(ids, nodes));
    Err(Error::Input(format!(
        "only {known} of the {count} ids in the edges{in_edges} are among the {nodes} ids of the nodes{in_table}; \
         do both use the same ids?"
    )))
}

/// Whether two lists of ids, of which `known` are in both, may be about the same nodes.
pub(crate) fn enough_match(known: usize, left: usize, right: usize) -> bool {
    2 * known >= left.min(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small(pairs: &[(u32, u32)]) -> RawEdges {
        RawEdges::Small(pairs.iter().map(|&(u, v)| (u as u64) << 32 | v as u64).collect())
    }

    #[test]
    fn few_edges_are_shared_among_more_threads() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
        let list = small(&[(0, 9), (1, 8), (2, 7), (3, 6), (4, 5)]);
        let resolved = pool.install(|| list.resolve(Nodes::FromEdges)).unwrap();
        assert_eq!((resolved.nodes, resolved.ids), (10, NodeIds::Implicit));
    }

    #[test]
    fn gapped_ids_are_numbered_in_order_near_and_far() {
        for far in [64, 4_000_000_000] {
            let resolved = small(&[(far, 5), (7, 5)]).resolve(Nodes::FromEdges).unwrap();
            assert_eq!(resolved.ids, NodeIds::Numbers(vec![5, 7, far as u64]));
            let (graph, _) = resolved.edges.build(resolved.nodes).unwrap();
            assert_eq!(graph.edge_iter().collect::<Vec<_>>(), [(0, 1), (0, 2)]);
        }
        let huge = RawEdges::Large(vec![([1 << 40, 3], 1.0)]).resolve(Nodes::FromEdges).unwrap();
        assert_eq!(huge.ids, NodeIds::Numbers(vec![3, 1 << 40]));
        let none = small(&[]).resolve(Nodes::FromEdges).unwrap();
        assert_eq!((none.nodes, none.ids), (0, NodeIds::Implicit));
    }

    #[test]
    fn text_ids_are_numbered_in_order() {
        let raw = RawEdges::Names(vec![([0, 1], 1.0)], vec!["zoe".into(), "ann".into()]);
        let resolved = raw.resolve(Nodes::FromEdges).unwrap();
        assert_eq!(resolved.ids, NodeIds::Names(vec!["ann".into(), "zoe".into()]));
    }

    #[test]
    fn edges_outside_the_node_table_are_counted() {
        let resolved = small(&[(0, 1), (1, 9)]).resolve(Nodes::Count(3)).unwrap();
        assert_eq!((resolved.edges.len(), resolved.unknown, resolved.nodes), (1, 1, 3));
        let ids = NodeIds::from_numbers(vec![30, 10]).unwrap();
        let resolved = small(&[(10, 30), (10, 20)]).resolve(Nodes::Table(ids, 2)).unwrap();
        assert_eq!((resolved.edges.clone().build(2).unwrap().0.edges(), resolved.unknown), (1, 1));
        let ids = NodeIds::from_names(vec!["7".into(), "x".into()]).unwrap();
        assert_eq!(small(&[(7, 7), (7, 8)]).resolve(Nodes::Table(ids, 2)).unwrap().unknown, 1);
    }
}
