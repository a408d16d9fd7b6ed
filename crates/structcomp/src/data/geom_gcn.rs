//! Text folders of geom-gcn: Chameleon, Squirrel and Actor.
//!
//! `out1_graph_edges.txt` lists directed edges. `out1_node_feature_label.txt` has one line
//! `node<TAB>features<TAB>class` per node, in any order. Features are either a row of zeros and ones
//! or, in Actor, the column indices of the ones. The file does not say which. If all lines have the
//! same number of entries and all entries are 0 or 1, they are matrix rows, otherwise indices. (Lines
//! of that form could only be indices if they named nothing but columns 0 and 1.) The number of columns
//! follows from the largest index; Actor's header says 931, but its indices reach 931, so there are 932.

use super::{
    EdgeSource, Format, Options, Parts,
    bytes::Bytes,
    edges::{Nodes, RawEdges},
    masks,
    text::{Text, shown, whole, words},
};
use crate::{Budget, Csr, Error, Features, Labels, Result};
use std::path::Path;

pub(crate) const FORMAT: Format = Format {
    name: "geom-gcn",
    about: "folder of geom-gcn text files (Chameleon, Squirrel, Actor)",
    recognizes: |head| head.has(EDGES) && head.has(NODES),
    read,
};

const EDGES: &str = "out1_graph_edges.txt";
const NODES: &str = "out1_node_feature_label.txt";

fn read(path: &Path, options: &Options) -> Result<Parts> {
    let mut files = vec![path.join(EDGES), path.join(NODES)];
    let edges = read_edges(&files[0], &options.budget)?;
    let (features, labels) = read_nodes(&files[1], &options.budget)?;
    let nodes = labels.nodes();
    let mut splits = Vec::new();
    if let Some((set, read)) = masks::geom_gcn_splits(path, nodes, &options.budget)? {
        splits.push(set);
        files.extend(read);
    }
    Ok(Parts {
        nodes: Nodes::Count(nodes),
        edges: EdgeSource::Raw(RawEdges::Small(edges)),
        features: Some(Features::Sparse(features)),
        labels: Some(labels),
        splits,
        files,
        ..Parts::default()
    })
}

/// Start of the first line after the header. A first line that starts with a digit is not a header; a
/// header with another number of columns belongs to another kind of file.
fn body(text: &Text, columns: usize) -> Result<usize> {
    let (first, next) = text.line_at(0).ok_or_else(|| Error::format(text.path, "is empty"))?;
    if first.first().is_some_and(u8::is_ascii_digit) {
        return Ok(0);
    }
    match first.split(|&byte| byte == b'\t').count() == columns {
        true => Ok(next),
        false => Err(text.fault(first, format!("expected a header of {columns} tab-separated columns"))),
    }
}

fn read_edges(path: &Path, budget: &Budget) -> Result<Vec<u64>> {
    let bytes = Bytes::open(path, budget)?;
    let text = Text { path, bytes: &bytes };
    let id = |word: Option<&[u8]>| word.and_then(whole).and_then(|id| u32::try_from(id).ok()).map(u64::from);
    let edge = |edges: &mut Vec<u64>, line: &[u8]| {
        let mut words = words(line);
        let ends = (id(words.next()), id(words.next()), words.next());
        match ends {
            (Some(u), Some(v), None) => edges.push(u << 32 | v),
            _ if line.trim_ascii().is_empty() => {}
            _ => return Err(format!("expected two node numbers, found {}", shown(line))),
        }
        Ok(())
    };
    Ok(text.parse(body(&text, 2)?, |_| Vec::new(), edge)?.concat())
}

/// A line of the node file. How to read the features is known only after all lines.
struct NodeLine<'a> {
    node: u64,
    class: u32,
    features: &'a [u8],
    /// If the features are zeros and ones: their number and the positions of the ones.
    bits: Option<(usize, Vec<u32>)>,
}

fn read_nodes(path: &Path, budget: &Budget) -> Result<(Csr, Labels)> {
    let bytes = Bytes::open(path, budget)?;
    let text = Text { path, bytes: &bytes };
    let mut rows: Vec<NodeLine> =
        text.parse(body(&text, 3)?, |_| Vec::new(), add_row)?.into_iter().flatten().collect();
    if rows.is_empty() {
        return Err(Error::format(path, "contains no nodes"));
    }
    rows.sort_by_key(|row| row.node);
    for (expected, row) in (0..).zip(&rows) {
        if row.node != expected {
            let what = match row.node < expected {
                true => format!("node {} appears twice", row.node),
                false => format!("node {expected} is missing, but there is a node {}", row.node),
            };
            return Err(text.fault(row.features, what));
        }
    }
    let labels = Labels::new(rows.iter().map(|row| Some(row.class)));
    let labels = labels.map_err(|error| Error::format(path, error.to_string()))?;
    Ok((matrix(&text, rows)?, labels))
}

fn add_row<'a>(rows: &mut Vec<NodeLine<'a>>, line: &'a [u8]) -> Result<(), String> {
    if line.trim_ascii().is_empty() {
        return Ok(());
    }
    let columns: Vec<&[u8]> = line.split(|&byte| byte == b'\t').collect();
    let &[node, features, class] = &columns[..] else {
        return Err(format!("expected tab-separated node, features and class, found {}", shown(line)));
    };
    let node = whole(node).ok_or_else(|| format!("{} is not a node number", shown(node)))?;
    let number = whole(class).and_then(|class| u32::try_from(class).ok()).filter(|&class| class != u32::MAX);
    let class = number.ok_or_else(|| format!("{} is not a class number", shown(class)))?;
    rows.push(NodeLine { node, class, features, bits: bits(features) });
    Ok(())
}

/// The length of a row such as `0,1,0`, and the positions of its ones.
fn bits(features: &[u8]) -> Option<(usize, Vec<u32>)> {
    let (mut length, mut ones) = (0, Vec::new());
    for entry in features.split(|&byte| byte == b',') {
        match entry.trim_ascii() {
            b"0" => {}
            b"1" => ones.push(length),
            _ => return None,
        }
        length += 1;
    }
    Some((length as usize, ones))
}

fn matrix(text: &Text, mut rows: Vec<NodeLine>) -> Result<Csr> {
    let widths: Option<Vec<usize>> = rows.iter().map(|row| row.bits.as_ref().map(|bits| bits.0)).collect();
    let width = widths.as_deref().and_then(<[usize]>::first).copied();
    let dense = widths.is_some_and(|widths| widths.iter().all(|&other| Some(other) == width));
    let mut ones: Vec<Vec<u32>> = Vec::with_capacity(rows.len());
    for row in &mut rows {
        ones.push(match row.bits.take() {
            Some((_, ones)) if dense => ones,
            _ => columns(row.features).map_err(|what| text.fault(row.features, what))?,
        });
    }
    let cols = match width {
        Some(width) if dense => width,
        _ => ones.iter().filter_map(|row| row.last()).max().map_or(0, |&last| last as usize + 1),
    };
    // An absurd index would make every later matrix that wide.
    if cols > text.bytes.len().max(1 << 20) {
        return Err(Error::format(text.path, format!("feature index {} is too large", cols - 1)));
    }
    let with_ones = |row: Vec<u32>| row.into_iter().map(|column| (column, 1.0)).collect();
    let rows: Vec<Vec<(u32, f32)>> = ones.into_iter().map(with_ones).collect();
    Ok(Csr::from_sorted_rows(cols, &rows))
}

/// Sorted column indices without duplicates.
fn columns(features: &[u8]) -> Result<Vec<u32>, String> {
    let words = features.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).filter(|word| !word.is_empty());
    let column = |word| whole(word).and_then(|number| u32::try_from(number).ok()).ok_or(word);
    let mut columns: Vec<u32> = words
        .map(column)
        .collect::<Result<_, &[u8]>>()
        .map_err(|word| format!("{} is not a feature index", shown(word)))?;
    columns.sort_unstable();
    columns.dedup();
    Ok(columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dataset, data};

    const EDGE_LINES: &str = "node_id\tnode_id\n0\t1\n1\t2\n2\t2\n";

    fn open(edges: &str, nodes: &str) -> Result<Dataset> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(EDGES), edges).unwrap();
        std::fs::write(folder.path().join(NODES), nodes).unwrap();
        data::open(folder.path(), &Options::default())
    }

    fn rows(nodes: &str) -> (usize, Vec<Vec<u32>>) {
        let data = open(EDGE_LINES, nodes).unwrap();
        let Some(Features::Sparse(x)) = data.features else { panic!("not sparse") };
        (x.cols(), (0..x.rows()).map(|row| x.row(row).0.to_vec()).collect())
    }

    fn fault(edges: &str, nodes: &str) -> String {
        let error = open(edges, nodes).map(|_| String::new()).unwrap_or_else(|error| error.to_string());
        error.rsplit('/').next().unwrap_or_default().to_owned()
    }

    #[test]
    fn rows_of_bits_and_column_indices_are_distinguished() {
        let header = "node_id\tfeature\tlabel\n";
        let dense = format!("{header}2\t0,0,1\t1\n0\t1,1,0\t0\n1\t0,0,0\t0\n");
        assert_eq!(rows(&dense), (3, vec![vec![0, 1], vec![], vec![2]]));
        let spaced = dense.replace(',', ", ").replace('\n', "\r\n");
        assert_eq!(rows(&spaced), rows(&dense));
        // Zeros and ones, but in different numbers: column indices, one of them repeated.
        let listed = format!("{header}0\t0,1\t0\n1\t1,1,0\t0\n2\t1\t1\n");
        assert_eq!(rows(&listed), (2, vec![vec![0, 1], vec![0, 1], vec![1]]));
        // Equally many entries, but not only zeros and ones; a node may have none.
        let listed = format!("{header}0\t4,1\t0\n1\t0,1\t0\n2\t\t1\n");
        assert_eq!(rows(&listed), (5, vec![vec![1, 4], vec![0, 1], vec![]]));
    }

    #[test]
    fn errors_name_the_file_and_the_line() {
        let nodes = "id\tfeature\tlabel\n0\t0\t0\n1\t1\t0\n2\t1\t1\n";
        assert_eq!(fault(EDGE_LINES, nodes), "");
        for bad in ["0", "0\t1\t2", "0\t-1", "0\tx", "0\t4294967296", "0,1"] {
            let edges = format!("{EDGE_LINES}{bad}\n");
            assert!(fault(&edges, nodes).starts_with("out1_graph_edges.txt:5: expected two node"), "{bad}");
        }
        let cases = [
            ("1\t1\t0", ":5: node 1 appears twice"),
            ("4\t1\t0", ":5: node 3 is missing, but there is a node 4"),
            ("18446744073709551615\t1\t0", ":5: '18446744073709551615' is not a node number"),
            ("3\t-1\t0", ":5: '-1' is not a feature index"),
            ("3\t0.5\t0", ":5: '0.5' is not a feature index"),
            ("3\t4294967295\t0", ": feature index 4294967295 is too large"),
            ("3\t1\t4294967295", ":5: '4294967295' is not a class number"),
            ("3\t1\t4000000000", ": class number 4000000000 is too large for 4 nodes"),
            ("3\t1", ":5: expected tab-separated node, features and class, found '3\\t1'"),
        ];
        for (line, message) in cases {
            let said = fault(EDGE_LINES, &format!("{nodes}{line}\n"));
            assert_eq!(said, format!("out1_node_feature_label.txt{message}"));
        }
    }

    #[test]
    fn truncated_files_do_not_panic_and_empty_files_are_errors() {
        let nodes = "id\tfeature\tlabel\n0\t0,1\t0\n1\t1,1\t0\n2\t1,0\t1\n";
        (0..nodes.len()).for_each(|length| drop(open(EDGE_LINES, &nodes[..length])));
        (0..EDGE_LINES.len()).for_each(|length| drop(open(&EDGE_LINES[..length], nodes)));
        assert!(fault(EDGE_LINES, "id\tfeature\tlabel\n").contains("contains no nodes"));
        assert_eq!(open("id\tid\n", nodes).unwrap().graph.edges(), 0);
        assert_eq!(
            (fault("", nodes), fault(EDGE_LINES, "")),
            (format!("{EDGES}: is empty"), format!("{NODES}: is empty"))
        );
        assert_eq!(
            fault("\u{80}", nodes),
            format!("{EDGES}:1: expected a header of 2 tab-separated columns")
        );
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(EDGES), EDGE_LINES).unwrap();
        std::fs::create_dir(folder.path().join(NODES)).unwrap();
        let error = data::open(folder.path(), &Options::default()).unwrap_err();
        assert!(error.to_string().contains("is a folder where a file was expected"));
    }
}
