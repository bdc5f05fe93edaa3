//! The learners: label learning flows for classes and for real values.

pub(crate) mod classifier;
pub(crate) mod flow_learner;
mod label_flow_classifier;
mod label_flow_regressor;
mod prepared_fit;
pub(crate) mod row_samples;
pub(crate) mod scaling;
mod value_distribution;

pub use classifier::Classifier;
pub(crate) use classifier::impl_classifier;
pub use flow_learner::{FittedFlow, FlowLearner, FlowSettings};
pub use label_flow_classifier::{Certainty, FittedLabelFlowClassifier, LabelFlowClassifier, PartPrediction};
pub use label_flow_regressor::{FittedLabelFlowRegressor, LabelFlowRegressor, PartDistribution};
pub use labelflow_weak::linear::Scaler;
pub use prepared_fit::{FitOptions, PreparedFit, check_run};
pub(crate) use row_samples::{rows_at_once, sample_rows, to_tensor};
pub use scaling::Scaling;
pub(crate) use scaling::{FeatureMap, scale};
pub use value_distribution::ValueDistribution;
