//! The input table x.

use std::borrow::Cow;

use ndarray::{Array2, ArrayView2, Axis};

use crate::votes::check_distinct;
use crate::{Error, Result, ensure};

/// An error shows at most so many column names.
const SHOWN_NAMES: usize = 12;

/// A table of finite numbers, `[n_rows, d_features]`, whose columns may have names.
///
/// Numbers are kept in double precision until they are scaled: of 1e9 and 1e9 + 1 single precision would make the same.
///
/// ```
/// use labelflow_weak::rows::Features;
/// use ndarray::array;
///
/// let features = Features::new(array![[1.0, 2.0], [3.0, 4.0]])?;
/// assert_eq!(features.names(), ["x0", "x1"]);
/// assert!(Features::new(array![[f64::NAN]]).is_err());
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Features {
    names: Vec<String>,
    /// Whether whoever made the table named its columns.
    has_names: bool,
    values: Array2<f64>,
}

impl Features {
    /// Checks the values; columns have no names of their own, and are called `x0`, `x1`, ….
    pub fn new<T: Copy + Into<f64> + 'static>(values: Array2<T>) -> Result<Self> {
        let names = (0..values.ncols()).map(|column| format!("x{column}")).collect();
        Ok(Self { has_names: false, ..Self::with_names(values, names)? })
    }

    /// Checks the values; `names` are the column names.
    pub fn with_names<T: Copy + Into<f64> + 'static>(values: Array2<T>, names: Vec<String>) -> Result<Self> {
        // In place, if they are in double precision already.
        let values = values.mapv_into_any(Into::into);
        ensure(names.len() == values.ncols(), || {
            Error::data("features", format!("{} column names", values.ncols()), names.len())
        })?;
        check_any(values.view())?;
        check_distinct("features", "column names that differ", &names)?;
        check_finite(values.view(), |column| format!("'{}'", names[column]))?;
        Ok(Self { names, has_names: true, values })
    }

    /// Column names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The numbers, `[n_rows, d_features]`.
    pub fn values(&self) -> ArrayView2<'_, f64> {
        self.values.view()
    }

    /// The numbers themselves, `[n_rows, d_features]`.
    pub fn into_values(self) -> Array2<f64> {
        self.values
    }

    /// The numbers in single precision, for learners that take them as they are; infinite where that has no room.
    pub fn rounded(&self) -> Array2<f32> {
        self.values.mapv(|value| value as f32)
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.values.nrows()
    }

    /// Number of columns.
    pub fn d_features(&self) -> usize {
        self.values.ncols()
    }

    /// Whether the columns have names of their own. Those of a table without names are told apart by place.
    pub fn has_names(&self) -> bool {
        self.has_names
    }

    /// The place of the column with this name.
    pub fn column(&self, name: &str) -> Result<usize> {
        self.names.iter().position(|known| known == name).ok_or_else(|| {
            let shown = self.names.iter().take(SHOWN_NAMES).cloned().collect::<Vec<_>>().join(", ");
            let found = match self.names.len() {
                n if n > SHOWN_NAMES => format!("{shown}, … ({n} columns)"),
                _ => shown,
            };
            Error::data("features", format!("a column '{name}'"), found)
        })
    }

    /// The names of the columns if they have names of their own.
    pub fn own_names(&self) -> &[String] {
        if self.has_names { &self.names } else { &[] }
    }

    /// The columns that a model was trained on, in its order: by name where both have names of their own, by place otherwise, and then there must
    /// be as many.
    pub fn arranged(&self, names: &[String], d_features: usize) -> Result<Cow<'_, Self>> {
        if self.has_names && !names.is_empty() && self.names != names {
            return self.select_columns(names).map(Cow::Owned);
        }
        ensure(self.d_features() == d_features, || {
            let expected = format!("{d_features} columns, as the model was trained on");
            Error::data("features", expected, format!("{} columns", self.d_features()))
        })?;
        Ok(Cow::Borrowed(self))
    }

    /// The same columns with other numbers.
    pub fn with_values<T: Copy + Into<f64> + 'static>(&self, values: Array2<T>) -> Result<Self> {
        Ok(Self { has_names: self.has_names, ..Self::with_names(values, self.names.clone())? })
    }

    /// The columns with these names, in this order.
    pub fn select_columns(&self, names: &[String]) -> Result<Self> {
        let columns = names.iter().map(|name| self.column(name)).collect::<Result<Vec<_>>>()?;
        Ok(Self { names: names.to_vec(), has_names: true, values: self.values.select(Axis(1), &columns) })
    }

    /// The rows with these indices, in this order.
    ///
    /// # Panics
    ///
    /// If `rows` is empty or an index is out of range.
    #[must_use]
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        assert!(!rows.is_empty(), "a selection of no rows is not a table");
        Self { names: self.names.clone(), has_names: self.has_names, values: self.values.select(Axis(0), rows) }
    }
}

/// Whether single precision holds this number exactly.
pub fn is_single(value: f64) -> bool {
    f64::from(value as f32) == value
}

/// Checks that a table without column names has rows, columns and finite numbers.
pub(crate) fn check_table<T: Copy + Into<f64>>(features: ArrayView2<'_, T>) -> Result<()> {
    check_any(features)?;
    check_finite(features, |column| column.to_string())
}

fn check_any<T>(features: ArrayView2<'_, T>) -> Result<()> {
    ensure(!features.is_empty(), || {
        let found = format!("{} rows and {} columns", features.nrows(), features.ncols());
        Error::data("features", "at least one row and one column", found)
    })
}

/// Checks that a table has the columns of the fit and finite numbers.
pub(crate) fn check_columns<T: Copy + Into<f64>>(features: ArrayView2<'_, T>, d_features: usize) -> Result<()> {
    ensure(features.ncols() == d_features, || {
        Error::data("features", format!("{d_features} columns, as in the fit"), features.ncols())
    })?;
    check_finite(features, |column| column.to_string())
}

fn check_finite<T: Copy + Into<f64>>(features: ArrayView2<'_, T>, shown: impl Fn(usize) -> String) -> Result<()> {
    match features.indexed_iter().map(|(place, &value)| (place, value.into())).find(|(_, value)| !value.is_finite()) {
        None => Ok(()),
        Some(((row, column), value)) => {
            let place = format!("features, row {row}, column {}", shown(column));
            Err(Error::data(place, "a finite number", value).with_hint("fill or drop missing values first"))
        }
    }
}
