//! Edge tables: each undirected edge once, under the nodes' ids.

use super::text::{TextFile, push_float, push_id};
use super::{Ending, Packing, check_rows};
use crate::{Error, Graph, NodeIds, Result};
use rayon::prelude::*;
use std::ops::Range;
use std::path::Path;

/// Writes the edges to `.csv`, `.tsv`, `.txt` (tab-separated after one `#` line, as SNAP does; all
/// three also `.gz` or `.zst`) or `.parquet`, with a `weight` column if the graph is weighted.
///
/// Isolated nodes do not appear in an edge table.
pub fn write_edges(path: impl AsRef<Path>, graph: &Graph, ids: &NodeIds) -> Result<()> {
    let path = path.as_ref();
    check_rows("ids", ids.len(), graph.nodes())?;
    match Ending::of(path) {
        (Ending::Csv, packing) => write_text(path, graph, ids, b',', packing, header(graph, ',')),
        (Ending::Tsv, packing) => write_text(path, graph, ids, b'\t', packing, header(graph, '\t')),
        (Ending::Txt, packing) => {
            check_plain(path, ids)?;
            let (nodes, edges) = (graph.nodes(), graph.edges());
            let about = format!("# Undirected graph, each edge once. Nodes: {nodes} Edges: {edges}\n");
            write_text(path, graph, ids, b'\t', packing, about)
        }
        #[cfg(feature = "parquet")]
        (Ending::Parquet, Packing::None) => super::parquet::write_edges(path, graph, ids),
        #[cfg(not(feature = "parquet"))]
        (Ending::Parquet, Packing::None) => Err(Error::no_parquet(path)),
        _ => {
            Err(Error::format(path, "has no supported extension for edges; use .csv, .tsv, .txt or .parquet"))
        }
    }
}

fn header(graph: &Graph, delimiter: char) -> String {
    let weight = if graph.weights().is_some() { format!("{delimiter}weight") } else { String::new() };
    format!("source{delimiter}target{weight}\n")
}

/// Without a header and quotes, ids must not contain separators.
fn check_plain(path: &Path, ids: &NodeIds) -> Result<()> {
    let NodeIds::Names(names) = ids else { return Ok(()) };
    let plain = |name: &str| {
        !name.is_empty() && !name.contains([' ', '\t', '\n', '\r', '"', ',']) && !name.starts_with('#')
    };
    match names.iter().find(|name| !plain(name)) {
        None => Ok(()),
        Some(name) => {
            Err(Error::format(path, format!("the id '{name}' needs quotes; write .csv or .parquet instead")))
        }
    }
}

fn write_text(
    path: &Path,
    graph: &Graph,
    ids: &NodeIds,
    delimiter: u8,
    packing: Packing,
    first_line: String,
) -> Result<()> {
    let mut file = TextFile::create(path, packing)?;
    file.write(first_line.as_bytes())?;
    for blocks in node_blocks(graph, 1 << 14).chunks(64) {
        let lines: Vec<Vec<u8>> =
            blocks.par_iter().map(|block| edge_lines(graph, ids, delimiter, block.clone())).collect();
        lines.iter().try_for_each(|lines| file.write(lines))?;
    }
    file.finish()
}

fn edge_lines(graph: &Graph, ids: &NodeIds, delimiter: u8, nodes: Range<u32>) -> Vec<u8> {
    let mut out = Vec::new();
    for (u, v, weight) in edges_of(graph, nodes) {
        push_id(&mut out, ids, u, delimiter);
        out.push(delimiter);
        push_id(&mut out, ids, v, delimiter);
        if let Some(weight) = weight {
            out.push(delimiter);
            push_float(&mut out, weight);
        }
        out.push(b'\n');
    }
    out
}

/// The edges from each of `nodes` to larger nodes.
pub(super) fn edges_of(graph: &Graph, nodes: Range<u32>) -> impl Iterator<Item = (u32, u32, Option<f32>)> {
    nodes.flat_map(move |u| {
        let (targets, weights) = (graph.neighbors(u), graph.edge_weights(u));
        let larger = targets.partition_point(|&v| v < u)..targets.len();
        larger.map(move |at| (u, targets[at], weights.map(|weights| weights[at])))
    })
}

/// Ranges of nodes with about `entries` neighbours each.
pub(super) fn node_blocks(graph: &Graph, entries: u64) -> Vec<Range<u32>> {
    let (offsets, nodes) = (graph.offsets(), graph.nodes());
    let mut blocks = Vec::new();
    let mut start = 0;
    while start < nodes {
        let full = offsets[start] + entries;
        let end = offsets.partition_point(|&offset| offset <= full).saturating_sub(1).clamp(start + 1, nodes);
        blocks.push(start as u32..end as u32);
        start = end;
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EdgeList;

    /// 0 - 1 - 2 with weights 0.5 and 2; node 3 is isolated.
    fn path_graph() -> Graph {
        let edges = EdgeList::from_weighted(vec![(1, 0.5), (2 << 32 | 1, 2.0)]);
        edges.build(4).unwrap().0
    }

    fn text(name: &str, ids: &NodeIds) -> Result<String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        write_edges(&path, &path_graph(), ids)?;
        let bytes = crate::data::bytes::Bytes::open(&path, &crate::Budget::default())?;
        Ok(String::from_utf8(bytes.to_vec()).unwrap())
    }

    #[test]
    fn each_edge_is_written_once_under_its_ids() {
        let ids = NodeIds::from_numbers(vec![7, 3, 5, 9]).unwrap();
        assert_eq!(text("e.csv.zst", &ids).unwrap(), "source,target,weight\n7,3,0.5\n3,5,2\n");
        assert_eq!(
            text("e.txt.gz", &NodeIds::Implicit).unwrap(),
            "# Undirected graph, each edge once. Nodes: 4 Edges: 2\n0\t1\t0.5\n1\t2\t2\n"
        );
    }

    #[test]
    fn names_are_quoted_or_refused() {
        let names = ["a", "b,c", "d", "e"].map(Into::into).to_vec();
        let ids = NodeIds::from_names(names).unwrap();
        assert_eq!(text("e.csv", &ids).unwrap(), "source,target,weight\na,\"b,c\",0.5\n\"b,c\",d,2\n");
        assert!(text("e.txt", &ids).unwrap_err().to_string().contains("b,c"));
        assert!(text("e.npy", &ids).is_err() && text("e.parquet.gz", &ids).is_err());
    }

    #[test]
    fn blocks_cover_every_node_once() {
        let graph = Graph::from_edges(6, &[(0, 1), (0, 2), (0, 3), (4, 0)]).unwrap();
        for entries in [0, 1, 3, 100] {
            let nodes: Vec<u32> = node_blocks(&graph, entries).into_iter().flatten().collect();
            assert_eq!(nodes, [0, 1, 2, 3, 4, 5], "{entries}");
        }
        assert!(node_blocks(&Graph::from_edges(0, &[]).unwrap(), 5).is_empty());
    }
}
