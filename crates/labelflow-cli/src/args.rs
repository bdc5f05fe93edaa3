//! What can be typed.

use std::path::PathBuf;

use crate::memory_size::MemorySize;
use clap::{Args, Parser, Subcommand, ValueEnum};
use labelflow::{DeviceKind, LatentSource, ModelTask, Preset};
use labelflow_data::{AbstainConvention, BadRows};

/// Turns unlabelled data and weak signals into labels that know how sure they are.
#[derive(Debug, Parser)]
#[command(name = "labelflow", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Train on embedded data, compare with simpler methods, leave a model and labels to look at
    Demo(DemoArgs),
    /// Train a model from features and weak signals, or rules about means
    Fit(FitArgs),
    /// Label new rows with a trained model
    Predict(PredictArgs),
    /// Judge a trained model by true labels
    Eval(EvalArgs),
    /// Teach a trained classifier how sure it may be, on rows with true labels
    Calibrate(CalibrateArgs),
    /// Describe labelers: coverage, overlaps, conflicts, accuracy
    Analyze(AnalyzeArgs),
    /// Label rows from their votes alone, with a label model
    Label(LabelArgs),
    /// Let keywords vote on texts
    Votes(VotesArgs),
    /// Repeat experiments, such as the paper's tables, and compare with what is expected
    Run(RunArgs),
    /// Print the tables of runs that were kept, or write a page about runs, training, signals and predictions
    Report(ReportArgs),
    /// Complete partial point clouds with a trained model
    Complete(CompleteArgs),
    /// Compare generated point clouds with reference clouds
    Metrics(MetricsArgs),
    /// List, download, check and make datasets
    Data(DataArgs),
    /// Print a completion script for a shell
    #[command(hide = true)]
    Completions(CompletionsArgs),
    /// Write man pages
    #[command(hide = true)]
    Man(ManArgs),
}

/// Where to compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeviceName {
    Cpu,
    Cuda,
    Wgpu,
}

impl From<DeviceName> for DeviceKind {
    fn from(name: DeviceName) -> Self {
        match name {
            DeviceName::Cpu => Self::Cpu,
            DeviceName::Cuda => Self::Cuda,
            DeviceName::Wgpu => Self::Wgpu,
        }
    }
}

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

/// How a table of numbers says that a labeler abstains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AbstainName {
    /// -1 or a missing cell; classes count from 0
    MinusOne,
    /// 0 or a missing cell; classes count from 1
    Zero,
    /// A missing cell alone; classes count from 0
    Missing,
    /// 0 or a missing cell; the classes are -1 and 1
    Signed,
    /// Whichever of minus-one, zero and signed alone fits the numbers
    Detect,
}

impl From<AbstainName> for AbstainConvention {
    fn from(name: AbstainName) -> Self {
        match name {
            AbstainName::MinusOne => Self::MinusOne,
            AbstainName::Zero => Self::Zero,
            AbstainName::Missing => Self::Missing,
            AbstainName::Signed => Self::Signed,
            AbstainName::Detect => Self::Detect,
        }
    }
}

/// Where votes come from and how they are written.
#[derive(Debug, Args)]
pub(crate) struct SignalsArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// Which file of a WRENCH folder
    #[arg(long, value_enum, default_value = "train", conflicts_with_all = ["signals", "task_votes", "counts"])]
    pub(crate) part: WrenchPart,
    /// What abstains in a table of numbers [default: minus-one]
    #[arg(long, value_enum, value_name = "CONVENTION", conflicts_with = "wrench")]
    pub(crate) abstain: Option<AbstainName>,
    /// Names of the classes in order, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "wrench")]
    pub(crate) classes: Option<Vec<String>>,
    /// Read votes row group by row group and keep no more than this in memory, such as 512MB [default for folders and
    /// patterns: 1GB]
    #[arg(long, value_name = "SIZE", conflicts_with_all = ["wrench", "task_votes", "counts"])]
    pub(crate) memory: Option<MemorySize>,
}

/// One of four forms of votes.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct SourceArgs {
    /// Weak signals, one column a labeler: a file, a folder of parquet files, or a pattern such as 'votes/*.parquet'
    #[arg(long, value_name = "FILE")]
    pub(crate) signals: Option<PathBuf>,
    /// Distinct rows of votes with a column `count`, as --write-counts writes them
    #[arg(long, value_name = "FILE")]
    pub(crate) counts: Option<PathBuf>,
    /// A folder of the WRENCH benchmark; labels in it are used for evaluation alone
    #[arg(long, value_name = "DIR")]
    pub(crate) wrench: Option<PathBuf>,
    /// Votes of a crowd, one line a vote: task, worker, label
    #[arg(long, value_name = "FILE")]
    pub(crate) task_votes: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WrenchPart {
    Train,
    Valid,
    Test,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Which task to show
    #[arg(value_enum, default_value = "classification")]
    pub(crate) task: TaskName,
    /// The folder to write into
    #[arg(long, value_name = "DIR", default_value = "labelflow-demo")]
    pub(crate) out: PathBuf,
    /// The seed of the split and of training
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// The most passes over the data [default: 500, for regression 1000]
    #[arg(long)]
    pub(crate) epochs: Option<usize>,
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
    /// The input table: csv, tsv, parquet, npy or npz; for classification also a folder of parquet files, or a pattern such as
    /// 'rows/*.parquet'
    #[arg(long, value_name = "FILE")]
    pub(crate) features: Option<PathBuf>,
    /// Weak signals, one column a labeler: class indices, class names, or probabilities of class 1; empty or -1 abstains
    #[arg(long, value_name = "FILE")]
    pub(crate) signals: Option<PathBuf>,
    /// Read parquet files window by window and keep no more than this in memory, such as 512MB [default for folders and
    /// patterns: 1GB]
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

#[derive(Debug, Args)]
pub(crate) struct EvalArgs {
    /// A folder that `fit` wrote
    #[arg(value_name = "MODEL_DIR")]
    pub(crate) model: PathBuf,
    /// The rows to judge by
    #[arg(long, value_name = "FILE")]
    pub(crate) features: PathBuf,
    /// Their true labels
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: PathBuf,
    /// Where to compute
    #[arg(long, value_enum, default_value = "cpu")]
    pub(crate) device: DeviceName,
    /// Also write the metrics as JSON ('-' for standard output)
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

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

#[derive(Debug, Args)]
pub(crate) struct AnalyzeArgs {
    #[command(flatten)]
    pub(crate) signals: SignalsArgs,
    /// True labels, if there are any
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,
    /// The label model that says how accurate each labeler seems to be
    #[arg(long, value_name = "NAME", default_value = DEFAULT_LABEL_MODEL)]
    pub(crate) model: String,
    /// Also describe each two labelers: common rows, agreement, correlation
    #[arg(long)]
    pub(crate) pairs: bool,
    /// Also write the table of labelers: csv, tsv or parquet
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Also write the tables as JSON ('-' for standard output)
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

/// The label model that can do no worse than a majority vote.
pub(crate) const DEFAULT_LABEL_MODEL: &str = "majority-vote";

#[derive(Debug, Args)]
pub(crate) struct LabelArgs {
    #[command(flatten)]
    pub(crate) signals: SignalsArgs,
    /// The label model: majority-vote, average, dawid-skene, data-programming, flying-squid, minimax-entropy, metal,
    /// snorkel, performance-guaranteed-vote, adversarial-multiclass or constrained-labels [default: majority-vote]
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// A TOML file with settings of the label model, and its name as `model` unless --model says it
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) settings: Option<PathBuf>,
    /// How common the classes are: 'estimated', 'uniform', or numbers separated by commas
    #[arg(long, value_name = "BALANCE")]
    pub(crate) class_balance: Option<String>,
    /// How often labelers may err, for constrained-labels: a number, a file, or 'auto'
    #[arg(long, value_name = "BOUNDS", allow_negative_numbers = true)]
    pub(crate) bounds: Option<String>,
    /// How often votes are wrong, for performance-guaranteed-vote and adversarial-multiclass: a number or a file
    #[arg(long, value_name = "ERRORS", allow_negative_numbers = true)]
    pub(crate) errors: Option<String>,
    /// Signals of labelled rows on which to measure bounds and errors that are not given
    #[arg(long, value_name = "FILE", requires = "labelled_truth")]
    pub(crate) labelled_signals: Option<PathBuf>,
    /// The true labels of these rows
    #[arg(long, value_name = "FILE", requires = "labelled_signals")]
    pub(crate) labelled_truth: Option<PathBuf>,
    /// Label with a fitted model that --save wrote, instead of fitting one
    #[arg(long, value_name = "MODEL.json", conflicts_with_all = [
        "model", "settings", "class_balance", "bounds", "errors", "labelled_signals", "classes", "save",
    ])]
    pub(crate) load: Option<PathBuf>,
    /// Keep the fitted model for later rows
    #[arg(long, value_name = "MODEL.json")]
    pub(crate) save: Option<PathBuf>,
    /// Also write the distinct rows of votes with their counts: csv, tsv or parquet
    #[arg(long, value_name = "FILE")]
    pub(crate) write_counts: Option<PathBuf>,
    /// True labels, used for nothing but an evaluation at the end
    #[arg(long, value_name = "FILE")]
    pub(crate) labels_for_eval: Option<PathBuf>,
    /// Where to write labels and probabilities: csv, tsv, parquet or npz
    #[arg(long, value_name = "FILE", default_value = "labels.csv")]
    pub(crate) out: PathBuf,
    /// Also write what was learned as JSON ('-' for standard output)
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct VotesArgs {
    /// A table with a column of texts: csv, tsv or parquet
    #[arg(long, value_name = "FILE")]
    pub(crate) texts: PathBuf,
    /// The column with the texts
    #[arg(long, value_name = "NAME", default_value = "text")]
    pub(crate) column: String,
    /// Classes, and labelers with their keywords
    #[arg(long, value_name = "RULES.toml")]
    pub(crate) rules: PathBuf,
    /// Where to write the votes, one column a labeler: csv, tsv, parquet or npz
    #[arg(long, value_name = "FILE", default_value = "votes.csv")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Experiment files, such as runs/table1/*.toml
    #[arg(value_name = "RUN.toml", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// The folder with the datasets
    #[arg(long, value_name = "DIR", env = "LABELFLOW_DATA")]
    pub(crate) data: Option<PathBuf>,
    /// Only these systems of each file, separated by commas
    #[arg(long, value_delimiter = ',')]
    pub(crate) systems: Option<Vec<String>>,
    /// These seeds instead of each file's, separated by commas
    #[arg(long, value_delimiter = ',')]
    pub(crate) seeds: Option<Vec<u64>>,
    /// Fewer passes over the data than the files say
    #[arg(long)]
    pub(crate) epochs: Option<usize>,
    /// Where to compute
    #[arg(long, value_enum)]
    pub(crate) device: Option<DeviceName>,
    /// Independent runs at the same time
    #[arg(long, default_value_t = 1)]
    pub(crate) jobs: usize,
    /// Keep every finished run here, and do not repeat those that are there
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    /// Keep trained completers here: a run that was killed goes on, and one that has ended is not trained again
    #[arg(long, value_name = "DIR")]
    pub(crate) models: Option<PathBuf>,
    /// Also write all runs as JSON ('-' for standard output)
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Debug, Args)]
// Signals are one of several inputs here.
#[command(mut_group("SourceArgs", |group| group.required(false)))]
pub(crate) struct ReportArgs {
    /// What `run --json` wrote or folders of `run --keep`; experiment files among them say what the paper has. For a page also
    /// folders of models
    #[arg(value_name = "RESULTS", required_unless_present_any = ["signals", "wrench", "task_votes", "predictions"])]
    pub(crate) results: Vec<PathBuf>,
    /// Only these systems and in this order, separated by commas
    #[arg(long, value_delimiter = ',')]
    pub(crate) systems: Option<Vec<String>>,
    /// What to write [default: html if --out ends in .html, else markdown]
    #[arg(long, value_enum)]
    pub(crate) format: Option<ReportFormat>,
    /// Where to write it [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) signals: SignalsArgs,
    /// The label model that says how accurate each labeler seems to be
    #[arg(long, value_name = "NAME", default_value = DEFAULT_LABEL_MODEL)]
    pub(crate) model: String,
    /// Labels that `predict` or `label` wrote
    #[arg(long, value_name = "FILE")]
    pub(crate) predictions: Option<PathBuf>,
    /// True labels of the rows of --predictions or, without these, of --signals
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,
    /// True labels of the rows of --signals, where there are --predictions too
    #[arg(long, value_name = "FILE")]
    pub(crate) signals_labels: Option<PathBuf>,
    /// Also write every chart of the page into this folder, as SVG and PNG
    #[arg(long, value_name = "DIR")]
    pub(crate) charts: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// A table for people; the best system in bold
    Markdown,
    /// A line for each dataset and system
    Csv,
    /// A tabular, with the package booktabs
    Latex,
    /// All numbers for machines
    Json,
    /// One page with charts, which needs no network
    Html,
}

#[derive(Debug, Args)]
pub(crate) struct CompleteArgs {
    /// A folder that `fit` wrote
    #[arg(value_name = "MODEL_DIR")]
    pub(crate) model: PathBuf,
    /// Partial scans: files and folders of files (ply, pcd, xyz, pts, csv, npy, npz, off, obj, stl)
    #[arg(value_name = "SCAN", required = true)]
    pub(crate) scans: Vec<PathBuf>,
    /// Completions of each scan
    #[arg(short = 'n', long = "completions", value_name = "N", default_value_t = 10)]
    pub(crate) n_completions: usize,
    /// Points of each completion [default: as many as in training]
    #[arg(long, value_name = "N")]
    pub(crate) points: Option<usize>,
    /// Where the latent comes from
    #[arg(long, value_enum, default_value = "posterior")]
    pub(crate) latent: LatentName,
    /// A factor on the noise: below 1 completions are less different
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    pub(crate) temperature: f64,
    /// Keep points of the scan in each completion
    #[arg(long)]
    pub(crate) keep_input: bool,
    /// Where the scan lies in the whole: 'auto' (searched), 'scan' (its own box is that of the whole), 'same' (it is in the frame of
    /// the shapes already), or the middle and the radius of the whole in the scan's units: X,Y,Z,RADIUS
    #[arg(long, value_name = "FRAME", default_value = "auto", allow_hyphen_values = true)]
    pub(crate) frame: String,
    /// The seed of the noise
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// The file format of completions
    #[arg(long, value_enum, default_value = "ply")]
    pub(crate) format: CloudFormatName,
    /// Where to compute
    #[arg(long, value_enum, default_value = "cpu")]
    pub(crate) device: DeviceName,
    /// The folder to write into: a folder a scan, sheet.png, viewer.html and report.json
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LatentName {
    /// From what the scan says, as in training
    Posterior,
    /// From the standard normal distribution: more different completions
    Prior,
}

impl From<LatentName> for LatentSource {
    fn from(name: LatentName) -> Self {
        match name {
            LatentName::Posterior => Self::Posterior,
            LatentName::Prior => Self::Prior,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CloudFormatName {
    Ply,
    Pcd,
    Xyz,
    Npy,
}

impl CloudFormatName {
    /// The ending of its files.
    pub(crate) fn ending(self) -> &'static str {
        match self {
            Self::Ply => "ply",
            Self::Pcd => "pcd",
            Self::Xyz => "xyz",
            Self::Npy => "npy",
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct MetricsArgs {
    /// Generated clouds: a file, or a folder of files, or of folders with several completions each (ply, pcd, xyz, pts, csv, npy,
    /// npz, off, obj, stl)
    #[arg(value_name = "GENERATED")]
    pub(crate) generated: PathBuf,
    /// Reference clouds: a file or a folder of files
    #[arg(value_name = "REFERENCE")]
    pub(crate) references: PathBuf,
    /// The partial clouds that were completed, named as their completions: how far completions stray from them
    #[arg(long, value_name = "DIR")]
    pub(crate) partials: Option<PathBuf>,
    /// Points drawn from the surface of each mesh
    #[arg(long, value_name = "N", default_value_t = 2048)]
    pub(crate) surface_points: usize,
    /// Also write the metrics as JSON ('-' for standard output)
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct DataArgs {
    #[command(subcommand)]
    pub(crate) command: DataCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DataCommand {
    /// Show all datasets that are known
    List {
        /// Also write the list as JSON ('-' for standard output)
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
    },
    /// Download a dataset from its publisher and check its hash
    Fetch {
        /// Its name, as `data list` shows it
        name: String,
        /// The folder with the datasets
        #[arg(long, value_name = "DIR", env = "LABELFLOW_DATA")]
        data: Option<PathBuf>,
    },
    /// Compare files, row counts and hashes with the catalog
    Check {
        /// Names, as `data list` shows them; none for all
        names: Vec<String>,
        /// The folder with the datasets
        #[arg(long, value_name = "DIR", env = "LABELFLOW_DATA")]
        data: Option<PathBuf>,
    },
    /// Write a dataset as parquet files: features and votes to train on, bounds, and rows to test on
    Export {
        /// Its name, as `data list` shows it
        name: String,
        /// The folder with the datasets
        #[arg(long, value_name = "DIR", env = "LABELFLOW_DATA")]
        data: Option<PathBuf>,
        /// The seed of the split
        #[arg(long, default_value_t = 0)]
        seed: u64,
        /// Rows of each file of features and signals
        #[arg(long, value_name = "ROWS", default_value_t = 1000)]
        rows_per_part: usize,
        /// The folder to write into
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
    /// Make a problem whose best answer is known: features.csv, signals.csv, labels.csv
    Synth {
        /// Which kind
        #[arg(value_enum)]
        kind: SynthKind,
        /// Number of rows
        #[arg(long, default_value_t = 1000)]
        rows: usize,
        /// Number of classes
        #[arg(long, default_value_t = 2)]
        classes: usize,
        /// Number of labelers
        #[arg(long, default_value_t = 10)]
        labelers: usize,
        /// Number of features, of gaussian classes [default: 10, or as many as classes]
        #[arg(long)]
        features: Option<usize>,
        /// The seed
        #[arg(long, default_value_t = 0)]
        seed: u64,
        /// Votes, and the features of gaussian classes, in parquet files of so many rows each: for more than fit in memory
        #[arg(long, value_name = "ROWS")]
        rows_per_part: Option<usize>,
        /// The folder to write into
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SynthKind {
    /// Votes of independent labelers, no features
    Votes,
    /// Gaussian classes with votes: features tell more than votes
    Gaussian,
    /// A function of correlated features, with rules about means: rules.toml instead of signals.csv
    Regression,
    /// Made-up chairs with semantic parts, in PartNet's folder layout; --rows is the number of training shapes
    Chairs,
    /// Made-up tables, likewise
    Tables,
    /// Made-up lamps, likewise
    Lamps,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The folder to write into
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}
