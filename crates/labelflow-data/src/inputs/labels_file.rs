//! Labels in files: true ones for evaluation, and the soft ones that models give.

use std::path::Path;

use labelflow_weak::rows::Truth;
use ndarray::Array2;

use super::label_stream::{LabelColumns, LabelRows, check_classes, check_length, write_labels_as_they_come};
use crate::inputs::{KeyColumn, KeyHead, Keyed, RowNames};
use crate::tables::cells::{NameCodes, shown_number};
use crate::tables::columns::refuse_npy;
use crate::tables::npy_file::{NpzArray, write_npz};
use crate::tables::table::{Format, TableFile};
use crate::{Error, Result, ensure, write_atomically};

/// The column, or the array in an npz archive, that holds labels.
const COLUMN: &str = "label";
const ARRAY_NAMES: [&str; 4] = [COLUMN, "labels", "y", "arr_0"];

/// Reads true labels: csv, tsv or parquet with one column or a column `label`, npy, or npz with an array `label` or `y`
/// or only one.
///
/// A label is the name of a class or its index; cells that are all among the names are read as names. Without names,
/// labels are indices and the largest one decides the number of classes. No label may be missing.
pub fn read_labels(path: &Path, classes: &[String], key: &KeyColumn) -> Result<Keyed<Truth>> {
    let table = TableFile::open(path, &ARRAY_NAMES)?.with_key(key)?;
    let truth = labels_in_column(&table, table.only_column(&[COLUMN])?, classes)?;
    Keyed::of(&table, truth)
}

/// The labels in a column of a table, none of which may be missing.
pub(crate) fn labels_in_column(table: &TableFile, column: usize, classes: &[String]) -> Result<Truth> {
    let mut names_error = None;
    if !classes.is_empty() {
        match table.checked_codes(column, "a label", &mut NameCodes::of(classes)) {
            Ok(labels) => return Truth::new(labels, classes.len()).map_err(Error::in_file(&table.path)),
            Err(error) => names_error = Some(error),
        }
    }
    let values = table
        .numbers::<f64>(&[column])?
        .map_err(|error| names_error.unwrap_or_else(|| error.with_hint("name the classes to read names")))?;
    /// More classes than this in a file of labels are a mistake, such as a column of row numbers.
    const N_MOST: usize = 255;
    let n_most = if classes.is_empty() { N_MOST } else { classes.len() };
    let is_class = |value: f64| value.fract() == 0.0 && (0.0..n_most as f64).contains(&value);
    if let Some(row) = values.iter().position(|&value| !is_class(value)) {
        let expected = format!("a class from 0 to {}", n_most - 1);
        return Err(table.cell_error(row, column, expected, shown_number(values[[row, 0]])));
    }
    let labels = values.iter().map(|&value| value as usize).collect::<Vec<_>>();
    let n_classes = match classes.len() {
        0 => labels.iter().max().map_or(2, |largest| largest + 1).max(2),
        n_classes => n_classes,
    };
    Truth::new(labels, n_classes).map_err(Error::in_file(&table.path))
}

/// Writes labels of rows, atomically, in the format that the extension names.
///
/// Tables have the key of the rows (a column `row` of numbers, by default), `label` (the most probable class, by name) and `p_<class>` for
/// each class; an npz archive has the arrays `label` (class indices) and `proba`, and that of the key where rows are named.
///
/// ```
/// use labelflow_data::inputs::{KeyHead, LabelRows, write_labels};
/// use labelflow_weak::rows::SoftLabels;
/// use ndarray::array;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("labels.csv");
/// let labels = SoftLabels::new(array![[0.75, 0.25]])?;
/// let classes = ["ham".to_owned(), "spam".to_owned()];
/// write_labels(&path, &KeyHead::default(), LabelRows::of(&labels), &classes)?;
/// assert_eq!(std::fs::read_to_string(&path)?, "row,label,p_ham,p_spam\n0,ham,0.75,0.25\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_labels(path: &Path, key: &KeyHead, rows: LabelRows<'_>, classes: &[String]) -> Result<()> {
    match Format::of(path)? {
        Format::Npz => {
            check_classes(rows.labels, classes)?;
            key.check_archive(path)?;
            return write_archive(path, key, rows);
        }
        Format::Npy => return Err(refuse_npy(path)),
        Format::Separated(_) | Format::Parquet => {}
    }
    let (sets, agreement, n_votes) = (rows.sets.is_some(), rows.agreement.is_some(), rows.n_votes.is_some());
    let columns = LabelColumns { key: key.clone(), sets, agreement, n_votes };
    write_labels_as_they_come(path, classes, &columns, |push| push(rows))
}

fn write_archive(path: &Path, key: &KeyHead, rows: LabelRows<'_>) -> Result<()> {
    let labels = rows.labels;
    let hint = "rows without votes have no agreement, and an array has no empty place";
    ensure(rows.agreement.is_none(), || Error::content(path, "csv, tsv or parquet", "npz").with_hint(hint))?;
    let index = |class: Option<usize>| class.map_or(-1, |class| class as i64);
    let indices = rows.classes()?.into_iter().map(index).collect::<Vec<_>>();
    let shape = vec![labels.n_rows(), labels.n_classes()];
    let proba = NpzArray::Floats(shape.clone(), labels.values().iter().copied().collect());
    let mut arrays = vec![(COLUMN, NpzArray::Integers(&indices)), ("proba", proba)];
    let names = rows.rows.filter(|names| !matches!(names, RowNames::Place(_))).map(|names| key.column(names));
    if let Some(names) = &names {
        arrays.push((&names.name, names.values.to_npz()));
    }
    if let Some(sets) = rows.sets {
        check_length("sets", sets.len(), labels)?;
        let mut members = Array2::<f64>::zeros(labels.values().dim());
        for (row, set) in sets.iter().enumerate() {
            set.iter().for_each(|&class| members[(row, class)] = 1.0);
        }
        arrays.push(("set", NpzArray::Floats(shape, members.into_iter().collect())));
    }
    if let Some(n_votes) = rows.n_votes {
        check_length("n_votes", n_votes.len(), labels)?;
        arrays.push(("n_votes", NpzArray::Integers(n_votes)));
    }
    write_atomically(path, |writer| write_npz(writer, &arrays))
}

#[cfg(test)]
mod tests {
    use labelflow_weak::rows::SoftLabels;
    use ndarray::array;
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str, classes: &[&str]) -> Result<Truth> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("labels.csv");
        std::fs::write(&path, text).unwrap();
        Ok(read_labels(&path, &names(classes), &KeyColumn::Row)?.value)
    }

    fn names(classes: &[&str]) -> Vec<String> {
        classes.iter().map(|class| (*class).to_owned()).collect()
    }

    #[test]
    fn labels_are_names_or_indices() {
        assert_eq!(read("y\n0\n1\n0\n", &[]).unwrap().labels(), [0, 1, 0]);
        assert_eq!(read("id,label\na,1\nb,0\n", &["ham", "spam"]).unwrap().labels(), [1, 0]);
        assert_eq!(read("label\nspam\nham\n", &["ham", "spam"]).unwrap().labels(), [1, 0]);
        assert_eq!(read("label\n7\n3\n", &["3", "7"]).unwrap().labels(), [1, 0]);
        assert_eq!(read("label\n0\n0\n", &[]).unwrap().n_classes(), 2);
    }

    #[test]
    fn bad_labels_are_named() {
        for (text, classes, expected) in [
            ("a,b\n0,1\n", &[][..], "one column or a column 'label'"),
            ("label\n0\n-1\n", &[], "line 3, column 'label': expected a class from 0 to 254, found -1"),
            ("label,x\n0,1\n,1\n", &[], "line 3, column 'label'"),
            ("label\nham\nspam\n", &[], "name the classes"),
            ("label\nham\negg\n", &["ham", "spam"], "line 3, column 'label': expected one of ham, spam, found 'egg'"),
            ("label,x\nham,1\n,1\n", &["ham", "spam"], "expected a label, found none"),
            ("label\n0\n0.5\n", &[], "found 0.5"),
            ("label\n", &[], "at least one row"),
        ] {
            let error = read(text, classes).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[cfg(feature = "parquet")]
        #[test]
        fn written_labels_are_read_back(weights in proptest::collection::vec([0f64..1.0, 0f64..1.0, 0f64..1.0], 1..20)) {
            let labels = SoftLabels::normalized(Array2::from(weights));
            let classes = names(&["a, b", "c\"d", "é"]);
            let folder = tempfile::tempdir().unwrap();
            for extension in ["csv", "tsv", "parquet", "npz"] {
                let path = folder.path().join("labels").with_extension(extension);
                write_labels(&path, &KeyHead::default(), LabelRows::of(&labels), &classes).unwrap();
                let read = read_labels(&path, &classes, &KeyColumn::Row).unwrap().value;
                prop_assert_eq!(read.labels(), labels.argmax());
            }
            let table = TableFile::open_named(&folder.path().join("labels.csv")).unwrap();
            prop_assert_eq!(table.names[2..].to_vec(), names(&["p_a, b", "p_c\"d", "p_é"]));
            let p = table.numbers::<f64>(&[2, 3, 4]).unwrap().unwrap();
            prop_assert_eq!(p.view(), labels.values());
        }

        #[cfg(feature = "parquet")]
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let folder = tempfile::tempdir().unwrap();
            for extension in ["csv", "parquet", "npy", "npz"] {
                let path = folder.path().join("labels").with_extension(extension);
                std::fs::write(&path, &bytes).unwrap();
                let _ = read_labels(&path, &[], &KeyColumn::Row);
                let _ = read_labels(&path, &names(&["a", "b"]), &KeyColumn::Row);
            }
        }
    }

    #[test]
    fn class_names_must_match() {
        let labels = SoftLabels::new(array![[0.5, 0.5]]).unwrap();
        let write = |path, classes: &[&str]| {
            write_labels(Path::new(path), &KeyHead::default(), LabelRows::of(&labels), &names(classes))
        };
        assert!(write("labels.csv", &["a"]).is_err());
        assert!(write("labels.txt", &["a", "b"]).is_err());
    }

    #[test]
    fn agreement_is_empty_where_nobody_voted() {
        let folder = tempfile::tempdir().unwrap();
        let labels = SoftLabels::new(array![[0.75, 0.25], [0.5, 0.5]]).unwrap();
        let path = folder.path().join("labels.csv");
        let classes = names(&["a", "b"]);
        let with = |path: &Path, shares: &[Option<f64>]| {
            let rows = LabelRows { agreement: Some(shares), ..LabelRows::of(&labels) };
            write_labels(path, &KeyHead::default(), rows, &classes)
        };
        with(&path, &[Some(0.5), None]).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "row,label,p_a,p_b,agreement\n0,a,0.75,0.25,0.5\n1,a,0.5,0.5,\n");
        assert!(with(&path, &[None]).is_err());
        let npz = folder.path().join("labels.npz");
        assert!(with(&npz, &[None, None]).is_err());
    }

    #[test]
    fn labels_have_the_keys_of_their_rows() {
        let folder = tempfile::tempdir().unwrap();
        let labels = SoftLabels::new(array![[0.75, 0.25], [0.5, 0.5]]).unwrap();
        let (tasks, classes) = (RowNames::Texts(names(&["q7", "a, b"])), names(&["cat", "dog"]));
        let write = |path: &Path, rows: &RowNames| {
            let are_numbers = matches!(rows, RowNames::Numbers(_));
            let rows = LabelRows { rows: Some(rows), ..LabelRows::of(&labels) };
            write_labels(path, &KeyHead::new("task", are_numbers), rows, &classes)
        };
        let path = folder.path().join("labels.csv");
        write(&path, &tasks).unwrap();
        let expected = "task,label,p_cat,p_dog\nq7,cat,0.75,0.25\n\"a, b\",cat,0.5,0.5\n";
        assert_eq!(std::fs::read_to_string(&path).unwrap(), expected);
        assert!(write(&path, &RowNames::Texts(names(&["q7"]))).is_err());
        let key = KeyColumn::of(Some("task"));
        assert_eq!(*read_labels(&path, &classes, &key).unwrap().keys.names(), tasks);
        let archive = path.with_extension("npz");
        let rows = RowNames::Numbers(vec![9, 4]);
        write(&archive, &rows).unwrap();
        let read = read_labels(&archive, &classes, &key).unwrap().keys;
        assert_eq!([read.names().get(0), read.names().get(1)], ["9", "4"]);
    }
}
