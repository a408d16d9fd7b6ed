//! Writes a synthetic graph to a dataset folder without holding the graph or the features in memory.

use super::{FeatureKind, Synthetic, generate::RowSampler, wiring::NeighborLists};
use crate::graph::GraphWriter;
use crate::{
    Budget, Error, Result, Seed,
    data::folder::{
        ArrayWriter, FEATURES, FeatureFiles, FolderWriter, GRAPH, LABELS, LabelFile, Manifest, SparseWriter,
    },
};
use std::path::Path;

impl Synthetic {
    /// Writes the dataset of [`generate`](Self::generate) as a folder for [`open`](crate::data::open). Memory
    /// is needed only for the nodes: about 40 bytes per node and one byte per edge.
    ///
    /// `progress` is called with the number of rows of graph and features written so far, and in total. As
    /// with [`Dataset::save`](crate::Dataset::save), an existing dataset folder is replaced. Returns the
    /// number of edges.
    pub fn write(
        &self,
        seed: Seed,
        folder: impl AsRef<Path>,
        mut progress: impl FnMut(u64, u64) + Send,
    ) -> Result<u64> {
        let writer = FolderWriter::create(folder.as_ref())?;
        let sampler = RowSampler::new(self, seed, &Budget::default(), 0)?;
        let nodes = self.nodes as u64;
        let edges = self.write_graph(&sampler, &writer, &mut |rows| progress(rows, 2 * nodes))?;
        let mut manifest = Manifest::new(&self.name, nodes, edges);
        manifest.features =
            Some(self.write_features(&sampler, &writer, &mut |rows| progress(nodes + rows, 2 * nodes))?);
        self.write_labels(&sampler, &writer)?;
        manifest.labels = Some(LabelFile { classes: self.classes as u64, names: None });
        manifest.synthetic = true;
        manifest.notes = self.notes(seed);
        let model = serde_json::to_value(self).map_err(|error| Error::Input(error.to_string()))?;
        manifest.generator = Some(serde_json::json!({ "seed": seed.0, "model": model }));
        writer.finish(&manifest)?;
        Ok(edges)
    }

    /// Returns the number of edges.
    fn write_graph(
        &self,
        sampler: &RowSampler,
        folder: &FolderWriter,
        progress: &mut (dyn FnMut(u64) + Send),
    ) -> Result<u64> {
        let mut graph = GraphWriter::create(folder.file(GRAPH), self.nodes, false)?;
        let (mut rows_done, mut entries) = (0, 0);
        sampler.in_order(
            |range| sampler.wiring.rows(range),
            |rows: NeighborLists| {
                let mut start = 0;
                for &end in &rows.ends {
                    graph.push_row(&rows.targets[start..end], None)?;
                    start = end;
                }
                entries += rows.targets.len() as u64;
                rows_done += rows.ends.len() as u64;
                progress(rows_done);
                Ok(())
            },
        )?;
        graph.finish()?;
        Ok(entries / 2)
    }

    fn write_features(
        &self,
        sampler: &RowSampler,
        folder: &FolderWriter,
        progress: &mut (dyn FnMut(u64) + Send),
    ) -> Result<FeatureFiles> {
        let width = self.width() as u64;
        let mut rows_done = 0;
        match self.features {
            FeatureKind::Gaussian { .. } => {
                let mut array = ArrayWriter::create::<f32>(folder.file(FEATURES), "<f4")?;
                sampler.in_order(
                    |range| sampler.vectors(range),
                    |block: Vec<f32>| {
                        rows_done += block.len() as u64 / width;
                        progress(rows_done);
                        array.push(&block)
                    },
                )?;
                array.finish(&[self.nodes as u64, width])?;
                Ok(FeatureFiles::Dense { width })
            }
            FeatureKind::Words { .. } => {
                let mut arrays = SparseWriter::create(folder)?;
                sampler.in_order(
                    |range| sampler.words(range),
                    |rows: NeighborLists| {
                        rows_done += rows.ends.len() as u64;
                        progress(rows_done);
                        let before = arrays.entries();
                        let ends: Vec<u64> = rows.ends.iter().map(|&end| before + end as u64).collect();
                        arrays.push(&ends, &rows.targets, &vec![1.0; rows.targets.len()])
                    },
                )?;
                arrays.finish()?;
                Ok(FeatureFiles::Sparse { width })
            }
        }
    }

    fn write_labels(&self, sampler: &RowSampler, folder: &FolderWriter) -> Result<()> {
        let mut array = ArrayWriter::create::<i32>(folder.file(LABELS), "<i4")?;
        sampler.in_order(|range| sampler.labels(range), |block: Vec<i32>| array.push(&block))?;
        array.finish(&[self.nodes as u64])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Options, open};

    #[test]
    fn a_written_folder_equals_generation_in_memory() {
        let folder = tempfile::tempdir().unwrap();
        for features in
            [FeatureKind::Words { vocabulary: 50, per_node: 4.0 }, FeatureKind::Gaussian { width: 3 }]
        {
            // More nodes than one block, so that blocks are joined.
            let model = Synthetic {
                nodes: 70_000,
                edges: 100_000,
                isolated: 20_000,
                unlabelled: 0.2,
                features,
                ..Synthetic::default()
            };
            let mut last = (0, 0);
            model.write(Seed(5), folder.path().join("x"), |done, all| last = (done, all)).unwrap();
            assert_eq!(last, (140_000, 140_000));
            let read = open(folder.path().join("x"), &Options::default()).unwrap();
            let made = model.generate(Seed(5)).unwrap();
            assert_eq!((&read.name, &read.graph), (&made.name, &made.graph));
            assert_eq!((&read.features, &read.labels), (&made.features, &made.labels));
            assert!(read.source.synthetic && read.graph.is_mapped());
            assert_eq!(read.source.notes, made.source.notes);
            assert_eq!(read.repairs, made.repairs);
        }
    }

    #[test]
    fn an_impossible_model_leaves_no_folder() {
        let folder = tempfile::tempdir().unwrap();
        let model = Synthetic { classes: 0, ..Synthetic::default() };
        assert!(model.write(Seed(0), folder.path().join("x"), |_, _| {}).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
