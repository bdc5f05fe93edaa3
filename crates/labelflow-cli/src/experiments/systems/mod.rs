//! The systems that experiments compare: each is trained on what training may see, and judged on test rows.
//!
//! ```text
//! NAME             a first stage, which labels the test rows itself: llf, all, mv, metal, …
//! NAME+END_MODEL   the first stage labels the training rows, an end model learns from these and labels the test rows
//! ```
//!
//! So `llf+mlp` is the paper's LLF-TS, and `cll+mlp` what its second table calls CLL.

mod completion;
mod first_stage;
mod flow_certainty;
mod regression;
mod system_tables;

use std::path::Path;

use anyhow::Context;
use labelflow::LabelFlowClassifier;
use labelflow::baselines::{EndModel, SupervisedClassifier, TwoStage};
use labelflow::evaluation::{IntervalMetrics, classification_metrics, classification_metrics_of};
use labelflow::label_models::FittedLabelModel;
use labelflow::training::{Observer, Report};
use labelflow_data::catalog::{VoteProblem, WeakProblem};

use super::metric::Metric;
use crate::commands::complete::completion_pictures::CompletionExample;
pub(crate) use completion::CompletionSystem;
use first_stage::FirstStage;
pub(crate) use regression::RegressionSystem;
pub(crate) use system_tables::SystemTables;

/// The share of rows whose set of classes shall hold the true one.
const SET_LEVEL: f64 = 0.9;

/// A system by the name it has in files and tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct System {
    first_stage: FirstStage,
    /// Its place among [`END_MODELS`].
    end_model: Option<usize>,
}

/// The classifiers of a second stage: their names in files and tables, and those of their settings.
const END_MODELS: [(&str, &str); 2] = [("mlp", "mlp"), ("lr", "logistic-regression")];

/// How a system did.
#[derive(Debug, Default)]
pub(crate) struct Evaluation {
    /// One number for each metric, the most telling first.
    pub(crate) values: Vec<(Metric, f64)>,
    /// The expected calibration error in percent, of probabilities.
    pub(crate) ece: Option<f64>,
    /// Of distributions of real values.
    pub(crate) intervals: Vec<IntervalMetrics>,
    /// The course of training, of systems that have one.
    pub(crate) report: Option<Report>,
    /// The mean time of a completion, of trained systems of completion.
    pub(crate) completion_ms: Option<f64>,
    /// A few of the completions, of systems of completion.
    pub(crate) examples: Vec<CompletionExample>,
}

/// A system of the first task that has one of its name, in the order of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AnySystem {
    Classification(System),
    Regression(RegressionSystem),
    Completion(CompletionSystem),
}

impl AnySystem {
    pub(crate) fn from_name(name: &str) -> anyhow::Result<Self> {
        System::from_name(name).map(Self::Classification).or_else(|error| {
            let regression = RegressionSystem::from_name(name).map(Self::Regression);
            regression.or_else(|_| CompletionSystem::from_name(name).map(Self::Completion)).map_err(|_| error)
        })
    }

    /// Whether it knows the truth: a reference, not a competitor.
    pub(crate) fn is_reference(self) -> bool {
        match self {
            Self::Classification(system) => system.is_supervised(),
            Self::Regression(system) => system == RegressionSystem::Sl,
            Self::Completion(system) => matches!(system, CompletionSystem::ResampledTruth | CompletionSystem::Oracle),
        }
    }
}

/// The system of this name among all of a task.
fn named<S: Copy>(all: &[(&str, S)], name: &str) -> anyhow::Result<S> {
    let found = all.iter().find(|(own, _)| *own == name);
    let (_, system) = found.with_context(|| {
        let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        format!("system: expected one of {}, found '{name}'", names.join(", "))
    })?;
    Ok(*system)
}

impl System {
    pub(crate) fn from_name(name: &str) -> anyhow::Result<Self> {
        let (first, end) = match name.split_once('+') {
            Some((first, end)) => (first, Some(end)),
            None => (name, None),
        };
        let first_stage = FirstStage::from_name(first);
        let end_model = END_MODELS.iter().position(|(name, _)| Some(*name) == end);
        match first_stage {
            Some(first_stage) if end_model.is_some() == end.is_some() => Ok(Self { first_stage, end_model }),
            _ => anyhow::bail!(
                "system: expected one of {}, alone or followed by {}, found '{name}'",
                FirstStage::all().map(FirstStage::name).collect::<Vec<_>>().join(", "),
                END_MODELS.map(|(name, _)| format!("+{name}")).join(" or ")
            ),
        }
    }

    /// Whether it is trained on true labels.
    fn is_supervised(self) -> bool {
        self.first_stage.is_supervised()
    }

    /// Trains on the training part of a problem and judges on its test part. `config` is for the flows; its seed is for
    /// all systems.
    pub(crate) fn evaluate(
        self,
        problem: &WeakProblem,
        config: &LabelFlowClassifier,
        models: Option<&Path>,
        observer: &mut dyn Observer,
    ) -> anyhow::Result<Evaluation> {
        let (labels, sets, report) = match self.end_model {
            Some(end_model) if self.is_supervised() => {
                // With true labels there is no first stage.
                let (end_model, train) = (settings(end_model, config.seed)?, &problem.train);
                let truth = &problem.train_truth;
                let fitted = SupervisedClassifier::fit_end_model(&end_model, train.features(), truth)?;
                (fitted.predict_proba(&problem.test.features)?, None, None)
            }
            _ => {
                let first = self.first_stage.fit(problem, config, models, observer)?;
                let test = &problem.test;
                let (labels, sets) = match self.end_model {
                    None => (first.labels(&test.features, &test.signals)?, first.sets(problem, SET_LEVEL)?),
                    Some(end_model) => {
                        let (features, labels) = first.training_labels(problem)?;
                        let fitted = self.two_stage(end_model, config.seed)?.fit(&features, &labels)?;
                        (fitted.predict_proba(&test.features)?, None)
                    }
                };
                (labels, sets, first.report().cloned())
            }
        };
        let metrics = classification_metrics(&labels, &problem.test.truth)?;
        let mut values = vec![
            (Metric::Accuracy, metrics.accuracy * 100.0),
            (Metric::Ece, metrics.ece * 100.0),
            (Metric::Brier, metrics.brier),
            (Metric::LogLoss, metrics.log_loss),
            (Metric::SurestAccuracy, metrics.surest[1].accuracy * 100.0),
        ];
        if let Some(sets) = sets {
            values.push((Metric::SetCoverage, sets.coverage * 100.0));
            values.push((Metric::SetSize, sets.size));
        }
        let ece = Some(metrics.ece * 100.0);
        Ok(Evaluation { values, ece, report, ..Evaluation::default() })
    }

    /// The system, if it labels rows by votes alone.
    pub(crate) fn of_votes(self) -> anyhow::Result<Self> {
        anyhow::ensure!(
            self.end_model.is_none() && self.first_stage.reads_votes_alone(),
            "system: expected a label model that learns from votes alone, since the set has no features, found '{}'",
            self.first_stage.name()
        );
        Ok(self)
    }

    /// Fits a label model to votes, with its default settings, and judges the labels that it chooses for the rows with a vote.
    pub(crate) fn evaluate_votes(self, problem: &VoteProblem, seed: u64) -> anyhow::Result<Evaluation> {
        let covered = problem.signals.covered_rows();
        let (signals, truth) = (problem.signals.select_rows(&covered), problem.truth.select_rows(&covered));
        let fitted = self.first_stage.fit_votes(&problem.signals, seed)?;
        let labels = fitted.predict_proba(&signals)?;
        let classes = fitted.choose(&signals, &labels)?;
        let metrics = classification_metrics_of(&labels, &classes, &truth)?;
        let mut values = vec![
            (Metric::Accuracy, metrics.accuracy * 100.0),
            (Metric::Ece, metrics.ece * 100.0),
            (Metric::Brier, metrics.brier),
            (Metric::LogLoss, metrics.log_loss),
        ];
        if let [_, class_1] = &metrics.classes[..] {
            values.push((Metric::F1, class_1.f1.unwrap_or(0.0) * 100.0));
        }
        Ok(Evaluation { values, ece: Some(metrics.ece * 100.0), ..Evaluation::default() })
    }

    fn two_stage(self, end_model: usize, seed: u64) -> anyhow::Result<TwoStage> {
        let (labels, ties) = self.first_stage.handed_over(seed);
        Ok(TwoStage { labels, ties, end_model: settings(end_model, seed)? })
    }
}

fn settings(end_model: usize, seed: u64) -> anyhow::Result<EndModel> {
    Ok(EndModel::preset(END_MODELS[end_model].1)?.with_seed(seed))
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use labelflow::TrainConfig;
    use labelflow::baselines::StageLabels;
    use labelflow::label_models::AnyLabelModel;
    use labelflow::learners::Scaling;
    use labelflow::rows::Ties;
    use labelflow::training::{EpochEvent, StopReason};
    use labelflow_data::catalog::{BoundsFrom, embedded, simulate};

    use super::*;

    struct Nobody;

    impl Observer for Nobody {
        fn observe(&mut self, _: EpochEvent<'_>) -> labelflow::Result<ControlFlow<StopReason>> {
            Ok(ControlFlow::Continue(()))
        }
    }

    fn system(name: &str) -> System {
        System::from_name(name).unwrap()
    }

    fn problem() -> WeakProblem {
        let table = embedded::breast_cancer();
        simulate(&table, &[0, 10, 20], 0, BoundsFrom::Simulation).unwrap()
    }

    fn config() -> LabelFlowClassifier {
        LabelFlowClassifier {
            n_steps: 1,
            d_hidden: 4,
            scaling: Scaling::None,
            training: TrainConfig { max_epochs: 3, ..TrainConfig::default() },
            ..LabelFlowClassifier::default()
        }
    }

    fn evaluate(name: &str, problem: &WeakProblem) -> Evaluation {
        system(name).evaluate(problem, &config(), None, &mut Nobody).unwrap()
    }

    fn accuracy(name: &str, problem: &WeakProblem) -> f64 {
        evaluate(name, problem).values[0].1
    }

    #[test]
    fn names_are_read_and_written() {
        for first in FirstStage::all().map(FirstStage::name) {
            for (place, end) in [(None, ""), (Some(0), "+mlp"), (Some(1), "+lr")] {
                let System { first_stage, end_model } = system(&format!("{first}{end}"));
                assert_eq!((first_stage.name(), end_model), (first, place));
            }
        }
        for name in ["", "llff", "mlp", "+mlp", "mv+", "mv+svm", "mv+mlp+lr", "MV", "mv +mlp"] {
            let error = System::from_name(name).unwrap_err().to_string();
            for part in [&format!("'{name}'"), "flying-squid", "llf-wo-nll", "+mlp or +lr"] {
                assert!(error.contains(part), "no {part} in {error}");
            }
        }
        for name in AnyLabelModel::NAMES {
            system(&format!("{name}+mlp"));
        }
        assert_eq!(system("dawid-skene"), system("ds"));
        assert_ne!(system("data-programming"), system("dp-coupled"));
        assert!(system("sl+mlp").is_supervised() && !system("llf+mlp").is_supervised());
    }

    #[test]
    fn end_models_get_the_labels_that_the_methods_hand_over() {
        let handed_over = |name| {
            let TwoStage { labels, ties, .. } = system(name).two_stage(0, 0).unwrap();
            (labels, ties)
        };
        assert_eq!(handed_over("mv"), (StageLabels::Hard, Ties::Random { seed: 0 }));
        assert_eq!(handed_over("mmce"), (StageLabels::Hard, Ties::Lowest));
        assert_eq!(handed_over("llf"), (StageLabels::Hard, Ties::Lowest));
        for name in ["dp", "metal", "cll"] {
            assert_eq!(handed_over(name).0, StageLabels::Soft);
        }
    }

    #[test]
    fn every_system_runs_on_a_table() {
        let problem = problem();
        for stage in FirstStage::all() {
            for name in [stage.name().to_owned(), format!("{}+lr", stage.name())] {
                let evaluation = evaluate(&name, &problem);
                if stage.is_flow() {
                    // Hardly trained here: that it was trained for the epochs that are allowed is all that can be asked.
                    let n_epochs = evaluation.report.map(|report| report.history.len());
                    assert_eq!(n_epochs, Some(config().training.max_epochs), "{name}");
                    continue;
                }
                let least = if stage.is_supervised() { 95.0 } else { 80.0 };
                let found = evaluation.values[0].1;
                assert!(found >= least, "{name}: {found}");
            }
        }
        assert!((accuracy("sl", &problem) - accuracy("sl+lr", &problem)).abs() < 1e-9);
        // Averages round the same way before and after they are handed over.
        assert!((accuracy("avg", &problem) - accuracy("avg-direct+lr", &problem)).abs() < 1e-9);
        let found = accuracy("sl+mlp", &problem);
        assert!(found > 95.0, "{found}");
    }

    #[test]
    fn fast_training_keeps_to_the_epochs_that_are_allowed() {
        let evaluation = system("llf-fast").evaluate(&problem(), &config(), None, &mut Nobody).unwrap();
        assert_eq!(evaluation.report.unwrap().history.len(), config().training.max_epochs);
    }

    #[test]
    fn systems_that_measure_labelers_need_labelled_rows() {
        let problem = WeakProblem { simulation: None, ..problem() };
        for name in ["pgmv", "acml", "ge", "ge+mlp"] {
            let error = system(name).evaluate(&problem, &config(), None, &mut Nobody).unwrap_err();
            assert!(error.to_string().contains("labelled simulation rows"), "{error}");
        }
        // The authors' form measures on the training rows.
        assert!(accuracy("ge-half", &problem) > 85.0);
    }
}
