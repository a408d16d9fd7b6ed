//! Converts Arrow arrays to the numbers and strings of tables.

use super::file::RowGroup;
use crate::data::table::{Cell, Column};
use crate::{Error, Result};
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrowPrimitiveType, StringArray};
use arrow_schema::DataType;

/// Whether a column can contain ids.
pub(super) fn is_id(kind: &DataType) -> bool {
    kind.is_integer() || *kind == DataType::Utf8
}

/// Whether a column can be a feature.
pub(super) fn is_number(kind: &DataType) -> bool {
    kind.is_integer() || kind.is_floating() || *kind == DataType::Boolean
}

/// The item type of a list.
pub(super) fn list_of(kind: &DataType) -> Option<&DataType> {
    match kind {
        DataType::List(item) => Some(item.data_type()),
        _ => None,
    }
}

pub(super) enum Ids<'a> {
    Numbers(Vec<u64>),
    Texts(&'a StringArray),
}

pub(super) fn ids<'a>(batch: &'a RowGroup, column: usize) -> Result<Ids<'a>> {
    let array = complete(batch, column)?;
    if let Some(texts) = array.as_string_opt::<i32>() {
        return Ok(Ids::Texts(texts));
    }
    let numbers = integers(array).ok_or_else(|| unfit(batch, column, array, "integers or text"))?;
    let natural = |(row, number): (usize, i128)| {
        u64::try_from(number).map_err(|_| batch.wrong(column, row, &format!("the id {number} is negative")))
    };
    numbers.into_iter().enumerate().map(natural).collect::<Result<_>>().map(Ids::Numbers)
}

pub(super) fn push_ids(batch: &RowGroup, column: usize, out: &mut Column<u64>) -> Result<()> {
    match ids(batch, column)? {
        Ids::Numbers(numbers) => numbers.into_iter().for_each(|number| out.push_number(number)),
        Ids::Texts(texts) => {
            batch.table.keep(texts.len(), texts.value_data().len())?;
            texts.iter().flatten().for_each(|text| out.push(text));
        }
    }
    Ok(())
}

/// Appends the labels of a batch; null and NaN mean unlabelled.
pub(super) fn push_labels(batch: &RowGroup, column: usize, out: &mut Column<i64>) -> Result<()> {
    let array = batch.column(column)?;
    if let Some(texts) = array.as_string_opt::<i32>() {
        batch.table.keep(texts.len(), texts.value_data().len())?;
        texts.iter().for_each(|text| out.push(text.unwrap_or("")));
        return Ok(());
    }
    let classes: Option<Vec<f64>> = match integers(array) {
        Some(numbers) => Some(numbers.into_iter().map(|number| number as f64).collect()),
        None => doubles(array),
    };
    let classes = classes.ok_or_else(|| unfit(batch, column, array, "integers or text"))?;
    for (row, class) in classes.into_iter().enumerate() {
        let class = if array.is_null(row) { -1.0 } else { class };
        let read = i64::read(&class.to_string());
        out.push_number(read.ok_or_else(|| batch.wrong(column, row, &format!("{class} is not a class")))?);
    }
    Ok(())
}

/// Writes a numeric column to every `step`-th item of `out`.
pub(super) fn write_floats(batch: &RowGroup, column: usize, out: &mut [f32], step: usize) -> Result<()> {
    let array = complete(batch, column)?;
    let values = floats(array).ok_or_else(|| unfit(batch, column, array, "numbers"))?;
    out.iter_mut().step_by(step).zip(&values).for_each(|(place, &value)| *place = value);
    finite(batch, column, &values, 1)
}

/// Length of the list in the first row of a batch.
pub(super) fn list_width(batch: &RowGroup, column: usize) -> Result<usize> {
    let list = complete(batch, column)?.as_list_opt::<i32>();
    Ok(list.filter(|list| !list.is_empty()).map_or(0, |list| list.value_length(0) as usize))
}

/// Writes a list column, all lists of length `width`, one after the other.
pub(super) fn write_lists(batch: &RowGroup, column: usize, out: &mut [f32], width: usize) -> Result<()> {
    let array = complete(batch, column)?;
    let list = array.as_list_opt::<i32>().ok_or_else(|| unfit(batch, column, array, "lists"))?;
    let offsets = list.value_offsets();
    let length = |row: usize| (offsets[row + 1] - offsets[row]) as usize;
    if let Some(row) = (0..list.len()).find(|&row| length(row) != width) {
        let what = format!("has a list of {} numbers, but the first list has {width}", length(row));
        return Err(batch.wrong(column, row, &what));
    }
    let items = list.values().slice(offsets[0] as usize, list.len() * width);
    if let Some(at) = first_null(&items) {
        return Err(batch.wrong(column, at / width, "has a null in a list"));
    }
    let values = floats(&items).ok_or_else(|| unfit(batch, column, array, "lists of numbers"))?;
    out.copy_from_slice(&values);
    finite(batch, column, &values, width)
}

/// A column without nulls.
fn complete<'a>(batch: &'a RowGroup, column: usize) -> Result<&'a dyn Array> {
    let array = batch.column(column)?;
    match first_null(array) {
        None => Ok(array),
        Some(row) => Err(batch.wrong(column, row, "is null")),
    }
}

fn first_null(array: &dyn Array) -> Option<usize> {
    if array.null_count() == 0 { None } else { (0..array.len()).find(|&row| array.is_null(row)) }
}

fn finite(batch: &RowGroup, column: usize, values: &[f32], width: usize) -> Result<()> {
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(at) => {
            let what = format!("{} is not a finite 32-bit number", values[at]);
            Err(batch.wrong(column, at / width, &what))
        }
    }
}

fn unfit(batch: &RowGroup, column: usize, array: &dyn Array, wanted: &str) -> Error {
    batch.wrong(column, 0, &format!("has type {}; expected {wanted}", array.data_type()))
}

fn map<T: ArrowPrimitiveType, R>(array: &dyn Array, convert: impl Fn(T::Native) -> R) -> Vec<R> {
    array.as_primitive::<T>().values().iter().map(|&value| convert(value)).collect()
}

/// Dispatches on the integer type of an array.
macro_rules! of_integers {
    ($array:expr, $convert:expr) => {
        match $array.data_type() {
            DataType::Int8 => Some(map::<Int8Type, _>($array, $convert)),
            DataType::Int16 => Some(map::<Int16Type, _>($array, $convert)),
            DataType::Int32 => Some(map::<Int32Type, _>($array, $convert)),
            DataType::Int64 => Some(map::<Int64Type, _>($array, $convert)),
            DataType::UInt8 => Some(map::<UInt8Type, _>($array, $convert)),
            DataType::UInt16 => Some(map::<UInt16Type, _>($array, $convert)),
            DataType::UInt32 => Some(map::<UInt32Type, _>($array, $convert)),
            DataType::UInt64 => Some(map::<UInt64Type, _>($array, $convert)),
            _ => None,
        }
    };
}

fn integers(array: &dyn Array) -> Option<Vec<i128>> {
    of_integers!(array, |value| value as i128)
}

fn doubles(array: &dyn Array) -> Option<Vec<f64>> {
    match array.data_type() {
        DataType::Float16 => Some(map::<Float16Type, _>(array, |value| value.to_f64())),
        DataType::Float32 => Some(map::<Float32Type, _>(array, |value| value as f64)),
        DataType::Float64 => Some(map::<Float64Type, _>(array, |value| value)),
        _ => None,
    }
}

fn floats(array: &dyn Array) -> Option<Vec<f32>> {
    match array.data_type() {
        DataType::Float32 => Some(array.as_primitive::<Float32Type>().values().to_vec()),
        DataType::Boolean => Some(array.as_boolean().values().iter().map(|bit| bit as u8 as f32).collect()),
        _ => of_integers!(array, |value| value as f32)
            .or_else(|| doubles(array).map(|values| values.iter().map(|&value| value as f32).collect())),
    }
}
