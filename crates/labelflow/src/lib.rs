//! Label learning flows: labels that know how sure they are, from features and weak supervision.
//!
//! Given features x, weak signals q and bounds b on their errors, a conditional normalizing flow learns p(y|x) over all labelings
//! that the signals allow (Lu et al., *Weakly Supervised Label Learning Flows*):
//!
//! ```text
//! max  E_z[log p(g(z, x) | x)] − Σ_m λ_m [c_m(x, g(z, x), q)]²      z ~ N(0, I)
//! ```
//!
//! One training step reads from top to bottom: features → [`ConditionerBank`](labelflow_flow::ConditionerBank) → noise →
//! couplings → labels and log-determinant → [`Constraint`] residuals → [`Penalty`] → [`Objective`] → gradients → [`Adam`].
//!
//! All classifiers here predict from features alone:
//!
//! | classifier | idea | learns from |
//! |---|---|---|
//! | [`LabelFlowClassifier`] | the distribution of all labelings that the signals allow | features, signals, bounds |
//! | [`AdversarialLabels`] | does well on the worst labels that the bounds allow | features, signals, bounds |
//! | [`GeneralizedExpectation`] | mean predictions match what is known of groups of rows | features, signals, [`ReferenceProportions`] |
//! | [`AverageClassifier`] | a logistic regression on averaged signals | features, signals |
//! | [`TwoStage`] | an [`EndModel`] on the labels of a flow or of a [label model](weak) | features, labels of another model |
//! | [`SupervisedClassifier`] | a reference, no weak supervision | features, true labels |
//!
//! An [`EndModel`] is a [`MultilayerPerceptron`] or a [`LogisticRegression`](weak::LogisticRegression). Label models, which
//! see no features, are in [`weak`].
//!
//! ```
//! use labelflow::{LabelFlowClassifier, TrainConfig};
//! use labelflow::weak::{Bounds, Features, Votes, WeakDataset, WeakSignals};
//! use ndarray::{Array2, array};
//!
//! // Forty rows; two labelers vote by the sign of the first feature, the second one only on every other row.
//! let x = Array2::from_shape_fn((40, 2), |(i, j)| ((i * 7 + j * 3) % 11) as f32 - 5.0);
//! let votes = Array2::from_shape_fn((40, 2), |(i, j)| {
//!     if j == 1 && i % 2 == 1 { -1 } else { i64::from(x[[i, 0]] > 0.0) }
//! });
//! let signals = WeakSignals::from_votes(Votes::from_indices(votes.view(), Some(2))?)?;
//! let bounds = Bounds::constant(0.05, &signals)?;
//! let dataset = WeakDataset::new(Features::new(x)?, signals, bounds)?;
//!
//! let config = LabelFlowClassifier {
//!     training: TrainConfig { max_epochs: 60, ..TrainConfig::default() },
//!     ..LabelFlowClassifier::default()
//! };
//! let fitted = config.fit(&dataset)?;
//! let new_rows = Features::new(array![[4.0, 0.0], [-4.0, 0.0]])?;
//! assert_eq!(fitted.predict(&new_rows)?, [1, 0]);
//! # Ok::<(), labelflow::Error>(())
//! ```

mod adam;
mod adversarial_labels;
mod atomic_file;
mod average_classifier;
mod batch;
mod checkpoint;
mod completion;
mod constraint;
mod constraints;
mod dealt_rows;
mod device;
mod end_model;
mod epochs;
mod error;
mod flat_module;
mod folder_lock;
mod generalized_expectation;
#[cfg(test)]
mod golden;
mod label_flow_classifier;
mod label_flow_regressor;
mod linear_classifier;
mod metrics;
mod model_record;
mod multilayer_perceptron;
mod objective;
mod observer;
mod part_prediction;
mod penalty;
mod recorded_training;
mod row_samples;
mod row_source;
mod saved_label_model;
mod saved_model;
mod scaling;
mod scores;
mod signal_totals;
mod stream;
mod streamed_classification;
mod streamed_fit;
mod streamed_regression;
mod supervised;
mod train;
mod two_class_signals;
mod two_stage;
mod value_distribution;
mod weight_decay;
mod window_pass;
mod window_plan;

pub use labelflow_flow as flow;
pub use labelflow_weak as weak;

pub use adam::{Adam, AdamState};
pub use adversarial_labels::{
    AdversarialForm, AdversarialLabels, AdversaryLoss, FittedAdversarialLabels, LinearAdversary,
    NetworkAdversary, PenaltyGradient,
};
pub use average_classifier::AverageClassifier;
pub use batch::{Batch, Rows};
pub use checkpoint::Checkpoint;
pub use completion::{
    AnyCompleter, AnyCompletionLearner, CodeCompleter, Completer, CompletionDataset,
    CompletionLearner, CompletionMethod, CompletionOptions, CompletionTraining,
    FittedCodeCompleter, FittedKnowledgeTransfer, FittedPointCloudCompleter, FittedShapeInversion,
    FrameSearch, Inversion, KnowledgeTransfer, LatentSource, PointCloudCompleter, ScanFrame,
    ShapeInversion, StageTraining,
};
pub use constraint::{Constraint, Relation, Residual};
pub use constraints::{
    ConstraintConfig, ErrorBound, Group, GroupMean, GroupQuantile, Range, SumToOne,
};
pub use device::DeviceKind;
pub use end_model::{EndModel, FittedEndModel};
pub use error::{Error, Result};
pub use folder_lock::FolderLock;
pub use generalized_expectation::{
    ExpectationForm, FittedGeneralizedExpectation, GeneralizedExpectation, ReferenceProportions,
};
pub use label_flow_classifier::{Certainty, FittedLabelFlowClassifier, LabelFlowClassifier};
pub use label_flow_regressor::{FittedLabelFlowRegressor, LabelFlowRegressor};
pub use metrics::{
    ClassificationMetrics, IntervalMetrics, RegressionMetrics, SurestRows, classification_metrics,
    point_metrics, regression_metrics,
};
pub use model_record::ModelRecord;
pub use multilayer_perceptron::{
    FittedMultilayerPerceptron, HiddenLayer, MultilayerPerceptron, Optimizer,
};
pub use objective::{Objective, ObjectiveValue};
pub use observer::{CheckpointFile, EpochEvent, Observer, TimeLimit};
pub use part_prediction::{PartDistribution, PartPrediction};
pub use penalty::Penalty;
pub use row_source::{RowSignals, RowSource, SignalForm, SourceRows};
pub use saved_label_model::SavedLabelModel;
pub use saved_model::ModelTask;
pub use scaling::Scaling;
pub use streamed_fit::StreamedFit;
pub use streamed_regression::StreamedRegression;
pub use supervised::SupervisedClassifier;
pub use train::{BatchSize, EpochRecord, Preset, Report, StopReason, TrainConfig};
pub use two_stage::{StageLabels, TwoStage};
pub use value_distribution::ValueDistribution;

pub use labelflow_flow::Activation;

/// The README's Rust block, run as a doctest.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
