//! The networks of completion by codes.
//!
//! ```text
//! partial ──► autoencoder's encoder ──► code ─┐
//!                                noise z ─────┴► generator ──► code of a complete cloud ──► autoencoder's decoder ──► completion
//! ```

use burn::module::Module;
use burn::tensor::Tensor;

use super::code_models::{NoiseReader, PointAutoencoder, PointVariationalAutoencoder};
use crate::completers::networks::DenseLayers;

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

    /// The clouds of [`complete_codes`](Self::complete_codes), `[n_clouds, n_points, 3]`.
    pub(crate) fn complete(&self, codes: Tensor<2>, noise: Option<Tensor<2>>) -> Tensor<3> {
        self.autoencoder.decode(self.complete_codes(codes, noise))
    }

    /// The score of each code, `[n_clouds]`.
    pub(crate) fn scores(discriminator: &DenseLayers, codes: Tensor<2>) -> Tensor<1> {
        discriminator.forward(codes).squeeze_dim::<1>(1)
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;
    use labelflow_flow::n_parameters;

    use crate::completers::{CodeCompleter, CompletionLearner};

    #[test]
    fn parameters_are_as_many_as_the_specification_says() {
        let device = Device::flex();
        let network = CodeCompleter::pcl2pcl().init(&device);
        assert_eq!(n_parameters(&network.generator), 33_024);
        assert_eq!(n_parameters(&network.discriminator), 165_121);
        assert!(network.variational.is_none());
        let network = CodeCompleter::mm_pcl2pcl().init(&device);
        assert_eq!(n_parameters(&network.generator), 246_656);
        assert_eq!(n_parameters(&network.discriminator), 165_121);
        assert!(network.variational.is_some() && network.reader.is_none());
        let network = CodeCompleter::mm_pcl2pcl_im().init(&device);
        assert_eq!(n_parameters(&network.generator), 246_656);
        assert_eq!(network.reader.as_ref().map(n_parameters), Some(108_672));
        assert!(network.variational.is_none());
    }
}
