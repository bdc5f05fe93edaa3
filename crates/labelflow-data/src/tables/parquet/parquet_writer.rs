//! Parquet files to be written.

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::{ArrayRef, Float32Array, Float64Array, Int16Array, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::tables::{Column, ColumnValues};

/// Encoded bytes after which a row group ends; it ends anyway after a million rows.
const GROUP_BYTES: usize = 16 << 20;

/// A parquet file that is written piece by piece.
pub(crate) struct ParquetStream<'file>(ArrowWriter<&'file mut (dyn Write + Send)>);

impl<'file> ParquetStream<'file> {
    /// A file with columns of these names and types.
    pub(crate) fn new(file: &'file mut (dyn Write + Send), like: &[Column]) -> io::Result<Self> {
        let compression = Compression::ZSTD(ZstdLevel::default());
        let properties = WriterProperties::builder().set_compression(compression).build();
        Ok(Self(ArrowWriter::try_new(file, batch(like)?.schema(), Some(properties))?))
    }

    /// Adds rows.
    pub(crate) fn push(&mut self, columns: &[Column]) -> io::Result<()> {
        self.0.write(&batch(columns)?)?;
        if self.0.in_progress_size() > GROUP_BYTES {
            self.0.flush()?;
        }
        Ok(())
    }

    /// Ends the file.
    pub(crate) fn close(self) -> io::Result<()> {
        self.0.close()?;
        Ok(())
    }
}

fn batch(columns: &[Column]) -> io::Result<RecordBatch> {
    let arrays = columns.iter().map(|column| (&column.name, to_arrow(&column.values), true));
    RecordBatch::try_from_iter_with_nullable(arrays).map_err(io::Error::other)
}

fn to_arrow(values: &ColumnValues) -> ArrayRef {
    match values {
        ColumnValues::Integers(values) => Arc::new(Int64Array::from(values.clone())),
        ColumnValues::Shorts(values) => Arc::new(Int16Array::from(values.clone())),
        ColumnValues::Reals(values) => {
            Arc::new(Float64Array::from_iter(values.iter().map(|value| (!value.is_nan()).then_some(*value))))
        }
        ColumnValues::ShortReals(values) => Arc::new(Float32Array::from(values.clone())),
        ColumnValues::Names(values) => Arc::new(StringArray::from(values.clone())),
        ColumnValues::SomeNames(values) => Arc::new(StringArray::from(values.clone())),
    }
}
