//! Tables of pandas, polars, pyarrow, duckdb and others, through Arrow's C stream interface.

use crate::arrays::Reals;
use crate::edges::Listed;
use crate::names::NamedList;
use crate::{stream::taken, workers::work};
use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::{Float16Type, Float32Type, Float64Type, Int64Type};
use arrow_array::{Array, RecordBatch, RecordBatchReader, downcast_integer_array};
use arrow_schema::DataType;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use rayon::prelude::*;
use std::borrow::Cow;
use structcomp::{Error, Result};

/// A table of numbers as a matrix of 32-bit floats.
#[pyfunction]
#[pyo3(signature = (stream, what, *, n_columns=None, n_threads=None))]
pub(crate) fn table<'py>(
    py: Python<'py>,
    stream: &Bound<'py, PyCapsule>,
    what: &str,
    n_columns: Option<usize>,
    n_threads: Option<i64>,
) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let stream = taken(stream)?;
    let (rows, width, values) = work(py, n_threads, || {
        let (batches, width) = open(stream, n_columns)?;
        let (mut rows, mut values) = (0, Vec::new());
        for batch in batches {
            let batch = batch.map_err(unreadable)?;
            let columns = (0..width).into_par_iter().map(|at| Column::of(&batch, at, what)?.floats());
            let columns = columns.collect::<Result<Vec<_>>>()?;
            rows += batch.num_rows();
            let start = values.len();
            values.resize(rows * width, 0.0);
            interleave(&columns, &mut values[start..]);
        }
        Ok((rows, width, values))
    })?;
    PyArray1::from_vec(py, values).reshape([rows, width])
}

/// The edges of a table.
pub(crate) enum TableEdges {
    Numbers(Listed),
    Names(NamedList),
}

/// The edges of a table: two columns with their ends, and an optional third with weights.
pub(crate) fn edges(stream: FFI_ArrowArrayStream, n_columns: Option<usize>) -> Result<TableEdges> {
    let (batches, width) = open(stream, n_columns)?;
    if !(2..=3).contains(&width) {
        let what = format!("an edge table has two columns, or three with weights, not {width}");
        return Err(Error::Input(what));
    }
    let schema = batches.schema();
    let named = (0..2).any(|at| is_text(schema.field(at).data_type()));
    let (mut listed, mut names) = (Listed::new(width == 3), NamedList::default());
    for batch in batches {
        let batch = batch.map_err(unreadable)?;
        let weights = || (width == 3).then(|| Column::of(&batch, 2, "weights")?.floats()).transpose();
        if named {
            let ends = |at| Column::of(&batch, at, "edges")?.texts();
            let (sources, targets, weights) = (ends(0)?, ends(1)?, weights()?);
            let [sources, targets] = [&sources, &targets].map(|ends| ends.iter().map(String::as_str));
            names.add(sources, targets, weights.as_deref())?;
        } else {
            let ends = |at| Column::of(&batch, at, "edges")?.whole();
            let (sources, targets, weights) = (ends(0)?, ends(1)?, weights()?);
            listed.add(&sources, &targets, weights.as_deref().map(Reals::Single))?;
        }
    }
    Ok(if named { TableEdges::Names(names) } else { TableEdges::Numbers(listed) })
}

fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, values) => is_text(values),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        _ => false,
    }
}

/// The batches of a table, and how many columns to read: pandas adds its index after the first `n_columns`.
fn open(stream: FFI_ArrowArrayStream, n_columns: Option<usize>) -> Result<(RecordBatchStreamReader, usize)> {
    let batches = RecordBatchStreamReader::try_new(stream).map_err(unreadable)?;
    let width = batches.schema().fields().len();
    Ok((batches, n_columns.map_or(width, |count| count.min(width))))
}

fn unreadable(error: arrow_schema::ArrowError) -> Error {
    Error::Input(format!("cannot read the table: {error}"))
}

/// Turns columns into rows.
fn interleave(columns: &[Cow<'_, [f32]>], rows: &mut [f32]) {
    // Few enough rows for the cache lines of all of them to stay in cache.
    const ROWS: usize = 64;
    let width = columns.len().max(1);
    rows.par_chunks_mut(ROWS * width).enumerate().for_each(|(block, rows)| {
        for (at, column) in columns.iter().enumerate() {
            let places = rows[at..].iter_mut().step_by(width);
            places.zip(&column[block * ROWS..]).for_each(|(place, &value)| *place = value);
        }
    });
}

/// A column of a batch, without nulls.
struct Column<'a> {
    numbers: &'a dyn Array,
    what: &'a str,
}

impl<'a> Column<'a> {
    fn of(batch: &'a RecordBatch, at: usize, what: &'a str) -> Result<Self> {
        let numbers = &**batch.column(at);
        match numbers.logical_null_count() {
            0 => Ok(Self { numbers, what }),
            nulls => {
                let (name, many) = (batch.schema_ref().field(at).name(), if nulls == 1 { "" } else { "s" });
                Err(Error::Input(format!(
                    "{what}: column '{name}' has {nulls} null{many}; drop or fill them"
                )))
            }
        }
    }

    fn whole(&self) -> Result<Cow<'a, [i64]>> {
        let (array, what) = (self.numbers, self.what);
        if let Some(wide) = array.as_primitive_opt::<Int64Type>() {
            return Ok(Cow::Borrowed(wide.values()));
        }
        let fits = |number: i128| {
            let large = |_| Error::Input(format!("invalid {what}: {number} is too large"));
            i64::try_from(number).map_err(large)
        };
        downcast_integer_array!(
            array => array.values().par_iter().map(|&number| fits(number as i128)).collect(),
            DataType::Dictionary(..) => self.picked(Self::whole),
            other => Err(Error::Input(format!(
                "{what} must be integers, not {}",
                other.to_string().to_lowercase()
            ))),
        )
    }

    /// Text, or whole numbers as text.
    fn texts(&self) -> Result<Vec<String>> {
        let text = |value: Option<&str>| value.unwrap_or_default().to_owned();
        Ok(match self.numbers.data_type() {
            DataType::Utf8 => self.numbers.as_string::<i32>().iter().map(text).collect(),
            DataType::LargeUtf8 => self.numbers.as_string::<i64>().iter().map(text).collect(),
            DataType::Utf8View => self.numbers.as_string_view().iter().map(text).collect(),
            DataType::Dictionary(..) => {
                let dictionary = self.numbers.as_any_dictionary();
                if dictionary.is_empty() {
                    return Ok(Vec::new());
                }
                let entries = Self { numbers: dictionary.values(), ..*self }.texts()?;
                dictionary.normalized_keys().into_iter().map(|key| entries[key].clone()).collect()
            }
            _ => self.whole()?.iter().map(i64::to_string).collect(),
        })
    }

    fn floats(&self) -> Result<Cow<'a, [f32]>> {
        let (array, what) = (self.numbers, self.what);
        downcast_integer_array!(
            array => Ok(array.values().par_iter().map(|&number| number as f32).collect()),
            DataType::Float16 => {
                let halves = array.as_primitive::<Float16Type>().values();
                Ok(halves.par_iter().map(|half| half.to_f32()).collect())
            }
            DataType::Float32 => Ok(Cow::Borrowed(array.as_primitive::<Float32Type>().values())),
            DataType::Float64 => {
                let doubles = array.as_primitive::<Float64Type>().values();
                Ok(doubles.par_iter().map(|&double| double as f32).collect())
            }
            DataType::Boolean => Ok(array.as_boolean().values().iter().map(|bit| bit as u8 as f32).collect()),
            DataType::Dictionary(..) => self.picked(Self::floats),
            other => Err(Error::Input(format!(
                "{what} must be numbers, not {}",
                other.to_string().to_lowercase()
            ))),
        )
    }

    /// The values of a dictionary column.
    fn picked<T: Copy>(&self, read: impl Fn(&Self) -> Result<Cow<'a, [T]>>) -> Result<Cow<'a, [T]>> {
        let dictionary = self.numbers.as_any_dictionary();
        if dictionary.is_empty() {
            return Ok(Cow::Owned(Vec::new()));
        }
        let entries = read(&Self { numbers: dictionary.values(), ..*self })?;
        let keys = Self { numbers: dictionary.keys(), ..*self }.whole()?;
        let entry = |&key: &i64| {
            let entry = usize::try_from(key).ok().and_then(|key| entries.get(key)).copied();
            let what = self.what;
            entry.ok_or_else(|| {
                Error::Input(format!("invalid {what}: key {key} in a dictionary of {} values", entries.len()))
            })
        };
        Ok(Cow::Owned(keys.iter().map(entry).collect::<Result<_>>()?))
    }
}
