//! Whether the first line of a table of names is a header, judged by the names in the edges.
//!
//! A table of ids and class names may begin with words that no list of usual names has. Its first line is a
//! header if its id is no node and its class is that of no other row, while almost all other ids are nodes or
//! almost all other classes recur.

use crate::data::edge_list::header_note;
use crate::data::edges::Nodes;
use crate::data::ids::Places;
use crate::data::table::NodeTable;
use crate::data::{EdgeSource, Options, Parts};
use crate::{Error, NodeIds, Result};
use std::borrow::Cow;
use std::path::Path;

/// Ids that are no nodes, and classes with one member, may be one in this many.
const RARE: usize = 20;

/// Reads a table, again if its first line turns out to be a header.
pub(super) fn read(
    path: &Path,
    open: fn(&Path, &Options) -> Result<NodeTable>,
    parts: &Parts,
    options: &Options,
) -> Result<NodeTable> {
    let table = match open(path, options) {
        // With a header among the rows, a list of ids has one line less than they are.
        Err(error @ Error::Format { .. }) if options.header.is_none() => {
            let again = Options { header: Some(true), ..options.clone() };
            return open(path, &again).ok().filter(|table| table.named_by.is_some()).ok_or(error);
        }
        read => read?,
    };
    if !table.headless || !begins_with_header(&table, parts)? {
        return Ok(table);
    }
    let mut again = open(path, &Options { header: Some(true), ..options.clone() })?;
    again.notes.push(header_note(path, &first_line(&table)));
    Ok(again)
}

/// The cells of the first row: its id and its class.
fn first_line(table: &NodeTable) -> Vec<Cow<'_, str>> {
    let id = table.ids.as_ref().map(|ids| ids.name(0));
    let labels = table.labels.as_ref();
    let class = labels.and_then(|labels| labels.names()?.get(labels.of(0)? as usize));
    id.into_iter().chain(class.map(|name| Cow::Borrowed(name.as_str()))).collect()
}

fn begins_with_header(table: &NodeTable, parts: &Parts) -> Result<bool> {
    // A row of numbers is no header.
    if table.features.is_some() || !class_is_its_own(table) {
        return Ok(false);
    }
    let Some((nodes, count)) = nodes(parts)? else { return Ok(false) };
    Ok(match &table.ids {
        // One row too many.
        None => table.rows == count + 1,
        Some(ids @ NodeIds::Names(_)) if table.rows > 1 => {
            let places = Places::of(&nodes, count);
            let unknown = (1..table.rows as u32).filter(|&row| places.place(ids, row).is_none()).count();
            let few = unknown * RARE < table.rows || classes_recur(table);
            places.place(ids, 0).is_none() && few
        }
        Some(_) => false,
    })
}

/// The nodes, as far as they are known from the edges.
fn nodes(parts: &Parts) -> Result<Option<(NodeIds, usize)>> {
    Ok(match (&parts.edges, &parts.nodes) {
        (EdgeSource::Graph(graph, ids), _) => Some((ids.clone(), graph.nodes())),
        (_, Nodes::Count(count)) => Some((NodeIds::Implicit, *count)),
        (_, Nodes::Table(ids, count) | Nodes::Numbered(ids, count)) => Some((ids.clone(), *count)),
        (EdgeSource::Raw(raw), Nodes::FromEdges) => Some(raw.ids()?),
    })
}

/// Whether the first row has a class by name, which no other row has.
fn class_is_its_own(table: &NodeTable) -> bool {
    let labels = table.labels.as_ref().filter(|labels| labels.names().is_some());
    labels.and_then(|labels| Some(labels.sizes()[labels.of(0)? as usize] == 1)).unwrap_or(false)
}

/// Whether almost all other rows share their class with another.
fn classes_recur(table: &NodeTable) -> bool {
    let sizes = table.labels.as_ref().map(|labels| labels.sizes()).unwrap_or_default();
    let alone = sizes.iter().filter(|&&size| size == 1).count();
    alone.saturating_sub(1) * RARE < table.rows
}
