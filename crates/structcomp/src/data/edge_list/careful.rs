//! Sequential reader for ids of any kind. It reports the first invalid line.

use super::header::is_header;
use super::layout::{LineLayout, header_note};
use super::{is_comment, is_integer, is_padded};
use crate::{
    Error, Result,
    data::{
        EdgesByName, Options,
        edges::{LargeEdge, RawEdges},
        text,
    },
};
use std::{borrow::Cow, path::Path};

impl LineLayout {
    /// Ids of any kind.
    pub(super) fn careful(
        &self,
        text: &[u8],
        path: &Path,
        options: &Options,
        notes: &mut Vec<String>,
    ) -> Result<RawEdges> {
        if self.numeric
            && let Some(edges) = self.large(text, path, options)?
        {
            return Ok(RawEdges::Large(edges));
        }
        let mut read = RowsRead::default();
        self.each_row(text, path, |line, fields| {
            if fields.len() != self.columns {
                let (found, first) = (fields.len(), self.columns);
                let what = format!("has {found} fields, but the first line has {first}");
                return Err(Error::at_line(path, line, what));
            }
            let ends: [&[u8]; 2] = [&fields[self.source], &fields[self.target]];
            if ends.iter().any(|end| end.is_empty()) && options.strict {
                return Err(Error::at_line(path, line, "has an empty cell in place of a node id"));
            }
            let ends = [read.place(ends[0], path, line)?, read.place(ends[1], path, line)?];
            match ends {
                [Some(u), Some(v)] => read.list.edges.push(([u, v], self.weight_of(fields, path, line)?)),
                _ => {
                    read.begins_alone |= read.list.edges.is_empty();
                    read.alone.push(ends[0].or(ends[1]));
                }
            }
            options.budget.check("the edge list", read.list.bytes())
        })?;
        Ok(read.finish(self, path, notes))
    }

    /// Integer ids below 2^64; `None` if one has leading zeros, so that the ids are text.
    pub(super) fn large(
        &self,
        text: &[u8],
        path: &Path,
        options: &Options,
    ) -> Result<Option<Vec<LargeEdge>>> {
        let mut edges = Vec::new();
        let mut padded = false;
        self.each_row(text, path, |line, fields| {
            let ends = [self.source, self.target];
            padded |=
                ends.iter().any(|&at| fields[at].iter().all(u8::is_ascii_digit) && is_padded(&fields[at]));
            if padded {
                return Ok(());
            }
            let id = |at: usize| {
                let field: &[u8] = &fields[at];
                text::number::<u64>(field).ok_or_else(|| {
                    let found = text::shown(field);
                    let why = match field.first() {
                        Some(b'-') if is_integer(field) => "expected non-negative node ids".to_owned(),
                        _ if is_integer(field) => "expected node ids below 2^64".to_owned(),
                        _ => "expected an integer as on the first line".to_owned(),
                    };
                    Error::at_line(path, line, format!("{why}, found {found}"))
                })
            };
            edges.push(([id(self.source)?, id(self.target)?], self.weight_of(fields, path, line)?));
            options.budget.check_items("the edge list", edges.len() as u64, 24)
        })?;
        Ok((!padded).then_some(edges))
    }

    fn weight_of(&self, fields: &[Cow<'_, [u8]>], path: &Path, line: u64) -> Result<f32> {
        let Some(at) = self.weight else { return Ok(1.0) };
        let weight = fields.get(at).and_then(|field| text::number::<f32>(field));
        weight.filter(|weight| weight.is_finite() && *weight >= 0.0).ok_or_else(|| {
            let found = fields.get(at).map_or_else(String::new, |field| text::shown(field));
            let what = format!(
                "edge weights must be finite and non-negative, found {found}; turn weights off to ignore them"
            );
            Error::at_line(path, line, what)
        })
    }

    /// Calls `see` with line number and fields of every row that is not a comment.
    fn each_row(
        &self,
        text: &[u8],
        path: &Path,
        mut see: impl FnMut(u64, &[Cow<'_, [u8]>]) -> Result<()>,
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

/// What has been read so far.
#[derive(Default)]
struct RowsRead {
    list: EdgesByName,
    /// One per row with an empty cell: the node in the other cell, if there is one.
    alone: Vec<Option<u32>>,
    /// Whether such a row comes before the first edge.
    begins_alone: bool,
}

impl RowsRead {
    /// The place of a name in the list; `None` for an empty one, which is not a node.
    fn place(&mut self, name: &[u8], path: &Path, line: u64) -> Result<Option<u32>> {
        let name = text::utf8(name, path, line)?;
        Ok((!name.is_empty()).then(|| self.list.place(name)))
    }

    fn finish(self, layout: &LineLayout, path: &Path, notes: &mut Vec<String>) -> RawEdges {
        let EdgesByName { mut names, mut edges, .. } = self.list;
        let alone: Vec<u32> = self.alone.iter().flatten().copied().collect();
        let maybe_header = layout.maybe_header && !self.begins_alone;
        if maybe_header && is_header(&edges, &names, &alone, layout.delimiter) {
            edges.remove(0);
            edges.iter_mut().for_each(|(ends, _)| *ends = ends.map(|end| end - 2));
            notes.push(header_note(path, &names.drain(..2).collect::<Vec<_>>()));
        }
        match self.alone.len() {
            0 => {}
            1 => notes.push("1 row with an empty cell is not an edge".into()),
            many => notes.push(format!("{many} rows with an empty cell are not edges")),
        }
        RawEdges::Names(edges, names)
    }
}
