//! Feature tables in files.

use std::path::Path;

use labelflow_weak::rows::{Features, is_single};
use ndarray::Array2;

use crate::inputs::{KeyColumn, Keyed};
use crate::tables::npy_file::{NpzArray, write_npz};
use crate::tables::table::{Format, TableFile};
use crate::tables::{Column, ColumnValues, write_columns};
use crate::{Error, Result, ensure, write_atomically};

/// The names under which an npz archive may hold features.
const ARRAY_NAMES: [&str; 4] = ["features", "x", "X", "arr_0"];

/// Reads features: csv or tsv with a header, parquet, npy, or npz with an array `features` or `x` or only one.
///
/// Every column but the key must be numeric and every cell finite. Arrays have the shape `[n_rows, d_features]`, and columns
/// without names.
pub fn read_features(path: &Path, key: &KeyColumn) -> Result<Keyed<Features>> {
    let table = TableFile::open(path, &ARRAY_NAMES)?.with_key(key)?;
    table.check_shape("[n_rows, d_features]", |shape| shape.len() == 2)?;
    let columns = table.columns();
    ensure(!columns.is_empty(), || table.error("at least one feature", format!("only the column '{}'", key.name())))?;
    let values = table.numbers::<f64>(&columns)?;
    let values = values.map_err(|error| error.with_hint(NOT_FEATURES))?;
    if let Some((row, column, found)) = first_not_finite(&values) {
        let error = table.cell_error(row, columns[column], "a finite number", found);
        return Err(error.with_hint(MISSING_VALUES));
    }
    let features = match table.array() {
        Some(_) => Features::new(values),
        None => Features::with_names(values, columns.iter().map(|&column| table.names[column].clone()).collect()),
    };
    Keyed::of(&table, features.map_err(Error::in_file(path))?)
}

/// Advice about columns of text.
pub(crate) const NOT_FEATURES: &str =
    "drop columns that are not features, name the one that is the key of rows, or replace text by numbers";
/// Advice about cells without a number.
pub(crate) const MISSING_VALUES: &str = "fill or drop missing values first";

/// The row and the column of the first cell without a finite number, and what it holds.
pub(crate) fn first_not_finite(values: &Array2<f64>) -> Option<(usize, usize, &'static str)> {
    let ((row, column), value) = values.indexed_iter().find(|(_, value)| !value.is_finite())?;
    Some((row, column, if value.is_nan() { "none" } else { "one too large or infinite" }))
}

/// Writes features in the format that the extension names.
pub fn write_features(path: &Path, features: &Features) -> Result<()> {
    let values = features.values();
    match Format::of(path)? {
        Format::Npz => write_atomically(path, |writer| {
            let shape = vec![features.n_rows(), features.d_features()];
            let floats = values.iter().copied().collect();
            write_npz(writer, &[("features", NpzArray::Floats(shape, floats))])
        }),
        _ => {
            let columns = features.names().iter().zip(values.columns()).map(|(name, column)| {
                Column::new(name, ColumnValues::Reals(column.iter().map(|&value| shortest(value)).collect()))
            });
            write_columns(path, &columns.collect::<Vec<_>>())
        }
    }
}

/// A number of single precision through text, so that 0.1 is written as 0.1 and not as the double nearest to the float.
fn shortest(value: f64) -> f64 {
    // Whole numbers beyond this lose digits.
    const WHOLE: f64 = 16_777_216.0;
    match is_single(value) && value.abs() < WHOLE {
        true => (value as f32).to_string().parse().expect("a printed number can be parsed"),
        false => value,
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use proptest::prelude::*;

    use super::*;

    fn read(name: &str, text: &str) -> Result<Features> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        Ok(read_features(&path, &KeyColumn::Row)?.value)
    }

    #[test]
    fn csv_and_tsv_have_names() {
        let features = read("f.csv", "a,b\n1,2\n3,4.5\n").unwrap();
        assert_eq!(features.names(), ["a", "b"]);
        assert_eq!(features.values(), array![[1.0, 2.0], [3.0, 4.5]]);
        assert_eq!(read("f.tsv", "a\tb\n1\t2\n").unwrap().values(), array![[1.0, 2.0]]);
    }

    #[test]
    fn text_columns_and_missing_values_are_named() {
        for (text, expected) in [
            ("id,a\nrow1,2\n", "line 2, column 'id': expected a number, found 'row1'"),
            ("a,b\n1,2\n3,\n", "line 3, column 'b': expected a finite number, found none"),
            ("a,b\r\n1,2\r\n3,nan\r\n", "line 3, column 'b'"),
            ("a\n1e309\n", "found one too large or infinite"),
            ("a,b\n", "at least one row"),
        ] {
            let error = read("f.csv", text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let error = read("f.csv", "id,a\nrow1,2\n").unwrap_err().to_string();
        assert!(error.contains("drop columns that are not features"), "{error}");
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = read_features(Path::new("no/such/file.csv"), &KeyColumn::Row).unwrap_err().to_string();
        assert!(error.starts_with("cannot read no/such/file.csv"), "{error}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[cfg(feature = "parquet")]
        #[test]
        fn what_is_written_is_read_back(
            rows in proptest::collection::vec((any::<f32>(), any::<f32>(), any::<f64>()), 1..20),
            names in proptest::array::uniform3("[a-z \"',\n\t;é]{0,6}[a-z]"),
        ) {
            let rows = rows.into_iter().map(|(a, b, c)| [f64::from(a), f64::from(b), c]);
            let values = Array2::from(rows.collect::<Vec<_>>()).mapv(|value| if value.is_finite() { value } else { 0.5 });
            // Names must differ: each ends with its column.
            let names = [0, 1, 2].map(|column| format!("{}{column}", names[column].trim())).to_vec();
            let features = Features::with_names(values, names).unwrap();
            let folder = tempfile::tempdir().unwrap();
            for extension in ["csv", "tsv", "parquet"] {
                let path = folder.path().join("features").with_extension(extension);
                write_features(&path, &features).unwrap();
                let read = read_features(&path, &KeyColumn::Row).unwrap().value;
                prop_assert_eq!(read.names(), features.names());
                prop_assert_eq!(read.values().column(2).to_owned(), features.values().column(2).to_owned());
                // As few digits are written as single precision takes.
                prop_assert_eq!(read.rounded(), features.rounded());
            }
            let path = folder.path().join("features.npz");
            write_features(&path, &features).unwrap();
            let read = read_features(&path, &KeyColumn::Row).unwrap().value;
            prop_assert_eq!(read.values(), features.values());
        }

        #[cfg(feature = "parquet")]
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let folder = tempfile::tempdir().unwrap();
            for extension in ["csv", "tsv", "parquet", "npy", "npz"] {
                let path = folder.path().join("features").with_extension(extension);
                std::fs::write(&path, &bytes).unwrap();
                let _ = read_features(&path, &KeyColumn::Row);
            }
        }
    }
}
