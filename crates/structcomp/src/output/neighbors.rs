//! The neighbours of every node: a table of pairs, or matrices.

use super::text::{TextFile, push_float, push_id};
use super::{Ending, Packing, check_rows, npy};
use crate::{Error, NodeIds, Result, atomic::AtomicFile};
use rayon::prelude::*;
use std::path::Path;

/// Writes the neighbours of the nodes 0, 1, 2 and so on, with their scores.
///
/// `.csv`, `.tsv` (also `.gz`, `.zst`) and `.parquet` are tables with the columns `id`, `neighbor` and `score`. `.npy`
/// is a matrix of node numbers with a row per node, and a second file of scores is written beside it, such as
/// `nn.scores.npy` for `nn.npy`. Where a node has fewer neighbours than the others, numbers are -1 and scores are NaN.
pub struct NeighborWriter<'a> {
    sink: NeighborSink,
    ids: &'a NodeIds,
    nodes: usize,
    written: usize,
}

enum NeighborSink {
    Npy {
        nodes: AtomicFile,
        scores: AtomicFile,
        width: usize,
    },
    Text {
        file: TextFile,
        delimiter: u8,
    },
    #[cfg(feature = "parquet")]
    Parquet(Box<super::parquet::NeighborParquet>),
}

/// Nodes whose lines one task writes.
const NODES: usize = 256;

impl<'a> NeighborWriter<'a> {
    /// Starts writing the neighbours of `nodes` nodes, at most `width` of each.
    pub fn create(path: impl AsRef<Path>, ids: &'a NodeIds, nodes: usize, width: usize) -> Result<Self> {
        let path = path.as_ref();
        check_rows("ids", ids.len(), nodes)?;
        let sink = match Ending::of(path) {
            (Ending::Npy, Packing::None) => NeighborSink::Npy {
                nodes: npy::start_with(path, "<i8", nodes, width)?,
                scores: npy::start(&path.with_extension("scores.npy"), nodes, width)?,
                width,
            },
            (ending @ (Ending::Csv | Ending::Tsv), packing) => {
                let (delimiter, tab) = if ending == Ending::Tsv { (b'\t', "\t") } else { (b',', ",") };
                let mut file = TextFile::create(path, packing)?;
                file.write(format!("{}\n", ["id", "neighbor", "score"].join(tab)).as_bytes())?;
                NeighborSink::Text { file, delimiter }
            }
            #[cfg(feature = "parquet")]
            (Ending::Parquet, Packing::None) => {
                NeighborSink::Parquet(Box::new(super::parquet::NeighborParquet::start(path, ids)?))
            }
            #[cfg(not(feature = "parquet"))]
            (Ending::Parquet, Packing::None) => return Err(Error::no_parquet(path)),
            _ => {
                let what = "has no supported extension for neighbours; use .parquet, .csv, .tsv or .npy";
                return Err(Error::format(path, what));
            }
        };
        Ok(Self { sink, ids, nodes, written: 0 })
    }

    /// Appends the neighbours of the next nodes: for each, numbers and scores.
    pub fn push(&mut self, lists: &[Vec<(u32, f32)>]) -> Result<()> {
        let first = self.written;
        self.written += lists.len();
        if self.written > self.nodes {
            return Err(Error::Input(format!("neighbours of more than the {} nodes declared", self.nodes)));
        }
        match &mut self.sink {
            NeighborSink::Npy { nodes, scores, width } => {
                let (numbers, values) = padded(lists, *width);
                nodes.write(bytemuck::cast_slice(&numbers))?;
                scores.write(bytemuck::cast_slice(&values))
            }
            NeighborSink::Text { file, delimiter } => {
                let (ids, delimiter) = (self.ids, *delimiter);
                let parts = lists.par_chunks(NODES).enumerate();
                let parts = parts.map(|(part, lists)| lines(ids, first + part * NODES, lists, delimiter));
                let parts: Vec<Vec<u8>> = parts.collect();
                parts.iter().try_for_each(|lines| file.write(lines))
            }
            #[cfg(feature = "parquet")]
            NeighborSink::Parquet(table) => table.push(self.ids, first, lists),
        }
    }

    /// Completes the file, once the neighbours of every node have been pushed.
    pub fn finish(self) -> Result<()> {
        if self.written != self.nodes {
            return Err(Error::Input(format!("neighbours of only {} of {} nodes", self.written, self.nodes)));
        }
        match self.sink {
            NeighborSink::Npy { nodes, scores, .. } => {
                scores.commit()?;
                nodes.commit()
            }
            NeighborSink::Text { file, .. } => file.finish(),
            #[cfg(feature = "parquet")]
            NeighborSink::Parquet(table) => table.finish(),
        }
    }
}

fn padded(lists: &[Vec<(u32, f32)>], width: usize) -> (Vec<i64>, Vec<f32>) {
    let cells = lists.iter().flat_map(|list| (0..width).map(|at| list.get(at)));
    let cell = |cell: Option<&(u32, f32)>| cell.map_or((-1, f32::NAN), |&(node, score)| (node as i64, score));
    cells.map(cell).unzip()
}

fn lines(ids: &NodeIds, first: usize, lists: &[Vec<(u32, f32)>], delimiter: u8) -> Vec<u8> {
    let mut out = Vec::new();
    for (node, list) in (first as u32..).zip(lists) {
        for &(neighbor, score) in list {
            push_id(&mut out, ids, node, delimiter);
            out.push(delimiter);
            push_id(&mut out, ids, neighbor, delimiter);
            out.push(delimiter);
            push_float(&mut out, score);
            out.push(b'\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Budget, data::npy::Array};

    #[test]
    fn tables_have_a_line_per_pair_and_matrices_a_row_per_node() {
        let folder = tempfile::tempdir().unwrap();
        let ids = NodeIds::from_names(vec!["ann".into(), "b,c".into()]).unwrap();
        let write = |name: &str| {
            let mut writer = NeighborWriter::create(folder.path().join(name), &ids, 2, 2).unwrap();
            writer.push(&[vec![(1, 0.5)]]).unwrap();
            assert!(NeighborWriter::create(folder.path().join(name), &ids, 2, 2).unwrap().finish().is_err());
            writer.push(&[vec![(0, 1.0), (1, -0.25)]]).unwrap();
            writer.finish().unwrap();
            std::fs::read(folder.path().join(name)).unwrap()
        };
        let csv = String::from_utf8(write("nn.csv")).unwrap();
        assert_eq!(csv, "id,neighbor,score\nann,\"b,c\",0.5\n\"b,c\",ann,1\n\"b,c\",\"b,c\",-0.25\n");
        let tsv = String::from_utf8(write("nn.tsv")).unwrap();
        assert!(tsv.starts_with("id\tneighbor\tscore\nann\tb,c\t0.5\n"), "{tsv}");
        let (nodes, beside) = (write("nn.npy"), folder.path().join("nn.scores.npy"));
        let nodes = Array::parse(nodes, Path::new("nn.npy")).unwrap();
        assert_eq!(nodes.shape, [2, 2]);
        assert_eq!(nodes.to_i64(&Budget::default()).unwrap(), [1, -1, 0, 1]);
        let scores = Array::parse(std::fs::read(&beside).unwrap(), &beside).unwrap();
        let scores = scores.to_f32(&Budget::default()).unwrap();
        assert!(scores[1].is_nan() && (scores[0], scores[2], scores[3]) == (0.5, 1.0, -0.25));
    }

    #[test]
    fn other_formats_and_too_many_nodes_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["nn", "nn.xlsx", "nn.npy.gz", "nn.txt"] {
            let path = folder.path().join(name);
            assert!(NeighborWriter::create(path, &NodeIds::Implicit, 1, 1).is_err(), "{name}");
        }
        let mut writer =
            NeighborWriter::create(folder.path().join("nn.csv"), &NodeIds::Implicit, 1, 1).unwrap();
        assert!(writer.push(&[vec![], vec![]]).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "one temporary file");
    }
}
