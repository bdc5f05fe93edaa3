//! The networks of KT-Net.
//!
//! ```text
//! partial or complete cloud ──► encoder ──► code ──► two layers ──► coarse cloud ──► each point moved ──► fine cloud
//!                                          partial clouds: + correction after each of the two
//! ```
//!
//! Complete clouds go straight through the decoder, and teach it shapes. Partial ones go the same way with a correction of both hidden
//! layers, so that these look like those of complete clouds.

use burn::module::Module;
use burn::tensor::Tensor;
use burn::tensor::activation::relu;
use labelflow_flow::{Initializer, Linear, Mode, N_AXES, PointLayer};

use super::spectral_layers::SpectralLayers;
use crate::completers::KnowledgeTransfer;
use crate::completers::networks::as_clouds;

/// What every point of a fine cloud is told beside its place and the code: the only node of a grid of one by one.
const GRID: f64 = -0.05;

/// The encoder and the decoder of both kinds of clouds, and the discriminators of hidden layers.
#[derive(Module, Debug)]
pub struct TransferNetworks {
    pub(crate) network: TransferNetwork,
    /// One for each hidden layer of the decoder.
    pub(crate) discriminators: Vec<SpectralLayers>,
}

/// The encoder and the decoder.
#[derive(Module, Debug)]
pub(crate) struct TransferNetwork {
    encoder: TransferEncoder,
    decoder: TransferDecoder,
}

/// What every point says, what the whole says to every point, and what every point says to that.
#[derive(Module, Debug)]
struct TransferEncoder {
    first: Vec<PointLayer>,
    second: Vec<PointLayer>,
}

#[derive(Module, Debug)]
struct TransferDecoder {
    hidden: Vec<Linear>,
    /// A correction of each hidden layer: two maps without bias.
    corrections: Vec<Vec<Linear>>,
    coarse: Linear,
    fine: Vec<PointLayer>,
}

/// A decoded batch.
#[derive(Debug, Clone)]
pub(crate) struct Decoded {
    /// `[n_clouds, n_points, 3]`
    pub(crate) coarse: Tensor<3>,
    /// `[n_clouds, n_points, 3]`
    pub(crate) fine: Tensor<3>,
    /// Of each hidden layer, `[n_clouds, width]`.
    pub(crate) hidden: Vec<Tensor<2>>,
}

/// Which way through the decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Of complete clouds.
    Complete,
    /// Of partial ones: with corrections.
    Partial,
}

impl TransferNetworks {
    /// The scores of each hidden layer, `[n_clouds]` each.
    pub(crate) fn scores(discriminators: &[SpectralLayers], hidden: &[Tensor<2>]) -> Vec<Tensor<1>> {
        let score = |(discriminator, hidden): (&SpectralLayers, &Tensor<2>)| {
            discriminator.forward(hidden.clone()).squeeze_dim::<1>(1)
        };
        discriminators.iter().zip(hidden).map(score).collect()
    }
}

impl TransferNetwork {
    /// Initial weights.
    pub(crate) fn init(config: &KnowledgeTransfer, init: &mut Initializer) -> Self {
        let [d_point, d_whole, d_both] = config.encoder_widths;
        let (d_code, d_fine) = (config.d_code, config.d_fine);
        let mut layer = |d_input: usize, d_output: usize| PointLayer {
            linear: Linear::with_bias([1, d_input, d_output], init),
            norm: None,
        };
        let encoder = TransferEncoder {
            first: vec![layer(N_AXES, d_point), layer(d_point, d_whole)],
            second: vec![layer(2 * d_whole, d_both), layer(d_both, d_code)],
        };
        let fine = vec![layer(2 + N_AXES + d_code, d_fine), layer(d_fine, d_fine), layer(d_fine, N_AXES)];
        let square = [1, d_code, d_code];
        let decoder = TransferDecoder {
            hidden: (0..2).map(|_| Linear::with_bias(square, init)).collect(),
            corrections: (0..2).map(|_| (0..2).map(|_| Linear::without_bias(square, init)).collect()).collect(),
            coarse: Linear::with_bias([1, d_code, config.n_points * N_AXES], init),
            fine,
        };
        Self { encoder, decoder }
    }

    /// # Shapes
    ///
    /// - clouds: `[n_clouds, any number of points, 3]`
    /// - returns: `[n_clouds, d_code]`
    pub(crate) fn encode(&self, clouds: Tensor<3>) -> Tensor<2> {
        let points = through(&self.encoder.first, clouds.unsqueeze_dim::<4>(0));
        let [_, n_clouds, n_points, width] = points.dims();
        let whole = points.clone().max_dim(2).expand([1, n_clouds, n_points, width]);
        let points = through(&self.encoder.second, Tensor::cat(vec![points, whole], 3));
        points.max_dim(2).squeeze_dim::<3>(2).squeeze_dim::<2>(0)
    }

    /// # Shapes
    ///
    /// - codes: `[n_clouds, d_code]`
    pub(crate) fn decode(&self, codes: Tensor<2>, way: Way) -> Decoded {
        let decoder = &self.decoder;
        let mut value = codes.clone().unsqueeze_dim::<3>(0);
        let mut hidden = Vec::with_capacity(decoder.hidden.len());
        for (layer, correction) in decoder.hidden.iter().zip(&decoder.corrections) {
            value = layer.forward(value);
            if way == Way::Partial {
                let inner = relu(correction[0].forward(value.clone()));
                value = value + correction[1].forward(inner);
            }
            value = relu(value);
            hidden.push(value.clone().squeeze_dim::<2>(0));
        }
        let coarse = as_clouds(decoder.coarse.forward(value).squeeze_dim::<2>(0));
        let fine = coarse.clone() + decoder.refinement(coarse.clone(), codes);
        Decoded { coarse, fine, hidden }
    }
}

impl TransferDecoder {
    /// How far each point of a coarse cloud is moved. The first layer sees the same code at every point of a cloud: its part is computed
    /// once per cloud and added to that of the place, which is the same as one product with all of it.
    fn refinement(&self, coarse: Tensor<3>, codes: Tensor<2>) -> Tensor<3> {
        let [n_clouds, _, _] = coarse.dims();
        let (first, rest) = self.fine.split_first().expect("three layers");
        let weight = first.linear.weight.val();
        let [_, d_input, d_output] = weight.dims();
        let grid = Tensor::<2>::full([n_clouds, 2], GRID, &coarse.device());
        let same = Tensor::cat(vec![grid, codes], 1).unsqueeze_dim::<3>(0);
        let of_grid = weight.clone().narrow(1, 0, 2);
        let of_place = weight.clone().narrow(1, 2, N_AXES);
        let of_code = weight.narrow(1, 2 + N_AXES, d_input - 2 - N_AXES);
        let mut same = same.matmul(Tensor::cat(vec![of_grid, of_code], 1));
        if let Some(bias) = &first.linear.bias {
            same = same + bias.val();
        }
        let same = same.reshape([1, n_clouds, 1, d_output]);
        let place = coarse.unsqueeze_dim::<4>(0).matmul(of_place.unsqueeze_dim::<4>(1));
        through(rest, relu(place + same)).squeeze_dim::<3>(0)
    }
}

/// Layers one after another, rectified in between.
fn through(layers: &[PointLayer], points: Tensor<4>) -> Tensor<4> {
    let (last, hidden) = layers.split_last().expect("at least one layer");
    let hidden = hidden.iter().fold(points, |points, layer| relu(layer.forward(points, Mode::Predict)));
    last.forward(hidden, Mode::Predict)
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, TensorData};
    use labelflow_flow::n_parameters;

    use super::*;
    use crate::completers::CompletionLearner;

    #[test]
    fn parameters_are_as_many_as_the_specification_says() {
        let networks = KnowledgeTransfer::default().init(&Device::flex());
        assert_eq!(n_parameters(&networks.network.encoder), 821_504);
        assert_eq!(n_parameters(&networks.network.decoder), 13_382_659);
        let discriminator = 1024 * 256 + 256 + 256 * 512 + 512 + 512 + 1;
        assert_eq!(n_parameters(&networks.discriminators), 2 * discriminator);
    }

    fn waves(n_clouds: usize, n_points: usize) -> Tensor<3> {
        let n_values = n_clouds * n_points * 3;
        let values: Vec<f32> = (0..n_values).map(|index| (0.7 * index as f32).sin()).collect();
        Tensor::from_data(TensorData::new(values, [n_clouds, n_points, 3]), &Device::flex())
    }

    fn numbers(tensor: Tensor<3>) -> Vec<f32> {
        tensor.into_data().iter::<f32>().collect()
    }

    /// The parts of the first product of the refinement are those of one product with everything side by side.
    #[test]
    fn refinement_is_that_of_points_with_grid_and_code() {
        let config = KnowledgeTransfer::default().small();
        let network = config.init(&Device::flex()).network;
        let codes = network.encode(waves(2, 9));
        let decoded = network.decode(codes.clone(), Way::Complete);
        let [_, n_points, _] = decoded.coarse.dims();
        let grid = Tensor::<4>::full([1, 2, n_points, 2], GRID, &Device::flex());
        let codes = codes.reshape([1, 2, 1, config.d_code]).expand([1, 2, n_points, config.d_code]);
        let place = decoded.coarse.clone().unsqueeze_dim::<4>(0);
        let moved = through(&network.decoder.fine, Tensor::cat(vec![grid, place, codes], 3));
        let expected = numbers(decoded.coarse + moved.squeeze_dim::<3>(0));
        for (found, expected) in numbers(decoded.fine).iter().zip(expected) {
            assert!((found - expected).abs() < 1e-5, "{found} and {expected}");
        }
    }

    #[test]
    fn corrections_are_for_partial_clouds_and_order_does_not_matter() {
        let network = KnowledgeTransfer::default().small().init(&Device::flex()).network;
        let clouds = waves(1, 9);
        let codes = network.encode(clouds.clone());
        let [complete, partial] =
            [Way::Complete, Way::Partial].map(|way| numbers(network.decode(codes.clone(), way).fine));
        assert_ne!(complete, partial);
        let turned = network.encode(clouds.flip([1]));
        assert_eq!(codes.into_data(), turned.into_data());
    }
}
