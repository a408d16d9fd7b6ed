//! StructComp's batches: one row per cluster, no messages.

use super::neighborhood::Drawn;
use super::{Batch, Recurring, Sampler, Sampling, Views, fastest, hash_features, masked, permuted};
use crate::{Compressed, Csr, DropMember, Features, Graph, Result, Seed};
use std::borrow::Cow;
use xxhash_rust::xxh3::Xxh3;

pub(super) struct Clusters<'a> {
    compressed: &'a Compressed<'a>,
    /// X_c, in the form that is multiplied faster.
    first: Cow<'a, Features>,
    views: Views,
    drop_member: DropMember,
    adjacency: Option<Csr>,
    compared: Option<Drawn>,
    seed: Seed,
}

impl<'a> Clusters<'a> {
    pub(super) fn new(
        sampling: &Sampling,
        compressed: &'a Compressed<'a>,
        graph: &Graph,
        seed: Seed,
    ) -> Result<Self> {
        let Sampling { views, drop_member, .. } = *sampling;
        let first = Cow::Borrowed(compressed.features());
        let partition = compressed.partition();
        let adjacency = |coarsening: &crate::compress::Coarsening| compressed.adjacency(coarsening, graph);
        let drawn = |of: &super::Neighborhood| of.drawn(partition.clusters(), seed, adjacency);
        Ok(Self {
            compressed,
            // Corrupted rows are put below the first before their form is chosen.
            first: if matches!(views, Views::Corrupted { .. }) { first } else { fastest(first) },
            views,
            drop_member,
            adjacency: sampling.adjacency.as_ref().map(adjacency).transpose()?,
            compared: sampling.neighborhood.as_ref().map(drawn).transpose()?.flatten(),
            seed,
        })
    }
}

impl Sampler for Clusters<'_> {
    fn batch(&self, step: usize) -> Result<Batch<'_>> {
        let Self { compressed, first, seed, .. } = self;
        let (x, recurring) = match self.views {
            Views::One => (Cow::Borrowed(&**first), Recurring::Features),
            Views::Two => {
                let x = match &**first {
                    Features::Dense(first) => {
                        Features::Dense(compressed.both_views(first, self.drop_member, *seed, step)?)
                    }
                    first => first.above(&compressed.drop_member(self.drop_member, *seed, step)?)?,
                };
                (Cow::Owned(x), Recurring::Nodes)
            }
            Views::Corrupted { mask } => {
                let nodes = compressed.partition().nodes();
                let second = compressed.corrupted(&permuted(nodes, *seed, step))?;
                (masked(first.above(&second)?, mask, *seed, step)?, Recurring::Nodes)
            }
        };
        Ok(Batch {
            x,
            views: self.views.count(),
            messages: None,
            adjacency: self.adjacency.as_ref().map(Cow::Borrowed),
            nodes: None,
            weights: None,
            compared: self.compared.as_ref().map(|drawn| drawn.rows(step)),
            recurring,
        })
    }

    fn fingerprint(&self, hash: &mut Xxh3) {
        hash.update(b"clusters");
        hash_features(&self.first, hash);
        hash.update(bytemuck::cast_slice(self.compressed.partition().assignment()));
    }
}
