//! What can be said of bounds in a file or on the command line.

use std::path::Path;

use anyhow::{Context, bail};
use labelflow::labelers::AutoBounds;
use labelflow::{Bounds, WeakSignals};
use labelflow_data::inputs::read_bounds;
use serde::{Deserialize, Serialize};

use crate::terminal::output;

/// A number, `auto`, or a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum BoundsSetting {
    Number(f64),
    Named(String),
}

impl From<&str> for BoundsSetting {
    fn from(text: &str) -> Self {
        text.parse().map_or_else(|_| Self::Named(text.to_owned()), Self::Number)
    }
}

impl Default for BoundsSetting {
    fn default() -> Self {
        Self::Named("auto".to_owned())
    }
}

impl BoundsSetting {
    /// Whether they are estimated.
    pub(crate) fn is_auto(&self) -> bool {
        matches!(self, Self::Named(name) if name == "auto")
    }

    /// The file that has them, if one is named.
    pub(crate) fn file(&mut self) -> Option<&mut String> {
        match self {
            Self::Named(name) if name != "auto" => Some(name),
            _ => None,
        }
    }

    /// The bounds of these signals; doubts about estimated ones are said.
    pub(crate) fn resolve(&self, signals: &WeakSignals) -> anyhow::Result<Bounds> {
        Ok(match self {
            Self::Number(bound) if !(0.0..=1.0).contains(bound) => {
                bail!("bounds: expected an error rate from 0 to 1, 'auto' or a file, found {bound}")
            }
            Self::Number(bound) => Bounds::constant(*bound, signals)?,
            Self::Named(name) if name == "auto" => Self::note_auto(Bounds::auto(signals).context("bounds = auto")?),
            Self::Named(path) => read_bounds(Path::new(path), signals)?,
        })
    }

    /// Estimated bounds, after doubts about them were said.
    pub(crate) fn note_auto(auto: AutoBounds) -> Bounds {
        for warning in &auto.warnings {
            output::warn_text("bounds", "estimated-bounds", warning);
        }
        auto.bounds
    }
}
