//! Rows with true labels.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use labelflow::Features;
use labelflow_data::inputs::{KeyColumn, Keyed, Rows, read_features};

use super::KeyArgs;
use crate::inputs::new_rows::NewRows;

/// What a trained model is judged or calibrated on.
#[derive(Debug, Args)]
pub(crate) struct LabelledRowsArgs {
    /// The features of labelled rows
    #[arg(long, value_name = "FILE")]
    pub(crate) features: PathBuf,
    /// Their true labels
    #[arg(long, value_name = "FILE")]
    labels: PathBuf,
    #[command(flatten)]
    key: KeyArgs,
}

impl LabelledRowsArgs {
    /// What `with` makes of the features that a model was trained on, and what `read` makes of the labels, in the order of the rows. Warns of
    /// features that look wrong.
    pub(crate) fn read<T: Rows, W>(
        &self,
        feature_names: &[String],
        read: impl FnOnce(&Path, &KeyColumn) -> labelflow_data::Result<Keyed<T>>,
        with: impl FnOnce(Features) -> anyhow::Result<W>,
    ) -> anyhow::Result<(W, T)> {
        let key = self.key.column();
        let truth = read(&self.labels, &key)?;
        let Keyed { value: features, keys } = read_features(&self.features, &key.beside(feature_names))?;
        let mut seen = NewRows::new(&self.features, feature_names);
        // First what is wrong with the columns: other files may have other rows too.
        seen.add(&features).with_context(|| self.features.display().to_string())?;
        let made = with(features)?;
        seen.warn(0);
        Ok((made, truth.in_order_of(&keys)?))
    }

    /// For errors.
    pub(crate) fn place(&self) -> String {
        format!("{}, {}", self.features.display(), self.labels.display())
    }
}
