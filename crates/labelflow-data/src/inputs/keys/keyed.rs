//! Values of rows with the keys of the rows.

use labelflow_weak::rows::{Features, SoftLabels, TrueValues, Truth};
use labelflow_weak::votes::WeakSignals;

use super::RowKeys;
use crate::Result;
use crate::tables::table::TableFile;

/// What has one entry per row of a table.
pub trait Rows: Sized {
    /// Number of rows.
    fn n_rows(&self) -> usize;
    /// The rows with these indices, in this order.
    fn select_rows(&self, rows: &[usize]) -> Self;
}

macro_rules! rows {
    ($($Type:ty),+) => {$(
        impl Rows for $Type {
            fn n_rows(&self) -> usize {
                <$Type>::n_rows(self)
            }

            fn select_rows(&self, rows: &[usize]) -> Self {
                <$Type>::select_rows(self, rows)
            }
        }
    )+};
}

rows!(Features, WeakSignals, Truth, TrueValues, SoftLabels);

impl<T: Clone> Rows for Vec<T> {
    fn n_rows(&self) -> usize {
        self.len()
    }

    fn select_rows(&self, rows: &[usize]) -> Self {
        rows.iter().map(|&row| self[row].clone()).collect()
    }
}

/// What was read from a file, and what its rows are called.
#[derive(Debug, Clone, PartialEq)]
pub struct Keyed<T> {
    /// What was read.
    pub value: T,
    /// The names of its rows.
    pub keys: RowKeys,
}

impl<T: Rows> Keyed<T> {
    /// What was read from a table, with the table's keys.
    pub(crate) fn of(table: &TableFile, value: T) -> Result<Self> {
        let keys = RowKeys::of_table(table, value.n_rows())?;
        Ok(Self { value, keys })
    }

    /// The value with its rows in the order of others, whose keys they must have; without keys by place.
    ///
    /// ```
    /// use labelflow_data::inputs::{KeyColumn, read_features, read_labels};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let [features, labels] = ["features.csv", "labels.csv"].map(|name| folder.path().join(name));
    /// std::fs::write(&features, "id,size\nq7,1.5\nq2,0.5\n")?;
    /// std::fs::write(&labels, "id,label\nq2,1\nq7,0\n")?;
    /// let id = KeyColumn::Named("id".to_owned());
    /// let features = read_features(&features, &id)?;
    /// let truth = read_labels(&labels, &[], &id)?.in_order_of(&features.keys)?;
    /// assert_eq!(truth.labels(), [0, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn in_order_of(self, rows: &RowKeys) -> Result<T> {
        Ok(match self.keys.order_of(rows)? {
            Some(order) => self.value.select_rows(&order),
            None => self.value,
        })
    }

    /// Of some of the rows of others: what it has of each of them. Rows that the others do not have are errors.
    pub fn of_some_of(self, rows: &RowKeys) -> Result<(T, Vec<Option<usize>>)> {
        let places = self.keys.some_of(rows)?;
        Ok((self.value, places))
    }
}
