//! Flags of `label`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::ArgPredicate;
use labelflow::label_models::{AnyLabelModel, Needs};

use super::unvoted::Unvoted;
use crate::flags::{SignalsArgs, count};

/// The label model for votes of which nothing is known.
pub(crate) const DEFAULT_LABEL_MODEL: &str = "auto";

/// The label models that need to be told this of the labelers.
fn that_need(needs: Needs) -> String {
    let has = |name: &&str| AnyLabelModel::from_name(name).is_ok_and(|model| model.needs() == needs);
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
        help = format!("Label model: {} [default: {DEFAULT_LABEL_MODEL}]", list(AnyLabelModel::NAMES, "or"))
    )]
    pub(crate) model: Option<String>,
    /// TOML file with settings of the label model; its key `model` names the model unless --model does
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) settings: Option<PathBuf>,
    /// Share of each class: 'estimated', 'uniform', or numbers separated by commas [default: estimated, or as in
    /// --settings]
    #[arg(long, value_name = "BALANCE")]
    pub(crate) class_balance: Option<String>,
    #[arg(
        long,
        value_name = "BOUNDS",
        allow_negative_numbers = true,
        help = format!("Highest error rate per labeler, for {}: a number from 0 to 1, a file, or 'auto' to estimate it", that_need(Needs::Bounds))
    )]
    pub(crate) bounds: Option<String>,
    #[arg(
        long,
        value_name = "ERRORS",
        allow_negative_numbers = true,
        help = format!("Error rate per labeler, for {}: a number from 0 to 1, or a file", that_need(Needs::Errors))
    )]
    pub(crate) errors: Option<String>,
    /// Votes on labelled rows, to measure the bounds and errors that --bounds and --errors do not give
    #[arg(long, value_name = "FILE", requires = "labelled_truth")]
    pub(crate) labelled_signals: Option<PathBuf>,
    /// True labels of the rows of --labelled-signals
    #[arg(long, value_name = "FILE", requires = "labelled_signals")]
    pub(crate) labelled_truth: Option<PathBuf>,
    /// True labels of some of the rows, to learn from as well, for auto and hyper: a file with the key of each row
    #[arg(long, value_name = "FILE")]
    pub(crate) known_labels: Option<PathBuf>,
    /// Label with a fitted model that --save wrote, instead of fitting one
    #[arg(long, value_name = "MODEL.json", conflicts_with_all = [
        "model", "settings", "class_balance", "bounds", "errors", "labelled_signals", "known_labels", "classes",
        "save",
    ])]
    pub(crate) load: Option<PathBuf>,
    /// Write the fitted model, to label other rows with --load
    #[arg(long, value_name = "MODEL.json")]
    pub(crate) save: Option<PathBuf>,
    /// Also write the distinct rows of votes and how often each occurs: csv, tsv or parquet
    #[arg(long, value_name = "FILE")]
    pub(crate) write_counts: Option<PathBuf>,
    /// Also list the N rows on which one more vote is expected to correct most labels, the best first
    #[arg(long, value_name = "N", value_parser = count())]
    pub(crate) relabel: Option<usize>,
    /// Where to list the rows of --relabel: csv, tsv, parquet or npz ('-' for standard output) [default: relabel.csv]
    #[arg(
        long,
        value_name = "FILE",
        requires = "relabel",
        default_value_if("relabel", ArgPredicate::IsPresent, "relabel.csv"),
        hide_default_value = true
    )]
    pub(crate) relabel_out: Option<PathBuf>,
    /// True labels, used only to evaluate the labels at the end
    #[arg(long, value_name = "FILE")]
    pub(crate) labels_for_eval: Option<PathBuf>,
    /// Label of rows that nobody voted on: 'empty', 'balance' (the most common class by the label model), 'majority' (the
    /// class with the most votes), or a class
    #[arg(long, value_name = "LABEL", default_value = "empty")]
    pub(crate) unvoted: Unvoted,
    /// Where to write labels and probabilities: csv, tsv, parquet or npz
    #[arg(long, value_name = "FILE", default_value = "labels.csv")]
    pub(crate) out: PathBuf,
    /// Also write the report as JSON ('-' for standard output)
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}
