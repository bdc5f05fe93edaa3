//! Flags of `label`.

use std::path::PathBuf;

use clap::Args;

use crate::flags::SignalsArgs;

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
