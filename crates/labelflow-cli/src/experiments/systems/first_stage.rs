//! What labels rows in the first place: by their features, or by what labelers say of them.

use std::path::Path;
use std::rc::Rc;
use std::sync::LazyLock;

use labelflow::baselines::{
    AdversarialLabels, AverageClassifier, ExpectationForm, GeneralizedExpectation, ReferenceProportions, StageLabels,
    SupervisedClassifier,
};
use labelflow::calibration::{ConformalSets, SetMetrics};
use labelflow::label_models::{AnyFittedLabelModel, AnyLabelModel, FittedLabelModel, KnownOfLabelers, Needs};
use labelflow::labelers::LabelerErrors;
use labelflow::learners::Scaling;
use labelflow::rows::{SoftLabels, Ties};
use labelflow::training::{Observer, Preset, Report};
use labelflow::{Features, LabelFlowClassifier, TrainConfig, WeakSignals};
use labelflow_data::catalog::{EvaluatedRows, WeakProblem};
use ndarray::Array2;

use super::flow_certainty::FlowCertainty;

/// A method by its name in files and tables: a place in the list of all, which is in the order of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FirstStage(usize);

/// How rows are labelled.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Method {
    /// A label learning flow.
    Flow(FlowTraining, FlowCertainty),
    /// Adversarial label learning.
    Adversarial,
    /// Generalized expectation with the whole divergence, whose reference is measured on the simulation rows; or as its
    /// source published it: half of the divergence, and a reference measured on the *true labels of the training rows*.
    Expectation(ExpectationForm),
    /// Logistic regression on averaged signals.
    Average,
    /// A label model of the registry, with another setting than its defaults if there is one.
    LabelModel(&'static str, Option<[&'static str; 2]>, HandedOver),
    /// Logistic regression on true labels.
    Supervised,
}

/// How a label learning flow is trained.
#[derive(Debug, Clone, Copy, PartialEq)]
enum FlowTraining {
    /// By the settings.
    Settings,
    /// The fast way.
    Fast,
    /// Without the likelihood term.
    WithoutLikelihood,
    /// It spreads over what the constraints allow before it grows sure.
    SpreadFirst,
}

/// What an end model learns of a label model's labels, as the method's own experiments do it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum HandedOver {
    Probabilities,
    Classes,
    ClassesWithRandomTies,
}

/// Each first stage by its name in files and tables, in the order of tables. A label model of the registry that is not in
/// this list comes after it, by the name of the registry.
const NAMED: &[(&str, Method)] = {
    use ExpectationForm::{Full, Half};
    use FlowCertainty::{AsTrained, Bounds, Ensemble, Isotonic, Samples, Temperature};
    use FlowTraining::{Fast, Settings, SpreadFirst, WithoutLikelihood};
    use HandedOver::{Classes, ClassesWithRandomTies, Probabilities};
    use Method::{Adversarial, Average, Expectation, Flow, LabelModel};
    &[
        ("llf", Flow(Settings, AsTrained)),
        ("llf-fast", Flow(Fast, AsTrained)),
        ("llf-wo-nll", Flow(WithoutLikelihood, AsTrained)),
        ("llf-spread", Flow(SpreadFirst, Samples)),
        ("llf-samples", Flow(Settings, Samples)),
        ("llf-bounds", Flow(Settings, Bounds)),
        ("llf-temperature", Flow(Settings, Temperature)),
        ("llf-isotonic", Flow(Settings, Isotonic)),
        ("llf-calibrated", Flow(SpreadFirst, Isotonic)),
        // Several flows that are trained the fast way are less work than one that is not.
        ("llf-ensemble", Flow(Fast, Ensemble)),
        ("all", Adversarial),
        ("pgmv", LabelModel("performance-guaranteed-vote", None, Classes)),
        ("acml", LabelModel("adversarial-multiclass", None, Classes)),
        ("ge", Expectation(Full)),
        ("ge-half", Expectation(Half)),
        ("avg", Average),
        ("avg-direct", LabelModel("average", None, Classes)),
        ("cll", LabelModel("constrained-labels", None, Probabilities)),
        ("mmce", LabelModel("minimax-entropy", None, Classes)),
        ("ds", LabelModel("dawid-skene", None, Probabilities)),
        ("dp", LabelModel("data-programming", None, Probabilities)),
        ("dp-coupled", LabelModel("data-programming", Some(["coverage", "coupled"]), Probabilities)),
        ("mv", LabelModel("majority-vote", None, ClassesWithRandomTies)),
        ("metal", LabelModel("metal", None, Probabilities)),
        ("snorkel", LabelModel("snorkel", None, Probabilities)),
        ("flying-squid", LabelModel("flying-squid", None, Probabilities)),
    ]
};

static ALL: LazyLock<Vec<(&str, Method)>> = LazyLock::new(|| {
    let named = |name: &str| NAMED.iter().any(|(_, method)| method.is_label_model(name));
    let others = AnyLabelModel::NAMES.iter().filter(|name| !named(name));
    let others = others.map(|&name| (name, Method::LabelModel(name, None, HandedOver::Probabilities)));
    NAMED.iter().copied().chain(others).chain([("sl", Method::Supervised)]).collect()
});

impl Method {
    /// Whether it is this label model of the registry with its defaults.
    fn is_label_model(self, name: &str) -> bool {
        matches!(self, Self::LabelModel(model, None, _) if model == name)
    }
}

impl FirstStage {
    pub(super) fn all() -> impl Iterator<Item = Self> {
        (0..ALL.len()).map(Self)
    }

    /// The first stage with this name, or the one that is the label model of this name in the registry.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        let named = |&(own, method): &(&str, Method)| own == name || method.is_label_model(name);
        ALL.iter().position(named).map(Self)
    }

    pub(super) fn name(self) -> &'static str {
        ALL[self.0].0
    }

    fn method(self) -> Method {
        ALL[self.0].1
    }

    /// Whether it is trained on true labels.
    pub(super) fn is_supervised(self) -> bool {
        self.method() == Method::Supervised
    }

    /// Whether it is a label learning flow.
    #[cfg(test)]
    pub(super) fn is_flow(self) -> bool {
        matches!(self.method(), Method::Flow(..))
    }

    /// What an end model is told of its labels.
    pub(super) fn handed_over(self, seed: u64) -> (StageLabels, Ties) {
        match self.method() {
            Method::LabelModel(_, _, HandedOver::Probabilities) => (StageLabels::Soft, Ties::Lowest),
            Method::LabelModel(_, _, HandedOver::ClassesWithRandomTies) => (StageLabels::Hard, Ties::Random { seed }),
            _ => (StageLabels::Hard, Ties::Lowest),
        }
    }

    /// Trains on the training part of a problem. `config` is for the flows; its seed is for all methods.
    pub(super) fn fit(
        self,
        problem: &WeakProblem,
        config: &LabelFlowClassifier,
        models: Option<&Path>,
        observer: &mut dyn Observer,
    ) -> anyhow::Result<FittedFirstStage> {
        let (train, seed) = (&problem.train, config.seed);
        match self.method() {
            Method::Flow(training, certainty) => {
                let config = training.config(config, train.n_rows());
                let flow = Rc::new(certainty.fit(problem, &config, models, observer)?);
                let report = Some(flow.report().clone());
                let scores = flow.clone();
                Ok(FittedFirstStage {
                    by: By::Features(Box::new(move |features| flow.labels(features))),
                    scores: Some(Box::new(move |features| scores.scores(features))),
                    report,
                })
            }
            Method::Adversarial => {
                let mut model = AdversarialLabels { scaling: SCALING, ..Default::default() };
                model.network.perceptron.seed = seed;
                let fitted = model.fit(train)?;
                classifier(move |features| fitted.predict_proba(features))
            }
            Method::Expectation(form) => fit_expectation(form, problem, seed),
            Method::Average => {
                let fitted = AverageClassifier::fit(train)?;
                classifier(move |features| fitted.predict_proba(features))
            }
            Method::LabelModel(name, setting, _) => {
                let model = published(name, setting, seed)?;
                let mut known = KnownOfLabelers::default();
                match model.needs() {
                    Needs::Signals => {}
                    Needs::Errors => known.errors = Some(measured_errors(problem)?),
                    Needs::Bounds => known.bounds = Some(train.bounds().clone()),
                }
                let by = By::Signals(Box::new(model.fit(train.signals(), &known)?));
                Ok(FittedFirstStage { by, scores: None, report: None })
            }
            Method::Supervised => {
                let fitted = SupervisedClassifier::fit(train.features(), &problem.train_truth)?;
                classifier(move |features| fitted.predict_proba(features))
            }
        }
    }
}

/// A label model as it was published, since it is compared with the paper's figures: with the uniform class balance, if
/// it must know one before it learns accuracies. The seed is for those that draw anything.
fn published(name: &str, setting: Option<[&str; 2]>, seed: u64) -> anyhow::Result<AnyLabelModel> {
    let model = AnyLabelModel::from_name(name)?;
    let mut settings = serde_json::to_value(&model)?;
    if model.class_balance().is_some() {
        settings["class_balance"] = "uniform".into();
    }
    if settings.get("seed").is_some() {
        settings["seed"] = seed.into();
    }
    if let Some([key, value]) = setting {
        settings[key] = value.into();
    }
    Ok(serde_json::from_value(settings)?)
}

impl FlowTraining {
    /// The settings of a flow that is trained so on so many rows.
    fn config(self, config: &LabelFlowClassifier, n_rows: usize) -> LabelFlowClassifier {
        let config = config.clone();
        match self {
            Self::Settings => config,
            Self::Fast => {
                // For no more epochs than the settings allow.
                let fast = Preset::Fast.training(n_rows);
                let max_epochs = fast.max_epochs.min(config.training.max_epochs);
                LabelFlowClassifier { training: TrainConfig { max_epochs, ..fast }, ..config }
            }
            Self::WithoutLikelihood => LabelFlowClassifier { likelihood_weight: 0.0, ..config },
            Self::SpreadFirst => config.spread_first(),
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
    Signals(Box<AnyFittedLabelModel>),
}

impl FittedFirstStage {
    /// Labels of any rows.
    pub(super) fn labels(&self, features: &Features, signals: &WeakSignals) -> anyhow::Result<SoftLabels> {
        Ok(match &self.by {
            By::Features(classify) => classify(features)?,
            By::Signals(fitted) => fitted.predict_proba(signals)?,
        })
    }

    /// How good sets of classes are on the test rows, when their threshold is learned from the labelled simulation rows. Nothing for methods
    /// without scores, or without such rows.
    pub(super) fn sets(&self, problem: &WeakProblem, level: f64) -> anyhow::Result<Option<SetMetrics>> {
        let (Some(scores), Some(known)) = (&self.scores, &problem.simulation) else {
            return Ok(None);
        };
        let sets = ConformalSets::fit(scores(&known.features)?.view(), &known.truth, level)?;
        Ok(Some(sets.evaluate(scores(&problem.test.features)?.view(), &problem.test.truth)?))
    }

    /// The training rows that an end model learns from, with their labels. A method that knows votes alone has nothing
    /// to say of rows without any.
    pub(super) fn training_labels(&self, problem: &WeakProblem) -> anyhow::Result<(Features, SoftLabels)> {
        let (features, signals) = (problem.train.features(), problem.train.signals());
        if let By::Features(classify) = &self.by {
            return Ok((features.clone(), classify(features)?));
        }
        let covered: Vec<usize> = (0..signals.n_rows()).filter(|&row| signals.is_covered(row)).collect();
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

/// Features of the compared problems are standardised already, or, of texts, are not to be.
const SCALING: Scaling = Scaling::None;

fn fit_expectation(form: ExpectationForm, problem: &WeakProblem, seed: u64) -> anyhow::Result<FittedFirstStage> {
    let reference = match form {
        ExpectationForm::Full => {
            let EvaluatedRows { signals, truth, .. } = simulation_rows(problem)?;
            ReferenceProportions::measured(signals, truth)?
        }
        ExpectationForm::Half => ReferenceProportions::measured(problem.train.signals(), &problem.train_truth)?,
    };
    let model = GeneralizedExpectation { seed, form, scaling: SCALING, ..GeneralizedExpectation::default() };
    let fitted = model.fit(problem.train.features(), problem.train.signals(), &reference)?;
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
