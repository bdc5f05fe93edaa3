//! How training proceeds, and what one step is.

// Deviation: the paper trains on all rows at once. So does this while a step fits into memory; above that it takes mini-batches.

use std::collections::BTreeMap;

use burn::tensor::{Device, Tensor, TensorData};
use labelflow_flow::{Bijection, Flow, MOMENTUM, Mode, StatisticsRecorder, absorb};
use labelflow_weak::settings::{check_at_least_one, check_positive};
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use super::stream;
use crate::storage::Checkpoint;
use crate::training::{Adam, Batch, Objective, flat_gradient};
use crate::{Error, Result};

/// How training proceeds. The defaults are the paper's for tables and images.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainConfig {
    /// The most passes over the data. Default: 2000.
    pub max_epochs: usize,
    /// Adam's step size at the start. Default: 1e-3.
    pub learning_rate: f64,
    /// The factor on it after every epoch. Default: 0.996.
    pub learning_rate_decay: f64,
    /// The decay ends once the step size is at most this share of the first. Default: 0.01.
    pub learning_rate_floor: f64,
    /// How much of the last direction, and of its size, Adam remembers from step to step: β₁ and β₂. Default: 0.9 and 0.999.
    pub betas: [f64; 2],
    /// Longer gradients are shortened to this norm. Default: 1000.
    pub max_gradient_norm: f64,
    /// The rows of one step. Default: auto.
    pub batch_size: BatchSize,
    /// The stopping rule is not looked at before this epoch. Default: 500.
    pub min_epochs: usize,
    /// Training stops when the loss changes by less than this share (plus 1e-8) from one epoch to the next. Default: 1e-5.
    pub tolerance: f64,
}

impl Default for TrainConfig {
    fn default() -> Self {
        Self {
            max_epochs: 2000,
            learning_rate: 1e-3,
            learning_rate_decay: 0.996,
            learning_rate_floor: 0.01,
            betas: Adam::BETAS,
            max_gradient_norm: 1000.0,
            batch_size: BatchSize::Auto,
            min_epochs: 500,
            tolerance: 1e-5,
        }
    }
}

/// A named way to train.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// As in the paper: all rows in each of up to 2000 steps.
    #[default]
    Paper,
    /// 180 passes with larger steps, in batches of 1024 rows: an eleventh of the work.
    Fast,
    /// Eight small flows side by side for 90 such passes, averaged in prediction.
    Ensemble,
}

impl Preset {
    /// The settings for a dataset of this many rows.
    pub fn training(self, n_rows: usize) -> TrainConfig {
        match self {
            Self::Paper => TrainConfig::default(),
            Self::Fast => TrainConfig::fast(n_rows),
            Self::Ensemble => TrainConfig::ensemble(n_rows),
        }
    }
}

/// How many rows a training step sees.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BatchSize {
    /// All rows when a step then needs no more than about 6 GB, else as many as need about 1 GB.
    #[default]
    Auto,
    /// All rows, as in the paper.
    Full,
    /// About this many; statistics over all rows are tracked across batches.
    Rows(usize),
}

/// What one epoch came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EpochRecord {
    /// Counted from 0.
    pub epoch: usize,
    /// What was minimised, before the step.
    pub loss: f64,
    /// The parts of the objective without their weights.
    pub terms: BTreeMap<String, f64>,
    /// Adam's step size.
    pub learning_rate: f64,
    /// The length of the gradient before clipping; NaN or infinite when the step was skipped.
    #[serde(deserialize_with = "number_or_null")]
    pub gradient_norm: f64,
}

impl EpochRecord {
    /// The means over the steps of an epoch, with terms of these names.
    pub fn of_steps(epoch: usize, steps: &[StepNumbers], names: &[impl AsRef<str>], learning_rate: f64) -> Self {
        let mean = |number: &dyn Fn(&StepNumbers) -> f64| steps.iter().map(number).sum::<f64>() / steps.len() as f64;
        let terms = names.iter().enumerate();
        Self {
            epoch,
            loss: mean(&|step| step.loss),
            terms: terms.map(|(index, name)| (name.as_ref().to_owned(), mean(&|step| step.terms[index]))).collect(),
            learning_rate,
            gradient_norm: mean(&|step| step.gradient_norm),
        }
    }
}

/// JSON has no NaN and no infinity: both are written as null.
fn number_or_null<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

/// Why training ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// The loss hardly changed from one epoch to the next.
    Converged,
    /// There were no epochs left.
    MaxEpochs,
    /// There was no time left.
    TimeLimit,
    /// Someone ended it.
    Interrupted,
}

/// The course of training.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Every epoch; none of a model that was loaded without its `metrics.jsonl`.
    pub history: Vec<EpochRecord>,
    /// How many epochs there were.
    pub n_epochs: usize,
    /// Why it ended.
    pub stop: StopReason,
}

/// Each leaves a line in the history of a model.
const MOST_EPOCHS: usize = 10_000_000;

impl TrainConfig {
    /// [`Preset::Fast`] for a dataset of `n_rows`: 180 passes in batches of 1024 rows, fewer of very many rows.
    pub fn fast(n_rows: usize) -> Self {
        Self::short(n_rows, 180, 0.25)
    }

    /// [`Preset::Ensemble`] for a dataset of `n_rows`: half as many passes as [`fast`](Self::fast).
    pub fn ensemble(n_rows: usize) -> Self {
        Self::short(n_rows, 90, 0.2)
    }

    /// At most so many passes in batches of 1024 rows, with step sizes of this sum.
    ///
    /// What a weight can travel is the sum of all step sizes. It is as large as in the paper, where it is mostly spent in the first 500
    /// of 2000 steps: training that travels farther loses accuracy, training that travels less has not arrived. Adam remembers the size
    /// of gradients for a tenth of the steps, and their direction for a sixtieth: with its usual memory, of a thousand and of ten steps,
    /// a short training is led by its first gradients to the end.
    fn short(n_rows: usize, max_epochs: usize, sum_of_step_sizes: f64) -> Self {
        const BATCH_ROWS: usize = 1024;
        const MAX_STEPS: usize = 3000;
        const LAST_STEP_SIZE: f64 = 0.2;
        const REMEMBERED_SHARES: [f64; 2] = [1.0 / 60.0, 1.0 / 10.0];
        let n_batches = n_rows.div_ceil(BATCH_ROWS).max(1);
        let epochs = (MAX_STEPS / n_batches).clamp(1, max_epochs);
        let decay = LAST_STEP_SIZE.powf(1.0 / epochs as f64);
        let sum_of_decays = n_batches as f64 * (1.0 - LAST_STEP_SIZE) / (1.0 - decay);
        let n_steps = (n_batches * epochs) as f64;
        let mut betas = Adam::BETAS;
        for (beta, share) in betas.iter_mut().zip(REMEMBERED_SHARES) {
            *beta = (1.0 - (share * n_steps).recip()).clamp(0.0, *beta);
        }
        Self {
            max_epochs: epochs,
            learning_rate: sum_of_step_sizes / sum_of_decays,
            learning_rate_decay: decay,
            learning_rate_floor: LAST_STEP_SIZE,
            betas,
            batch_size: BatchSize::Rows(BATCH_ROWS),
            min_epochs: epochs,
            ..Self::default()
        }
    }

    pub(crate) fn check(&self) -> Result<()> {
        let shares =
            [("learning_rate_decay", self.learning_rate_decay), ("learning_rate_floor", self.learning_rate_floor)];
        check_positive(&[("learning_rate", self.learning_rate), ("max_gradient_norm", self.max_gradient_norm)])?;
        check_positive(&shares)?;
        if let Some((setting, share)) = shares.into_iter().find(|(_, share)| *share > 1.0) {
            return Err(Error::config(setting, "at most 1", share));
        }
        if self.tolerance.is_nan() || self.tolerance < 0.0 {
            return Err(Error::config("tolerance", "a number that is not negative", self.tolerance));
        }
        if let Some(beta) = self.betas.into_iter().find(|beta| !(0.0..1.0).contains(beta)) {
            return Err(Error::config("betas", "two shares of at least 0 and below 1", beta));
        }
        check_at_least_one(&[("max_epochs", self.max_epochs)])?;
        if self.max_epochs > MOST_EPOCHS {
            return Err(Error::config("max_epochs", format!("at most {MOST_EPOCHS}"), self.max_epochs));
        }
        if let BatchSize::Rows(rows @ 0..=1) = self.batch_size {
            return Err(Error::config("batch_size", "at least 2 rows", rows));
        }
        Ok(())
    }

    /// The same settings, with no epoch left after a checkpoint.
    pub(crate) fn ending_at(&self, checkpoint: &Checkpoint) -> Self {
        Self { max_epochs: checkpoint.history.len(), ..self.clone() }
    }

    /// The share of the epochs that has passed before this one, of all but the last.
    pub(crate) fn progress(&self, epoch: usize) -> f64 {
        epoch as f64 / self.max_epochs.saturating_sub(1).max(1) as f64
    }

    /// The step size of an epoch: it decays until it has reached its floor, and stays there.
    pub(crate) fn learning_rate(&self, epoch: usize) -> f64 {
        let n_decays = self.learning_rate_floor.ln() / self.learning_rate_decay.ln();
        let n_decays = if n_decays.is_finite() { n_decays.ceil() as i32 } else { 0 };
        self.learning_rate * self.learning_rate_decay.powi(n_decays.min(epoch as i32))
    }

    /// The share by which weights shrink after a step of an epoch. It fades faster than the step size, so that in the end weights go
    /// where the constraints want them.
    pub(crate) fn weight_decay(&self, epoch: usize, at_start: f64) -> f64 {
        let learning_rate = self.learning_rate(epoch);
        at_start * learning_rate * (learning_rate / self.learning_rate)
    }

    pub(crate) fn has_converged(&self, history: &[EpochRecord]) -> bool {
        let [.., previous, last] = history else {
            return false;
        };
        last.epoch >= self.min_epochs
            && (last.loss - previous.loss).abs() <= 1e-8 + self.tolerance * previous.loss.abs()
    }

    /// The most rows of a step, of rows in memory whose activations take this many bytes each.
    pub(crate) fn batch_rows(&self, n_rows: usize, bytes_per_row: usize) -> usize {
        const FULL_BATCH_BYTES: usize = 6 << 30;
        const MINI_BATCH_BYTES: usize = 1 << 30;
        match self.batch_size {
            BatchSize::Full => n_rows,
            BatchSize::Rows(rows) => rows,
            BatchSize::Auto if n_rows * bytes_per_row <= FULL_BATCH_BYTES => n_rows,
            BatchSize::Auto => (MINI_BATCH_BYTES / bytes_per_row).max(2),
        }
    }
}

/// What one step sees.
#[derive(Debug)]
pub(crate) struct StepInput<'a> {
    /// `[n_batch, d_features]`
    pub(crate) features: Tensor<2>,
    /// `[n_batch, d_labels]`
    pub(crate) noise: Tensor<2>,
    /// Which rows these are.
    pub(crate) batch: &'a Batch<'a>,
}

/// One step: noise becomes labels, the objective judges them, the weights follow the gradient.
pub(crate) fn step<B: Bijection>(
    flow: Flow<B>,
    adam: &mut Adam,
    objective: &Objective,
    input: StepInput<'_>,
    config: &TrainConfig,
    epoch: usize,
) -> Result<(Flow<B>, Tensor<2>, StepNumbers)> {
    let recorder = StatisticsRecorder::default();
    let mode = Mode::Train(&recorder);
    let (labels, log_prob) = flow.sample_with_log_prob(input.noise, input.features, mode);
    let value = objective.evaluate(&labels, log_prob, input.batch, config.progress(epoch));
    let gradient = flat_gradient(&flow, value.loss.backward());
    let numbers = numbers_of(step_numbers(value.loss, value.terms, &gradient));
    numbers.check_finite(&objective.terms(), epoch)?;
    let flow = match clip(gradient, numbers.gradient_norm, config.max_gradient_norm) {
        Some(gradient) => adam.step(flow, gradient, config.learning_rate(epoch)),
        None => flow,
    };
    Ok((absorb(flow, recorder, MOMENTUM), labels, numbers))
}

/// What the activations of a row take: the bank's output, with intermediate results and gradients three times over in the fused
/// operations of the CPU, and some twelve times over in compositions of tensor operations.
pub(crate) fn bytes_per_row<B: Bijection>(flow: &Flow<B>, device: &Device) -> usize {
    let [n_networks, d_hidden, _] = flow.bank.second.weight.dims();
    let times = if *device == Device::flex() { 3 } else { 12 };
    n_networks * d_hidden * size_of::<f32>() * times
}

/// One draw for every row, the same whatever the batches.
pub(crate) fn draw_noise(rng: ChaCha8Rng, n_rows: usize, d_labels: usize) -> Vec<f32> {
    StandardNormal.sample_iter(rng).take(n_rows * d_labels).collect()
}

pub(crate) fn select_noise(noise: &[f32], indices: &[i64], d_labels: usize) -> TensorData {
    let row = |&index: &i64| &noise[index as usize * d_labels..][..d_labels];
    let selected: Vec<f32> = indices.iter().flat_map(row).copied().collect();
    TensorData::new(selected, [indices.len(), d_labels])
}

/// The rows of an epoch's batches, of nearly equal size; in order when there is one batch, shuffled otherwise.
pub(crate) fn batches(seed: u64, index: u64, n_rows: usize, n_batches: usize) -> Vec<Vec<i64>> {
    let mut rows: Vec<i64> = (0..n_rows as i64).collect();
    if n_batches > 1 {
        rows.shuffle(&mut stream(seed, "batches", index));
    }
    let start = |batch: usize| batch * n_rows / n_batches;
    (0..n_batches).map(|batch| rows[start(batch)..start(batch + 1)].to_vec()).collect()
}

/// The numbers of one step, on the host.
#[derive(Debug)]
pub struct StepNumbers {
    /// What the step lowers.
    pub loss: f64,
    /// Its terms.
    pub terms: Vec<f64>,
    /// The length of its gradient, before it is clipped.
    pub gradient_norm: f64,
}

impl StepNumbers {
    /// From the loss, the length of the gradient and the terms, in this order.
    pub fn of(numbers: &[f64]) -> Self {
        Self { loss: numbers[0], gradient_norm: numbers[1], terms: numbers[2..].to_vec() }
    }

    /// Fails when a term or the loss is not a number.
    pub fn check_finite(&self, names: &[impl AsRef<str>], epoch: usize) -> Result<()> {
        let named = names.iter().map(AsRef::as_ref).zip(self.terms.iter().copied());
        match named.chain([("loss", self.loss)]).find(|(_, value)| !value.is_finite()) {
            Some((term, value)) => Err(Error::NotFinite { term: term.to_owned(), value, epoch }),
            None => Ok(()),
        }
    }
}

/// The numbers of a step in one tensor, so that they are fetched at once: every fetch waits for the device.
pub(crate) fn step_numbers(loss: Tensor<1>, terms: Tensor<1>, gradient: &Tensor<1>) -> Tensor<1> {
    let norm = gradient.clone().square().sum().sqrt();
    Tensor::cat(vec![loss.inner(), norm, terms.inner()], 0)
}

/// Fetches the [numbers](step_numbers) of a step.
pub(crate) fn numbers_of(numbers: Tensor<1>) -> StepNumbers {
    StepNumbers::of(&numbers.into_data().iter::<f64>().collect::<Vec<_>>())
}

/// The gradient with at most this norm; none when its norm is not a number, and the step must be skipped.
pub(crate) fn clip(gradient: Tensor<1>, norm: f64, max_norm: f64) -> Option<Tensor<1>> {
    if !norm.is_finite() {
        return None;
    }
    Some(if norm > max_norm { gradient * (max_norm / (norm + 1e-6)) } else { gradient })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_a_skipped_step_can_be_read_again() {
        let record = EpochRecord {
            epoch: 0,
            loss: 0.1,
            terms: BTreeMap::new(),
            learning_rate: 1e-3,
            gradient_norm: f64::INFINITY,
        };
        let json = serde_json::to_string(&record).unwrap();
        let read: EpochRecord = serde_json::from_str(&json).unwrap();
        assert!(read.gradient_norm.is_nan());
        assert_eq!(serde_json::to_string(&read).unwrap(), json);
        let toml = toml::to_string(&record).unwrap();
        assert_eq!(toml::from_str::<EpochRecord>(&toml).unwrap(), record);
    }

    #[test]
    fn the_step_size_reaches_its_floor_after_1149_epochs() {
        let config = TrainConfig::default();
        let share = |epoch| config.learning_rate(epoch) / config.learning_rate;
        assert_eq!(share(0), 1.0);
        assert!((share(1) - 0.996).abs() < 1e-12);
        assert!(share(1148) > 0.01 && share(1149) < 0.01);
        assert_eq!(share(1149), share(2000));
    }

    #[test]
    fn the_fast_preset_goes_as_far_as_the_papers() {
        for (n_rows, max_epochs) in [(1, 180), (228, 180), (6000, 180), (100_000, 30)] {
            let config = Preset::Fast.training(n_rows);
            config.check().unwrap();
            assert_eq!(config.max_epochs, max_epochs, "{n_rows}");
            let last = config.learning_rate(max_epochs) / config.learning_rate;
            assert!((last - 0.2).abs() < 1e-9, "{last}");
            let sum: f64 = (0..max_epochs).map(|epoch| config.learning_rate(epoch)).sum();
            let n_batches = n_rows.div_ceil(1024) as f64;
            assert!((sum * n_batches - 0.25).abs() < 1e-9, "{n_rows}: {sum}");
        }
    }

    #[test]
    fn the_fast_preset_remembers_a_share_of_its_course() {
        let steps_remembered = |n_rows| Preset::Fast.training(n_rows).betas.map(|beta| 1.0 / (1.0 - beta));
        for (n_rows, expected) in [(228, [3.0, 18.0]), (2000, [6.0, 36.0]), (100_000, [10.0, 294.0])] {
            for (remembered, expected) in steps_remembered(n_rows).into_iter().zip(expected) {
                assert!((remembered - expected).abs() < 1e-6, "{n_rows}: {remembered}");
            }
        }
    }

    #[test]
    fn training_stops_on_a_small_change_but_not_early() {
        let config = TrainConfig::default();
        let record =
            |epoch, loss| EpochRecord { epoch, loss, terms: BTreeMap::new(), learning_rate: 0.0, gradient_norm: 0.0 };
        assert!(config.has_converged(&[record(499, -3.0), record(500, -3.00002)]));
        assert!(!config.has_converged(&[record(499, -3.0), record(500, -3.0001)]));
        assert!(!config.has_converged(&[record(498, -3.0), record(499, -3.0)]));
    }

    #[test]
    fn batches_are_a_partition_of_nearly_equal_sizes() {
        for (n_rows, n_batches) in [(10, 1), (10, 3), (7, 3)] {
            let batches = batches(1, 2, n_rows, n_batches);
            let sizes: Vec<usize> = batches.iter().map(Vec::len).collect();
            assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
            let mut rows: Vec<i64> = batches.concat();
            rows.sort_unstable();
            assert_eq!(rows, (0..n_rows as i64).collect::<Vec<_>>());
        }
    }
}
