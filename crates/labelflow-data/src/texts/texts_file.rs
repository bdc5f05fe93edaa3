//! Texts in a column of a table.

use std::path::Path;

use crate::inputs::{KeyColumn, Keyed};
use crate::tables::table::TableFile;
use crate::{Result, ensure};

/// Reads a column of texts: csv, tsv or parquet. A missing cell is an empty text.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("messages.csv");
/// std::fs::write(&path, "id,text\n1,see you\n2,\"win, now\"\n")?;
/// let texts = labelflow_data::texts::read_texts(&path, "text", &Default::default())?;
/// assert_eq!(texts.value, ["see you", "win, now"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_texts(path: &Path, column: &str, key: &KeyColumn) -> Result<Keyed<Vec<String>>> {
    let table = TableFile::open_named(path)?.with_key(key)?;
    let texts = table.texts(table.required_column(column)?)?;
    ensure(!texts.is_empty(), || table.error("at least one row", "none"))?;
    Keyed::of(&table, texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_and_missing_texts_keep_their_rows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("texts.tsv");
        std::fs::write(&path, "text\tn\nno\t1\nyes\t2\n\t3\nno\t4\n").unwrap();
        assert_eq!(read_texts(&path, "text", &KeyColumn::Row).unwrap().value, ["no", "yes", "", "no"]);
        let error = read_texts(&path, "message", &KeyColumn::Row).unwrap_err().to_string();
        assert!(error.contains("expected a column 'message', found the columns text, n"), "{error}");
        std::fs::write(&path, "text\tn\n").unwrap();
        assert!(read_texts(&path, "text", &KeyColumn::Row).unwrap_err().to_string().contains("at least one row"));
        assert!(read_texts(&path.with_extension("npy"), "text", &KeyColumn::Row).is_err());
    }
}
