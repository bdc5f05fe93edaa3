//! A conditional density p(y|x): a chain of bijections over a standard normal.
//!
//! ```text
//! ln p(y|x) = ln N(z; 0, I) + ln |det ∂z/∂y|,   z = f(y, x)
//! ```

use std::f64::consts::PI;

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use crate::{
    Activation, AffineMap, Bijection, Chain, ConditionerBank, Coupling, Initializer, MAX_LOG_SCALE, Mapped, Mode,
    PointCoupling, SecondLayerInit,
};

/// Configuration of a [`Flow`] of [`Coupling`]s: `n_steps` steps, each of which warps every label once. Several flows stand side by side:
/// they share the rows' features and nothing else, and their labels are blocks of columns.
///
/// ```
/// use burn::tensor::Device;
/// use labelflow_flow::{CouplingFlowConfig, n_parameters};
///
/// let config = CouplingFlowConfig { d_features: 784, d_labels: 2, ..CouplingFlowConfig::default() };
/// assert_eq!(n_parameters(&config.init(0, &Device::flex())), 3_627_040);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CouplingFlowConfig {
    /// Width of the features.
    pub d_features: usize,
    /// Number of labels of each flow; at least two.
    pub d_labels: usize,
    /// Width of all hidden layers.
    pub d_hidden: usize,
    /// Number of steps, of `d_labels` couplings each.
    pub n_steps: usize,
    /// Number of flows.
    pub n_members: usize,
    /// The largest logarithm of a coupling's scale, up or down.
    pub max_log_scale: f64,
}

impl Default for CouplingFlowConfig {
    /// The paper's flow, of one feature and two labels.
    fn default() -> Self {
        Self { d_features: 1, d_labels: 2, d_hidden: 64, n_steps: 8, n_members: 1, max_log_scale: MAX_LOG_SCALE }
    }
}

/// Configuration of a [`Flow`] of [`AffineMap`]s.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AffineFlowConfig {
    /// Width of the features.
    pub d_features: usize,
    /// Number of labels.
    pub d_labels: usize,
    /// Width of all hidden layers.
    pub d_hidden: usize,
    /// Number of maps.
    pub n_steps: usize,
    /// What follows the hidden layers.
    pub activation: Activation,
}

/// Configuration of a [`Flow`] of [`PointCoupling`]s: `n_steps` steps of three couplings each.
///
/// Even steps warp one axis given two, odd steps two axes given one.
///
/// ```
/// use burn::tensor::Device;
/// use labelflow_flow::{PointFlowConfig, n_parameters};
///
/// let config = PointFlowConfig { d_features: 640, d_hidden: 64, n_steps: 8 };
/// assert_eq!(n_parameters(&config.init(0, &Device::flex())), 4_555_848);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PointFlowConfig {
    /// Width of what is known of a cloud.
    pub d_features: usize,
    /// Width of all hidden layers.
    pub d_hidden: usize,
    /// Number of steps, of three couplings each.
    pub n_steps: usize,
}

/// A conditional density over labels, with samples.
#[derive(Module, Debug)]
pub struct Flow<B: Module> {
    /// All feature-side networks.
    pub bank: ConditionerBank,
    /// The maps, in the order in which noise becomes labels.
    pub chain: Chain<B>,
}

impl CouplingFlowConfig {
    /// Initial weights from a seed.
    pub fn init(&self, seed: u64, device: &Device) -> Flow<Coupling> {
        let mut init = Initializer::new(seed, device);
        let &Self { d_features, d_labels, d_hidden, n_steps, n_members, max_log_scale } = self;
        let d_all = n_members * d_labels;
        let coupling = |index: usize| {
            let coupling = Coupling::new(d_labels, index % d_all, d_hidden, &mut init);
            Coupling { max_log_scale, ..coupling }
        };
        let maps = (0..n_steps * d_all).map(coupling).collect();
        let second = SecondLayerInit::NearlyZero;
        Flow::of_maps(maps, [d_features, d_hidden], second, Activation::NormalizedSilu, &mut init)
    }
}

impl AffineFlowConfig {
    /// Initial weights from a seed.
    pub fn init(&self, seed: u64, device: &Device) -> Flow<AffineMap> {
        let mut init = Initializer::new(seed, device);
        let &Self { d_features, d_labels, d_hidden, n_steps, activation } = self;
        let maps = (0..n_steps).map(|_| AffineMap::new(d_labels, d_hidden, activation, &mut init)).collect();
        let second = SecondLayerInit::FanIn;
        Flow::of_maps(maps, [d_features, d_hidden], second, activation, &mut init)
    }
}

impl PointFlowConfig {
    const WARPED: [[&[usize]; 3]; 2] = [[&[0], &[1], &[2]], [&[0, 1], &[0, 2], &[1, 2]]];

    /// Initial weights from a seed.
    pub fn init(&self, seed: u64, device: &Device) -> Flow<PointCoupling> {
        let mut init = Initializer::new(seed, device);
        let &Self { d_features, d_hidden, n_steps } = self;
        let maps = (0..n_steps)
            .flat_map(|step| Self::WARPED[step % 2])
            .map(|warped| PointCoupling::new(warped, d_hidden, &mut init))
            .collect();
        let second = SecondLayerInit::NearlyZero;
        Flow::of_maps(maps, [d_features, d_hidden], second, Activation::NormalizedSilu, &mut init)
    }
}

impl<B: Bijection> Flow<B> {
    /// A flow of these maps with initial weights of the bank, from `d_features` to `d_hidden` channels.
    fn of_maps(
        maps: Vec<B>,
        [d_features, d_hidden]: [usize; 2],
        second: SecondLayerInit,
        activation: Activation,
        init: &mut Initializer,
    ) -> Self {
        let n_networks = maps.iter().map(Bijection::n_conditioners).sum();
        let shape = [n_networks, d_features, d_hidden];
        let bank = ConditionerBank::new(shape, second, activation, init);
        Self { bank, chain: Chain { maps } }
    }

    /// What the features say to each map: computed once, it serves any number of samples of the same rows.
    ///
    /// # Shapes
    ///
    /// - features: `[n_rows, d_features]`
    /// - returns: `[n_conditioners, n_rows, d_hidden]`
    pub fn condition(&self, features: Tensor<2>, mode: Mode<'_>) -> Tensor<3> {
        self.bank.forward(features, mode)
    }

    /// ln p(labels | features).
    ///
    /// # Shapes
    ///
    /// - labels: `[n_rows, d_labels]`, features: `[n_rows, d_features]`
    /// - returns: `[n_rows]`
    pub fn log_prob(&self, labels: Tensor<2>, features: Tensor<2>, mode: Mode<'_>) -> Tensor<1> {
        let (noise, log_det) = self.chain.forward(labels, self.condition(features, mode), mode);
        standard_normal_log_prob(noise) + log_det
    }

    /// The labels that this noise becomes.
    ///
    /// # Shapes
    ///
    /// - noise: `[n_rows, d_labels]` from N(0, I), features: `[n_rows, d_features]`
    /// - returns: `[n_rows, d_labels]`
    pub fn sample(&self, noise: Tensor<2>, features: Tensor<2>, mode: Mode<'_>) -> Tensor<2> {
        B::generate(self, noise, features, mode).0
    }

    /// Any number of samples of the same rows, with running statistics: what the features say is computed once.
    ///
    /// # Shapes
    ///
    /// - noise: `[n_samples, n_rows, d_labels]` from N(0, I), features: `[n_rows, d_features]`
    /// - returns: `[n_samples, n_rows, d_labels]`
    pub fn samples(&self, noise: Tensor<3>, features: Tensor<2>) -> Tensor<3> {
        B::samples(self, noise, features)
    }

    /// [`samples`](Self::samples) as a composition of tensor operations.
    pub fn composed_samples(&self, noise: Tensor<3>, features: Tensor<2>) -> Tensor<3> {
        let condition = self.condition(features, Mode::Predict);
        let [n_samples, ..] = noise.dims();
        let sample = |index: usize| {
            let noise = noise.clone().narrow(0, index, 1).squeeze_dim::<2>(0);
            let (labels, _) = self.chain.inverse(noise, condition.clone(), Mode::Predict);
            labels.unsqueeze_dim::<3>(0)
        };
        match n_samples {
            0 => noise,
            _ => Tensor::cat((0..n_samples).map(sample).collect(), 0),
        }
    }

    /// The labels that this noise becomes, and ln p of them: one pass gives both.
    ///
    /// # Shapes
    ///
    /// - noise: `[n_rows, d_labels]` from N(0, I), features: `[n_rows, d_features]`; of points, a row of features a cloud
    /// - returns: `[n_rows, d_labels]` and `[n_rows]`
    pub fn sample_with_log_prob(&self, noise: Tensor<2>, features: Tensor<2>, mode: Mode<'_>) -> Mapped {
        let (labels, log_det) = B::generate(self, noise.clone(), features, mode);
        (labels, standard_normal_log_prob(noise) - log_det)
    }
}

/// ln N(noise; 0, I) of each row.
///
/// # Shapes
///
/// - noise: `[n_rows, d_labels]`
/// - returns: `[n_rows]`
pub fn standard_normal_log_prob(noise: Tensor<2>) -> Tensor<1> {
    let d_labels = noise.dims()[1] as f64;
    noise.square().sum_dim(1).squeeze_dim::<1>(1) * -0.5 - 0.5 * d_labels * (2.0 * PI).ln()
}
