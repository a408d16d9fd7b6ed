//! METIS `.part` files: one cluster id per line, line `v` for node `v`.

use super::Partition;
use crate::matrix::MappedFile;
use crate::{Error, Result, atomic::AtomicFile};
use std::io::Write;
use std::path::Path;

impl Partition {
    /// Reads a `.part` file from any partitioner for a graph of `nodes` nodes. Empty clusters are removed;
    /// the second value is the number of clusters including them.
    pub fn read(path: impl AsRef<Path>, nodes: usize) -> Result<(Self, usize)> {
        let cluster = read_lines(path.as_ref(), nodes, "cluster id")?;
        let counted = cluster.iter().max().map_or(0, |&last| last as usize + 1);
        Ok((Self::renumbered(cluster), counted))
    }

    /// Writes a `.part` file, atomically.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let mut file = AtomicFile::create(path)?;
        let mut text = Vec::with_capacity(1 << 16);
        for block in self.cluster.chunks(1 << 13) {
            text.clear();
            for cluster in block {
                writeln!(text, "{cluster}").map_err(Error::io(path))?;
            }
            file.write(&text)?;
        }
        file.commit()
    }
}

/// Reads node weights from a file with one positive integer per line, one line per node.
pub fn read_node_weights(path: impl AsRef<Path>, nodes: usize) -> Result<Vec<u32>> {
    read_lines(path.as_ref(), nodes, "node weight")
}

fn read_lines(path: &Path, nodes: usize, what: &str) -> Result<Vec<u32>> {
    let bytes = MappedFile::open(path)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| Error::format(path, "is not valid UTF-8 text"))?;
    let mut numbers = Vec::with_capacity(nodes.min(bytes.len() / 2 + 1));
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.trim();
        // The format has no comments, but some tools write them.
        if text.is_empty() || text.starts_with(['#', '%']) {
            continue;
        }
        let invalid = || Error::at_line(path, line, format!("invalid {what} '{}'", excerpt(text)));
        numbers.push(text.parse().map_err(|_| invalid())?);
    }
    if numbers.len() != nodes {
        let given = numbers.len();
        return Err(Error::format(path, format!("has {given} {what}s, but the graph has {nodes} nodes")));
    }
    Ok(numbers)
}

fn excerpt(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, nodes: usize) -> Result<(Partition, usize)> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("graph.part.3");
        std::fs::write(&path, text).unwrap();
        Partition::read(path, nodes)
    }

    #[test]
    fn a_written_partition_reads_back_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cora.part");
        let partition = Partition::new((0..20_000).map(|node| node % 300).collect()).unwrap();
        partition.write(&path).unwrap();
        assert!(std::fs::read_to_string(&path).unwrap().starts_with("0\n1\n2\n"));
        assert_eq!(Partition::read(&path, 20_000).unwrap(), (partition, 300));
    }

    #[test]
    fn empty_clusters_are_removed_but_counted() {
        let (partition, counted) = read("3\n0\n3\n", 3).unwrap();
        assert_eq!((partition.assignment(), counted), (&[1, 0, 1][..], 4));
        assert_eq!(read("# made elsewhere\n 1 \r\n0\n\n", 2).unwrap().0.assignment(), [1, 0]);
    }

    #[test]
    fn bad_files_say_where_and_why() {
        for (text, nodes, said) in [
            ("0\nx\n", 2, ":2: invalid cluster id 'x'"),
            ("0\n-1\n", 2, "'-1'"),
            ("0\n4294967296\n", 2, "'4294967296'"),
            ("0\n", 2, "has 1 cluster ids, but the graph has 2 nodes"),
            ("0\n0\n0\n", 2, "has 3 cluster ids"),
        ] {
            let error = read(text, nodes).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
