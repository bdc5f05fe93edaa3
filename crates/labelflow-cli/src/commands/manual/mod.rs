//! `labelflow completions` and `labelflow man`.

pub(crate) mod args;
pub(crate) mod completions;
pub(crate) mod man;
