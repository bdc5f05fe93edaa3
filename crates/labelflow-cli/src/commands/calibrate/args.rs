//! Flags of `calibrate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct CalibrateArgs {
    /// The folder of a classifier that `fit` wrote; it is changed in place
    #[arg(value_name = "MODEL_DIR")]
    pub(crate) model: PathBuf,
    /// The features of labelled rows that the model was not trained on
    #[arg(long, value_name = "FILE")]
    pub(crate) features: PathBuf,
    /// Their true labels
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: PathBuf,
    /// How to calibrate probabilities
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) method: CalibrationName,
    /// Also calibrate prediction sets with this coverage, such as 0.9: `predict` then writes a set of classes per row, and this share of
    /// the sets holds the true class [default: none]
    #[arg(long, value_name = "SHARE")]
    pub(crate) sets: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CalibrationName {
    /// Isotonic with 100 rows or more, else temperature
    Auto,
    /// Temperature scaling: one number, which leaves the predicted classes as they are
    Temperature,
    /// Isotonic regression: one curve per class; needs about 100 rows
    Isotonic,
    /// Remove an earlier calibration: probabilities as the model gives them
    None,
}
