//! Sequential reader for ids of any kind. It reports the first invalid line.

use super::{is_comment, is_integer, layout::LineLayout};
use crate::{
    Error, Result,
    data::{Options, edges::RawEdges, text},
};
use std::{borrow::Cow, collections::HashMap, path::Path};

impl LineLayout {
    /// Integer ids below 2^64.
    pub(super) fn large(&self, text: &[u8], path: &Path, options: &Options) -> Result<RawEdges> {
        let mut edges = Vec::new();
        self.each_row(text, path, |line, fields| {
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
        Ok(RawEdges::Large(edges))
    }

    /// Text ids.
    pub(super) fn names(&self, text: &[u8], path: &Path, options: &Options) -> Result<RawEdges> {
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
                    format!("has {found} fields, but the first line has {first}"),
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
