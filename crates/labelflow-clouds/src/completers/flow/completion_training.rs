//! How training of a completer proceeds.

use labelflow::{Error, Result};
use serde::{Deserialize, Serialize};

/// How training of a completer proceeds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CompletionTraining {
    /// Passes over the partial clouds. Default: 100.
    pub max_epochs: usize,
    /// Clouds of one step; a last batch with fewer is left out. Default: 32.
    pub batch_size: usize,
    /// Adam's step size, of both players. Default: 5e-4.
    pub learning_rate: f64,
    /// The discriminator's step size as a share of it. Default: 1.
    pub discriminator_rate: f64,
    /// The step size grows over so many steps at the start. Default: 100.
    pub warmup_steps: usize,
    /// The share of the step size that is left at the end; it falls along half a cosine. 1 keeps it constant. Default: 0.02.
    pub final_rate: f64,
    /// Longer gradients are shortened to this norm. Default: 1000.
    pub max_gradient_norm: f64,
    /// The generator that is kept is a moving average of its weights, which remembers this share from step to step. 0 keeps the last
    /// weights. Default: 0.999.
    pub averaging: f64,
    /// After training, normalisation statistics are those of so many batches under the final weights. Default: 200.
    pub statistics_batches: usize,
}

impl Default for CompletionTraining {
    fn default() -> Self {
        Self {
            max_epochs: 100,
            batch_size: 32,
            learning_rate: 5e-4,
            discriminator_rate: 1.0,
            warmup_steps: 100,
            final_rate: 0.02,
            max_gradient_norm: 1000.0,
            averaging: 0.999,
            statistics_batches: 200,
        }
    }
}

impl CompletionTraining {
    /// As in the paper, where it says.
    pub fn paper() -> Self {
        Self {
            max_epochs: 2000,
            learning_rate: 1e-4,
            warmup_steps: 0,
            final_rate: 1.0,
            averaging: 0.0,
            ..Self::default()
        }
    }

    pub(crate) fn check(&self) -> Result<()> {
        for (setting, value) in [
            ("learning_rate", self.learning_rate),
            ("discriminator_rate", self.discriminator_rate),
            ("max_gradient_norm", self.max_gradient_norm),
        ] {
            if !(value.is_finite() && value > 0.0) {
                return Err(Error::config(setting, "a positive number", value));
            }
        }
        for (setting, share) in [("final_rate", self.final_rate), ("averaging", self.averaging)] {
            if !(0.0..=1.0).contains(&share) {
                return Err(Error::config(setting, "a share between 0 and 1", share));
            }
        }
        for (setting, number, least) in [
            ("max_epochs", self.max_epochs, 1),
            ("batch_size", self.batch_size, 2),
            ("statistics_batches", self.statistics_batches, 1),
        ] {
            if number < least {
                return Err(Error::config(setting, format!("at least {least}"), number));
            }
        }
        Ok(())
    }

    /// The step size of a step.
    pub(crate) fn rate(&self, step: usize, n_steps: usize) -> f64 {
        let warmth = ((step + 1) as f64 / self.warmup_steps.max(1) as f64).min(1.0);
        let progress = step as f64 / n_steps as f64;
        let cosine = 0.5 + 0.5 * (std::f64::consts::PI * progress).cos();
        self.learning_rate * warmth * (self.final_rate + (1.0 - self.final_rate) * cosine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_warms_up_and_falls() {
        let training = CompletionTraining {
            learning_rate: 1.0,
            warmup_steps: 10,
            final_rate: 0.1,
            ..CompletionTraining::default()
        };
        assert!((training.rate(0, 1000) - 0.1).abs() < 1e-6);
        assert!((training.rate(500, 1000) - 0.55).abs() < 1e-9);
        assert!((training.rate(999, 1000) - 0.1).abs() < 1e-4);
        let constant = CompletionTraining::paper();
        assert_eq!(constant.rate(0, 7), 1e-4);
        assert_eq!(constant.rate(6, 7), 1e-4);
    }
}
