//! One file a command.

pub(crate) mod analyze;
mod analyze_patterns;
pub(crate) mod calibrate;
pub(crate) mod complete;
pub(crate) mod completions;
pub(crate) mod data;
pub(crate) mod demo;
pub(crate) mod eval;
mod export;
pub(crate) mod fit;
pub(crate) mod label;
mod label_patterns;
pub(crate) mod man;
pub(crate) mod metrics;
pub(crate) mod predict;
mod predict_parts;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod votes;
