//! Labels that a model gave, read back from what [`write_labels`](crate::inputs::write_labels) or
//! [`write_value_labels`](crate::inputs::write_value_labels) wrote.

use std::path::Path;

use labelflow_weak::rows::SoftLabels;
use ndarray::{Array2, Axis};

use super::task_votes_file::TASK;
use super::values_file::VALUES;
use crate::inputs::{KeyColumn, Keyed, RowKeys, ValueLabels};
use crate::tables::table::{Format, TableFile};
use crate::{Error, Result, ensure};

/// How a column of probabilities is called: this, then the class.
const PROBABILITY: &str = "p_";
/// Rounded probabilities may miss one by this much.
const ROUNDING: f64 = 0.01;

/// Labels of rows, as a model gave them.
#[derive(Debug, Clone, PartialEq)]
pub enum Predictions {
    /// Classes with their probabilities.
    Classes(ClassPredictions),
    /// Real values with how sure they are, and the names of their rows.
    Values(ValueLabels, RowKeys),
}

/// Probabilities of classes.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassPredictions {
    /// The probabilities of each row.
    pub labels: SoftLabels,
    /// The names of the classes; their numbers where the file has no names.
    pub classes: Vec<String>,
    /// The names of the rows.
    pub keys: RowKeys,
}

/// Reads labels that a model gave: csv, tsv or parquet with a column `p_<class>` for each class, or with the columns `mean`, `std`,
/// `q05`, `q50` and `q95`; or npz with the array `proba`, or with arrays of the same names.
///
/// ```
/// use labelflow_data::inputs::{KeyColumn, Predictions, read_predictions};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("labels.csv");
/// std::fs::write(&path, "row,label,p_ham,p_spam\n0,ham,0.75,0.25\n")?;
/// let Predictions::Classes(read) = read_predictions(&path, &KeyColumn::Row)? else { panic!("classes") };
/// assert_eq!((read.classes.join(" "), read.labels.argmax()), ("ham spam".to_owned(), vec![0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_predictions(path: &Path, key: &KeyColumn) -> Result<Predictions> {
    match Format::of_input(path)? {
        (Format::Npy | Format::Npz, _file) => read_archive(path, key),
        _ => {
            let table = TableFile::open_named(path)?;
            // Labels of a crowd's tasks are named by these.
            let is_of_tasks = *key == KeyColumn::Row && table.column(TASK).is_some();
            let task = KeyColumn::of(Some(TASK));
            read_table(&table.with_key(if is_of_tasks { &task } else { key })?)
        }
    }
}

fn refuse(path: &Path, found: impl std::fmt::Display) -> Error {
    let values = VALUES.join(", ");
    Error::content(path, format!("columns p_<class> with probabilities, or {values}"), found)
        .with_hint("`labelflow predict` and `labelflow label` write such files")
}

fn read_table(table: &TableFile) -> Result<Predictions> {
    let is_probability = |column: &usize| table.names[*column].starts_with(PROBABILITY);
    let columns: Vec<usize> = table.columns().into_iter().filter(is_probability).collect();
    if columns.len() >= 2 {
        let class = |&column: &usize| table.names[column][PROBABILITY.len()..].to_owned();
        return class_predictions(table, table.numbers(&columns)??, columns.iter().map(class).collect());
    }
    let columns: Option<Vec<usize>> = VALUES.iter().map(|name| table.column(name)).collect();
    let refuse = || refuse(&table.path, format!("the columns {}", table.names.join(", ")));
    let numbers = table.numbers::<f64>(&columns.ok_or_else(refuse)?)??;
    value_predictions(table, numbers.columns().into_iter().map(|column| column.to_vec()).collect())
}

fn read_archive(path: &Path, key: &KeyColumn) -> Result<Predictions> {
    if let Some(table) = TableFile::open_array(path, "proba")? {
        table.check_shape("[n_rows, 2 to 255 classes]", |shape| matches!(shape, [_, 2..=255]))?;
        let p = table.array().and_then(|array| array.numbers().into_dimensionality().ok());
        let (p, classes) = (p.expect("an array of two dimensions"), table.names.clone());
        return class_predictions(&table.with_key(key)?, p, classes);
    }
    let open = |name| {
        let array = TableFile::open_array(path, name)?;
        array.ok_or_else(|| refuse(path, format!("no array '{name}'")))
    };
    let column = |name| {
        let table = open(name)?;
        Ok(table.numbers(&table.columns())??.into_iter().collect())
    };
    let columns = VALUES.into_iter().map(column).collect::<Result<_>>()?;
    value_predictions(&open(VALUES[0])?.with_key(key)?, columns)
}

fn class_predictions(table: &TableFile, p: Array2<f64>, classes: Vec<String>) -> Result<Predictions> {
    for (row, p) in p.axis_iter(Axis(0)).enumerate() {
        let is_valid = p.iter().all(|p| (0.0..=1.0).contains(p)) && (p.sum() - 1.0).abs() <= ROUNDING;
        let refuse = || table.error("probabilities from 0 to 1 that add up to 1", p).at(table.place(row));
        ensure(is_valid, refuse)?;
    }
    ensure(p.nrows() > 0, || table.error("at least one row", "none"))?;
    let Keyed { value: labels, keys } = Keyed::of(table, SoftLabels::normalized(p))?;
    Ok(Predictions::Classes(ClassPredictions { labels, classes, keys }))
}

fn value_predictions(table: &TableFile, columns: Vec<Vec<f64>>) -> Result<Predictions> {
    let n_rows = columns[0].len();
    for (name, column) in VALUES.iter().zip(&columns) {
        let expected = || format!("{n_rows} rows in '{name}', as in '{}'", VALUES[0]);
        ensure(column.len() == n_rows, || table.error(expected(), column.len()))?;
        let is_wrong = |value: &f64| !value.is_finite() || (*name == "std" && *value < 0.0);
        if let Some(row) = column.iter().position(is_wrong) {
            let error = table.error("a finite number, not negative in 'std'", column[row]);
            return Err(error.at(table.place(row)).in_column(name));
        }
    }
    ensure(n_rows > 0, || table.error("at least one row", "none"))?;
    let [mean, std, q05, q50, q95] = <[Vec<f64>; 5]>::try_from(columns).expect("five columns");
    Ok(Predictions::Values(ValueLabels { mean, std, q05, q50, q95 }, RowKeys::of_table(table, n_rows)?))
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::inputs::{KeyHead, LabelRows, RowNames, write_labels, write_value_labels};

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[cfg(feature = "parquet")]
    #[test]
    fn written_labels_are_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let labels = SoftLabels::new(array![[0.75, 0.25], [0.5, 0.5]]).unwrap();
        for extension in ["csv", "tsv", "parquet", "npz"] {
            let path = folder.path().join("labels").with_extension(extension);
            write_labels(&path, &KeyHead::default(), LabelRows::of(&labels), &names(&["a, b", "c"])).unwrap();
            let Predictions::Classes(read) = read_predictions(&path, &KeyColumn::Row).unwrap() else { panic!() };
            assert_eq!(read.labels, labels);
            let expected = if extension == "npz" { ["0", "1"] } else { ["a, b", "c"] };
            assert_eq!((read.classes, read.keys.names().get(1)), (names(&expected), "1".to_owned()));
        }
        let path = folder.path().join("tasks.csv");
        let tasks = RowNames::Texts(names(&["q7", "q1"]));
        let rows = LabelRows { rows: Some(&tasks), ..LabelRows::of(&labels) };
        write_labels(&path, &KeyHead::new("task", false), rows, &names(&["a", "b"])).unwrap();
        let Predictions::Classes(read) = read_predictions(&path, &KeyColumn::Row).unwrap() else { panic!() };
        assert_eq!((read.keys.column(), read.keys.names()), ("task", &tasks));
    }

    #[cfg(feature = "parquet")]
    #[test]
    fn written_values_are_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let column = |shift: f64| vec![1.0 + shift, 2.0 + shift];
        let labels =
            ValueLabels { mean: column(0.0), std: column(0.5), q05: column(-1.0), q50: column(0.1), q95: column(1.0) };
        for extension in ["csv", "parquet", "npz"] {
            let path = folder.path().join("labels").with_extension(extension);
            write_value_labels(&path, &KeyHead::default(), &RowNames::Place(0..2), &labels).unwrap();
            let Predictions::Values(read, _) = read_predictions(&path, &KeyColumn::Row).unwrap() else { panic!() };
            assert_eq!(read, labels);
        }
    }

    #[test]
    fn other_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        for (text, expected) in [
            ("row,label\n0,ham\n", "p_<class>"),
            ("label,p_a\n0,1\n", "found the columns label, p_a"),
            ("p_a,p_b\n0.5,0.5\n0.5,0.7\n", "line 3: expected probabilities"),
            ("p_a,p_b\n0.5,\n", "line 2: expected probabilities"),
            ("p_a,p_b\n1.5,-0.5\n", "line 2: expected probabilities"),
            ("p_a,p_b\nx,0.5\n", "'x'"),
            ("p_a,p_b\n", "at least one row"),
            ("mean,std,q05,q50,q95\n1,-1,0,1,2\n", "line 2, column 'std'"),
            ("mean,std,q05,q50\n1,1,0,1\n", "q95"),
        ] {
            let path = folder.path().join("labels.csv");
            std::fs::write(&path, text).unwrap();
            let error = read_predictions(&path, &KeyColumn::Row).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
        assert!(read_predictions(&folder.path().join("labels.txt"), &KeyColumn::Row).is_err());
    }
}
