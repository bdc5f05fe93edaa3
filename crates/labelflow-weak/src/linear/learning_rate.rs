//! How the learning rate changes during a descent.
//!
//! ```text
//! before the warm-up ends   rate(t) = rate · t / w
//! after it, s = t − w       rate(s) = rate · shape(s),   but never below the minimum
//! shape(s)                  1   ·   1 − s / (T − w)   ·   factor^s   ·   factor^⌊s / every⌋
//! ```

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// How the learning rate falls after the warm-up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum LearningRateSchedule {
    /// Not at all.
    #[default]
    Constant,
    /// Along a line that reaches zero after the last epoch.
    Linear,
    /// By the same factor every epoch.
    Exponential {
        /// The factor, such as Snorkel's 0.9.
        factor: f64,
    },
    /// By the same factor every few epochs.
    Step {
        /// The factor, such as Snorkel's 0.9.
        factor: f64,
        /// The number of epochs between two falls, such as Snorkel's 5.
        every: usize,
    },
}

impl LearningRateSchedule {
    /// Checks the numbers of the schedule.
    pub(crate) fn check(self) -> Result<()> {
        match self {
            Self::Exponential { factor } | Self::Step { factor, .. } if !(factor > 0.0 && factor <= 1.0) => {
                Err(Error::config("schedule.factor", "a number above 0, at most 1", factor))
            }
            Self::Step { every: 0, .. } => Err(Error::config("schedule.every", "at least 1 epoch", 0)),
            _ => Ok(()),
        }
    }

    /// What the learning rate is multiplied by, `epoch` epochs after the warm-up, of `n_epochs`.
    fn shape(self, epoch: usize, n_epochs: usize) -> f64 {
        match self {
            Self::Constant => 1.0,
            Self::Linear => 1.0 - epoch as f64 / n_epochs as f64,
            Self::Exponential { factor } => factor.powf(epoch as f64),
            Self::Step { factor, every } => factor.powf((epoch / every) as f64),
        }
    }

    /// The learning rate of every epoch.
    pub(crate) fn rates(self, rate: f64, n_epochs: usize, n_warm_up: usize, minimum: f64) -> impl Iterator<Item = f64> {
        (0..n_epochs).map(move |epoch| {
            if epoch < n_warm_up {
                return rate * epoch as f64 / n_warm_up as f64;
            }
            let since = epoch - n_warm_up;
            let shape = self.shape(since, n_epochs - n_warm_up);
            (rate * shape).max(minimum)
        })
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;

    use super::*;

    fn rates(schedule: LearningRateSchedule, n_warm_up: usize, minimum: f64) -> Vec<f64> {
        schedule.rates(1.0, 6, n_warm_up, minimum).collect()
    }

    #[test]
    fn each_schedule_falls_as_it_says() {
        use LearningRateSchedule::{Constant, Exponential, Linear, Step};
        let near = |found: Vec<f64>, expected: [f64; 6]| {
            assert_abs_diff_eq!(&found[..], &expected[..], epsilon = 1e-12);
        };
        near(rates(Constant, 0, 0.0), [1.0; 6]);
        near(rates(Constant, 4, 0.0), [0.0, 0.25, 0.5, 0.75, 1.0, 1.0]);
        near(rates(Linear, 2, 0.0), [0.0, 0.5, 1.0, 0.75, 0.5, 0.25]);
        let half = Exponential { factor: 0.5 };
        near(rates(half, 0, 0.2), [1.0, 0.5, 0.25, 0.2, 0.2, 0.2]);
        near(rates(Step { factor: 0.5, every: 2 }, 1, 0.0), [0.0, 1.0, 1.0, 0.5, 0.5, 0.25]);
        near(rates(Constant, 9, 0.0), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0].map(|t| t / 9.0));
    }

    #[test]
    fn bad_numbers_are_errors() {
        let error = |schedule: LearningRateSchedule| schedule.check().unwrap_err().to_string();
        let exponential = LearningRateSchedule::Exponential { factor: f64::NAN };
        assert!(error(exponential).starts_with("schedule.factor"));
        let step = LearningRateSchedule::Step { factor: 0.5, every: 0 };
        assert!(error(step).starts_with("schedule.every"));
        assert!(LearningRateSchedule::Step { factor: 1.0, every: 1 }.check().is_ok());
    }
}
