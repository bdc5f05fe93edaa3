//! Batch normalisation over rows, for several groups of channels at once.
//!
//! ```text
//! ŷ = (x − mean) / √(variance + 1e-5),   y = ŷ · scale + shift
//! ```
//!
//! In training, mean and variance are those of the batch (biased variance); running statistics follow them with momentum 0.1, the
//! variance unbiased. In prediction the running ones are used. (Ioffe and Szegedy, 2015, <https://arxiv.org/abs/1502.03167>.)

// Deviation: the paper's code uses batch statistics at prediction too, so that a row's label depends on the rows beside it.

use std::cell::RefCell;
use std::collections::HashMap;

use burn::module::{Module, ModuleMapper, Param, ParamId};
use burn::tensor::Tensor;

use super::parts::n_parts_of_sum;
use crate::{Initializer, Mode};

pub(crate) const EPSILON: f64 = 1e-5;

/// The share of a new batch in the running statistics while training.
pub const MOMENTUM: f64 = 0.1;

/// Normalises each channel of each group over the rows.
#[derive(Module, Debug)]
pub struct Normalization {
    /// `[n_groups, 1, d_channels]`, or none for a layer without affine part.
    pub scale: Option<Param<Tensor<3>>>,
    /// `[n_groups, 1, d_channels]`, or none for a layer without affine part.
    pub shift: Option<Param<Tensor<3>>>,
    /// `[n_groups, 1, d_channels]`, never trained.
    pub running_mean: Param<Tensor<3>>,
    /// `[n_groups, 1, d_channels]`, never trained.
    pub running_variance: Param<Tensor<3>>,
}

impl Normalization {
    /// A layer with a trained scale and shift.
    pub fn affine(n_groups: usize, d_channels: usize, init: &mut Initializer) -> Self {
        let shape = [n_groups, 1, d_channels];
        Self {
            scale: Some(init.constant(shape, 1.0)),
            shift: Some(init.constant(shape, 0.0)),
            ..Self::plain(n_groups, d_channels, init)
        }
    }

    /// A layer without them.
    pub fn plain(n_groups: usize, d_channels: usize, init: &mut Initializer) -> Self {
        let shape = [n_groups, 1, d_channels];
        Self {
            scale: None,
            shift: None,
            running_mean: init.constant(shape, 0.0).set_require_grad(false),
            running_variance: init.constant(shape, 1.0).set_require_grad(false),
        }
    }

    /// # Shapes
    ///
    /// - input and result: `[n_groups, n_rows, d_channels]`
    pub fn forward(&self, input: Tensor<3>, mode: Mode<'_>) -> Tensor<3> {
        let [n_groups, n_rows, d_channels] = input.dims();
        let (centred, variance) = match mode {
            Mode::Train(recorder) if n_parts_of_sum(n_rows, &input.device()) > 1 => {
                let cloud = input.reshape([n_groups, 1, n_rows, d_channels]);
                let output = self.forward_clouds(cloud, recorder);
                return output.reshape([n_groups, n_rows, d_channels]);
            }
            Mode::Train(recorder) => self.batch_statistics(input, recorder),
            Mode::Predict => (input - self.running_mean.val(), self.running_variance.val()),
        };
        // One factor a channel: the rows are passed over once for deviation and scale together.
        let factor = (variance + EPSILON).sqrt().recip();
        match (&self.scale, &self.shift) {
            (Some(scale), Some(shift)) => centred * (factor * scale.val()) + shift.val(),
            _ => centred * factor,
        }
    }

    /// [`forward`](Self::forward) in training, over all points of all clouds.
    ///
    /// # Shapes
    ///
    /// - input and result: `[n_groups, n_clouds, n_points, d_channels]`
    pub(crate) fn forward_clouds(&self, input: Tensor<4>, recorder: &StatisticsRecorder) -> Tensor<4> {
        let n_parts = n_parts_of_sum(input.dims()[2], &input.device());
        self.forward_parts(input, n_parts, recorder)
    }

    /// Sums over points are taken part by part first, then cloud by cloud, also those of gradients, which is why statistics are spread
    /// over parts and clouds before they meet points: one long sum for each of few channels leaves most of a GPU idle.
    fn forward_parts(&self, input: Tensor<4>, n_parts: usize, recorder: &StatisticsRecorder) -> Tensor<4> {
        let shape @ [n_groups, n_clouds, n_points, d_channels] = input.dims();
        let input = input.reshape([n_groups, n_clouds, n_parts, n_points / n_parts, d_channels]);
        let n_rows = (n_clouds * n_points) as f64;
        let mean_over_rows = |values: Tensor<5>| values.mean_dim(3).mean_dim(2).mean_dim(1);
        let spread = |values: Tensor<5>| values.expand([n_groups, n_clouds, n_parts, 1, d_channels]);
        let of_channels = |values: Tensor<3>| values.reshape([n_groups, 1, 1, 1, d_channels]);
        let mean = mean_over_rows(input.clone());
        let centred = input - spread(mean.clone());
        let variance = mean_over_rows(centred.clone().square());
        let unbiased = variance.clone().detach() * (n_rows / (n_rows - 1.0).max(1.0));
        let channels = [n_groups, 1, d_channels];
        recorder.record(self, mean.detach().reshape(channels), unbiased.reshape(channels));
        let factor = (variance + EPSILON).sqrt().recip();
        let output = match (&self.scale, &self.shift) {
            (Some(scale), Some(shift)) => {
                let factor = factor * of_channels(scale.val());
                centred * spread(factor) + spread(of_channels(shift.val()))
            }
            _ => centred * spread(factor),
        };
        output.reshape(shape)
    }

    /// What running statistics make of an input x: factor · x + offset, each `[n_groups, 1, d_channels]`.
    pub(crate) fn running_map(&self) -> (Tensor<3>, Tensor<3>) {
        let factor = (self.running_variance.val() + EPSILON).sqrt().recip();
        match (&self.scale, &self.shift) {
            (Some(scale), Some(shift)) => {
                let factor = factor * scale.val();
                (factor.clone(), shift.val() - self.running_mean.val() * factor)
            }
            _ => (factor.clone(), -self.running_mean.val() * factor),
        }
    }

    /// The input less its mean, and its variance; both statistics are recorded.
    fn batch_statistics(&self, input: Tensor<3>, recorder: &StatisticsRecorder) -> (Tensor<3>, Tensor<3>) {
        let n_rows = input.dims()[1] as f64;
        let mean = input.clone().mean_dim(1);
        let centred = input - mean.clone();
        let variance = centred.clone().square().mean_dim(1);
        let unbiased = variance.clone().detach() * (n_rows / (n_rows - 1.0).max(1.0));
        recorder.record(self, mean.detach(), unbiased);
        (centred, variance)
    }
}

/// Collects the batch statistics of one training pass.
///
/// A pass writes to it and changes nothing else, so a module is the same value before and after; see [`absorb`].
#[derive(Debug, Default)]
pub struct StatisticsRecorder {
    batch: RefCell<HashMap<ParamId, Tensor<3>>>,
}

impl StatisticsRecorder {
    /// Mean and unbiased variance of the batch at one layer.
    pub(crate) fn record(&self, layer: &Normalization, mean: Tensor<3>, variance: Tensor<3>) {
        let mut batch = self.batch.borrow_mut();
        batch.insert(layer.running_mean.id, mean);
        batch.insert(layer.running_variance.id, variance);
    }

    /// Means and variances by the parameters whose running values they belong to.
    pub(crate) fn into_batch(self) -> HashMap<ParamId, Tensor<3>> {
        self.batch.into_inner()
    }
}

/// Moves the running statistics of `module` towards the recorded batch statistics: by the share `momentum` of the way.
#[must_use]
pub fn absorb<M: Module>(module: M, recorder: StatisticsRecorder, momentum: f64) -> M {
    struct Absorb {
        batch: HashMap<ParamId, Tensor<3>>,
        momentum: f64,
    }
    impl ModuleMapper for Absorb {
        fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
            let Some(batch) = self.batch.remove(&param.id) else {
                return param;
            };
            param
                .map(|running| {
                    let batch = batch.reshape(running.shape());
                    (running * (1.0 - self.momentum) + batch * self.momentum).detach()
                })
                .set_require_grad(false)
        }
    }
    module.map(&mut Absorb { batch: recorder.into_batch(), momentum })
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    /// Values and gradients of a layer over clouds, with sums in so many parts.
    fn in_parts(n_parts: usize) -> Vec<Vec<f32>> {
        let device = Device::flex().autodiff();
        let norm = Normalization::affine(2, 3, &mut Initializer::new(0, &device));
        let numbers = Tensor::arange(0..2 * 2 * 32 * 3, &device).float() * 0.7;
        let input = numbers.sin().reshape([2, 2, 32, 3]).require_grad();
        let recorder = StatisticsRecorder::default();
        let output = norm.forward_parts(input.clone(), n_parts, &recorder);
        let weights = (Tensor::arange(0..2 * 2 * 32 * 3, &device).float() * 0.3).cos();
        let gradients = (output.clone() * weights.reshape([2, 2, 32, 3])).sum().backward();
        let scale = norm.scale.as_ref().unwrap().val();
        let mut values = vec![
            output.into_data(),
            input.grad(&gradients).unwrap().into_data(),
            scale.grad(&gradients).unwrap().into_data(),
        ];
        let batch = recorder.into_batch();
        values.push(batch[&norm.running_mean.id].to_data());
        values.push(batch[&norm.running_variance.id].to_data());
        values.iter().map(|data| data.iter::<f32>().collect()).collect()
    }

    #[test]
    fn parts_change_nothing() {
        let whole = in_parts(1);
        for n_parts in [2, 4] {
            for (one, other) in in_parts(n_parts).iter().flatten().zip(whole.iter().flatten()) {
                assert!((one - other).abs() < 1e-5, "{one} and {other}");
            }
        }
    }
}
