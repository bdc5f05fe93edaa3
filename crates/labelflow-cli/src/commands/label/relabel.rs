//! `label --relabel`: the rows that are most worth another vote.

use std::path::Path;

use anyhow::Context;
use labelflow::label_models::{FittedLabelModel, RowToRelabel, rows_to_relabel};
use labelflow_data::tables::{Column, ColumnValues, write_columns};

use super::vote_labeler::VoteLabeler;

/// Lists `n` rows of votes in memory, the best first, and returns how many they are: fewer if there are no more.
pub(crate) fn write(labeler: &VoteLabeler, n: usize, path: &Path) -> anyhow::Result<usize> {
    let keys = labeler.input.keys().context("relabel: expected votes in memory")?;
    let signals = labeler.fitted.arrange(&*labeler.input.example()?).with_context(|| labeler.input.place())?;
    let labels = labeler.fitted.fitted().predict_proba(&signals)?;
    let rows = rows_to_relabel(&signals, &labels, n)?;
    let places: Vec<usize> = rows.iter().map(|row| row.row).collect();
    let (classes, chosen) = (labeler.fitted.classes(), labeler.fitted.fitted().choose(&signals, &labels)?);
    let numbers = |of: fn(&RowToRelabel) -> f64| ColumnValues::Reals(rows.iter().map(of).collect());
    let columns = [
        (keys.column(), keys.names().select(&places).cells()),
        ("label", ColumnValues::Names(places.iter().map(|&row| classes[chosen[row]].clone()).collect())),
        ("n_votes", ColumnValues::Integers(rows.iter().map(|row| row.n_votes as i64).collect())),
        ("p_wrong", numbers(|row| row.wrong)),
        ("gain", numbers(|row| row.gain)),
    ];
    write_columns(path, &columns.map(|(name, values)| Column::new(name, values)))?;
    Ok(rows.len())
}
