//! Detects delimiter, header and columns of an edge list from its first rows.

use super::{is_comment, is_integer};
use crate::{
    Error, Result,
    data::{
        Options,
        id_file::shown,
        text::{self, Delimiter},
    },
};
use std::{borrow::Cow, path::Path};

/// How to read the lines of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LineLayout {
    pub(super) delimiter: Delimiter,
    pub(super) columns: usize,
    pub(super) source: usize,
    pub(super) target: usize,
    pub(super) weight: Option<usize>,
    /// Whether ids are integers.
    pub(super) numeric: bool,
    /// Whether only the names of the nodes can tell if the first line is a header.
    pub(super) maybe_header: bool,
    /// Start of the first line of data.
    pub(super) body: usize,
    pub(super) notes: Vec<String>,
}

const SOURCE: &[&str] =
    &["source", "src", "from", "u", "node1", "id1", "head", "start", "fromnodeid", "node_1"];
const TARGET: &[&str] =
    &["target", "dst", "to", "v", "node2", "id2", "tail", "end", "tonodeid", "node_2", "dest"];
const WEIGHT: &[&str] = &["weight", "w", "value", "wt", "weights", "count", "strength", "similarity"];

/// Rows that must be numeric in a column for a name above them to be a header.
const ROWS: usize = 100;

type Fields<'a> = Vec<Cow<'a, [u8]>>;

impl LineLayout {
    pub(super) fn of(text: &[u8], path: &Path, options: &Options) -> Result<Self> {
        let start = if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let mut lines = text::lines(&text[start..]).filter(|(_, line)| !is_comment(line));
        let Some((first_at, first)) = lines.next() else {
            return Err(Error::format(path, "contains no edges"));
        };
        let delimiter = Delimiter::of(first);
        let head = delimiter.fields(first);
        if head.len() < 2 {
            let line = text::line_number(text, start + first_at);
            let found = text::shown(first);
            return Err(Error::at_line(path, line, format!("expected two node ids, found {found}")));
        }
        let rows: Vec<(usize, Fields)> =
            lines.take(ROWS).map(|(at, line)| (at, delimiter.fields(line))).collect();
        let head = FirstLines { path, fields: &head, rows: &rows };
        let header = head.is_header(options);
        let columns = head.columns(header == Some(true), options)?;
        let mut body = start + first_at;
        if header == Some(true) {
            let Some((second_at, _)) = rows.first() else {
                return Err(Error::format(path, "contains a header but no edges"));
            };
            body = start + second_at;
        }
        let [source, target] = columns.ends;
        let row = if header == Some(true) { &rows[0].1 } else { head.fields };
        let numeric = [source, target].iter().all(|&at| row.get(at).is_some_and(|field| is_integer(field)));
        Ok(Self {
            delimiter,
            columns: head.fields.len(),
            source,
            target,
            weight: columns.weight.filter(|_| options.weights),
            numeric,
            maybe_header: header.is_none() && !numeric,
            body,
            notes: columns.notes,
        })
    }
}

/// The first line of a file and some of the following ones.
struct FirstLines<'a> {
    path: &'a Path,
    fields: &'a [Cow<'a, [u8]>],
    rows: &'a [(usize, Fields<'a>)],
}

/// The columns of the ends and of the weights.
struct FoundColumns {
    ends: [usize; 2],
    weight: Option<usize>,
    notes: Vec<String>,
}

impl FirstLines<'_> {
    /// Whether the first line is a header; `None` if only all the names together can tell.
    fn is_header(&self, options: &Options) -> Option<bool> {
        let choice = &options.columns;
        let by_name = |column: &&String| column.parse::<usize>().is_err();
        if options.header.is_some() || choice.iter().any(|column| by_name(&column)) {
            return Some(options.header.unwrap_or(true));
        }
        if self.named_ends().is_some() {
            return Some(true);
        }
        let place = |column: &Option<String>, usual: usize| {
            column.as_ref().and_then(|column| column.parse::<usize>().ok()).map_or(usual, |at| at.max(1) - 1)
        };
        let ends = [place(&choice.source, 0), place(&choice.target, 1)];
        let integers =
            |row: &[Cow<[u8]>]| ends.iter().all(|&at| row.get(at).is_some_and(|field| is_integer(field)));
        let numeric = |&at: &usize| self.fields.get(at).is_some_and(|field| is_number(field));
        if ends.iter().any(numeric) {
            return Some(false);
        }
        let above_numbers =
            |at| !ends.contains(&at) && text::is_column_name(&self.fields[at]) && self.is_numeric(at);
        let certain = self.rows.first().is_some_and(|(_, row)| integers(row))
            || (0..self.fields.len()).any(above_numbers);
        certain.then_some(true)
    }

    /// The columns whose names say that they are the ends.
    fn named_ends(&self) -> Option<[usize; 2]> {
        let (source, target) = (self.known(SOURCE)?, self.known(TARGET)?);
        (source != target).then_some([source, target])
    }

    fn known(&self, names: &[&str]) -> Option<usize> {
        let is = |field: &Cow<[u8]>| names.iter().any(|name| field.eq_ignore_ascii_case(name.as_bytes()));
        self.fields.iter().position(is)
    }

    fn is_numeric(&self, column: usize) -> bool {
        let numeric = |(_, row): &(usize, Fields)| row.get(column).is_some_and(|field| is_number(field));
        !self.rows.is_empty() && self.rows.iter().all(numeric)
    }

    fn columns(&self, header: bool, options: &Options) -> Result<FoundColumns> {
        let choice = &options.columns;
        let choose = |column: &Option<String>, usual: Option<usize>| match column {
            Some(column) => {
                choice.find(column, &self.names()).map(Some).map_err(|what| Error::format(self.path, what))
            }
            None => Ok(usual),
        };
        let named = if header { self.named_ends() } else { None };
        let [source, target] = named.unwrap_or([0, 1]);
        let source = choose(&choice.source, Some(source))?.unwrap_or(0);
        let target = choose(&choice.target, Some(target))?.unwrap_or(1);
        if source == target {
            return Err(Error::format(self.path, "has both ends of the edges in the same column"));
        }
        let free = |at: &usize| *at != source && *at != target;
        let third = (self.fields.len() == 3).then_some(2).filter(free);
        let usual = match header {
            true => self.known(WEIGHT).filter(free),
            false => third.filter(|&at| is_number(&self.fields[at])),
        };
        let weight = choose(&choice.weight, usual)?;
        let mut notes = Vec::new();
        if header && named.is_none() && options.header.is_none() && choice.iter().next().is_none() {
            notes.extend(self.header_note());
        }
        if let Some(third) = third.filter(|_| options.weights && choice.weight.is_none()) {
            notes.extend(self.weight_note(third, weight, header));
        }
        Ok(FoundColumns { ends: [source, target], weight, notes })
    }

    /// What is said of a third column that the user has said nothing about.
    fn weight_note(&self, third: usize, weight: Option<usize>, header: bool) -> Option<String> {
        match (weight, header) {
            (Some(_), false) => {
                Some("the third column was read as edge weights (reading weights can be turned off)".into())
            }
            (None, true) if self.is_numeric(third) => Some(format!(
                "the column {} was ignored; it can be chosen as the weights",
                text::shown(&self.fields[third])
            )),
            _ => None,
        }
    }

    /// A header above integers needs no remark; one above text does.
    fn header_note(&self) -> Option<String> {
        let integers = |(_, row): &(usize, Fields)| row.iter().take(2).all(|field| is_integer(field));
        (!self.rows.first().is_some_and(integers)).then(|| header_note(self.path, &self.names()))
    }

    fn names(&self) -> Vec<String> {
        self.fields.iter().map(|field| String::from_utf8_lossy(field).into_owned()).collect()
    }
}

fn is_number(field: &[u8]) -> bool {
    text::number::<f32>(field).is_some()
}

/// What is said of a header that was found by what is in the file.
pub(crate) fn header_note(path: &Path, names: &[impl AsRef<str>]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    let (file, line) = (shown(path), names.join(", "));
    format!("{file}: the first line, '{line}', was read as a header (this can be turned off)")
}
