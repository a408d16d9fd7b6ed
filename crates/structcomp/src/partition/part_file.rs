//! METIS's `.part` files: one cluster number a line, line `v` for node `v`.

use super::Partition;
use crate::{Error, MappedFile, Result, atomic::AtomicFile};
use std::io::Write;
use std::path::Path;

impl Partition {
    /// Reads a `.part` file made by any partitioner for a graph of `nodes` nodes. Numbers that are
    /// not used close up; how many clusters the file counted is the second value.
    pub fn read(path: impl AsRef<Path>, nodes: usize) -> Result<(Self, usize)> {
        let cluster = read_lines(path.as_ref(), nodes, "clusters", "the number of a cluster")?;
        let counted = cluster.iter().max().map_or(0, |&last| last as usize + 1);
        Ok((Self::renumbered(cluster), counted))
    }

    /// Writes a `.part` file, under a temporary name until it is whole.
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

/// Reads what each of `nodes` nodes counts for in the size of its cluster: a whole number a line.
pub fn read_node_weights(path: impl AsRef<Path>, nodes: usize) -> Result<Vec<u32>> {
    read_lines(path.as_ref(), nodes, "weights", "a whole weight")
}

/// A number a line, line `v` for node `v`.
fn read_lines(path: &Path, nodes: usize, what: &str, number: &str) -> Result<Vec<u32>> {
    let bytes = MappedFile::open(path)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| Error::format(path, "is not text"))?;
    let mut numbers = Vec::with_capacity(nodes.min(bytes.len() / 2 + 1));
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.trim();
        // Comments are not part of the format, but some tools write them.
        if text.is_empty() || text.starts_with(['#', '%']) {
            continue;
        }
        numbers.push(
            text.parse()
                .map_err(|_| Error::at_line(path, line, format!("'{}' is not {number}", excerpt(text))))?,
        );
    }
    if numbers.len() != nodes {
        let given = numbers.len();
        return Err(Error::format(path, format!("has {what} for {given} nodes, but the graph has {nodes}")));
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
    fn a_partition_comes_back_as_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cora.part");
        let partition = Partition::new((0..20_000).map(|node| node % 300).collect()).unwrap();
        partition.write(&path).unwrap();
        assert!(std::fs::read_to_string(&path).unwrap().starts_with("0\n1\n2\n"));
        assert_eq!(Partition::read(&path, 20_000).unwrap(), (partition, 300));
    }

    #[test]
    fn empty_clusters_close_up_and_are_counted() {
        let (partition, counted) = read("3\n0\n3\n", 3).unwrap();
        assert_eq!((partition.assignment(), counted), (&[1, 0, 1][..], 4));
        assert_eq!(read("# made elsewhere\n 1 \r\n0\n\n", 2).unwrap().0.assignment(), [1, 0]);
    }

    #[test]
    fn bad_files_say_where_and_why() {
        for (text, nodes, said) in [
            ("0\nx\n", 2, ":2: 'x' is not the number of a cluster"),
            ("0\n-1\n", 2, "'-1'"),
            ("0\n4294967296\n", 2, "'4294967296'"),
            ("0\n", 2, "for 1 nodes, but the graph has 2"),
            ("0\n0\n0\n", 2, "for 3 nodes"),
        ] {
            let error = read(text, nodes).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
