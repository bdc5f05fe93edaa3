//! What labels rows in the first place: by their features, or by what labelers say of them.

use std::path::Path;
use std::rc::Rc;

use labelflow::baselines::{
    AdversarialLabels, AverageClassifier, ExpectationForm, GeneralizedExpectation,
    ReferenceProportions, StageLabels, SupervisedClassifier,
};
use labelflow::calibration::{ConformalSets, SetMetrics};
use labelflow::label_models::{
    AdversarialMulticlass, AverageSignals, ClassBalance, ConstrainedLabels, Coverage,
    DataProgramming, DawidSkene, FlyingSquid, LabelModel, Labeler, MajorityVote, MeTaL,
    MinimaxEntropy, PerformanceGuaranteedVote, SnorkelLabelModel,
};
use labelflow::labelers::LabelerErrors;
use labelflow::learners::Scaling;
use labelflow::rows::SoftLabels;
use labelflow::rows::Ties;
use labelflow::training::{Observer, Preset, Report};
use labelflow::{Features, LabelFlowClassifier, TrainConfig, WeakSignals};
use labelflow_data::catalog::{EvaluatedRows, WeakProblem};
use ndarray::Array2;

use super::flow_certainty::FlowCertainty;

/// A method by its name in files and tables, in the order of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FirstStage {
    /// Label learning flow.
    Llf,
    /// Label learning flow, trained the fast way.
    LlfFast,
    /// Label learning flow without the likelihood term.
    LlfWoNll,
    /// Label learning flow that spreads over what the constraints allow before it grows sure.
    LlfSpread,
    /// Label learning flow with more samples a prediction.
    LlfSamples,
    /// And a temperature that follows from the labelers' bounds.
    LlfBounds,
    /// And a temperature learned from the true labels of the simulation rows.
    LlfTemperature,
    /// And curves learned from them.
    LlfIsotonic,
    /// Label learning flow that spreads first, with curves learned from the true labels of the simulation rows.
    LlfCalibrated,
    /// The mean of several label learning flows, all trained the fast way: less work than one that is not.
    LlfEnsemble,
    /// Adversarial label learning.
    All,
    /// Performance-guaranteed majority vote, on the test rows.
    Pgmv,
    /// Adversarial multi-class mixture of labelers, on the test rows.
    Acml,
    /// Generalized expectation with the whole divergence; its reference is measured on the simulation rows.
    Ge,
    /// Generalized expectation as its source published it: one half of the divergence, and a reference that is measured
    /// on the *true labels of the training rows*.
    GeHalf,
    /// Logistic regression on averaged signals.
    Avg,
    /// Averaged signals of the test rows themselves.
    AvgDirect,
    /// Constrained label learning.
    Cll,
    /// Minimax conditional entropy.
    Mmce,
    /// Dawid and Skene's model.
    Ds,
    /// Data programming.
    Dp,
    /// Data programming with one weight for accuracy and coverage.
    DpCoupled,
    /// Majority vote.
    Mv,
    /// MeTaL's label model.
    Metal,
    /// Snorkel's label model.
    Snorkel,
    /// FlyingSquid.
    FlyingSquid,
    /// Logistic regression on true labels.
    Sl,
}

impl FirstStage {
    pub(super) const ALL: [Self; 27] = [
        Self::Llf,
        Self::LlfFast,
        Self::LlfWoNll,
        Self::LlfSpread,
        Self::LlfSamples,
        Self::LlfBounds,
        Self::LlfTemperature,
        Self::LlfIsotonic,
        Self::LlfCalibrated,
        Self::LlfEnsemble,
        Self::All,
        Self::Pgmv,
        Self::Acml,
        Self::Ge,
        Self::GeHalf,
        Self::Avg,
        Self::AvgDirect,
        Self::Cll,
        Self::Mmce,
        Self::Ds,
        Self::Dp,
        Self::DpCoupled,
        Self::Mv,
        Self::Metal,
        Self::Snorkel,
        Self::FlyingSquid,
        Self::Sl,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Llf => "llf",
            Self::LlfFast => "llf-fast",
            Self::LlfWoNll => "llf-wo-nll",
            Self::LlfSpread => "llf-spread",
            Self::LlfSamples => "llf-samples",
            Self::LlfBounds => "llf-bounds",
            Self::LlfTemperature => "llf-temperature",
            Self::LlfIsotonic => "llf-isotonic",
            Self::LlfCalibrated => "llf-calibrated",
            Self::LlfEnsemble => "llf-ensemble",
            Self::All => "all",
            Self::Pgmv => "pgmv",
            Self::Acml => "acml",
            Self::Ge => "ge",
            Self::GeHalf => "ge-half",
            Self::Avg => "avg",
            Self::AvgDirect => "avg-direct",
            Self::Cll => "cll",
            Self::Mmce => "mmce",
            Self::Ds => "ds",
            Self::Dp => "dp",
            Self::DpCoupled => "dp-coupled",
            Self::Mv => "mv",
            Self::Metal => "metal",
            Self::Snorkel => "snorkel",
            Self::FlyingSquid => "flying-squid",
            Self::Sl => "sl",
        }
    }

    /// Whether it is a label learning flow.
    #[cfg(test)]
    pub(super) fn is_flow(self) -> bool {
        self.name().starts_with("llf")
    }

    /// What an end model is told of its labels, as the method's own experiments do it.
    pub(super) fn handed_over(self, seed: u64) -> (StageLabels, Ties) {
        match self {
            Self::Mv => (StageLabels::Hard, Ties::Random { seed }),
            Self::Ds
            | Self::Dp
            | Self::DpCoupled
            | Self::Metal
            | Self::Snorkel
            | Self::FlyingSquid
            | Self::Cll => (StageLabels::Soft, Ties::Lowest),
            _ => (StageLabels::Hard, Ties::Lowest),
        }
    }

    /// Trains on the training part of a problem. `config` is for the flows; its seed is for all methods.
    ///
    /// Label models that take a class balance get the uniform one, as published: they are here to be compared with the
    /// paper's figures.
    pub(super) fn fit(
        self,
        problem: &WeakProblem,
        config: &LabelFlowClassifier,
        models: Option<&Path>,
        observer: &mut dyn Observer,
    ) -> anyhow::Result<FittedFirstStage> {
        let (train, seed) = (&problem.train, config.seed);
        let (signals, bounds) = (train.signals(), train.bounds());
        let mut flow = |certainty: FlowCertainty, config: &LabelFlowClassifier| {
            let flow = Rc::new(certainty.fit(problem, config, models, observer)?);
            let report = Some(flow.report().clone());
            let scores = flow.clone();
            Ok(FittedFirstStage {
                by: By::Features(Box::new(move |features| flow.labels(features))),
                scores: Some(Box::new(move |features| scores.scores(features))),
                report,
            })
        };
        match self {
            Self::Llf => flow(FlowCertainty::AsTrained, config),
            Self::LlfFast => flow(FlowCertainty::AsTrained, &fast(config, train.n_rows())),
            Self::LlfWoNll => {
                let config = LabelFlowClassifier { likelihood_weight: 0.0, ..config.clone() };
                flow(FlowCertainty::AsTrained, &config)
            }
            Self::LlfSpread => flow(FlowCertainty::Samples, &config.clone().spread_first()),
            Self::LlfSamples => flow(FlowCertainty::Samples, config),
            Self::LlfBounds => flow(FlowCertainty::Bounds, config),
            Self::LlfTemperature => flow(FlowCertainty::Temperature, config),
            Self::LlfIsotonic => flow(FlowCertainty::Isotonic, config),
            Self::LlfCalibrated => flow(FlowCertainty::Isotonic, &config.clone().spread_first()),
            Self::LlfEnsemble => flow(FlowCertainty::Ensemble, &fast(config, train.n_rows())),
            Self::All => fit_adversarial(problem, seed),
            Self::Pgmv => {
                let errors = measured_errors(problem)?;
                labeler(PerformanceGuaranteedVote::default().fit(signals, &errors)?)
            }
            Self::Acml => {
                let errors = measured_errors(problem)?;
                labeler(AdversarialMulticlass::default().fit(signals, &errors)?)
            }
            Self::Ge => {
                let EvaluatedRows { signals, truth, .. } = simulation_rows(problem)?;
                let reference = ReferenceProportions::measured(signals, truth)?;
                fit_expectation(ExpectationForm::Full, &reference, problem, seed)
            }
            Self::GeHalf => {
                let reference = ReferenceProportions::measured(signals, &problem.train_truth)?;
                fit_expectation(ExpectationForm::Half, &reference, problem, seed)
            }
            Self::Avg => {
                let fitted = AverageClassifier::fit(train)?;
                classifier(move |features| fitted.predict_proba(features))
            }
            Self::AvgDirect => label_model(AverageSignals, signals),
            Self::Mv => label_model(MajorityVote::default(), signals),
            Self::Ds => label_model(DawidSkene::default(), signals),
            Self::Dp => {
                let class_balance = ClassBalance::Uniform;
                label_model(
                    DataProgramming { class_balance, ..DataProgramming::default() },
                    signals,
                )
            }
            Self::DpCoupled => {
                let (class_balance, coverage) = (ClassBalance::Uniform, Coverage::Coupled);
                let model =
                    DataProgramming { class_balance, coverage, ..DataProgramming::default() };
                label_model(model, signals)
            }
            Self::Metal => {
                let class_balance = ClassBalance::Uniform;
                label_model(MeTaL { class_balance, seed, ..MeTaL::default() }, signals)
            }
            Self::Snorkel => {
                let class_balance = ClassBalance::Uniform;
                let model =
                    SnorkelLabelModel { class_balance, seed, ..SnorkelLabelModel::default() };
                label_model(model, signals)
            }
            Self::FlyingSquid => {
                let class_balance = ClassBalance::Uniform;
                label_model(FlyingSquid { class_balance, ..FlyingSquid::default() }, signals)
            }
            Self::Mmce => {
                let class_balance = ClassBalance::Uniform;
                label_model(MinimaxEntropy { class_balance, ..MinimaxEntropy::default() }, signals)
            }
            Self::Cll => {
                let model = ConstrainedLabels { seed, ..ConstrainedLabels::default() };
                labeler(model.fit(signals, bounds)?)
            }
            Self::Sl => {
                let fitted = SupervisedClassifier::fit(train.features(), &problem.train_truth)?;
                classifier(move |features| fitted.predict_proba(features))
            }
        }
    }
}

/// A trained first stage.
pub(super) struct FittedFirstStage {
    by: By,
    /// What speaks for each class on a finer scale than probabilities, of methods that have one.
    scores: Option<Scores>,
    /// The course of training, of methods that have one.
    pub(super) report: Option<Report>,
}

type Classify = Box<dyn Fn(&Features) -> labelflow::Result<SoftLabels>>;
type Scores = Box<dyn Fn(&Features) -> labelflow::Result<Array2<f64>>>;

/// What of a row its labels come from.
enum By {
    Features(Classify),
    Signals(Box<dyn Labeler>),
}

impl FittedFirstStage {
    /// Labels of any rows.
    pub(super) fn labels(
        &self,
        features: &Features,
        signals: &WeakSignals,
    ) -> anyhow::Result<SoftLabels> {
        Ok(match &self.by {
            By::Features(classify) => classify(features)?,
            By::Signals(labeler) => labeler.predict_proba(signals)?,
        })
    }

    /// How good sets of classes are on the test rows, when their threshold is learned from the labelled simulation rows. Nothing for methods
    /// without scores, or without such rows.
    pub(super) fn sets(
        &self,
        problem: &WeakProblem,
        level: f64,
    ) -> anyhow::Result<Option<SetMetrics>> {
        let (Some(scores), Some(known)) = (&self.scores, &problem.simulation) else {
            return Ok(None);
        };
        let sets = ConformalSets::fit(scores(&known.features)?.view(), &known.truth, level)?;
        Ok(Some(sets.judge(scores(&problem.test.features)?.view(), &problem.test.truth)?))
    }

    /// The training rows that an end model learns from, with their labels. A method that knows votes alone has nothing
    /// to say of rows without any.
    pub(super) fn training_labels(
        &self,
        problem: &WeakProblem,
    ) -> anyhow::Result<(Features, SoftLabels)> {
        let (features, signals) = (problem.train.features(), problem.train.signals());
        if let By::Features(classify) = &self.by {
            return Ok((features.clone(), classify(features)?));
        }
        let covered: Vec<usize> =
            (0..signals.n_rows()).filter(|&row| signals.is_covered(row)).collect();
        if covered.is_empty() {
            anyhow::bail!("signals: expected at least one vote, found abstentions only");
        }
        let (features, signals) = (features.select_rows(&covered), signals.select_rows(&covered));
        let labels = self.labels(&features, &signals)?;
        Ok((features, labels))
    }
}

fn classifier(
    classify: impl Fn(&Features) -> labelflow::Result<SoftLabels> + 'static,
) -> anyhow::Result<FittedFirstStage> {
    Ok(FittedFirstStage { by: By::Features(Box::new(classify)), scores: None, report: None })
}

fn labeler(labeler: impl Labeler + 'static) -> anyhow::Result<FittedFirstStage> {
    Ok(FittedFirstStage { by: By::Signals(Box::new(labeler)), scores: None, report: None })
}

fn label_model<M: LabelModel>(model: M, signals: &WeakSignals) -> anyhow::Result<FittedFirstStage>
where
    M::Fitted: 'static,
{
    labeler(model.fit(signals)?)
}

/// The same flow, trained the fast way, for no more epochs than the settings allow.
fn fast(config: &LabelFlowClassifier, n_rows: usize) -> LabelFlowClassifier {
    let fast = Preset::Fast.training(n_rows);
    let max_epochs = fast.max_epochs.min(config.training.max_epochs);
    LabelFlowClassifier { training: TrainConfig { max_epochs, ..fast }, ..config.clone() }
}

/// Features of the compared problems are standardised already, or, of texts, are not to be.
const SCALING: Scaling = Scaling::None;

fn fit_adversarial(problem: &WeakProblem, seed: u64) -> anyhow::Result<FittedFirstStage> {
    let mut model = AdversarialLabels { scaling: SCALING, ..AdversarialLabels::default() };
    model.network.perceptron.seed = seed;
    let fitted = model.fit(&problem.train)?;
    classifier(move |features| fitted.predict_proba(features))
}

fn fit_expectation(
    form: ExpectationForm,
    reference: &ReferenceProportions,
    problem: &WeakProblem,
    seed: u64,
) -> anyhow::Result<FittedFirstStage> {
    let model = GeneralizedExpectation {
        seed,
        form,
        scaling: SCALING,
        ..GeneralizedExpectation::default()
    };
    let fitted = model.fit(problem.train.features(), problem.train.signals(), reference)?;
    classifier(move |features| fitted.predict_proba(features))
}

/// The labelled rows on which labelers are measured.
pub(super) fn simulation_rows(problem: &WeakProblem) -> anyhow::Result<&EvaluatedRows> {
    problem.simulation.as_ref().ok_or_else(|| {
        anyhow::anyhow!(
            "expected a set with labelled simulation rows, to measure the labelers on; found none, as in all sets of texts"
        )
    })
}

fn measured_errors(problem: &WeakProblem) -> anyhow::Result<LabelerErrors> {
    let EvaluatedRows { signals, truth, .. } = simulation_rows(problem)?;
    Ok(LabelerErrors::measured(signals, truth)?)
}
