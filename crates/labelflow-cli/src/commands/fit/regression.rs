//! A regression from features and rules about means.

use std::path::PathBuf;

use anyhow::{Context, bail};
use labelflow::LabelFlowRegressor;
use labelflow::SavedModel;
use labelflow::evaluation::regression_metrics;
use labelflow::learners::FittedLabelFlowRegressor;
use labelflow::rows::{LabelRange, TrueValues};
use labelflow::rules::{RuleDataset, RuleWarning};
use labelflow_data::inputs::{read_features, read_rules, read_values};

use super::args::FitArgs;
use super::origin::{Origin, Repetition};
use crate::Outcome;
use crate::commands::eval::print_regression_metrics;
use crate::commands::fit::{FitFile, Judge, Training, required, with_flags};
use crate::inputs::evaluation_file::Scores;
use crate::terminal::output;

/// What is read, from the file and the flags.
pub(super) struct Inputs {
    features: PathBuf,
    pub(super) rules: PathBuf,
    pub(super) range: Option<LabelRange>,
    labels_for_eval: Option<PathBuf>,
}

pub(super) fn run(
    file: FitFile,
    args: &FitArgs,
    repeated: Option<&Repetition>,
) -> anyhow::Result<Outcome> {
    refuse_flags_of_classification(&file, args)?;
    let config: LabelFlowRegressor = file.config(args)?;
    let folder = file.out(args)?;
    let eval_every = file.eval_every(args);
    let inputs = Inputs::gather(&file, args)?;
    let dataset = inputs.dataset()?;
    let config = with_model_flags(config, args, dataset.n_rows());
    let truth = inputs.truth(&dataset)?;
    let scores = |model: &FittedLabelFlowRegressor, truth: &TrueValues| {
        let labels = model.predict_distribution(dataset.features())?;
        Ok(Scores::Regression { rmse: regression_metrics(&labels, truth)?.rmse })
    };
    let scores = truth.as_ref().map(|truth| move |model: &_| scores(model, truth));
    let model_at = |checkpoint| config.at_checkpoint(&dataset, checkpoint);
    let digest = config.run_digest(&dataset);
    let training = Training {
        origin: inputs.origin(&digest)?,
        repeated,
        digest,
        fit: &|start, observer| config.fit_with(&dataset, Vec::new(), start, observer),
        report: FittedLabelFlowRegressor::report,
        save: |model, folder, origin| model.save_with_origin(folder, origin),
        judge: scores.as_ref().map(|scores| Judge { model_at: &model_at, scores }),
        eval_every,
    };
    let (model, outcome) = training.run(&folder, args)?;
    if let Some(truth) = truth {
        let labels = model.predict_distribution(dataset.features())?;
        print_regression_metrics(&regression_metrics(&labels, &truth)?)?;
    }
    Ok(outcome)
}

pub(super) fn refuse_flags_of_classification(file: &FitFile, args: &FitArgs) -> anyhow::Result<()> {
    let given = [
        ("bounds", args.bounds.is_some() || file.bounds.is_some()),
        ("classes", args.classes.is_some() || file.classes.is_some()),
        ("abstain", args.abstain.is_some() || file.abstain.is_some()),
        ("samples", args.model.samples.is_some()),
        ("spread-first", args.model.spread_first),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((name, _)) => bail!("--{name} is for classification; leave it out"),
        None => Ok(()),
    }
}

pub(super) fn with_model_flags(
    mut config: LabelFlowRegressor,
    args: &FitArgs,
    n_rows: usize,
) -> LabelFlowRegressor {
    let flags = &args.model;
    config.seed = flags.seed.unwrap_or(config.seed);
    config.training = with_flags(config.training, flags, n_rows);
    config.likelihood_weight = flags.likelihood_weight.unwrap_or(config.likelihood_weight);
    config.device = flags.device.map_or(config.device, Into::into);
    config
}

impl Inputs {
    pub(super) fn gather(file: &FitFile, args: &FitArgs) -> anyhow::Result<Self> {
        let range = match (&args.range, file.range) {
            (Some(range), _) => Some((range[0], range[1])),
            (None, Some([lower, upper])) => Some((lower, upper)),
            (None, None) => None,
        };
        Ok(Self {
            features: required(&args.features, &file.features, "features")?,
            rules: required(&args.rules, &file.rules, "rules")?,
            range: range.map(|(lower, upper)| LabelRange::new(lower, upper)).transpose()?,
            labels_for_eval: args.labels_for_eval.clone().or(file.labels_for_eval.clone()),
        })
    }

    pub(super) fn origin(&self, digest: &str) -> anyhow::Result<Origin> {
        let range = self.range.map(|range| [range.lower(), range.upper()]);
        Ok(Origin::new(digest)?
            .input("features", Some(&self.features))?
            .input("rules", Some(&self.rules))?
            .input("labels-for-eval", self.labels_for_eval.as_deref())?
            .range(range))
    }

    /// Says what is to be said of the rules.
    pub(super) fn note(&self, warnings: &[RuleWarning]) {
        for warning in warnings {
            output::note(&format!("{}: {warning}", self.rules.display()));
        }
    }

    fn dataset(&self) -> anyhow::Result<RuleDataset> {
        let features = read_features(&self.features)?;
        let file = read_rules(&self.rules)?;
        let dataset = RuleDataset::new(features, file.rules, self.range.or(file.range))
            .with_context(|| format!("{}, {}", self.features.display(), self.rules.display()))?;
        self.note(dataset.warnings());
        let uncovered = dataset.n_uncovered();
        if uncovered > 0 {
            output::note(&format!(
                "{uncovered} of {} rows are in no rule: their features are used, their labels are free",
                dataset.n_rows()
            ));
        }
        Ok(dataset)
    }

    fn truth(&self, dataset: &RuleDataset) -> anyhow::Result<Option<TrueValues>> {
        let Some(path) = &self.labels_for_eval else {
            return Ok(None);
        };
        let truth = read_values(path)?;
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
}
