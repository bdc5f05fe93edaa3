//! Problems of votes alone: what label models are compared on.

use labelflow_weak::rows::Truth;
use labelflow_weak::settings::check_rows;
use labelflow_weak::votes::WeakSignals;

use crate::Result;

/// Votes, and the true class of each row to judge labels by.
#[derive(Debug, Clone, PartialEq)]
pub struct VoteProblem {
    /// The votes.
    pub signals: WeakSignals,
    /// The true class of each row.
    pub truth: Truth,
}

impl VoteProblem {
    /// Votes with the true class of each row.
    pub fn new(signals: WeakSignals, truth: Truth) -> Result<Self> {
        check_rows("true labels", truth.n_rows(), signals.n_rows(), "the votes")?;
        Ok(Self { signals, truth })
    }
}
