//! Text files of numbers separated by blanks, one row a line, no header: how older archives keep their tables.

use std::fs;
use std::path::Path;

use ndarray::Array2;

use crate::tables::cells::into_table;
use crate::{Error, Place, Result};

/// The first `n_columns` numbers of each line; what follows them, such as a remark, is ignored. Blank lines are skipped.
pub(crate) fn read_number_lines(path: &Path, n_columns: usize) -> Result<Array2<f64>> {
    let text = fs::read_to_string(path).map_err(|source| Error::read(path, source))?;
    let mut values = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let place = Place::Line(index as u64 + 1);
        let before = values.len();
        for cell in line.split_ascii_whitespace().take(n_columns) {
            let value = cell.parse().map_err(|_| Error::cell(path, "a number", cell).at(place));
            values.push(value?);
        }
        if values.len() - before != n_columns {
            let found = values.len() - before;
            return Err(Error::content(path, format!("{n_columns} numbers"), found).at(place));
        }
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
        assert_eq!(
            read(" 1 2\t\terror fixed\r\n\n3  4 \n").unwrap(),
            array![[1.0, 2.0], [3.0, 4.0]]
        );
    }

    #[test]
    fn bad_lines_are_named() {
        for text in ["1 2\n3\n", "1 2\n3 x\n"] {
            assert!(read(text).unwrap_err().to_string().contains("line 2"), "{text:?}");
        }
    }
}
