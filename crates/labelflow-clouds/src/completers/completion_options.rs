//! What users choose when completing.

use labelflow::{Error, Result};
use serde::{Deserialize, Serialize};

/// Where the latent u comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LatentSource {
    /// From q(u|x), as in training.
    #[default]
    Posterior,
    /// From N(0, I): more different completions, some of them less fitting.
    Prior,
}

/// How a scan is completed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CompletionOptions {
    /// Completions of each scan. Default: 10.
    pub n_completions: usize,
    /// Points of each; none takes as many as in training. Default: none.
    pub n_points: Option<usize>,
    /// Where the latent comes from. Default: posterior.
    pub latent: LatentSource,
    /// A factor on the deviation of the latent and of the noise: below 1 completions are less different. Default: 1.
    pub temperature: f64,
    /// Whether the scan's own points are part of each completion: they are added, and then as many points as wanted are drawn.
    /// Default: false.
    pub keep_input: bool,
    /// The seed of the noise. Default: 0.
    pub seed: u64,
}

impl Default for CompletionOptions {
    fn default() -> Self {
        Self {
            n_completions: 10,
            n_points: None,
            latent: LatentSource::Posterior,
            temperature: 1.0,
            keep_input: false,
            seed: 0,
        }
    }
}

impl CompletionOptions {
    pub(crate) fn check(&self) -> Result<()> {
        if self.n_completions == 0 {
            return Err(Error::config("n_completions", "at least 1", 0));
        }
        if self.n_points == Some(0) {
            return Err(Error::config("n_points", "at least 1", 0));
        }
        if !(self.temperature.is_finite() && self.temperature >= 0.0) {
            let expected = "a number that is not negative";
            return Err(Error::config("temperature", expected, self.temperature));
        }
        Ok(())
    }
}
