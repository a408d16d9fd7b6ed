//! The neighbours of every node as a file.

use super::{NeighborSearch, Wanted};
use crate::output::NeighborWriter;
use crate::{NodeIds, Result};
use std::path::Path;

impl NeighborSearch<'_> {
    /// Writes the neighbours of every node, block by block; see [`NeighborWriter`] for the formats. `on_progress` gets
    /// the number of nodes that are done.
    pub fn write_all(
        &self,
        path: impl AsRef<Path>,
        ids: &NodeIds,
        wanted: Wanted,
        mut on_progress: impl FnMut(usize),
    ) -> Result<()> {
        let nodes = self.rows.rows();
        let width = wanted.count.min(nodes.saturating_sub(1));
        let mut writer = NeighborWriter::create(path, ids, nodes, width)?;
        self.of_every_node(wanted, |first, lists| {
            let pair = |list: Vec<_>| {
                list.into_iter().map(|super::Neighbor { node, score }| (node, score)).collect()
            };
            let lists: Vec<Vec<(u32, f32)>> = lists.into_iter().map(pair).collect();
            writer.push(&lists)?;
            on_progress(first + lists.len());
            Ok(())
        })?;
        writer.finish()
    }
}
