//! Weak supervision without neural networks: what is known of the labels, and what follows from it alone.
//!
//! | module | holds |
//! |---|---|
//! | [`votes`] | what labelers say: [`Votes`](votes::Votes), [`WeakSignals`](votes::WeakSignals), and rows of votes counted in bounded memory |
//! | [`labelers`] | what is known about labelers: [`Bounds`](labelers::Bounds) on their errors, coverage, conflicts, agreement of pairs |
//! | [`rows`] | features, soft labels, true labels, and the datasets that training may see |
//! | [`label_models`] | labels from votes alone: majority vote, Dawid-Skene, Snorkel's label model and others |
//! | [`rules`] | rules about the means of real-valued labels, and their contradictions |
//! | [`calibration`] | probabilities that hold, and prediction sets with a promised coverage |
//! | [`linear`] | linear and logistic regression, scalers of features, and a projection of many columns to few |
//! | [`numerics`] | solvers, sums over rows in parallel, seeded streams |
//! | [`warnings`] | what looks wrong in data: columns that cannot help, labelers that contradict each other, bounds that say nothing |
//! | [`settings`] | checks that many settings have in common |
//!
//! True labels have types of their own, [`Truth`](rows::Truth) and [`TrueValues`](rows::TrueValues): only evaluation, calibration and
//! measured bounds accept them.
//!
//! ```
//! use labelflow_weak::label_models::{DawidSkene, LabelModel, FittedLabelModel};
//! use labelflow_weak::votes::{Votes, WeakSignals};
//! use ndarray::array;
//!
//! // Five rows, three labelers; -1 abstains.
//! let votes = array![[0, 0, 1], [1, 1, 0], [0, 0, 1], [1, 1, 0], [1, -1, 0]];
//! let signals = WeakSignals::from_votes(Votes::from_indices(votes.view(), None)?)?;
//! let labels = DawidSkene::default().fit(&signals)?.predict_proba(&signals)?;
//! assert_eq!(labels.argmax(), [0, 1, 0, 1, 1]);
//! # Ok::<(), labelflow_weak::Error>(())
//! ```

pub mod calibration;
mod error;
pub mod label_models;
pub mod labelers;
pub mod linear;
pub mod numerics;
pub mod rows;
pub mod rules;
pub mod settings;
mod stop_reason;
pub mod votes;
pub mod warnings;

pub(crate) use error::ensure;
pub use error::{Error, Result};
pub use stop_reason::StopReason;
