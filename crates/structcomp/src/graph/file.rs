//! The binary graph format `.scg`: a header with checksums, then the arrays as they are in memory.
//!
//! `docs/reference/formats.md` specifies the layout. The file is memory-mapped, so a graph may be larger than
//! memory; opening it reads it once to check the checksums and the invariants of a graph.

use super::{Graph, MAX_NODES};
use crate::matrix::{Buffer, MappedFile};
use crate::{Error, Result, atomic::AtomicFile};
use std::{
    fs::File,
    io::{BufWriter, Seek, SeekFrom, Write},
    path::Path,
};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// The first bytes of every graph file.
pub(crate) const MAGIC: &[u8; 8] = b"SCGRAPH\0";
const VERSION: u32 = 1;
const WEIGHTED: u32 = 1;
const HEADER: usize = 128;
/// The header's own checksum is in its last eight bytes.
const HEADER_BODY: usize = HEADER - 8;

impl Graph {
    /// Writes the graph as an `.scg` file.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let mut writer = GraphWriter::create(path, self.nodes(), self.weights().is_some())?;
        for v in 0..self.nodes() as u32 {
            writer.push_row(self.neighbors(v), self.edge_weights(v))?;
        }
        writer.finish()
    }

    /// Maps an `.scg` file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let file = MappedFile::open(path)?;
        let wrong = |what: &str| Error::format(file.path(), what);
        let header = file.get(..HEADER).ok_or_else(|| wrong("is too short for a graph file"))?;
        if &header[..8] != MAGIC {
            return Err(wrong("is not a structcomp graph file"));
        }
        let number = |at: usize| read_u64(header, at);
        if number(HEADER_BODY) != xxh3_64(&header[..HEADER_BODY]) {
            return Err(wrong("has a damaged header (wrong checksum)"));
        }
        let [version, flags] = [8, 12].map(|at| read_u64(header, at) as u32);
        if version != VERSION {
            let what = format!("has graph format version {version}; only version {VERSION} is supported");
            return Err(wrong(&what));
        }
        let (nodes, entries) = (number(16), number(24));
        if nodes > MAX_NODES as u64 {
            return Err(wrong("claims more than 2^31 nodes"));
        }
        let offsets = Buffer::<u64>::mapped(&file, number(32), nodes + 1)?;
        let targets = Buffer::<u32>::mapped(&file, number(40), entries)?;
        let weights = match flags & WEIGHTED {
            0 => None,
            _ => Some(Buffer::<f32>::mapped(&file, number(48), entries)?),
        };
        let sound = xxh3_64(bytemuck::cast_slice(&offsets)) == number(56)
            && xxh3_64(bytemuck::cast_slice(&targets)) == number(64)
            && weights.as_ref().is_none_or(|w| xxh3_64(bytemuck::cast_slice(w)) == number(72));
        if !sound {
            return Err(wrong("is damaged (wrong checksum)"));
        }
        Self::from_csr(offsets, targets, weights).map_err(|error| wrong(&error.to_string()))
    }
}

/// Writes an `.scg` file row by row, so the graph need not fit in memory.
pub struct GraphWriter {
    file: AtomicFile,
    offsets: Section,
    weights: Option<Section>,
    target_hash: Xxh3,
    nodes: u64,
    rows: u64,
    entries: u64,
}

/// A section of the file, written through its own handle.
struct Section {
    writer: BufWriter<File>,
    hash: Xxh3,
}

impl Section {
    fn write(&mut self, path: &Path, bytes: &[u8]) -> Result<()> {
        self.hash.update(bytes);
        self.writer.write_all(bytes).map_err(Error::io(path))
    }
}

impl GraphWriter {
    /// Starts writing a graph of `nodes` nodes.
    ///
    /// Rows must be pushed in order, sorted and symmetric as in a [`Graph`]; this is checked when the file
    /// is opened.
    pub fn create(path: impl AsRef<Path>, nodes: usize, weighted: bool) -> Result<Self> {
        if nodes > MAX_NODES {
            return Err(Error::Input(format!("{nodes} nodes are more than the 2^31 supported")));
        }
        let mut file = AtomicFile::create(path)?;
        let targets_at = align(HEADER as u64 + 8 * (nodes as u64 + 1));
        // Row starts and neighbour lists grow together, so each needs its own handle; the first writes into
        // the gap that the second leaves before it.
        let mut handle = file.reopen()?;
        handle.seek(SeekFrom::Start(HEADER as u64)).map_err(Error::io(file.path()))?;
        let mut offsets = Section { writer: BufWriter::with_capacity(1 << 20, handle), hash: Xxh3::new() };
        offsets.write(file.path(), &0u64.to_le_bytes())?;
        file.seek_to(targets_at)?;
        let weights = match weighted {
            true => Some(Section {
                writer: BufWriter::with_capacity(
                    1 << 20,
                    tempfile::tempfile_in(file.folder()).map_err(Error::io(file.path()))?,
                ),
                hash: Xxh3::new(),
            }),
            false => None,
        };
        Ok(Self {
            file,
            offsets,
            weights,
            target_hash: Xxh3::new(),
            nodes: nodes as u64,
            rows: 0,
            entries: 0,
        })
    }

    /// Adds the neighbours of the next node, and their weights if the file has weights.
    pub fn push_row(&mut self, targets: &[u32], weights: Option<&[f32]>) -> Result<()> {
        if self.rows == self.nodes {
            return Err(Error::Input(format!("more rows than the {} nodes declared", self.nodes)));
        }
        if weights.map(<[f32]>::len) != self.weights.as_ref().map(|_| targets.len()) {
            return Err(Error::Input("either every edge has a weight or none has".into()));
        }
        self.rows += 1;
        self.entries += targets.len() as u64;
        self.offsets.write(self.file.path(), &self.entries.to_le_bytes())?;
        let bytes = bytemuck::cast_slice(targets);
        self.target_hash.update(bytes);
        self.file.write(bytes)?;
        if let (Some(section), Some(weights)) = (&mut self.weights, weights) {
            section.write(self.file.path(), bytemuck::cast_slice(weights))?;
        }
        Ok(())
    }

    /// Writes the header and renames the file to its final path.
    pub fn finish(mut self) -> Result<()> {
        if self.rows != self.nodes {
            let (rows, nodes) = (self.rows, self.nodes);
            return Err(Error::Input(format!("{rows} rows were written for {nodes} nodes")));
        }
        self.offsets.writer.flush().map_err(Error::io(self.file.path()))?;
        let targets_at = align(HEADER as u64 + 8 * (self.nodes + 1));
        if self.entries == 0 {
            // Nothing was written after the gap, so the file would end before its arrays begin.
            self.file.reopen()?.set_len(targets_at).map_err(Error::io(self.file.path()))?;
        }
        let weights_at = align(targets_at + 4 * self.entries);
        let weight_hash = match self.weights.take() {
            Some(section) => {
                self.file.seek_to(weights_at)?;
                let mut spilled = section
                    .writer
                    .into_inner()
                    .map_err(|error| Error::io(self.file.path())(error.into_error()))?;
                let copied = spilled
                    .seek(SeekFrom::Start(0))
                    .and_then(|_| std::io::copy(&mut spilled, &mut self.file));
                copied.map_err(Error::io(self.file.path()))?;
                Some(section.hash.digest())
            }
            None => None,
        };
        let mut header = [0; HEADER];
        header[..8].copy_from_slice(MAGIC);
        header[8..12].copy_from_slice(&VERSION.to_le_bytes());
        let flags = if weight_hash.is_some() { WEIGHTED } else { 0 };
        header[12..16].copy_from_slice(&flags.to_le_bytes());
        let numbers = [
            self.nodes,
            self.entries,
            HEADER as u64,
            targets_at,
            if weight_hash.is_some() { weights_at } else { 0 },
            self.offsets.hash.digest(),
            self.target_hash.digest(),
            weight_hash.unwrap_or(0),
        ];
        for (i, number) in numbers.iter().enumerate() {
            header[16 + 8 * i..24 + 8 * i].copy_from_slice(&number.to_le_bytes());
        }
        let own = xxh3_64(&header[..HEADER_BODY]);
        header[HEADER_BODY..].copy_from_slice(&own.to_le_bytes());
        self.file.write_at(0, &header)?;
        self.file.commit()
    }
}

/// Arrays start at multiples of a cache line.
fn align(at: u64) -> u64 {
    at.next_multiple_of(64)
}

fn read_u64(bytes: &[u8], at: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{EdgeList, build::pack};
    use proptest::prelude::*;

    fn saved(graph: &Graph) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("graph.scg");
        graph.save(&path).unwrap();
        (folder, path)
    }

    #[test]
    fn a_flipped_bit_anywhere_is_noticed() {
        let graph = Graph::from_edges(5, &[(0, 1), (1, 2), (3, 4)]).unwrap();
        let (_folder, path) = saved(&graph);
        let bytes = std::fs::read(&path).unwrap();
        let padding = HEADER + 8 * 6..align(HEADER as u64 + 8 * 6) as usize;
        for at in (0..bytes.len()).filter(|at| !padding.contains(at)) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            std::fs::write(&path, damaged).unwrap();
            assert!(Graph::open(&path).is_err(), "byte {at}");
        }
        for length in 0..bytes.len() {
            std::fs::write(&path, &bytes[..length]).unwrap();
            assert!(Graph::open(&path).is_err(), "cut to {length}");
        }
    }

    #[test]
    fn a_graph_without_edges_reads_back_for_any_padding() {
        for nodes in 0..9 {
            let graph = Graph::from_edges(nodes, &[]).unwrap();
            let (_folder, path) = saved(&graph);
            assert_eq!(Graph::open(&path).unwrap(), graph, "{nodes} nodes");
        }
    }

    #[test]
    fn rows_must_match_the_declared_number() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = GraphWriter::create(folder.path().join("g.scg"), 1, false).unwrap();
        assert!(writer.push_row(&[], Some(&[])).is_err());
        writer.push_row(&[], None).unwrap();
        assert!(writer.push_row(&[], None).is_err());
        drop(writer);
        assert!(GraphWriter::create(folder.path().join("g.scg"), 3, false).unwrap().finish().is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn a_saved_graph_reads_back_equal(
            edges in prop::collection::vec((0u32..30, 0u32..30, 1u8..4), 0..80),
            weighted in any::<bool>(),
        ) {
            let weight = |w: u8| if weighted { w as f32 } else { 1.0 };
            let entries = edges.iter().map(|&(u, v, w)| (pack(u, v), weight(w))).collect();
            let (graph, _) = EdgeList::from_weighted(entries).build(30).unwrap();
            let (_folder, path) = saved(&graph);
            let opened = Graph::open(&path).unwrap();
            prop_assert!(opened.is_mapped());
            prop_assert_eq!(opened, graph);
        }
    }
}
