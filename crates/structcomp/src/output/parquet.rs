//! Parquet tables: ids and a fixed-size list of floats, or edges.

use super::MatrixLayout;
use super::edges::{edges_of, node_blocks};
use crate::{Error, Graph, Labels, NodeIds, Result, atomic::AtomicFile};
use arrow_array::{
    ArrayRef, FixedSizeListArray, Float32Array, Int64Array, RecordBatch, StringArray, UInt64Array,
};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::schema::types::ColumnPath;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A matrix as the columns `id`, `label` if there are labels, and one list column.
pub(super) struct MatrixParquet<'a> {
    table: ParquetTable,
    layout: MatrixLayout<'a>,
    element: FieldRef,
    width: i32,
}

/// Values per row group, which is the unit of writing and reading: 32 MiB.
const GROUP: usize = 8 << 20;

impl<'a> MatrixParquet<'a> {
    pub(super) fn start(path: &Path, layout: MatrixLayout<'a>) -> Result<Self> {
        let width = i32::try_from(layout.cols)
            .ok()
            .filter(|&cols| cols > 0)
            .ok_or_else(|| Error::format(path, format!("cannot store lists of {} values", layout.cols)))?;
        let element = Arc::new(Field::new("element", DataType::Float32, false));
        let list = DataType::FixedSizeList(element.clone(), width);
        let mut fields = vec![Field::new("id", id_type(layout.ids), false)];
        fields.extend(layout.labels.map(|labels| Field::new("label", label_type(labels), true)));
        fields.push(Field::new(layout.column, list, false));
        let values = ColumnPath::from([layout.column, "list", "element"].map(str::to_owned).to_vec());
        let properties = properties()
            .set_max_row_group_row_count(Some((GROUP / layout.cols).max(1)))
            .set_column_dictionary_enabled(values.clone(), false)
            .set_column_statistics_enabled(values, EnabledStatistics::None);
        let table = ParquetTable::create(path, fields, properties)?;
        Ok(Self { table, layout, element, width })
    }

    /// Appends rows; the first is row `first` of the matrix.
    pub(super) fn push_rows(&mut self, first: usize, values: &[f32]) -> Result<()> {
        let cols = self.layout.cols;
        let rows_at_once = (GROUP / cols).max(1);
        for (block, values) in values.chunks(rows_at_once * cols).enumerate() {
            let first = first + block * rows_at_once;
            let rows = first as u32..(first + values.len() / cols) as u32;
            let numbers = Arc::new(Float32Array::from(values.to_vec()));
            let list = FixedSizeListArray::try_new(self.element.clone(), self.width, numbers, None)
                .map_err(|error| self.table.wrong(error))?;
            let mut columns = vec![id_column(self.layout.ids, self.table.id_type(), rows.clone())];
            columns.extend(self.layout.labels.map(|labels| label_column(labels, rows)));
            columns.push(Arc::new(list));
            self.table.push(columns)?;
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<()> {
        self.table.finish()
    }
}

/// Writes `source`, `target` and, if there are weights, `weight`.
pub(super) fn write_edges(path: &Path, graph: &Graph, ids: &NodeIds) -> Result<()> {
    let mut fields = ["source", "target"].map(|name| Field::new(name, id_type(ids), false)).to_vec();
    if graph.weights().is_some() {
        fields.push(Field::new("weight", DataType::Float32, false));
    }
    let mut table =
        ParquetTable::create(path, fields, properties().set_max_row_group_row_count(Some(1 << 20)))?;
    for block in node_blocks(graph, 1 << 20) {
        let (mut sources, mut targets, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for (u, v, weight) in edges_of(graph, block) {
            sources.push(u);
            targets.push(v);
            weights.extend(weight);
        }
        let mut columns = [sources, targets].map(|nodes| id_column(ids, table.id_type(), nodes)).to_vec();
        if graph.weights().is_some() {
            columns.push(Arc::new(Float32Array::from(weights)));
        }
        table.push(columns)?;
    }
    table.finish()
}

/// The columns `id`, `neighbor` and `score`.
pub(super) struct NeighborParquet(ParquetTable);

impl NeighborParquet {
    pub(super) fn start(path: &Path, ids: &NodeIds) -> Result<Self> {
        let mut fields = ["id", "neighbor"].map(|name| Field::new(name, id_type(ids), false)).to_vec();
        fields.push(Field::new("score", DataType::Float32, false));
        let properties = properties().set_max_row_group_row_count(Some(1 << 20));
        ParquetTable::create(path, fields, properties).map(Self)
    }

    /// Appends the neighbours of consecutive nodes.
    pub(super) fn push(&mut self, ids: &NodeIds, first: usize, lists: &[Vec<(u32, f32)>]) -> Result<()> {
        let lists = || (first as u32..).zip(lists);
        let nodes = lists().flat_map(|(node, list)| list.iter().map(move |_| node));
        let neighbors = lists().flat_map(|(_, list)| list.iter().map(|&(neighbor, _)| neighbor));
        let scores = lists().flat_map(|(_, list)| list.iter().map(|&(_, score)| score));
        let id_column = |nodes: Vec<u32>| id_column(ids, self.0.id_type(), nodes);
        let columns: Vec<ArrayRef> = vec![
            id_column(nodes.collect()),
            id_column(neighbors.collect()),
            Arc::new(Float32Array::from_iter_values(scores)),
        ];
        self.0.push(columns)
    }

    pub(super) fn finish(self) -> Result<()> {
        self.0.finish()
    }
}

fn properties() -> WriterPropertiesBuilder {
    let level = ZstdLevel::try_new(1).unwrap_or_default();
    WriterProperties::builder().set_compression(Compression::ZSTD(level))
}

/// A Parquet file being written.
struct ParquetTable {
    writer: ArrowWriter<AtomicFile>,
    schema: SchemaRef,
    path: PathBuf,
}

impl ParquetTable {
    fn create(path: &Path, fields: Vec<Field>, properties: WriterPropertiesBuilder) -> Result<Self> {
        let schema = Arc::new(Schema::new(fields));
        let file = AtomicFile::create(path)?;
        let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties.build()))
            .map_err(|error| Error::format(path, error.to_string()))?;
        Ok(Self { writer, schema, path: path.to_owned() })
    }

    /// The type of the first column, an id. Stored, as finding it requires a pass over all ids.
    fn id_type(&self) -> &DataType {
        self.schema.field(0).data_type()
    }

    fn push(&mut self, columns: Vec<ArrayRef>) -> Result<()> {
        let batch = RecordBatch::try_new(self.schema.clone(), columns).map_err(|error| self.wrong(error))?;
        self.writer.write(&batch).map_err(|error| self.wrong(error))
    }

    fn finish(self) -> Result<()> {
        let path = self.path;
        let file = self.writer.into_inner().map_err(|error| wrong(&path, error))?;
        file.commit()
    }

    fn wrong(&self, error: impl Into<ParquetError>) -> Error {
        wrong(&self.path, error.into())
    }
}

/// I/O errors, such as a full disk, arrive inside a Parquet error.
fn wrong(path: &Path, error: ParquetError) -> Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<std::io::Error>() {
            Ok(io) => Error::io(path)(*io),
            Err(other) => Error::format(path, other.to_string()),
        },
        error => Error::format(path, error.to_string()),
    }
}

/// Signed if all ids fit, as is usual for id columns.
fn id_type(ids: &NodeIds) -> DataType {
    match ids {
        NodeIds::Implicit => DataType::Int64,
        NodeIds::Numbers(numbers) if numbers.iter().all(|&id| i64::try_from(id).is_ok()) => DataType::Int64,
        NodeIds::Numbers(_) => DataType::UInt64,
        NodeIds::Names(_) => DataType::Utf8,
    }
}

fn id_column(ids: &NodeIds, of: &DataType, nodes: impl IntoIterator<Item = u32>) -> ArrayRef {
    let nodes = nodes.into_iter();
    match ids {
        NodeIds::Implicit => Arc::new(Int64Array::from_iter_values(nodes.map(i64::from))),
        NodeIds::Numbers(numbers) => {
            let numbers = nodes.map(|node| numbers[node as usize]);
            match of {
                DataType::Int64 => Arc::new(Int64Array::from_iter_values(numbers.map(|id| id as i64))),
                _ => Arc::new(UInt64Array::from_iter_values(numbers)),
            }
        }
        NodeIds::Names(names) => Arc::new(StringArray::from_iter_values(nodes.map(|v| &*names[v as usize]))),
    }
}

fn label_type(labels: &Labels) -> DataType {
    if labels.names().is_some() { DataType::Utf8 } else { DataType::Int64 }
}

fn label_column(labels: &Labels, nodes: Range<u32>) -> ArrayRef {
    let classes = nodes.map(|node| labels.of(node));
    match labels.names() {
        Some(names) => {
            let name = |class: Option<u32>| class.map(|class| &*names[class as usize]);
            Arc::new(classes.map(name).collect::<StringArray>())
        }
        None => Arc::new(classes.map(|class| class.map(i64::from)).collect::<Int64Array>()),
    }
}
