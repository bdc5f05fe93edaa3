//! Flags of `label`.

use std::path::PathBuf;

use clap::Args;
use labelflow::label_models::{AnyLabelModel, Needs};

use crate::flags::SignalsArgs;

/// The label model that can do no worse than a majority vote.
pub(crate) const DEFAULT_LABEL_MODEL: &str = "majority-vote";

/// The label models that need to be told this of the labelers.
fn that_need(needs: Needs) -> String {
    let has =
        |name: &&str| AnyLabelModel::from_name(name).is_ok_and(|model| model.needs() == needs);
    list(&AnyLabelModel::NAMES.iter().copied().filter(has).collect::<Vec<_>>(), "and")
}

/// One, two and three.
fn list(names: &[&str], before_last: &str) -> String {
    match names {
        [] => String::new(),
        [name] => (*name).to_owned(),
        [first @ .., last] => format!("{} {before_last} {last}", first.join(", ")),
    }
}

#[derive(Debug, Args)]
pub(crate) struct LabelArgs {
    #[command(flatten)]
    pub(crate) signals: SignalsArgs,
    #[arg(
        long,
        value_name = "NAME",
        help = format!("The label model: {} [default: {DEFAULT_LABEL_MODEL}]", list(AnyLabelModel::NAMES, "or"))
    )]
    pub(crate) model: Option<String>,
    /// A TOML file with settings of the label model, and its name as `model` unless --model says it
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) settings: Option<PathBuf>,
    /// How common the classes are: 'estimated', 'uniform', or numbers separated by commas
    #[arg(long, value_name = "BALANCE")]
    pub(crate) class_balance: Option<String>,
    #[arg(
        long,
        value_name = "BOUNDS",
        allow_negative_numbers = true,
        help = format!("How often labelers may err, for {}: a number, a file, or 'auto'", that_need(Needs::Bounds))
    )]
    pub(crate) bounds: Option<String>,
    #[arg(
        long,
        value_name = "ERRORS",
        allow_negative_numbers = true,
        help = format!("How often votes are wrong, for {}: a number or a file", that_need(Needs::Errors))
    )]
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
