//! Linear models of features, scalers, and a projection to fewer columns.

mod column_moments;
mod extreme_cells;
mod learning_rate;
mod linear_regression;
mod logistic_regression;
mod panels;
mod projection;
mod scalers;

pub use column_moments::{ColumnMoments, Outlier};
pub use learning_rate::LearningRateSchedule;
pub use linear_regression::{FittedLinearRegression, LinearRegression};
pub use logistic_regression::{FittedLogisticRegression, LogisticRegression};
pub use projection::Projection;
pub use scalers::{ColumnLimits, Scaler, ScalerKind};
