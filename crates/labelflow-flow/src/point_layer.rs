//! A linear layer that is the same for every point of every cloud, with batch normalisation after it.
//!
//! ```text
//! y = norm(p W + c)
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
    /// Whether the linear map has a bias. In training the normalisation takes it away again.
    pub bias: bool,
    /// Whether the normalisation has a trained scale and shift.
    pub affine: bool,
}

/// A linear map of points and the normalisation of its output, over all points of all clouds.
#[derive(Module, Debug)]
pub struct PointLayer {
    /// d_input → d_output.
    pub linear: Linear,
    /// After it.
    pub norm: Normalization,
}

impl PointLayerConfig {
    /// Initial weights from U(±√(6 / d_input)), biases zero.
    pub fn init(&self, init: &mut Initializer) -> PointLayer {
        let &Self { n_groups, d_input, d_output, bias, affine } = self;
        PointLayer {
            linear: Linear {
                weight: init.rectified([n_groups, d_input, d_output]),
                bias: bias.then(|| init.constant([n_groups, 1, d_output], 0.0)),
            },
            norm: match affine {
                true => Normalization::affine(n_groups, d_output, init),
                false => Normalization::plain(n_groups, d_output, init),
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
        let [_, n_clouds, n_points, _] = points.dims();
        let weight = self.linear.weight.val();
        let [n_groups, _, d_output] = weight.dims();
        match mode {
            Mode::Train(_) => {
                let rows = [n_groups, n_clouds * n_points, d_output];
                let output = cloud_by_cloud(points, weight).reshape(rows);
                let output = match &self.linear.bias {
                    Some(bias) => output + bias.val(),
                    None => output,
                };
                self.norm.forward(output, mode).reshape([n_groups, n_clouds, n_points, d_output])
            }
            // The normalisation is a fixed linear map then: it joins the weights, and the points are passed over once.
            Mode::Predict => {
                let (factor, offset) = self.norm.running_map();
                let offset = match &self.linear.bias {
                    Some(bias) => offset + bias.val() * factor.clone(),
                    None => offset,
                };
                cloud_by_cloud(points, weight * factor) + offset.unsqueeze_dim::<4>(1)
            }
        }
    }
}

/// Points times weights, one product a cloud.
///
/// The gradient of the weights is then a sum of one small product a cloud. As a single product over all points it would be a long
/// sum for each of few numbers, of which a GPU can compute only few at a time.
pub(crate) fn cloud_by_cloud(points: Tensor<4>, weight: Tensor<3>) -> Tensor<4> {
    points.matmul(weight.unsqueeze_dim::<4>(1))
}
