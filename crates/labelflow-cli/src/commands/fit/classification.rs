//! A classifier from features and weak signals.

use std::path::PathBuf;

use anyhow::{Context, bail};
use labelflow::SavedModel;
use labelflow::evaluation::classification_metrics;
use labelflow::learners::FittedLabelFlowClassifier;
use labelflow::rows::Truth;
use labelflow::{LabelFlowClassifier, WeakDataset};
use labelflow_data::inputs::{
    AbstainConvention, SignalsOptions, convention_doubt, read_features, read_labels, read_signals,
};

use super::args::FitArgs;
use super::origin::{Origin, Repetition};
use crate::Outcome;
use crate::commands::eval::print_metrics;
use crate::commands::fit::{FitFile, Judge, Training, required, with_flags};
use crate::inputs::bounds_setting::BoundsSetting;
use crate::inputs::evaluation_file::Scores;
use crate::terminal::output;

/// What is read, from the file and the flags.
struct Inputs {
    features: PathBuf,
    signals: PathBuf,
    bounds: BoundsSetting,
    classes: Vec<String>,
    abstain: AbstainConvention,
    labels_for_eval: Option<PathBuf>,
}

pub(super) fn run(
    file: FitFile,
    args: &FitArgs,
    repeated: Option<&Repetition>,
) -> anyhow::Result<Outcome> {
    let config: LabelFlowClassifier = file.config(args)?;
    let folder = file.out(args)?;
    let eval_every = file.eval_every(args);
    let inputs = Inputs::gather(file, args)?;
    let dataset = inputs.dataset()?;
    let config = with_model_flags(config, args, dataset.n_rows());
    let truth = inputs.truth(&dataset)?;
    let scores = |model: &FittedLabelFlowClassifier, truth: &Truth| {
        let labels = model.predict_proba(dataset.features())?;
        let metrics = classification_metrics(&labels, truth)?;
        Ok(Scores::Classification { accuracy: metrics.accuracy, ece: metrics.ece })
    };
    let scores = truth.as_ref().map(|truth| move |model: &_| scores(model, truth));
    let model_at = |checkpoint| config.at_checkpoint(&dataset, checkpoint);
    let digest = config.run_digest(&dataset);
    let training = Training {
        origin: inputs.origin(&digest)?,
        repeated,
        digest,
        fit: &|start, observer| config.fit_with(&dataset, Vec::new(), start, observer),
        report: FittedLabelFlowClassifier::report,
        save: |model, folder, origin| model.save_with_origin(folder, origin),
        judge: scores.as_ref().map(|scores| Judge { model_at: &model_at, scores }),
        eval_every,
    };
    let (model, outcome) = training.run(&folder, args)?;
    if let Some(truth) = truth {
        let labels = model.predict_proba(dataset.features())?;
        print_metrics(&classification_metrics(&labels, &truth)?)?;
    }
    Ok(outcome)
}

pub(super) fn with_model_flags(
    mut config: LabelFlowClassifier,
    args: &FitArgs,
    n_rows: usize,
) -> LabelFlowClassifier {
    let flags = &args.model;
    config.seed = flags.seed.unwrap_or(config.seed);
    config.training = with_flags(config.training, flags, n_rows);
    config.likelihood_weight = flags.likelihood_weight.unwrap_or(config.likelihood_weight);
    if flags.spread_first {
        config = config.spread_first();
    }
    config.n_samples = flags.samples.unwrap_or(config.n_samples);
    config.device = flags.device.map_or(config.device, Into::into);
    config
}

impl Inputs {
    fn gather(file: FitFile, args: &FitArgs) -> anyhow::Result<Self> {
        let named = args.bounds.as_deref().map(BoundsSetting::parse);
        Ok(Self {
            features: required(&args.features, &file.features, "features")?,
            signals: required(&args.signals, &file.signals, "signals")?,
            bounds: named.or(file.bounds).unwrap_or(BoundsSetting::Named("auto".to_owned())),
            classes: args.classes.clone().or(file.classes).unwrap_or_default(),
            abstain: args.abstain.map(Into::into).or(file.abstain).unwrap_or_default(),
            labels_for_eval: args.labels_for_eval.clone().or(file.labels_for_eval),
        })
    }

    fn origin(&self, digest: &str) -> anyhow::Result<Origin> {
        Origin::new(digest)?
            .input("features", Some(&self.features))?
            .input("signals", Some(&self.signals))?
            .input("labels-for-eval", self.labels_for_eval.as_deref())?
            .signals(&self.bounds, &self.classes, self.abstain)
    }

    fn truth(&self, dataset: &WeakDataset) -> anyhow::Result<Option<Truth>> {
        let Some(path) = &self.labels_for_eval else {
            return Ok(None);
        };
        let truth = read_labels(path, dataset.signals().classes())?;
        if truth.n_rows() != dataset.n_rows() {
            bail!(
                "{}: expected {} rows, as many as {} has, found {}",
                path.display(),
                dataset.n_rows(),
                self.features.display(),
                truth.n_rows()
            );
        }
        Ok(Some(truth))
    }

    fn dataset(&self) -> anyhow::Result<WeakDataset> {
        let features = read_features(&self.features)?;
        let options = SignalsOptions {
            classes: self.classes.clone(),
            abstain: self.abstain,
            ..Default::default()
        };
        let signals = read_signals(&self.signals, &options)?;
        if let Some(doubt) = convention_doubt(&signals) {
            output::note(&format!("{}: {doubt}", self.signals.display()));
        }
        let uncovered = signals.n_uncovered();
        if uncovered > 0 {
            output::note(&format!(
                "{uncovered} of {} rows have no vote: their features are used, their labels are free",
                signals.n_rows()
            ));
        }
        let bounds = self.bounds.resolve(&signals)?;
        WeakDataset::new(features, signals, bounds)
            .with_context(|| format!("{}, {}", self.features.display(), self.signals.display()))
    }
}
