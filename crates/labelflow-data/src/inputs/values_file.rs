//! Real-valued labels in files: true ones for evaluation, and those that models give, with how sure they are.

use std::path::Path;

use labelflow_weak::rows::TrueValues;

use crate::tables::npy_file::NpyArray;
use crate::tables::table::{Source, TableFile};
use crate::tables::{Column, ColumnValues, write_columns};
use crate::{Error, Place, Result};

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
/// assert_eq!(labelflow_data::inputs::read_values(&path)?.values(), [12.5, 11.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_values(path: &Path) -> Result<TrueValues> {
    let values = read_one_column(path, "a finite number", f64::is_finite)?;
    TrueValues::new(values).map_err(Error::in_file(path))
}

/// One number a row, all of which `accept`.
pub(crate) fn read_one_column(
    path: &Path,
    expected: &str,
    accept: impl Fn(f64) -> bool,
) -> Result<Vec<f64>> {
    let refuse = |values: &[f64], at: &dyn Fn(usize, Error) -> Error| {
        let Some(row) = values.iter().position(|&value| !accept(value)) else { return Ok(()) };
        let found = if values[row].is_nan() { "none".to_owned() } else { values[row].to_string() };
        Err(at(row, Error::content(path, expected, found)))
    };
    match Source::open(path)? {
        Source::Table(table) => {
            let column = value_column(path, &table)?;
            let values =
                table.numbers::<f64>(&[column])?.or_error()?.into_iter().collect::<Vec<_>>();
            let name = &table.names()[column];
            refuse(&values, &|row, error| error.at(table.place(row)).in_column(name))?;
            Ok(values)
        }
        Source::Array => {
            let array = NpyArray::read(path, &ARRAY_NAMES)?;
            let shape = array.shape();
            if shape.is_empty() || shape.iter().skip(1).any(|&length| length != 1) {
                let found = format!("{shape:?}");
                return Err(Error::content(path, "an array of shape [n_rows]", found));
            }
            let values = array.numbers::<f64>().into_iter().collect::<Vec<_>>();
            refuse(&values, &|row, error| error.at(Place::row(row)))?;
            Ok(values)
        }
    }
}

fn value_column(path: &Path, table: &TableFile) -> Result<usize> {
    match (COLUMNS.iter().find_map(|name| table.column(name)), table.names()) {
        (Some(column), _) => Ok(column),
        (None, [_]) => Ok(0),
        (None, names) => Err(Error::content(
            path,
            format!(
                "one column or a column {}",
                COLUMNS.map(|name| format!("'{name}'")).join(", ")
            ),
            format!("the columns {}", names.join(", ")),
        )),
    }
}

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
    /// The columns with their names.
    pub(crate) fn columns(&self) -> [(&'static str, &Vec<f64>); 5] {
        [
            ("mean", &self.mean),
            ("std", &self.std),
            ("q05", &self.q05),
            ("q50", &self.q50),
            ("q95", &self.q95),
        ]
    }
}

/// Writes real-valued labels, atomically, in the format that the extension names: csv, tsv, parquet or npz, with the
/// columns `row`, `mean`, `std`, `q05`, `q50` and `q95`.
pub fn write_value_labels(path: &Path, labels: &ValueLabels) -> Result<()> {
    let rows = ColumnValues::Integers((0..labels.mean.len() as i64).collect());
    let mut columns = vec![Column { name: "row".to_owned(), values: rows }];
    for (name, values) in labels.columns() {
        let values = ColumnValues::Reals(values.clone());
        columns.push(Column { name: name.to_owned(), values });
    }
    write_columns(path, &columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, text: &str) -> Result<TrueValues> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        read_values(&path)
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
            (
                "a,b\n0,1\n",
                "one column or a column 'label', 'value', 'mean', found the columns a, b",
            ),
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
        let labels = ValueLabels {
            mean: values(0.0),
            std: values(1.0),
            q05: values(2.0),
            q50: values(3.0),
            q95: values(4.0),
        };
        for name in ["labels.csv", "labels.tsv", "labels.parquet"] {
            let path = folder.path().join(name);
            write_value_labels(&path, &labels).unwrap();
            assert_eq!(read_values(&path).unwrap().values(), labels.mean);
        }
        let text = std::fs::read_to_string(folder.path().join("labels.csv")).unwrap();
        assert!(text.starts_with("row,mean,std,q05,q50,q95\n0,0.1,1.1,2.1,3.1,4.1\n"), "{text}");
        let unequal = ValueLabels { std: vec![1.0], ..labels };
        assert!(write_value_labels(&folder.path().join("labels.csv"), &unequal).is_err());
    }
}
