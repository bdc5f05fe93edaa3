//! `labelflow predict` on rows in Parquet files that need not fit in memory: read, labelled and written batch by batch.

use std::path::Path;

use anyhow::{Context, bail};
use labelflow::learners::{FittedLabelFlowClassifier, FittedLabelFlowRegressor};
use labelflow::rows::SoftLabels;
use labelflow::{Features, WeakSignals};
use labelflow_data::inputs::{LabelExtras, SignalsOptions, ValueLabels};
use labelflow_data::parts::{
    BadRows, FeatureParts, FeatureReader, FeatureRows, LabelColumns, LabelRows, TableParts,
    VoteParts, VoteStream, write_labels_with_as_they_come, write_value_labels_as_they_come,
};
use ndarray::Array2;

use super::args::PredictArgs;
use crate::Outcome;
use crate::commands::predict::{
    Model, agreement, n_overruled, note_lost, note_overruled, refuse_flags_of_classes, value_labels,
};
use crate::inputs::memory_size::MemorySize;
use crate::terminal::output;

/// Fewer rows at a time than this are not worth their trouble.
const LEAST_ROWS: u64 = 64;

/// Whether the flags ask for rows in parts.
pub(super) fn is_named(args: &PredictArgs) -> bool {
    args.memory.is_some() || args.bad_rows.is_some() || TableParts::is_several(&args.features)
}

pub(super) fn run(args: &PredictArgs) -> anyhow::Result<Outcome> {
    let counts = match Model::load(&args.model, args.device)? {
        Model::Classifier(model) => classify(model, args)?,
        Model::Regressor(model) => {
            refuse_flags_of_classes(args)?;
            regress(&model, args)?
        }
    };
    counts.note(args);
    output::note(&format!("{} rows labelled in {}", counts.n_labelled, args.out.display()));
    Ok(Outcome::Done)
}

/// What is said at the end.
#[derive(Default)]
struct Counts {
    n_rows: u64,
    n_labelled: u64,
    n_bad: u64,
    /// What is wrong with the first bad row.
    first_bad: Option<String>,
    n_lost: u64,
    first_lost: Option<u64>,
    n_overruled: u64,
}

impl Counts {
    fn note(&self, args: &PredictArgs) {
        let Some(first) = &self.first_bad else { return };
        let done = match bad_rows(args) {
            BadRows::Abstain => "have no label",
            _ => "are left out",
        };
        output::note(&format!("{} of {} rows {done}; the first: {first}", self.n_bad, self.n_rows));
    }

    fn add(&mut self, rows: &FeatureRows, lost: &[usize]) {
        self.n_rows += rows.n_rows as u64;
        self.n_lost += lost.len() as u64;
        if let (None, Some(&first)) = (self.first_lost, lost.first()) {
            self.first_lost = Some(rows.first_row + rows.good[first] as u64);
        }
    }

    fn finish(&mut self, reader: &FeatureReader<'_>) {
        self.n_bad += reader.n_bad();
        self.first_bad = self.first_bad.take().or(reader.first_bad().map(ToString::to_string));
    }
}

fn bad_rows(args: &PredictArgs) -> BadRows {
    args.bad_rows.map(BadRows::from).unwrap_or_default()
}

/// As many rows at a time as the model likes and the memory allows.
fn batch_rows(
    args: &PredictArgs,
    n_columns: usize,
    bytes_per_row: usize,
    at_once: usize,
) -> anyhow::Result<usize> {
    let memory = args.memory.unwrap_or(MemorySize::DEFAULT);
    let bytes = bytes_per_row as u64;
    Ok((memory.left_to_work(n_columns, LEAST_ROWS * bytes)? / bytes).min(at_once as u64) as usize)
}

fn classify(mut model: FittedLabelFlowClassifier, args: &PredictArgs) -> anyhow::Result<Counts> {
    if let Some(samples) = args.samples {
        model = model.with_samples(samples)?;
    }
    let parts = FeatureParts::arranged(TableParts::open(&args.features)?, model.feature_names())?;
    let votes = match &args.signals {
        None => None,
        Some(path) => Some(read_votes(path, &model, &parts)?),
    };
    let n_votes = votes.as_ref().map_or(0, |votes| votes.parts().labelers().len());
    let n_columns = parts.names().len() + n_votes;
    let batch_rows = batch_rows(args, n_columns, model.bytes_per_row(), model.rows_at_once())?;
    let all = 0..parts.n_rows();
    let mut votes = votes.as_ref().map(|votes| votes.reader(all.clone()));
    let columns =
        LabelColumns { sets: model.certainty().sets.is_some(), agreement: votes.is_some() };
    let mut counts = Counts::default();
    let place = || format!("{}", args.features.display());
    write_labels_with_as_they_come(&args.out, model.classes(), columns, |out| {
        let mut reader = parts.reader(all, batch_rows, bad_rows(args));
        while let Some(rows) = reader.next_rows()? {
            let signals = match &mut votes {
                None => None,
                Some(votes) => Some(votes.next_signals(rows.n_rows)?),
            };
            let labelled = Labelled::of(&model, &rows, signals.as_ref()).with_context(place)?;
            counts.add(&rows, &labelled.lost);
            let labelled = match bad_rows(args) {
                BadRows::Abstain => labelled.with_bad(&rows, model.classes().len()),
                _ => labelled,
            };
            counts.n_overruled += n_overruled(labelled.agreement.as_deref().unwrap_or_default());
            if let Some(labels) = &labelled.labels {
                let extras = LabelExtras {
                    agreement: labelled.agreement.as_deref(),
                    sets: labelled.sets.as_deref(),
                };
                let has_label = labelled.has_label.as_deref();
                out.push_rows(LabelRows { labels, rows: Some(&labelled.rows), has_label, extras })?;
            }
        }
        counts.finish(&reader);
        counts.n_labelled = out.n_rows();
        if counts.n_lost > 0 && counts.n_lost + counts.n_bad == counts.n_rows {
            return Err(FittedLabelFlowClassifier::all_rows_lost()).with_context(place);
        }
        anyhow::Ok(())
    })?;
    note_lost(&args.features, counts.n_lost, counts.first_lost, counts.n_rows);
    if votes.is_some() {
        note_overruled(counts.n_overruled, counts.n_labelled);
    }
    Ok(counts)
}

/// The votes of the same rows.
fn read_votes(
    path: &Path,
    model: &FittedLabelFlowClassifier,
    features: &FeatureParts,
) -> anyhow::Result<VoteStream> {
    let parts = VoteParts::open(path)?;
    if parts.n_rows() != features.n_rows() {
        bail!(
            "{}: expected {} rows, as many as the features have, found {}",
            path.display(),
            features.n_rows(),
            parts.n_rows()
        );
    }
    let options = SignalsOptions { classes: model.classes().to_vec(), ..Default::default() };
    // Their meaning is all that is needed, not their patterns.
    Ok(VoteStream::read(parts, &options, |_, _| 0)?)
}

/// The labels of some rows.
#[derive(Default)]
struct Labelled {
    /// Their numbers.
    rows: Vec<u64>,
    /// Nothing if there is none.
    labels: Option<SoftLabels>,
    has_label: Option<Vec<bool>>,
    sets: Option<Vec<Vec<usize>>>,
    agreement: Option<Vec<Option<f64>>>,
    /// Good rows of which nothing is known.
    lost: Vec<usize>,
}

impl Labelled {
    fn of(
        model: &FittedLabelFlowClassifier,
        rows: &FeatureRows,
        signals: Option<&WeakSignals>,
    ) -> anyhow::Result<Self> {
        let Some(features) = &rows.features else { return Ok(Self::default()) };
        let part = model.predict_part(features)?;
        let agreement = signals.map(|signals| match rows.good.len() == rows.n_rows {
            true => agreement(signals, &part.labels),
            false => agreement(&signals.select_rows(&rows.good), &part.labels),
        });
        Ok(Self {
            rows: rows.good_rows(),
            labels: Some(part.labels),
            has_label: None,
            sets: part.sets,
            agreement,
            lost: part.lost,
        })
    }

    /// With bad rows in their places: no label, equally probable classes, all of them possible.
    fn with_bad(self, rows: &FeatureRows, n_classes: usize) -> Self {
        if rows.good.len() == rows.n_rows {
            return self;
        }
        let mut p = Array2::from_elem((rows.n_rows, n_classes), 1.0 / n_classes as f64);
        let mut has_label = vec![false; rows.n_rows];
        let mut sets = vec![(0..n_classes).collect::<Vec<_>>(); rows.n_rows];
        let mut agreement = vec![None; rows.n_rows];
        for (index, &row) in rows.good.iter().enumerate() {
            has_label[row] = true;
            if let Some(labels) = &self.labels {
                p.row_mut(row).assign(&labels.values().row(index));
            }
            if let Some(good) = &self.sets {
                sets[row].clone_from(&good[index]);
            }
            if let Some(good) = &self.agreement {
                agreement[row] = good[index];
            }
        }
        Self {
            rows: (0..rows.n_rows as u64).map(|row| rows.first_row + row).collect(),
            labels: Some(SoftLabels::new(p).expect("rows that sum to one")),
            has_label: Some(has_label),
            sets: Some(sets),
            agreement: Some(agreement),
            lost: self.lost,
        }
    }
}

fn regress(model: &FittedLabelFlowRegressor, args: &PredictArgs) -> anyhow::Result<Counts> {
    let parts = FeatureParts::arranged(TableParts::open(&args.features)?, model.feature_names())?;
    let n_columns = parts.names().len();
    let batch_rows = batch_rows(args, n_columns, model.bytes_per_row(), model.rows_at_once())?;
    let mut counts = Counts::default();
    let place = || format!("{}", args.features.display());
    write_value_labels_as_they_come(&args.out, |out| {
        let mut reader = parts.reader(0..parts.n_rows(), batch_rows, bad_rows(args));
        while let Some(rows) = reader.next_rows()? {
            let (good, labels, lost) = match &rows.features {
                None => Default::default(),
                Some(features) => values(model, features, &rows).with_context(place)?,
            };
            counts.add(&rows, &lost);
            if let (Some(&first), BadRows::Fail) = (lost.first(), bad_rows(args)) {
                let row = rows.first_row + rows.good[first] as u64;
                return Err(FittedLabelFlowRegressor::row_lost(row)).with_context(place);
            }
            match bad_rows(args) {
                BadRows::Abstain => {
                    let all: Vec<u64> =
                        (0..rows.n_rows as u64).map(|row| rows.first_row + row).collect();
                    out.push_rows(&all, &in_places(&labels, &good, &rows))?;
                }
                _ => out.push_rows(&good, &labels)?,
            }
        }
        counts.finish(&reader);
        counts.n_labelled = out.n_rows();
        anyhow::Ok(())
    })?;
    // A row on which the flow overflows is as bad as one with a feature that is missing.
    if let Some(first) = counts.first_lost {
        counts.n_bad += counts.n_lost;
        let lost = FittedLabelFlowRegressor::row_lost(first).to_string();
        counts.first_bad = counts.first_bad.take().or(Some(lost));
    }
    Ok(counts)
}

/// The numbers and the labels of the rows that can be labelled, and which of the good ones cannot.
fn values(
    model: &FittedLabelFlowRegressor,
    features: &Features,
    rows: &FeatureRows,
) -> anyhow::Result<(Vec<u64>, ValueLabels, Vec<usize>)> {
    let part = model.predict_part(features)?;
    let mut labels = value_labels(&part.labels)?;
    let mut numbers = rows.good_rows();
    for &lost in part.lost.iter().rev() {
        numbers.remove(lost);
        for column in columns(&mut labels) {
            column.remove(lost);
        }
    }
    Ok((numbers, labels, part.lost))
}

fn columns(labels: &mut ValueLabels) -> [&mut Vec<f64>; 5] {
    let ValueLabels { mean, std, q05, q50, q95 } = labels;
    [mean, std, q05, q50, q95]
}

/// The labels of these rows among all rows, which otherwise have none.
fn in_places(labels: &ValueLabels, numbers: &[u64], rows: &FeatureRows) -> ValueLabels {
    let mut placed = labels.clone();
    for column in columns(&mut placed) {
        let known = std::mem::replace(column, vec![f64::NAN; rows.n_rows]);
        for (value, number) in known.into_iter().zip(numbers) {
            column[(number - rows.first_row) as usize] = value;
        }
    }
    placed
}
