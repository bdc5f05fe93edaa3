//! Votes and classes as two arrays.

use labelflow_weak::rows::Truth;

use crate::catalog::VoteProblem;
use crate::catalog::catalog_entry::Source;
use crate::inputs::{SignalsOptions, read_labels, read_signals};
use crate::{Error, Result};
