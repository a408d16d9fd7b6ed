//! geom-gcn's text folders: Chameleon, Squirrel and Actor.
//!
//! `out1_graph_edges.txt` lists directed edges, `out1_node_feature_label.txt` has one line
//! `node<TAB>features<TAB>class` a node, in any order. The features are either a row of zeros and
//! ones or, in Actor, the numbers of the ones. Nothing in the file says which, so the contents
//! decide: if every line has equally many entries and they are all 0 or 1, these are rows of the
//! matrix; otherwise they are column numbers. (Rows as long as that which were column numbers
//! could only name columns 0 and 1.) The matrix is as wide as the largest column number asks;
//! Actor's header says 931, but its columns run to 931 and so are 932.

use super::{
    EdgeSource, Format, Options, Parts,
    bytes::Bytes,
    edges::{Nodes, RawEdges},
    lines::{Text, shown, whole, words},
    masks,
};
use crate::{Budget, Csr, Error, Features, Labels, Result};
use std::path::Path;

pub(crate) const FORMAT: Format = Format {
    name: "geom-gcn",
    about: "a folder of geom-gcn's text files (Chameleon, Squirrel, Actor)",
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

/// Where the lines after the header start; a first line that starts with a digit is none.
fn body(text: &Text) -> usize {
    match text.line_at(0) {
        Some((header, next)) if !header.first().is_some_and(u8::is_ascii_digit) => next,
        _ => 0,
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
            _ => return Err(format!("expected two node numbers, not {}", shown(line))),
        }
        Ok(())
    };
    Ok(text.parse(body(&text), |_| Vec::new(), edge)?.concat())
}

/// A line of the node file. What its features mean is known when all lines have been seen.
struct Row<'a> {
    node: u64,
    class: u32,
    features: &'a [u8],
    /// If the features are a row of zeros and ones: how long it is, and where the ones are.
    bits: Option<(usize, Vec<u32>)>,
}

fn read_nodes(path: &Path, budget: &Budget) -> Result<(Csr, Labels)> {
    let bytes = Bytes::open(path, budget)?;
    let text = Text { path, bytes: &bytes };
    let mut rows: Vec<Row> =
        text.parse(body(&text), |_| Vec::new(), add_row)?.into_iter().flatten().collect();
    rows.sort_by_key(|row| row.node);
    for (expected, row) in (0..).zip(&rows) {
        if row.node != expected {
            let what = match row.node < expected {
                true => format!("node {} has a second line", row.node),
                false => format!("node {expected} has no line, but node {} has", row.node),
            };
            return Err(text.fault(row.features, what));
        }
    }
    let labels = Labels::new(rows.iter().map(|row| Some(row.class)));
    let labels = labels.map_err(|error| Error::format(path, error.to_string()))?;
    Ok((matrix(&text, rows)?, labels))
}

fn add_row<'a>(rows: &mut Vec<Row<'a>>, line: &'a [u8]) -> Result<(), String> {
    if line.trim_ascii().is_empty() {
        return Ok(());
    }
    let columns: Vec<&[u8]> = line.split(|&byte| byte == b'\t').collect();
    let &[node, features, class] = &columns[..] else {
        return Err(format!("expected node, features and class between tabs, not {}", shown(line)));
    };
    let node = whole(node).ok_or_else(|| format!("{} is not a node number", shown(node)))?;
    let number = whole(class).and_then(|class| u32::try_from(class).ok()).filter(|&class| class != u32::MAX);
    let class = number.ok_or_else(|| format!("{} is not a class number", shown(class)))?;
    rows.push(Row { node, class, features, bits: bits(features) });
    Ok(())
}

/// The length of a row such as `0,1,0` and the places of its ones.
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

fn matrix(text: &Text, mut rows: Vec<Row>) -> Result<Csr> {
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
    // A wild number would make every later matrix as wide.
    if cols > text.bytes.len().max(1 << 20) {
        return Err(Error::format(text.path, format!("feature number {} is too large", cols - 1)));
    }
    let with_ones = |row: Vec<u32>| row.into_iter().map(|column| (column, 1.0)).collect();
    let rows: Vec<Vec<(u32, f32)>> = ones.into_iter().map(with_ones).collect();
    Ok(Csr::from_sorted_rows(cols, &rows))
}

/// Column numbers in order. One that is given twice is still a one.
fn columns(features: &[u8]) -> Result<Vec<u32>, String> {
    let words = features.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).filter(|word| !word.is_empty());
    let column = |word| whole(word).and_then(|number| u32::try_from(number).ok()).ok_or(word);
    let mut columns: Vec<u32> = words
        .map(column)
        .collect::<Result<_, &[u8]>>()
        .map_err(|word| format!("{} is not a feature number", shown(word)))?;
    columns.sort_unstable();
    columns.dedup();
    Ok(columns)
}
