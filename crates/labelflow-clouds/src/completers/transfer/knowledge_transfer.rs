//! KT-Net: what is learned of complete clouds is transferred to partial ones, by corrections inside of a decoder that both share.
//!
//! One completion a scan, in one pass.
//! (Cao et al., 2023, <https://arxiv.org/abs/2111.11976>.)

use burn::tensor::Tensor;
use labelflow::Result;
use labelflow::training::{DeviceKind, Report};
use serde::{Deserialize, Serialize};

use super::transfer_network::Way;
use crate::completers::completion_dataset::redrawn;
use crate::completers::flow::point_cloud_completer::{
    check_frame, finished, scan_stream, to_points, to_tensor,
};
use crate::completers::{CompletionOptions, StageTraining, TransferPlayers, settings_check};
use crate::geometry::PointSet;

/// Clouds that the network sees at once when completing.
const CLOUDS_AT_ONCE: usize = 64;

/// Settings of KT-Net.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KnowledgeTransfer {
    /// Where all randomness comes from. Default: 0.
    pub seed: u64,
    /// Points of a partial cloud. Default: 1024.
    pub n_partial_points: usize,
    /// Points of a complete cloud: the decoder gives so many. Default: 2048.
    pub n_points: usize,
    /// Widths of the encoder's layers: two of points alone, and one of points with what all of them say. Default: 128, 256, 512.
    pub encoder_widths: [usize; 3],
    /// Width of the code and of the decoder's hidden layers. Default: 1024.
    pub d_code: usize,
    /// Width of the layers that move the points of the coarse cloud. Default: 512.
    pub d_fine: usize,
    /// Widths of the hidden layers of both discriminators. Default: 256, 512.
    pub discriminator_widths: Vec<usize>,
    /// The weight of the discriminators' judgement. Default: 0.1.
    pub adversarial_weight: f64,
    /// The discriminators' step size as a multiple of the network's. Default: 2.
    pub discriminator_rate: f64,
    /// Where to compute. Default: cpu.
    pub device: DeviceKind,
    /// How training proceeds. Default: 600 epochs of batches of 32, a step size of 1e-4 that is multiplied by 0.9995 after every epoch and
    /// does not fall below a fifth, β₁ = 0.5.
    pub training: StageTraining,
}

impl Default for KnowledgeTransfer {
    fn default() -> Self {
        Self {
            seed: 0,
            n_partial_points: 1024,
            n_points: 2048,
            encoder_widths: [128, 256, 512],
            d_code: 1024,
            d_fine: 512,
            discriminator_widths: vec![256, 512],
            adversarial_weight: 0.1,
            discriminator_rate: 2.0,
            device: DeviceKind::Cpu,
            training: StageTraining {
                max_epochs: 600,
                batch_size: 32,
                learning_rate: 1e-4,
                decay: 0.9995,
                final_rate: 0.2,
                beta_1: 0.5,
                ..StageTraining::default()
            },
        }
    }
}

impl KnowledgeTransfer {
    /// These settings with small networks for small clouds, that train in seconds.
    #[must_use]
    pub fn small(self) -> Self {
        Self {
            n_partial_points: 64,
            n_points: 96,
            encoder_widths: [16, 32, 32],
            d_code: 48,
            d_fine: 32,
            discriminator_widths: vec![32],
            training: StageTraining {
                max_epochs: 60,
                batch_size: 16,
                learning_rate: 3e-3,
                decay: 0.97,
                ..self.training
            },
            ..self
        }
    }

    pub(crate) fn check_settings(&self) -> Result<()> {
        settings_check::at_least_one(&[
            ("n_partial_points", self.n_partial_points),
            ("n_points", self.n_points),
            ("d_code", self.d_code),
            ("d_fine", self.d_fine),
        ])?;
        settings_check::widths(&[
            ("encoder_widths", &self.encoder_widths[..]),
            ("discriminator_widths", &self.discriminator_widths[..]),
        ])?;
        settings_check::not_negative(&[("adversarial_weight", self.adversarial_weight)])?;
        settings_check::positive(&[("discriminator_rate", self.discriminator_rate)])?;
        self.training.check("training")
    }
}

/// A trained KT-Net.
///
/// It knows one completion of a scan, however many are asked for. There is no noise: [`CompletionOptions::latent`] and
/// [`CompletionOptions::temperature`] change nothing. A number of points that is not the decoder's is drawn from its points.
#[derive(Debug, Clone)]
pub struct FittedKnowledgeTransfer {
    pub(crate) config: KnowledgeTransfer,
    pub(crate) players: TransferPlayers,
    pub(crate) report: Report,
}

impl FittedKnowledgeTransfer {
    /// The completion of each of several scans that lie in the frame of the shapes, many of them in one pass.
    pub fn complete_all(
        &self,
        scans: &[PointSet],
        options: &CompletionOptions,
    ) -> Result<Vec<Vec<PointSet>>> {
        options.check()?;
        let mut completions = Vec::with_capacity(scans.len());
        for scans in scans.chunks(CLOUDS_AT_ONCE) {
            let mut drawn = Vec::with_capacity(scans.len());
            for scan in scans {
                check_frame(scan)?;
                let mut rng = scan_stream(scan, options.seed);
                let partial = redrawn(scan, self.config.n_partial_points, &mut rng)?;
                drawn.push((partial, rng));
            }
            let partials: Vec<PointSet> =
                drawn.iter().map(|(partial, _)| partial.clone()).collect();
            let clouds = self.one_each(&partials, options.seed)?;
            for (cloud, (partial, mut rng)) in clouds.into_iter().zip(drawn) {
                completions.push(vec![finished(cloud, &partial, options, &mut rng)?]);
            }
        }
        Ok(completions)
    }

    /// Whether it knows a single completion of a scan: it does.
    pub fn is_deterministic(&self) -> bool {
        true
    }

    /// How much the hidden layers of each cloud look like those of complete shapes: about 1 when they do, about 0 when they do not; the mean
    /// of both discriminators.
    pub fn scores(&self, clouds: &[PointSet]) -> Result<Vec<f64>> {
        let mut scores = Vec::with_capacity(clouds.len());
        for clouds in clouds.chunks(CLOUDS_AT_ONCE) {
            let hidden = self.players.network.decode(self.encode(clouds)?, Way::Complete).hidden;
            let batch = TransferPlayers::scores(&self.players.discriminators, &hidden);
            let n_judges = batch.len() as f64;
            let sum = batch.into_iter().reduce(|sum, one| sum + one).expect("two judges");
            scores.extend((sum / n_judges).into_data().iter::<f64>());
        }
        Ok(scores)
    }

    /// What the network makes of a complete cloud.
    pub fn reconstruct(&self, cloud: &PointSet) -> Result<PointSet> {
        check_frame(cloud)?;
        let codes = self.encode(std::slice::from_ref(cloud))?;
        Ok(to_points(self.players.network.decode(codes, Way::Complete).fine)?.remove(0))
    }

    /// The completion of each scan, of as many points as they have.
    pub(crate) fn one_each(&self, scans: &[PointSet], _seed: u64) -> Result<Vec<PointSet>> {
        to_points(self.players.network.decode(self.encode(scans)?, Way::Partial).fine)
    }

    /// The codes of clouds of the same number of points.
    fn encode(&self, clouds: &[PointSet]) -> Result<Tensor<2>> {
        Ok(self.players.network.encode(to_tensor(clouds, self.config.device)?))
    }
}
