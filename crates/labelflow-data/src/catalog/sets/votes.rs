//! Sets of votes alone: arrays of rules' votes, and long tables of workers' answers.

use crate::Result;
use crate::catalog::VoteProblem;
use crate::catalog::catalog_entry::Source;
use crate::inputs::{
    KeyColumn, Keyed, SignalsKind, SignalsOptions, TaskVotesOptions, read_labels, read_signals, read_task_votes,
    read_truth_of,
};

/// Votes with −1 for none, and the classes of the rows.
pub(crate) fn load_arrays(source: &Source<'_>) -> Result<VoteProblem> {
    let options = SignalsOptions { kind: SignalsKind::Votes, ..SignalsOptions::default() };
    let signals = read_signals(&source.paths[0], &options)?.value;
    let truth = read_labels(&source.paths[1], signals.classes(), &KeyColumn::default())?;
    VoteProblem::new(signals, truth.value)
}

/// Answers of workers to questions, and the true answers.
pub(crate) fn load_answers(source: &Source<'_>) -> Result<VoteProblem> {
    let Keyed { value: signals, keys } = read_task_votes(&source.paths[0], &TaskVotesOptions::default())?;
    let truth = read_truth_of(&source.paths[1], &keys, signals.classes())?;
    VoteProblem::new(signals, truth)
}
