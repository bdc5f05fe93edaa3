//! ARFF: attribute declarations, then comma-separated rows.

use std::fs;
use std::path::Path;

use ndarray::Array2;

use crate::tables::cells::into_table;
use crate::{Error, Place, Result, ensure};

/// A numeric table with its attribute names.
#[derive(Debug, Clone, PartialEq)]
pub struct ArffTable {
    /// Attribute names, in order.
    pub names: Vec<String>,
    /// One row a line after `@data`, `[n_rows, n_attributes]`.
    pub values: Array2<f64>,
}

/// Reads an ARFF file whose values are all numbers; nominal attributes may have numbers as values.
/// A missing value, `?`, is an error.
pub fn read_arff(path: &Path) -> Result<ArffTable> {
    let bytes = fs::read(path).map_err(|source| Error::read(path, source))?;
    let text = String::from_utf8_lossy(&bytes);
    let mut names = Vec::new();
    let mut values = Vec::new();
    let mut is_data = false;
    for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let line = line.trim();
        let at = |error: Error| error.at(Place::Line(index as u64 + 1));
        if line.is_empty() || line.starts_with('%') {
            continue;
        }
        if is_data {
            parse_row(path, line, &names, &mut values).map_err(at)?;
        } else if let Some(rest) = keyword(line, "@attribute") {
            names.push(attribute_name(path, rest).map_err(at)?);
        } else if keyword(line, "@data").is_some() {
            is_data = true;
        } else if keyword(line, "@relation").is_none() {
            return Err(at(Error::cell(path, "@relation, @attribute or @data", line)));
        }
    }
    ensure(is_data && !names.is_empty(), || Error::content(path, "@attribute lines and then @data", "none"))?;
    let values = into_table(values, names.len());
    Ok(ArffTable { names, values })
}

/// What follows a keyword, whose case does not matter.
fn keyword<'line>(line: &'line str, word: &str) -> Option<&'line str> {
    let (head, rest) = line.split_at_checked(word.len())?;
    let ends = rest.is_empty() || rest.starts_with(char::is_whitespace);
    (head.eq_ignore_ascii_case(word) && ends).then(|| rest.trim_start())
}

/// The name in `name type` or `'quoted name' type`.
fn attribute_name(path: &Path, rest: &str) -> Result<String> {
    let name = match rest.chars().next() {
        Some(quote @ ('\'' | '"')) => rest[1..].split_once(quote).map(|(name, _)| name),
        _ => rest.split(char::is_whitespace).next().filter(|name| !name.is_empty()),
    };
    name.map(str::to_owned).ok_or_else(|| Error::cell(path, "the name of an attribute", rest))
}

fn parse_row(path: &Path, line: &str, names: &[String], values: &mut Vec<f64>) -> Result<()> {
    let n_cells = line.split(',').count();
    ensure(n_cells == names.len(), || Error::content(path, format!("{} values", names.len()), n_cells))?;
    for (cell, name) in line.split(',').zip(names) {
        let cell = cell.trim().trim_matches(['\'', '"']);
        let value = cell.parse();
        values.push(value.map_err(|_| Error::cell(path, "a number", cell).in_column(name))?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8]) -> Result<ArffTable> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.arff");
        fs::write(&path, bytes).unwrap();
        read_arff(&path)
    }

    const SMALL: &str = "% a comment\r\n@RELATION small\r\n\r\n@attribute 'first one'  {-1,1}\r\n\
        @ATTRIBUTE second numeric\r\n@data\r\n-1,2.5\r\n% another\r\n'1', ?\r\n";

    #[test]
    fn names_numbers_comments_and_missing_values() {
        let table = read(SMALL.replace('?', "3").as_bytes()).unwrap();
        assert_eq!(table.names, ["first one", "second"]);
        assert_eq!(table.values, array![[-1.0, 2.5], [1.0, 3.0]]);
        let error = read(SMALL.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("line 9, column 'second': expected a number, found '?'"), "{error}");
    }

    #[test]
    fn ragged_rows_and_missing_sections_are_errors() {
        let error = read(b"@attribute a real\n@data\n1\n1,2\n").unwrap_err();
        assert!(error.to_string().contains("line 4: expected 1 values, found 2"), "{error}");
        for bytes in [&b""[..], b"@data\n1\n", b"@attribute a real\n", b"1,2,3\n"] {
            assert!(read(bytes).is_err());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_text_is_read_or_refused(head in "[@atribue '\"dé%,\n]{0,60}", bytes: Vec<u8>) {
            let _ = read(&[b"@attribute ", head.as_bytes(), b"\n@data\n", &bytes].concat());
            let _ = read(&bytes);
        }
    }
}
