//! Comma- or tab-separated text with a header line.
//!
//! A byte order mark, Windows line ends, quoted fields and blank lines are all accepted. A line with more or fewer
//! fields than the header is an error.

use std::collections::HashSet;
use std::io::{BufReader, Read};
use std::path::Path;

use csv::StringRecord;
use labelflow_files::InputFile;

use super::cells::parse_number;
use super::open_input;
use crate::{Error, Place, Result, ensure};

/// Reads and checks the names of the columns.
pub(crate) fn read_header(path: &Path, delimiter: u8) -> Result<Vec<String>> {
    let mut records = Records::open(path, delimiter)?;
    let refuse = || Error::content(path, "a header line with column names", "an empty file");
    ensure(records.advance()?, refuse)?;
    let names: Vec<String> = records.record.iter().map(|name| name.trim().to_owned()).collect();
    check_header(path, &names)?;
    Ok(names)
}

/// The line of the row with this index.
pub(crate) fn find_row(path: &Path, delimiter: u8, row: usize) -> Place {
    let find = || -> Result<Place> {
        let mut records = Records::open(path, delimiter)?;
        // The first record is the header.
        for _ in 0..row + 2 {
            if !records.advance()? {
                return Ok(Place::Whole);
            }
        }
        Ok(records.place())
    };
    // The file was readable a moment ago; if it no longer is, the error simply names no line.
    find().unwrap_or_default()
}

/// Visits the rows below the header, each with as many fields as the header. Errors of `visit` get the line.
pub(crate) fn visit_rows(
    path: &Path,
    delimiter: u8,
    n_columns: usize,
    mut visit: impl FnMut(&StringRecord) -> Result<()>,
) -> Result<()> {
    let mut is_header = true;
    visit_records(path, delimiter, |record| {
        if std::mem::take(&mut is_header) {
            return Ok(());
        }
        let expected = || format!("{n_columns} fields, as many as the header has");
        let refuse = || Error::content(path, expected(), record.len());
        ensure(record.len() == n_columns, || refuse().with_hint("quote fields that contain the separator"))?;
        visit(record)
    })
}

/// Visits every record of a separated file, the header too. Errors of `visit` get the record's line.
pub(crate) fn visit_records(
    path: &Path,
    delimiter: u8,
    mut visit: impl FnMut(&StringRecord) -> Result<()>,
) -> Result<()> {
    let mut records = Records::open(path, delimiter)?;
    while records.advance()? {
        visit(&records.record).map_err(|error| error.at(records.place()))?;
    }
    Ok(())
}

/// The records of a separated file, one at a time.
struct Records<'path> {
    path: &'path Path,
    file: InputFile,
    reader: csv::Reader<BufReader<InputFile>>,
    record: StringRecord,
    /// The byte at which the record starts, or the end of the line before it.
    start: u64,
}

impl<'path> Records<'path> {
    fn open(path: &'path Path, delimiter: u8) -> Result<Self> {
        let file = open_input(path)?;
        let reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            .from_reader(BufReader::with_capacity(1 << 16, file.clone()));
        Ok(Self { path, file, reader, record: StringRecord::new(), start: 0 })
    }

    /// Goes on to the next record, if there is one.
    fn advance(&mut self) -> Result<bool> {
        self.start = self.reader.position().byte();
        self.reader.read_record(&mut self.record).map_err(|error| match error.into_kind() {
            csv::ErrorKind::Io(source) => Error::read(self.path, source),
            csv::ErrorKind::Utf8 { .. } => Error::content(self.path, "text in UTF-8", "other bytes").at(self.place()),
            other => Error::content(self.path, "separated text", format!("{other:?}")).at(self.place()),
        })
    }

    /// The line of the record. Counting lines only once something is wrong keeps reading fast.
    fn place(&self) -> Place {
        let mut line = 1;
        for (position, byte) in BufReader::new(self.file.clone()).bytes().enumerate() {
            match byte {
                Ok(b'\n') => line += 1,
                Ok(b'\r') => {}
                Ok(_) if (position as u64) < self.start => {}
                _ => break,
            }
        }
        Place::Line(line)
    }
}

fn check_header(path: &Path, names: &[String]) -> Result<()> {
    let error = |expected: &str, found: String| Error::content(path, expected, found).at(Place::Line(1));
    if let Some(column) = names.iter().position(String::is_empty) {
        return Err(error("a name for every column", format!("none for column {}", column + 1))
            .with_hint("a table saved with its row numbers has such a column: save it without them"));
    }
    check_distinct(path, "names that differ", names).map_err(|error| error.at(Place::Line(1)))?;
    // Numbers 0, 1, 2, … are what a table library writes for columns without names; other numbers are data.
    let counts_up = names.len() >= 3 && names.iter().enumerate().all(|(column, name)| *name == column.to_string());
    let are_names = counts_up || names.iter().any(|name| parse_number(name).is_none());
    let found = || format!("only numbers: '{}'", shown(&names.join(",")));
    let refuse = || error("a header line with column names", found());
    ensure(are_names, || refuse().with_hint("add a first line that names the columns"))
}

/// Refuses a name that two columns have.
pub(crate) fn check_distinct(path: &Path, expected: &str, names: &[String]) -> Result<()> {
    let mut known = HashSet::new();
    names.iter().try_for_each(|name| {
        let refuse = || Error::content(path, expected, format!("'{}' twice", shown(name)));
        ensure(known.insert(name), || refuse().with_hint("columns are matched by name: give each its own"))
    })
}

/// A cell as messages show it: not too long.
pub fn shown(cell: &str) -> String {
    const LONGEST: usize = 40;
    if cell.chars().count() <= LONGEST {
        return cell.to_owned();
    }
    cell.chars().take(LONGEST).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};

    use super::*;
    use crate::tables::table::TableFile;

    fn file(text: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.csv");
        std::fs::write(&path, text).unwrap();
        (folder, path)
    }

    fn numbers(text: &str) -> Result<Array2<f64>> {
        let (_folder, path) = file(text);
        let table = TableFile::open_named(&path)?;
        table.numbers(&table.columns())?
    }

    #[test]
    fn marks_line_ends_quotes_and_blank_lines_are_accepted() {
        let text = "\u{feff}a,\"b, c\"\r\n1,\"2\"\r\n\r\n 3 ,-4e0\r\n\r\n";
        let (_folder, path) = file(text);
        assert_eq!(read_header(&path, b',').unwrap(), ["a", "b, c"]);
        assert_eq!(numbers(text).unwrap(), array![[1.0, 2.0], [3.0, -4.0]]);
        let place = |row| find_row(&path, b',', row);
        assert_eq!((place(0), place(1)), (Place::Line(2), Place::Line(4)));
    }

    #[test]
    fn a_ragged_line_is_named_with_both_counts() {
        for (text, line) in [("a,b\n1,2\n3\n", 3), ("a,b\r\n1,2\r\n\r\n\"3\n\",4,5", 4)] {
            let error = numbers(text).unwrap_err().to_string();
            assert!(error.contains(&format!("line {line}: expected 2 fields")), "{error}");
        }
    }

    #[test]
    fn text_is_named_with_line_and_column() {
        let error = numbers("a,b\r\n1,2\r\n3,x\r\n").unwrap_err().to_string();
        assert!(error.contains("line 3, column 'b': expected a number, found 'x'"), "{error}");
    }

    #[test]
    fn headers_without_names_are_errors() {
        for text in ["", "1,2\n3,4\n", "0.5\n0.1\n", ",a\n0,1\n"] {
            assert!(numbers(text).is_err(), "{text:?}");
        }
        assert!(numbers("0,1,2\n5,6,7\n").is_ok(), "numbered columns");
    }

    #[test]
    fn a_long_header_is_checked_in_little_time() {
        let names: Vec<String> = (0..300_000).map(|column| format!("c{column}")).collect();
        let (_folder, path) = file(&names.join(","));
        let start = std::time::Instant::now();
        assert_eq!(read_header(&path, b',').unwrap().len(), names.len());
        let (_folder, path) = file(&format!("{},c299999", names.join(",")));
        let error = read_header(&path, b',').unwrap_err().to_string();
        assert!(error.contains("'c299999' twice"), "{error}");
        // Each name with each other would take minutes.
        assert!(start.elapsed() < std::time::Duration::from_secs(10), "{:?}", start.elapsed());
    }

    #[test]
    fn bytes_that_are_not_text_are_an_error() {
        let (_folder, path) = file("");
        std::fs::write(&path, b"a,b\n1,\xff\n").unwrap();
        let table = TableFile::open_named(&path).unwrap();
        let error = table.numbers::<f32>(&[0, 1]).unwrap_err().to_string();
        assert!(error.contains("line 2: expected text in UTF-8"), "{error}");
    }
}
