//! `labelflow votes`: votes of keywords on texts.

use std::path::PathBuf;

use clap::Args;
use labelflow::WeakSignals;
use labelflow_data::tables::{Column, ColumnValues, write_columns};
use labelflow_data::texts::{KeywordLabelers, read_texts};

use crate::flags::KeyArgs;
use crate::terminal::output;

#[derive(Debug, Args)]
pub(crate) struct VotesArgs {
    /// Table with a column of texts: csv, tsv or parquet
    #[arg(long, value_name = "FILE")]
    texts: PathBuf,
    /// Column with the texts
    #[arg(long, value_name = "NAME", default_value = "text")]
    column: String,
    /// TOML file with the classes, and the labelers with their keywords
    #[arg(long, value_name = "RULES.toml")]
    rules: PathBuf,
    #[command(flatten)]
    key: KeyArgs,
    /// Where to write the votes, one column per labeler: csv, tsv, parquet or npz
    #[arg(long, value_name = "FILE", default_value = "votes.csv")]
    out: PathBuf,
}

pub(crate) fn run(args: &VotesArgs) -> anyhow::Result<()> {
    let labelers = KeywordLabelers::read(&args.rules)?;
    let texts = read_texts(&args.texts, &args.column, &args.key.column())?;
    let signals = labelers.vote(&texts.value)?;
    let keys = texts.keys.to_column().into_iter();
    write_columns(&args.out, &keys.chain(columns(&signals)).collect::<Vec<_>>())?;
    output::note(&format!(
        "{} labelers voted on {} texts in {}; {} texts have no vote",
        signals.n_signals(),
        signals.n_rows(),
        args.out.display(),
        signals.n_uncovered()
    ));
    Ok(())
}

/// Votes by the names of their classes, so that they need no `--classes` to be read. An abstention is -1: an empty line is
/// no row of a table.
fn columns(signals: &WeakSignals) -> impl Iterator<Item = Column> {
    let vote = move |row: usize, labeler: usize| match signals.vote(row, labeler) {
        Some(class) => signals.classes()[class].clone(),
        None => "-1".to_owned(),
    };
    let votes = move |labeler| ColumnValues::Names((0..signals.n_rows()).map(|row| vote(row, labeler)).collect());
    let column = move |(labeler, name): (usize, &String)| Column::new(name, votes(labeler));
    signals.labelers().iter().enumerate().map(column)
}
