//! The binary form of an OGB folder: `data.npz` and `node-label.npz`.

use super::{OgbReader, labels_from, several_labels};
use crate::data::{EdgeSource, edges::RawEdges, npy::Kind, npz::Archive};
use crate::{Dense, Error, Features, Labels, Result};
use rayon::prelude::*;
use std::path::Path;

impl OgbReader {
    pub(super) fn read_binary(&mut self, raw: &Path) -> Result<()> {
        let path = raw.join("data.npz");
        let archive = Archive::open(&path, &self.budget)?;
        let count = |name: &str| match archive.array(name)?.to_i64(&self.budget)?[..] {
            [count] if count >= 0 => Ok(count as u64),
            ref counts => {
                let what = format!("is {counts:?}; expected the size of one graph");
                Err(Error::format(archive.path_of(name), what))
            }
        };
        let (nodes, edges) = (count("num_nodes_list")?, count("num_edges_list")?);
        self.set_nodes(nodes, &path)?;
        let pairs = self.binary_edges(&archive)?;
        self.check_count(&archive.path_of("edge_index"), "edges", pairs.len(), edges)?;
        self.parts.edges = EdgeSource::Raw(RawEdges::Small(pairs));
        if archive.has("node_feat") {
            let member = archive.path_of("node_feat");
            let array = archive.array("node_feat")?;
            let (rows, cols) = array.rows_cols()?;
            self.check_count(&member, "rows", rows, nodes)?;
            let features = Dense::new(rows, cols, array.to_f32(&self.budget)?)
                .map_err(|error| Error::format(member, error.to_string()))?;
            self.parts.features = Some(Features::Dense(features));
        }
        self.parts.files.push(path);
        let path = raw.join("node-label.npz");
        if path.exists() {
            self.parts.labels = Some(self.binary_labels(&path)?);
            self.parts.files.push(path);
        }
        Ok(())
    }

    fn binary_edges(&self, archive: &Archive) -> Result<Vec<u64>> {
        const CHUNK: usize = 1 << 16;
        let wrong = |what: String| Error::format(archive.path_of("edge_index"), what);
        let array = archive.array("edge_index")?;
        let [2, edges] = array.shape[..] else {
            return Err(wrong(format!("has shape {:?}; expected 2 x edges", array.shape)));
        };
        self.budget.check_items("a list of edges", edges, 8)?;
        let edges = edges as usize;
        let mut pairs = vec![0; edges];
        let fault = pairs.par_chunks_mut(CHUNK).enumerate().find_map_first(|(chunk, out)| {
            let start = chunk * CHUNK;
            let ends = |row: usize| {
                array.i64_range(row * edges + start..row * edges + start + out.len(), &self.budget)
            };
            let (sources, targets) = match (ends(0), ends(1)) {
                (Ok(sources), Ok(targets)) => (sources, targets),
                (Err(error), _) | (_, Err(error)) => return Some(error),
            };
            let nodes = 0..self.nodes as i64;
            (start..).zip(out).zip(sources.iter().zip(&targets)).find_map(|((at, out), (&u, &v))| {
                *out = (u as u64) << 32 | v as u64;
                let inside = nodes.contains(&u) && nodes.contains(&v);
                (!inside).then(|| {
                    wrong(format!("edge {at} connects {u} and {v}, but there are {} nodes", nodes.end))
                })
            })
        });
        fault.map_or(Ok(pairs), Err)
    }

    fn binary_labels(&self, path: &Path) -> Result<Labels> {
        let archive = Archive::open(path, &self.budget)?;
        let array = archive.array("node_label")?;
        let member = archive.path_of("node_label");
        let (rows, cols) = array.rows_cols()?;
        if cols != 1 {
            return Err(several_labels(&member));
        }
        self.check_count(&member, "labels", rows, self.nodes as u64)?;
        if array.dtype.kind == Kind::Float {
            return labels_from(&array.to_f32(&self.budget)?, &member);
        }
        Labels::from_signed(array.to_i64(&self.budget)?)
            .map_err(|error| Error::format(member, error.to_string()))
    }
}
