//! The numbers of training steps, and what is done with them.

use std::collections::BTreeMap;

use burn::module::Module;
use burn::tensor::Tensor;

use crate::adam::Adam;
use crate::train::clip;
use crate::{EpochRecord, Error, Result};

/// A module after one step; the same one when its gradient is not a number.
pub(crate) fn moved<M: Module>(
    optimizer: &mut Adam,
    module: M,
    gradient: Tensor<1>,
    numbers: &StepNumbers,
    rate: f64,
) -> M {
    match clip(gradient, numbers.gradient_norm, f64::INFINITY) {
        Some(gradient) => optimizer.step(module, gradient, rate),
        None => module,
    }
}

/// The numbers of one step, on the host, or sums of them.
#[derive(Default)]
pub(crate) struct StepNumbers {
    pub(crate) loss: f64,
    pub(crate) gradient_norm: f64,
    pub(crate) terms: BTreeMap<&'static str, f64>,
}

impl StepNumbers {
    /// All in one fetch: every fetch waits for the device.
    pub(crate) fn fetch(
        loss: Tensor<1>,
        gradient: &Tensor<1>,
        terms: &[(&'static str, Tensor<1>)],
    ) -> Self {
        let mut parts = vec![loss, gradient.clone().square().sum().sqrt()];
        parts.extend(terms.iter().map(|(_, term)| term.clone()));
        let numbers: Vec<f64> = Tensor::cat(parts, 0).into_data().iter::<f64>().collect();
        let names = terms.iter().map(|(name, _)| *name);
        Self {
            loss: numbers[0],
            gradient_norm: numbers[1],
            terms: names.zip(numbers[2..].iter().copied()).collect(),
        }
    }

    pub(crate) fn check(&self, epoch: usize) -> Result<()> {
        match self.terms.iter().find(|(_, value)| !value.is_finite()) {
            Some((term, &value)) => {
                Err(Error::NotFinite { term: (*term).to_owned(), value, epoch })
            }
            None => Ok(()),
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.loss += other.loss;
        self.gradient_norm += other.gradient_norm;
        for (name, value) in other.terms {
            *self.terms.entry(name).or_default() += value;
        }
    }

    pub(crate) fn mean(self, n_steps: usize, epoch: usize, learning_rate: f64) -> EpochRecord {
        let n = n_steps as f64;
        EpochRecord {
            epoch,
            loss: self.loss / n,
            terms: self.terms.iter().map(|(name, value)| ((*name).to_owned(), value / n)).collect(),
            learning_rate,
            gradient_norm: self.gradient_norm / n,
        }
    }
}
