//! Cluster-GCN: a batch is some clusters, drawn at random, with all edges between their nodes.

use super::induced::Induced;
use super::{Batch, Sampler};
use crate::{Error, Partition, Result};
use rand::seq::SliceRandom;
use std::ops::Range;
use xxhash_rust::xxh3::Xxh3;

/// Every cluster is in one batch of an epoch. Edges between clusters count if both are in the batch, and degrees are
/// those within the batch.
///
/// # Reference
/// W. Chiang, X. Liu, S. Si, Y. Li, S. Bengio, C. Hsieh: Cluster-GCN: An efficient algorithm for training deep and large
/// graph convolutional networks. KDD 2019.
pub(super) struct ClusterGcn<'a> {
    induced: Induced<'a>,
    partition: &'a Partition,
    batches: usize,
}

/// Clusters in a batch unless asked otherwise, as in PyTorch Geometric's example.
const CLUSTERS: usize = 20;

impl<'a> ClusterGcn<'a> {
    pub(super) fn new(
        induced: Induced<'a>,
        partition: &'a Partition,
        batch_clusters: Option<usize>,
    ) -> Result<Self> {
        let clusters = partition.clusters();
        if partition.nodes() != induced.graph.nodes() {
            return Err(Error::Input("the clusters are not those of the graph".into()));
        }
        let each = batch_clusters.unwrap_or(CLUSTERS.min(clusters));
        match each {
            0 => Err(Error::Input("batch_clusters must be at least 1".into())),
            _ if each > clusters => {
                Err(Error::Input(format!("batch_clusters is {each}, but there are only {clusters} clusters")))
            }
            _ => Ok(Self { induced, partition, batches: clusters.div_ceil(each) }),
        }
    }

    /// The nodes of a step's batch, in ascending order. No batch has much fewer clusters than others: each is a step of
    /// the optimiser.
    fn nodes(&self, step: usize) -> Vec<u32> {
        let (epoch, number) = (step / self.batches, step % self.batches);
        let mut order: Vec<u32> = (0..self.partition.clusters() as u32).collect();
        order.shuffle(&mut self.induced.seed.stream_at("cluster-gcn", epoch as u64));
        let mut nodes: Vec<u32> = order[self.share(number)]
            .iter()
            .flat_map(|&cluster| self.partition.members(cluster).iter().copied())
            .collect();
        nodes.sort_unstable();
        nodes
    }

    /// The places of a batch's clusters in the order of an epoch.
    fn share(&self, number: usize) -> Range<usize> {
        let start = |number: usize| number * self.partition.clusters() / self.batches;
        start(number)..start(number + 1)
    }
}

impl Sampler for ClusterGcn<'_> {
    fn steps(&self) -> usize {
        self.batches
    }

    fn batch(&self, step: usize) -> Result<Batch<'_>> {
        self.induced.batch(self.nodes(step), step, None)
    }

    fn fingerprint(&self, hash: &mut Xxh3) {
        hash.update(b"cluster-gcn");
        hash.update(&(self.batches as u64).to_le_bytes());
        hash.update(bytemuck::cast_slice(self.partition.assignment()));
        self.induced.fingerprint(hash);
    }
}
