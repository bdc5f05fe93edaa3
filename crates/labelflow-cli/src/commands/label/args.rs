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
    /// Label model: majority-vote, average, dawid-skene, data-programming, flying-squid, minimax-entropy, metal,
    /// snorkel, performance-guaranteed-vote, adversarial-multiclass or constrained-labels [default: majority-vote]
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// TOML file with settings of the label model; its key `model` names the model unless --model does
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) settings: Option<PathBuf>,
    /// Share of each class: 'estimated', 'uniform', or numbers separated by commas [default: estimated, or as in
    /// --settings]
    #[arg(long, value_name = "BALANCE")]
    pub(crate) class_balance: Option<String>,
    /// Highest error rate per labeler, for constrained-labels: a number from 0 to 1, a file, or 'auto' to estimate it
    #[arg(long, value_name = "BOUNDS", allow_negative_numbers = true)]
    pub(crate) bounds: Option<String>,
    /// Error rate per labeler, for performance-guaranteed-vote and adversarial-multiclass: a number from 0 to 1, or a file
    #[arg(long, value_name = "ERRORS", allow_negative_numbers = true)]
    pub(crate) errors: Option<String>,
    /// Votes on labelled rows, to measure the bounds and errors that --bounds and --errors do not give
    #[arg(long, value_name = "FILE", requires = "labelled_truth")]
    pub(crate) labelled_signals: Option<PathBuf>,
    /// True labels of the rows of --labelled-signals
    #[arg(long, value_name = "FILE", requires = "labelled_signals")]
    pub(crate) labelled_truth: Option<PathBuf>,
    /// Label with a fitted model that --save wrote, instead of fitting one
    #[arg(long, value_name = "MODEL.json", conflicts_with_all = [
        "model", "settings", "class_balance", "bounds", "errors", "labelled_signals", "classes", "save",
    ])]
    pub(crate) load: Option<PathBuf>,
    /// Write the fitted model, to label other rows with --load
    #[arg(long, value_name = "MODEL.json")]
    pub(crate) save: Option<PathBuf>,
    /// Also write the distinct rows of votes and how often each occurs: csv, tsv or parquet
    #[arg(long, value_name = "FILE")]
    pub(crate) write_counts: Option<PathBuf>,
    /// True labels, used only to evaluate the labels at the end
    #[arg(long, value_name = "FILE")]
    pub(crate) labels_for_eval: Option<PathBuf>,
    /// Where to write labels and probabilities: csv, tsv, parquet or npz
    #[arg(long, value_name = "FILE", default_value = "labels.csv")]
    pub(crate) out: PathBuf,
    /// Also write the report as JSON ('-' for standard output)
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}
