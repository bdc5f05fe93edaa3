//! True labels, kept apart from everything that training can see.

use crate::settings::check_rows;
use crate::{Error, Result, ensure};

/// True classes of the rows of a dataset. Only evaluation and the simulation of weak signals accept it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Truth {
    labels: Vec<usize>,
    n_classes: usize,
}

impl Truth {
    /// Checks that every label is below `n_classes`.
    pub fn new(labels: Vec<usize>, n_classes: usize) -> Result<Self> {
        ensure(!labels.is_empty(), || Error::data("true labels", "at least one row", 0))?;
        check_classes("true labels", &labels, n_classes)?;
        Ok(Self { labels, n_classes })
    }

    /// Checks that there is a class for each of `n_rows` rows, and that `n_classes` classes are enough. `owners` says whose
    /// rows and classes they are.
    pub fn check_shape(&self, what: &str, [n_rows, n_classes]: [usize; 2], owners: [&str; 2]) -> Result<()> {
        check_rows(what, self.n_rows(), n_rows, owners[0])?;
        ensure(self.n_classes <= n_classes, || {
            Error::data(what, format!("{n_classes} classes at most{}", owners[1]), self.n_classes)
        })
    }

    /// The class of each row.
    pub fn labels(&self) -> &[usize] {
        &self.labels
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.labels.len()
    }

    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        self.n_classes
    }

    /// The rows with these indices, in this order.
    #[must_use]
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        Self { labels: rows.iter().map(|&row| self.labels[row]).collect(), n_classes: self.n_classes }
    }

    /// The share of rows whose label is in `predicted` at the same place.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn accuracy(&self, predicted: &[usize]) -> f64 {
        assert_eq!(predicted.len(), self.labels.len(), "one prediction a row");
        let hits = self.labels.iter().zip(predicted).filter(|(label, p)| label == p).count();
        hits as f64 / self.labels.len() as f64
    }
}

/// Checks that every class is below `n_classes`.
pub(crate) fn check_classes(what: &str, classes: &[usize], n_classes: usize) -> Result<()> {
    classes.iter().enumerate().try_for_each(|(row, &class)| {
        ensure(class < n_classes, || {
            let expected = format!("a class from 0 to {}", n_classes.saturating_sub(1));
            Error::data(format!("{what}, row {row}"), expected, class)
        })
    })
}
