//! Joins edges and tables by the ids of the nodes.

use crate::data::edges::{Nodes, RawEdges, enough_match};
use crate::data::id_file::{IdFile, shown};
use crate::data::ids::Places;
use crate::data::table::NodeTable;
use crate::data::{EdgeSource, Parts};
use crate::{Error, Features, Labels, NodeIds, Result};

/// Uses the rows of a table as the nodes, if that is consistent with the edges.
pub(super) fn name_nodes(parts: &mut Parts, table: &mut NodeTable, what: &str) -> Result<()> {
    if let EdgeSource::Graph(graph, ids) = &mut parts.edges {
        return match &table.ids {
            Some(own) if *ids != *own && (*ids != NodeIds::Implicit || table.named_by.is_none()) => {
                reorder(table, ids, graph.nodes())
            }
            _ if graph.nodes() != table.rows => Err(differ(what, table.rows, graph.nodes())),
            Some(own) => {
                *ids = own.clone();
                Ok(())
            }
            None => Ok(()),
        };
    }
    let EdgeSource::Raw(raw) = &parts.edges else { return Ok(()) };
    let rows = table.rows;
    parts.nodes = match (&parts.nodes, &table.ids) {
        (Nodes::Count(nodes) | Nodes::Table(_, nodes) | Nodes::Numbered(_, nodes), _) if *nodes != rows => {
            return Err(differ(what, rows, *nodes));
        }
        (Nodes::Count(_), Some(ids)) if table.named_by.is_some() => Nodes::Numbered(ids.clone(), rows),
        (_, Some(ids)) if table.named_by.is_some() && is_numbered(raw, ids, rows)? => {
            Nodes::Numbered(ids.clone(), rows)
        }
        (_, Some(ids)) => Nodes::Table(ids.clone(), rows),
        (Nodes::FromEdges, None) => {
            count_nodes(raw, rows, what)?;
            Nodes::Count(rows)
        }
        _ => return Ok(()),
    };
    Ok(())
}

fn differ(what: &str, rows: usize, nodes: usize) -> Error {
    Error::Input(format!("the {what} have {rows} rows but the graph has {nodes} nodes"))
}

/// Puts the rows of a table in the order of a graph's nodes.
fn reorder(table: &mut NodeTable, nodes: &NodeIds, count: usize) -> Result<()> {
    let rows = std::mem::take(table);
    if let (Some(labels), Some(ids)) = (&rows.labels, &rows.ids) {
        table.labels = Some(aligned(labels, ids, nodes, count)?.0);
    }
    if rows.features.is_some() {
        table.features = Some(rows_of_nodes(rows, nodes, count)?);
    }
    Ok(())
}

/// Whether edges of integers are about the places of the ids and not about the ids.
fn is_numbered(raw: &RawEdges, ids: &NodeIds, rows: usize) -> Result<bool> {
    if raw.largest_id().is_none_or(|id| id >= rows as u64) {
        return Ok(false);
    }
    let (own, count) = raw.ids()?;
    let places = Places::of(ids, rows);
    let known = (0..count as u32).filter(|&node| places.place(&own, node).is_some()).count();
    Ok(!enough_match(known, count, rows))
}

/// Rows without ids are nodes `0..rows`; the edges must not contain others.
fn count_nodes(raw: &RawEdges, rows: usize, what: &str) -> Result<()> {
    let problem = match (raw, raw.largest_id()) {
        (RawEdges::Names(..), _) => "the edges have text ids".to_owned(),
        (_, Some(id)) if id >= rows as u64 => format!("the edges contain node {id}"),
        _ => return Ok(()),
    };
    Err(Error::Input(format!(
        "{problem}, but the {what} have {rows} rows without ids (nodes 0, 1, 2 and so on); add an id column, or a \
         file with the id of each row"
    )))
}

/// The number of nodes of a graph that is complete but for their ids.
pub(super) fn nodes_without_ids(parts: &Parts) -> Option<usize> {
    match (&parts.edges, &parts.nodes) {
        (EdgeSource::Graph(graph, NodeIds::Implicit), _) => Some(graph.nodes()),
        (EdgeSource::Raw(_), Nodes::Count(nodes)) => Some(*nodes),
        _ => None,
    }
}

/// Adds the nodes of a list to those in the edges, if it is about the same nodes.
pub(super) fn add_listed(parts: &mut Parts, list: IdFile) {
    let ignored = format!("{} was ignored: its lines are not the ids of the nodes", shown(&list.path));
    let EdgeSource::Raw(raw) = &parts.edges else { return parts.notes.push(ignored) };
    let fits = matches!(parts.nodes, Nodes::FromEdges)
        && raw.ids().is_ok_and(|(own, count)| {
            let places = Places::of(&list.ids, list.count);
            (0..count as u32).all(|node| places.place(&own, node).is_some())
        });
    if !fits {
        return parts.notes.push(ignored);
    }
    parts.notes.push(list.note("nodes"));
    parts.files.push(list.path);
    parts.nodes = Nodes::Table(list.ids, list.count);
}

/// The nodes are those with labels, followed by those that occur only in the edges: label files often
/// cover only part of the nodes.
fn name_nodes_with_edges(parts: &mut Parts, ids: &NodeIds, rows: usize) -> Result<()> {
    let EdgeSource::Raw(raw) = &parts.edges else { return Ok(()) };
    let (others, count) = raw.ids()?;
    let known = Places::of(ids, rows);
    let new: Vec<u32> = (0..count as u32).filter(|&node| known.place(&others, node).is_none()).collect();
    check_labels(count - new.len(), (ids, rows), (&others, count))?;
    let total = rows + new.len();
    let all = if new.is_empty() {
        ids.clone()
    } else if let (Some(mut numbers), Some(more)) = (numbers(ids, rows), numbers(&others, count)) {
        numbers.extend(new.iter().map(|&node| more[node as usize]));
        NodeIds::from_numbers(numbers)?
    } else {
        let own = (0..rows as u32).map(|row| ids.name(row));
        let names = own.chain(new.iter().map(|&node| others.name(node)));
        NodeIds::from_names(names.map(|name| name.into_owned().into()).collect())?
    };
    parts.nodes = Nodes::Table(all, total);
    Ok(())
}

fn numbers(ids: &NodeIds, count: usize) -> Option<Vec<u64>> {
    match ids {
        NodeIds::Implicit => Some((0..count as u64).collect()),
        NodeIds::Numbers(numbers) => Some(numbers.clone()),
        NodeIds::Names(_) => None,
    }
}

/// Fails if the labels and the nodes have too few ids in common.
fn check_labels(known: usize, labels: (&NodeIds, usize), nodes: (&NodeIds, usize)) -> Result<()> {
    if enough_match(known, labels.1, nodes.1) {
        return Ok(());
    }
    let [(one, labels), (other, nodes)] = [labels, nodes].map(|(ids, count)| (ids.name(0), count));
    Err(Error::Input(format!(
        "only {known} of the {labels} ids of the labels ('{one}', …) are among the {nodes} ids of the nodes \
         ('{other}', …); do both use the same ids?"
    )))
}

/// The labels in node order. Without features, labels with ids add nodes to those in the edges.
pub(super) fn labels_of_nodes(parts: &mut Parts, table: NodeTable) -> Result<Option<Labels>> {
    let Some(labels) = table.labels else { return Ok(None) };
    let Some(ids) = table.ids else {
        let mut rows = NodeTable { rows: labels.nodes(), ..NodeTable::default() };
        let (without, with) = (rows.rows, rows.rows + table.spare);
        rows.rows = number_of_nodes(parts).map_or(without, |nodes| nodes.clamp(without, with));
        let nodes = rows.rows;
        if matches!((&parts.edges, &parts.nodes), (EdgeSource::Raw(_), Nodes::FromEdges)) {
            name_nodes(parts, &mut rows, "labels")?;
        }
        return padded(labels, nodes).map(Some);
    };
    if let (EdgeSource::Raw(_), Nodes::FromEdges) = (&parts.edges, &parts.nodes) {
        match table.named_by {
            Some(_) => {
                let mut rows = NodeTable {
                    rows: table.rows,
                    ids: Some(ids),
                    named_by: table.named_by,
                    ..NodeTable::default()
                };
                name_nodes(parts, &mut rows, "labels")?;
                return Ok(Some(labels));
            }
            None => name_nodes_with_edges(parts, &ids, table.rows)?,
        }
    }
    let (nodes, count) = match (&parts.edges, &parts.nodes) {
        (EdgeSource::Graph(graph, ids), _) => (ids, graph.nodes()),
        (_, Nodes::Table(ids, count) | Nodes::Numbered(ids, count)) => (ids, *count),
        (_, Nodes::Count(count)) => (&NodeIds::Implicit, *count),
        (_, Nodes::FromEdges) => return Err(Error::Input("labels with ids need nodes with ids".into())),
    };
    let (aligned, unknown) = aligned(&labels, &ids, nodes, count)?;
    match unknown {
        0 => {}
        1 => parts.notes.push("1 label has the id of an unknown node".into()),
        _ => parts.notes.push(format!("{unknown} labels have ids of unknown nodes")),
    }
    Ok(Some(aligned))
}

/// The number of nodes, as far as it is known; the largest id in the edges says that there are at least so many.
fn number_of_nodes(parts: &Parts) -> Option<usize> {
    match (&parts.edges, &parts.nodes) {
        (EdgeSource::Graph(graph, _), _) => Some(graph.nodes()),
        (_, Nodes::Count(count) | Nodes::Table(_, count) | Nodes::Numbered(_, count)) => Some(*count),
        (EdgeSource::Raw(raw), Nodes::FromEdges) => raw.largest_id().map(|id| id as usize + 1),
    }
}

/// Labels followed by nodes without one.
fn padded(labels: Labels, nodes: usize) -> Result<Labels> {
    let missing = nodes.saturating_sub(labels.nodes());
    named(Labels::new(labels.iter().chain(std::iter::repeat_n(None, missing)))?, &labels)
}

/// The labels in the order of the nodes, and how many have ids of none of them.
fn aligned(labels: &Labels, ids: &NodeIds, nodes: &NodeIds, count: usize) -> Result<(Labels, usize)> {
    let places = Places::of(nodes, count);
    let mut class = vec![None; count];
    let mut unknown = 0;
    for (row, of_row) in (0..).zip(labels.iter()) {
        match places.place(ids, row) {
            Some(node) => class[node as usize] = of_row,
            None => unknown += 1,
        }
    }
    let rows = labels.nodes();
    check_labels(rows - unknown, (ids, rows), (nodes, count))?;
    Ok((named(Labels::new(class)?, labels)?, unknown))
}

/// Labels with the class names of others.
fn named(labels: Labels, like: &Labels) -> Result<Labels> {
    match like.names() {
        Some(names) => labels.with_names(names.to_vec()),
        None => Ok(labels),
    }
}

/// The rows of a table in node order: by id, or as they are if they have none.
pub(crate) fn rows_of_nodes(table: NodeTable, nodes: &NodeIds, count: usize) -> Result<Features> {
    let NodeTable { ids, features, rows, .. } = table;
    let features = features.ok_or_else(|| Error::Input("has no numeric column".into()))?;
    let Some(ids) = ids.filter(|ids| *ids != *nodes || rows != count) else {
        return match rows == count {
            true => Ok(features),
            false => Err(Error::Input(format!(
                "has {rows} rows but the graph has {count} nodes; use an embedding of this graph or add ids"
            ))),
        };
    };
    let places = Places::of(&ids, rows);
    let places: Vec<Option<u32>> = (0..count as u32).map(|node| places.place(nodes, node)).collect();
    if let Some(first) = places.iter().position(Option::is_none) {
        let missing = places.iter().filter(|place| place.is_none()).count();
        let name = nodes.name(first as u32);
        return Err(Error::Input(format!("has no row for {missing} of {count} nodes, such as '{name}'")));
    }
    Ok(features.select(&places.into_iter().flatten().collect::<Vec<u32>>()))
}
