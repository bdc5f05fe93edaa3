//! How training of a completer proceeds.

settings! {
    checked
    /// How training of a completer proceeds.
    pub struct CompletionTraining {
        /// Passes over the partial clouds. Default: 100.
        max_epochs: usize = 100 => at_least(1),
        /// Clouds of one step; a last batch with fewer is left out. Default: 32.
        batch_size: usize = 32 => at_least(2),
        /// Adam's step size, of both networks. Default: 5e-4.
        learning_rate: f64 = 5e-4 => positive,
        /// The discriminator's step size as a share of it. Default: 1.
        discriminator_rate: f64 = 1.0 => positive,
        /// The step size grows over so many steps at the start. Default: 100.
        warmup_steps: usize = 100,
        /// The share of the step size that is left at the end; it falls along half a cosine. 1 keeps it constant. Default: 0.02.
        #[serde(alias = "final_rate")]
        learning_rate_floor: f64 = 0.02 => share,
        /// Longer gradients are shortened to this norm. Default: 1000.
        max_gradient_norm: f64 = 1000.0 => positive,
        /// The generator that is kept is a moving average of its weights, which remembers this share from step to step. 0 keeps the last
        /// weights. Default: 0.999.
        averaging: f64 = 0.999 => share,
        /// After training, normalisation statistics are those of so many batches under the final weights. Default: 200.
        statistics_batches: usize = 200 => at_least(1),
    }
}

impl CompletionTraining {
    /// As in the paper, where it says.
    pub fn paper() -> Self {
        Self {
            max_epochs: 2000,
            learning_rate: 1e-4,
            warmup_steps: 0,
            learning_rate_floor: 1.0,
            averaging: 0.0,
            ..Self::default()
        }
    }

    /// The step size of a step.
    pub(crate) fn rate(&self, step: usize, n_steps: usize) -> f64 {
        let warmth = ((step + 1) as f64 / self.warmup_steps.max(1) as f64).min(1.0);
        let progress = step as f64 / n_steps as f64;
        let cosine = 0.5 + 0.5 * (std::f64::consts::PI * progress).cos();
        self.learning_rate * warmth * (self.learning_rate_floor + (1.0 - self.learning_rate_floor) * cosine)
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
            learning_rate_floor: 0.1,
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
