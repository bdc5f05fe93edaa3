//! Rows to train on that need not be in memory.

use labelflow_weak::votes::SignalView;
use ndarray::{Array2, Array3, Axis};

use crate::{Error, Result};

/// Some rows.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceRows {
    /// `[n_rows, d_features]`
    pub features: Array2<f64>,
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

    /// Bytes of a row whose features are in single precision.
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
}

/// How rows are written as bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowBytes {
    pub(crate) layout: RowLayout,
    /// Whether features are in single precision: that holds all of them.
    pub(crate) is_single: bool,
}

impl RowBytes {
    fn of_features(&self) -> usize {
        let of_each = if self.is_single { size_of::<f32>() } else { size_of::<f64>() };
        self.layout.d_features * of_each
    }

    /// Bytes of a row.
    pub(crate) fn len(&self) -> usize {
        self.of_features() + self.layout.signal_bytes()
    }

    /// Writes a row.
    pub(crate) fn write(&self, rows: &SourceRows, row: usize, bytes: &mut Vec<u8>) {
        for &value in rows.features.row(row) {
            match self.is_single {
                true => bytes.extend_from_slice(&(value as f32).to_le_bytes()),
                false => bytes.extend_from_slice(&value.to_le_bytes()),
            }
        }
        match &rows.signals {
            RowSignals::None => {}
            RowSignals::Votes(votes) => bytes.extend(votes.row(row)),
            RowSignals::Probabilities(p) => {
                let p = p.index_axis(Axis(0), row);
                p.iter().for_each(|value| bytes.extend_from_slice(&value.to_le_bytes()));
            }
        }
    }
}

/// Rows that come one after the other.
pub(crate) struct GatheredRows {
    layout: RowLayout,
    features: Vec<f64>,
    votes: Vec<u8>,
    p: Vec<f32>,
}

impl GatheredRows {
    /// None yet of `n_rows`.
    pub(crate) fn new(layout: RowLayout, n_rows: usize) -> Self {
        let of_form = |form, width: usize| if layout.form == form { n_rows * width } else { 0 };
        Self {
            layout,
            features: Vec::with_capacity(n_rows * layout.d_features),
            votes: Vec::with_capacity(of_form(SignalForm::Votes, layout.n_signals)),
            p: Vec::with_capacity(of_form(SignalForm::Probabilities, layout.n_signals * layout.n_classes)),
        }
    }

    /// Adds rows of this layout.
    pub(crate) fn push(&mut self, rows: &SourceRows) {
        self.features.extend(&rows.features);
        match &rows.signals {
            RowSignals::None => {}
            RowSignals::Votes(votes) => self.votes.extend(votes),
            RowSignals::Probabilities(p) => self.p.extend(p),
        }
    }

    /// Adds rows that [`RowBytes::write`] wrote, row after row.
    pub(crate) fn push_bytes(&mut self, form: RowBytes, bytes: &[u8]) {
        for row in bytes.chunks_exact(form.len()) {
            let (of_features, of_signals) = row.split_at(form.of_features());
            match form.is_single {
                true => self.features.extend(numbers(of_features, f32::from_le_bytes).map(f64::from)),
                false => self.features.extend(numbers(of_features, f64::from_le_bytes)),
            }
            match self.layout.form {
                SignalForm::None => {}
                SignalForm::Votes => self.votes.extend_from_slice(of_signals),
                SignalForm::Probabilities => self.p.extend(numbers(of_signals, f32::from_le_bytes)),
            }
        }
    }

    pub(crate) fn finish(self) -> SourceRows {
        const WHOLE: &str = "whole rows";
        let RowLayout { d_features, n_signals, n_classes, form } = self.layout;
        let n_rows = self.features.len() / d_features;
        let signals = match form {
            SignalForm::None => RowSignals::None,
            SignalForm::Votes => {
                RowSignals::Votes(Array2::from_shape_vec((n_rows, n_signals), self.votes).expect(WHOLE))
            }
            SignalForm::Probabilities => {
                RowSignals::Probabilities(Array3::from_shape_vec((n_rows, n_signals, n_classes), self.p).expect(WHOLE))
            }
        };
        let features = Array2::from_shape_vec((n_rows, d_features), self.features).expect(WHOLE);
        SourceRows { features, signals }
    }
}

fn numbers<T, const N: usize>(bytes: &[u8], read: impl Fn([u8; N]) -> T) -> impl Iterator<Item = T> {
    bytes.as_chunks().0.iter().copied().map(read)
}

/// All rows of a source.
pub(crate) fn read_all(source: &dyn RowSource) -> Result<SourceRows> {
    let layout = RowLayout::of(source);
    let mut all = GatheredRows::new(layout, source.n_rows() as usize);
    source.visit(&mut |rows| {
        layout.check(&rows)?;
        all.push(&rows);
        Ok(())
    })?;
    Ok(all.finish())
}

#[cfg(test)]
mod tests {
    use ndarray::{array, s};

    use super::*;

    #[test]
    fn rows_are_read_as_they_were_written() {
        let single = array![[1.5, -2.0], [3.0, f64::from(f32::MIN_POSITIVE)], [0.0, f64::from(1e30f32)]];
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
            for (features, is_single) in [(single.clone(), true), (&single + 1e9, false)] {
                let rows = SourceRows { features, signals: signals.clone() };
                assert_eq!(layout.check(&rows).unwrap(), 3);
                let form = RowBytes { layout, is_single };
                let mut bytes = Vec::new();
                (0..3).for_each(|row| form.write(&rows, row, &mut bytes));
                assert_eq!(bytes.len(), 3 * form.len());
                let mut read = GatheredRows::new(layout, 3);
                read.push_bytes(form, &bytes);
                assert_eq!(read.finish(), rows);
            }
            let rows = SourceRows { features: single.slice(s![.., ..1]).to_owned(), signals };
            assert!(layout.check(&rows).is_err());
            let silent = SourceRows { features: single.clone(), signals: RowSignals::None };
            assert!(layout.check(&silent).is_err() || form == SignalForm::None);
        }
    }
}
