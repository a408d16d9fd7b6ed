//! Streaming label propagation, for graphs larger than memory.

use super::config::{Limits, Method};
use super::sweep::{Scratch, Search, sweep};
use super::{IMBALANCE, Partition, Partitioner, check_clusters, limit_on_size};
use crate::random::mix;
use crate::{Error, Graph, Result, Seed};

pub(super) const METHOD: Method = Method {
    name: "label-propagation",
    about: "a few sequential passes over the graph file, for graphs larger than memory",
    limits: Limits::Keeps,
    weighs_nodes: false,
    per_component: false,
    make: |config| {
        Box::new(LabelPropagation {
            imbalance: config.imbalance.unwrap_or(IMBALANCE),
            max_size: config.max_size,
            ..LabelPropagation::default()
        })
    },
};

/// Visits the nodes in file order. Each node joins the cluster with room that it shares the most edge
/// weight with. If there is none, it opens a new cluster, or joins the next one with room once all
/// clusters are open. Later passes move nodes to better clusters.
///
/// The number of clusters is exact and none exceeds the size limit. Besides the result, only a few bytes
/// per cluster are kept in memory, so a memory-mapped graph ([`Graph::open`]) may be larger than memory.
/// It cuts more edges than [`Multilevel`](super::Multilevel).
#[derive(Clone, Debug, PartialEq)]
pub struct LabelPropagation {
    /// How far a cluster may exceed the average size, as a fraction of it; the limit is rounded up.
    pub imbalance: f64,
    /// The maximum cluster size; overrides `imbalance`.
    pub max_size: Option<usize>,
    /// The number of passes over the graph.
    pub passes: usize,
}

impl Default for LabelPropagation {
    fn default() -> Self {
        Self { imbalance: IMBALANCE, max_size: None, passes: 6 }
    }
}

/// The maximum number of nodes per batch of the sweep.
const BATCH: usize = 1 << 12;
/// The maximum number of neighbours considered per node; hubs are sampled.
const MOST: usize = 1 << 16;
const NONE: u32 = u32::MAX;

impl Partitioner for LabelPropagation {
    fn partition(&self, graph: &Graph, clusters: usize, seed: Seed) -> Result<Partition> {
        check_clusters(graph.nodes(), clusters)?;
        if self.passes == 0 {
            return Err(Error::Input("label propagation needs at least one pass".into()));
        }
        let cap = limit_on_size(graph.nodes() as u64, 1, clusters, self.imbalance, self.max_size)?;
        let mut search = Stream {
            graph,
            cap,
            open: (graph.nodes() / clusters) as u32,
            label: vec![NONE; graph.nodes()],
            size: vec![0; clusters],
            touched: vec![0; clusters],
            batch: 0,
            opened: 0,
            next: 0,
            salt: seed.key("label propagation"),
        };
        for pass in 0..self.passes {
            search.read();
            if pass == 0 {
                search.place_the_rest();
            }
        }
        let Stream { label, size, touched, .. } = search;
        drop((size, touched));
        Partition::new(label)
    }
}

struct Stream<'a> {
    graph: &'a Graph,
    cap: u32,
    /// The size limit until all clusters are open; it ensures that enough nodes are left to open them.
    open: u32,
    label: Vec<u32>,
    size: Vec<u32>,
    touched: Vec<u32>,
    batch: u32,
    opened: usize,
    /// Where the search for a cluster with room continues.
    next: usize,
    salt: u64,
}

/// Moves a node to a cluster, or to any cluster with room if `to` is [`NONE`].
struct MoveTo {
    node: u32,
    to: u32,
}

impl Stream<'_> {
    /// One pass over the nodes in file order.
    fn read(&mut self) {
        let nodes = self.graph.nodes();
        let batch = (nodes / 64).clamp(16, BATCH);
        for first in (0..nodes).step_by(batch) {
            let nodes: Vec<u32> = (first as u32..(first + batch).min(nodes) as u32).collect();
            sweep(self, &nodes, batch);
        }
    }

    /// Isolated nodes fill the remaining room.
    fn place_the_rest(&mut self) {
        for node in 0..self.label.len() {
            if self.label[node] == NONE {
                self.label[node] = self.any_with_room();
                self.size[self.label[node] as usize] += 1;
            }
        }
    }

    /// A new cluster, or the next one that is not full.
    fn any_with_room(&mut self) -> u32 {
        if self.opened < self.size.len() {
            self.opened += 1;
            return self.opened as u32 - 1;
        }
        // The total capacity is at least the number of nodes, so some cluster has room.
        while self.size[self.next] >= self.cap {
            self.next = (self.next + 1) % self.size.len();
        }
        self.next as u32
    }

    fn gather(&self, scratch: &mut Scratch, node: u32) {
        let neighbors = self.graph.neighbors(node);
        let weights = self.graph.edge_weights(node);
        scratch.near.clear(neighbors.len().min(MOST));
        for at in (0..neighbors.len()).step_by(neighbors.len() / MOST + 1) {
            let cluster = self.label[neighbors[at] as usize];
            if cluster != NONE {
                scratch.near.add(cluster, weights.map_or(1.0, |weights| weights[at]));
            }
        }
    }
}

impl Search for Stream<'_> {
    type Move = MoveTo;
    type Note = ();

    fn propose(&self, scratch: &mut Scratch, node: u32) -> ((), Option<MoveTo>) {
        if self.graph.degree(node) == 0 {
            return ((), None);
        }
        let own = self.label[node as usize];
        if own != NONE && self.size[own as usize] == 1 {
            return ((), None);
        }
        self.gather(scratch, node);
        let limit = if self.opened < self.size.len() { self.open } else { self.cap };
        let (stay, held) = match own {
            NONE => (0.0, u32::MAX),
            own => (scratch.near.get(own), self.size[own as usize] - 1),
        };
        let salt = mix(self.salt ^ node as u64) as u32;
        let mut best = (stay, held, 0, own);
        for (cluster, joined) in scratch.near.iter() {
            let size = self.size[cluster as usize];
            if cluster == own || size >= limit || joined < best.0 {
                continue;
            }
            // Ties: prefer the smaller cluster, then choose at random.
            let chance = (cluster ^ salt).wrapping_mul(0x9e37_79b1);
            if joined > best.0 || (size, best.2) < (best.1, chance) {
                best = (joined, size, chance, cluster);
            }
        }
        ((), (own == NONE || best.3 != own).then_some(MoveTo { node, to: best.3 }))
    }

    fn note(&mut self, _: u32, _: ()) {}

    fn is_stale(&self, join: &MoveTo) -> bool {
        let own = self.label[join.node as usize];
        let touched = |cluster: u32| self.touched[cluster as usize] == self.batch;
        // A neighbour may have been placed since the proposal.
        join.to == NONE || touched(join.to) || (own != NONE && touched(own))
    }

    fn take(&mut self, MoveTo { node, to }: MoveTo) -> bool {
        let to = if to == NONE { self.any_with_room() } else { to };
        let own = std::mem::replace(&mut self.label[node as usize], to);
        if own != NONE {
            self.size[own as usize] -= 1;
            self.touched[own as usize] = self.batch;
        }
        self.size[to as usize] += 1;
        self.touched[to as usize] = self.batch;
        true
    }

    fn start_batch(&mut self) {
        self.batch += 1;
    }

    fn work(&self, node: u32) -> usize {
        self.graph.degree(node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn two_cliques_become_two_clusters() {
        let clique = |first: u32| (0..6).flat_map(move |i| (0..i).map(move |j| (first + i, first + j)));
        let edges: Vec<_> = clique(0).chain(clique(6)).chain([(0, 6)]).collect();
        let graph = Graph::from_edges(12, &edges).unwrap();
        let partition = LabelPropagation::default().partition(&graph, 2, Seed(0)).unwrap();
        assert!((1..6).all(|node| partition.of(node) == partition.of(0)));
        assert!((6..12).all(|node| partition.of(node) != partition.of(0)));
    }

    #[test]
    fn zero_passes_are_rejected() {
        let graph = Graph::from_edges(2, &[(0, 1)]).unwrap();
        let none = LabelPropagation { passes: 0, ..LabelPropagation::default() };
        assert!(none.partition(&graph, 1, Seed(0)).unwrap_err().to_string().contains("at least one pass"));
    }

    #[test]
    fn threads_change_nothing() {
        let nodes = 30_000u32;
        let edges: Vec<_> = (0..nodes)
            .flat_map(|u| (1..9).map(move |i| (u, mix((u / 7 + i) as u64) as u32 % nodes)))
            .collect();
        let graph = Graph::from_edges(nodes as usize, &edges).unwrap();
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| LabelPropagation::default().partition(&graph, 3000, Seed(1)).unwrap())
        };
        let one = run(1);
        assert!([2, 3, 8].into_iter().all(|threads| run(threads) == one));
    }

    proptest! {
        #[test]
        fn every_partition_has_the_requested_clusters_and_respects_the_limit(
            nodes in 1usize..120,
            edges in prop::collection::vec((0u32..120, 0u32..120), 0..400),
            share in 0.0f64..1.0,
            imbalance in prop::sample::select(vec![0.0, 0.1, 0.5]),
        ) {
            let edges: Vec<_> = edges.into_iter().filter(|&(u, v)| (u.max(v) as usize) < nodes).collect();
            let graph = Graph::from_edges(nodes, &edges).unwrap();
            let clusters = 1 + (share * (nodes - 1) as f64) as usize;
            let method = LabelPropagation { imbalance, ..LabelPropagation::default() };
            let partition = method.partition(&graph, clusters, Seed(0)).unwrap();
            let limit = (nodes as f64 / clusters as f64 * (1.0 + imbalance)).ceil() as usize;
            prop_assert_eq!((partition.nodes(), partition.clusters()), (nodes, clusters));
            prop_assert!(partition.sizes().all(|size| (1..=limit).contains(&size)));
        }
    }
}
