//! What a training step sees: batches of rows, from clusters, from the whole graph or from parts of it.

mod augment;
mod cluster_gcn;
mod clusters;
mod induced;
mod neighborhood;
mod saint;
#[cfg(test)]
mod tests;
mod whole;

pub use augment::Augment;
pub(crate) use neighborhood::Neighborhood;
pub use saint::{Saint, SaintSampler};

use crate::compress::Coarsening;
use crate::graph::Hops;
use crate::nn::Messages;
use crate::{Compressed, Csr, DropMember, Error, Features, Graph, Partition, Result, Seed};
use cluster_gcn::ClusterGcn;
use clusters::Clusters;
use induced::Induced;
use rand::seq::SliceRandom;
use saint::SaintBatches;
use std::borrow::Cow;
use whole::Whole;
use xxhash_rust::xxh3::Xxh3;

/// What training sees of a graph.
#[derive(Clone, Copy, Debug)]
pub enum Inputs<'a> {
    /// One row per cluster and no messages: StructComp.
    Clusters(&'a Compressed<'a>),
    /// One row per node and messages in every step: what StructComp is compared with. Models of two views
    /// augment both; the others see the graph as it is.
    Nodes(&'a Features),
    /// Batches of some clusters, with messages between their nodes: Cluster-GCN.
    ClusterGcn {
        /// Of all nodes.
        features: &'a Features,
        /// Clusters that are in a batch as a whole.
        partition: &'a Partition,
        /// How many of them; 20 if absent, or all if there are fewer.
        batch_clusters: Option<usize>,
    },
    /// Batches of sampled nodes, with messages between them: GraphSAINT.
    Saint {
        /// Of all nodes.
        features: &'a Features,
        /// How nodes are sampled.
        saint: Saint,
    },
}

/// Which views of the rows a model compares.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Views {
    /// The rows as they are.
    #[default]
    One,
    /// Two views: on clusters all members and some of them, on a whole graph two augmented graphs.
    Two,
    /// The rows, and what they would be if the nodes had each other's features. Nodes are permuted before their
    /// features are compressed or propagated: permuting the rows instead would give the same rows again.
    Corrupted {
        /// The share of features that is masked in both, drawn in every step.
        mask: f64,
    },
}

impl Views {
    pub(crate) fn count(self) -> usize {
        if self == Self::One { 1 } else { 2 }
    }
}

/// What a plan asks of a sampler.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sampling {
    pub(crate) views: Views,
    /// On clusters: which members the second view leaves out.
    pub(crate) drop_member: DropMember,
    /// On the whole graph: what the two views leave out.
    pub(crate) augment: Augment,
    /// On the whole graph: the hops before the first layer, for encoders that make all of theirs there.
    pub(crate) first_hops: Option<Hops>,
    /// The adjacency between rows that the loss needs.
    pub(crate) adjacency: Option<Coarsening>,
    /// The rows that the loss compares, if it does not compare all of them.
    pub(crate) neighborhood: Option<Neighborhood>,
    /// How far messages travel at most in one layer.
    pub(crate) most_hops: usize,
}

/// What one training step sees.
pub(crate) struct Batch<'a> {
    /// The rows of every view, one view below the other.
    pub(crate) x: Cow<'a, Features>,
    pub(crate) views: usize,
    /// How messages pass between the rows; on clusters they do not.
    pub(crate) messages: Option<Cow<'a, Messages>>,
    /// The adjacency between the rows of a view, for losses that ask for it.
    pub(crate) adjacency: Option<Cow<'a, Csr>>,
    /// What each row counts in a mean over all rows of the graph, for losses that are such a mean; all the same if
    /// absent.
    pub(crate) weights: Option<Vec<f32>>,
    /// Which nodes or clusters the rows of a view are; all of them, in order, if absent.
    pub(crate) nodes: Option<Vec<u32>>,
    /// The rows of a view that the loss compares; all if absent. A row may be listed more than once.
    pub(crate) compared: Option<Vec<u32>>,
    pub(crate) recurring: Recurring,
}

/// What is the same in every step, and so need not be computed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Recurring {
    /// Nothing.
    Nothing,
    /// The nodes and the adjacency between them.
    Nodes,
    /// The features too.
    Features,
}

impl Batch<'_> {
    /// Rows of each view.
    pub(crate) fn rows(&self) -> usize {
        self.x.rows() / self.views
    }
}

/// Where batches come from.
pub(crate) trait Sampler: Send + Sync {
    /// How many steps an epoch has.
    fn steps(&self) -> usize {
        1
    }

    /// The batch of a step, counted over all epochs.
    fn batch(&self, step: usize) -> Result<Batch<'_>>;

    /// Adds all that batches depend on.
    fn fingerprint(&self, hash: &mut Xxh3);
}

/// The sampler for these inputs.
pub(crate) fn sampler<'a>(
    sampling: &Sampling,
    inputs: Inputs<'a>,
    graph: &'a Graph,
    seed: Seed,
) -> Result<Box<dyn Sampler + 'a>> {
    Ok(match inputs {
        Inputs::Clusters(compressed) => Box::new(Clusters::new(sampling, compressed, graph, seed)?),
        Inputs::Nodes(x) => Box::new(Whole::new(sampling, x, graph, seed)?),
        Inputs::ClusterGcn { features, partition, batch_clusters } => Box::new(ClusterGcn::new(
            Induced::new(sampling, features, graph, seed),
            partition,
            batch_clusters,
        )?),
        Inputs::Saint { features, saint } => {
            Box::new(SaintBatches::new(Induced::new(sampling, features, graph, seed), saint)?)
        }
    })
}

impl<'a> Inputs<'a> {
    /// The features of the rows; an error if they belong to another graph.
    pub(crate) fn check(self, graph: &Graph) -> Result<&'a Features> {
        let (features, rows) = match self {
            Self::Clusters(compressed) => (compressed.features(), compressed.partition().nodes()),
            _ => (self.source(), self.source().rows()),
        };
        match graph.nodes() {
            nodes if nodes == rows => Ok(features),
            nodes => Err(Error::Input(format!("features have {rows} rows but the graph has {nodes} nodes"))),
        }
    }

    /// The features of all nodes.
    pub(crate) fn source(self) -> &'a Features {
        match self {
            Self::Clusters(compressed) => compressed.source(),
            Self::Nodes(features) | Self::ClusterGcn { features, .. } | Self::Saint { features, .. } => {
                features
            }
        }
    }

    /// Whether rows pass messages in training.
    pub(crate) fn passes_messages(self) -> bool {
        !matches!(self, Self::Clusters(_))
    }
}

/// The node whose features each node has in the corrupted view of a step.
fn permuted(nodes: usize, seed: Seed, step: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..nodes as u32).collect();
    order.shuffle(&mut seed.stream_at("corruption", step as u64));
    order
}

/// Features with some columns masked, other ones in every step.
fn masked(x: Features, share: f64, seed: Seed, step: usize) -> Result<Cow<'static, Features>> {
    let x = match share > 0.0 {
        true => augment::kept_columns(&x, &augment::all_but(share, x.cols(), seed, step))?,
        false => x,
    };
    Ok(fastest(Cow::Owned(x)))
}

/// The share of entries above which a dense product is faster than a sparse one.
const DENSE: f64 = 0.15;

/// Features in the form that the first layer multiplies faster.
fn fastest(x: Cow<'_, Features>) -> Cow<'_, Features> {
    match &*x {
        Features::Sparse(sparse) if share(sparse) > DENSE => Cow::Owned(Features::Dense(x.to_dense())),
        _ => x,
    }
}

fn share(x: &Csr) -> f64 {
    x.entries() as f64 / (x.rows() * x.cols()).max(1) as f64
}

/// Adds features to a fingerprint.
fn hash_features(x: &Features, hash: &mut Xxh3) {
    match x {
        Features::Dense(x) => hash.update(bytemuck::cast_slice(x.values())),
        Features::Sparse(x) => {
            let (offsets, indices, values) = x.parts();
            hash.update(bytemuck::cast_slice(offsets));
            hash.update(bytemuck::cast_slice(indices));
            hash.update(bytemuck::cast_slice(values));
        }
    }
}
