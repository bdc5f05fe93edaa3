//! `labelflow predict`: labels for new rows.

pub(crate) mod args;
mod parts;

use std::path::Path;

use anyhow::{Context, bail};
use labelflow::SavedModel;
use labelflow::WeakSignals;
use labelflow::learners::{FittedLabelFlowClassifier, FittedLabelFlowRegressor};
use labelflow::learners::{PartPrediction, ValueDistribution};
use labelflow::rows::SoftLabels;
use labelflow::storage::ModelTask;
use labelflow_data::inputs::{
    LabelExtras, SignalsOptions, ValueLabels, read_features, read_signals, write_labels_with,
    write_value_labels,
};

use crate::Outcome;
use crate::flags::DeviceName;
use crate::terminal::output;
use args::PredictArgs;

/// A model of any task.
pub(crate) enum Model {
    Classifier(FittedLabelFlowClassifier),
    Regressor(FittedLabelFlowRegressor),
}

pub(crate) fn run(args: &PredictArgs) -> anyhow::Result<Outcome> {
    if parts::is_named(args) {
        return parts::run(args);
    }
    let n_rows = match Model::load(&args.model, args.device)? {
        Model::Classifier(model) => classify(model, args)?,
        Model::Regressor(model) => {
            refuse_flags_of_classes(args)?;
            let labels = values(&model, &args.features)?;
            write_value_labels(&args.out, &value_labels(&labels)?)?;
            labels.n_rows()
        }
    };
    output::note(&format!("{n_rows} rows labelled in {}", args.out.display()));
    Ok(Outcome::Done)
}

/// What only a model for classification can use.
pub(super) fn refuse_flags_of_classes(args: &PredictArgs) -> anyhow::Result<()> {
    if args.samples.is_some() {
        bail!(
            "--samples is for classification: the distributions of this model are known without samples"
        );
    }
    if args.signals.is_some() {
        bail!("--signals is for classification: this model was trained on rules");
    }
    Ok(())
}

fn classify(mut model: FittedLabelFlowClassifier, args: &PredictArgs) -> anyhow::Result<usize> {
    if let Some(samples) = args.samples {
        model = model.with_samples(samples)?;
    }
    let PartPrediction { labels, sets, .. } = predicted(&model, &args.features)?;
    let agreement = match &args.signals {
        None => None,
        Some(path) => Some(agreement(&read_votes(path, &model, labels.n_rows())?, &labels)),
    };
    let extras = LabelExtras { agreement: agreement.as_deref(), sets: sets.as_deref() };
    write_labels_with(&args.out, &labels, model.classes(), extras)?;
    if let Some(agreement) = &agreement {
        note_overruled(n_overruled(agreement), labels.n_rows() as u64);
    }
    Ok(labels.n_rows())
}

/// Number of rows with a label that most of their labelers did not vote for.
pub(super) fn n_overruled(agreement: &[Option<f64>]) -> u64 {
    agreement.iter().flatten().filter(|share| **share < 0.5).count() as u64
}

pub(super) fn note_overruled(n_overruled: u64, n_rows: u64) {
    output::note(&format!(
        "{n_overruled} of {n_rows} rows have a label that most of their labelers did not vote for"
    ));
}

/// Says that nothing is known of some rows, if there are any.
pub(super) fn note_lost(features: &Path, n_lost: u64, first: Option<u64>, n_rows: u64) {
    if let Some(first) = first {
        output::note(&format!(
            "{}: {n_lost} of {n_rows} rows, the first of them row {first}, are so far from the training rows that nothing is known of \
             them; their classes are equally probable",
            features.display(),
        ));
    }
}

fn read_votes(
    path: &Path,
    model: &FittedLabelFlowClassifier,
    n_rows: usize,
) -> anyhow::Result<WeakSignals> {
    let options = SignalsOptions { classes: model.classes().to_vec(), ..Default::default() };
    let signals = read_signals(path, &options)?;
    if signals.n_rows() != n_rows {
        bail!(
            "{}: expected {n_rows} rows, as many as the features have, found {}",
            path.display(),
            signals.n_rows()
        );
    }
    Ok(signals)
}

/// Of each row, the share of its labelers whose most probable class is the label; none where all abstain.
pub(super) fn agreement(signals: &WeakSignals, labels: &SoftLabels) -> Vec<Option<f64>> {
    let predicted = labels.argmax();
    let of_row = |(row, &label): (usize, &usize)| {
        let (mut votes, mut agreeing) = (0.0, 0.0);
        for signal in 0..signals.n_signals() {
            let Some(own) = signals.probability(row, signal, label) else { continue };
            let is_largest = (0..signals.n_classes())
                .filter_map(|class| signals.probability(row, signal, class))
                .all(|other| other <= own);
            votes += 1.0;
            agreeing += f64::from(u8::from(is_largest));
        }
        (votes > 0.0).then(|| agreeing / votes)
    };
    predicted.iter().enumerate().map(of_row).collect()
}

impl Model {
    pub(crate) fn load(folder: &Path, device: DeviceName) -> anyhow::Result<Self> {
        let load = || -> anyhow::Result<Self> {
            Ok(match ModelTask::of_folder(folder)? {
                ModelTask::Classification => {
                    let model = FittedLabelFlowClassifier::load(folder)?;
                    Self::Classifier(model.to_device(device.into())?)
                }
                ModelTask::Regression => {
                    let model = FittedLabelFlowRegressor::load(folder)?;
                    Self::Regressor(model.to_device(device.into())?)
                }
                task => bail!(
                    "expected a model for classification or regression, found one for {task}; `labelflow complete` \
                     takes those for completion"
                ),
            })
        };
        load().with_context(|| format!("loading the model {}", folder.display()))
    }
}

/// Probabilities of the rows of a file.
pub(crate) fn classes(
    model: &FittedLabelFlowClassifier,
    features: &Path,
) -> anyhow::Result<SoftLabels> {
    Ok(predicted(model, features)?.labels)
}

/// Probabilities of the rows of a file, and their sets of classes if the model learned such.
fn predicted(model: &FittedLabelFlowClassifier, features: &Path) -> anyhow::Result<PartPrediction> {
    let rows = read_features(features)?;
    let predict = || {
        let prediction = model.predict_part(&model.arrange(rows)?)?;
        match prediction.lost.len() == prediction.labels.n_rows() {
            true => Err(FittedLabelFlowClassifier::all_rows_lost()),
            false => Ok(prediction),
        }
    };
    let prediction = predict().with_context(|| format!("{}", features.display()))?;
    let lost = &prediction.lost;
    let first = lost.first().map(|&row| row as u64);
    note_lost(features, lost.len() as u64, first, prediction.labels.n_rows() as u64);
    Ok(prediction)
}

/// Distributions of the labels of the rows of a file.
pub(crate) fn values(
    model: &FittedLabelFlowRegressor,
    features: &Path,
) -> anyhow::Result<ValueDistribution> {
    let label = || -> anyhow::Result<ValueDistribution> {
        Ok(model.predict_distribution(&model.arrange(read_features(features)?)?)?)
    };
    label().with_context(|| format!("{}", features.display()))
}

/// What is written of them.
pub(crate) fn value_labels(labels: &ValueDistribution) -> anyhow::Result<ValueLabels> {
    Ok(ValueLabels {
        mean: labels.mean(),
        std: labels.std(),
        q05: labels.quantile(0.05)?,
        q50: labels.quantile(0.5)?,
        q95: labels.quantile(0.95)?,
    })
}
