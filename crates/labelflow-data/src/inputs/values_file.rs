//! Real-valued labels in files: true ones for evaluation, and those that models give, with how sure they are.

use std::path::Path;

use labelflow_weak::rows::TrueValues;

use crate::inputs::{KeyColumn, KeyHead, Keyed, RowKeys, RowNames};
use crate::tables::columns::write_table_as_it_comes;
use crate::tables::table::{Format, TableFile};
use crate::tables::{Column, ColumnValues, write_columns};
use crate::{Error, Result};

/// The columns that may hold values; the first of them that is there does.
const COLUMNS: [&str; 3] = ["label", "value", "mean"];
const ARRAY_NAMES: [&str; 6] = ["label", "labels", "value", "values", "y", "arr_0"];

/// Reads true values: csv, tsv or parquet with one column or a column `label`, `value` or `mean`, npy, or npz with an array
/// `label`, `value` or `y` or only one. No value may be missing.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("counts.csv");
/// std::fs::write(&path, "day,value\nmonday,12.5\ntuesday,11\n")?;
/// let values = labelflow_data::inputs::read_values(&path, &Default::default())?;
/// assert_eq!(values.value.values(), [12.5, 11.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_values(path: &Path, key: &KeyColumn) -> Result<Keyed<TrueValues>> {
    let table = TableFile::open(path, &ARRAY_NAMES)?.with_key(key)?;
    let values = table.checked_numbers(table.only_column(&COLUMNS)?, "a finite number", f64::is_finite)?;
    Keyed::of(&table, TrueValues::new(values).map_err(Error::in_file(path))?)
}

/// A file with 0 or 1 for each of these rows.
pub(crate) fn read_mask(path: &Path, rows: Option<&RowKeys>) -> Result<Vec<bool>> {
    let key = rows.map(RowKeys::key_column).unwrap_or_default();
    let table = TableFile::open(path, &ARRAY_NAMES)?.with_key(&key)?;
    let mask = table.checked_numbers(table.only_column(&COLUMNS)?, "0 or 1", |value| value == 0.0 || value == 1.0)?;
    let mask = mask.into_iter().map(|value| value == 1.0).collect::<Vec<_>>();
    let by_place = RowKeys::by_place(path, mask.len());
    Keyed::of(&table, mask)?.in_order_of(rows.unwrap_or(&by_place))
}

/// The columns of real-valued labels.
pub(crate) const VALUES: [&str; 5] = ["mean", "std", "q05", "q50", "q95"];

/// Real-valued labels of a table's rows with how sure they are, all in the label's own units.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ValueLabels {
    /// The mean of each row.
    pub mean: Vec<f64>,
    /// The standard deviation of each row.
    pub std: Vec<f64>,
    /// The value that one label in twenty is below.
    pub q05: Vec<f64>,
    /// The median.
    pub q50: Vec<f64>,
    /// The value that one label in twenty is above.
    pub q95: Vec<f64>,
}

impl ValueLabels {
    /// A table of these labels, behind the keys of their rows.
    fn columns(&self, keys: Column) -> Vec<Column> {
        let values = [&self.mean, &self.std, &self.q05, &self.q50, &self.q95];
        let values = VALUES.iter().zip(values);
        let values = values.map(|(&name, values)| Column::new(name, ColumnValues::Reals(values.clone())));
        std::iter::once(keys).chain(values).collect()
    }
}

/// Writes real-valued labels, atomically, in the format that the extension names: csv, tsv, parquet or npz, with the
/// key of the rows and the columns `mean`, `std`, `q05`, `q50` and `q95`.
pub fn write_value_labels(path: &Path, key: &KeyHead, rows: &RowNames, labels: &ValueLabels) -> Result<()> {
    if Format::of(path)? == Format::Npz {
        key.check_archive(path)?;
    }
    write_columns(path, &labels.columns(key.column(rows)))
}

/// Writes the same table as [`write_value_labels`] to a csv, tsv or parquet file, without having all rows in memory:
/// `produce` hands them over in their order; NaN is written as an empty cell.
pub fn write_value_labels_as_they_come<T, E: From<Error>>(
    path: &Path,
    key: &KeyHead,
    produce: impl FnOnce(&mut dyn FnMut(&RowNames, &ValueLabels) -> Result<()>) -> Result<T, E>,
) -> Result<T, E> {
    let empty = ValueLabels::default().columns(key.empty());
    write_table_as_it_comes(path, &empty, |table| {
        produce(&mut |rows, labels| table.push(&labels.columns(key.column(rows))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, text: &str) -> Result<TrueValues> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        Ok(read_values(&path, &KeyColumn::Row)?.value)
    }

    #[test]
    fn values_are_in_the_only_column_or_in_a_named_one() {
        assert_eq!(read("v.csv", "count\n1\n-2.5\n").unwrap().values(), [1.0, -2.5]);
        assert_eq!(read("v.tsv", "id\tlabel\na\t1e3\n").unwrap().values(), [1000.0]);
        assert_eq!(read("v.csv", "mean,value\n1,2\n").unwrap().values(), [2.0]);
    }

    #[test]
    fn bad_values_are_named() {
        for (text, expected) in [
            ("a,b\n0,1\n", "one column or a column 'label', 'value', 'mean', found the columns a, b"),
            ("label\n0\nx\n", "line 3, column 'label': expected a number, found 'x'"),
            ("label,x\n0,1\n,1\n", "line 3, column 'label': expected a finite number, found none"),
            ("label\n0\ninf\n", "line 3, column 'label': expected a finite number, found inf"),
            ("label\n", "at least one row"),
        ] {
            let error = read("v.csv", text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[cfg(feature = "parquet")]
    #[test]
    fn written_labels_are_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let values = |shift: f64| vec![0.1 + shift, 1e-300, 3.0 + shift];
        let labels =
            ValueLabels { mean: values(0.0), std: values(1.0), q05: values(2.0), q50: values(3.0), q95: values(4.0) };
        for name in ["labels.csv", "labels.tsv", "labels.parquet"] {
            let path = folder.path().join(name);
            write_value_labels(&path, &KeyHead::default(), &RowNames::Place(0..3), &labels).unwrap();
            assert_eq!(read_values(&path, &KeyColumn::Row).unwrap().value.values(), labels.mean);
        }
        let text = std::fs::read_to_string(folder.path().join("labels.csv")).unwrap();
        assert!(text.starts_with("row,mean,std,q05,q50,q95\n0,0.1,1.1,2.1,3.1,4.1\n"), "{text}");
        let unequal = ValueLabels { std: vec![1.0], ..labels };
        assert!(
            write_value_labels(
                &folder.path().join("labels.csv"),
                &KeyHead::default(),
                &RowNames::Place(0..3),
                &unequal
            )
            .is_err()
        );
    }
}
