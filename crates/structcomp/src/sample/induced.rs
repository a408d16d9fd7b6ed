//! A batch of some nodes of a graph: their features, and messages along the edges between them. On these, training
//! is as it is on a whole graph.

use super::saint::Counts;
use super::{Batch, Neighborhood, Recurring, Sampling, Views, fastest, hash_features, masked, permuted};
use crate::compress::{CoarseWeights, Coarsening};
use crate::graph::Among;
use crate::nn::{Messages, passed};
use crate::{Csr, Dense, Features, Graph, Result, Seed};
use std::borrow::Cow;
use xxhash_rust::xxh3::Xxh3;

/// A graph that batches are parts of.
pub(super) struct Induced<'a> {
    sampling: Sampling,
    pub(super) x: &'a Features,
    pub(super) graph: &'a Graph,
    pub(super) seed: Seed,
}

impl<'a> Induced<'a> {
    pub(super) fn new(sampling: &Sampling, x: &'a Features, graph: &'a Graph, seed: Seed) -> Self {
        Self { sampling: sampling.clone(), x, graph, seed }
    }

    /// The batch of these nodes, which are in ascending order. Messages are those of the graph that they are by
    /// themselves, or, with counts, on average those of the whole graph.
    pub(super) fn batch(
        &self,
        nodes: Vec<u32>,
        step: usize,
        counts: Option<&Counts<'_>>,
    ) -> Result<Batch<'static>> {
        let Self { sampling, graph, seed, .. } = self;
        let matrix = |among: Among| match counts {
            None => among.normalized(),
            Some(counts) => among.of_whole(|node, place| counts.factor(node, place)),
        };
        let of_all = || matrix(Among::new(graph, &nodes, |_| || true));
        let own = self.x.select(&nodes);
        let (x, messages) = match sampling.views {
            Views::One => heard(of_all(), own, sampling)?,
            Views::Corrupted { mask } => {
                let (one, second) = (of_all(), own.select(&permuted(nodes.len(), *seed, step)));
                let x = masked(own.above(&second)?, mask, *seed, step)?.into_owned();
                (x, Some(Messages::new(one.beside(&one))))
            }
            Views::Two => {
                let features = |number| sampling.augment.features(&own, *seed, step, number);
                let [one, other] = [0, 1].map(|number| {
                    let kept = sampling.augment.edges(*seed, step, number);
                    matrix(Among::new(graph, &nodes, |node| kept.of(node)))
                });
                let x = features(0)?.above(&features(1)?)?;
                (fastest(Cow::Owned(x)).into_owned(), Some(Messages::new(one.beside(&other))))
            }
        };
        let adjacency = |coarsening: &Coarsening| Ok(self.adjacency(&nodes, coarsening));
        let drawn = |of: &Neighborhood| of.drawn(nodes.len(), *seed, adjacency);
        let compared = sampling.neighborhood.as_ref().map(drawn).transpose()?.flatten();
        Ok(Batch {
            x: Cow::Owned(x),
            views: sampling.views.count(),
            messages: messages.map(Cow::Owned),
            adjacency: sampling.adjacency.map(|coarsening| Cow::Owned(self.adjacency(&nodes, &coarsening))),
            compared: compared.map(|drawn| drawn.rows(step)),
            weights: None,
            nodes: Some(nodes),
            recurring: Recurring::Nothing,
        })
    }

    /// The edges between the nodes of a batch, each of which is a cluster of its own.
    fn adjacency(&self, nodes: &[u32], coarsening: &Coarsening) -> Csr {
        let mut rows = Among::new(self.graph, nodes, |_| || true).rows;
        if coarsening.weights == CoarseWeights::Binary {
            rows.iter_mut().flatten().for_each(|entry| entry.1 = 1.0);
        }
        Csr::from_sorted_rows(nodes.len(), &rows)
    }

    /// How far messages travel at most in one layer.
    pub(super) fn most_hops(&self) -> usize {
        self.sampling.most_hops
    }

    pub(super) fn fingerprint(&self, hash: &mut Xxh3) {
        hash_features(self.x, hash);
    }
}

/// Features and messages for an encoder; where it makes all hops before its first layer, they are made here if that is
/// the narrower side.
fn heard(matrix: Csr, x: Features, sampling: &Sampling) -> Result<(Features, Option<Messages>)> {
    match (x, &sampling.first_hops) {
        (Features::Dense(x), Some(hops)) => {
            let rows = passed(&matrix, hops, x.values(), x.cols());
            Ok((Features::Dense(Dense::new(x.rows(), x.cols(), rows)?), None))
        }
        (x, _) => Ok((fastest(Cow::Owned(x)).into_owned(), Some(Messages::new(matrix)))),
    }
}
