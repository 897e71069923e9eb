//! Apache Parquet: every event in columns, for SQL over many boots.

use super::rows::{Value, arguments, each_row};
use analysis::Tracks;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError as Inner;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use record::{Nanos, Record};
use std::io::Write;
use std::sync::Arc;

/// The table could not be written.
#[derive(Debug, thiserror::Error)]
#[error("the Parquet table could not be written: {0}")]
pub struct ParquetError(#[from] Inner);

/// A column that is being filled; `None` where a row has no such value.
enum Column {
    Text(Vec<Option<ByteArray>>),
    Number(Vec<Option<i64>>),
}

const COLUMNS: [(&str, Physical); 12] = [
    ("kind", Physical::BYTE_ARRAY),
    ("track", Physical::BYTE_ARRAY),
    ("name", Physical::BYTE_ARRAY),
    ("start_ns", Physical::INT64),
    ("end_ns", Physical::INT64),
    ("value", Physical::INT64),
    ("doubt", Physical::BYTE_ARRAY),
    ("bytes", Physical::INT64),
    ("sector", Physical::INT64),
    ("pid", Physical::INT64),
    ("source", Physical::BYTE_ARRAY),
    ("offset", Physical::INT64),
];

/// The table. The file's own metadata say what zero is and which clock the
/// times are on: `firstlight.zero`, `firstlight.clock`.
///
/// # Errors
///
/// If writing to `out` fails.
pub fn parquet(
    record: &Record,
    tracks: &Tracks<'_>,
    out: impl Write + Send,
) -> Result<(), ParquetError> {
    let fields = COLUMNS.iter().map(|(name, physical)| {
        let field = Type::primitive_type_builder(name, *physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type((*physical == Physical::BYTE_ARRAY).then_some(LogicalType::String));
        Ok(Arc::new(field.build()?))
    });
    let fields = fields.collect::<Result<Vec<_>, Inner>>()?;
    let schema = Type::group_type_builder("boot")
        .with_fields(fields)
        .build()?;
    let fact =
        |key: &str, value: &str| KeyValue::new(format!("firstlight.{key}"), value.to_owned());
    let clock = record.clock().map_or("none", |c| c.kind.as_str());
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(vec![
            fact("schema", "1"),
            fact("zero", tracks.zero),
            fact("clock", clock),
        ]));
    let properties = Arc::new(properties.build());

    let mut columns = COLUMNS.map(|(_, physical)| match physical {
        Physical::INT64 => Column::Number(Vec::new()),
        _ => Column::Text(Vec::new()),
    });
    each_row(tracks, |row| {
        let arguments = arguments(record, row.about, row.origin);
        let argument = |name| arguments.iter().find(|a| a.0 == name).map(|a| a.1);
        for (column, (name, _)) in columns.iter_mut().zip(COLUMNS) {
            let value = match name {
                "kind" => Some(Value::Text(row.kind)),
                "track" => Some(Value::Text(row.track)),
                "name" => Some(Value::Text(row.name)),
                "start_ns" => Some(Value::Number(row.start.get())),
                "end_ns" => row.end.map(Nanos::get).map(Value::Number),
                "value" => row.value.map(Value::Number),
                other => argument(other),
            };
            match (column, value) {
                (Column::Text(v), Some(Value::Text(t))) => v.push(Some(ByteArray::from(t))),
                (Column::Text(v), _) => v.push(None),
                (Column::Number(v), Some(Value::Number(n))) => v.push(Some(n)),
                (Column::Number(v), _) => v.push(None),
            }
        }
    });

    let mut file = SerializedFileWriter::new(out, Arc::new(schema), properties)?;
    let mut group = file.next_row_group()?;
    for column in &columns {
        let Some(mut writer) = group.next_column()? else {
            break;
        };
        match column {
            Column::Text(rows) => {
                let (there, levels) = present(rows);
                let typed = writer.typed::<ByteArrayType>();
                typed.write_batch(&there, Some(&levels), None)?;
            }
            Column::Number(rows) => {
                let (there, levels) = present(rows);
                let typed = writer.typed::<Int64Type>();
                typed.write_batch(&there, Some(&levels), None)?;
            }
        }
        writer.close()?;
    }
    group.close()?;
    file.close()?;
    Ok(())
}

/// The values that are there, and for each row whether it has one.
fn present<T: Clone>(rows: &[Option<T>]) -> (Vec<T>, Vec<i16>) {
    let levels = rows.iter().map(|r| i16::from(r.is_some())).collect();
    (rows.iter().flatten().cloned().collect(), levels)
}
