//! Parquet tables.

use std::ops::Range;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use labelflow_files::InputFile;
use ndarray::Array2;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};

use super::checked_pages::{CheckedPages, ParquetBytes};
use super::column_as::column_as;
use crate::tables::cells::{Number, Numbers, into_table};
use crate::tables::foreign_decoder::guarded;
use crate::tables::open_input;
use crate::{Error, Place, Result, ensure};

pub(crate) const BATCH_ROWS: usize = 8192;

/// A parquet file whose schema was read.
#[derive(Debug)]
pub(crate) struct ParquetFile {
    path: PathBuf,
    file: InputFile,
    pub(crate) names: Vec<String>,
    /// Types of the columns.
    pub(crate) types: Vec<DataType>,
    /// Number of rows, as the file says itself.
    pub(crate) n_rows: u64,
    /// The rows of each row group.
    pub(crate) row_groups: Vec<u64>,
}

impl ParquetFile {
    /// Reads the schema.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        guarded(path, || {
            let file = open_input(path)?;
            let builder = reader_of(path, &file)?;
            let fields = builder.schema().fields();
            let count = |n_rows: i64| u64::try_from(n_rows).map_err(|_| refuse(path, "a negative number of rows"));
            let groups = builder.metadata().row_groups().iter();
            Ok(Self {
                path: path.to_owned(),
                file,
                names: fields.iter().map(|field| field.name().clone()).collect(),
                types: fields.iter().map(|field| field.data_type().clone()).collect(),
                n_rows: count(builder.metadata().file_metadata().num_rows())?,
                row_groups: groups.map(|group| count(group.num_rows())).collect::<Result<_>>()?,
            })
        })
    }

    /// A reader of a run of rows, of which only the row groups that hold them are read.
    pub(crate) fn reader(
        &self,
        columns: &[usize],
        rows: Range<u64>,
        batch_rows: usize,
    ) -> Result<ParquetRecordBatchReader> {
        let (mut groups, mut offset, mut start) = (Vec::new(), 0, 0);
        for (group, n_rows) in self.row_groups.iter().enumerate() {
            let end = start + n_rows;
            if start < rows.end && end > rows.start {
                if groups.is_empty() {
                    offset = rows.start - start;
                }
                groups.push(group);
            }
            start = end;
        }
        guarded(&self.path, || {
            let builder = reader_of(&self.path, &self.file)?;
            let mask = ProjectionMask::roots(builder.parquet_schema(), columns.iter().copied());
            builder
                .with_projection(mask)
                .with_row_groups(groups)
                .with_offset(offset as usize)
                .with_limit((rows.end - rows.start) as usize)
                .with_batch_size(batch_rows)
                .build()
                .map_err(|error| refuse(&self.path, error))
        })
    }

    /// The next batch of a reader of these columns, in their order; nothing at the end.
    pub(crate) fn next_batch(
        &self,
        reader: &mut ParquetRecordBatchReader,
        columns: &[usize],
    ) -> Result<Option<Vec<ArrayRef>>> {
        guarded(&self.path, || {
            let Some(batch) = reader.next() else { return Ok(None) };
            let batch = batch.map_err(|error| refuse(&self.path, error))?;
            Ok(Some(in_order(columns, batch.columns())))
        })
    }

    /// The chosen columns as numbers, NaN where a cell is null. Booleans are 0 and 1.
    pub(crate) fn numbers<T: Number>(&self, columns: &[usize]) -> Result<Numbers<T>> {
        for &column in columns {
            let name = &self.names[column];
            if let Err(error) = check_number(&self.path, name, &self.types[column]) {
                return Ok(Err(error));
            }
        }
        let names: Vec<&String> = columns.iter().map(|&column| &self.names[column]).collect();
        let mut values = Vec::new();
        self.visit_batches(columns, |arrays| {
            values.extend(number_table::<T>(arrays, &self.path, &names)?);
            Ok(())
        })?;
        Ok(Ok(into_table(values, columns.len())))
    }

    /// Visits the cells of the chosen columns as text, row by row. Errors of `visit` get the row.
    pub(crate) fn visit_cells(
        &self,
        columns: &[usize],
        mut visit: impl FnMut(usize, &str) -> Result<()>,
    ) -> Result<()> {
        let mut first_row = 0;
        self.visit_batches(columns, |arrays| {
            let texts = arrays
                .iter()
                .zip(columns)
                .map(|(array, &column)| column_as(array, &DataType::Utf8, &self.path, &self.names[column]));
            let texts = texts.collect::<Result<Vec<_>>>()?;
            for row in 0..texts[0].len() {
                for (text, &column) in texts.iter().zip(columns) {
                    let text = text.as_string::<i32>();
                    let cell = if text.is_null(row) { "" } else { text.value(row) };
                    let place = Place::row(first_row + row);
                    visit(column, cell).map_err(|error| error.at(place))?;
                }
            }
            first_row += texts[0].len();
            Ok(())
        })
    }

    /// Visits the chosen columns batch by batch, in the chosen order.
    fn visit_batches(&self, columns: &[usize], mut visit: impl FnMut(&[ArrayRef]) -> Result<()>) -> Result<()> {
        let n_rows = self.row_groups.iter().sum();
        guarded(&self.path, || {
            let mut reader = self.reader(columns, 0..n_rows, BATCH_ROWS)?;
            while let Some(arrays) = self.next_batch(&mut reader, columns)? {
                visit(&arrays)?;
            }
            Ok(())
        })
    }
}

/// Columns of a file as numbers, NaN where a cell is null, `[n_rows, n_columns]`.
pub(crate) fn number_table<T: Number>(
    arrays: &[ArrayRef],
    path: &Path,
    names: &[impl AsRef<str>],
) -> Result<Array2<T>> {
    let shape = (arrays[0].len(), arrays.len());
    let mut table = Array2::from_elem(shape, T::from_f64(f64::NAN));
    for ((mut column, array), name) in table.columns_mut().into_iter().zip(arrays).zip(names) {
        let numbers = column_as(array, &DataType::Float64, path, name.as_ref())?;
        for (cell, number) in column.iter_mut().zip(numbers.as_primitive::<Float64Type>()) {
            *cell = T::from_f64(number.unwrap_or(f64::NAN));
        }
    }
    Ok(table)
}

/// Refuses a column that holds no numbers.
pub(crate) fn check_number(path: &Path, column: &str, kind: &DataType) -> Result<()> {
    let refuse = || Error::content(path, "numbers", format!("values of type {kind}")).in_column(column);
    ensure(kind.is_numeric() || *kind == DataType::Boolean, refuse)
}

/// A projection keeps the file's order; `columns` may have another.
fn in_order(columns: &[usize], arrays: &[ArrayRef]) -> Vec<ArrayRef> {
    let mut order = columns.to_vec();
    order.sort_unstable();
    order.dedup();
    let position = |column| order.binary_search(column).expect("every column is in order");
    columns.iter().map(|column| arrays[position(column)].clone()).collect()
}

fn reader_of(path: &Path, file: &InputFile) -> Result<ParquetRecordBatchReaderBuilder<CheckedPages>> {
    let file = ParquetBytes(file.clone());
    if !file.footer_holds().map_err(|error| refuse(path, error))? {
        return Err(refuse(path, "lists in its footer that have more elements than it has bytes"));
    }
    // Types are those of the columns themselves: what another program had in memory, such as dictionaries, does not matter.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let metadata = ArrowReaderMetadata::load(&file, options).map_err(|error| refuse(path, error))?;
    Ok(ParquetRecordBatchReaderBuilder::new_with_metadata(CheckedPages(file), metadata))
}

fn refuse(path: &Path, error: impl std::fmt::Display) -> Error {
    Error::content(path, "a whole parquet file", error)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{BooleanArray, Float32Array, Int8Array, RecordBatch, StringArray};
    use ndarray::array;
    use parquet::arrow::ArrowWriter;
    use proptest::prelude::*;

    use super::*;

    fn sample(path: &Path) {
        let columns: [(&str, ArrayRef); 4] = [
            ("small", Arc::new(Int8Array::from(vec![Some(-1), None, Some(3)]))),
            ("real", Arc::new(Float32Array::from(vec![0.5, 1.5, 2.5]))),
            ("flag", Arc::new(BooleanArray::from(vec![true, false, true]))),
            ("name", Arc::new(StringArray::from(vec![Some("cat"), None, Some("dog")]))),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let file = std::fs::File::create(path).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    }

    #[test]
    fn a_footer_that_claims_billions_of_booleans_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("claims.parquet");
        // Twenty lists in fields that nobody knows, each of 2³¹ − 1 elements without bytes: a minute of the decoder's time.
        let footer = [[0x19, 0xf1, 0xff, 0xff, 0xff, 0xff, 7].repeat(20), vec![0]].concat();
        let length = (footer.len() as u32).to_le_bytes();
        std::fs::write(&path, [b"PAR1", &footer[..], &length, b"PAR1"].concat()).unwrap();
        let start = std::time::Instant::now();
        let error = ParquetFile::open(&path).unwrap_err().to_string();
        assert!(error.contains("more elements than it has bytes"), "{error}");
        assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
    }

    #[test]
    fn any_type_of_number_is_a_number_and_null_is_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.parquet");
        sample(&path);
        let parquet = ParquetFile::open(&path).unwrap();
        assert_eq!(parquet.names, ["small", "real", "flag", "name"]);
        let numbers = parquet.numbers::<f32>(&[2, 1, 0]).unwrap().unwrap();
        assert_eq!(numbers.row(0), array![1.0, 0.5, -1.0]);
        assert!(numbers[[1, 2]].is_nan());
        let error = parquet.numbers::<f32>(&[0, 3]).unwrap().unwrap_err();
        assert!(error.to_string().contains("column 'name'"), "{error}");
        let mut names = Vec::new();
        let visited = parquet.visit_cells(&[3], |column, cell| {
            names.push((column, cell.to_owned()));
            Ok(())
        });
        visited.unwrap();
        assert_eq!(names, [(3, "cat".to_owned()), (3, String::new()), (3, "dog".to_owned())]);
    }

    #[test]
    fn a_cut_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.parquet");
        sample(&path);
        let bytes = std::fs::read(&path).unwrap();
        for end in (0..bytes.len()).step_by(7) {
            std::fs::write(&path, &bytes[..end]).unwrap();
            assert!(ParquetFile::open(&path).is_err(), "cut after {end} bytes");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn damaged_bytes_are_read_or_refused(at in 0usize..1 << 16, byte: u8) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("table.parquet");
            sample(&path);
            let mut bytes = std::fs::read(&path).unwrap();
            let at = at % bytes.len();
            bytes[at] = byte;
            std::fs::write(&path, &bytes).unwrap();
            if let Ok(parquet) = ParquetFile::open(&path) {
                for column in 0..parquet.names.len() {
                    let _ = parquet.numbers::<f32>(&[column]);
                    let _ = parquet.visit_cells(&[column], |_, _| Ok(()));
                }
            }
        }
    }
}
