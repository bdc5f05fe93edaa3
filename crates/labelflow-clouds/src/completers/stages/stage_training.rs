//! How one stage of training in several stages proceeds.

use labelflow::training::Adam;

use super::{Schedule, UpdateRule};

settings! {
    checked
    /// One stage: passes over the data with Adam, whose step size shrinks from epoch to epoch.
    pub struct StageTraining {
        /// Passes over the clouds. Default: 2000.
        max_epochs: usize = 2000 => at_least(1),
        /// Clouds of one step, or all when there are fewer; a last batch with fewer is left out. Default: 200.
        batch_size: usize = 200 => at_least(1),
        /// Adam's step size in the first epoch. Default: 5e-4.
        learning_rate: f64 = 5e-4 => positive,
        /// By what the step size is multiplied after every epoch. Default: 0.999.
        learning_rate_decay: f64 = 0.999 => share,
        /// The share of the first step size below which it does not fall. Default: 0.2.
        learning_rate_floor: f64 = 0.2 => share,
        /// How much of the last direction, and of its size, Adam remembers from step to step: β₁ and β₂. Default: 0.9 and 0.999.
        betas: [f64; 2] = Adam::BETAS => each(share_below_one),
    }
}

impl StageTraining {
    /// The same for small networks, that train in seconds.
    pub(crate) fn small(self, max_epochs: usize, learning_rate: f64) -> Self {
        Self { max_epochs, batch_size: 16, learning_rate, ..self }
    }

    /// The step size of an epoch of this stage, counted from 0.
    pub(crate) fn rate(&self, epoch: usize) -> f64 {
        self.learning_rate * self.learning_rate_decay.powf(epoch as f64).max(self.learning_rate_floor)
    }

    /// One update per step along the whole gradient.
    pub(crate) fn rule(&self) -> UpdateRule {
        UpdateRule::plain(self.betas)
    }

    /// The schedule of a stage with so many clouds in an epoch.
    pub(crate) fn schedule(&self, n_clouds: usize) -> Schedule<'_> {
        let steps_per_epoch = n_clouds / self.batch_size.min(n_clouds);
        Schedule { steps_per_epoch, rate: Box::new(move |step| self.rate(step / steps_per_epoch)) }
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
        assert_eq!(stage.schedule(50).steps_per_epoch, 1);
        assert_eq!(stage.schedule(450).steps_per_epoch, 2);
        assert!(StageTraining { betas: [1.0, 0.999], ..stage.clone() }.check_each("players.").is_err());
        assert!(StageTraining { learning_rate_decay: f64::NAN, ..stage }.check_each("players.").is_err());
    }
}
