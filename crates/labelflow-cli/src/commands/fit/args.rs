//! Flags of `fit`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{EnumValueParser, TypedValueParser};
use labelflow::storage::ModelTask;
use labelflow::training::Preset;
use labelflow_data::inputs::AbstainConvention;
use serde::{Deserialize, Deserializer, Serialize};

use crate::flags::{AbstainName, DeviceName, OverwriteArgs, count, flag_values};
use crate::inputs::bounds_setting::BoundsSetting;
use crate::inputs::memory_size::MemorySize;

flag_values! {
    /// How to train.
    PresetName for Preset {
        /// As in the paper: up to 2000 epochs, all rows in each step
        Paper,
        /// At most 180 epochs in batches of 1024 rows with larger steps: an eleventh of the work
        Fast,
        /// Eight small flows side by side for 90 such epochs, averaged in prediction; with --bounds auto, what the label model of the votes
        /// expects takes the place of bounds
        Ensemble,
    }
}

flag_values! {
    TaskName for ModelTask {
        /// Classes, from weak signals
        Classification,
        /// Real values, from rules about means
        Regression,
        /// Complete point clouds from partial ones
        Completion,
    }
}

#[derive(Debug, Args)]
pub(crate) struct FitArgs {
    /// A TOML file with any of these settings (`labels_for_eval` for --labels-for-eval) and a table `config` for the model; a flag
    /// overrides its key
    #[arg(value_name = "RUN.toml")]
    pub(crate) run: Option<PathBuf>,
    /// Repeat the fit of a model: same settings, same files (their hashes are checked), same weights to the last bit
    /// [default of --out: MODEL_DIR-again]
    #[arg(long, value_name = "MODEL_DIR", conflicts_with_all = [
        "run", "features", "signals", "bounds", "classes", "abstain", "task", "rules", "range", "shapes", "scans", "system",
        "labels_for_eval", "max_minutes", "seed", "preset", "epochs", "likelihood_weight", "batch_size", "samples", "device",
        "memory", "feature_columns", "signal_columns", "key",
    ])]
    pub(crate) from: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) settings: FitSettings,
    #[command(flatten)]
    pub(crate) overwrite: OverwriteArgs,
    /// Delete a checkpoint in the model folder and start anew
    #[arg(long)]
    pub(crate) restart: bool,
    /// Write a checkpoint every N epochs
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = count())]
    pub(crate) checkpoint_every: usize,
    /// Stop training after this many minutes and save the model as it is then [default: no limit]
    #[arg(long, value_name = "MINUTES")]
    pub(crate) max_minutes: Option<f64>,
    /// Also write what was trained, and all warnings, as JSON ('-' for standard output)
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}

/// What both a flag and a key of a `RUN.toml` can say.
#[derive(Debug, Clone, Default, PartialEq, Args, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct FitSettings {
    /// For classification and regression: the features, one row per example: csv, tsv, parquet, npy or npz, a folder of parquet
    /// files, or a pattern such as 'rows/*.parquet'
    #[arg(long, value_name = "FILE")]
    pub(crate) features: Option<PathBuf>,
    /// For classification: weak signals, one column per labeler: class indices, class names, or probabilities of class 1; an empty
    /// cell or -1 abstains
    #[arg(long, value_name = "FILE")]
    pub(crate) signals: Option<PathBuf>,
    /// Read parquet files in parts with at most this much memory, such as 512MB; rows that do not fit are shuffled on disk, in the
    /// model folder, during training [default for folders and patterns: 1GB]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<MemorySize>,
    /// The columns that are features, of parquet files that are read in parts: names or patterns such as 'x*', separated by commas
    /// [default: all columns that are not signals]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) feature_columns: Option<Vec<String>>,
    /// The columns that are signals, likewise; without --signals they are columns of --features
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) signal_columns: Option<Vec<String>>,
    /// Column that names the rows in every table: rows are matched by it, whatever their order [default: `row` in the tables that have it, else
    /// the order of the rows]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) key: Option<String>,
    /// For classification: the highest error rate of each labeler: a number from 0 to 1, a file, or 'auto', an estimate from their
    /// agreement [default: auto]
    #[arg(long, value_name = "BOUNDS", allow_negative_numbers = true)]
    pub(crate) bounds: Option<BoundsSetting>,
    /// For classification: names of the classes in order, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) classes: Option<Vec<String>>,
    /// For classification: which number means that a labeler abstains [default: detect]
    #[arg(
        long,
        value_name = "CONVENTION",
        value_parser = EnumValueParser::<AbstainName>::new().map(AbstainConvention::from)
    )]
    pub(crate) abstain: Option<AbstainConvention>,
    /// What to learn [default: regression with --rules, completion with --shapes, else classification]
    #[arg(long, value_parser = EnumValueParser::<TaskName>::new().map(ModelTask::from))]
    pub(crate) task: Option<ModelTask>,
    /// For regression: rules about means, such as "where size is at least 120 the mean is 350": toml or csv
    #[arg(long, value_name = "FILE")]
    pub(crate) rules: Option<PathBuf>,
    /// For regression: the lowest and the highest possible label, in its unit [default: from the rules]
    #[arg(long, value_names = ["LOWER", "UPPER"], num_args = 2, allow_negative_numbers = true)]
    #[serde(deserialize_with = "two_numbers")]
    pub(crate) range: Option<Vec<f64>>,
    /// For completion: complete shapes: a folder of clouds and meshes, PartNet's folders, or the name of a set: chairs, tables, lamps
    /// (synthetic) or partnet-chair
    #[arg(long, value_name = "DIR")]
    pub(crate) shapes: Option<PathBuf>,
    /// For completion: the folder with the datasets, for shapes by name
    #[arg(long, value_name = "DIR", env = "LABELFLOW_DATA")]
    #[serde(skip)]
    pub(crate) data: Option<PathBuf>,
    /// For completion: a folder of partial scans [default: the shapes without some of their parts]
    #[arg(long, value_name = "DIR")]
    pub(crate) scans: Option<PathBuf>,
    /// For completion: the method: llf, pcl2pcl, mm-pcl2pcl, mm-pcl2pcl-im, shape-inversion or kt-net [default: llf]
    #[arg(long, value_name = "NAME")]
    pub(crate) system: Option<String>,
    /// True labels of the rows, for evaluation only: they never reach training
    #[arg(long, value_name = "FILE")]
    pub(crate) labels_for_eval: Option<PathBuf>,
    /// Evaluate every N epochs, into evaluation.jsonl in the model folder [default: once, at the end]
    #[arg(long, value_name = "N")]
    pub(crate) eval_every: Option<usize>,
    /// The model folder to write; the same command resumes an interrupted run from its checkpoint there
    #[arg(long, value_name = "MODEL_DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Settings of the learner of the task, of the file alone; see [`read_config`](crate::inputs::config_table::read_config).
    #[arg(skip)]
    #[serde(skip_serializing)]
    pub(crate) config: toml::Table,
}

fn two_numbers<'de, D: Deserializer<'de>>(range: D) -> Result<Option<Vec<f64>>, D::Error> {
    Ok(Some(<[f64; 2]>::deserialize(range)?.to_vec()))
}

/// Settings of the model that have a flag of their own; a RUN.toml has them all.
#[derive(Debug, Args)]
pub(crate) struct ModelArgs {
    /// The seed of all random numbers [default: 0]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// How to train; replaces the training settings of RUN.toml [default: ensemble for classification, else paper; with `[config]` in RUN.toml, what
    /// that says]
    #[arg(long, value_enum)]
    pub(crate) preset: Option<PresetName>,
    /// The most epochs [default: what the preset says]
    #[arg(long)]
    pub(crate) epochs: Option<usize>,
    /// The weight of the likelihood in the loss; 0 leaves it out [default: 1; of an ensemble 2]
    #[arg(long, value_name = "WEIGHT", allow_negative_numbers = true)]
    pub(crate) likelihood_weight: Option<f64>,
    /// For classification: start from a negative likelihood weight, so that labels first spread over all that the constraints allow,
    /// and average 100 samples per prediction
    #[arg(long)]
    pub(crate) spread_first: bool,
    /// Rows per training step [default: all rows that fit in memory]
    #[arg(long, value_name = "ROWS")]
    pub(crate) batch_size: Option<usize>,
    /// For classification: samples of each flow per prediction [default: 10]
    #[arg(long)]
    pub(crate) samples: Option<usize>,
    /// The device to compute on [default: cpu]
    #[arg(long, value_enum)]
    pub(crate) device: Option<DeviceName>,
}
