//! Separate files of edges, features and labels, joined by node id; also a folder of such files with
//! fixed names.

use super::edges::{Nodes, RawEdges};
use super::table::NodeTable;
use super::table::files::{open_features, open_labels};
use super::{EdgeSource, Format, Options, Parts, Table, bytes::FileHead, recognize};
use crate::{Error, Features, Labels, NodeIds, Result};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

pub(crate) const FORMAT: Format = Format {
    name: "tables",
    about: "folder with edges.csv (or .tsv, .txt, .parquet), optionally nodes.* or features.*, and labels.*",
    recognizes: |head: &FileHead| !members(head, &["edges"]).is_empty(),
    read,
};

const ENDINGS: [&str; 8] = ["parquet", "csv", "tsv", "txt", "npy", "npz", "mtx", "json"];

/// The folder's files of these names with a supported extension, compressed or not.
fn members(head: &FileHead, names: &[&str]) -> Vec<PathBuf> {
    let files = names.iter().flat_map(|name| ENDINGS.map(|ending| format!("{name}.{ending}")));
    let packed = files.flat_map(|file| ["", ".gz", ".zst"].map(|packing| format!("{file}{packing}")));
    packed.filter(|file| head.has(file)).map(|file| head.path.join(file)).collect()
}

/// The only file of these names, if there is one.
fn member(head: &FileHead, names: &[&str]) -> Result<Option<PathBuf>> {
    let mut files = members(head, names);
    match &files[..] {
        [one, another, ..] => {
            let [one, another] = [one, another].map(|file| file.file_name().unwrap_or_default().display());
            Err(Error::format(&head.path, format!("contains both {one} and {another}; keep one of them")))
        }
        _ => Ok(files.pop()),
    }
}

fn read(folder: &Path, options: &Options) -> Result<Parts> {
    let head = FileHead::of(folder)?;
    let none = || Error::format(folder, "has no file edges.*");
    let edges = member(&head, &["edges"])?.ok_or_else(none)?;
    let nodes = member(&head, &["nodes", "features"])?;
    let labels = member(&head, &["labels"])?;
    // A specified format is that of the folder, not of the file.
    let options = Options { format: None, ..options.clone() };
    join(&edges, nodes.as_deref(), labels.as_deref(), &options)
}

/// Reads the files and determines the nodes.
pub(super) fn join(
    edges: &Path,
    nodes: Option<&Path>,
    labels: Option<&Path>,
    options: &Options,
) -> Result<Parts> {
    let mut parts = (recognize(edges, options)?.read)(edges, options)?;
    parts.files.extend(nodes.into_iter().chain(labels).map(Path::to_owned));
    let node_table = nodes.map(|path| open_features(path, options)).transpose()?;
    let label_table = labels.map(|path| open_labels(path, options)).transpose()?;
    // An error about a table names the file of the table.
    let within = |path: Option<&Path>, error: Error| error.within(path.unwrap_or(edges));
    if let Some(mut table) = node_table {
        parts.notes.append(&mut table.notes);
        name_nodes(&mut parts, &table, "features").map_err(|error| within(nodes, error))?;
        // The table takes precedence over features and labels in the file of the edges.
        parts.features = table.features.take().or(parts.features);
        parts.labels = table.labels.take().or(parts.labels);
    } else if let Some(table) = &label_table {
        let named = match &table.ids {
            Some(ids) => name_nodes_with_edges(&mut parts, ids, table),
            None => name_nodes(&mut parts, table, "labels"),
        };
        named.map_err(|error| within(labels, error))?;
    }
    if let Some(table) = label_table {
        parts.labels = labels_of_nodes(&mut parts, table).map_err(|error| within(labels, error))?;
    }
    Ok(parts)
}

/// Uses the rows of a table as the nodes, if that is consistent with the edges.
fn name_nodes(parts: &mut Parts, table: &NodeTable, what: &str) -> Result<()> {
    let rows = table.rows;
    let differ = |nodes: usize| {
        Err(Error::Input(format!("the {what} have {rows} rows but the graph has {nodes} nodes")))
    };
    match (&parts.edges, &parts.nodes) {
        (EdgeSource::Graph(graph, _), _) if graph.nodes() != rows => return differ(graph.nodes()),
        (EdgeSource::Raw(_), Nodes::Count(nodes) | Nodes::Table(_, nodes)) if *nodes != rows => {
            return differ(*nodes);
        }
        _ => {}
    }
    match (&parts.edges, &table.ids) {
        (EdgeSource::Graph(_, ids), Some(own)) if ids != own => Err(Error::Input(format!(
            "the {what} and the graph differ in ids or order; write the graph as an edge list to join by id"
        ))),
        (EdgeSource::Graph(..), _) => Ok(()),
        (EdgeSource::Raw(_), Some(ids)) => {
            parts.nodes = Nodes::Table(ids.clone(), rows);
            Ok(())
        }
        (EdgeSource::Raw(raw), None) => {
            if matches!(parts.nodes, Nodes::FromEdges) {
                count_nodes(raw, rows, what)?;
                parts.nodes = Nodes::Count(rows);
            }
            Ok(())
        }
    }
}

/// Rows without ids are nodes `0..rows`; the edges must not contain others.
fn count_nodes(raw: &RawEdges, rows: usize, what: &str) -> Result<()> {
    let problem = match (raw, raw.largest_id()) {
        (RawEdges::Names(..), _) => "the edges have text ids".to_owned(),
        (_, Some(id)) if id >= rows as u64 => format!("the edges contain node {id}"),
        _ => return Ok(()),
    };
    Err(Error::Input(format!(
        "{problem}, but the {what} have {rows} rows without ids (nodes 0, 1, 2 and so on); add an id column"
    )))
}

/// The nodes are those with labels, followed by those that occur only in the edges: label files often
/// cover only part of the nodes.
fn name_nodes_with_edges(parts: &mut Parts, ids: &NodeIds, labels: &NodeTable) -> Result<()> {
    let EdgeSource::Raw(raw) = &parts.edges else { return Ok(()) };
    if !matches!(parts.nodes, Nodes::FromEdges) {
        return Ok(());
    }
    let (others, count) = raw.ids()?;
    let known = Places::of(ids, labels.rows);
    let new: Vec<u32> = (0..count as u32).filter(|&node| known.place(&others, node).is_none()).collect();
    let total = labels.rows + new.len();
    let all = if new.is_empty() {
        ids.clone()
    } else if let (Some(mut numbers), Some(more)) = (numbers(ids, labels.rows), numbers(&others, count)) {
        numbers.extend(new.iter().map(|&node| more[node as usize]));
        NodeIds::from_numbers(numbers)?
    } else {
        let own = (0..labels.rows as u32).map(|row| ids.name(row));
        let names = own.chain(new.iter().map(|&node| others.name(node)));
        NodeIds::from_names(names.map(|name| name.into_owned().into()).collect())?
    };
    parts.nodes = Nodes::Table(all, total);
    Ok(())
}

fn numbers(ids: &NodeIds, count: usize) -> Option<Vec<u64>> {
    match ids {
        NodeIds::Implicit => Some((0..count as u64).collect()),
        NodeIds::Numbers(numbers) => Some(numbers.clone()),
        NodeIds::Names(_) => None,
    }
}

/// The labels in node order.
fn labels_of_nodes(parts: &mut Parts, table: NodeTable) -> Result<Option<Labels>> {
    let (Some(labels), Some(ids)) = (&table.labels, &table.ids) else { return Ok(table.labels) };
    let (nodes, count) = match (&parts.edges, &parts.nodes) {
        (EdgeSource::Graph(graph, ids), _) => (ids, graph.nodes()),
        (_, Nodes::Table(ids, count)) => (ids, *count),
        (_, Nodes::Count(count)) => (&NodeIds::Implicit, *count),
        (_, Nodes::FromEdges) => return Err(Error::Input("labels with ids need nodes with ids".into())),
    };
    let places = Places::of(nodes, count);
    let mut class = vec![None; count];
    let mut unknown = 0;
    for (row, of_row) in (0..).zip(labels.iter()) {
        match places.place(ids, row) {
            Some(node) => class[node as usize] = of_row,
            None => unknown += 1,
        }
    }
    if unknown > 0 {
        parts.notes.push(format!("{unknown} labels have ids of unknown nodes"));
    }
    let aligned = Labels::new(class)?;
    match labels.names() {
        Some(names) => aligned.with_names(names.to_vec()).map(Some),
        None => Ok(Some(aligned)),
    }
}

/// The rows of a table in node order.
pub(super) fn rows_of_nodes(table: Table, nodes: &NodeIds, count: usize) -> Result<Features> {
    let Table { ids, features, .. } = table;
    let features = features.ok_or_else(|| Error::Input("has no numeric column".into()))?;
    let rows = features.rows();
    if ids == NodeIds::Implicit || ids == *nodes {
        return match rows == count {
            true => Ok(features),
            false => Err(Error::Input(format!(
                "has {rows} rows but the graph has {count} nodes; use an embedding of this graph or add ids"
            ))),
        };
    }
    let places = Places::of(&ids, rows);
    let places: Vec<Option<u32>> = (0..count as u32).map(|node| places.place(nodes, node)).collect();
    if let Some(first) = places.iter().position(Option::is_none) {
        let missing = places.iter().filter(|place| place.is_none()).count();
        let name = nodes.name(first as u32);
        return Err(Error::Input(format!("has no row for {missing} of {count} nodes, such as '{name}'")));
    }
    Ok(features.select(&places.into_iter().flatten().collect::<Vec<u32>>()))
}

/// The index of each id.
enum Places<'a> {
    Below(u64),
    Numbers(HashMap<u64, u32>),
    Names(HashMap<&'a str, u32>),
}

impl<'a> Places<'a> {
    fn of(ids: &'a NodeIds, count: usize) -> Self {
        match ids {
            NodeIds::Implicit => Self::Below(count as u64),
            NodeIds::Numbers(numbers) => Self::Numbers(numbers.iter().copied().zip(0..).collect()),
            NodeIds::Names(names) => Self::Names(names.iter().map(|name| &**name).zip(0..).collect()),
        }
    }

    /// The index of the id that another table has at `row`.
    fn place(&self, ids: &NodeIds, row: u32) -> Option<u32> {
        let number = || match ids {
            NodeIds::Implicit => Some(row as u64),
            NodeIds::Numbers(numbers) => Some(numbers[row as usize]),
            NodeIds::Names(names) => names[row as usize].parse().ok(),
        };
        match self {
            Self::Below(count) => number().filter(|number| number < count).map(|number| number as u32),
            Self::Numbers(places) => places.get(&number()?).copied(),
            Self::Names(places) => places.get(&*ids.name(row)).copied(),
        }
    }
}

#[cfg(all(test, feature = "parquet"))]
mod tests {
    use super::*;
    use crate::Graph;
    use crate::data::{Dataset, open, open_files};
    use crate::output::write_edges;
    use std::fs;
    use tempfile::TempDir;

    /// 0 - 1 - 2 - 3 with the given ids, and other files.
    fn folder(ids: &NodeIds, files: &[(&str, &str)]) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        let graph = Graph::from_edges(4, &[(0, 1), (1, 2), (2, 3)]).unwrap();
        write_edges(folder.path().join("edges.parquet"), &graph, ids).unwrap();
        files.iter().for_each(|(name, text)| fs::write(folder.path().join(name), text).unwrap());
        folder
    }

    fn opened(ids: &NodeIds, files: &[(&str, &str)]) -> Result<Dataset> {
        open(folder(ids, files).path(), &Options::default())
    }

    fn classes(data: &Dataset) -> Vec<Option<u32>> {
        data.labels.as_ref().unwrap().iter().collect()
    }

    fn edges(data: &Dataset) -> Vec<(String, String)> {
        let name = |node| data.ids.name(node).into_owned();
        data.graph.edge_iter().map(|(u, v)| (name(u), name(v))).collect()
    }

    #[test]
    fn the_feature_table_orders_the_nodes_and_labels_follow_it() {
        let ids = NodeIds::from_numbers(vec![10, 11, 12, 13]).unwrap();
        let nodes = "id,a\n12,0.2\n10,0\n13,0.3\n11,0.1\n99,9\n";
        let data = opened(&ids, &[("nodes.csv", nodes), ("labels.tsv", "id\tlabel\n10\tx\n12\ty\n77\tx\n")])
            .unwrap();
        assert_eq!(data.ids, NodeIds::Numbers(vec![12, 10, 13, 11, 99]));
        assert_eq!(data.features.as_ref().unwrap().to_dense().values(), [0.2, 0.0, 0.3, 0.1, 9.0]);
        assert_eq!(classes(&data), [Some(1), Some(0), None, None, None]);
        assert_eq!(data.source.notes, ["1 labels have ids of unknown nodes"]);
        assert_eq!(data.graph.edge_iter().collect::<Vec<_>>(), [(0, 2), (0, 3), (1, 3)]);
        assert_eq!(data.source.format, "tables");
    }

    #[test]
    fn labels_of_some_nodes_do_not_lose_the_others() {
        let ids = NodeIds::from_names(["a", "b", "c", "7"].map(Into::into).to_vec()).unwrap();
        let data = opened(&ids, &[("labels.json", r#"{"c": 1, "z": 0}"#)]).unwrap();
        assert_eq!(edges(&data).len(), 3);
        assert_eq!(
            (data.ids.name(0), data.ids.name(1), data.ids.name(2)),
            ("c".into(), "z".into(), "7".into())
        );
        assert_eq!(classes(&data), [Some(1), Some(0), None, None, None]);
        let numbers = opened(&NodeIds::Implicit, &[("labels.csv", "id,y\n3,5\n")]).unwrap();
        assert_eq!(numbers.ids, NodeIds::Numbers(vec![3, 0, 1, 2]));
        assert_eq!(classes(&numbers), [Some(5), None, None, None]);
    }

    #[test]
    fn rows_without_ids_are_the_nodes_from_zero() {
        let data = opened(&NodeIds::Implicit, &[("features.txt", "1 2\n1 3\n1 4\n1 5\n1 6\n")]).unwrap();
        assert_eq!((data.graph.nodes(), data.repairs.isolated), (5, 1));
        let short = opened(&NodeIds::Implicit, &[("features.txt", "1 2\n1 3\n1 4\n")]).unwrap_err();
        assert!(
            short.to_string().contains(": the edges contain node 3, but the features have 3 rows"),
            "{short}"
        );
        let names = NodeIds::from_names(["a", "b", "c", "d"].map(Into::into).to_vec()).unwrap();
        let text = opened(&names, &[("features.txt", "1 2\n1 3\n1 4\n1 5\n")]).unwrap_err();
        assert!(text.to_string().contains("text ids"), "{text}");
        let both = [("features.csv", "1,2\n1,3\n1,4\n1,5\n"), ("labels.txt", "0\n1\n1\n")];
        let differ = opened(&NodeIds::Implicit, &both).unwrap_err().to_string();
        assert!(differ.ends_with(": labels have 3 rows but the graph has 4 nodes"), "{differ}");
    }

    #[test]
    fn separate_files_are_joined_like_a_folder() {
        let folder =
            folder(&NodeIds::Implicit, &[("x.csv", "id,a\n0,1\n1,2\n2,3\n3,4\n"), ("y", "0\n0\n1\n1\n")]);
        let at = |name: &str| folder.path().join(name);
        let options = Options::default();
        let data = open_files(at("edges.parquet"), Some(&at("x.csv")), Some(&at("y")), &options).unwrap();
        assert_eq!((data.ids.clone(), classes(&data).len()), (NodeIds::Implicit, 4));
        assert!(open_files(at("edges.parquet"), Some(&at("edges.parquet")), None, &options).is_err());
        assert_eq!(open_files(at("edges.parquet"), None, None, &options).unwrap().graph.edges(), 3);
        let two = opened(&NodeIds::Implicit, &[("nodes.csv", "1,2\n"), ("features.txt.gz", "")]).unwrap_err();
        assert!(
            two.to_string().ends_with("contains both nodes.csv and features.txt.gz; keep one of them"),
            "{two}"
        );
        let none = tempfile::tempdir().unwrap();
        assert!(open(none.path(), &options).is_err());
    }
}
