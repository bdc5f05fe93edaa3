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
        let (centred, variance) = match mode {
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
    /// Sums over points are taken cloud by cloud first, also those of gradients, which is why statistics are spread over the clouds before
    /// they meet points: one long sum for each of few channels leaves most of a GPU idle.
    ///
    /// # Shapes
    ///
    /// - input and result: `[n_groups, n_clouds, n_points, d_channels]`
    pub(crate) fn forward_clouds(
        &self,
        input: Tensor<4>,
        recorder: &StatisticsRecorder,
    ) -> Tensor<4> {
        let [n_groups, n_clouds, n_points, d_channels] = input.dims();
        let n_rows = (n_clouds * n_points) as f64;
        let mean_over_rows = |values: Tensor<4>| values.mean_dim(2).mean_dim(1);
        let spread = |values: Tensor<4>| values.expand([n_groups, n_clouds, 1, d_channels]);
        let mean = mean_over_rows(input.clone());
        let centred = input - spread(mean.clone());
        let variance = mean_over_rows(centred.clone().square());
        let unbiased = variance.clone().detach() * (n_rows / (n_rows - 1.0).max(1.0));
        recorder.record(self, mean.detach().squeeze_dim(2), unbiased.squeeze_dim(2));
        let factor = (variance + EPSILON).sqrt().recip();
        match (&self.scale, &self.shift) {
            (Some(scale), Some(shift)) => {
                let factor = factor * scale.val().unsqueeze_dim::<4>(2);
                centred * spread(factor) + spread(shift.val().unsqueeze_dim::<4>(2))
            }
            _ => centred * spread(factor),
        }
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
    fn batch_statistics(
        &self,
        input: Tensor<3>,
        recorder: &StatisticsRecorder,
    ) -> (Tensor<3>, Tensor<3>) {
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
