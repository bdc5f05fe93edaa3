//! Flags of `calibrate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct CalibrateArgs {
    /// A folder that `fit` wrote; it learns in place
    #[arg(value_name = "MODEL_DIR")]
    pub(crate) model: PathBuf,
    /// Rows that the model was not trained on
    #[arg(long, value_name = "FILE")]
    pub(crate) features: PathBuf,
    /// Their true labels
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: PathBuf,
    /// How probabilities are calibrated
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) method: CalibrationName,
    /// Also learn sets of classes that hold the true one of this share of rows, such as 0.9; `predict` then writes them
    #[arg(long, value_name = "SHARE")]
    pub(crate) sets: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CalibrationName {
    /// Isotonic from a hundred rows on, else a temperature
    Auto,
    /// One number; the predicted classes stay
    Temperature,
    /// A curve for each class; wants a hundred rows or more
    Isotonic,
    /// Forget what was learned: probabilities as the model gives them
    None,
}
