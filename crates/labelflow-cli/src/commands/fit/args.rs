//! Flags of `fit`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use labelflow::storage::ModelTask;
use labelflow::training::Preset;

use crate::flags::AbstainName;
use crate::flags::DeviceName;
use crate::inputs::memory_size::MemorySize;

/// How to train.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PresetName {
    /// All rows in each of up to 2000 steps
    Paper,
    /// Fewer and larger steps: a thirteenth of the time, for somewhat less accuracy
    Fast,
}

impl From<PresetName> for Preset {
    fn from(name: PresetName) -> Self {
        match name {
            PresetName::Paper => Self::Paper,
            PresetName::Fast => Self::Fast,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TaskName {
    /// Classes from weak signals
    Classification,
    /// Real values from rules about means
    Regression,
    /// Complete point clouds from partial ones
    Completion,
}

impl From<TaskName> for ModelTask {
    fn from(name: TaskName) -> Self {
        match name {
            TaskName::Classification => Self::Classification,
            TaskName::Regression => Self::Regression,
            TaskName::Completion => Self::Completion,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct FitArgs {
    /// A TOML file with any of the settings below, and a table `config` for the model; flags win over it
    #[arg(value_name = "RUN.toml")]
    pub(crate) run: Option<PathBuf>,
    /// Repeat the fit of a model: the same settings on the same files, which are checked; the weights come out the same to the last
    /// bit [default of --out: MODEL_DIR-again]
    #[arg(long, value_name = "MODEL_DIR", conflicts_with_all = [
        "run", "features", "signals", "bounds", "classes", "abstain", "task", "rules", "range", "shapes", "scans", "system",
        "labels_for_eval", "max_minutes", "seed", "preset", "epochs", "likelihood_weight", "batch_size", "samples", "device",
        "memory", "feature_columns", "signal_columns",
    ])]
    pub(crate) from: Option<PathBuf>,
    /// The input table: csv, tsv, parquet, npy or npz; for classes and real values also a folder of parquet files, or a
    /// pattern such as 'rows/*.parquet'
    #[arg(long, value_name = "FILE")]
    pub(crate) features: Option<PathBuf>,
    /// Weak signals, one column a labeler: class indices, class names, or probabilities of class 1; empty or -1 abstains
    #[arg(long, value_name = "FILE")]
    pub(crate) signals: Option<PathBuf>,
    /// Read parquet files in parts and keep no more than this in memory, such as 512MB; rows that do not fit are put in random order
    /// on disk, in the model folder, while it is trained [default for folders and patterns: 1GB]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<MemorySize>,
    /// Of parquet files that are read so: the columns that are features, as names or patterns such as 'x*', separated by commas
    /// [default: all that are no signals]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) feature_columns: Option<Vec<String>>,
    /// Likewise the columns that are signals; without --signals those of the files of --features
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) signal_columns: Option<Vec<String>>,
    /// How often labelers may err: a number, a file, or 'auto' (estimated from their agreement) [default: auto]
    #[arg(long, value_name = "BOUNDS", allow_negative_numbers = true)]
    pub(crate) bounds: Option<String>,
    /// Names of the classes in order, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) classes: Option<Vec<String>>,
    /// What abstains in a table of numbers [default: minus-one]
    #[arg(long, value_enum, value_name = "CONVENTION")]
    pub(crate) abstain: Option<AbstainName>,
    /// What to learn [default: regression with --rules, completion with --shapes, else classification]
    #[arg(long, value_enum)]
    pub(crate) task: Option<TaskName>,
    /// For regression: rules about means, such as "where size is at least 120 the mean is 350": toml or csv
    #[arg(long, value_name = "FILE")]
    pub(crate) rules: Option<PathBuf>,
    /// For regression: the lowest and the highest value of a label [default: from the rules]
    #[arg(long, value_names = ["LOWER", "UPPER"], num_args = 2, allow_negative_numbers = true)]
    pub(crate) range: Option<Vec<f64>>,
    /// For completion: complete shapes: a folder of clouds and meshes, PartNet's folders, or chairs, tables, lamps (made up) or
    /// partnet-chair
    #[arg(long, value_name = "DIR")]
    pub(crate) shapes: Option<PathBuf>,
    /// The folder with the datasets, for shapes by name
    #[arg(long, value_name = "DIR", env = "LABELFLOW_DATA")]
    pub(crate) data: Option<PathBuf>,
    /// For completion: a folder of partial scans [default: random parts are taken away from the shapes]
    #[arg(long, value_name = "DIR")]
    pub(crate) scans: Option<PathBuf>,
    /// For completion: llf, pcl2pcl, mm-pcl2pcl, mm-pcl2pcl-im, shape-inversion or kt-net [default: llf]
    #[arg(long, value_name = "NAME")]
    pub(crate) system: Option<String>,
    /// True labels, used for nothing but evaluation
    #[arg(long, value_name = "FILE")]
    pub(crate) labels_for_eval: Option<PathBuf>,
    /// Also evaluate every so many epochs, into evaluation.jsonl in the model folder
    #[arg(long, value_name = "N")]
    pub(crate) eval_every: Option<usize>,
    /// The model folder to write; a killed run goes on from its checkpoint there
    #[arg(long, value_name = "MODEL_DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Forget the checkpoint of another run in the model folder
    #[arg(long)]
    pub(crate) restart: bool,
    /// The number of epochs from one checkpoint to the next
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) checkpoint_every: usize,
    /// End training after so many minutes and keep the model as it is then
    #[arg(long, value_name = "MINUTES")]
    pub(crate) max_minutes: Option<f64>,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}

/// Settings of the model that have a flag of their own; a RUN.toml has them all.
#[derive(Debug, Args)]
pub(crate) struct ModelArgs {
    /// Where all randomness comes from
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// How to train: as in the paper, or faster; replaces the training settings of a RUN.toml
    #[arg(long, value_enum)]
    pub(crate) preset: Option<PresetName>,
    /// The most passes over the data
    #[arg(long)]
    pub(crate) epochs: Option<usize>,
    /// The weight of the likelihood term; 0 leaves it out
    #[arg(long, value_name = "WEIGHT", allow_negative_numbers = true)]
    pub(crate) likelihood_weight: Option<f64>,
    /// For classification: spread over all that the constraints allow before growing sure, and average 100 samples
    #[arg(long)]
    pub(crate) spread_first: bool,
    /// Rows of a training step [default: all that fit]
    #[arg(long, value_name = "ROWS")]
    pub(crate) batch_size: Option<usize>,
    /// Samples that a prediction averages
    #[arg(long)]
    pub(crate) samples: Option<usize>,
    /// Where to compute
    #[arg(long, value_enum)]
    pub(crate) device: Option<DeviceName>,
}
