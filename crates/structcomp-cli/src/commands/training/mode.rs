//! What is trained on, and the settings of the ways to train that StructComp is compared with.

use crate::args::one_of;
use clap::Args;
use structcomp::{Mode, Saint, SaintSampler, StructComp, Zoom};

#[derive(Args)]
#[command(next_help_heading = "Modes")]
pub(super) struct ModeFlags {
    /// Train on clusters; or, for comparison, with message passing on the full graph, on batches of clusters, on samples
    /// of the graph or on a coarsened graph
    #[arg(long, value_name = "MODE", default_value = "structcomp", value_parser = one_of::<Mode>(&["structcomp", "full", "cluster-gcn", "graphsaint", "graphzoom"]))]
    pub(super) mode: Mode,
    /// Cluster-GCN: clusters in a batch [default: 20, or all if there are fewer]
    #[arg(long, value_name = "N")]
    batch_clusters: Option<usize>,
    /// GraphSAINT: what is sampled [default: walk]
    #[arg(long, value_name = "WHAT", value_parser = one_of::<SaintSampler>(&["node", "edge", "walk"]))]
    sampler: Option<SaintSampler>,
    /// GraphSAINT: nodes, edges or walks of a batch [default: a quarter, a seventh or a tenth of the nodes, and at most
    /// 8000, 6000 or 6000]
    #[arg(long, value_name = "N")]
    budget: Option<usize>,
    /// GraphSAINT: steps of a random walk [default: 2]
    #[arg(long, value_name = "N")]
    walk_length: Option<usize>,
    /// GraphSAINT: batches per epoch [default: enough for as many nodes as the graph has]
    #[arg(long, value_name = "N")]
    batches: Option<usize>,
    /// GraphSAINT: samples of each node in advance, from which weights are computed; 0 for none [default: 50]
    #[arg(long, value_name = "N")]
    coverage: Option<usize>,
    /// GraphZoom: how often the graph is coarsened [default: 2]
    #[arg(long, value_name = "N")]
    levels: Option<usize>,
    /// GraphZoom: edges from each node to nodes of like features; 0 for none [default: 2]
    #[arg(long, value_name = "N")]
    fusion_neighbors: Option<usize>,
}

impl ModeFlags {
    /// Settings with the flags on top.
    pub(super) fn on_top_of(&self, model: StructComp) -> StructComp {
        let (Saint { sampler, walk_length, coverage, .. }, zoom) = (model.saint, model.zoom);
        StructComp {
            mode: self.mode,
            batch_clusters: self.batch_clusters,
            saint: Saint {
                sampler: self.sampler.unwrap_or(sampler),
                budget: self.budget,
                walk_length: self.walk_length.unwrap_or(walk_length),
                batches: self.batches,
                coverage: self.coverage.unwrap_or(coverage),
            },
            zoom: Zoom {
                levels: self.levels.unwrap_or(zoom.levels),
                fusion_neighbors: self.fusion_neighbors.unwrap_or(zoom.fusion_neighbors),
            },
            ..model
        }
    }
}
