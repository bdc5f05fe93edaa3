//! What predicts classes from features.

use labelflow_weak::linear::FittedLogisticRegression;
use labelflow_weak::rows::{Features, SoftLabels};

use crate::Result;

/// A fitted model that predicts classes from features: the label learning flow and all [baselines](crate::baselines).
pub trait Classifier {
    /// The probability of each class for each row, `[n_rows, n_classes]`.
    fn predict_proba(&self, features: &Features) -> Result<SoftLabels>;

    /// The most probable class of each row.
    fn predict(&self, features: &Features) -> Result<Vec<usize>> {
        Ok(self.predict_proba(features)?.argmax())
    }

    /// The number of features that it was trained on.
    fn d_features(&self) -> usize;

    /// The number of classes.
    fn n_classes(&self) -> usize;
}

/// Makes a type with a method `predict_proba` of its own a [`Classifier`].
macro_rules! impl_classifier {
    ($type:ty, |$model:ident| $d_features:expr, $n_classes:expr) => {
        impl $crate::learners::Classifier for $type {
            fn predict_proba(&self, features: &Features) -> $crate::Result<SoftLabels> {
                <$type>::predict_proba(self, features)
            }

            fn d_features(&self) -> usize {
                let $model = self;
                $d_features
            }

            fn n_classes(&self) -> usize {
                let $model = self;
                $n_classes
            }
        }
    };
}
pub(crate) use impl_classifier;

impl Classifier for FittedLogisticRegression {
    fn predict_proba(&self, features: &Features) -> Result<SoftLabels> {
        Ok(self.predict_proba(features.rounded().view())?)
    }

    fn d_features(&self) -> usize {
        self.d_features()
    }

    fn n_classes(&self) -> usize {
        self.n_classes()
    }
}
