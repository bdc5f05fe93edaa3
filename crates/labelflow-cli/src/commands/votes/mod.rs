//! `labelflow votes`: votes of keywords on texts.

pub(crate) mod args;

use labelflow::WeakSignals;
use labelflow_data::tables::{Column, ColumnValues, write_columns};
use labelflow_data::texts::{KeywordLabelers, read_texts};

use crate::Outcome;
use crate::terminal::output;
use args::VotesArgs;

pub(crate) fn run(args: &VotesArgs) -> anyhow::Result<Outcome> {
    let labelers = KeywordLabelers::read(&args.rules)?;
    let texts = read_texts(&args.texts, &args.column)?;
    let signals = labelers.vote(&texts)?;
    write_columns(&args.out, &columns(&signals))?;
    output::note(&format!(
        "{} labelers voted on {} texts in {}; {} texts have no vote",
        signals.n_signals(),
        signals.n_rows(),
        args.out.display(),
        signals.n_uncovered()
    ));
    Ok(Outcome::Done)
}

/// Votes by the names of their classes, so that they need no `--classes` to be read. An abstention is -1: an empty line is
/// no row of a table.
fn columns(signals: &WeakSignals) -> Vec<Column> {
    let vote = |row: usize, labeler: usize| match signals.vote(row, labeler) {
        Some(class) => signals.classes()[class].clone(),
        None => "-1".to_owned(),
    };
    let column = |(labeler, name): (usize, &String)| Column {
        name: name.clone(),
        values: ColumnValues::Names((0..signals.n_rows()).map(|row| vote(row, labeler)).collect()),
    };
    signals.labelers().iter().enumerate().map(column).collect()
}
