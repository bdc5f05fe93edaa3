//! Tells complete shapes from generated ones, and how steep its score is.
//!
//! ```text
//! h = max over points of features(p),   D = σ(layers(h)),   penalty = (‖∂D/∂cloud‖ − 1)²
//! ```
//!
//! The penalty's own gradient is a second derivative, which automatic differentiation does not have here. But activations have constant
//! slopes and the maximum picks points, so that ∂D/∂cloud is a product of matrices, written out below with operations that have gradients.
//! Only points that are the maximum of some channel have a slope: there are as many rows as channels, however many points.
//! (Gulrajani et al., 2017, <https://arxiv.org/abs/1704.00028>.)

use burn::module::Module;
use burn::tensor::activation::{leaky_relu, sigmoid};
use burn::tensor::{Int, Tensor};
use labelflow_flow::{Initializer, Linear, Mode, N_AXES, PointLayer};

use super::tree_generator::NEGATIVE_SLOPE;

/// Keeps the root of a vanishing slope differentiable.
const TINY: f64 = 1e-12;

/// Layers for single points, the maximum over them, and layers after it.
#[derive(Module, Debug)]
pub(crate) struct ShapeCritic {
    layers: Vec<PointLayer>,
    head: Vec<Linear>,
}

/// What the critic says of clouds.
#[derive(Debug, Clone)]
pub(crate) struct CriticOutput {
    /// `[n_clouds]`, between 0 and 1.
    pub(crate) scores: Tensor<1>,
    /// The largest features of the points, `[n_clouds, d_features]`.
    pub(crate) features: Tensor<2>,
}

impl ShapeCritic {
    /// Initial weights, from U(±1/√inputs).
    pub(crate) fn init(widths: &[usize], head: &[usize], init: &mut Initializer) -> Self {
        let mut linear = |pair: &[usize]| Linear::with_bias([1, pair[0], pair[1]], init);
        let points = [&[N_AXES], widths].concat();
        let layers = points.windows(2).map(|pair| PointLayer { linear: linear(pair), norm: None }).collect();
        let head = [&points[points.len() - 1..], head, &[1]].concat();
        Self { layers, head: head.windows(2).map(linear).collect() }
    }

    /// # Shapes
    ///
    /// - clouds: `[n_clouds, n_points, 3]`
    pub(crate) fn forward(&self, clouds: Tensor<3>) -> CriticOutput {
        let last = self.point_features(clouds).pop().expect("at least one layer");
        let features = last.max_dim(1).squeeze_dim::<2>(1);
        let scores = self.head_values(features.clone()).pop().expect("the score at least");
        CriticOutput { scores: scores.squeeze_dim::<1>(1), features }
    }

    /// (‖∂D/∂cloud‖ − 1)², the mean over clouds.
    pub(crate) fn penalty(&self, clouds: Tensor<3>) -> Tensor<1> {
        let norms = (self.squared_slopes(clouds) + TINY).sqrt();
        (norms - 1.0).square().mean()
    }

    /// ‖∂D/∂cloud‖² of each cloud, with a gradient.
    fn squared_slopes(&self, clouds: Tensor<3>) -> Tensor<1> {
        let hidden = self.point_features(clouds);
        let last = hidden.last().expect("at least one layer").clone();
        let (features, picked) = last.max_dim_with_indices(1);
        let picked = picked.squeeze_dim::<2>(1);
        let features = features.squeeze_dim::<2>(1);
        let of_features = self.slopes_of_features(features.clone()) * slopes(features);

        // A row for each channel: what its point changes, `[n_clouds, d_features, width]`.
        let weights = |layer: &PointLayer| layer.linear.weight.val().swap_dims(1, 2);
        let (top, below) = self.layers.split_last().expect("at least one layer");
        let mut rows = of_features.unsqueeze_dim::<3>(2) * weights(top);
        for (layer, hidden) in below.iter().zip(&hidden).rev() {
            rows = rows * slopes(rows_at(hidden.clone(), picked.clone()));
            rows = rows.matmul(weights(layer));
        }
        // Channels may share a point, whose slope is then the sum of theirs.
        let same = picked.clone().unsqueeze_dim::<3>(2).equal(picked.unsqueeze_dim::<3>(1));
        let of_points = same.float().matmul(rows.clone());
        (of_points * rows).sum_dim(2).squeeze_dim::<2>(2).sum_dim(1).squeeze_dim::<1>(1)
    }

    /// ∂D/∂features, `[n_clouds, d_features]`, with a gradient.
    fn slopes_of_features(&self, features: Tensor<2>) -> Tensor<2> {
        let mut values = self.head_values(features);
        let score = values.pop().expect("the score at least");
        let mut slope = score.clone() * (score.neg() + 1.0);
        let (first, after) = self.head.split_first().expect("the head ends in a score");
        let transposed = |layer: &Linear| layer.weight.val().squeeze_dim::<2>(0).swap_dims(0, 1);
        for (layer, value) in after.iter().zip(values).rev() {
            slope = slope.matmul(transposed(layer)) * slopes(value);
        }
        slope.matmul(transposed(first))
    }

    /// The output of each layer, `[n_clouds, n_points, width]`.
    fn point_features(&self, clouds: Tensor<3>) -> Vec<Tensor<3>> {
        let mut points = clouds.unsqueeze_dim::<4>(0);
        let next = |layer: &PointLayer| {
            points = leaky_relu(layer.forward(points.clone(), Mode::Predict), NEGATIVE_SLOPE);
            points.clone().squeeze_dim::<3>(0)
        };
        self.layers.iter().map(next).collect()
    }

    /// The output of each layer of the head, the score last, `[n_clouds, width]`.
    fn head_values(&self, features: Tensor<2>) -> Vec<Tensor<2>> {
        let (last, hidden) = self.head.split_last().expect("the head ends in a score");
        let mut value = features.unsqueeze_dim::<3>(0);
        let mut outputs = Vec::with_capacity(self.head.len());
        for layer in hidden {
            value = leaky_relu(layer.forward(value), NEGATIVE_SLOPE);
            outputs.push(value.clone().squeeze_dim::<2>(0));
        }
        outputs.push(sigmoid(last.forward(value)).squeeze_dim::<2>(0));
        outputs
    }
}

/// The slope of the activation whose output this is; it has no gradient of its own.
fn slopes<const D: usize>(output: Tensor<D>) -> Tensor<D> {
    let is_positive = output.detach().greater_elem(0.0).float();
    is_positive * (1.0 - NEGATIVE_SLOPE) + NEGATIVE_SLOPE
}

/// The rows of points that were picked: `[n_clouds, n_points, width]` at `[n_clouds, n_picked]`.
fn rows_at(rows: Tensor<3>, picked: Tensor<2, Int>) -> Tensor<3> {
    let [n_clouds, n_picked] = picked.dims();
    let width = rows.dims()[2];
    rows.detach().gather(1, picked.unsqueeze_dim::<3>(2).expand([n_clouds, n_picked, width]))
}

#[cfg(test)]
mod tests {
    use burn::module::{ModuleMapper, Param};
    use burn::tensor::{Device, FloatDType, TensorData};
    use labelflow_flow::n_parameters;

    use super::*;
    use labelflow::training::{add_flat, flat_gradient};

    fn wave(n: usize, factor: f64) -> Vec<f64> {
        (0..n).map(|index| (1.0 + factor * index as f64).sin()).collect()
    }

    fn value(tensor: Tensor<1>) -> f64 {
        tensor.into_data().iter::<f64>().next().unwrap()
    }

    #[test]
    fn parameters_are_as_many_as_the_specification_says() {
        let init = &mut Initializer::new(0, &Device::flex());
        let critic = ShapeCritic::init(&[64, 128, 256, 256, 512], &[128, 64], init);
        assert_eq!(n_parameters(&critic), 312_961);
    }

    #[test]
    fn slopes_are_those_of_automatic_and_of_central_differences() {
        let mut device = Device::flex().autodiff();
        let _ = device.configure(FloatDType::F64);
        let critic = ShapeCritic::init(&[5, 6, 7], &[4, 3], &mut Initializer::new(2, &device));
        let clouds = TensorData::new(wave(2 * 4 * 3, 0.9), [2, 4, 3]);
        let clouds = Tensor::<3>::from_data(clouds, &device).require_grad();
        // More channels than points: some share one.
        let gradients = critic.forward(clouds.clone()).scores.sum().backward();
        let slope = clouds.grad(&gradients).unwrap();
        let expected: Vec<f64> = slope.square().sum_dim(2).squeeze_dim::<2>(2).sum_dim(1).into_data().iter().collect();
        let found = critic.squared_slopes(clouds.clone()).into_data();
        for (found, expected) in found.iter::<f64>().zip(expected) {
            assert!(expected > 0.0 && (found - expected).abs() < 1e-9 * expected);
        }

        let clouds = clouds.detach();
        let gradient = flat_gradient(&critic, critic.penalty(clouds.clone()).backward());
        let gradient: Vec<f64> = gradient.into_data().iter::<f64>().collect();
        let direction = wave(gradient.len(), 1.7);
        let along: f64 = gradient.iter().zip(&direction).map(|(g, d)| g * d).sum();
        let at = |by: f64| {
            let change = direction.iter().map(|value| by * value).collect::<Vec<f64>>();
            let change = TensorData::new(change, [direction.len()]);
            let moved = add_flat(critic.clone(), Tensor::from_data(change, &Device::flex()));
            value(moved.penalty(clouds.clone()))
        };
        let numerical = (at(1e-6) - at(-1e-6)) / 2e-6;
        assert!(numerical.abs() > 1e-6, "{numerical}");
        assert!((along - numerical).abs() < 1e-5 * numerical.abs(), "{along} and {numerical}");
    }

    /// Without slope the penalty is 1.
    #[test]
    fn a_critic_that_does_not_care_is_punished_by_one() {
        struct Zero;
        impl ModuleMapper for Zero {
            fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
                param.map(|weight| weight.zeros_like())
            }
        }
        let device = Device::flex().autodiff();
        let critic = ShapeCritic::init(&[4], &[3], &mut Initializer::new(2, &device));
        let nothing = critic.map(&mut Zero);
        let clouds = Tensor::<3>::ones([2, 3, 3], &device);
        assert!((value(nothing.penalty(clouds.clone())) - 1.0).abs() < 1e-5);
        assert!((value(nothing.forward(clouds).scores) - 0.5).abs() < 1e-6);
    }
}
