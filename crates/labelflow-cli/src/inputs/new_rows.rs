//! Looks at the features of rows that a trained model is asked about, while they are read.

use std::path::Path;

use labelflow::Features;
use labelflow::weak::warnings::FeatureTally;

use crate::terminal::output;

/// What was seen of new rows so far.
pub(crate) struct NewRows<'a> {
    path: &'a Path,
    /// The columns that the model was trained on.
    names: &'a [String],
    tally: FeatureTally,
}

impl<'a> NewRows<'a> {
    /// Of no rows yet.
    pub(crate) fn new(path: &'a Path, names: &'a [String]) -> Self {
        Self { path, names, tally: FeatureTally::new(names, &[]) }
    }

    /// Adds rows. Columns that the model was not trained on are not looked at.
    pub(crate) fn add(&mut self, features: &Features) -> anyhow::Result<()> {
        let features = features.arranged(self.names, self.names.len())?;
        Ok(self.tally.add(features.values(), None)?)
    }

    /// Warns of what looks wrong in them. Rows with a missing feature are not among them, `n_bad` so far.
    pub(crate) fn warn(&self, n_bad: u64) {
        let place = match n_bad {
            0 => self.path.display().to_string(),
            _ => format!("{}, bad rows not counted", self.path.display()),
        };
        self.tally.new_row_warnings().iter().for_each(|warning| output::warn(&place, warning));
    }
}
