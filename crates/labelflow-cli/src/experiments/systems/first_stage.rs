//! What labels rows in the first place: by their features, or by what labelers say of them.

use std::path::Path;
use std::sync::LazyLock;

use labelflow::baselines::{
    AdversarialLabels, AverageClassifier, Denoise, ExpectationForm, GeneralizedExpectation, LossesOverLabels,
    MultilayerPerceptron, ReferenceProportions, SelfTraining, StageLabels, SupervisedClassifier, Weanf, Weasel,
};
use labelflow::calibration::{ConformalSets, SetMetrics};
use labelflow::label_models::{AnyFittedLabelModel, AnyLabelModel, FittedLabelModel, KnownOfLabelers, Needs};
use labelflow::labelers::LabelerErrors;
use labelflow::learners::Scaling;
use labelflow::rows::{SoftLabels, Ties};
use labelflow::training::{Observer, Preset, Report};
use labelflow::{Classifier, Features, LabelFlowClassifier, TrainConfig, WeakSignals};
use labelflow_data::catalog::{EvaluatedRows, WeakProblem};

use super::flow_certainty::{CertainFlow, FlowCertainty};

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
    /// A classifier that learns from features and votes together.
    OneStage(OneStage),
    /// Logistic regression on averaged signals.
    Average,
    /// A label model of the registry, with another setting than its defaults if there is one.
    LabelModel(&'static str, Option<[&'static str; 2]>, HandedOver),
    /// Logistic regression on true labels.
    Supervised,
}

/// The classifiers that learn from features and votes together.
#[derive(Debug, Clone, Copy, PartialEq)]
enum OneStage {
    Weasel,
    LossesOverLabels,
    Weanf,
    Denoise,
    SelfTraining,
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
    /// Small flows side by side.
    Ensemble,
    /// The same, with what the label model of the votes expects in the place of bounds.
    EnsembleOfVotes,
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
    use FlowTraining::{Ensemble as Members, EnsembleOfVotes, Fast, Settings, SpreadFirst, WithoutLikelihood};
    use HandedOver::{Classes, ClassesWithRandomTies, Probabilities};
    use Method::{Adversarial, Average, Expectation, Flow, LabelModel, OneStage};
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
        ("ensemble", Flow(Members, AsTrained)),
        ("ensemble-auto", Flow(EnsembleOfVotes, AsTrained)),
        ("all", Adversarial),
        ("pgmv", LabelModel("performance-guaranteed-vote", None, Classes)),
        ("acml", LabelModel("adversarial-multiclass", None, Classes)),
        ("ge", Expectation(Full)),
        ("ge-half", Expectation(Half)),
        ("weasel", OneStage(self::OneStage::Weasel)),
        ("lol", OneStage(self::OneStage::LossesOverLabels)),
        ("weanf", OneStage(self::OneStage::Weanf)),
        ("denoise", OneStage(self::OneStage::Denoise)),
        ("self-training", OneStage(self::OneStage::SelfTraining)),
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

    /// Whether it is a label model that need not be told how good labelers are.
    pub(super) fn reads_votes_alone(self) -> bool {
        let needs = |name| AnyLabelModel::from_name(name).map(|model| model.needs());
        matches!(self.method(), Method::LabelModel(name, ..) if matches!(needs(name), Ok(Needs::Signals)))
    }

    /// The label model, with the settings that users get, fitted to votes.
    pub(super) fn fit_votes(self, signals: &WeakSignals, seed: u64) -> anyhow::Result<AnyFittedLabelModel> {
        let Method::LabelModel(name, setting, _) = self.method() else {
            anyhow::bail!("expected a label model, found {}", self.name());
        };
        Ok(label_model(name, setting, seed, None)?.fit(signals, &KnownOfLabelers::default())?)
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
        Ok(match self.method() {
            Method::Flow(training, certainty) => {
                let config = training.config(config, [train.n_rows(), train.n_classes()]);
                FittedFirstStage::Flow(certainty.fit(problem, &config, models, observer)?)
            }
            Method::Adversarial => {
                let mut model = AdversarialLabels { scaling: SCALING, ..Default::default() };
                model.network.perceptron.seed = seed;
                FittedFirstStage::Features(Box::new(model.fit(train)?))
            }
            Method::Expectation(form) => {
                let (signals, truth) = match form {
                    ExpectationForm::Full => {
                        let rows = simulation_rows(problem)?;
                        (&rows.signals, &rows.truth)
                    }
                    ExpectationForm::Half => (train.signals(), &problem.train_truth),
                };
                let reference = ReferenceProportions::measured(signals, truth)?;
                let model = GeneralizedExpectation { seed, form, scaling: SCALING, ..Default::default() };
                FittedFirstStage::Features(Box::new(model.fit(train.features(), train.signals(), &reference)?))
            }
            Method::OneStage(method) => {
                FittedFirstStage::Features(method.fit(train.features(), train.signals(), seed)?)
            }
            Method::Average => FittedFirstStage::Features(Box::new(AverageClassifier::fit(train)?)),
            Method::LabelModel(name, setting, _) => {
                let model = label_model(name, setting, seed, Some("uniform"))?;
                let mut known = KnownOfLabelers::default();
                match model.needs() {
                    Needs::Signals => {}
                    Needs::Errors => {
                        let rows = simulation_rows(problem)?;
                        known.errors = Some(LabelerErrors::measured(&rows.signals, &rows.truth)?);
                    }
                    Needs::Bounds => known.bounds = Some(train.bounds().clone()),
                }
                FittedFirstStage::Signals(Box::new(model.fit(train.signals(), &known)?))
            }
            Method::Supervised => {
                FittedFirstStage::Features(Box::new(SupervisedClassifier::fit(train.features(), &problem.train_truth)?))
            }
        })
    }
}

/// A label model with its defaults but for one setting, if there is one. The paper's tables know a class balance, a uniform one, if a label
/// model must know one before it learns accuracies, and with it all settings are as published. The seed is for those that draw anything.
fn label_model(
    name: &str,
    setting: Option<[&str; 2]>,
    seed: u64,
    class_balance: Option<&str>,
) -> anyhow::Result<AnyLabelModel> {
    let model = AnyLabelModel::from_name(name)?;
    let model = if class_balance.is_some() { model.published() } else { model };
    let mut settings = serde_json::to_value(&model)?;
    if let (Some(balance), true) = (class_balance, model.class_balance().is_some()) {
        settings["class_balance"] = balance.into();
    }
    if settings.get("seed").is_some() {
        settings["seed"] = seed.into();
    }
    if let Some([key, value]) = setting {
        settings[key] = value.into();
    }
    Ok(serde_json::from_value(settings)?)
}

impl OneStage {
    /// The classifier with its defaults.
    fn fit(self, features: &Features, signals: &WeakSignals, seed: u64) -> labelflow::Result<Box<dyn Classifier>> {
        let scaling = SCALING;
        let perceptron = MultilayerPerceptron { seed, ..MultilayerPerceptron::default() };
        Ok(match self {
            Self::Weasel => Box::new(Weasel { scaling, perceptron, ..Weasel::default() }.fit(features, signals)?),
            Self::LossesOverLabels => {
                let losses = LossesOverLabels { scaling, perceptron, ..LossesOverLabels::default() };
                Box::new(losses.fit(features, signals)?)
            }
            Self::Weanf => Box::new(Weanf { scaling, seed, ..Weanf::default() }.fit(features, signals)?),
            Self::Denoise => Box::new(Denoise { scaling, perceptron, ..Denoise::default() }.fit(features, signals)?),
            Self::SelfTraining => {
                let training = SelfTraining { scaling, perceptron, ..SelfTraining::default() };
                Box::new(training.fit(features, signals)?)
            }
        })
    }
}

impl FlowTraining {
    /// The settings of a flow that is trained so on so many rows and classes.
    fn config(self, config: &LabelFlowClassifier, [n_rows, n_classes]: [usize; 2]) -> LabelFlowClassifier {
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
            Self::Ensemble | Self::EnsembleOfVotes => {
                let max_epochs = config.training.max_epochs;
                let mut ensemble = config.with_preset(Preset::Ensemble, n_rows, n_classes);
                ensemble.training.max_epochs = ensemble.training.max_epochs.min(max_epochs);
                match self {
                    Self::Ensemble => ensemble,
                    _ => LabelFlowClassifier { scaling: Scaling::Auto, ..ensemble.of_votes() },
                }
            }
        }
    }
}

/// A trained first stage, by what of a row its labels come from.
pub(super) enum FittedFirstStage {
    /// A flow, on features.
    Flow(CertainFlow),
    /// Another classifier on features.
    Features(Box<dyn Classifier>),
    Signals(Box<AnyFittedLabelModel>),
}

impl FittedFirstStage {
    /// Labels of any rows.
    pub(super) fn labels(&self, features: &Features, signals: &WeakSignals) -> anyhow::Result<SoftLabels> {
        Ok(match self {
            Self::Flow(flow) => flow.labels(features)?,
            Self::Features(fitted) => fitted.predict_proba(features)?,
            Self::Signals(fitted) => fitted.predict_proba(signals)?,
        })
    }

    /// The course of training, of flows.
    pub(super) fn report(&self) -> Option<&Report> {
        match self {
            Self::Flow(flow) => Some(flow.report()),
            _ => None,
        }
    }

    /// How good sets of classes are on the test rows, when their threshold is learned from the labelled simulation rows. Nothing without such
    /// rows, or for methods other than flows, which have no scores on a finer scale than probabilities.
    pub(super) fn sets(&self, problem: &WeakProblem, level: f64) -> anyhow::Result<Option<SetMetrics>> {
        let (Self::Flow(flow), Some(known)) = (self, &problem.simulation) else {
            return Ok(None);
        };
        let sets = ConformalSets::fit(flow.scores(&known.features)?.view(), &known.truth, level)?;
        Ok(Some(sets.evaluate(flow.scores(&problem.test.features)?.view(), &problem.test.truth)?))
    }

    /// The training rows that an end model learns from, with their labels. A method that knows votes alone has nothing
    /// to say of rows without any.
    pub(super) fn training_labels(&self, problem: &WeakProblem) -> anyhow::Result<(Features, SoftLabels)> {
        let (features, signals) = (problem.train.features(), problem.train.signals());
        if !matches!(self, Self::Signals(_)) {
            return Ok((features.clone(), self.labels(features, signals)?));
        }
        let covered = signals.covered_rows();
        anyhow::ensure!(!covered.is_empty(), "signals: expected at least one vote, found abstentions only");
        let (features, signals) = (features.select_rows(&covered), signals.select_rows(&covered));
        let labels = self.labels(&features, &signals)?;
        Ok((features, labels))
    }
}

/// Features of the compared problems are standardised already, or, of texts, are not to be.
const SCALING: Scaling = Scaling::None;

/// The labelled rows on which labelers are measured.
pub(super) fn simulation_rows(problem: &WeakProblem) -> anyhow::Result<&EvaluatedRows> {
    problem.simulation.as_ref().ok_or_else(|| {
        anyhow::anyhow!(
            "expected a set with labelled simulation rows, to measure the labelers on; found none, as in all sets of texts"
        )
    })
}
