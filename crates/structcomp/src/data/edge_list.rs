//! Edge lists as text: SNAP, CSV and TSV, with or without a header, comments and weights.

use super::{
    EdgeSource, Format, Options, Parts,
    bytes::{Bytes, Head},
    edges::RawEdges,
    text::{self, Delimiter},
};
use crate::{Error, Result};
use rayon::prelude::*;
use std::{collections::HashMap, path::Path};

pub(crate) const FORMAT: Format = Format {
    name: "edge-list",
    about: "text, one edge a line: SNAP, CSV, TSV; # and % comments; an optional weight column",
    recognizes: |head: &Head| head.is_text() && Layout::of(&head.bytes, &head.path).is_ok(),
    read,
};

fn read(path: &Path, options: &Options) -> Result<Parts> {
    let bytes = Bytes::open(path, &options.budget)?;
    let (edges, notes) = parse(&bytes, path, options)?;
    Ok(Parts { edges: EdgeSource::Raw(edges), notes, files: vec![path.to_owned()], ..Parts::default() })
}

/// The edges of a text, and what should be said about how it was understood.
pub(crate) fn parse(text: &[u8], path: &Path, options: &Options) -> Result<(RawEdges, Vec<String>)> {
    let mut layout = Layout::of(text, path)?;
    let mut notes = Vec::new();
    if !options.weights {
        layout.weight = None;
    } else if layout.weight.is_some() && !layout.named {
        notes.push("the third column was read as edge weights (--no-weights ignores it)".into());
    }
    let edges = match (layout.numeric, layout.weight) {
        (false, _) => layout.names(text, path, options)?,
        (true, None) => match layout.small(text, options, |pair, _| pair)? {
            Some(pairs) => RawEdges::Small(pairs),
            None => layout.large(text, path, options)?,
        },
        (true, Some(_)) => match layout.small(text, options, |pair, weight| (pair, weight))? {
            Some(pairs) => RawEdges::SmallWeighted(pairs),
            None => layout.large(text, path, options)?,
        },
    };
    Ok((edges, notes))
}

/// How the lines of a file are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    delimiter: Delimiter,
    columns: usize,
    source: usize,
    target: usize,
    weight: Option<usize>,
    /// Whether ids are whole numbers.
    numeric: bool,
    /// Whether a header names the columns.
    named: bool,
    /// Where the first line of data starts.
    body: usize,
}

const SOURCE: &[&str] =
    &["source", "src", "from", "u", "node1", "id1", "head", "start", "fromnodeid", "node_1"];
const TARGET: &[&str] =
    &["target", "dst", "to", "v", "node2", "id2", "tail", "end", "tonodeid", "node_2", "dest"];
const WEIGHT: &[&str] = &["weight", "w", "value", "wt"];

fn is_comment(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    line.is_empty() || line.starts_with(b"#") || line.starts_with(b"%") || line.starts_with(b"//")
}

fn is_whole(field: &[u8]) -> bool {
    let digits = field.strip_prefix(b"-").unwrap_or(field);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

impl Layout {
    fn of(text: &[u8], path: &Path) -> Result<Self> {
        let start = if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let mut rows = text::lines(&text[start..]).filter(|(_, line)| !is_comment(line));
        let Some((first_at, first)) = rows.next() else {
            return Err(Error::format(path, "holds no edge"));
        };
        let delimiter = Delimiter::of(first);
        let head = delimiter.fields(first);
        let columns = head.len();
        if columns < 2 {
            let line = text::line_number(text, start + first_at);
            let found = text::shown(first);
            return Err(Error::at_line(path, line, format!("expected two node ids, found {found}")));
        }
        let names: Vec<String> =
            head.iter().map(|field| String::from_utf8_lossy(field).to_ascii_lowercase()).collect();
        let column = |known: &[&str]| names.iter().position(|name| known.contains(&name.as_str()));
        let (source, target) = (column(SOURCE), column(TARGET));
        let second = rows.next();
        let second_is_numeric = second.is_some_and(|(_, line)| {
            delimiter.fields(line).iter().take(2).filter(|field| is_whole(field)).count() == 2
        });
        let first_is_numeric = head.iter().take(2).all(|field| is_whole(field));
        let named = source.is_some() && target.is_some() && source != target;
        if !named && (first_is_numeric || !second_is_numeric) {
            let weight = (columns == 3 && text::number::<f32>(&head[2]).is_some()).then_some(2);
            let body = start + first_at;
            let numeric = first_is_numeric;
            return Ok(Self { delimiter, columns, source: 0, target: 1, weight, numeric, named, body });
        }
        let Some((second_at, second)) = second else {
            return Err(Error::format(path, "holds a header but no edge"));
        };
        let (source, target) = if named { (source.unwrap_or(0), target.unwrap_or(1)) } else { (0, 1) };
        let row = delimiter.fields(second);
        let numeric = [source, target].iter().all(|&at| row.get(at).is_some_and(|field| is_whole(field)));
        let weight = column(WEIGHT).filter(|&at| at != source && at != target);
        let body = start + second_at;
        Ok(Self { delimiter, columns, source, target, weight, numeric, named, body })
    }

    /// Whole numbers below 2^32, in parallel into one array; `None` if an id is larger.
    fn small<T: Copy + Default + Send + Sync>(
        &self,
        text: &[u8],
        options: &Options,
        entry: fn(u64, f32) -> T,
    ) -> Result<Option<Vec<T>>> {
        let pieces = text::pieces(&text[self.body..]);
        let rows: Vec<usize> = pieces.par_iter().map(|piece| text::line_count(piece)).collect();
        let total: usize = rows.iter().sum();
        options.budget.check_items("the edge list", total as u64, size_of::<T>() as u64)?;
        let mut edges = vec![T::default(); total];
        let mut rest = &mut edges[..];
        let mut places = Vec::with_capacity(pieces.len());
        for (piece, &count) in pieces.iter().zip(&rows) {
            let (place, others) = rest.split_at_mut(count);
            rest = others;
            places.push((*piece, place));
        }
        let used: Vec<Option<usize>> =
            places.into_par_iter().map(|(piece, place)| self.small_piece(piece, place, entry)).collect();
        // A line that did not parse may hold a large id, a quoted one or a fault: the careful
        // reader tells which.
        let Some(used): Option<Vec<usize>> = used.into_iter().collect() else { return Ok(None) };
        let (mut from, mut to) = (0, 0);
        for (count, used) in rows.into_iter().zip(used) {
            // Only where comments left gaps is there anything to move.
            if from != to {
                edges.copy_within(from..from + used, to);
            }
            from += count;
            to += used;
        }
        edges.truncate(to);
        Ok(Some(edges))
    }

    fn small_piece<T>(&self, piece: &[u8], place: &mut [T], entry: fn(u64, f32) -> T) -> Option<usize> {
        let plain = self.source == 0 && self.target == 1 && self.weight.is_none();
        let mut used = 0;
        let mut rest = piece;
        while !rest.is_empty() {
            let edge = match plain {
                true => self.plain_line(&mut rest),
                false => self.any_line(&mut rest),
            };
            match edge {
                Line::Edge(pair, weight) => {
                    place[used] = entry(pair, weight);
                    used += 1;
                }
                Line::Skip => {}
                Line::Odd => return None,
            }
        }
        Some(used)
    }

    /// Two numbers at the start of a line, whatever follows them: the common case, in one walk.
    fn plain_line(&self, rest: &mut &[u8]) -> Line {
        let line = *rest;
        let end = |at: usize| memchr::memchr(b'\n', &line[at..]).map_or(line.len(), |more| at + more + 1);
        let mut at = blanks(line, 0);
        if !line.get(at).is_some_and(u8::is_ascii_digit) {
            let stop = end(at);
            *rest = &line[stop..];
            return if is_comment(&line[..stop]) { Line::Skip } else { Line::Odd };
        }
        let Some(source) = digits(line, &mut at) else { return Line::Odd };
        let between = at;
        at = blanks(line, at);
        if let Delimiter::Byte(byte @ (b',' | b';')) = self.delimiter {
            if line.get(at) != Some(&byte) {
                return Line::Odd;
            }
            at = blanks(line, at + 1);
        }
        if at == between {
            return Line::Odd;
        }
        let Some(target) = digits(line, &mut at) else { return Line::Odd };
        *rest = match line.get(at) {
            Some(b'\n') => &line[at + 1..],
            None | Some(b'\r' | b' ' | b'\t') => &line[end(at)..],
            Some(&byte) if self.delimiter == Delimiter::Byte(byte) => &line[end(at)..],
            Some(_) => return Line::Odd,
        };
        Line::Edge((source as u64) << 32 | target as u64, 1.0)
    }

    fn any_line(&self, rest: &mut &[u8]) -> Line {
        let line = *rest;
        let end = memchr::memchr(b'\n', line).map_or(line.len(), |at| at + 1);
        *rest = &line[end..];
        if is_comment(&line[..end]) {
            return Line::Skip;
        }
        let fields = self.delimiter.fields(line[..end].trim_ascii_end());
        let id = |at: usize| fields.get(at).and_then(|field| text::number::<u32>(field));
        let weight = match self.weight {
            None => Some(1.0),
            Some(at) => fields
                .get(at)
                .and_then(|field| text::number::<f32>(field))
                .filter(|w| *w >= 0.0 && w.is_finite()),
        };
        match (id(self.source), id(self.target), weight) {
            (Some(u), Some(v), Some(weight)) => Line::Edge((u as u64) << 32 | v as u64, weight),
            _ => Line::Odd,
        }
    }

    /// Whole numbers of any size, with an error for the first line that has none.
    fn large(&self, text: &[u8], path: &Path, options: &Options) -> Result<RawEdges> {
        let mut edges = Vec::new();
        self.each_row(text, path, |line, fields| {
            let id = |at: usize| {
                let field: &[u8] = &fields[at];
                text::number::<u64>(field).ok_or_else(|| {
                    let found = text::shown(field);
                    let why = match field.first() {
                        Some(b'-') if is_whole(field) => "node ids cannot be negative".to_owned(),
                        _ if is_whole(field) => "node ids must be below 2^64".to_owned(),
                        _ => "expected a whole number as on the first line".to_owned(),
                    };
                    Error::at_line(path, line, format!("{why}, found {found}"))
                })
            };
            edges.push(([id(self.source)?, id(self.target)?], self.weight_of(fields, path, line)?));
            options.budget.check_items("the edge list", edges.len() as u64, 24)
        })?;
        Ok(RawEdges::Large(edges))
    }

    /// Ids that are text.
    fn names(&self, text: &[u8], path: &Path, options: &Options) -> Result<RawEdges> {
        let mut places: HashMap<Vec<u8>, u32> = HashMap::new();
        let mut names: Vec<Box<str>> = Vec::new();
        let mut edges = Vec::new();
        let mut held = 0;
        self.each_row(text, path, |line, fields| {
            if fields.len() != self.columns {
                let (found, first) = (fields.len(), self.columns);
                return Err(Error::at_line(
                    path,
                    line,
                    format!("has {found} fields where the first line has {first}"),
                ));
            }
            let mut ends = [0; 2];
            for (end, at) in ends.iter_mut().zip([self.source, self.target]) {
                let field: &[u8] = &fields[at];
                *end = match places.get(field) {
                    Some(&place) => place,
                    None => {
                        let name = text::utf8(field, path, line)?;
                        let place = names.len() as u32;
                        places.insert(field.to_vec(), place);
                        names.push(name.into());
                        held += 2 * field.len() as u64 + 64;
                        place
                    }
                };
            }
            edges.push((ends, self.weight_of(fields, path, line)?));
            options.budget.check("the edge list", held + 12 * edges.len() as u64)
        })?;
        Ok(RawEdges::Names(edges, names))
    }

    fn weight_of(&self, fields: &[std::borrow::Cow<'_, [u8]>], path: &Path, line: u64) -> Result<f32> {
        let Some(at) = self.weight else { return Ok(1.0) };
        let weight = fields.get(at).and_then(|field| text::number::<f32>(field));
        weight.filter(|weight| weight.is_finite() && *weight >= 0.0).ok_or_else(|| {
            let found = fields.get(at).map_or_else(String::new, |field| text::shown(field));
            let what = format!("edge weights must be numbers, finite and not negative, found {found}; --no-weights ignores them");
            Error::at_line(path, line, what)
        })
    }

    /// Calls `see` with the line number and fields of every row that is not a comment.
    fn each_row(
        &self,
        text: &[u8],
        path: &Path,
        mut see: impl FnMut(u64, &[std::borrow::Cow<'_, [u8]>]) -> Result<()>,
    ) -> Result<()> {
        let first = text::line_number(text, self.body);
        for (number, (_, line)) in (first..).zip(text::lines(&text[self.body..])) {
            if !is_comment(line) {
                let fields = self.delimiter.fields(line);
                if fields.len() <= self.source.max(self.target) {
                    let found = text::shown(line);
                    return Err(Error::at_line(
                        path,
                        number,
                        format!("expected two node ids, found {found}"),
                    ));
                }
                see(number, &fields)?;
            }
        }
        Ok(())
    }
}

enum Line {
    Edge(u64, f32),
    Skip,
    Odd,
}

#[inline(always)]
fn blanks(line: &[u8], mut at: usize) -> usize {
    while matches!(line.get(at), Some(b' ' | b'\t')) {
        at += 1;
    }
    at
}

/// The number at `at`, if it is below 2^32; `at` moves behind it.
#[inline(always)]
fn digits(line: &[u8], at: &mut usize) -> Option<u32> {
    let start = *at;
    let (mut number, length) = line.get(start..)?.first_chunk().map_or((0, 0), eight_digits);
    *at += length;
    // What eight bytes do not hold, or the last bytes of a text, one by one.
    if length == 8 || *at + 8 > line.len() {
        while let Some(digit) = line.get(*at).map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit < 10)
        {
            number = number.saturating_mul(10).saturating_add(digit as u64);
            *at += 1;
        }
    }
    u32::try_from(number).ok().filter(|_| *at > start)
}

/// The number that the digits at the front of eight bytes make, and how many they are.
///
/// All at once and without a branch: how long an id is cannot be foreseen, and a wrong guess costs
/// more than the rest.
#[inline(always)]
fn eight_digits(bytes: &[u8; 8]) -> (u64, usize) {
    let values = u64::from_le_bytes(*bytes) ^ 0x3030_3030_3030_3030;
    // The top bit of a byte that is no digit: over nine, or over 127 to begin with.
    let over_nine = (values & 0x7f7f_7f7f_7f7f_7f7f) + 0x7676_7676_7676_7676;
    let others = (over_nine | values) & 0x8080_8080_8080_8080;
    let length = (others.trailing_zeros() / 8) as usize;
    if length == 0 {
        return (0, 0);
    }
    // Zeros in front, then neighbours are joined: digits to pairs, pairs to fours, fours to eight.
    let aligned = values << (64 - 8 * length);
    let pairs = (aligned * 10 + (aligned >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    let number = (fours * 10_000 + (fours >> 32)) & 0xffff_ffff;
    (number, length)
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
    fn numbers_of_every_length_are_read_as_by_the_standard_library() {
        for number in [
            0,
            7,
            42,
            999,
            1234,
            98765,
            100_000,
            7_654_321,
            12_345_678,
            987_654_321,
            u32::MAX as u64,
            1 << 32,
            u64::MAX,
        ] {
            for tail in ["", "\n", " 1", ",", "\t99999999", "x", "/", ":", "\u{80}"] {
                let text = format!("{number}{tail}");
                let mut at = 0;
                assert_eq!(digits(text.as_bytes(), &mut at), u32::try_from(number).ok(), "{text}");
                assert_eq!(at, number.to_string().len(), "{text}");
            }
        }
        for none in ["", "-1", " 1", "a"] {
            assert_eq!(digits(none.as_bytes(), &mut 0), None);
        }
    }

    #[test]
    fn text_and_huge_ids_come_back() {
        assert_eq!(edges("ann bob\nbob zoe\n").unwrap(), pairs(&[("ann", "bob"), ("bob", "zoe")]));
        let huge = "18446744073709551615 7\n7 4294967296\n";
        assert_eq!(edges(huge).unwrap(), pairs(&[("7", "4294967296"), ("7", "18446744073709551615")]));
    }

    #[test]
    fn faults_name_their_line() {
        for (text, said) in [
            ("", "e.txt: holds no edge"),
            ("# only\n", "e.txt: holds no edge"),
            ("source,target\n", "e.txt: holds a header but no edge"),
            ("1\n", "e.txt:1: expected two node ids, found '1'"),
            ("1 2\n#\n3\n", "e.txt:3: expected two node ids, found '3'"),
            ("1 2\n3 -4\n", "e.txt:2: node ids cannot be negative, found '-4'"),
            ("1 2\n3 x\n", "e.txt:2: expected a whole number as on the first line, found 'x'"),
            ("1 2\n3 4x\n", "e.txt:2: expected a whole number as on the first line, found '4x'"),
            (
                "1 2\n3 99999999999999999999\n",
                "e.txt:2: node ids must be below 2^64, found '99999999999999999999'",
            ),
            ("a b\nc d e\n", "e.txt:2: has 3 fields where the first line has 2"),
        ] {
            assert_eq!(edges(text).unwrap_err().to_string(), said, "{text:?}");
        }
        let error = edges("1 2 1\n2 3 -1\n").unwrap_err().to_string();
        assert!(
            error.starts_with("e.txt:2: edge weights must be numbers") && error.contains("--no-weights"),
            "{error}"
        );
    }

    #[test]
    fn a_third_column_is_a_weight_unless_refused() {
        let text = b"0 1 2.5\n";
        let (raw, notes) = parse(text, Path::new("e"), &Options::default()).unwrap();
        assert!(matches!(&raw, RawEdges::SmallWeighted(edges) if edges == &[(1, 2.5)]));
        assert_eq!(notes.len(), 1);
        let options = Options { weights: false, ..Options::default() };
        assert!(matches!(parse(text, Path::new("e"), &options).unwrap().0, RawEdges::Small(_)));
    }

    #[test]
    fn long_files_read_as_a_simple_reader_would() {
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
            _ => panic!("small numbers"),
        }
    }
}
