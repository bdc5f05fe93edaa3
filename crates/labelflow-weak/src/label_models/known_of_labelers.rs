//! What may be known beside the votes: of labelers, and of some rows.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::label_models::KnownLabels;
use crate::labelers::{Bounds, LabelerErrors};
use crate::{Error, Result};

/// What may be known beside the votes. Most label models need none of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KnownOfLabelers {
    /// How often each labeler's votes are wrong. Default: not known.
    pub errors: Option<LabelerErrors>,
    /// How often each labeler may err. Default: not known.
    pub bounds: Option<Bounds>,
    /// The classes of some of the rows. Default: not known.
    pub labels: Option<KnownLabels>,
}

/// What a label model needs to fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Needs {
    /// Signals alone.
    Signals,
    /// Signals, and the error rate of each labeler.
    Errors,
    /// Signals, and the error bounds of each labeler.
    Bounds,
}

impl fmt::Display for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Signals => "signals",
            Self::Errors => "the error rate of each labeler",
            Self::Bounds => "the error bounds of each labeler",
        })
    }
}

/// What a label model must be told of the labelers: nothing, [`LabelerErrors`] or [`Bounds`].
pub trait Knowledge: Sized + 'static {
    /// Which of these it is.
    const NEEDS: Needs;
    /// Whether it is the classes of some rows.
    const USES_LABELS: bool = false;

    /// It, if it is known.
    fn of(known: &KnownOfLabelers) -> Option<&Self>;

    /// It, or an error of the label model of this name.
    fn required<'a>(known: &'a KnownOfLabelers, model: &str) -> Result<&'a Self> {
        Self::of(known).ok_or_else(|| {
            Error::config(model, Self::NEEDS, "none")
                .with_hint("this label model does not learn how good labelers are; it must be told")
        })
    }
}

impl Knowledge for () {
    const NEEDS: Needs = Needs::Signals;

    fn of(_: &KnownOfLabelers) -> Option<&Self> {
        Some(&())
    }
}

/// For label models that use the classes of some rows where they are known.
impl Knowledge for Option<KnownLabels> {
    const NEEDS: Needs = Needs::Signals;
    const USES_LABELS: bool = true;

    fn of(known: &KnownOfLabelers) -> Option<&Self> {
        Some(&known.labels)
    }
}

impl Knowledge for LabelerErrors {
    const NEEDS: Needs = Needs::Errors;

    fn of(known: &KnownOfLabelers) -> Option<&Self> {
        known.errors.as_ref()
    }
}

impl Knowledge for Bounds {
    const NEEDS: Needs = Needs::Bounds;

    fn of(known: &KnownOfLabelers) -> Option<&Self> {
        known.bounds.as_ref()
    }
}
