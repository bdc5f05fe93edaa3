//! The networks of completion by codes.
//!
//! ```text
//! partial ──► autoencoder's encoder ──► code ─┐
//!                                noise z ─────┴► generator ──► code of a complete cloud ──► autoencoder's decoder ──► completion
//! ```

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use labelflow_flow::Initializer;

use super::point_variational_autoencoder::PointVariationalAutoencoder;
use crate::completers::CodeCompleter;
use crate::completers::networks::dense_layers::DenseLayers;
use crate::completers::networks::noise_reader::NoiseReader;
use crate::completers::networks::point_autoencoder::PointAutoencoder;

/// The autoencoder, generator and discriminator in its codes, and what reads noise back from completions.
#[derive(Module, Debug)]
pub struct CodeNetwork {
    pub(crate) autoencoder: PointAutoencoder,
    /// Only with noise, where it has a stage of its own.
    pub(crate) variational: Option<PointVariationalAutoencoder>,
    pub(crate) generator: DenseLayers,
    pub(crate) discriminator: DenseLayers,
    /// Only with noise, where it is trained with the generator.
    pub(crate) reader: Option<NoiseReader>,
}

impl CodeNetwork {
    /// Initial weights.
    pub(crate) fn init(config: &CodeCompleter, device: &Device) -> Self {
        let init = &mut Initializer::new(config.seed, device);
        let (encoder, decoder) = (&config.encoder_widths, &config.decoder_widths);
        let d_code = *encoder.last().expect("at least one layer of point features");
        let deviation = config.player_deviation.map(|deviation| deviation as f32);
        let generator = [&[d_code + config.d_noise], &config.generator_widths[..], &[d_code]];
        let discriminator = [&[d_code], &config.discriminator_widths[..], &[1]];
        Self {
            autoencoder: PointAutoencoder::init(encoder, decoder, config.n_points, init),
            variational: (config.d_noise > 0 && !config.joint_reader).then(|| {
                let (d_noise, n_points) = (config.d_noise, config.n_points);
                PointVariationalAutoencoder::init(encoder, decoder, d_noise, n_points, init)
            }),
            generator: DenseLayers::init(
                &generator.concat(),
                config.generator_slope,
                deviation,
                init,
            ),
            discriminator: DenseLayers::init(
                &discriminator.concat(),
                config.discriminator_slope,
                deviation,
                init,
            ),
            reader: (config.d_noise > 0 && config.joint_reader)
                .then(|| NoiseReader::init(encoder, config.d_noise, init)),
        }
    }

    /// Codes of complete clouds from those of partial ones.
    ///
    /// # Shapes
    ///
    /// - codes: `[n_clouds, d_code]`, noise: `[n_clouds, d_noise]` where there is noise
    pub(crate) fn complete_codes(&self, codes: Tensor<2>, noise: Option<Tensor<2>>) -> Tensor<2> {
        self.generator.forward(match noise {
            Some(noise) => Tensor::cat(vec![codes, noise], 1),
            None => codes,
        })
    }

    /// The score of each code, `[n_clouds]`.
    pub(crate) fn scores(discriminator: &DenseLayers, codes: Tensor<2>) -> Tensor<1> {
        discriminator.forward(codes).squeeze_dim::<1>(1)
    }
}

#[cfg(test)]
mod tests {
    use labelflow_flow::n_parameters;

    use super::*;

    #[test]
    fn parameters_are_as_many_as_the_specification_says() {
        let device = Device::flex();
        let network = CodeNetwork::init(&CodeCompleter::pcl2pcl(), &device);
        assert_eq!(n_parameters(&network.generator), 33_024);
        assert_eq!(n_parameters(&network.discriminator), 165_121);
        assert!(network.variational.is_none());
        let network = CodeNetwork::init(&CodeCompleter::mm_pcl2pcl(), &device);
        assert_eq!(n_parameters(&network.generator), 246_656);
        assert_eq!(n_parameters(&network.discriminator), 165_121);
        assert!(network.variational.is_some() && network.reader.is_none());
        let network = CodeNetwork::init(&CodeCompleter::mm_pcl2pcl_im(), &device);
        assert_eq!(n_parameters(&network.generator), 246_656);
        assert_eq!(network.reader.as_ref().map(n_parameters), Some(108_672));
        assert!(network.variational.is_none());
    }
}
