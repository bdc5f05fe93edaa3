//! `labelflow data export`: a dataset as files that `fit`, `predict` and `eval` read.

use std::path::Path;

use labelflow::{Bounds, Features, WeakSignals};
use labelflow_data::catalog::{LoadOptions, load};
use labelflow_data::inputs::{write_features, write_signals};
use labelflow_data::tables::{Column, ColumnValues, write_columns};

use crate::commands::data::write_truth;
use crate::terminal::output;

/// Writes `features/` and `signals/` of the training rows in parts, `bounds.csv`, and the test rows with their labels.
///
/// Signals that are probabilities are rounded to votes, since only votes are read in parts, and bounds are measured anew on the
/// rounded ones where there are labelled rows for it.
pub(crate) fn run(name: &str, folder: &Path, seed: u64, rows_per_part: usize, out: &Path) -> anyhow::Result<()> {
    let problem = load(name, folder, seed, &LoadOptions::default())?;
    let signals = as_votes(problem.train.signals())?;
    let bounds = match &problem.simulation {
        Some(rows) => Bounds::measured(&as_votes(&rows.signals)?, &rows.truth)?,
        None => problem.train.bounds().clone(),
    };
    let features = problem.train.features();
    for table in ["features", "signals"] {
        std::fs::create_dir_all(out.join(table))?;
    }
    let rows: Vec<usize> = (0..features.n_rows()).collect();
    for (part, rows) in rows.chunks(rows_per_part).enumerate() {
        let name = format!("part-{part:05}.parquet");
        let part: Features = features.select_rows(rows);
        write_features(&out.join("features").join(&name), &part)?;
        write_signals(&out.join("signals").join(&name), &signals.select_rows(rows))?;
    }
    write_columns(&out.join("bounds.csv"), &bounds_columns(&bounds, &signals))?;
    write_features(&out.join("test-features.parquet"), &problem.test.features)?;
    write_truth(&out.join("test-labels.csv"), &problem.test.truth, signals.classes())?;
    output::note(&format!(
        "{} rows to train on and {} to test on in {}",
        features.n_rows(),
        problem.test.truth.n_rows(),
        out.display()
    ));
    Ok(())
}

fn as_votes(signals: &WeakSignals) -> anyhow::Result<WeakSignals> {
    Ok(WeakSignals::from_votes(signals.votes().into_owned())?
        .with_labelers(signals.labelers().to_vec())?
        .with_classes(signals.classes().to_vec())?)
}

fn bounds_columns(bounds: &Bounds, signals: &WeakSignals) -> Vec<Column> {
    let labelers = ColumnValues::Names(signals.labelers().to_vec());
    let bounds = bounds.values();
    let classes = signals.classes().iter().zip(bounds.columns());
    let of_class = classes.map(|(name, bounds)| Column::new(name, ColumnValues::Reals(bounds.to_vec())));
    std::iter::once(Column::new("labeler", labelers)).chain(of_class).collect()
}
