//! Separate files of edges, features and labels, joined by node id; also a folder of such files with
//! fixed names.

mod header;
mod join;

use super::id_file::{IdFile, shown};
use super::table::NodeTable;
use super::table::files::{open_features, open_labels};
use super::{EdgeSource, Format, Options, Parts, bytes::FileHead, recognize};
use crate::{Error, Result};
use std::path::{Path, PathBuf};

pub(super) use join::rows_of_nodes;

pub(crate) const FORMAT: Format = Format {
    name: "tables",
    about: "folder with edges.csv (or .tsv, .txt, .parquet), optionally nodes.*, features.* or x.*, labels.* or y.*, and names.txt or ids.txt",
    recognizes: |head: &FileHead| !members(head, &["edges"], &ENDINGS).is_empty(),
    read,
};

const ENDINGS: [&str; 8] = ["parquet", "csv", "tsv", "txt", "npy", "npz", "mtx", "json"];

/// The folder's files of these names with a supported extension, compressed or not.
fn members(head: &FileHead, names: &[&str], endings: &[&str]) -> Vec<PathBuf> {
    let files = names.iter().flat_map(|name| endings.iter().map(move |ending| format!("{name}.{ending}")));
    let packed = files.flat_map(|file| ["", ".gz", ".zst"].map(|packing| format!("{file}{packing}")));
    packed.filter(|file| head.has(file)).map(|file| head.path.join(file)).collect()
}

/// The only file of these names, if there is one.
fn member(head: &FileHead, names: &[&str], endings: &[&str]) -> Result<Option<PathBuf>> {
    let mut files = members(head, names, endings);
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
    let edges = member(&head, &["edges"], &ENDINGS)?.ok_or_else(none)?;
    let nodes = member(&head, &["nodes", "features", "x"], &ENDINGS)?;
    let labels = member(&head, &["labels", "y"], &ENDINGS)?;
    let ids = member(&head, &["ids", "names"], &["txt"])?;
    // A specified format is that of the folder, not of the file.
    let options = Options { format: None, ..options.clone() };
    let mut parts = join(&edges, nodes.as_deref(), labels.as_deref(), &options)?;
    // Without a matrix that needs it, a list of names may still have nodes that are in no edge.
    if let Some(path) = ids.filter(|path| options.ids.is_none() && !parts.files.contains(path)) {
        join::add_listed(&mut parts, IdFile::open(&path, &options.budget)?);
    }
    Ok(parts)
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
    // A stored graph may have its names beside it, by which tables are put in its order.
    if matches!(parts.edges, EdgeSource::Graph(..)) {
        name_by_file(&mut parts, edges, options)?;
    }
    // An error about a table names the file of the table.
    let within = |path: Option<&Path>, error: Error| error.within(path.unwrap_or(edges));
    let read = |path: &Path, open: fn(&Path, &Options) -> Result<NodeTable>, parts: &mut Parts| {
        let mut table = header::read(path, open, parts, options)?;
        parts.files.extend(table.named_by.clone());
        parts.notes.append(&mut table.notes);
        Ok::<_, Error>(table)
    };
    let node_table = nodes.map(|path| read(path, open_features, &mut parts)).transpose()?;
    let label_table = labels.map(|path| read(path, open_labels, &mut parts)).transpose()?;
    if let Some(mut table) = node_table {
        join::name_nodes(&mut parts, &mut table, "features").map_err(|error| within(nodes, error))?;
        // The table takes precedence over features and labels in the file of the edges.
        parts.features = table.features.take().or(parts.features);
        parts.labels = table.labels.take().or(parts.labels);
    } else if matches!(parts.edges, EdgeSource::Raw(_)) {
        name_by_file(&mut parts, edges, options)?;
    }
    if let Some(table) = label_table {
        parts.labels = join::labels_of_nodes(&mut parts, table).map_err(|error| within(labels, error))?;
    }
    Ok(parts)
}

/// Names the nodes of a graph without names: by the file that the user named, or by one beside it.
pub(super) fn name_by_file(parts: &mut Parts, graph: &Path, options: &Options) -> Result<()> {
    let found = match (&options.ids, join::nodes_without_ids(parts)) {
        (Some(path), _) => Some(IdFile::open(path, &options.budget)?),
        (None, Some(nodes)) if graph.is_file() => IdFile::of_rows(graph, nodes, options)?,
        _ => None,
    };
    let Some(found) = found else { return Ok(()) };
    if options.ids.is_none() {
        parts.notes.push(found.note("nodes"));
    }
    parts.files.push(found.path.clone());
    let path = found.path.clone();
    let mut table = NodeTable {
        rows: found.count,
        ids: Some(found.ids),
        named_by: Some(found.path),
        ..NodeTable::default()
    };
    join::name_nodes(parts, &mut table, &shown(&path)).map_err(|error| error.within(&path))
}

#[cfg(all(test, feature = "parquet"))]
mod tests {
    use super::*;
    use crate::data::{Dataset, open, open_files};
    use crate::output::write_edges;
    use crate::{Graph, NodeIds};
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
        assert_eq!(data.source.notes, ["1 label has the id of an unknown node"]);
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

    fn four_names() -> NodeIds {
        NodeIds::from_names(["ann", "bob", "eve", "zoe"].map(Into::into).to_vec()).unwrap()
    }

    #[test]
    fn rows_without_ids_take_those_of_a_list() {
        let names = ("names.txt", "zoe\neve\nbob\nann\njoe\n");
        let features = ("x.csv", "1,4\n1,3\n1,2\n1,1\n1,5\n");
        let data = opened(&four_names(), &[names, features]).unwrap();
        assert_eq!((data.graph.nodes(), data.ids.name(0)), (5, "zoe".into()));
        assert_eq!(edges(&data).len(), 3);
        assert_eq!(data.source.notes, ["the ids of the rows of x.csv were read from names.txt"]);
        // Edges of numbers are about the rows.
        let numbered = opened(&NodeIds::Implicit, &[names, features]).unwrap();
        assert_eq!(edges(&numbered)[0], ("zoe".into(), "eve".into()));
        // Without features, the list has the nodes that are in no edge.
        let listed = opened(&four_names(), &[names]).unwrap();
        assert_eq!((listed.graph.nodes(), listed.repairs.isolated), (5, 1));
        let other = opened(&four_names(), &[("names.txt", "red\nblue\n")]).unwrap();
        assert_eq!(other.graph.nodes(), 4);
        assert!(other.source.notes[0].starts_with("names.txt was ignored"), "{:?}", other.source.notes);
    }

    #[test]
    fn a_binary_graph_keeps_its_names_and_orders_the_features() {
        let folder = folder(&four_names(), &[("x.csv", "id,a\nzoe,4\nann,1\nbob,2\neve,3\njoe,5\n")]);
        let at = |name: &str| folder.path().join(name);
        open(at("edges.parquet"), &Options::default()).unwrap().export(at("graph.scg"), None).unwrap();
        let data = open_files(at("graph.scg"), Some(&at("x.csv")), None, &Options::default()).unwrap();
        assert_eq!((&data.ids, data.graph.nodes()), (&four_names(), 4));
        assert_eq!(data.features.unwrap().to_dense().values(), [1.0, 2.0, 3.0, 4.0]);
    }

    #[test]
    fn a_header_is_recognised_by_the_ids_in_the_edges() {
        let table = "person,team\nann,red\nbob,blue\neve,blue\n";
        let data = opened(&four_names(), &[("labels.csv", table)]).unwrap();
        assert_eq!(classes(&data), [Some(1), Some(0), Some(0), None]);
        assert_eq!(
            data.source.notes,
            ["labels.csv: the first line, 'person, team', was read as a header (this can be turned off)"]
        );
        let list = opened(
            &NodeIds::Implicit,
            &[("x.csv", "1,2\n1,3\n1,4\n1,5\n"), ("y.csv", "team\nred\nred\nblue\nblue\n")],
        );
        assert_eq!(classes(&list.unwrap()), [Some(1), Some(1), Some(0), Some(0)]);
        let node = opened(&four_names(), &[("labels.csv", "ann,red\nbob,blue\neve,blue\n")]).unwrap();
        assert_eq!(classes(&node), [Some(1), Some(0), Some(0), None]);
    }

    #[test]
    fn blank_lines_at_the_end_of_labels_are_nodes_if_there_are_so_many() {
        let features = ("x.csv", "1,2\n1,3\n1,4\n1,5\n");
        let labelled = opened(&NodeIds::Implicit, &[features, ("y.txt", "1\n\n0\n\n")]).unwrap();
        assert_eq!(classes(&labelled), [Some(1), None, Some(0), None]);
        let spare = opened(&NodeIds::Implicit, &[features, ("y.txt", "1\n\n0\n0\n\n\n")]).unwrap();
        assert_eq!(classes(&spare), [Some(1), None, Some(0), Some(0)]);
        let alone = opened(&NodeIds::Implicit, &[("y.txt", "1\n\n0\n\n\n")]).unwrap();
        assert_eq!(classes(&alone), [Some(1), None, Some(0), None]);
    }
}
