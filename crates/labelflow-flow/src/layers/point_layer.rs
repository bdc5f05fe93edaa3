//! A linear layer that is the same for every point of every cloud, with batch normalisation after it.
//!
//! ```text
//! y = norm(p W)   or   y = p W + c
//! ```

use burn::module::Module;
use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::{Initializer, Linear, Mode, Normalization};

/// Configuration of a [`PointLayer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PointLayerConfig {
    /// Independent layers that are evaluated together.
    pub n_groups: usize,
    /// Width of the input.
    pub d_input: usize,
    /// Width of the output.
    pub d_output: usize,
    /// Whether the linear map has a bias.
    pub bias: bool,
    /// What follows it.
    pub norm: PointNorm,
}

/// What follows the linear map of a [`PointLayer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PointNorm {
    /// Nothing.
    None,
    /// Batch normalisation without affine part.
    Plain,
    /// Batch normalisation with a trained scale and shift.
    Affine,
}

/// A linear map of points and the normalisation of its output, over all points of all clouds.
#[derive(Module, Debug)]
pub struct PointLayer {
    /// d_input → d_output.
    pub linear: Linear,
    /// After it.
    pub norm: Option<Normalization>,
}

impl PointLayerConfig {
    /// Initial weights from U(±√(6 / d_input)), biases zero.
    pub fn init(&self, init: &mut Initializer) -> PointLayer {
        let &Self { n_groups, d_input, d_output, bias, norm } = self;
        PointLayer {
            linear: Linear {
                weight: init.rectified([n_groups, d_input, d_output]),
                bias: bias.then(|| init.constant([n_groups, 1, d_output], 0.0)),
            },
            norm: match norm {
                PointNorm::None => None,
                PointNorm::Plain => Some(Normalization::plain(n_groups, d_output, init)),
                PointNorm::Affine => Some(Normalization::affine(n_groups, d_output, init)),
            },
        }
    }
}

impl PointLayer {
    /// # Shapes
    ///
    /// - points: `[n_groups, n_clouds, n_points, d_input]`, or one group for the same input to all
    /// - returns: `[n_groups, n_clouds, n_points, d_output]`
    pub fn forward(&self, points: Tensor<4>, mode: Mode<'_>) -> Tensor<4> {
        // A bias that a normalisation follows is taken away again by it, in training and in prediction: it is not added at all.
        match (&self.norm, mode) {
            (None, _) => per_point(points, &self.linear),
            (Some(norm), Mode::Train(recorder)) => {
                let output = cloud_by_cloud(points, self.linear.weight.val());
                norm.forward_clouds(output, recorder)
            }
            // The normalisation is a fixed linear map then: it joins the weights, and the points are passed over once.
            (Some(norm), Mode::Predict) => {
                let (factor, offset) = norm.running_map();
                let weight = self.linear.weight.val() * factor;
                cloud_by_cloud(points, weight) + offset.unsqueeze_dim::<4>(1)
            }
        }
    }
}

/// A linear map of every point.
///
/// # Shapes
///
/// - points: `[n_groups, n_clouds, n_points, d_input]`, or one group for the same input to all
/// - returns: `[n_groups, n_clouds, n_points, d_output]`
pub(crate) fn per_point(points: Tensor<4>, linear: &Linear) -> Tensor<4> {
    let output = cloud_by_cloud(points, linear.weight.val());
    let [n_groups, n_clouds, _, d_output] = output.dims();
    match &linear.bias {
        // Spread over the clouds first, so that its gradient is summed cloud by cloud.
        Some(bias) => output + bias.val().unsqueeze_dim::<4>(1).expand([n_groups, n_clouds, 1, d_output]),
        None => output,
    }
}

/// Points times weights, one product a cloud.
///
/// The gradient of the weights is then a sum of one small product a cloud. As a single product over all points it would be a long
/// sum for each of few numbers, of which a GPU can compute only few at a time.
fn cloud_by_cloud(points: Tensor<4>, weight: Tensor<3>) -> Tensor<4> {
    points.matmul(weight.unsqueeze_dim::<4>(1))
}
