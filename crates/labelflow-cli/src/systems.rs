//! The systems that experiments compare: each is trained on what training may see, and judged on test rows.

use labelflow::weak::{LabelModel, Labeler, MajorityVote, SoftLabels};
use labelflow::{
    AverageClassifier, ClassificationMetrics, LabelFlow, Observer, Preset, Report,
    SupervisedClassifier, classification_metrics,
};
use labelflow_data::WeakProblem;
use serde::{Deserialize, Serialize};

/// A system by the name it has in files and tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum System {
    /// Label learning flow.
    Llf,
    /// Label learning flow, trained the fast way.
    LlfFast,
    /// Label learning flow without the likelihood term.
    LlfWoNll,
    /// Logistic regression on averaged signals.
    Avg,
    /// Majority vote of the labelers on the test rows.
    Mv,
    /// Logistic regression on true labels.
    Sl,
}

impl System {
    pub(crate) const ALL: [Self; 6] =
        [Self::Llf, Self::LlfFast, Self::LlfWoNll, Self::Avg, Self::Mv, Self::Sl];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Llf => "llf",
            Self::LlfFast => "llf-fast",
            Self::LlfWoNll => "llf-wo-nll",
            Self::Avg => "avg",
            Self::Mv => "mv",
            Self::Sl => "sl",
        }
    }

    pub(crate) fn from_name(name: &str) -> anyhow::Result<Self> {
        let known = || Self::ALL.map(Self::name).join(", ");
        Self::ALL
            .into_iter()
            .find(|system| system.name() == name)
            .ok_or_else(|| anyhow::anyhow!("system: expected one of {}, found '{name}'", known()))
    }

    /// Trains on the training part of a problem and judges on its test part. `config` is for the flows.
    pub(crate) fn evaluate(
        self,
        problem: &WeakProblem,
        config: &LabelFlow,
        observer: &mut dyn Observer,
    ) -> anyhow::Result<Evaluation> {
        let (train, test) = (&problem.train, &problem.test);
        let mut report = None;
        let mut flow = |config: &LabelFlow| -> anyhow::Result<SoftLabels> {
            let fitted = config.fit_with(train, Vec::new(), None, observer)?;
            report = Some(fitted.report().clone());
            Ok(fitted.predict_proba(&test.features)?)
        };
        let labels = match self {
            Self::Llf => flow(config)?,
            Self::LlfFast => {
                let training = Preset::Fast.training(train.n_rows());
                flow(&LabelFlow { training, ..config.clone() })?
            }
            Self::LlfWoNll => flow(&LabelFlow { likelihood_weight: 0.0, ..config.clone() })?,
            Self::Avg => AverageClassifier::fit(train)?.predict_proba(&test.features)?,
            Self::Mv => {
                MajorityVote::default().fit(train.signals())?.predict_proba(&test.signals)?
            }
            Self::Sl => SupervisedClassifier::fit(train.features(), &problem.train_truth)?
                .predict_proba(&test.features)?,
        };
        Ok(Evaluation { metrics: classification_metrics(&labels, &test.truth)?, report })
    }
}

/// How a system did.
#[derive(Debug)]
pub(crate) struct Evaluation {
    pub(crate) metrics: ClassificationMetrics,
    /// The course of training, of systems that have one.
    pub(crate) report: Option<Report>,
}
