//! Node tables in Parquet.

use super::cells::{is_id, is_number, list_of, list_width, push_ids, push_labels, write_floats, write_lists};
use super::file::{CheckedGroup, ParquetFile};
use crate::data::table::{Column, NodeTable, Purpose, id_column, label_column, list_column, settle};
use crate::graph::MAX_NODES;
use crate::{Features, Result};

/// Reads ids, labels and features, as available.
pub(super) fn read(table: &ParquetFile, purpose: Purpose) -> Result<NodeTable> {
    let rows = table.rows();
    if rows > MAX_NODES {
        return Err(table.wrong(format!("has {rows} rows, more than the 2^31 nodes supported")));
    }
    let layout = ColumnRoles::of(table, purpose)?;
    let width = layout.values.width(table)?;
    table.budget.check_items("the features", (rows as u64).saturating_mul(width as u64), 4)?;
    table.budget.check_items("ids and labels", rows as u64, 8 * layout.named() as u64)?;
    let mut values = vec![0f32; rows * width];
    let mut rest = &mut values[..];
    let mut places = Vec::with_capacity(table.groups.len());
    for &rows in &table.groups {
        let (place, others) = rest.split_at_mut(rows * width);
        rest = others;
        places.push(place);
    }
    let read =
        table.read(&layout.columns(), places, |group, place| layout.group(table, group, place, width))?;
    let (ids, labels): (Vec<_>, Vec<_>) = read.into_iter().unzip();
    let ids = layout.id.map(|_| Column::concat(ids).into_ids(&table.path)).transpose()?;
    let labels = layout.label.map(|_| Column::concat(labels).into_labels(&table.path)).transpose()?;
    let features = layout.features(table, width, values)?;
    Ok(NodeTable { rows, ids, features, labels, notes: layout.notes, ..NodeTable::default() })
}

/// The role of each column.
struct ColumnRoles {
    id: Option<usize>,
    label: Option<usize>,
    values: Values,
    notes: Vec<String>,
}

enum Values {
    List(usize),
    Columns(Vec<usize>),
}

impl ColumnRoles {
    fn of(table: &ParquetFile, purpose: Purpose) -> Result<Self> {
        let names = table.names();
        let holds_id = |&column: &usize| is_id(table.kind(column));
        let label = label_column(&names);
        let first_text = || (!names.is_empty() && table.kind(0).is_string() && label != Some(0)).then_some(0);
        let id = id_column(&names).filter(holds_id).or_else(first_text);
        let others: Vec<usize> = (0..names.len()).filter(|&at| Some(at) != id && Some(at) != label).collect();
        let mut layout = Self { id, label, values: Values::Columns(Vec::new()), notes: Vec::new() };
        if purpose == Purpose::Labels {
            layout.label = label.or(if let [only] = others[..] { Some(only) } else { None });
            let none = || table.wrong("has no column named label, class or y");
            return layout.label.map(|_| layout).ok_or_else(none);
        }
        let lists: Vec<usize> =
            others.iter().copied().filter(|&at| list_of(table.kind(at)).is_some_and(is_number)).collect();
        let list = list_column(&names).filter(|at| lists.contains(at)).or(match lists[..] {
            [only] => Some(only),
            _ => None,
        });
        let (kept, left): (Vec<usize>, Vec<usize>) = match list {
            Some(list) => others.iter().partition(|&&at| at == list),
            None => others.iter().partition(|&&at| is_number(table.kind(at))),
        };
        layout.values = list.map_or(Values::Columns(kept), Values::List);
        let left =
            left.iter().map(|&at| format!("the column '{}' is not numeric and was ignored", names[at]));
        layout.notes = left.collect();
        Ok(layout)
    }

    fn columns(&self) -> Vec<usize> {
        self.id.into_iter().chain(self.label).chain(self.values.columns()).collect()
    }

    fn named(&self) -> usize {
        self.id.is_some() as usize + self.label.is_some() as usize
    }

    fn group(
        &self,
        table: &ParquetFile,
        group: CheckedGroup,
        place: &mut [f32],
        width: usize,
    ) -> Result<(Column<u64>, Column<i64>)> {
        let (mut ids, mut labels) = (Column::default(), Column::default());
        // About four MiB of features at a time.
        let mut batches = table.group(group, &self.columns(), ((1 << 20) / width.max(1)).clamp(64, 4096))?;
        while let Some(batch) = batches.next()? {
            self.id.map_or(Ok(()), |id| push_ids(&batch, id, &mut ids))?;
            self.label.map_or(Ok(()), |label| push_labels(&batch, label, &mut labels))?;
            let place = &mut place[batch.at * width..(batch.at + batch.rows()) * width];
            match &self.values {
                Values::List(list) => write_lists(&batch, *list, place, width)?,
                Values::Columns(columns) if batch.rows() > 0 => {
                    let mut each = columns.iter().enumerate();
                    each.try_for_each(|(at, &column)| write_floats(&batch, column, &mut place[at..], width))?;
                }
                Values::Columns(_) => {}
            }
        }
        Ok((ids, labels))
    }

    fn features(&self, table: &ParquetFile, width: usize, values: Vec<f32>) -> Result<Option<Features>> {
        match &self.values {
            Values::Columns(columns) if columns.is_empty() => Ok(None),
            _ => settle(&table.path, table.rows(), width, values).map(Some),
        }
    }
}

impl Values {
    fn columns(&self) -> Vec<usize> {
        match self {
            Self::List(list) => vec![*list],
            Self::Columns(columns) => columns.clone(),
        }
    }

    /// Number of features per row. The length of lists is known only from the first one.
    fn width(&self, table: &ParquetFile) -> Result<usize> {
        let list = match self {
            Self::Columns(columns) => return Ok(columns.len()),
            Self::List(list) => *list,
        };
        let Some(group) = table.groups.iter().position(|&rows| rows > 0) else { return Ok(0) };
        let mut batches = table.group(table.check(group, &[list])?, &[list], 1)?;
        match batches.next()? {
            Some(batch) => list_width(&batch, list),
            None => Ok(0),
        }
    }
}
