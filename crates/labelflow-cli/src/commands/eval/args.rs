//! Flags of `eval`.

use std::path::PathBuf;

use clap::Args;

use crate::flags::DeviceName;

#[derive(Debug, Args)]
pub(crate) struct EvalArgs {
    /// The folder of a model that `fit` wrote
    #[arg(value_name = "MODEL_DIR")]
    pub(crate) model: PathBuf,
    /// The features of labelled rows
    #[arg(long, value_name = "FILE")]
    pub(crate) features: PathBuf,
    /// Their true labels
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: PathBuf,
    /// The device to compute on
    #[arg(long, value_enum, default_value = "cpu")]
    pub(crate) device: DeviceName,
    /// Also write the metrics as JSON ('-' for standard output)
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}
