//! What users choose when completing.

use labelflow::Result;
use serde::{Deserialize, Serialize};

use crate::completers::settings_check;

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

settings! {
    /// How a scan is completed.
    pub struct CompletionOptions {
        /// Completions of each scan. Default: 10.
        n_completions: usize = 10,
        /// Points of each; none takes as many as in training. Default: none.
        n_points: Option<usize> = None,
        /// Where the latent comes from. Default: posterior.
        latent: LatentSource = LatentSource::Posterior,
        /// A factor on the deviation of the latent and of the noise: below 1 completions are less different. Default: 1.
        temperature: f64 = 1.0,
        /// Whether the scan's own points are part of each completion: they are added, and then as many points as wanted are drawn.
        /// Default: false.
        keep_input: bool = false,
        /// The seed of the noise. Default: 0.
        seed: u64 = 0,
    }
}

impl CompletionOptions {
    pub(crate) fn check(&self) -> Result<()> {
        let n_points = self.n_points.unwrap_or(1);
        settings_check::at_least_one(&[
            ("n_completions", self.n_completions),
            ("n_points", n_points),
        ])?;
        settings_check::not_negative(&[("temperature", self.temperature)])
    }
}
