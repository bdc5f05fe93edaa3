//! Error bounds in files.

use std::path::Path;

use labelflow_weak::labelers::Bounds;
use labelflow_weak::votes::WeakSignals;
use ndarray::{Array2, Axis};

use crate::tables::cells::{NameCodes, shown_number};
use crate::tables::table::TableFile;
use crate::{Error, Result, ensure};

const LABELER: &str = "labeler";
const BOUND: &str = "bound";
const ARRAY_NAMES: [&str; 3] = ["bounds", "b", "arr_0"];

/// Reads the bounds of these signals: csv, tsv or parquet with the columns `labeler` and `bound`, or `labeler` and one
/// column per class; or an array of shape `[n_signals]` or `[n_signals, n_classes]`.
///
/// Tables name the labelers, in any order; each must appear once. Arrays have the order of the signals.
pub fn read_bounds(path: &Path, signals: &WeakSignals) -> Result<Bounds> {
    let shape @ (n_signals, n_classes) = (signals.n_signals(), signals.n_classes());
    let table = TableFile::open(path, &ARRAY_NAMES)?;
    let bounds = if table.array().is_some() {
        let expected = format!("[{n_signals}] or [{n_signals}, {n_classes}]");
        table.check_shape(&expected, |shape| shape == [n_signals] || shape == [n_signals, n_classes])?;
        let values = table.numbers::<f64>(&table.columns())??;
        values.broadcast(shape).expect("a column for all classes or one each").to_owned()
    } else {
        read_table(&table, signals)?
    };
    Bounds::new(bounds).map_err(Error::in_file(path))
}

fn read_table(table: &TableFile, signals: &WeakSignals) -> Result<Array2<f64>> {
    let required_column = |name: &str| {
        table
            .required_column(name)
            .map_err(|error| error.with_hint("bounds have the columns labeler and bound, or labeler and one per class"))
    };
    let labeler = required_column(LABELER)?;
    let columns = match table.column(BOUND) {
        Some(column) => vec![column; signals.n_classes()],
        None => signals.classes().iter().map(|class| required_column(class)).collect::<Result<_>>()?,
    };
    let labelers = table.checked_codes(labeler, "the name of a labeler", &mut NameCodes::of(signals.labelers()))?;
    let values = table.numbers::<f64>(&columns)??;
    let mut bounds = Array2::from_elem((signals.n_signals(), signals.n_classes()), f64::NAN);
    let mut is_given = vec![false; signals.n_signals()];
    for (row, (&signal, values)) in labelers.iter().zip(values.axis_iter(Axis(0))).enumerate() {
        let again = || format!("'{}' again", signals.labelers()[signal]);
        let is_first = !std::mem::replace(&mut is_given[signal], true);
        ensure(is_first, || table.cell_error(row, labeler, "every labeler once", again()))?;
        bounds.row_mut(signal).assign(&values);
        if let Some(class) = values.iter().position(|bound| !(0.0..=1.0).contains(bound)) {
            let found = shown_number(values[class]);
            return Err(table.cell_error(row, columns[class], "an error rate from 0 to 1", found));
        }
    }
    if let Some(signal) = is_given.iter().position(|given| !given) {
        let expected = format!("a bound for each of {} labelers", signals.n_signals());
        return Err(table.error(expected, format!("none for '{}'", signals.labelers()[signal])));
    }
    Ok(bounds)
}

#[cfg(test)]
mod tests {
    use labelflow_weak::votes::Votes;
    use ndarray::array;

    use super::*;

    fn signals() -> WeakSignals {
        let votes = Votes::from_indices(array![[0, 1], [1, -1]].view(), None).unwrap();
        let names = |names: [&str; 2]| names.map(str::to_owned).to_vec();
        WeakSignals::from_votes(votes)
            .and_then(|signals| signals.with_labelers(names(["r1", "r2"])))
            .and_then(|signals| signals.with_classes(names(["ham", "spam"])))
            .unwrap()
    }

    fn read(text: &str) -> Result<Bounds> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bounds.csv");
        std::fs::write(&path, text).unwrap();
        read_bounds(&path, &signals())
    }

    #[test]
    fn one_bound_a_labeler_or_one_a_class() {
        let bounds = read("bound,labeler\n0.2,r2\n0.1,r1\n").unwrap();
        assert_eq!(bounds.values(), array![[0.1, 0.1], [0.2, 0.2]]);
        let bounds = read("labeler,spam,ham\nr1,0.1,0.2\nr2,0.3,0.4\n").unwrap();
        assert_eq!(bounds.values(), array![[0.2, 0.1], [0.4, 0.3]]);
    }

    #[test]
    fn bad_bounds_are_named() {
        for (text, expected) in [
            ("labeler,bound\nr1,0.1\n", "none for 'r2'"),
            ("labeler,bound\nr1,0.1\nr1,0.1\n", "line 3, column 'labeler'"),
            ("labeler,bound\nr1,0.1\nr3,0.1\n", "line 3, column 'labeler': expected one of r1, r2"),
            ("labeler,bound\nr1,0.1\nr2,1.5\n", "line 3, column 'bound'"),
            ("labeler,bound\nr1,0.1\nr2,\n", "line 3, column 'bound'"),
            ("labeler,ham\nr1,0.1\nr2,0.2\n", "a column 'spam'"),
            ("name,bound\nr1,0.1\n", "a column 'labeler'"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
