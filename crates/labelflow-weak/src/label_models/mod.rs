//! Label models turn signals into soft labels without looking at features.
//!
//! Each is a struct of settings, such as [`DawidSkene`], whose `fit` gives another struct, such as [`FittedDawidSkene`].
//! [`LabelModel`] and [`FittedLabelModel`] say what all of them do; [`AnyLabelModel`] has them by name.
//!
//! Each learns from [`CountedVotes`](crate::votes::CountedVotes), distinct rows of votes with counts, which may come from several files
//! or machines. Those that must know how common each class is take a [`ClassBalance`].

mod any_label_model;
pub(crate) mod class_balance;
mod class_coins;
mod known_labels;
mod known_of_labelers;
mod label_model;
pub(crate) mod label_warnings;
mod models;
mod one_class_labelers;
mod one_coin;
pub(crate) mod overlaps;
#[cfg(test)]
pub(crate) mod planted;
mod row_to_relabel;
pub(crate) mod signal_shape;
mod tempering;

pub use class_balance::ClassBalance;
pub use known_labels::KnownLabels;
pub use known_of_labelers::{Knowledge, KnownOfLabelers, Needs};
pub use label_model::{FittedLabelModel, LabelModel};
pub use label_warnings::{LabelWarning, label_warnings};
pub use models::*;
pub use row_to_relabel::{RowToRelabel, rows_to_relabel};
pub(crate) use signal_shape::SignalShape;
