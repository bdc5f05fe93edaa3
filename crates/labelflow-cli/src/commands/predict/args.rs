//! Flags of `predict`.

use std::path::PathBuf;

use clap::Args;
use labelflow_data::parts::BadRows;

use crate::flags::{DeviceName, KeyArgs, flag_values};
use crate::inputs::memory_size::MemorySize;

#[derive(Debug, Args)]
pub(crate) struct PredictArgs {
    /// The folder of a model that `fit` wrote
    #[arg(value_name = "MODEL_DIR")]
    pub(crate) model: PathBuf,
    /// The features of the rows to label: a file, a folder of parquet files, or a pattern such as 'rows/*.parquet'
    #[arg(long, value_name = "FILE")]
    pub(crate) features: PathBuf,
    /// For classification: samples per prediction [default: as the model was trained with]
    #[arg(long)]
    pub(crate) samples: Option<usize>,
    /// For classification: weak signals of these rows; adds the column `agreement`, the share of labelers that agree with the label
    #[arg(long, value_name = "FILE")]
    pub(crate) signals: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
    /// The device to compute on
    #[arg(long, value_enum, default_value = "cpu")]
    pub(crate) device: DeviceName,
    /// The file to write labels and probabilities to: csv, tsv, parquet or npz
    #[arg(long, value_name = "FILE", default_value = "labels.csv")]
    pub(crate) out: PathBuf,
    /// Read parquet files in parts with at most this much memory, such as 512MB, and write labels as they come [default for folders
    /// and patterns: 1GB]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<MemorySize>,
    /// What to do with rows of parquet files that have a missing, infinite or too large feature [default: fail]
    #[arg(long, value_enum, value_name = "RULE")]
    pub(crate) bad_rows: Option<BadRowsName>,
}

impl PredictArgs {
    pub(super) fn bad_rows(&self) -> BadRows {
        self.bad_rows.map(BadRows::from).unwrap_or_default()
    }
}

flag_values! {
    /// What is done about bad rows.
    BadRowsName for BadRows {
        /// Write nothing and report the first of them
        Fail,
        /// Write them with an empty label and equally probable classes
        Abstain,
        /// Leave them out and count them
        Skip,
    }
}
