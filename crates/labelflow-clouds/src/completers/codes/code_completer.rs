//! Completion in the codes of an autoencoder: the systems that the paper compares with.
//!
//! An autoencoder learns complete shapes. Frozen, it turns partial clouds into codes too, and a generator G learns to turn those into codes of
//! complete shapes, against a discriminator D that knows the codes of real ones:
//!
//! ```text
//! y = decode(G([code(x), z])),   G minimises  λ₁ (D(G) − 1)² + λ₂ d_H(x, y) + λ₃ |E(y) − z|
//! ```
//!
//! Without noise z this is pcl2pcl (Chen et al., 2020, <https://arxiv.org/abs/1904.00069>): one completion a scan. With it, and an encoder
//! E of a variational autoencoder that must find z again in the completion, it is mm-pcl2pcl (Wu et al., 2020,
//! <https://arxiv.org/abs/2003.07717>): as many completions as wanted. Where E has no autoencoder and is trained with G instead, it is that
//! paper's mm-pcl2pcl-im.

use burn::tensor::{Tensor, TensorData};
use labelflow::training::{DeviceKind, Report, stream};
use labelflow::{Error, Result};
use labelflow_flow::Mode;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::completers::completion_dataset::redrawn;
use crate::completers::flow::completion_batch::normal;
use crate::completers::flow::point_cloud_completer::{
    check_frame, finished, scan_stream, to_points, to_tensor,
};
use crate::completers::{CodeNetwork, CompletionOptions, StageTraining, settings_check};
use crate::geometry::PointSet;

/// Codes that are decoded at once.
const CODES_AT_ONCE: usize = 64;

/// Settings of completion by codes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CodeCompleter {
    /// Where all randomness comes from. Default: 0.
    pub seed: u64,
    /// Points of a partial cloud. Default: 1024.
    pub n_partial_points: usize,
    /// Points of a complete cloud: the decoder gives so many. Default: 2048.
    pub n_points: usize,
    /// Widths of the encoder's layers; the last one is the code's. Default: 64, 128, 128, 256, 128.
    pub encoder_widths: Vec<usize>,
    /// Widths of the decoder's hidden layers. Default: 256, 256.
    pub decoder_widths: Vec<usize>,
    /// Width of the noise that makes completions differ; 0 for one completion a scan. Default: 0.
    pub d_noise: usize,
    /// Widths of the generator's hidden layers. Default: 128.
    pub generator_widths: Vec<usize>,
    /// The slope of the generator's activation below zero. Default: 0.
    pub generator_slope: f64,
    /// Widths of the discriminator's hidden layers. Default: 256, 512.
    pub discriminator_widths: Vec<usize>,
    /// The slope of the discriminator's activation below zero. Default: 0.2.
    pub discriminator_slope: f64,
    /// The weights of both players start with this deviation, their biases with 0; none draws both evenly from ±1/√inputs. Default: none.
    pub player_deviation: Option<f64>,
    /// The weight of the discriminator's judgement. Default: 0.25.
    pub adversarial_weight: f64,
    /// The weight of the largest distance from the scan to its completion. Default: 0.75.
    pub hausdorff_weight: f64,
    /// The weight of the mean distance of the noise from what is read back of it. Default: 0.
    pub recovery_weight: f64,
    /// Whether what reads noise back is trained with the players from random weights, in place of a variational autoencoder that has a stage
    /// of its own. Default: false.
    pub joint_reader: bool,
    /// The weight of the variational autoencoder's divergence from N(0, I), a dimension. Default: 10.
    pub divergence_weight: f64,
    /// Whether the discriminator takes its step before the generator. Default: true.
    pub discriminator_first: bool,
    /// When an autoencoder's stage has ended, normalisation statistics are those of so many batches under its final weights. Default: 50.
    pub statistics_batches: usize,
    /// Where to compute. Default: cpu.
    pub device: DeviceKind,
    /// The first stage: the autoencoder learns complete shapes.
    pub autoencoder: StageTraining,
    /// With noise and without `joint_reader`, the second stage: the variational autoencoder learns them.
    pub variational: StageTraining,
    /// The last stage: the players learn to complete. Default: 1001 epochs of batches of 24, a constant step size of 1e-4, β₁ = 0.5.
    pub players: StageTraining,
}

impl Default for CodeCompleter {
    fn default() -> Self {
        Self {
            seed: 0,
            n_partial_points: 1024,
            n_points: 2048,
            encoder_widths: vec![64, 128, 128, 256, 128],
            decoder_widths: vec![256, 256],
            d_noise: 0,
            generator_widths: vec![128],
            generator_slope: 0.0,
            discriminator_widths: vec![256, 512],
            discriminator_slope: 0.2,
            player_deviation: None,
            adversarial_weight: 0.25,
            hausdorff_weight: 0.75,
            recovery_weight: 0.0,
            joint_reader: false,
            divergence_weight: 10.0,
            discriminator_first: true,
            statistics_batches: 50,
            device: DeviceKind::Cpu,
            autoencoder: StageTraining::default(),
            variational: StageTraining::default(),
            players: StageTraining {
                max_epochs: 1001,
                batch_size: 24,
                learning_rate: 1e-4,
                decay: 1.0,
                final_rate: 1.0,
                beta_1: 0.5,
                ..StageTraining::default()
            },
        }
    }
}

impl CodeCompleter {
    /// pcl2pcl as published: one completion a scan.
    pub fn pcl2pcl() -> Self {
        Self::default()
    }

    /// mm-pcl2pcl as published: several completions a scan, from noise.
    pub fn mm_pcl2pcl() -> Self {
        let base = Self::default();
        Self {
            d_noise: 64,
            generator_widths: vec![256, 512],
            generator_slope: 0.01,
            discriminator_slope: 0.01,
            player_deviation: Some(0.02),
            adversarial_weight: 1.0,
            hausdorff_weight: 6.0,
            recovery_weight: 7.5,
            discriminator_first: false,
            players: StageTraining {
                max_epochs: 1000,
                batch_size: 50,
                learning_rate: 5e-4,
                ..base.players.clone()
            },
            ..base
        }
    }

    // Deviation: nobody published how this one is trained, only its networks. As mm-pcl2pcl, then, without the stage of E.
    /// mm-pcl2pcl-im: as [`mm_pcl2pcl`](Self::mm_pcl2pcl), but what reads noise back is trained with the players.
    pub fn mm_pcl2pcl_im() -> Self {
        Self { joint_reader: true, ..Self::mm_pcl2pcl() }
    }

    /// These settings with small networks for small clouds, that train in seconds.
    #[must_use]
    pub fn small(self) -> Self {
        let code_stage = StageTraining {
            max_epochs: 60,
            batch_size: 16,
            learning_rate: 3e-3,
            decay: 0.97,
            ..self.autoencoder.clone()
        };
        Self {
            n_partial_points: 64,
            n_points: 96,
            encoder_widths: vec![16, 32, 64],
            decoder_widths: vec![64],
            d_noise: self.d_noise.min(8),
            // The cost of a cloud is a sum over its points: with few of them as large a divergence would outweigh it.
            divergence_weight: 0.005 * self.divergence_weight,
            // A reader that learns with the players soon reads any noise, and few points bend to it: less of it keeps them shapes.
            recovery_weight: if self.joint_reader { 0.1 } else { 1.0 } * self.recovery_weight,
            generator_widths: vec![32],
            discriminator_widths: vec![32],
            statistics_batches: 10,
            autoencoder: code_stage.clone(),
            variational: code_stage,
            players: StageTraining {
                max_epochs: 120,
                batch_size: 16,
                learning_rate: 2e-3,
                ..self.players
            },
            ..self
        }
    }

    /// The stages in their order.
    pub(crate) fn stages_mut(&mut self) -> [&mut StageTraining; 3] {
        [&mut self.autoencoder, &mut self.variational, &mut self.players]
    }

    pub(crate) fn check_settings(&self) -> Result<()> {
        settings_check::at_least_one(&[
            ("n_partial_points", self.n_partial_points),
            ("n_points", self.n_points),
            ("statistics_batches", self.statistics_batches),
        ])?;
        if self.encoder_widths.is_empty() {
            return Err(Error::config("encoder_widths", "at least one width", "none"));
        }
        settings_check::widths(&[
            ("encoder_widths", &self.encoder_widths[..]),
            ("decoder_widths", &self.decoder_widths[..]),
            ("generator_widths", &self.generator_widths[..]),
            ("discriminator_widths", &self.discriminator_widths[..]),
        ])?;
        settings_check::not_negative(&[
            ("generator_slope", self.generator_slope),
            ("discriminator_slope", self.discriminator_slope),
            ("adversarial_weight", self.adversarial_weight),
            ("hausdorff_weight", self.hausdorff_weight),
            ("recovery_weight", self.recovery_weight),
            ("divergence_weight", self.divergence_weight),
        ])?;
        if let Some(deviation) = self.player_deviation {
            settings_check::positive(&[("player_deviation", deviation)])?;
        }
        if self.joint_reader && self.d_noise == 0 {
            return Err(Error::config("joint_reader", "false where there is no noise", true));
        }
        self.autoencoder.check("autoencoder")?;
        self.variational.check("variational")?;
        self.players.check("players")
    }
}

/// A trained completer by codes.
#[derive(Debug, Clone)]
pub struct FittedCodeCompleter {
    pub(crate) config: CodeCompleter,
    pub(crate) network: CodeNetwork,
    pub(crate) report: Report,
}

impl FittedCodeCompleter {
    /// Completions of a scan that lies in the frame of the shapes. Without noise in the settings there is one, however many are asked for.
    ///
    /// Noise comes from N(0, I) times the temperature: there is no other source, and [`CompletionOptions::latent`] changes nothing. A number
    /// of points that is not the decoder's is drawn from its points.
    pub fn complete(&self, scan: &PointSet, options: &CompletionOptions) -> Result<Vec<PointSet>> {
        options.check()?;
        check_frame(scan)?;
        let rng = &mut scan_stream(scan, options.seed);
        let partial = redrawn(scan, self.config.n_partial_points, rng)?;
        let code = self.encode(std::slice::from_ref(&partial))?;
        let n_completions = if self.is_deterministic() { 1 } else { options.n_completions };
        let mut completions = Vec::with_capacity(n_completions);
        while completions.len() < n_completions {
            let n = CODES_AT_ONCE.min(n_completions - completions.len());
            let noise = self.noise(n, options.temperature, rng)?;
            let codes = self.network.complete_codes(code.clone().repeat_dim(0, n), noise);
            for cloud in to_points(self.network.autoencoder.decode(codes))? {
                completions.push(finished(cloud, &partial, options, rng)?);
            }
        }
        Ok(completions)
    }

    /// Whether it knows a single completion of a scan: so it does without noise.
    pub fn is_deterministic(&self) -> bool {
        self.config.d_noise == 0
    }

    /// How much the code of each cloud looks like that of a complete shape: about 1 when it does, about 0 when it does not.
    pub fn scores(&self, clouds: &[PointSet]) -> Result<Vec<f64>> {
        let mut scores = Vec::with_capacity(clouds.len());
        for clouds in clouds.chunks(CODES_AT_ONCE) {
            let batch = CodeNetwork::scores(&self.network.discriminator, self.encode(clouds)?);
            scores.extend(batch.into_data().iter::<f64>());
        }
        Ok(scores)
    }

    /// One completion of each scan, all from the same noise.
    pub(crate) fn one_each(&self, scans: &[PointSet], seed: u64) -> Result<Vec<PointSet>> {
        let noise = self.noise(1, 1.0, &mut stream(seed, "frame noise", 0))?;
        let noise = noise.map(|noise| noise.repeat_dim(0, scans.len()));
        let codes = self.network.complete_codes(self.encode(scans)?, noise);
        to_points(self.network.autoencoder.decode(codes))
    }

    /// The codes of clouds of the same number of points.
    fn encode(&self, clouds: &[PointSet]) -> Result<Tensor<2>> {
        let clouds = to_tensor(clouds, self.config.device)?;
        Ok(self.network.autoencoder.encode(clouds, Mode::Predict))
    }

    /// What the autoencoder makes of a complete cloud: no completion can be better than this.
    pub fn reconstruct(&self, cloud: &PointSet) -> Result<PointSet> {
        check_frame(cloud)?;
        let code = self.encode(std::slice::from_ref(cloud))?;
        let rebuilt = self.network.autoencoder.decode(code);
        Ok(to_points(rebuilt)?.remove(0))
    }

    fn noise(
        &self,
        n_rows: usize,
        temperature: f64,
        rng: &mut ChaCha8Rng,
    ) -> Result<Option<Tensor<2>>> {
        let width = self.config.d_noise;
        if width == 0 {
            return Ok(None);
        }
        let values = TensorData::new(normal(n_rows * width, rng), [n_rows, width]);
        Ok(Some(Tensor::from_data(values, &self.config.device.open()?) * temperature))
    }
}
