//! How good predictions are.

mod class_scores;
mod metrics;
pub(crate) mod scores;

pub use class_scores::ClassScores;
pub use metrics::{
    ClassificationMetrics, IntervalMetrics, RegressionMetrics, SurestRows, classification_metrics,
    classification_metrics_of, point_metrics, regression_metrics,
};
pub(crate) use scores::{n_scores, write_probabilities};
