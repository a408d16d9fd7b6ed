//! Cluster assignments: a table under the nodes' ids, or a `.part` file.

use super::text::{TextFile, push_id};
use super::{Ending, Packing, check_rows};
use crate::{Error, NodeIds, Partition, Result};
use std::io::Write;
use std::path::Path;

/// Writes the cluster of every node: a table of `id` and `cluster` if the name ends in `.csv` or `.tsv`
/// (also compressed), otherwise a `.part` file with one cluster per line, in node order.
pub fn write_clusters(path: impl AsRef<Path>, partition: &Partition, ids: &NodeIds) -> Result<()> {
    let path = path.as_ref();
    check_rows("ids", ids.len(), partition.nodes())?;
    match Ending::of(path) {
        (Ending::Csv, packing) => write_table(path, partition, ids, b',', packing),
        (Ending::Tsv, packing) => write_table(path, partition, ids, b'\t', packing),
        (Ending::Npy | Ending::Parquet, _) | (_, Packing::Gzip | Packing::Zstd) => {
            Err(Error::format(path, "has no supported extension for clusters; use .part, .csv or .tsv"))
        }
        _ => partition.write(path),
    }
}

fn write_table(
    path: &Path,
    partition: &Partition,
    ids: &NodeIds,
    delimiter: u8,
    packing: Packing,
) -> Result<()> {
    let mut file = TextFile::create(path, packing)?;
    file.write(format!("id{}cluster\n", delimiter as char).as_bytes())?;
    let mut lines = Vec::new();
    for nodes in (0..partition.nodes() as u32).collect::<Vec<_>>().chunks(1 << 13) {
        lines.clear();
        for &node in nodes {
            push_id(&mut lines, ids, node, delimiter);
            writeln!(lines, "{}{}", delimiter as char, partition.of(node)).map_err(Error::io(path))?;
        }
        file.write(&lines)?;
    }
    file.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_are_written_under_the_ids_of_the_nodes() {
        let folder = tempfile::tempdir().unwrap();
        let ids = NodeIds::from_names(vec!["ann".into(), "b,c".into(), "dan".into()]).unwrap();
        let partition = Partition::new(vec![1, 0, 1]).unwrap();
        let text = |name: &str| {
            let path = folder.path().join(name);
            write_clusters(&path, &partition, &ids).map(|()| std::fs::read_to_string(path).unwrap())
        };
        assert_eq!(text("c.csv").unwrap(), "id,cluster\nann,1\n\"b,c\",0\ndan,1\n");
        assert_eq!(text("c.tsv").unwrap(), "id\tcluster\nann\t1\nb,c\t0\ndan\t1\n");
        assert_eq!(text("c.part").unwrap(), "1\n0\n1\n");
        assert!(text("c.npy").unwrap_err().to_string().contains(".part"));
        assert!(text("c.part.gz").is_err());
        assert!(write_clusters("c.csv", &Partition::new(vec![0]).unwrap(), &ids).is_err());
    }
}
