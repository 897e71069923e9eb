//! A table of text and integer columns in Apache Parquet, written group by group.

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError as Inner;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use std::io::Write;
use std::sync::Arc;

/// A table could not be written.
#[derive(Debug, thiserror::Error)]
#[error("the Parquet table could not be written: {0}")]
pub struct ParquetError(#[from] Inner);

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    Text,
    Number,
}

/// A column that is being filled; `None` where a row has no such value.
enum Column {
    Text(Vec<Option<ByteArray>>),
    Number(Vec<Option<i64>>),
}

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cell<'a> {
    Text(Option<&'a str>),
    Number(Option<i64>),
}

/// A table that is being written. Rows are kept until a group of them is whole.
pub(super) struct Table<W: Write + Send> {
    file: SerializedFileWriter<W>,
    columns: Vec<Column>,
    rows: usize,
    /// How many rows a group has.
    group_rows: usize,
}

impl<W: Write + Send> Table<W> {
    /// An empty table. `facts` go into the file's own metadata, with the prefix
    /// `firstlight.`.
    pub(super) fn new(
        out: W,
        name: &str,
        columns: &[(&str, Holds)],
        facts: &[(&str, &str)],
        group_rows: usize,
    ) -> Result<Self, ParquetError> {
        let fields = columns.iter().map(|(name, holds)| {
            let (physical, logical) = match holds {
                Holds::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
                Holds::Number => (Physical::INT64, None),
            };
            let field = Type::primitive_type_builder(name, physical)
                .with_repetition(Repetition::OPTIONAL)
                .with_logical_type(logical);
            Ok(Arc::new(field.build()?))
        });
        let fields = fields.collect::<Result<Vec<_>, Inner>>()?;
        let schema = Type::group_type_builder(name).with_fields(fields).build()?;
        let facts = facts
            .iter()
            .map(|(key, value)| KeyValue::new(format!("firstlight.{key}"), (*value).to_owned()));
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_key_value_metadata(Some(facts.collect()));
        let file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties.build()))?;
        let empty = columns.iter().map(|(_, holds)| match holds {
            Holds::Text => Column::Text(Vec::new()),
            Holds::Number => Column::Number(Vec::new()),
        });
        Ok(Self {
            file,
            columns: empty.collect(),
            rows: 0,
            group_rows,
        })
    }

    /// Adds a row: a value for each column, in their order.
    pub(super) fn add<'a>(
        &mut self,
        cells: impl IntoIterator<Item = Cell<'a>>,
    ) -> Result<(), ParquetError> {
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            match (column, cell) {
                (Column::Text(v), Cell::Text(t)) => v.push(t.map(ByteArray::from)),
                (Column::Number(v), Cell::Number(n)) => v.push(n),
                (Column::Text(v), Cell::Number(_)) => v.push(None),
                (Column::Number(v), Cell::Text(_)) => v.push(None),
            }
        }
        self.rows += 1;
        if self.rows >= self.group_rows {
            self.write_group()?;
        }
        Ok(())
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.file.next_row_group()?;
        for column in &mut self.columns {
            let Some(mut writer) = group.next_column()? else {
                break;
            };
            match column {
                Column::Text(rows) => {
                    let (there, levels) = present(rows);
                    let typed = writer.typed::<ByteArrayType>();
                    typed.write_batch(&there, Some(&levels), None)?;
                    rows.clear();
                }
                Column::Number(rows) => {
                    let (there, levels) = present(rows);
                    let typed = writer.typed::<Int64Type>();
                    typed.write_batch(&there, Some(&levels), None)?;
                    rows.clear();
                }
            }
            writer.close()?;
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }

    /// Writes the last rows and what ends the file. A table without rows has no group.
    pub(super) fn finish(mut self) -> Result<(), ParquetError> {
        if self.rows > 0 {
            self.write_group()?;
        }
        self.file.close()?;
        Ok(())
    }
}

/// The values that are there, and for each row whether it has one.
fn present<T: Clone>(rows: &[Option<T>]) -> (Vec<T>, Vec<i16>) {
    let levels = rows.iter().map(|r| i16::from(r.is_some())).collect();
    (rows.iter().flatten().cloned().collect(), levels)
}
