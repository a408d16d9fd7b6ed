//! METIS graph files: a header `nodes edges [fmt [weights]]`, then one line of neighbours per node.
//!
//! Nodes are counted from 1, lines that start with `%` are comments, and every edge is listed at both
//! ends. The three digits of `fmt` say whether a line starts with the node's size and its weights, which
//! are skipped, and whether each neighbour is followed by the weight of the edge.

use super::{
    EdgeSource, Format, Options, Parts,
    bytes::{Bytes, FileHead},
    edges::{Nodes, RawEdges},
    text::{Text, decimal, lines, pieces, shown, whole, words},
};
use crate::{Error, Result, graph::MAX_NODES, random::mix};
use rayon::prelude::*;
use std::path::Path;

pub(crate) const FORMAT: Format =
    Format { name: "metis", about: "METIS graph file (.graph)", recognizes, read };

/// A file called `.graph`, or one that is consistent with its header in every respect. An edge list
/// whose first line looks like a header is not.
fn recognizes(head: &FileHead) -> bool {
    let name = head.path.to_string_lossy();
    let name = name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(&name);
    head.is_text() && (name.ends_with(".graph") || fits_header(head).unwrap_or(false))
}

fn fits_header(head: &FileHead) -> Option<bool> {
    let start = Text { path: &head.path, bytes: &head.bytes };
    let header = MetisHeader::of(&start).ok().filter(|header| header.edges > 0)?;
    if rows(&head.bytes[header.body..]) > header.nodes {
        return Some(false);
    }
    let bytes = Bytes::open(&head.path, &head.budget).ok()?;
    let text = Text { path: &head.path, bytes: &bytes };
    let lists = header_and_lists(&text, false).ok()?.1;
    let edges = lists.iter().flat_map(|lists| &lists.edges).map(|pair| (pair >> 32, pair & 0xffff_ffff));
    // Each edge must be listed in both directions, so the hashes of the two triangles have equal sums.
    let (loops, balance) = edges.fold((false, 0u64), |(loops, balance), (u, v)| {
        let hash = mix(u.min(v) << 32 | u.max(v));
        (loops || u == v, if u < v { balance.wrapping_add(hash) } else { balance.wrapping_sub(hash) })
    });
    Some(!loops && balance == 0)
}

fn read(path: &Path, options: &Options) -> Result<Parts> {
    let bytes = Bytes::open(path, &options.budget)?;
    let text = Text { path, bytes: &bytes };
    let (header, lists) = header_and_lists(&text, options.weights)?;
    let edges = match header.edge_weights && options.weights {
        false => RawEdges::Small(lists.into_iter().map(|lists| lists.edges).collect::<Vec<_>>().concat()),
        true => RawEdges::SmallWeighted(
            lists.into_iter().flat_map(|lists| lists.edges.into_iter().zip(lists.weights)).collect(),
        ),
    };
    let note = "node weights and sizes were ignored".to_owned();
    let notes = if header.skipped > 0 { vec![note] } else { Vec::new() };
    let (nodes, files) = (Nodes::Count(header.nodes), vec![path.to_owned()]);
    Ok(Parts { nodes, edges: EdgeSource::Raw(edges), notes, files, ..Parts::default() })
}

struct MetisHeader<'a> {
    nodes: usize,
    edges: u64,
    /// Numbers at the start of each line that are not neighbours.
    skipped: usize,
    edge_weights: bool,
    line: &'a [u8],
    /// Start of the line after it.
    body: usize,
}

impl<'a> MetisHeader<'a> {
    fn of(text: &Text<'a>) -> Result<Self> {
        let mut body = 0;
        let line = loop {
            let (line, next) = text
                .line_at(body)
                .ok_or_else(|| Error::format(text.path, "has no line with the size of the graph"))?;
            body = next;
            if !line.starts_with(b"%") && !line.trim_ascii().is_empty() {
                break line;
            }
        };
        let (nodes, edges, skipped, edge_weights) = sizes(line).map_err(|what| text.fault(line, what))?;
        Ok(Self { nodes, edges, skipped, edge_weights, line, body })
    }
}

/// Nodes, edges, numbers to skip on each line, and whether edges have weights.
fn sizes(line: &[u8]) -> Result<(usize, u64, usize, bool), String> {
    let said: Vec<&[u8]> = words(line).collect();
    let (nodes, edges, fmt, weights) = match said[..] {
        [nodes, edges] => (nodes, edges, &b"0"[..], &b"1"[..]),
        [nodes, edges, fmt] => (nodes, edges, fmt, &b"1"[..]),
        [nodes, edges, fmt, weights] => (nodes, edges, fmt, weights),
        _ => return Err(format!("expected 'nodes edges [fmt [weights]]', found {}", shown(line))),
    };
    let size = |word| whole(word).ok_or_else(|| format!("{} is not a number of nodes or edges", shown(word)));
    let (nodes, edges) = (size(nodes)?, size(edges)?);
    if nodes > MAX_NODES as u64 {
        return Err(format!("{nodes} nodes are more than the 2^31 supported"));
    }
    if fmt.len() > 3 || !fmt.iter().all(|digit| matches!(digit, b'0' | b'1')) {
        return Err(format!("invalid fmt {}; expected up to three digits 0 or 1", shown(fmt)));
    }
    let flag = |from_right: usize| fmt.iter().rev().nth(from_right) == Some(&b'1');
    // METIS supports only a few; this bounds what a damaged file may claim.
    let weights = whole(weights).filter(|count| (1..=1 << 20).contains(count));
    let weights = weights.ok_or("invalid number of node weights")? as usize;
    let skipped = if flag(1) { weights } else { 0 } + flag(2) as usize;
    Ok((nodes as usize, edges, skipped, flag(0)))
}

/// The neighbour lists of some consecutive nodes.
struct Lists {
    /// The node of the next line.
    node: usize,
    edges: Vec<u64>,
    /// One per edge; empty if there are no weights or they are not wanted.
    weights: Vec<f32>,
}

fn header_and_lists<'a>(text: &Text<'a>, want_weights: bool) -> Result<(MetisHeader<'a>, Vec<Lists>)> {
    let header = MetisHeader::of(text)?;
    let counts: Vec<usize> = pieces(&text.bytes[header.body..]).into_par_iter().map(rows).collect();
    let first: Vec<usize> = counts
        .iter()
        .scan(0, |next, count| {
            *next += count;
            Some(*next - count)
        })
        .collect();
    let new = |piece: usize| Lists { node: first[piece], edges: Vec::new(), weights: Vec::new() };
    let lists = text.parse(header.body, new, |lists, line| neighbours(&header, want_weights, lists, line))?;
    let found = counts.iter().sum::<usize>();
    if found < header.nodes {
        let what = format!("declares {} nodes, but {found} lines follow", header.nodes);
        return Err(text.fault(header.line, what));
    }
    let listed = lists.iter().map(|lists| lists.edges.len() as u64).sum::<u64>();
    if Some(listed) != header.edges.checked_mul(2) {
        let edges = header.edges;
        let what =
            format!("declares {edges} edges, which are listed twice each, but there are {listed} neighbours");
        return Err(text.fault(header.line, what));
    }
    Ok((header, lists))
}

/// Number of lines that belong to a node.
fn rows(text: &[u8]) -> usize {
    lines(text).filter(|(_, line)| !line.starts_with(b"%")).count()
}

fn neighbours(
    header: &MetisHeader,
    want_weights: bool,
    lists: &mut Lists,
    line: &[u8],
) -> Result<(), String> {
    if line.starts_with(b"%") {
        return Ok(());
    }
    let node = lists.node as u64;
    lists.node += 1;
    let mut words = words(line);
    if node >= header.nodes as u64 {
        return match words.next() {
            Some(_) => Err(format!("expected only {} lines of neighbours", header.nodes)),
            None => Ok(()),
        };
    }
    for _ in 0..header.skipped {
        let word = words.next().unwrap_or_default();
        whole(word).ok_or_else(|| format!("{} is not the size or weight of a node", shown(word)))?;
    }
    while let Some(word) = words.next() {
        let other = whole(word).filter(|other| (1..=header.nodes as u64).contains(other));
        let other =
            other.ok_or_else(|| format!("{} is not a node from 1 to {}", shown(word), header.nodes))?;
        lists.edges.push(node << 32 | (other - 1));
        if header.edge_weights {
            let word = words.next().unwrap_or_default();
            let weight = decimal(word).ok_or_else(|| format!("{} is not an edge weight", shown(word)))?;
            if want_weights {
                lists.weights.push(weight);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dataset, data};

    fn with_file<T>(name: &str, text: &str, open: impl Fn(&Path) -> T) -> T {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        open(&path)
    }

    fn open(text: &str) -> Result<Dataset> {
        with_file("x.graph", text, |path| data::open(path, &Options::default()))
    }

    #[test]
    fn blank_lines_are_nodes_and_comments_are_not() {
        // 0 - 1, 3 - 0; node 2 is isolated.
        let data = open("% drawn by hand\n\n4 2\n2 4\n%\n1\n\n 1\t\r\n\n").unwrap();
        assert_eq!(data.graph.edge_iter().collect::<Vec<_>>(), [(0, 1), (0, 3)]);
        assert_eq!((data.graph.nodes(), data.repairs.isolated), (4, 1));
        assert_eq!(open("2 0\n\n\n").unwrap().graph.nodes(), 2);
    }

    #[test]
    fn sizes_and_node_weights_are_skipped_and_edge_weights_kept() {
        for (text, weights) in [
            ("2 1 1\n2 7\n1 7\n", true),
            ("2 1 011\n5 2 7\n6 1 7\n", true),
            ("2 1 110 2\n1 5 5 2\n1 6 6 1\n", false),
            ("2 1 100\n9 2\n9 1\n", false),
            ("2 1 111 1\n9 3 2 7\n9 3 1 7\n", true),
        ] {
            let data = open(text).unwrap();
            assert!(data.graph.has_edge(0, 1) && data.graph.edges() == 1, "{text}");
            assert_eq!(data.graph.weights(), weights.then_some(&[7.0, 7.0][..]), "{text}");
            assert_eq!(data.source.notes.is_empty(), text.starts_with("2 1 1\n"), "{text}");
        }
        let options = Options { weights: false, ..Options::default() };
        let plain = with_file("x.graph", "2 1 1\n2 7\n1 7\n", |path| data::open(path, &options));
        assert_eq!(plain.unwrap().graph.weights(), None);
    }

    #[test]
    fn errors_name_the_line() {
        let cases = [
            ("", ": is empty"),
            ("%\n", ": has no line with the size of the graph"),
            ("2\n", ":1: expected 'nodes edges [fmt [weights]]', found '2'"),
            ("2 x\n", ":1: 'x' is not a number of nodes or edges"),
            ("2 1 12\n2\n1\n", ":1: invalid fmt '12'"),
            ("2 1 10 0\n2\n1\n", ":1: invalid number of node weights"),
            ("3000000000 1\n", ":1: 3000000000 nodes are more than the 2^31 supported"),
            ("%\n2000000000 1\n2\n1\n", ":2: declares 2000000000 nodes, but 2 lines follow"),
            ("2 1\n2\n1\n1\n", ":4: expected only 2 lines of neighbours"),
            ("2 1\n2\n0\n", ":3: '0' is not a node from 1 to 2"),
            ("2 1\n3\n1\n", ":2: '3' is not a node from 1 to 2"),
            ("2 1\n-2\n1\n", ":2: '-2' is not a node from 1 to 2"),
            ("2 1\n99999999999999999999\n1\n", ":2: '99999999999999999999' is not a node"),
            ("2 2\n2\n1\n", ":1: declares 2 edges, which are listed twice each, but there are 2 neighbours"),
            ("2 9999999999999999999\n2\n1\n", ":1: declares 9999999999999999999 edges"),
            ("2 1 1\n2\n1 1\n", ":2: '' is not an edge weight"),
            ("2 1 10\n\n1 1\n", ":2: '' is not the size or weight of a node"),
        ];
        for (text, message) in cases {
            let error = open(text).unwrap_err().to_string();
            assert!(error.contains(message), "{text:?}: {error}");
        }
        assert!(read(&std::env::temp_dir(), &Options::default()).is_err(), "a folder");
    }

    #[test]
    fn every_truncation_is_an_error() {
        let text = "3 3 1\n2 5 3 5\n1 5 3 5\n1 5 2 5\n";
        // The last line may lack its line feed.
        for length in 0..text.len() - 1 {
            assert!(open(&text[..length]).is_err(), "cut to {length}");
        }
        assert_eq!(open(&text[..text.len() - 1]).unwrap().graph.edges(), 3);
    }

    #[test]
    fn a_file_is_detected_only_if_it_is_consistent_with_its_header() {
        let is_metis = |text: &str| with_file("x.txt", text, |path| recognizes(&FileHead::of(path).unwrap()));
        assert!(is_metis("3 2\n2\n1 3\n2\n"));
        assert!(is_metis("% weighted\n2 1 1\n2 4\n1 4\n"));
        for edge_list in [
            "0 1\n1 2\n",
            "1 2\n2 3\n",
            "2 1\n1 2\n2 1\n",
            // A cycle and its size: three lines and six numbers, but not neighbour lists.
            "3 3\n1 2\n2 3\n3 1\n",
            // The number of neighbours is right, but the edges are not symmetric.
            "3 1\n2\n3\n\n",
            "1 1\n1 1\n",
            "0 0\n",
            "3 2 1\n1 2 5\n2 3 5\n3 1 5\n",
        ] {
            assert!(!is_metis(edge_list), "{edge_list:?}");
        }
    }
}
