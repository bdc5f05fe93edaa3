//! Label learning flows whose certainty is treated in different ways after the same training.

use std::path::Path;

use labelflow::SavedModel;
use labelflow::calibration::{Calibration, CalibrationMethod, Temperature};
use labelflow::learners::{FitOptions, FittedLabelFlowClassifier};
use labelflow::rows::SoftLabels;
use labelflow::training::{Observer, Report, StopReason};
use labelflow::{Features, LabelFlowClassifier, WeakDataset};
use labelflow_data::catalog::WeakProblem;
use ndarray::Array2;

use super::first_stage::simulation_rows;

/// Samples of a prediction where the paper's ten are too few.
const MANY_SAMPLES: usize = 100;
/// Flows of an ensemble.
const N_MEMBERS: usize = 5;
/// Between the seeds of its members.
const SEED_STEP: u64 = 1_000_003;

/// What is done to the probabilities of a trained flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FlowCertainty {
    /// Nothing.
    AsTrained,
    /// More samples are averaged.
    Samples,
    /// And a temperature follows from the labelers' bounds.
    Bounds,
    /// Or from the true labels of the simulation rows.
    Temperature,
    /// Or a curve for each class does.
    Isotonic,
    /// Or several flows are averaged.
    Ensemble,
}

/// Trained flows and what is done to their probabilities.
pub(super) struct CertainFlow {
    members: Vec<FittedLabelFlowClassifier>,
    calibration: Option<Calibration>,
}

impl FlowCertainty {
    /// Trains what it takes, or takes it from the folder of trained flows.
    pub(super) fn fit(
        self,
        problem: &WeakProblem,
        config: &LabelFlowClassifier,
        models: Option<&Path>,
        observer: &mut dyn Observer,
    ) -> anyhow::Result<CertainFlow> {
        let n_members = if self == Self::Ensemble { N_MEMBERS } else { 1 };
        let mut members = Vec::with_capacity(n_members);
        for member in 0..n_members as u64 {
            let seed = config.seed.wrapping_add(member * SEED_STEP);
            let config = LabelFlowClassifier { seed, ..config.clone() };
            let flow = fit_or_load(&config, &problem.train, models, observer)?;
            members.push(match self {
                Self::AsTrained => flow,
                _ => flow.with_samples(MANY_SAMPLES)?,
            });
        }
        let mut flow = CertainFlow { members, calibration: None };
        flow.calibration = self.calibration(&flow, problem)?;
        Ok(flow)
    }

    fn calibration(self, flow: &CertainFlow, problem: &WeakProblem) -> anyhow::Result<Option<Calibration>> {
        let method = match self {
            Self::AsTrained | Self::Samples | Self::Ensemble => return Ok(None),
            Self::Bounds => {
                let train = &problem.train;
                let labels = flow.labels(train.features())?;
                let temperature = Temperature::from_bounds(&labels, train.signals(), train.bounds())?;
                return Ok(Some(Calibration::Temperature(temperature)));
            }
            Self::Temperature => CalibrationMethod::Temperature,
            Self::Isotonic => CalibrationMethod::Isotonic,
        };
        let rows = simulation_rows(problem)?;
        Ok(Some(Calibration::fit(method, &flow.labels(&rows.features)?, &rows.truth)?))
    }
}

impl CertainFlow {
    pub(super) fn labels(&self, features: &Features) -> labelflow::Result<SoftLabels> {
        let labels = |member: &FittedLabelFlowClassifier| Ok(member.predict_proba(features)?.values().to_owned());
        let labels = SoftLabels::normalized(self.sum(features, labels)?);
        Ok(match &self.calibration {
            Some(calibration) => calibration.apply(&labels),
            None => labels,
        })
    }

    /// What speaks for each class, for sets of classes.
    pub(super) fn scores(&self, features: &Features) -> labelflow::Result<Array2<f64>> {
        Ok(self.sum(features, |member| member.scores(features))? / self.members.len() as f64)
    }

    /// The sum over members of what each gives a row and a class.
    fn sum(
        &self,
        features: &Features,
        of: impl Fn(&FittedLabelFlowClassifier) -> labelflow::Result<Array2<f64>>,
    ) -> labelflow::Result<Array2<f64>> {
        let none = Array2::zeros((features.n_rows(), self.members[0].classes().len()));
        self.members.iter().try_fold(none, |sum, member| Ok(sum + of(member)?))
    }

    pub(super) fn report(&self) -> &Report {
        self.members[0].report()
    }
}

/// A flow that was trained before with the same settings on the same data, or a new one, which is kept in the folder.
fn fit_or_load(
    config: &LabelFlowClassifier,
    dataset: &WeakDataset,
    models: Option<&Path>,
    observer: &mut dyn Observer,
) -> anyhow::Result<FittedLabelFlowClassifier> {
    let fit = config.prepare(dataset)?;
    let folder = models.map(|models| models.join(format!("flow-{}", &fit.digest()[..16])));
    if let Some(folder) = folder.as_ref().filter(|folder| folder.join("model.toml").exists()) {
        return Ok(FittedLabelFlowClassifier::load(folder)?.to_device(config.device)?);
    }
    let flow = fit.fit(FitOptions { observer: Some(observer), ..FitOptions::default() })?;
    // One that was interrupted would be taken for a whole one ever after.
    if let Some(folder) = folder.filter(|_| flow.report().stop != StopReason::Interrupted) {
        flow.save(&folder)?;
    }
    Ok(flow)
}
