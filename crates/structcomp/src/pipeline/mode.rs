//! What is trained on: clusters, or one of the ways to train on a graph that StructComp is compared with.

use super::StructComp;
use crate::zoom::CoarseGraph;
use crate::{Error, Model, Partition, Result, Saint, Zoom};
use serde::{Deserialize, Serialize};

/// What is trained on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Clusters, without messages.
    #[default]
    Structcomp,
    /// The whole graph, with messages in every step: what StructComp is compared with.
    Full,
    /// Batches of some clusters, with messages between their nodes.
    ClusterGcn,
    /// Batches of sampled nodes, with messages between them.
    Graphsaint,
    /// A coarsened graph, whose embedding is refined.
    Graphzoom,
}

impl Mode {
    /// All modes.
    pub const ALL: [Self; 5] =
        [Self::Structcomp, Self::Full, Self::ClusterGcn, Self::Graphsaint, Self::Graphzoom];

    /// What is trained on, in words.
    pub fn title(self) -> &'static str {
        match self {
            Self::Structcomp => "clusters",
            Self::Full => "the whole graph",
            Self::ClusterGcn => "batches of clusters (Cluster-GCN)",
            Self::Graphsaint => "sampled nodes (GraphSAINT)",
            Self::Graphzoom => "a coarsened graph (GraphZoom)",
        }
    }

    /// The name of the mode.
    pub fn name(self) -> &'static str {
        match self {
            Self::Structcomp => "structcomp",
            Self::Full => "full",
            Self::ClusterGcn => "cluster-gcn",
            Self::Graphsaint => "graphsaint",
            Self::Graphzoom => "graphzoom",
        }
    }

    /// Whether the graph is split into clusters, so that settings of partitioning count.
    pub fn uses_clusters(self) -> bool {
        matches!(self, Self::Structcomp | Self::ClusterGcn)
    }

    /// Whether something is made of the graph before training.
    pub(super) fn is_staged(self) -> bool {
        self.uses_clusters() || self == Self::Graphzoom
    }

    /// How many clusters a graph of so many nodes is split into unless asked otherwise, where that is not the usual
    /// number: for Cluster-GCN as many as make its usual batches those of PyTorch Geometric's examples.
    pub(super) fn clusters(self, nodes: usize) -> Option<usize> {
        (self == Self::ClusterGcn).then(|| nodes.div_ceil(113))
    }
}

/// What training is built on besides the graph.
pub(super) enum Ground<'a> {
    /// Nothing.
    Graph,
    /// Clusters, and how many were asked for.
    Clusters(Partition, usize),
    /// A coarsened graph.
    Coarse(Box<CoarseGraph<'a>>),
}

impl Ground<'_> {
    /// The clusters or coarse nodes, and how many clusters were asked for.
    pub(super) fn clusters(self) -> (Option<Partition>, Option<usize>) {
        match self {
            Self::Graph => (None, None),
            Self::Clusters(partition, requested) => (Some(partition), Some(requested)),
            Self::Coarse(coarse) => (Some(coarse.partition), None),
        }
    }
}

impl StructComp {
    /// Refuses settings that the mode has no use for.
    pub(super) fn check_mode(&self) -> Result<()> {
        let Self { mode, .. } = self;
        let needs = |what: &str, needed: Mode| {
            let name = needed.name();
            Err(Error::Input(format!(
                "{what} has no effect in the mode {}; use the mode {name}",
                mode.name()
            )))
        };
        match self.training.model {
            Model::Solved(_) if *mode != Mode::Structcomp => {
                return Err(Error::Input("the solved model needs clusters; use the mode structcomp".into()));
            }
            _ => {}
        }
        match mode {
            _ if *mode != Mode::ClusterGcn && self.batch_clusters.is_some() => {
                needs("batch_clusters", Mode::ClusterGcn)
            }
            _ if *mode != Mode::Graphsaint && self.saint != Saint::default() => {
                needs("sampler, budget, walk_length, batches or coverage", Mode::Graphsaint)
            }
            _ if *mode != Mode::Graphzoom && self.zoom != Zoom::default() => {
                needs("levels or fusion_neighbors", Mode::Graphzoom)
            }
            _ => Ok(()),
        }
    }
}
