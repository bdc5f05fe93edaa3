//! The numbers of training steps. They stay on their device until an epoch has ended: every fetch waits for the device.

use burn::tensor::Tensor;
use labelflow::training::EpochRecord;
use labelflow::{Error, Result};

/// The length of a gradient, `[1]`.
pub(crate) fn norm(gradient: &Tensor<1>) -> Tensor<1> {
    gradient.clone().square().sum().sqrt()
}

/// The numbers of one step as one tensor: the loss, the length of its gradient, and the terms.
pub(crate) fn step_numbers(
    loss: Tensor<1>,
    gradient_norm: Tensor<1>,
    terms: impl IntoIterator<Item = Tensor<1>>,
) -> Tensor<1> {
    Tensor::cat([loss, gradient_norm].into_iter().chain(terms).collect(), 0)
}

/// The [numbers](step_numbers) of the steps of an epoch.
#[derive(Debug, Default)]
pub(crate) struct EpochNumbers {
    steps: Vec<Tensor<1>>,
}

impl EpochNumbers {
    /// Those of one more step.
    pub(crate) fn add(&mut self, numbers: &Tensor<1>) {
        // A copy: a recording writes those of its next repetition over them.
        self.steps.push(numbers.clone() * 1.0);
    }

    /// Fetches all of them: the means of an epoch whose terms have these names.
    pub(crate) fn read(
        self,
        names: &[&str],
        epoch: usize,
        learning_rate: f64,
    ) -> Result<EpochRecord> {
        let n_steps = self.steps.len() as f64;
        let numbers: Vec<f64> = Tensor::cat(self.steps, 0).into_data().iter::<f64>().collect();
        let mut sums = vec![0.0; 2 + names.len()];
        for step in numbers.chunks(sums.len()) {
            let terms = names.iter().zip(&step[2..]);
            if let Some((term, &value)) = terms.into_iter().find(|(_, value)| !value.is_finite()) {
                return Err(Error::NotFinite { term: (*term).to_owned(), value, epoch });
            }
            sums.iter_mut().zip(step).for_each(|(sum, value)| *sum += value);
        }
        let mean = |index: usize| sums[index] / n_steps;
        let terms = names.iter().enumerate();
        Ok(EpochRecord {
            epoch,
            loss: mean(0),
            terms: terms.map(|(index, name)| ((*name).to_owned(), mean(2 + index))).collect(),
            learning_rate,
            gradient_norm: mean(1),
        })
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    #[test]
    fn records_are_means_and_the_first_bad_term_is_named() {
        let device = Device::flex();
        let mut numbers = EpochNumbers::default();
        for step in [[1.0, 2.0, 3.0, 4.0], [3.0, 2.0, 5.0, 0.0]] {
            numbers.add(&Tensor::from_floats(step, &device));
        }
        let record = numbers.read(&["a", "b"], 7, 0.5).unwrap();
        assert_eq!((record.epoch, record.loss, record.gradient_norm), (7, 2.0, 2.0));
        assert_eq!((record.terms["a"], record.terms["b"]), (4.0, 2.0));
        assert_eq!(record.learning_rate, 0.5);
        let mut numbers = EpochNumbers::default();
        for step in [[1.0, f32::NAN, 3.0, 4.0], [3.0, 2.0, 5.0, f32::INFINITY]] {
            numbers.add(&Tensor::from_floats(step, &device));
        }
        let error = numbers.read(&["a", "b"], 7, 0.5).unwrap_err().to_string();
        assert!(error.contains('b') && error.contains('7'), "{error}");
    }
}
