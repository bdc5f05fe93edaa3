//! How one stage of training in several stages proceeds.

use labelflow::{Error, Result};
use serde::{Deserialize, Serialize};

/// One stage: passes over the data with Adam, whose step size shrinks from epoch to epoch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StageTraining {
    /// Passes over the clouds. Default: 2000.
    pub max_epochs: usize,
    /// Clouds of one step, or all when there are fewer; a last batch with fewer is left out. Default: 200.
    pub batch_size: usize,
    /// Adam's step size in the first epoch. Default: 5e-4.
    pub learning_rate: f64,
    /// By what the step size is multiplied after every epoch. Default: 0.999.
    pub decay: f64,
    /// The share of the first step size below which it does not fall. Default: 0.2.
    pub final_rate: f64,
    /// Adam's β₁: how much of the last direction is remembered. Default: 0.9.
    pub beta_1: f64,
    /// Adam's β₂: how much of the sizes of directions is remembered. Default: 0.999.
    pub beta_2: f64,
}

impl Default for StageTraining {
    fn default() -> Self {
        Self {
            max_epochs: 2000,
            batch_size: 200,
            learning_rate: 5e-4,
            decay: 0.999,
            final_rate: 0.2,
            beta_1: 0.9,
            beta_2: 0.999,
        }
    }
}

impl StageTraining {
    /// The step size of an epoch of this stage, counted from 0.
    pub(crate) fn rate(&self, epoch: usize) -> f64 {
        self.learning_rate * self.decay.powf(epoch as f64).max(self.final_rate)
    }

    /// Adam's β₁ and β₂.
    pub(crate) fn betas(&self) -> [f64; 2] {
        [self.beta_1, self.beta_2]
    }

    /// The clouds of one step.
    pub(crate) fn clouds_a_step(&self, n_clouds: usize) -> usize {
        self.batch_size.min(n_clouds)
    }

    /// The steps of one epoch.
    pub(crate) fn steps_an_epoch(&self, n_clouds: usize) -> usize {
        n_clouds / self.clouds_a_step(n_clouds)
    }

    pub(crate) fn check(&self, stage: &str) -> Result<()> {
        let wrong = |setting: &str, expected: &str, found: f64| {
            Err(Error::config(format!("{stage}.{setting}"), expected, found))
        };
        for (setting, number) in [("max_epochs", self.max_epochs), ("batch_size", self.batch_size)]
        {
            if number == 0 {
                return wrong(setting, "at least 1", 0.0);
            }
        }
        if !(self.learning_rate.is_finite() && self.learning_rate > 0.0) {
            return wrong("learning_rate", "a positive number", self.learning_rate);
        }
        for (setting, share) in [("decay", self.decay), ("final_rate", self.final_rate)] {
            if !(0.0..=1.0).contains(&share) {
                return wrong(setting, "a share between 0 and 1", share);
            }
        }
        for (setting, share) in [("beta_1", self.beta_1), ("beta_2", self.beta_2)] {
            if !(0.0..1.0).contains(&share) {
                return wrong(setting, "a share from 0 to below 1", share);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_falls_to_a_fifth() {
        let stage = StageTraining::default();
        assert_eq!(stage.rate(0), 5e-4);
        assert!((stage.rate(1000) - 5e-4 * 0.999f64.powi(1000)).abs() < 1e-12);
        assert_eq!(stage.rate(5000), 1e-4);
        assert_eq!((stage.clouds_a_step(50), stage.steps_an_epoch(50)), (50, 1));
        assert_eq!(stage.steps_an_epoch(450), 2);
        assert!(StageTraining { beta_1: 1.0, ..stage.clone() }.check("players").is_err());
        assert!(StageTraining { decay: f64::NAN, ..stage }.check("players").is_err());
    }
}
