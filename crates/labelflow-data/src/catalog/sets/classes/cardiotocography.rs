//! Cardiotocography: two of ten patterns of the foetal heart rate.

use std::path::{Path, PathBuf};

use ndarray::Array2;

use crate::catalog::LabelledTable;
use crate::catalog::formats::XlsSheet;
use crate::catalog::sets::number_table::{owned, two_class_table};
use crate::tables::cells::into_table;
use crate::{Error, Result, ensure};

const COLUMNS: [&str; 21] = [
    "LB", "AC", "FM", "UC", "DL", "DS", "DP", "ASTV", "MSTV", "ALTV", "MLTV", "Width", "Min", "Max", "Nmax", "Nzeros",
    "Mode", "Mean", "Median", "Variance", "Tendency",
];

pub(crate) fn read(paths: &[PathBuf]) -> Result<LabelledTable> {
    let path = &paths[0];
    let classes = [("calm sleep", 1.0), ("REM sleep", 2.0)];
    two_class_table(path, &read_all_classes(path)?, owned(&COLUMNS), classes)
}

/// All rows: the 21 features, then the pattern from 1 to 10.
///
/// The sheet `Data` has counts on the left and the features, some of them the same counts a second, to the right of
/// a gap: the features start at `LB`.
fn read_all_classes(path: &Path) -> Result<Array2<f64>> {
    let sheet = XlsSheet::read(path, "Data")?;
    let header = (0..sheet.n_rows()).find_map(|row| {
        let column_of = |name: &str| (0..sheet.n_columns()).find(|&column| sheet.text(row, column) == Some(name));
        Some((row, column_of("LB")?, column_of("CLASS")?))
    });
    let (header, first, class) =
        header.ok_or_else(|| Error::content(path, "a row with the names LB and CLASS", "none"))?;
    for (index, name) in COLUMNS.iter().enumerate() {
        let found = sheet.text(header, first + index);
        ensure(found == Some(name), || Error::content(path, format!("the column {name}"), found.unwrap_or("nothing")))?;
    }
    let mut values = Vec::new();
    // Sums stand below the data, after an empty row.
    let is_data = |row: &usize| sheet.number(*row, class).is_some();
    for row in (header + 1..sheet.n_rows()).take_while(is_data) {
        for (index, name) in COLUMNS.iter().enumerate() {
            values.push(sheet.required_number(row, first + index, name)?);
        }
        values.push(sheet.required_number(row, class, "CLASS")?);
    }
    Ok(into_table(values, COLUMNS.len() + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::table::TableFile;

    mod real_data {
        use super::*;

        #[test]
        fn the_workbook_agrees_with_the_csv_extract() {
            let dir = crate::real_data_dir();
            let workbook = read_all_classes(&dir.join("uci/cardiotocography/CTG.xls")).unwrap();
            assert_eq!(workbook.dim(), (2126, 22));
            let extract = dir.join("uci/cardiotocography/cardio.csv");
            if !extract.is_file() {
                return;
            }
            let table = TableFile::open_named(&extract).unwrap();
            assert_eq!(table.names[..21], COLUMNS);
            let columns = (0..22).collect::<Vec<_>>();
            let extract = table.numbers::<f64>(&columns).unwrap().unwrap();
            assert_eq!(extract.dim(), workbook.dim());
            for ((row, column), value) in extract.indexed_iter() {
                // The extract has nine decimals.
                let difference = (value - workbook[[row, column]]).abs();
                assert!(difference <= 5.1e-10 * value.abs().max(1.0), "row {row}, column {column}");
            }
        }
    }
}
