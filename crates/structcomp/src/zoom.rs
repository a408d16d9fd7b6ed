//! GraphZoom: features are fused into the graph, the graph is coarsened level by level, and rows of the coarsest graph are
//! refined for the nodes of the finest.

mod coarsen;
mod filter;
mod fusion;
#[cfg(test)]
mod tests;

use crate::{Compressed, Error, Features, Graph, Partition, Result, Seed};
use coarsen::coarsened;
use filter::Filter;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// How GraphZoom coarsens a graph.
///
/// # Reference
/// C. Deng, Z. Zhao, Y. Wang, Z. Zhang, Z. Feng: GraphZoom: A multi-level spectral approach for accurate and scalable graph
/// embedding. ICLR 2020.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Zoom {
    /// How often the graph is coarsened; fewer times if nothing more can be merged.
    pub levels: usize,
    /// Nodes of like features that each node is connected to, among those of its region; 0 leaves features out of the
    /// graph.
    pub fusion_neighbors: usize,
}

impl Default for Zoom {
    fn default() -> Self {
        Self { levels: 2, fusion_neighbors: 2 }
    }
}

/// Levels whose merged nodes are the regions in which features are compared.
const REGION_LEVELS: usize = 5;

/// A coarsened graph, and what leads back from it.
pub(crate) struct CoarseGraph<'a> {
    pub(crate) graph: Graph,
    /// Of each coarse node the mean over its nodes.
    pub(crate) features: Features,
    /// The coarse node of every node.
    pub(crate) partition: Partition,
    /// The finest graph, with features fused into it.
    fused: Cow<'a, Graph>,
}

impl Zoom {
    /// Coarsens a graph. The same seed gives the same bytes for any number of threads.
    pub(crate) fn coarsen<'a>(&self, graph: &'a Graph, x: &Features, seed: Seed) -> Result<CoarseGraph<'a>> {
        self.check()?;
        let fused = match self.fusion_neighbors {
            0 => Cow::Borrowed(graph),
            count => {
                let (regions, _) = coarsened(graph, REGION_LEVELS, seed)?;
                Cow::Owned(fusion::fused(graph, x, &regions, count)?)
            }
        };
        let (partition, graph) = coarsened(&fused, self.levels, seed)?;
        let features = Compressed::new(x, &partition)?.into_features();
        Ok(CoarseGraph { graph, features, partition, fused })
    }

    fn check(&self) -> Result<()> {
        match self {
            Self { levels: 0 | 31.., .. } => Err(Error::Input("levels must be from 1 to 30".into())),
            Self { fusion_neighbors: 1_001.., .. } => {
                Err(Error::Input("fusion_neighbors must be at most 1000".into()))
            }
            _ => Ok(()),
        }
    }
}

impl CoarseGraph<'_> {
    /// Hands out the rows of all nodes block by block, in order: those of their coarse nodes, smoothed twice over the finest
    /// graph. One row per node is held.
    pub(crate) fn refine(
        &self,
        coarse: &[f32],
        width: usize,
        mut sink: impl FnMut(&[f32]) -> Result<()>,
    ) -> Result<()> {
        const ROWS: usize = 1 << 12;
        let (filter, nodes) = (Filter::new(&self.fused), self.partition.nodes());
        let of_coarse = |node: u32| &coarse[self.partition.of(node) as usize * width..][..width];
        let mut once = vec![0.0; nodes * width];
        filter.rows(0, width, of_coarse, &mut once);
        let mut block = vec![0.0; ROWS.min(nodes) * width];
        for start in (0..nodes).step_by(ROWS) {
            let block = &mut block[..ROWS.min(nodes - start) * width];
            filter.rows(start, width, |node| &once[node as usize * width..][..width], block);
            sink(block)?;
        }
        Ok(())
    }
}
