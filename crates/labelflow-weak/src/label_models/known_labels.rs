//! The classes of some rows, for label models that learn from them too.

use crate::label_models::SignalShape;
use crate::rows::check_classes;
use crate::settings::check_rows;
use crate::votes::{CountedVotes, VoteCounter, WeakSignals};
use crate::{Error, Result, ensure};

/// Rows of votes whose class is known. They must be among the rows that a label model is fitted to.
///
/// ```
/// use labelflow_weak::label_models::KnownLabels;
/// use labelflow_weak::votes::{Votes, WeakSignals};
/// use ndarray::array;
///
/// let votes = Votes::from_indices(array![[0, 0, 1], [1, 1, 1], [0, 0, 1]].view(), None)?;
/// let signals = WeakSignals::from_votes(votes)?;
/// let known = KnownLabels::new(&signals, &[Some(1), None, Some(1)])?;
/// assert_eq!(known.n_rows(), 2.0);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct KnownLabels {
    shape: SignalShape,
    /// Votes, class and number of rows, ascending.
    rows: Vec<(Vec<u8>, usize, f64)>,
}

impl KnownLabels {
    /// The class of each row of the signals where it is known.
    pub fn new(signals: &WeakSignals, labels: &[Option<usize>]) -> Result<Self> {
        check_rows("known labels", labels.len(), signals.n_rows(), "the signals")?;
        let shape = SignalShape::of(signals);
        let votes = signals.votes();
        let mut by_class: Vec<VoteCounter> = (0..shape.n_classes).map(|_| VoteCounter::new(shape.n_signals)).collect();
        for (row, &class) in labels.iter().enumerate().filter_map(|(row, class)| Some((row, class.as_ref()?))) {
            check_classes("known labels", &[class], shape.n_classes)?;
            by_class[class].add(votes.row_bytes(row), 1);
        }
        let mut rows = Vec::new();
        for (class, counter) in by_class.iter().enumerate() {
            let counted = counter.sorted().into_iter();
            rows.extend(counted.map(|index| (counter.row(index).to_vec(), class, counter.count(index) as f64)));
        }
        Ok(Self { shape, rows })
    }

    /// Number of rows whose class is known.
    pub fn n_rows(&self) -> f64 {
        self.rows.iter().map(|(_, _, count)| count).sum()
    }

    /// Votes, class and number of rows.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], usize, f64)> {
        self.rows.iter().map(|(votes, class, count)| (&votes[..], *class, *count))
    }

    /// Checks that they are about the labelers, classes and rows that were counted.
    pub(crate) fn check(&self, counted: &CountedVotes) -> Result<()> {
        let is_among = self.shape == counted.shape() && self.n_rows() <= counted.patterns.n_rows();
        ensure(is_among, || {
            let SignalShape { n_signals, n_classes } = counted.shape();
            let expected = format!("rows of those with {n_signals} labelers and {n_classes} classes that are fitted");
            let SignalShape { n_signals, n_classes } = self.shape;
            let found = format!("{} with {n_signals} labelers and {n_classes} classes", self.n_rows());
            Error::data("known labels", expected, found)
        })
    }
}
