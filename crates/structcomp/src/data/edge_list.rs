//! Edge lists as text: SNAP, CSV and TSV, with or without a header, comments and weights.
//!
//! The first lines decide the layout ([`layout`]). Integer ids below 2^32 are parsed in parallel
//! ([`fast`]). If a line does not fit, the [`careful`] reader starts over: it accepts larger and text
//! ids and reports the first invalid line.

mod careful;
mod fast;
mod header;
mod layout;

use super::{
    EdgeSource, Format, Options, Parts,
    bytes::{Bytes, FileHead},
    edges::RawEdges,
};
use crate::Result;
use layout::LineLayout;
pub(crate) use layout::header_note;
use std::path::Path;

pub(crate) const FORMAT: Format = Format {
    name: "edge-list",
    about: "text with one edge per line: SNAP, CSV, TSV; # and % comments; optional weight column",
    recognizes: |head: &FileHead| {
        head.is_text() && LineLayout::of(&head.bytes, &head.path, &Options::default()).is_ok()
    },
    read,
};

fn read(path: &Path, options: &Options) -> Result<Parts> {
    let bytes = Bytes::open(path, &options.budget)?;
    let (edges, notes) = parse(&bytes, path, options)?;
    Ok(Parts { edges: EdgeSource::Raw(edges), notes, files: vec![path.to_owned()], ..Parts::default() })
}

/// The edges of a text, and notes on how it was read.
pub(crate) fn parse(text: &[u8], path: &Path, options: &Options) -> Result<(RawEdges, Vec<String>)> {
    let mut layout = LineLayout::of(text, path, options)?;
    let mut notes = std::mem::take(&mut layout.notes);
    let edges = match (layout.numeric, layout.weight) {
        (false, _) => None,
        (true, None) => layout.small(text, options, |pair, _| pair)?.map(RawEdges::Small),
        (true, Some(_)) => {
            layout.small(text, options, |pair, weight| (pair, weight))?.map(RawEdges::SmallWeighted)
        }
    };
    let edges = match edges {
        Some(edges) => edges,
        None => layout.careful(text, path, options, &mut notes)?,
    };
    Ok((edges, notes))
}

/// The edges by the fast and by the careful reader, where both may read a text; for the fuzzer, which compares them.
#[cfg(fuzzing)]
pub(crate) fn both_ways(text: &[u8], path: &Path, options: &Options) -> Option<[Result<RawEdges>; 2]> {
    let layout = LineLayout::of(text, path, options).ok().filter(|layout| layout.numeric)?;
    let small = match layout.weight {
        None => RawEdges::Small(layout.small(text, options, |pair, _| pair).ok()??),
        Some(_) => RawEdges::SmallWeighted(layout.small(text, options, |pair, weight| (pair, weight)).ok()??),
    };
    Some([Ok(small), layout.careful(text, path, options, &mut Vec::new())])
}

fn is_comment(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    line.is_empty() || line.starts_with(b"#") || line.starts_with(b"%") || line.starts_with(b"//")
}

/// Whether a field is an integer. `007` is not: it is a different id from `7`.
fn is_integer(field: &[u8]) -> bool {
    let digits = field.strip_prefix(b"-").unwrap_or(field);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) && !is_padded(digits)
}

fn is_padded(digits: &[u8]) -> bool {
    matches!(digits, [b'0', b'0'..=b'9', ..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::edges::Nodes;

    fn edges(text: &str) -> Result<Vec<(String, String)>> {
        let (raw, _) = parse(text.as_bytes(), Path::new("e.txt"), &Options::default())?;
        let resolved = raw.resolve(Nodes::FromEdges)?;
        let (graph, _) = resolved.edges.build(resolved.nodes)?;
        let name = |v| resolved.ids.name(v).into_owned();
        Ok(graph.edge_iter().map(|(u, v)| (name(u), name(v))).collect())
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|&(u, v)| (u.into(), v.into())).collect()
    }

    #[test]
    fn the_usual_dialects_give_the_same_edges() {
        let expected = pairs(&[("1", "2"), ("2", "30")]);
        for text in [
            "# SNAP\n1\t2\n2\t30\n",
            "1 2\r\n2 30\r\n",
            "  1   2\n\n2 30",
            "%c\n// c\n1,2\n30,2",
            "source,target\n1,2\n2,30\n",
            "who;whom\n1;2\n2;30\n",
            "id,target,source\n5,1,2\n6,30,2\n",
            "\"1\",\"2\"\n\"2\",\"30\"\n",
            "\u{feff}1 2\n2 30\n",
            "1\t2\t0.5\n2\t30\t1\n",
            "src dst time weight\n1 2 9 0.5\n2 30 9 2\n",
        ] {
            assert_eq!(edges(text).unwrap(), expected, "{text:?}");
        }
    }

    #[test]
    fn text_ids_and_large_ids_are_kept() {
        assert_eq!(edges("ann bob\nbob zoe\n").unwrap(), pairs(&[("ann", "bob"), ("bob", "zoe")]));
        let huge = "18446744073709551615 7\n7 4294967296\n";
        assert_eq!(edges(huge).unwrap(), pairs(&[("7", "4294967296"), ("7", "18446744073709551615")]));
    }

    #[test]
    fn padded_ids_are_text_and_empty_cells_are_no_nodes() {
        assert_eq!(edges("007 7\n7 8\n").unwrap(), pairs(&[("007", "7"), ("7", "8")]));
        assert_eq!(edges("1 2\n007 2\n").unwrap(), pairs(&[("007", "2"), ("1", "2")]));
        let text = "vim,libc\nemacs,libc\nnano,\n,\n";
        let (raw, notes) = parse(text.as_bytes(), Path::new("e"), &Options::default()).unwrap();
        assert_eq!(notes, ["2 rows with an empty cell are not edges"]);
        let (graph, ids, _) = raw.build(Nodes::FromEdges, &crate::Budget::default()).unwrap();
        assert_eq!((graph.nodes(), graph.edges(), ids.name(2)), (4, 2, "nano".into()));
        let strict = Options { strict: true, ..Options::default() };
        let error = parse(text.as_bytes(), Path::new("e"), &strict).err().unwrap().to_string();
        assert_eq!(error, "e:3: has an empty cell in place of a node id");
    }

    #[test]
    fn columns_and_headers_may_be_chosen() {
        let read = |text: &str, header, columns: [Option<&str>; 3]| {
            let [source, target, weight] = columns.map(|column| column.map(str::to_owned));
            let columns = crate::data::EdgeColumns { source, target, weight };
            let options = Options { header, columns, ..Options::default() };
            parse(text.as_bytes(), Path::new("e"), &options).map(|(raw, _)| raw)
        };
        let text = "when,who,whom\n3,ann,bob\n4,bob,eve\n";
        for columns in [[Some("who"), Some("WHOM"), Some("when")], [Some("2"), Some("3"), Some("1")]] {
            let RawEdges::Names(edges, names) = read(text, None, columns).unwrap() else { panic!("names") };
            assert_eq!((edges, names.len()), (vec![([0, 1], 3.0), ([1, 2], 4.0)], 3));
        }
        let RawEdges::Names(edges, _) = read("ann bob\nbob eve\n", Some(true), [None; 3]).unwrap() else {
            panic!()
        };
        assert_eq!(edges.len(), 1);
        assert_eq!(read("who whom\n1 2\n", Some(false), [None; 3]).unwrap().len(), 2);
        for (columns, said) in [
            ([Some("4"), None, None], "e: has no column '4'; there are 'when', 'who', 'whom'"),
            ([Some("whom"), Some("whom"), None], "e: has both ends of the edges in the same column"),
        ] {
            assert_eq!(read(text, None, columns).err().unwrap().to_string(), said);
        }
    }

    #[test]
    fn errors_name_the_line() {
        for (text, said) in [
            ("", "e.txt: contains no edges"),
            ("# only\n", "e.txt: contains no edges"),
            ("source,target\n", "e.txt: contains a header but no edges"),
            ("1\n", "e.txt:1: expected two node ids, found '1'"),
            ("1 2\n#\n3\n", "e.txt:3: expected two node ids, found '3'"),
            ("1 2\n3 -4\n", "e.txt:2: expected non-negative node ids, found '-4'"),
            ("1 2\n3 x\n", "e.txt:2: expected an integer as on the first line, found 'x'"),
            ("1 2\n3 4x\n", "e.txt:2: expected an integer as on the first line, found '4x'"),
            (
                "1 2\n3 99999999999999999999\n",
                "e.txt:2: expected node ids below 2^64, found '99999999999999999999'",
            ),
            ("a b\nc d e\n", "e.txt:2: has 3 fields, but the first line has 2"),
        ] {
            assert_eq!(edges(text).unwrap_err().to_string(), said, "{text:?}");
        }
        let error = edges("1 2 1\n2 3 -1\n").unwrap_err().to_string();
        assert!(error.starts_with("e.txt:2: edge weights must be finite"), "{error}");
    }

    #[test]
    fn a_third_column_is_a_weight_unless_weights_are_turned_off() {
        let text = b"0 1 2.5\n";
        let (raw, notes) = parse(text, Path::new("e"), &Options::default()).unwrap();
        assert!(matches!(&raw, RawEdges::SmallWeighted(edges) if edges == &[(1, 2.5)]));
        assert_eq!(notes.len(), 1);
        let options = Options { weights: false, ..Options::default() };
        assert!(matches!(parse(text, Path::new("e"), &options).unwrap().0, RawEdges::Small(_)));
    }

    #[test]
    fn long_files_give_the_same_edges_as_a_simple_reader() {
        let mut text = String::from("# head\n");
        let mut expected = Vec::new();
        for i in 0..200_000u64 {
            let (u, v) = (i * 7919 % 5000, i * 104_729 % 5000);
            text += &format!("{u}\t{v}\n");
            if i % 1000 == 0 {
                text += "# comment\n\n";
            }
            expected.push(u << 32 | v);
        }
        match parse(text.as_bytes(), Path::new("e"), &Options::default()).unwrap().0 {
            RawEdges::Small(pairs) => assert!(pairs == expected),
            _ => panic!("ids below 2^32"),
        }
    }
}
