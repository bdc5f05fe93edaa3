//! All that training may see.

use std::borrow::Cow;

use crate::labelers::Bounds;
use crate::rows::Features;
use crate::votes::WeakSignals;
use crate::{Error, Result};

/// Features, weak signals and error bounds of the same rows. It holds no true label, so training cannot cheat.
#[derive(Debug, Clone, PartialEq)]
pub struct WeakDataset {
    features: Features,
    signals: WeakSignals,
    bounds: Bounds,
}

impl WeakDataset {
    /// Checks that the three speak of the same rows, labelers and classes.
    pub fn new(features: Features, signals: WeakSignals, bounds: Bounds) -> Result<Self> {
        if features.n_rows() != signals.n_rows() {
            let expected = format!("{} rows, as many as the features have", features.n_rows());
            return Err(Error::data("signals", expected, format!("{} rows", signals.n_rows())));
        }
        bounds.check_shape(signals.n_signals(), signals.n_classes())?;
        signals.check_any_vote()?;
        Ok(Self { features, signals, bounds })
    }

    /// The rows that anybody voted on: this dataset where that is all of them.
    pub fn covered(&self) -> Cow<'_, Self> {
        let rows = self.signals.covered_rows();
        if rows.len() == self.n_rows() {
            return Cow::Borrowed(self);
        }
        let (features, signals) = (self.features.select_rows(&rows), self.signals.select_rows(&rows));
        Cow::Owned(Self { features, signals, bounds: self.bounds.clone() })
    }

    /// The input table.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// What the labelers say.
    pub fn signals(&self) -> &WeakSignals {
        &self.signals
    }

    /// How often they may err.
    pub fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.features.n_rows()
    }

    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        self.signals.n_classes()
    }
}
