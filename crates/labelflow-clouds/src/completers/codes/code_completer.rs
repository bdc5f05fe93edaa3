//! Completion in the codes of an autoencoder: the systems that the paper compares with.
//!
//! An autoencoder learns complete shapes. Frozen, it turns partial clouds into codes too, and a generator G learns to turn those into codes of
//! complete shapes, against a discriminator D that knows the codes of real ones:
//!
//! ```text
//! y = decode(G([code(x), z])),   G minimises  λ₁ (D(G) − 1)² + λ₂ d_H(x, y) + λ₃ |E(y) − z|
//! ```
//!
//! Without noise z this is pcl2pcl (Chen et al., 2020, <https://arxiv.org/abs/1904.00069>): one completion per scan. With it, and an encoder
//! E of a variational autoencoder that must find z again in the completion, it is mm-pcl2pcl (Wu et al., 2020,
//! <https://arxiv.org/abs/2003.07717>): as many completions as wanted. Where E has no autoencoder and is trained with G instead, it is that
//! paper's mm-pcl2pcl-im.

use burn::tensor::{Device, Tensor};
use labelflow::storage::ModelTask;
use labelflow::training::{DeviceKind, Report, stream};
use labelflow::{Error, Result};
use labelflow_flow::{Initializer, Mode};
use rand_chacha::ChaCha8Rng;

use super::code_models::{NoiseReader, PointAutoencoder, PointVariationalAutoencoder};
use super::code_training::train_codes;
use crate::completers::completer::common_settings;
use crate::completers::fitted_completer::n_in_chains;
use crate::completers::networks::DenseLayers;
use crate::completers::older_names::stage;
use crate::completers::scan_input::{CLOUDS_AT_ONCE, ScanInput, check_frame, normal_tensor, to_points, to_tensor};
use crate::completers::stages::Course;
use crate::completers::{CodeNetwork, CompletionLearner, CompletionOptions, FittedCompleter, StageTraining, System};
use crate::geometry::PointSet;

settings! {
    checked
    /// Settings of completion by codes.
    pub struct CodeCompleter {
        /// Where all randomness comes from. Default: 0.
        seed: u64 = 0,
        /// Points of a partial cloud. Default: 1024.
        n_partial_points: usize = 1024 => at_least(1),
        /// Points of a complete cloud: the decoder gives so many. Default: 2048.
        n_points: usize = 2048 => at_least(1),
        /// Widths of the encoder's layers; the last one is the code's. Default: 64, 128, 128, 256, 128.
        encoder_widths: Vec<usize> = vec![64, 128, 128, 256, 128] => some_widths,
        /// Widths of the decoder's hidden layers. Default: 256, 256.
        decoder_widths: Vec<usize> = vec![256, 256] => widths,
        /// Width of the noise that makes completions differ; 0 for one completion per scan. Default: 0.
        d_noise: usize = 0,
        /// Widths of the generator's hidden layers. Default: 128.
        generator_widths: Vec<usize> = vec![128] => widths,
        /// The slope of the generator's activation below zero. Default: 0.
        generator_slope: f64 = 0.0 => not_negative,
        /// Widths of the discriminator's hidden layers. Default: 256, 512.
        discriminator_widths: Vec<usize> = vec![256, 512] => widths,
        /// The slope of the discriminator's activation below zero. Default: 0.2.
        discriminator_slope: f64 = 0.2 => not_negative,
        /// The weights of generator and discriminator start with this deviation, their biases with 0; none draws both evenly from ±1/√inputs. Default: none.
        player_deviation: Option<f64> = None => if_given(positive),
        /// The weight of the discriminator's score. Default: 0.25.
        adversarial_weight: f64 = 0.25 => not_negative,
        /// The weight of the largest distance from the scan to its completion. Default: 0.75.
        hausdorff_weight: f64 = 0.75 => not_negative,
        /// The weight of the mean distance of the noise from what is read back of it. Default: 0.
        recovery_weight: f64 = 0.0 => not_negative,
        /// Whether what reads noise back is trained with the generator from random weights, in place of a variational autoencoder that has a stage
        /// of its own. Default: false.
        joint_reader: bool = false,
        /// The weight of the variational autoencoder's divergence from N(0, I), per dimension. Default: 10.
        divergence_weight: f64 = 10.0 => not_negative,
        /// Whether the discriminator takes its step before the generator. Default: true.
        discriminator_first: bool = true,
        /// When an autoencoder's stage has ended, normalisation statistics are those of so many batches under its final weights. Default: 50.
        statistics_batches: usize = 50 => at_least(1),
        /// Where to compute. Default: cpu.
        device: DeviceKind = DeviceKind::Cpu,
        /// The first stage: the autoencoder learns complete shapes.
        #[serde(deserialize_with = "stage")]
        autoencoder: StageTraining = StageTraining::default(),
        /// With noise and without `joint_reader`, the second stage: the variational autoencoder learns them.
        #[serde(deserialize_with = "stage")]
        variational: StageTraining = StageTraining::default(),
        /// The last stage: generator and discriminator learn to complete. Default: 1001 epochs of batches of 24, a constant step size of 1e-4, β₁ = 0.5.
        #[serde(deserialize_with = "stage")]
        players: StageTraining = StageTraining {
            max_epochs: 1001,
            batch_size: 24,
            learning_rate: 1e-4,
            learning_rate_decay: 1.0,
            learning_rate_floor: 1.0,
            betas: [0.5, 0.999],
        },
    }
}

impl CodeCompleter {
    /// pcl2pcl as published: one completion per scan.
    pub fn pcl2pcl() -> Self {
        Self::default()
    }

    /// mm-pcl2pcl as published: several completions per scan, from noise.
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
            players: StageTraining { max_epochs: 1000, batch_size: 50, learning_rate: 5e-4, ..base.players.clone() },
            ..base
        }
    }

    // Deviation: nobody published how this one is trained, only its networks. As mm-pcl2pcl, then, without the stage of E.
    /// mm-pcl2pcl-im: as [`mm_pcl2pcl`](Self::mm_pcl2pcl), but what reads noise back is trained with the generator.
    pub fn mm_pcl2pcl_im() -> Self {
        Self { joint_reader: true, ..Self::mm_pcl2pcl() }
    }

    /// Width of a code.
    pub(crate) fn d_code(&self) -> usize {
        *self.encoder_widths.last().expect("at least one layer of point features")
    }
}

impl CompletionLearner for CodeCompleter {
    type Networks = CodeNetwork;
    const TASK: ModelTask = ModelTask::CodeCompletion;
    const KIND: &'static str = "code completer";
    const SYSTEMS: &'static [System<Self>] =
        &[("pcl2pcl", Self::pcl2pcl), ("mm-pcl2pcl", Self::mm_pcl2pcl), ("mm-pcl2pcl-im", Self::mm_pcl2pcl_im)];

    fn system(&self) -> &'static str {
        match self {
            Self { d_noise: 0, .. } => "pcl2pcl",
            Self { joint_reader: true, .. } => "mm-pcl2pcl-im",
            _ => "mm-pcl2pcl",
        }
    }

    common_settings!([autoencoder, variational, players], n_points);

    fn small(self) -> Self {
        let code_stage = StageTraining { learning_rate_decay: 0.97, ..self.autoencoder.clone().small(60, 3e-3) };
        Self {
            n_partial_points: 64,
            n_points: 96,
            encoder_widths: vec![16, 32, 64],
            decoder_widths: vec![64],
            d_noise: self.d_noise.min(8),
            // The cost of a cloud is a sum over its points: with few of them as large a divergence would outweigh it.
            divergence_weight: 0.005 * self.divergence_weight,
            // A reader that learns with the generator soon reads any noise, and few points bend to it: less of it keeps them shapes.
            recovery_weight: if self.joint_reader { 0.1 } else { 1.0 } * self.recovery_weight,
            generator_widths: vec![32],
            discriminator_widths: vec![32],
            statistics_batches: 10,
            autoencoder: code_stage.clone(),
            variational: code_stage,
            players: self.players.small(120, 2e-3),
            ..self
        }
    }

    fn check(&self) -> Result<()> {
        self.check_each("")?;
        if self.joint_reader && self.d_noise == 0 {
            return Err(Error::config("joint_reader", "false where there is no noise", true));
        }
        self.autoencoder.check_each("autoencoder.")?;
        self.variational.check_each("variational.")?;
        self.players.check_each("players.")
    }

    fn init(&self, device: &Device) -> CodeNetwork {
        let init = &mut Initializer::new(self.seed, device);
        let (d_code, has_noise) = (self.d_code(), self.d_noise > 0);
        let autoencoder = PointAutoencoder::init(self, init);
        let variational = (has_noise && !self.joint_reader).then(|| PointVariationalAutoencoder::init(self, init));
        let deviation = self.player_deviation.map(|deviation| deviation as f32);
        let mut layers = |d_input, hidden: &[usize], d_output, slope| {
            let widths = [&[d_input], hidden, &[d_output]].concat();
            DenseLayers::init(&widths, slope, deviation, init)
        };
        let generator = layers(d_code + self.d_noise, &self.generator_widths, d_code, self.generator_slope);
        let discriminator = layers(d_code, &self.discriminator_widths, 1, self.discriminator_slope);
        let reader = (has_noise && self.joint_reader).then(|| NoiseReader::init(self, init));
        CodeNetwork { autoencoder, variational, generator, discriminator, reader }
    }

    fn n_weights_at_least(&self) -> Option<usize> {
        let (d_noise, d_code) = (self.d_noise, *self.encoder_widths.last()?);
        n_in_chains(&[
            &[&[3], &self.encoder_widths],
            &[&[d_code], &self.decoder_widths, &[self.n_points.checked_mul(3)?]],
            &[&[d_code.checked_add(d_noise)?], &self.generator_widths, &[d_code]],
            &[&[d_code], &self.discriminator_widths, &[1]],
            &[&[d_noise, d_code]],
        ])
    }

    fn train(&self, course: Course<'_, CodeNetwork>) -> Result<(CodeNetwork, Report)> {
        train_codes(self, course)
    }

    /// Without noise.
    fn is_deterministic(&self) -> bool {
        self.d_noise == 0
    }

    fn complete_one(
        model: &FittedCodeCompleter,
        scan: &PointSet,
        options: &CompletionOptions,
    ) -> Result<Vec<PointSet>> {
        let input = ScanInput::new(scan, model.config.n_partial_points, options.seed)?;
        let code = model.encode(std::slice::from_ref(&input.partial))?;
        let n_completions = if model.config.d_noise == 0 { 1 } else { options.n_completions };
        input.completions(n_completions, CLOUDS_AT_ONCE, options, |n, rng| {
            let noise = model.noise(n, options.temperature, rng)?;
            Ok(model.networks.complete(code.clone().repeat_dim(0, n), noise))
        })
    }

    /// How much the code of each cloud looks like that of a complete shape.
    fn scores(networks: &CodeNetwork, clouds: Tensor<3>) -> Tensor<1> {
        let codes = networks.autoencoder.encode(clouds, Mode::Predict);
        CodeNetwork::scores(&networks.discriminator, codes)
    }

    fn one_each(model: &FittedCodeCompleter, scans: &[PointSet], seed: u64) -> Result<Tensor<3>> {
        let noise = model.noise(1, 1.0, &mut stream(seed, "frame noise", 0))?;
        let noise = noise.map(|noise| noise.repeat_dim(0, scans.len()));
        Ok(model.networks.complete(model.encode(scans)?, noise))
    }
}

/// A trained completer by codes.
///
/// Noise comes from N(0, I) times the temperature: there is no other source, and [`CompletionOptions::latent`] changes nothing. A number
/// of points that is not the decoder's is drawn from its points.
pub type FittedCodeCompleter = FittedCompleter<CodeCompleter>;

impl FittedCodeCompleter {
    /// What the autoencoder makes of a complete cloud: no completion can be better than this.
    pub fn reconstruct(&self, cloud: &PointSet) -> Result<PointSet> {
        check_frame(cloud)?;
        let code = self.encode(std::slice::from_ref(cloud))?;
        Ok(to_points(self.networks.autoencoder.decode(code))?.remove(0))
    }

    /// The codes of clouds of the same number of points.
    fn encode(&self, clouds: &[PointSet]) -> Result<Tensor<2>> {
        let clouds = to_tensor(clouds, self.config.device)?;
        Ok(self.networks.autoencoder.encode(clouds, Mode::Predict))
    }

    fn noise(&self, n_rows: usize, temperature: f64, rng: &mut ChaCha8Rng) -> Result<Option<Tensor<2>>> {
        let CodeCompleter { d_noise, device, .. } = self.config;
        let noise = (d_noise > 0).then(|| normal_tensor([n_rows, d_noise], temperature, device, rng));
        noise.transpose()
    }
}
