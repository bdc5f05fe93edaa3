//! Labels written as they come: the same table as [`write_labels`](crate::write_labels) writes, without having all rows in
//! memory.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use labelflow_weak::SoftLabels;
use ndarray::Axis;
use parquet::arrow::ArrowWriter;

use crate::columns::{parquet_properties, separated_writer, write_rows};
use crate::labels_file::{check_classes, row_label_columns};
use crate::table::Format;
use crate::{Error, Result, write_atomically};

/// Encoded bytes after which a row group ends; it ends anyway after a million rows.
const GROUP_BYTES: usize = 16 << 20;

/// Takes labels, row after row.
pub struct LabelStream<'file> {
    classes: Vec<String>,
    n_rows: u64,
    writer: Writer<'file>,
}

enum Writer<'file> {
    Separated(Box<csv::Writer<&'file mut (dyn Write + Send)>>),
    Parquet(Box<ArrowWriter<&'file mut (dyn Write + Send)>>),
}

/// Writes labels to a csv, tsv or parquet file, whole or not at all: `produce` gives them in the order of the rows.
///
/// ```
/// use labelflow_data::{read_predictions, write_labels_as_they_come};
/// use labelflow_weak::SoftLabels;
/// use ndarray::array;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("labels.parquet");
/// let classes = ["ham".to_owned(), "spam".to_owned()];
/// write_labels_as_they_come(&path, &classes, |labels| {
///     labels.push(&SoftLabels::new(array![[0.75, 0.25]])?)?;
///     labels.push(&SoftLabels::new(array![[0.5, 0.5], [0.0, 1.0]])?)
/// })?;
/// assert!(read_predictions(&path).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_labels_as_they_come<T>(
    path: &Path,
    classes: &[String],
    produce: impl FnOnce(&mut LabelStream<'_>) -> Result<T>,
) -> Result<T> {
    let format = Format::of(path)?;
    if !matches!(format, Format::Separated(_) | Format::Parquet) {
        return Err(Error::content(path, "csv, tsv or parquet", "another extension")
            .with_hint("arrays are written from memory only"));
    }
    // What went wrong while rows were made is told as it is, not as a failed write.
    let mut failure = None;
    let written = write_atomically(path, |file| {
        write_through(file, format, classes, |labels| {
            produce(labels).map_err(|error| {
                failure = Some(error);
                io::Error::other("the rows could not be made")
            })
        })
    });
    match failure {
        Some(error) => Err(error),
        None => written,
    }
}

fn write_through<'file, T>(
    file: &'file mut (dyn Write + Send),
    format: Format,
    classes: &[String],
    produce: impl FnOnce(&mut LabelStream<'file>) -> io::Result<T>,
) -> io::Result<T> {
    // No rows, but all columns.
    let empty = row_label_columns(0, &[], &[], classes);
    let writer = match format {
        Format::Separated(separator) => {
            let mut writer = separated_writer(file, separator);
            writer.write_record(empty.iter().map(|column| &column.name))?;
            Writer::Separated(Box::new(writer))
        }
        _ => {
            let schema = batch(0, &[], &[], classes)?.schema();
            let properties = parquet_properties();
            let writer = ArrowWriter::try_new(file, schema, Some(properties));
            Writer::Parquet(Box::new(writer.map_err(io::Error::other)?))
        }
    };
    let mut stream = LabelStream { classes: classes.to_vec(), n_rows: 0, writer };
    let value = produce(&mut stream)?;
    match stream.writer {
        Writer::Separated(mut writer) => writer.flush()?,
        Writer::Parquet(writer) => {
            writer.close().map_err(io::Error::other)?;
        }
    }
    Ok(value)
}

impl LabelStream<'_> {
    /// Adds the labels of the next rows.
    pub fn push(&mut self, labels: &SoftLabels) -> Result<()> {
        check_classes(labels, &self.classes)?;
        let indices = labels.argmax();
        let columns: Vec<Vec<f64>> =
            labels.values().axis_iter(Axis(1)).map(|column| column.to_vec()).collect();
        self.push_columns(&indices, &columns)
            .map_err(|error| Error::write(Path::new("labels"), error))
    }

    /// Number of rows added.
    pub fn n_rows(&self) -> u64 {
        self.n_rows
    }

    fn push_columns(&mut self, indices: &[usize], columns: &[Vec<f64>]) -> io::Result<()> {
        match &mut self.writer {
            Writer::Separated(writer) => {
                let columns = row_label_columns(self.n_rows, indices, columns, &self.classes);
                write_rows(writer, &columns, indices.len())?;
            }
            Writer::Parquet(writer) => {
                let batch = batch(self.n_rows, indices, columns, &self.classes)?;
                writer.write(&batch).map_err(io::Error::other)?;
                if writer.in_progress_size() > GROUP_BYTES {
                    writer.flush().map_err(io::Error::other)?;
                }
            }
        }
        self.n_rows += indices.len() as u64;
        Ok(())
    }
}

/// Rows from `first_row` on as a batch for parquet, without a text of its own for each row.
fn batch(
    first_row: u64,
    indices: &[usize],
    columns: &[Vec<f64>],
    classes: &[String],
) -> io::Result<RecordBatch> {
    let rows = (0..indices.len() as i64).map(|row| first_row as i64 + row);
    let names = indices.iter().map(|&class| classes[class].as_str());
    let mut arrays: Vec<(String, ArrayRef, bool)> = vec![
        ("row".to_owned(), Arc::new(Int64Array::from_iter_values(rows)), true),
        ("label".to_owned(), Arc::new(StringArray::from_iter_values(names)), true),
    ];
    for (class, name) in classes.iter().enumerate() {
        let p = columns.get(class).cloned().unwrap_or_default();
        arrays.push((format!("p_{name}"), Arc::new(Float64Array::from(p)), true));
    }
    RecordBatch::try_from_iter_with_nullable(arrays).map_err(io::Error::other)
}
