//! How likely nodes and edges are to be in a batch, counted in samples that are not trained on.

use super::draw::Draw;
use crate::{Budget, Graph, Result};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// How many samples had each node and each entry of the adjacency matrix.
///
/// One is added to every count, for the batch at hand: without it, an edge that no sample had would have an infinite
/// weight.
pub(in crate::sample) struct Counts<'a> {
    graph: &'a Graph,
    samples: u32,
    nodes: Vec<AtomicU32>,
    edges: Vec<AtomicU32>,
}

/// Samples that are counted at once.
const ROUND: usize = 16;

impl<'a> Counts<'a> {
    /// Counts until samples have `coverage` times as many nodes as the graph.
    pub(super) fn new(draw: &Draw<'a>, coverage: usize) -> Result<Self> {
        let graph = draw.graph;
        let (nodes, entries) = (graph.nodes(), graph.targets().len());
        Budget::default().check_items(
            "GraphSAINT's counts of nodes and edges",
            (nodes + entries) as u64,
            4,
        )?;
        let zeros = |count: usize| (0..count).map(|_| AtomicU32::new(0)).collect();
        let counts = Self { graph, samples: 0, nodes: zeros(nodes), edges: zeros(entries) };
        let (mut samples, mut seen) = (0, 0);
        while seen < coverage * nodes {
            seen += (samples..samples + ROUND)
                .into_par_iter()
                .map_init(|| vec![false; nodes], |mark, number| counts.add(draw, number, mark))
                .sum::<usize>();
            samples += ROUND;
        }
        Ok(Self { samples: samples as u32, ..counts })
    }

    /// Counts a sample; how many nodes it has. `mark` is false for all nodes, before and after.
    fn add(&self, draw: &Draw, number: usize, mark: &mut [bool]) -> usize {
        let sample = draw.sample(number);
        sample.iter().for_each(|&node| mark[node as usize] = true);
        for &node in &sample {
            self.nodes[node as usize].fetch_add(1, Relaxed);
            let edges = &self.edges[self.graph.offsets()[node as usize] as usize..];
            for (count, &other) in edges.iter().zip(self.graph.neighbors(node)) {
                if mark[other as usize] {
                    count.fetch_add(1, Relaxed);
                }
            }
        }
        sample.iter().for_each(|&node| mark[node as usize] = false);
        sample.len()
    }

    /// The mean number of nodes of a sample.
    pub(super) fn mean_size(&self) -> f64 {
        let seen: f64 = self.nodes.iter().map(|count| count.load(Relaxed) as f64).sum();
        seen / self.samples.max(1) as f64
    }

    /// What a node counts where it is sampled, so that sums over a batch are on average means over the graph: 1/(np) for
    /// the probability p that a batch has it.
    pub(super) fn weight(&self, node: u32) -> f32 {
        let often = with_this(&self.nodes[node as usize]) / (self.samples + 1) as f64;
        (1.0 / (self.nodes.len() as f64 * often)) as f32
    }

    /// What an entry of Â counts where it is sampled, so that what a sampled node hears is on average what it hears in the
    /// whole graph: one over the probability that a batch that has the node also has its neighbour at this place.
    pub(in crate::sample) fn factor(&self, node: u32, place: usize) -> f32 {
        let entry = self.graph.offsets()[node as usize] as usize + place;
        (with_this(&self.nodes[node as usize]) / with_this(&self.edges[entry])) as f32
    }
}

fn with_this(count: &AtomicU32) -> f64 {
    count.load(Relaxed) as f64 + 1.0
}
