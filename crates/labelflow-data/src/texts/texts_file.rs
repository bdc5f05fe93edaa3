//! Texts in a column of a table.

use std::path::Path;

use crate::tables::cells::NameCodes;
use crate::tables::table::Source;
use crate::{Error, Result};

/// Reads a column of texts: csv, tsv or parquet. A missing cell is an empty text.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("messages.csv");
/// std::fs::write(&path, "id,text\n1,see you\n2,\"win, now\"\n")?;
/// assert_eq!(labelflow_data::texts::read_texts(&path, "text")?, ["see you", "win, now"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_texts(path: &Path, column: &str) -> Result<Vec<String>> {
    let Source::Table(table) = Source::open(path)? else {
        return Err(Error::content(path, "csv, tsv or parquet", "an array"));
    };
    let index = table.column(column).ok_or_else(|| {
        let found = format!("the columns {}", table.names().join(", "));
        Error::content(path, format!("a column '{column}'"), found)
    })?;
    let mut codes = NameCodes::open(NameCodes::ABSENT as usize);
    let cells = table.name_codes(&[index], &mut codes)?;
    if cells.is_empty() {
        return Err(Error::content(path, "at least one row", "none"));
    }
    // Texts that occur twice have one code.
    let texts = codes.into_names();
    let text = |&code: &u32| match code {
        NameCodes::ABSENT => String::new(),
        code => texts[code as usize].clone(),
    };
    Ok(cells.iter().map(text).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_and_missing_texts_keep_their_rows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("texts.tsv");
        std::fs::write(&path, "text\tn\nno\t1\nyes\t2\n\t3\nno\t4\n").unwrap();
        assert_eq!(read_texts(&path, "text").unwrap(), ["no", "yes", "", "no"]);
        let error = read_texts(&path, "message").unwrap_err().to_string();
        assert!(
            error.contains("expected a column 'message', found the columns text, n"),
            "{error}"
        );
        std::fs::write(&path, "text\tn\n").unwrap();
        assert!(read_texts(&path, "text").unwrap_err().to_string().contains("at least one row"));
        assert!(read_texts(&path.with_extension("npy"), "text").is_err());
    }
}
