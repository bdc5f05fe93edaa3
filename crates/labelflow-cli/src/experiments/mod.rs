//! Experiments: systems, run files, and what runs are expected to reach.

pub(crate) mod metric;
pub(crate) mod paired;
pub(crate) mod run_file;
pub(crate) mod summary;
pub(crate) mod systems;
