//! The learners: label learning flows for classes and for real values.

pub(crate) mod label_flow_classifier;
mod label_flow_regressor;
mod part_prediction;
pub(crate) mod row_samples;
pub(crate) mod scaling;
mod value_distribution;

pub use label_flow_classifier::{
    Certainty, FittedLabelFlowClassifier, LabelFlowClassifier, check_run,
};
pub use label_flow_regressor::{FittedLabelFlowRegressor, LabelFlowRegressor};
pub use part_prediction::{PartDistribution, PartPrediction};
pub use scaling::{Scaler, Scaling};
pub use value_distribution::ValueDistribution;
