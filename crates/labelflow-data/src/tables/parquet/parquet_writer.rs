//! Parquet files to be written.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, Float32Array, Float64Array, Int16Array, Int64Array, RecordBatch, StringArray,
};
use labelflow_weak::votes::{ABSTAIN, WeakSignals};
use ndarray::Array2;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::tables::{Column, ColumnValues};
use crate::{Result, write_atomically};

/// Writes columns of equal length.
pub(crate) fn write_parquet(path: &Path, columns: &[Column]) -> Result<()> {
    write_arrays(path, columns.iter().map(|column| (&column.name, to_arrow(&column.values))))
}

/// Encoded bytes after which a row group ends; it ends anyway after a million rows.
const GROUP_BYTES: usize = 16 << 20;

/// A parquet file that is written piece by piece.
pub(crate) struct ParquetStream<'file>(ArrowWriter<&'file mut (dyn Write + Send)>);

impl<'file> ParquetStream<'file> {
    /// A file with the columns of an empty table.
    pub(crate) fn new(file: &'file mut (dyn Write + Send), empty: &[Column]) -> io::Result<Self> {
        let schema = batch(empty)?.schema();
        Ok(Self(ArrowWriter::try_new(file, schema, Some(parquet_properties()))?))
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

/// Writes votes as small integers, one column per labeler, -1 for an abstention.
pub(crate) fn write_vote_bytes(path: &Path, signals: &WeakSignals) -> Result<()> {
    let votes = signals.votes();
    let column = |signal: usize| {
        let votes = votes.as_slice().iter().skip(signal).step_by(signals.n_signals());
        let shorts = votes.map(|&vote| if vote == ABSTAIN { -1 } else { i16::from(vote) });
        Arc::new(Int16Array::from_iter_values(shorts)) as ArrayRef
    };
    let names = signals.labelers().iter().enumerate();
    write_arrays(path, names.map(|(signal, name)| (name, column(signal))))
}

/// Writes a table of single-precision numbers.
pub(crate) fn write_short_reals(path: &Path, names: &[String], values: &Array2<f32>) -> Result<()> {
    let array = |column: ndarray::ArrayView1<'_, f32>| -> ArrayRef {
        Arc::new(Float32Array::from_iter_values(column.iter().copied()))
    };
    write_arrays(path, names.iter().zip(values.columns().into_iter().map(array)))
}

/// How parquet files are written.
fn parquet_properties() -> WriterProperties {
    WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build()
}

fn to_arrow(values: &ColumnValues) -> ArrayRef {
    match values {
        ColumnValues::Integers(values) => Arc::new(Int64Array::from(values.clone())),
        ColumnValues::Reals(values) => Arc::new(Float64Array::from_iter(
            values.iter().map(|value| (!value.is_nan()).then_some(*value)),
        )),
        ColumnValues::Names(values) => Arc::new(StringArray::from(values.clone())),
        ColumnValues::SomeNames(values) => Arc::new(StringArray::from(values.clone())),
    }
}

fn write_arrays<'a>(
    path: &Path,
    arrays: impl Iterator<Item = (&'a String, ArrayRef)>,
) -> Result<()> {
    write_atomically(path, |writer| {
        let arrays = arrays.map(|(name, array)| (name, array, true));
        let batch = RecordBatch::try_from_iter_with_nullable(arrays).map_err(io::Error::other)?;
        write_batch(writer, &batch)
    })
}

fn write_batch(writer: impl Write + Send, batch: &RecordBatch) -> io::Result<()> {
    let mut writer = ArrowWriter::try_new(writer, batch.schema(), Some(parquet_properties()))?;
    writer.write(batch)?;
    writer.close()?;
    Ok(())
}
