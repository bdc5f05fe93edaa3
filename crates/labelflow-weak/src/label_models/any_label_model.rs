//! Every label model by its name: what the registry in `models/` makes of its lines.
//!
//! ```text
//! { model = "data-programming", max_iterations = 100 }  ──►  AnyLabelModel  ──fit──►  AnyFittedLabelModel
//! ```

/// One line for each label model: its file, its type, and its name in files, on the command line and in Python.
///
/// Declares the files as modules, and both enums with a variant for each line, with the name of the type. Each fitted type
/// has a method `checked_shape`, for fits that were read from files, which may contradict themselves: it returns how many
/// labelers and classes it was fitted with, having checked that every list is as long as this says, and that what names
/// a labeler names one of them.
macro_rules! label_models {
    ($($module:ident: $Model:ident = $name:literal;)*) => {
        $(mod $module;)*
        $(pub use $module::*;)*

        use serde::{Deserialize, Serialize};

        use crate::label_models::{
            ClassBalance, FittedLabelModel, Knowledge, KnownOfLabelers, LabelModel, Needs,
        };
        use crate::rows::SoftLabels;
        use crate::votes::{CountedVotes, WeakSignals};
        use crate::{Error, Result};

        /// Any label model with its settings. In files it is a table of settings with the model's name as `model`.
        ///
        /// ```
        /// use labelflow_weak::label_models::{AnyLabelModel, FittedLabelModel, KnownOfLabelers};
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
        pub enum AnyFittedLabelModel {
            $(#[serde(rename = $name)] $Model(<$Model as LabelModel>::Fitted),)*
        }

        impl AnyLabelModel {
            /// The names of all label models.
            pub const NAMES: &[&str] = &[$($name),*];

            /// The label model with this name and its default settings.
            pub fn from_name(name: &str) -> Result<Self> {
                match name {
                    $($name => Ok(Self::$Model($Model::default())),)*
                    _ => {
                        let expected = format!("one of {}", Self::NAMES.join(", "));
                        Err(Error::config("model", expected, format!("'{name}'")))
                    }
                }
            }

            /// Its name.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$Model(_) => $name,)* }
            }

            /// The name of its type, here and in Python.
            pub fn type_name(&self) -> &'static str {
                match self { $(Self::$Model(_) => stringify!($Model),)* }
            }

            /// What must be known of the labelers to fit it.
            pub fn needs(&self) -> Needs {
                match self { $(Self::$Model(_) => <$Model as LabelModel>::Known::NEEDS,)* }
            }

            /// Whether it learns from the classes of some rows too, where they are known.
            pub fn uses_known_labels(&self) -> bool {
                match self { $(Self::$Model(_) => <$Model as LabelModel>::Known::USES_LABELS,)* }
            }

            /// Learns from the signals, and from what else is known of the labelers if this label model needs it; an
            /// error names what is missing.
            pub fn fit(&self, signals: &WeakSignals, known: &KnownOfLabelers) -> Result<AnyFittedLabelModel> {
                match self {
                    $(Self::$Model(model) => {
                        model.fit_with(signals, Knowledge::required(known, $name)?).map(AnyFittedLabelModel::$Model)
                    })*
                }
            }

            /// The same from counted votes: bit for bit the fit to the rows that were counted.
            pub fn fit_counts(&self, counted: &CountedVotes, known: &KnownOfLabelers) -> Result<AnyFittedLabelModel> {
                match self {
                    $(Self::$Model(model) => {
                        model.fit_counts_with(counted, Knowledge::required(known, $name)?).map(AnyFittedLabelModel::$Model)
                    })*
                }
            }

            /// Whether a fit looks at no vote at all, so that votes need not be counted for it.
            pub fn ignores_votes(&self) -> bool {
                match self { $(Self::$Model(_) => $Model::IGNORES_VOTES,)* }
            }

            /// The most bytes of memory that a fit to counted votes and the labels of the patterns take for each
            /// pattern, beside the counted votes themselves.
            pub fn bytes_per_pattern(&self, n_signals: usize, n_classes: usize) -> usize {
                let of_fit = match self {
                    $(Self::$Model(model) => model.bytes_per_pattern(n_signals, n_classes),)*
                };
                of_fit + 2 * 8 * n_classes
            }

            /// How common the classes are by the settings, of label models that must know it before they learn
            /// accuracies.
            pub fn class_balance(&self) -> Option<&ClassBalance> {
                match self { $(Self::$Model(model) => model.class_balance(),)* }
            }

            /// The same with every setting as published whose default departs from the publication to keep some votes
            /// from misleading the fit.
            #[must_use]
            pub fn published(self) -> Self {
                match self { $(Self::$Model(model) => Self::$Model(model.published()),)* }
            }

            /// Whether it learns from the votes alone whom to trust.
            pub fn learns_accuracies(&self) -> bool {
                match self { $(Self::$Model(model) => model.learns_accuracies(),)* }
            }
        }

        impl AnyFittedLabelModel {
            /// The name of the label model.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$Model(_) => $name,)* }
            }

            /// Checks a fit that was read from a file: whether it is one of so many labelers and classes, and its lists
            /// are as long as those of such a fit. One that is not would panic when it labels.
            pub fn check(&self, n_labelers: usize, n_classes: usize) -> Result<()> {
                match self {
                    $(Self::$Model(fitted) => {
                        fitted.checked_shape()?.check_names(n_labelers, n_classes)
                    })*
                }
            }
        }

        impl FittedLabelModel for AnyFittedLabelModel {
            fn predict_proba(&self, signals: &WeakSignals) -> Result<SoftLabels> {
                match self { $(Self::$Model(fitted) => fitted.predict_proba(signals),)* }
            }

            fn remark(&self) -> Option<&str> {
                match self { $(Self::$Model(fitted) => fitted.remark(),)* }
            }
        }
    };
}

pub(crate) use label_models;

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};

    use crate::label_models::{
        AnyFittedLabelModel, AnyLabelModel, FittedLabelModel, KnownOfLabelers, SnorkelLabelModel,
    };
    use crate::labelers::{Bounds, LabelerErrors};
    use crate::votes::{Votes, WeakSignals};

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
            labels: None,
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
            let read: AnyFittedLabelModel = serde_json::from_str(&text).unwrap();
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
        assert!(error.starts_with("model: expected one of majority-vote, auto, hyper, "), "{error}");
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
