//! KT-Net: what is learned of complete clouds is transferred to partial ones, by corrections inside of a decoder that both share.
//!
//! One completion per scan, in one pass.
//! (Cao et al., 2023, <https://arxiv.org/abs/2111.11976>.)

use burn::tensor::{Device, Tensor};
use labelflow::Result;
use labelflow::storage::ModelTask;
use labelflow::training::{DeviceKind, Report};
use labelflow_flow::Initializer;

use super::spectral_layers::SpectralLayers;
use super::transfer_network::{TransferNetwork, TransferNetworks, Way};
use super::transfer_training::{TransferStage, mean_of};
use crate::completers::completer::common_settings;
use crate::completers::fitted_completer::n_in_chains;
use crate::completers::older_names::stage;
use crate::completers::scan_input::{CLOUDS_AT_ONCE, ScanInput, check_frame, to_points, to_tensor};
use crate::completers::stages::{Course, UpdateRule};
use crate::completers::{CompletionLearner, CompletionOptions, FittedCompleter, StageTraining, System};
use crate::geometry::PointSet;

settings! {
    checked
    /// Settings of KT-Net.
    pub struct KnowledgeTransfer {
        /// Where all randomness comes from. Default: 0.
        seed: u64 = 0,
        /// Points of a partial cloud. Default: 1024.
        n_partial_points: usize = 1024 => at_least(1),
        /// Points of a complete cloud: the decoder gives so many. Default: 2048.
        n_points: usize = 2048 => at_least(1),
        /// Widths of the encoder's layers: two of points alone, and one of points with what all of them say. Default: 128, 256, 512.
        encoder_widths: [usize; 3] = [128, 256, 512] => widths,
        /// Width of the code and of the decoder's hidden layers. Default: 1024.
        d_code: usize = 1024 => at_least(1),
        /// Width of the layers that move the points of the coarse cloud. Default: 512.
        d_fine: usize = 512 => at_least(1),
        /// Widths of the hidden layers of both discriminators. Default: 256, 512.
        discriminator_widths: Vec<usize> = vec![256, 512] => widths,
        /// The weight of the discriminators' scores. Default: 0.1.
        adversarial_weight: f64 = 0.1 => not_negative,
        /// The discriminators' step size as a multiple of the network's. Default: 2.
        discriminator_rate: f64 = 2.0 => positive,
        /// Where to compute. Default: cpu.
        device: DeviceKind = DeviceKind::Cpu,
        /// How training proceeds. Default: 600 epochs of batches of 32, a step size of 1e-4 that is multiplied by 0.9995 after every epoch and
        /// does not fall below a fifth, β₁ = 0.5.
        #[serde(deserialize_with = "stage")]
        training: StageTraining = StageTraining {
            max_epochs: 600,
            batch_size: 32,
            learning_rate: 1e-4,
            learning_rate_decay: 0.9995,
            learning_rate_floor: 0.2,
            betas: [0.5, 0.999],
        },
    }
}

impl CompletionLearner for KnowledgeTransfer {
    type Networks = TransferNetworks;
    const TASK: ModelTask = ModelTask::TransferCompletion;
    const KIND: &'static str = "knowledge transfer";
    const SYSTEMS: &'static [System<Self>] = &[("kt-net", Self::default)];

    common_settings!([training], n_points);

    fn small(self) -> Self {
        Self {
            n_partial_points: 64,
            n_points: 96,
            encoder_widths: [16, 32, 32],
            d_code: 48,
            d_fine: 32,
            discriminator_widths: vec![32],
            training: StageTraining { learning_rate_decay: 0.97, ..self.training.small(60, 3e-3) },
            ..self
        }
    }

    fn check(&self) -> Result<()> {
        self.check_each("")?;
        self.training.check_each("training.")
    }

    fn init(&self, device: &Device) -> TransferNetworks {
        let init = &mut Initializer::new(self.seed, device);
        let network = TransferNetwork::init(self, init);
        let widths = [&[self.d_code], &self.discriminator_widths[..], &[1]].concat();
        TransferNetworks { network, discriminators: (0..2).map(|_| SpectralLayers::init(&widths, init)).collect() }
    }

    fn n_weights_at_least(&self) -> Option<usize> {
        let [d_point, d_whole, d_both] = self.encoder_widths;
        let (d_code, d_fine) = (self.d_code, self.d_fine);
        n_in_chains(&[
            &[&[3, d_point, d_whole]],
            &[&[d_whole, d_both, d_code]],
            // Two hidden layers, and two maps that correct each.
            &[&[d_code; 7]],
            &[&[d_code, self.n_points.checked_mul(3)?]],
            &[&[d_code, d_fine, d_fine, 3]],
            &[&[d_code], &self.discriminator_widths, &[1]],
        ])
    }

    fn train(&self, mut course: Course<'_, TransferNetworks>) -> Result<(TransferNetworks, Report)> {
        let rule = self.training.rule();
        let of_discriminators = UpdateRule { rate_share: self.discriminator_rate, ..rule };
        let TransferNetworks { network, discriminators } = course.model.clone();
        let stage = TransferStage {
            config: self,
            dataset: course.dataset,
            network: course.network(network, rule)?,
            discriminators: course.network(discriminators, of_discriminators)?,
        };
        course.finish(&stage, self.training.max_epochs)
    }

    fn is_deterministic(&self) -> bool {
        true
    }

    fn complete_all(
        model: &FittedKnowledgeTransfer,
        scans: &[PointSet],
        options: &CompletionOptions,
    ) -> Result<Vec<Vec<PointSet>>> {
        let mut completions = Vec::with_capacity(scans.len());
        for scans in scans.chunks(CLOUDS_AT_ONCE) {
            let input = |scan| ScanInput::new(scan, model.config.n_partial_points, options.seed);
            let mut inputs: Vec<ScanInput> = scans.iter().map(input).collect::<Result<_>>()?;
            let partials: Vec<PointSet> = inputs.iter().map(|input| input.partial.clone()).collect();
            let clouds = to_points(Self::one_each(model, &partials, options.seed)?)?;
            for (cloud, input) in clouds.into_iter().zip(&mut inputs) {
                completions.push(vec![input.finished(cloud, options)?]);
            }
        }
        Ok(completions)
    }

    /// The mean of both discriminators, of the hidden layers of each cloud.
    fn scores(networks: &TransferNetworks, clouds: Tensor<3>) -> Tensor<1> {
        let TransferNetworks { network, discriminators } = networks;
        let hidden = network.decode(network.encode(clouds), Way::Complete).hidden;
        mean_of(TransferNetworks::scores(discriminators, &hidden).into_iter())
    }

    /// The completion of each scan, of as many points as they have.
    fn one_each(model: &FittedKnowledgeTransfer, scans: &[PointSet], _seed: u64) -> Result<Tensor<3>> {
        Ok(model.networks.network.decode(model.encode(scans)?, Way::Partial).fine)
    }
}

/// A trained KT-Net.
///
/// It gives one completion per scan, however many are asked for. There is no noise: [`CompletionOptions::latent`] and
/// [`CompletionOptions::temperature`] change nothing. A number of points that is not the decoder's is drawn from its points.
pub type FittedKnowledgeTransfer = FittedCompleter<KnowledgeTransfer>;

impl FittedKnowledgeTransfer {
    /// What the network makes of a complete cloud.
    pub fn reconstruct(&self, cloud: &PointSet) -> Result<PointSet> {
        check_frame(cloud)?;
        let codes = self.encode(std::slice::from_ref(cloud))?;
        Ok(to_points(self.networks.network.decode(codes, Way::Complete).fine)?.remove(0))
    }

    /// The codes of clouds of the same number of points.
    fn encode(&self, clouds: &[PointSet]) -> Result<Tensor<2>> {
        Ok(self.networks.network.encode(to_tensor(clouds, self.config.device)?))
    }
}
