//! Weak supervision without neural networks: what is known of the labels, and what follows from it alone.
//!
//! | type | holds |
//! |---|---|
//! | [`Features`] | the input table, `[n_rows, d_features]`, finite, named columns |
//! | [`WeakSignals`] | votes or probabilities of several labelers, any of which may abstain |
//! | [`Bounds`] | how often each labeler may err, `[n_signals, n_classes]` |
//! | [`WeakDataset`] | the three together: all that training may see |
//! | [`Truth`] | true classes; only evaluation accepts it |
//! | [`SoftLabels`] | probabilities, `[n_rows, n_classes]`, each row on the simplex |
//!
//! Label models ([`LabelModel`]) turn signals into soft labels without looking at features.

mod bounds;
mod dataset;
mod error;
mod features;
mod signals;
mod soft_labels;
mod truth;
mod votes;

pub use bounds::Bounds;
pub use dataset::WeakDataset;
pub use error::{Error, Result};
pub use features::Features;
pub use signals::{SignalValues, WeakSignals};
pub use soft_labels::SoftLabels;
pub use truth::Truth;
pub use votes::{ABSTAIN, Votes};
