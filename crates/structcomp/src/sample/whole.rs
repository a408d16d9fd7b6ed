//! Batches of the whole graph: one row per node, messages in every step. What StructComp is compared with.

use super::neighborhood::Drawn;
use super::{Augment, Batch, Recurring, Sampler, Sampling, Views, fastest, hash_features, masked, permuted};
use crate::compress::Coarsening;
use crate::graph::normalized_adjacency;
use crate::nn::Messages;
use crate::{Csr, Features, Graph, Normalization, Partition, Propagation, Result, Seed};
use std::borrow::Cow;
use xxhash_rust::xxh3::Xxh3;

pub(super) struct Whole<'a> {
    graph: &'a Graph,
    /// X, or with all hops made where the encoder makes them before its first layer.
    x: Cow<'a, Features>,
    /// Of a graph that is not augmented; with a copy of itself beside it for corrupted views.
    messages: Option<Messages>,
    views: Views,
    augment: Augment,
    adjacency: Option<Csr>,
    compared: Option<Drawn>,
    seed: Seed,
}

impl<'a> Whole<'a> {
    pub(super) fn new(sampling: &Sampling, x: &'a Features, graph: &'a Graph, seed: Seed) -> Result<Self> {
        let views = sampling.views;
        let (x, messages) = match (views, &sampling.first_hops) {
            (Views::Two, _) => (Cow::Borrowed(x), None),
            (Views::Corrupted { .. }, _) => {
                let one = normalized_adjacency(graph, |_| || true);
                (Cow::Borrowed(x), Some(Messages::new(one.beside(&one))))
            }
            (Views::One, None) => {
                let messages = Messages::new(normalized_adjacency(graph, |_| || true));
                (fastest(Cow::Borrowed(x)), Some(messages))
            }
            (Views::One, Some(hops)) => {
                let propagation = Propagation::new(graph, Normalization::Symmetric);
                (fastest(Cow::Owned(hops.of_features(&propagation, x)?)), None)
            }
        };
        // Every node is a cluster of its own: the coarse graph is then the graph.
        let adjacency = |coarsening: &Coarsening| {
            coarsening.adjacency(graph, &Partition::new((0..graph.nodes() as u32).collect())?)
        };
        let drawn = |of: &super::Neighborhood| of.drawn(graph.nodes(), seed, adjacency);
        Ok(Self {
            graph,
            x,
            messages,
            views,
            augment: sampling.augment,
            adjacency: sampling.adjacency.as_ref().map(adjacency).transpose()?,
            compared: sampling.neighborhood.as_ref().map(drawn).transpose()?.flatten(),
            seed,
        })
    }

    /// Two augmented views, one below the other, each with messages of its own.
    fn augmented(&self, step: usize) -> Result<(Features, Messages)> {
        let Self { augment, seed, graph, .. } = self;
        let features = |number| augment.features(&self.x, *seed, step, number);
        let [one, other] = [0, 1].map(|number| augment.edges(*seed, step, number).adjacency(graph));
        Ok((features(0)?.above(&features(1)?)?, Messages::new(one.beside(&other))))
    }
}

impl Sampler for Whole<'_> {
    fn batch(&self, step: usize) -> Result<Batch<'_>> {
        let given = self.messages.as_ref().map(Cow::Borrowed);
        let (x, messages, recurring) = match self.views {
            Views::One => (Cow::Borrowed(&*self.x), given, Recurring::Features),
            Views::Corrupted { mask } => {
                let second = self.x.select(&permuted(self.x.rows(), self.seed, step));
                let x = masked(self.x.above(&second)?, mask, self.seed, step)?;
                (x, given, Recurring::Nodes)
            }
            Views::Two => {
                let (x, messages) = self.augmented(step)?;
                (fastest(Cow::Owned(x)), Some(Cow::Owned(messages)), Recurring::Nodes)
            }
        };
        Ok(Batch {
            x,
            views: self.views.count(),
            messages,
            adjacency: self.adjacency.as_ref().map(Cow::Borrowed),
            nodes: None,
            weights: None,
            compared: self.compared.as_ref().map(|drawn| drawn.rows(step)),
            recurring,
        })
    }

    fn fingerprint(&self, hash: &mut Xxh3) {
        hash.update(b"nodes");
        hash_features(&self.x, hash);
    }
}
