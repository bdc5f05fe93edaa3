//! Flags of `predict`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use labelflow_data::parts::BadRows;

use crate::flags::DeviceName;
use crate::inputs::memory_size::MemorySize;

#[derive(Debug, Args)]
pub(crate) struct PredictArgs {
    /// A folder that `fit` wrote
    #[arg(value_name = "MODEL_DIR")]
    pub(crate) model: PathBuf,
    /// The rows to label: a file, a folder of parquet files, or a pattern such as 'rows/*.parquet'
    #[arg(long, value_name = "FILE")]
    pub(crate) features: PathBuf,
    /// Samples to average [default: as the model was trained with]
    #[arg(long)]
    pub(crate) samples: Option<usize>,
    /// Weak signals of these rows: labels get a column with the share of labelers that agree
    #[arg(long, value_name = "FILE")]
    pub(crate) signals: Option<PathBuf>,
    /// Where to compute
    #[arg(long, value_enum, default_value = "cpu")]
    pub(crate) device: DeviceName,
    /// Where to write labels and probabilities: csv, parquet or npz
    #[arg(long, value_name = "FILE", default_value = "labels.csv")]
    pub(crate) out: PathBuf,
    /// Read parquet row group by row group, write labels as they come, and keep no more than this in memory, such as 512MB
    /// [default for folders and patterns: 1GB]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<MemorySize>,
    /// What is done about rows of parquet files with a feature that is missing, infinite or too large [default: fail]
    #[arg(long, value_enum, value_name = "RULE")]
    pub(crate) bad_rows: Option<BadRowsName>,
}

/// What is done about bad rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BadRowsName {
    /// Write nothing and name the first of them
    Fail,
    /// Leave their label empty and their classes equally probable
    Abstain,
    /// Leave them out and count them
    Skip,
}

impl From<BadRowsName> for BadRows {
    fn from(name: BadRowsName) -> Self {
        match name {
            BadRowsName::Fail => Self::Fail,
            BadRowsName::Abstain => Self::Abstain,
            BadRowsName::Skip => Self::Skip,
        }
    }
}
