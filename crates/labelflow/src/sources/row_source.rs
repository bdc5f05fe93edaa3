//! Rows to train on that need not be in memory.

use labelflow_weak::votes::SignalView;
use ndarray::{Array2, Array3};

use crate::{Error, Result};

/// Some rows.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceRows {
    /// `[n_rows, d_features]`
    pub features: Array2<f32>,
    /// What labelers say of them.
    pub signals: RowSignals,
}

/// What labelers say of some rows.
#[derive(Debug, Clone, PartialEq)]
pub enum RowSignals {
    /// There are no labelers: rules speak of the rows.
    None,
    /// A class or [`ABSTAIN`](labelflow_weak::votes::ABSTAIN), `[n_rows, n_signals]`.
    Votes(Array2<u8>),
    /// Probabilities, NaN where a labeler abstains, `[n_rows, n_signals, n_classes]`.
    Probabilities(Array3<f32>),
}

impl RowSignals {
    /// What labelers say about `n_classes` classes, if there are labelers.
    pub(crate) fn view(&self, n_classes: usize) -> Option<SignalView<'_>> {
        match self {
            Self::None => None,
            Self::Votes(votes) => Some(SignalView::Votes { bytes: votes.view(), n_classes }),
            Self::Probabilities(p) => Some(SignalView::Probabilities(p.view())),
        }
    }
}

/// What labelers of a source give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalForm {
    /// Nothing: there are none.
    None,
    /// Votes.
    Votes,
    /// Probabilities.
    Probabilities,
}

/// Features and signals of the same rows, which can be read any number of times and never change.
pub trait RowSource {
    /// Number of rows.
    fn n_rows(&self) -> u64;

    /// Names of the features.
    fn feature_names(&self) -> &[String];

    /// What the labelers give, the same on all rows.
    fn signal_form(&self) -> SignalForm;

    /// Names of the labelers.
    fn labelers(&self) -> &[String];

    /// Names of the classes.
    fn classes(&self) -> &[String];

    /// Visits all rows in order, some at a time; how many does not depend on the machine.
    fn visit(&self, visit: &mut dyn FnMut(SourceRows) -> Result<()>) -> Result<()>;
}

/// What a row of a source is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowLayout {
    pub(crate) d_features: usize,
    pub(crate) n_signals: usize,
    pub(crate) n_classes: usize,
    pub(crate) form: SignalForm,
}

impl RowLayout {
    pub(crate) fn of(source: &dyn RowSource) -> Self {
        Self {
            d_features: source.feature_names().len(),
            n_signals: source.labelers().len(),
            n_classes: source.classes().len(),
            form: source.signal_form(),
        }
    }

    /// Bytes of a row's signals.
    pub(crate) fn signal_bytes(&self) -> usize {
        match self.form {
            SignalForm::None => 0,
            SignalForm::Votes => self.n_signals,
            SignalForm::Probabilities => self.n_signals * self.n_classes * size_of::<f32>(),
        }
    }

    /// Bytes of a row.
    pub(crate) fn bytes(&self) -> usize {
        self.d_features * size_of::<f32>() + self.signal_bytes()
    }

    /// The number of rows, all of which must be made so.
    pub(crate) fn check(&self, rows: &SourceRows) -> Result<usize> {
        let (n_rows, d_features) = rows.features.dim();
        let is_good = match (&rows.signals, self.form) {
            (RowSignals::None, SignalForm::None) => true,
            (RowSignals::Votes(votes), SignalForm::Votes) => votes.dim() == (n_rows, self.n_signals),
            (RowSignals::Probabilities(p), SignalForm::Probabilities) => {
                p.dim() == (n_rows, self.n_signals, self.n_classes)
            }
            _ => false,
        };
        if !is_good || d_features != self.d_features {
            let expected = format!("{self:?} of each row");
            return Err(Error::data("rows", expected, "others"));
        }
        Ok(n_rows)
    }

    /// Writes a row as bytes.
    pub(crate) fn write(&self, rows: &SourceRows, row: usize, bytes: &mut Vec<u8>) {
        let mut push = |value: f32| bytes.extend_from_slice(&value.to_le_bytes());
        rows.features.row(row).iter().for_each(|&value| push(value));
        match &rows.signals {
            RowSignals::None => {}
            RowSignals::Votes(votes) => bytes.extend(votes.row(row)),
            RowSignals::Probabilities(p) => {
                p.index_axis(ndarray::Axis(0), row).iter().for_each(|&value| push(value));
            }
        }
    }

    /// Reads rows from bytes that [`write`](Self::write) wrote, row after row.
    pub(crate) fn read(&self, bytes: &[u8]) -> SourceRows {
        const WHOLE: &str = "whole rows";
        let n_rows = bytes.len() / self.bytes();
        let n_features = self.d_features * size_of::<f32>();
        fn numbers(bytes: &[u8]) -> impl Iterator<Item = f32> {
            bytes.as_chunks().0.iter().copied().map(f32::from_le_bytes)
        }
        let mut features = Vec::with_capacity(n_rows * self.d_features);
        let (mut votes, mut p) = (Vec::new(), Vec::new());
        for row in bytes.chunks_exact(self.bytes()) {
            let (of_features, of_signals) = row.split_at(n_features);
            features.extend(numbers(of_features));
            match self.form {
                SignalForm::None => {}
                SignalForm::Votes => votes.extend_from_slice(of_signals),
                SignalForm::Probabilities => p.extend(numbers(of_signals)),
            }
        }
        let (n_signals, n_classes) = (self.n_signals, self.n_classes);
        let signals = match self.form {
            SignalForm::None => RowSignals::None,
            SignalForm::Votes => RowSignals::Votes(Array2::from_shape_vec((n_rows, n_signals), votes).expect(WHOLE)),
            SignalForm::Probabilities => {
                RowSignals::Probabilities(Array3::from_shape_vec((n_rows, n_signals, n_classes), p).expect(WHOLE))
            }
        };
        let shape = (n_rows, self.d_features);
        SourceRows { features: Array2::from_shape_vec(shape, features).expect(WHOLE), signals }
    }
}

/// All rows of a source.
pub(crate) fn read_all(source: &dyn RowSource) -> Result<SourceRows> {
    let layout = RowLayout::of(source);
    let mut bytes = Vec::with_capacity(source.n_rows() as usize * layout.bytes());
    source.visit(&mut |rows| {
        let n_rows = layout.check(&rows)?;
        (0..n_rows).for_each(|row| layout.write(&rows, row, &mut bytes));
        Ok(())
    })?;
    Ok(layout.read(&bytes))
}

#[cfg(test)]
mod tests {
    use ndarray::{array, s};

    use super::*;

    #[test]
    fn rows_are_read_as_they_were_written() {
        let features = array![[1.5, -2.0], [3.0, f32::MIN_POSITIVE], [0.0, 1e30]];
        for (signals, form) in [
            (RowSignals::None, SignalForm::None),
            (RowSignals::Votes(array![[0, 1], [255, 0], [1, 1]]), SignalForm::Votes),
            (
                RowSignals::Probabilities(Array3::from_shape_fn((3, 2, 2), |(row, _, class)| {
                    (row + class) as f32 / 3.0
                })),
                SignalForm::Probabilities,
            ),
        ] {
            let layout = RowLayout { d_features: 2, n_signals: 2, n_classes: 2, form };
            let rows = SourceRows { features: features.clone(), signals };
            assert_eq!(layout.check(&rows).unwrap(), 3);
            let mut bytes = Vec::new();
            (0..3).for_each(|row| layout.write(&rows, row, &mut bytes));
            assert_eq!(bytes.len(), 3 * layout.bytes());
            assert_eq!(layout.read(&bytes), rows);
            let narrow = SourceRows { features: features.slice(s![.., ..1]).to_owned(), signals: rows.signals.clone() };
            assert!(layout.check(&narrow).is_err());
            assert!(
                layout.check(&SourceRows { signals: RowSignals::None, ..rows }).is_err() || form == SignalForm::None
            );
        }
    }
}
