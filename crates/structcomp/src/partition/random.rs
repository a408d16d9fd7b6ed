//! Random clusters of equal size: a baseline that ignores the graph structure.

use super::config::{Limits, Method};
use super::{Partition, Partitioner, check_clusters};
use crate::{Graph, Result, Seed};
use rand::seq::SliceRandom;

pub(super) const METHOD: Method = Method {
    name: "random",
    about: "random clusters of equal size: a baseline that ignores the edges",
    limits: Limits::No,
    weighs_nodes: false,
    per_component: false,
    make: |_| Box::new(Random),
};

/// Assigns nodes to clusters at random. Cluster sizes differ by at most one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Random;

impl Partitioner for Random {
    fn partition(&self, graph: &Graph, clusters: usize, seed: Seed) -> Result<Partition> {
        check_clusters(graph.nodes(), clusters)?;
        let mut order: Vec<u32> = (0..graph.nodes() as u32).collect();
        order.shuffle(&mut seed.stream("random partition"));
        let mut cluster = vec![0; order.len()];
        for (place, &node) in order.iter().enumerate() {
            cluster[node as usize] = (place % clusters) as u32;
        }
        Partition::new(cluster)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_differ_by_one_and_seeds_matter() {
        let graph = Graph::from_edges(100, &[]).unwrap();
        let make = |seed| Random.partition(&graph, 7, Seed(seed)).unwrap();
        assert!(make(0).sizes().all(|size| size == 14 || size == 15));
        assert_eq!(make(0), make(0));
        assert_ne!(make(0), make(1));
    }
}
