//! Detects delimiter, header and columns of an edge list from its first two rows.

use super::{is_comment, is_integer};
use crate::{
    Error, Result,
    data::text::{self, Delimiter},
};
use std::path::Path;

/// How to read the lines of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineLayout {
    pub(super) delimiter: Delimiter,
    pub(super) columns: usize,
    pub(super) source: usize,
    pub(super) target: usize,
    pub(super) weight: Option<usize>,
    /// Whether ids are integers.
    pub(super) numeric: bool,
    /// Whether the columns were found by their names.
    pub(super) named: bool,
    /// Start of the first line of data.
    pub(super) body: usize,
}

const SOURCE: &[&str] =
    &["source", "src", "from", "u", "node1", "id1", "head", "start", "fromnodeid", "node_1"];
const TARGET: &[&str] =
    &["target", "dst", "to", "v", "node2", "id2", "tail", "end", "tonodeid", "node_2", "dest"];
const WEIGHT: &[&str] = &["weight", "w", "value", "wt"];

impl LineLayout {
    pub(super) fn of(text: &[u8], path: &Path) -> Result<Self> {
        let start = if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let mut rows = text::lines(&text[start..]).filter(|(_, line)| !is_comment(line));
        let Some((first_at, first)) = rows.next() else {
            return Err(Error::format(path, "contains no edges"));
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
            delimiter.fields(line).iter().take(2).filter(|field| is_integer(field)).count() == 2
        });
        let first_is_numeric = head.iter().take(2).all(|field| is_integer(field));
        let named = source.is_some() && target.is_some() && source != target;
        if !named && (first_is_numeric || !second_is_numeric) {
            let weight = (columns == 3 && text::number::<f32>(&head[2]).is_some()).then_some(2);
            let body = start + first_at;
            let numeric = first_is_numeric;
            return Ok(Self { delimiter, columns, source: 0, target: 1, weight, numeric, named, body });
        }
        let Some((second_at, second)) = second else {
            return Err(Error::format(path, "contains a header but no edges"));
        };
        let (source, target) = if named { (source.unwrap_or(0), target.unwrap_or(1)) } else { (0, 1) };
        let row = delimiter.fields(second);
        let numeric = [source, target].iter().all(|&at| row.get(at).is_some_and(|field| is_integer(field)));
        let weight = column(WEIGHT).filter(|&at| at != source && at != target);
        let body = start + second_at;
        Ok(Self { delimiter, columns, source, target, weight, numeric, named, body })
    }
}
