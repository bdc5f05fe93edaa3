//! Sets in text files of numbers separated by blanks, one row a line, no header: how older archives keep their tables.
//!
//! - Firm-Teacher Clave-Direction: two directions of Afro-Latin rhythm, from which of 16 beats sound.
//! - Statlog German Credit, the numeric form: good or bad credit risk.
//! - Statlog Landsat Satellite: red soil or very damp grey soil, from 3 × 3 pixels in four spectral bands.

use std::fs;
use std::path::{Path, PathBuf};

use ndarray::{Array2, Axis, concatenate, s};

use crate::catalog::catalog_entry::Source;
use crate::catalog::sets::number_table::{numbered_names, two_class_table};
use crate::catalog::{LabelledTable, WeakProblem, simulate};
use crate::tables::cells::into_table;
use crate::{Error, Place, Result, ensure};

/// Rows that carry two labels.
const LABELLED_TWICE: [usize; 2] = [640, 1085];

/// Sixteen beats, then one indicator for each of four directions, of which the second and third are kept.
pub(crate) fn read_clave(paths: &[PathBuf]) -> Result<LabelledTable> {
    let table = read_number_lines(&paths[0], 20)?;
    let rows = (0..table.nrows()).filter(|row| !LABELLED_TWICE.contains(row)).collect::<Vec<_>>();
    let mut table = table.select(Axis(0), &rows);
    // The class takes the place of the first indicator: 2, 3 or neither.
    for mut row in table.rows_mut() {
        row[16] = if row[17] == 1.0 { 2.0 } else { 3.0 * f64::from(row[18] == 1.0) };
    }
    let classes = [("third direction", 3.0), ("second direction", 2.0)];
    let table = table.slice_move(s![.., ..17]);
    two_class_table(&paths[0], &table, numbered_names(16), classes)
}

/// The source of the weak signals drops the first 300 good risks, which leaves 400 good and 300 bad.
const N_DROPPED: usize = 300;

pub(crate) fn load_credit(source: &Source<'_>) -> Result<WeakProblem> {
    let path = &source.paths[0];
    let table = read_number_lines(path, 25)?;
    let classes = [("good", 1.0), ("bad", 2.0)];
    let mut table = two_class_table(path, &table, numbered_names(24), classes)?;
    if !source.options.keep_all_rows {
        // A stable sort by class followed by dropping rows: the order of the rest is the sorted one.
        let mut rows = (0..table.truth.n_rows()).collect::<Vec<_>>();
        rows.sort_by_key(|&row| table.truth.labels()[row]);
        table = table.select_rows(rows.get(N_DROPPED..).filter(|rest| !rest.is_empty()).unwrap_or(&rows));
    }
    simulate(&table, &[0, 7, 15], source.seed, source.options.bounds)
}

/// Both files together; of six classes the first and the last are kept.
pub(crate) fn read_satellite(paths: &[PathBuf]) -> Result<LabelledTable> {
    let tables = [read_number_lines(&paths[0], 37)?, read_number_lines(&paths[1], 37)?];
    let table = concatenate(Axis(0), &[tables[0].view(), tables[1].view()]).expect("both tables have 37 columns");
    let names = (0..36).map(|column| format!("pixel {} band {}", column / 4, column % 4));
    let classes = [("very damp grey soil", 7.0), ("red soil", 1.0)];
    two_class_table(&paths[0], &table, names.collect(), classes)
}

/// The first `n_columns` numbers of each line; what follows them, such as a remark, is ignored. Blank lines are skipped.
fn read_number_lines(path: &Path, n_columns: usize) -> Result<Array2<f64>> {
    let text = fs::read_to_string(path).map_err(|source| Error::read(path, source))?;
    let mut values = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let place = Place::Line(index as u64 + 1);
        let before = values.len();
        for cell in line.split_ascii_whitespace().take(n_columns) {
            let value = cell.parse().map_err(|_| Error::cell(path, "a number", cell).at(place));
            values.push(value?);
        }
        let found = values.len() - before;
        ensure(found == n_columns, || Error::content(path, format!("{n_columns} numbers"), found).at(place))?;
    }
    Ok(into_table(values, n_columns))
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    fn read(text: &str) -> Result<Array2<f64>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("numbers.txt");
        fs::write(&path, text).unwrap();
        read_number_lines(&path, 2)
    }

    #[test]
    fn remarks_and_blank_lines_are_ignored() {
        assert_eq!(read(" 1 2\t\terror fixed\r\n\n3  4 \n").unwrap(), array![[1.0, 2.0], [3.0, 4.0]]);
    }

    #[test]
    fn bad_lines_are_named() {
        for text in ["1 2\n3\n", "1 2\n3 x\n"] {
            assert!(read(text).unwrap_err().to_string().contains("line 2"), "{text:?}");
        }
    }
}
