//! Label learning flows: labels with probabilities, from features and weak supervision.
//!
//! Given features x, weak signals q and bounds b on their errors, a conditional normalizing flow learns p(y|x) over all labelings
//! that the signals allow (Lu et al., *Weakly Supervised Label Learning Flows*):
//!
//! ```text
//! max  E_z[log p(g(z, x) | x)] − Σ_m λ_m [c_m(x, g(z, x), q)]²      z ~ N(0, I)
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`learners`] | the label learning flows: [`LabelFlowClassifier`], [`LabelFlowRegressor`] |
//! | [`constraints`] | what must hold of labels, and how a violation is punished |
//! | [`training`] | settings, objective, optimiser, epochs, observers |
//! | [`sources`] | rows from memory or from files |
//! | [`storage`] | models and checkpoints on disk |
//! | [`baselines`] | other classifiers: one stage, two stages, adversarial labels, generalized expectation, supervised |
//! | [`evaluation`] | how good predictions are |
//! | [`votes`], [`labelers`], [`rows`], [`label_models`], [`rules`], [`calibration`], [`linear`] | weak supervision without neural networks, from [`labelflow_weak`] |
//! | [`flow`] | conditional normalizing flows, from [`labelflow_flow`] |
//!
//! ```
//! use labelflow::{Bounds, Features, LabelFlowClassifier, TrainConfig, Votes, WeakDataset, WeakSignals};
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

pub mod baselines;
pub mod constraints;
mod error;
pub mod evaluation;
pub mod learners;
pub mod sources;
pub mod storage;
pub mod training;

pub use burn;
pub use labelflow_flow as flow;
pub use labelflow_weak as weak;
pub use labelflow_weak::{calibration, label_models, labelers, linear, rows, rules, votes};
pub use ndarray;

pub use error::{Error, Result};
pub use labelers::Bounds;
pub use learners::{Classifier, LabelFlowClassifier, LabelFlowRegressor};
pub use rows::{Features, WeakDataset};
pub use storage::SavedModel;
pub use training::TrainConfig;
pub use votes::{Votes, WeakSignals};
