//! Every label model by its name: one table, from which settings, fitted models and files follow.
//!
//! ```text
//! { model = "data-programming", max_iterations = 100 }  ──►  AnyLabelModel  ──fit──►  FittedLabelModel
//! ```

use serde::{Deserialize, Serialize};

use super::label_model::FittedLists;
use crate::label_models::{
    AdversarialMulticlass, AverageSignals, ClassBalance, ConstrainedLabels, DataProgramming,
    DawidSkene, FittedAdversarialMulticlass, FittedAverageSignals, FittedConstrainedLabels,
    FittedDataProgramming, FittedDawidSkene, FittedFlyingSquid, FittedMajorityVote, FittedMeTaL,
    FittedMinimaxEntropy, FittedPerformanceGuaranteedVote, FittedSnorkelLabelModel, FlyingSquid,
    LabelModel, Labeler, MajorityVote, MeTaL, MinimaxEntropy, PerformanceGuaranteedVote,
    SnorkelLabelModel,
};
use crate::labelers::{Bounds, LabelerErrors};
use crate::rows::SoftLabels;
use crate::votes::{CountedVotes, WeakSignals};
use crate::{Error, Result};

/// What may be known of labelers beside their votes. Most label models need none of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KnownOfLabelers {
    /// How often each labeler's votes are wrong. Default: not known.
    pub errors: Option<LabelerErrors>,
    /// How often each labeler may err. Default: not known.
    pub bounds: Option<Bounds>,
}

impl KnownOfLabelers {
    fn errors(&self, model: &str) -> Result<&LabelerErrors> {
        self.errors.as_ref().ok_or_else(|| missing(model, "the error rate of each labeler"))
    }

    fn bounds(&self, model: &str) -> Result<&Bounds> {
        self.bounds.as_ref().ok_or_else(|| missing(model, "the error bounds of each labeler"))
    }
}

fn missing(model: &str, expected: &str) -> Error {
    Error::config(model, expected, "none")
        .with_hint("this label model does not learn how good labelers are; it must be told")
}

/// One line a label model: its name in files and on the command line, its type, its fitted type, and how it is fitted to
/// signals and to counted votes.
/// Both enums have a variant for each line, with the name of the type.
macro_rules! label_models {
    ($($name:literal: $Model:ident => $Fitted:ident, $fit:expr, $fit_counts:expr;)*) => {
        /// Any label model with its settings. In files it is a table of settings with the model's name as `model`.
        ///
        /// ```
        /// use labelflow_weak::label_models::{AnyLabelModel, KnownOfLabelers, Labeler};
        /// use labelflow_weak::votes::{Votes, WeakSignals};
        /// use ndarray::array;
        ///
        /// let votes = Votes::from_indices(array![[0, 0, 1], [1, 1, 1], [0, 0, 0]].view(), None)?;
        /// let signals = WeakSignals::from_votes(votes)?;
        /// let model = AnyLabelModel::from_name("dawid-skene")?;
        /// let fitted = model.fit(&signals, &KnownOfLabelers::default())?;
        /// assert_eq!(fitted.predict_proba(&signals)?.argmax(), [0, 1, 0]);
        /// # Ok::<(), labelflow_weak::Error>(())
        /// ```
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "model")]
        #[allow(missing_docs)]
        pub enum AnyLabelModel {
            $(#[serde(rename = $name)] $Model($Model),)*
        }

        /// Any fitted label model. In files it is a table with the model's name as `model`.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "model", content = "fitted")]
        #[allow(missing_docs)]
        pub enum FittedLabelModel {
            $(#[serde(rename = $name)] $Model($Fitted),)*
        }

        impl AnyLabelModel {
            /// The names of all label models.
            pub const NAMES: &[&str] = &[$($name),*];

            /// The label model with this name and its default settings.
            pub fn from_name(name: &str) -> Result<Self> {
                match name {
                    $($name => Ok(Self::$Model($Model::default())),)*
                    _ => Err(Error::config("model", format!("one of {}", Self::NAMES.join(", ")), format!("'{name}'"))),
                }
            }

            /// Its name.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$Model(_) => $name,)* }
            }

            /// Learns from the signals, and from what else is known of the labelers if this label model needs it; an
            /// error names what is missing.
            pub fn fit(&self, signals: &WeakSignals, known: &KnownOfLabelers) -> Result<FittedLabelModel> {
                match self {
                    $(Self::$Model(model) => {
                        let fit: fn(&$Model, &WeakSignals, &KnownOfLabelers) -> Result<$Fitted> = $fit;
                        fit(model, signals, known).map(FittedLabelModel::$Model)
                    })*
                }
            }

            /// The same from counted votes: bit for bit the fit to the rows that were counted.
            pub fn fit_counts(&self, counted: &CountedVotes, known: &KnownOfLabelers) -> Result<FittedLabelModel> {
                match self {
                    $(Self::$Model(model) => {
                        let fit: fn(&$Model, &CountedVotes, &KnownOfLabelers) -> Result<$Fitted> = $fit_counts;
                        fit(model, counted, known).map(FittedLabelModel::$Model)
                    })*
                }
            }
        }

        impl FittedLabelModel {
            /// The name of the label model.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$Model(_) => $name,)* }
            }

            /// Checks a fit that was read from a file: whether it is one of so many labelers and classes, and its lists
            /// are as long as those of such a fit. One that is not would panic when it labels.
            pub fn check(&self, n_labelers: usize, n_classes: usize) -> Result<()> {
                match self {
                    $(Self::$Model(fitted) => {
                        fitted.shape().check_names(n_labelers, n_classes)?;
                        fitted.check_lists()
                    })*
                }
            }
        }

        impl Labeler for FittedLabelModel {
            fn predict_proba(&self, signals: &WeakSignals) -> Result<SoftLabels> {
                match self { $(Self::$Model(fitted) => fitted.predict_proba(signals),)* }
            }
        }
    };
}

label_models! {
    "majority-vote": MajorityVote => FittedMajorityVote,
        |model, signals, _| model.fit(signals), |model, counted, _| model.fit_counts(counted);
    "average": AverageSignals => FittedAverageSignals,
        |model, signals, _| model.fit(signals), |model, counted, _| model.fit_counts(counted);
    "dawid-skene": DawidSkene => FittedDawidSkene,
        |model, signals, _| model.fit(signals), |model, counted, _| model.fit_counts(counted);
    "data-programming": DataProgramming => FittedDataProgramming,
        |model, signals, _| model.fit(signals), |model, counted, _| model.fit_counts(counted);
    "flying-squid": FlyingSquid => FittedFlyingSquid,
        |model, signals, _| model.fit(signals), |model, counted, _| model.fit_counts(counted);
    "minimax-entropy": MinimaxEntropy => FittedMinimaxEntropy,
        |model, signals, _| model.fit(signals), |model, counted, _| model.fit_counts(counted);
    "metal": MeTaL => FittedMeTaL,
        |model, signals, _| model.fit(signals), |model, counted, _| model.fit_counts(counted);
    "snorkel": SnorkelLabelModel => FittedSnorkelLabelModel,
        |model, signals, _| model.fit(signals), |model, counted, _| model.fit_counts(counted);
    "performance-guaranteed-vote": PerformanceGuaranteedVote => FittedPerformanceGuaranteedVote,
        |model, signals, known| model.fit(signals, known.errors("performance-guaranteed-vote")?),
        |model, counted, known| model.fit_counts(counted, known.errors("performance-guaranteed-vote")?);
    "adversarial-multiclass": AdversarialMulticlass => FittedAdversarialMulticlass,
        |model, signals, known| model.fit(signals, known.errors("adversarial-multiclass")?),
        |model, counted, known| model.fit_counts(counted, known.errors("adversarial-multiclass")?);
    "constrained-labels": ConstrainedLabels => FittedConstrainedLabels,
        |model, signals, known| model.fit(signals, known.bounds("constrained-labels")?),
        |model, counted, known| model.fit_counts(counted, known.bounds("constrained-labels")?);
}

impl AnyLabelModel {
    /// Whether a fit looks at no vote at all, so that votes need not be counted for it.
    pub fn ignores_votes(&self) -> bool {
        matches!(self, Self::MajorityVote(_) | Self::AverageSignals(_))
    }

    /// The most bytes of memory that a fit to counted votes and the labels of the patterns take for each pattern, beside
    /// the counted votes themselves.
    pub fn bytes_per_pattern(&self, n_signals: usize, n_classes: usize) -> usize {
        let of_fit = match self {
            Self::MajorityVote(_) | Self::AverageSignals(_) => 0,
            // Labels, those before, and a matrix a row.
            Self::MinimaxEntropy(_) => 8 * n_classes * (n_classes + 3),
            // Labels, their squares and gradients.
            Self::ConstrainedLabels(_) => 8 * 4 * n_classes,
            // Partitions, each with its own memory.
            Self::AdversarialMulticlass(_) => 2 * n_signals + 64,
            // Patterns without those of no vote, patterns of some of the labelers, and sums no larger than the patterns.
            _ => 3 * (n_signals + 8),
        };
        of_fit + 2 * 8 * n_classes
    }

    /// How common the classes are by the settings, of label models that must know it before they learn accuracies.
    pub(crate) fn class_balance(&self) -> Option<&ClassBalance> {
        match self {
            Self::DataProgramming(model) => Some(&model.class_balance),
            Self::FlyingSquid(model) => Some(&model.class_balance),
            Self::MinimaxEntropy(model) => Some(&model.class_balance),
            Self::MeTaL(model) => Some(&model.class_balance),
            Self::SnorkelLabelModel(model) => Some(&model.class_balance),
            _ => None,
        }
    }

    /// Whether it learns from the votes alone whom to trust.
    pub(crate) fn learns_accuracies(&self) -> bool {
        matches!(self, Self::DawidSkene(_)) || self.class_balance().is_some()
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};

    use super::*;
    use crate::votes::Votes;

    fn signals() -> WeakSignals {
        let votes = Array2::from_shape_fn((40, 4), |(row, signal)| {
            let wrong = (row * 7 + signal * 3) % 5 == 0;
            if (row + signal) % 6 == 0 { -1 } else { ((row % 2) ^ usize::from(wrong)) as i64 }
        });
        WeakSignals::from_votes(Votes::from_indices(votes.view(), None).unwrap()).unwrap()
    }

    fn known(signals: &WeakSignals) -> KnownOfLabelers {
        KnownOfLabelers {
            errors: Some(LabelerErrors::per_labeler(&[0.2; 4], 2).unwrap()),
            bounds: Some(Bounds::constant(0.2, signals).unwrap()),
        }
    }

    #[test]
    fn every_name_is_a_model_that_can_be_fitted_and_written() {
        let signals = signals();
        for &name in AnyLabelModel::NAMES {
            let model = AnyLabelModel::from_name(name).unwrap();
            assert_eq!(model.name(), name);
            let fitted = model.fit(&signals, &known(&signals)).unwrap();
            assert_eq!(fitted.name(), name);
            let text = serde_json::to_string(&fitted).unwrap();
            assert!(text.starts_with(&format!("{{\"model\":\"{name}\",\"fitted\":")), "{text}");
            let read: FittedLabelModel = serde_json::from_str(&text).unwrap();
            let labels = fitted.predict_proba(&signals).unwrap();
            assert_eq!(read.predict_proba(&signals).unwrap(), labels, "{name}");
        }
    }

    #[test]
    fn settings_have_the_name_beside_them() {
        for &name in AnyLabelModel::NAMES {
            let model = AnyLabelModel::from_name(name).unwrap();
            let only_the_name = format!("{{\"model\": \"{name}\"}}");
            assert_eq!(serde_json::from_str::<AnyLabelModel>(&only_the_name).unwrap(), model);
            let text = serde_json::to_string(&model).unwrap();
            assert_eq!(serde_json::from_str::<AnyLabelModel>(&text).unwrap(), model, "{text}");
        }
        let text = r#"{"model": "snorkel", "n_epochs": 7}"#;
        let expected = SnorkelLabelModel { n_epochs: 7, ..SnorkelLabelModel::default() };
        let model: AnyLabelModel = serde_json::from_str(text).unwrap();
        assert_eq!(model, AnyLabelModel::SnorkelLabelModel(expected));
        let error = serde_json::from_str::<AnyLabelModel>(r#"{"model": "snorkel", "epoch": 7}"#);
        assert!(error.unwrap_err().to_string().contains("unknown field `epoch`"));
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let error = AnyLabelModel::from_name("dawid").unwrap_err().to_string();
        assert!(error.starts_with("model: expected one of majority-vote, average, "), "{error}");
        assert!(error.ends_with("found 'dawid'"), "{error}");
    }

    #[test]
    fn what_is_missing_is_named() {
        let signals = signals();
        let fit = |name: &str| {
            let model = AnyLabelModel::from_name(name).unwrap();
            model.fit(&signals, &KnownOfLabelers::default()).unwrap_err().to_string()
        };
        for name in ["performance-guaranteed-vote", "adversarial-multiclass"] {
            let expected = format!("{name}: expected the error rate of each labeler, found none");
            assert!(fit(name).starts_with(&expected), "{}", fit(name));
        }
        let expected = "constrained-labels: expected the error bounds of each labeler, found none";
        assert!(fit("constrained-labels").starts_with(expected));
    }

    #[test]
    fn other_labelers_are_an_error() {
        let signals = signals();
        let two = Votes::from_indices(array![[0, 1]].view(), None).unwrap();
        let two = WeakSignals::from_votes(two).unwrap();
        for &name in AnyLabelModel::NAMES {
            let model = AnyLabelModel::from_name(name).unwrap();
            let fitted = model.fit(&signals, &known(&signals)).unwrap();
            assert!(fitted.predict_proba(&two).is_err(), "{name}");
        }
    }
}
