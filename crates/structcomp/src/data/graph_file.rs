//! A binary `.scg` graph as a dataset without features.

use super::{EdgeSource, Format, Options, Parts, bytes::FileHead};
use crate::{Graph, NodeIds, Result, graph::MAGIC};
use std::path::Path;

pub(crate) const FORMAT: Format = Format {
    name: "scg",
    about: "binary graph written by structcomp, memory-mapped",
    recognizes: |head: &FileHead| head.bytes.starts_with(MAGIC),
    read,
};

fn read(path: &Path, _: &Options) -> Result<Parts> {
    let edges = EdgeSource::Graph(Graph::open(path)?, NodeIds::Implicit);
    Ok(Parts { edges, files: vec![path.to_owned()], ..Parts::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_graph_is_a_dataset() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("square.scg");
        let graph = Graph::from_edges(5, &[(0, 1), (1, 2), (2, 3), (3, 0)]).unwrap();
        graph.save(&path).unwrap();
        let data = crate::data::open(&path, &Options::default()).unwrap();
        assert_eq!((data.name.as_str(), data.source.format), ("square", "scg"));
        assert!(data.graph.is_mapped() && data.graph == graph);
        assert_eq!(data.repairs.isolated, 1);
    }
}
