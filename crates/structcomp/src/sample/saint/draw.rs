//! Which nodes GraphSAINT samples.

use super::Saint;
use crate::random::Rng;
use crate::{Error, Graph, Result, Seed};
use rand::RngExt;
use serde::{Deserialize, Serialize};

/// What GraphSAINT samples a batch by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SaintSampler {
    /// Nodes, with a probability proportional to their degree in A + I, so that isolated ones are sampled too.
    Node,
    /// Edges (u, v), with a probability proportional to 1/deg(u) + 1/deg(v): a random neighbour of a random node.
    Edge,
    /// Random walks from random nodes.
    #[default]
    Walk,
}

impl SaintSampler {
    /// What a budget counts, the share of the nodes that it is by default, and the most that it is.
    fn usual(self) -> (&'static str, usize, usize) {
        match self {
            Self::Node => ("nodes", 4, 8_000),
            Self::Edge => ("edges", 7, 6_000),
            Self::Walk => ("walks", 10, 6_000),
        }
    }
}

/// Draws samples of a graph.
pub(super) struct Draw<'a> {
    pub(super) graph: &'a Graph,
    sampler: SaintSampler,
    budget: usize,
    walk_length: usize,
    seed: Seed,
}

impl<'a> Draw<'a> {
    pub(super) fn new(saint: &Saint, graph: &'a Graph, seed: Seed) -> Result<Self> {
        let (what, part, most) = saint.sampler.usual();
        let nodes = graph.nodes();
        let budget = saint.budget.unwrap_or(nodes.div_ceil(part).min(most));
        if budget > nodes {
            return Err(Error::Input(format!(
                "a budget of {budget} {what} is more than the graph's {nodes} nodes; with so many, train on the whole graph"
            )));
        }
        Ok(Self { graph, sampler: saint.sampler, budget, walk_length: saint.walk_length, seed })
    }

    /// The nodes of a step's batch, in ascending order.
    pub(super) fn batch(&self, step: usize) -> Vec<u32> {
        self.nodes(&mut self.seed.stream_at("graphsaint", step as u64))
    }

    /// The nodes of a sample that is only counted.
    pub(super) fn sample(&self, number: usize) -> Vec<u32> {
        self.nodes(&mut self.seed.stream_at("graphsaint counts", number as u64))
    }

    fn nodes(&self, rng: &mut Rng) -> Vec<u32> {
        let mut nodes = Vec::new();
        for _ in 0..self.budget {
            match self.sampler {
                SaintSampler::Node => nodes.push(self.by_degree(rng)),
                SaintSampler::Edge => self.walk(1, rng, &mut nodes),
                SaintSampler::Walk => self.walk(self.walk_length, rng, &mut nodes),
            }
        }
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// The node of a random entry of A + I.
    fn by_degree(&self, rng: &mut Rng) -> u32 {
        let offsets = self.graph.offsets();
        let nodes = self.graph.nodes() as u64;
        let entry = rng.random_range(0..offsets[offsets.len() - 1] + nodes);
        // Row u starts at offsets[u] + u.
        let (mut low, mut high) = (0, nodes);
        while high - low > 1 {
            let middle = (low + high) / 2;
            if offsets[middle as usize] + middle <= entry { low = middle } else { high = middle }
        }
        low as u32
    }

    /// A walk from a random node; one without neighbours stays.
    fn walk(&self, length: usize, rng: &mut Rng, nodes: &mut Vec<u32>) {
        let mut at = rng.random_range(0..self.graph.nodes() as u32);
        nodes.push(at);
        for _ in 0..length {
            let near = self.graph.neighbors(at);
            if near.is_empty() {
                return;
            }
            at = near[rng.random_range(0..near.len())];
            nodes.push(at);
        }
    }
}
