//! The learner for point clouds: partial scans and unrelated complete shapes in, several complete clouds for each scan out.
//!
//! ```text
//! max  E[log p(y|x)] − KL(q(u|x) ‖ N(0, I)) − λ₁ (D(y) − 1)² − λ₂ d_H(x, y),   y = g(z; u, x)
//! ```
//!
//! A discriminator D that knows complete shapes constrains what the whole looks like, and the directed Hausdorff distance d_H keeps the
//! scan's points.

// Deviation: by default a narrower base, larger steps that fade, averaged weights and a denser fidelity term, since a standard normal
// base has far to contract at the paper's step size; `PointCloudCompleter::paper` has none of them. docs/method/completion.md compares.

use burn::tensor::{Device, Tensor};
use labelflow::Result;
use labelflow::storage::{ModelTask, n_hidden_weights};
use labelflow::training::{DeviceKind, Report, stream};
use labelflow_flow::{Initializer, Mode, N_AXES};

use super::flow_networks::{CompletionNetwork, Discriminator, FlowNetworks};
use super::flow_stage::train_flow;
use crate::completers::completer::common_settings;
use crate::completers::fitted_completer::n_in_chains;
use crate::completers::scan_input::{CLOUDS_AT_ONCE, ScanInput, normal_tensor, to_tensor};
use crate::completers::stages::Course;
use crate::completers::{
    CompletionLearner, CompletionOptions, CompletionTraining, FittedCompleter, LatentSource, System,
};
use crate::geometry::PointSet;

/// Points that candidates of a search for frames are completed with: enough to tell frames apart.
const SEARCH_POINTS: usize = 512;

settings! {
    checked
    /// Settings of a point cloud completer.
    pub struct PointCloudCompleter {
        /// Where all randomness comes from. Default: 0.
        seed: u64 = 0,
        /// Points of a partial cloud. Default: 1024.
        n_partial_points: usize = 1024 => at_least(1),
        /// Points of a complete cloud in training; a trained model gives any number. Default: 2048.
        n_points: usize = 2048 => at_least(1),
        /// Steps of the flow, of three couplings each. Default: 8.
        n_steps: usize = 8 => at_least(1),
        /// Width inside the couplings. Default: 64.
        d_hidden: usize = 64 => at_least(1),
        /// Width of the latent. Default: 128.
        d_latent: usize = 128 => at_least(1),
        /// Widths of the layers that look at partial clouds. Default: 64, 128, 256, 512.
        feature_widths: Vec<usize> = vec![64, 128, 256, 512] => some_widths,
        /// Widths of the discriminator's layers for points. Default: 64, 128, 128, 256, 128.
        discriminator_widths: Vec<usize> = vec![64, 128, 128, 256, 128] => some_widths,
        /// Widths of the discriminator's layers after them. Default: 256, 512.
        discriminator_head: Vec<usize> = vec![256, 512] => widths,
        /// Whether the discriminator's layers for points are normalised over the batch, as in the paper. Default: true.
        discriminator_norm: bool = true,
        /// The discriminator sees points blurred by noise of this deviation, shapes and completions alike, so that it scores shapes rather than
        /// how thin a surface is; 0 in the paper. Default: 0.
        discriminator_blur: f64 = 0.0 => not_negative,
        /// The deviation of the base density; 1 in the paper. Default: 0.2.
        base_deviation: f64 = 0.2 => positive,
        /// The weight of the likelihood term, in bits per dimension; 0 for the paper's "w/o-nll". Default: 0.1.
        likelihood_weight: f64 = 0.1 => not_negative,
        /// The weight of the latent's divergence from N(0, I). Default: 1/128.
        divergence_weight: f64 = 1.0 / 128.0 => not_negative,
        /// The weight of the discriminator's score. Default: 10.
        adversarial_weight: f64 = 10.0 => not_negative,
        /// The weight of the largest distance from the scan to its completion. Default: 100.
        hausdorff_weight: f64 = 100.0 => not_negative,
        /// The weight of the mean distance from the scan to its completion; 0 in the paper. Default: 100.
        fidelity_weight: f64 = 100.0 => not_negative,
        /// Training scales clouds by 1 ± this and moves them by half as much, for scans whose frame is not known. Default: 0.
        jitter: f64 = 0.0 => share_below_one,
        /// Where to compute. Default: cpu.
        device: DeviceKind = DeviceKind::Cpu,
        /// How training proceeds.
        training: CompletionTraining = CompletionTraining::default(),
    }
}

impl PointCloudCompleter {
    /// As in the paper, where it says.
    pub fn paper() -> Self {
        Self {
            base_deviation: 1.0,
            likelihood_weight: 1.0,
            divergence_weight: 1.0,
            fidelity_weight: 0.0,
            training: CompletionTraining::paper(),
            ..Self::default()
        }
    }

    /// Small networks for small clouds, that train in about a minute on two cores.
    pub fn small() -> Self {
        Self {
            n_partial_points: 128,
            n_points: 256,
            n_steps: 4,
            d_hidden: 16,
            d_latent: 16,
            feature_widths: vec![16, 32, 64],
            discriminator_widths: vec![16, 32, 64],
            discriminator_head: vec![64],
            training: CompletionTraining {
                max_epochs: 40,
                batch_size: 16,
                learning_rate: 2e-3,
                statistics_batches: 40,
                ..CompletionTraining::default()
            },
            ..Self::default()
        }
    }
}

impl CompletionLearner for PointCloudCompleter {
    type Networks = FlowNetworks;
    const TASK: ModelTask = ModelTask::Completion;
    const KIND: &'static str = "";
    const SYSTEMS: &'static [System<Self>] = &[("llf", Self::default)];

    common_settings!([training], n_points);

    fn small(self) -> Self {
        Self::small()
    }

    fn check(&self) -> Result<()> {
        self.check_each("")?;
        self.training.check_each("")
    }

    fn init(&self, device: &Device) -> FlowNetworks {
        let init = &mut Initializer::new(self.seed, device);
        FlowNetworks { generator: CompletionNetwork::init(self, init), discriminator: Discriminator::init(self, init) }
    }

    fn n_weights_at_least(&self) -> Option<usize> {
        // The first layer of each network sees one number at the least.
        let networks = n_in_chains(&[
            &[&[1], &self.feature_widths],
            &[&[1], &self.discriminator_widths],
            &[&[1], &self.discriminator_head],
        ])?;
        n_hidden_weights(self.n_steps, self.d_hidden, self.d_latent)?.checked_add(networks)
    }

    fn train(&self, course: Course<'_, FlowNetworks>) -> Result<(FlowNetworks, Report)> {
        train_flow(self, course)
    }

    fn complete_one(
        model: &FittedPointCloudCompleter,
        scan: &PointSet,
        options: &CompletionOptions,
    ) -> Result<Vec<PointSet>> {
        let PointCloudCompleter { n_partial_points, d_latent, device, .. } = model.config;
        let n_points = options.n_points.unwrap_or(model.config.n_points);
        let input = ScanInput::new(scan, n_partial_points, options.seed)?;
        let partial = to_tensor(std::slice::from_ref(&input.partial), device)?;
        let generator = &model.networks.generator;
        let encoded = generator.encode(partial, Mode::Predict);
        let n_at_once = (CLOUDS_AT_ONCE * model.config.n_points / n_points).max(1);
        input.completions(options.n_completions, n_at_once, options, |n, rng| {
            let latent_noise = normal_tensor([n, d_latent], options.temperature, device, rng)?;
            let noise = normal_tensor([n, n_points, N_AXES], options.temperature, device, rng)?;
            let latent = match options.latent {
                LatentSource::Posterior => encoded.latent.sample(latent_noise),
                LatentSource::Prior => latent_noise,
            };
            let features = encoded.features.clone().repeat_dim(0, n);
            Ok(generator.generate(latent, features, noise, Mode::Predict).clouds)
        })
    }

    fn scores(networks: &FlowNetworks, clouds: Tensor<3>) -> Tensor<1> {
        networks.discriminator.forward(clouds, Mode::Predict)
    }

    fn one_each(model: &FittedPointCloudCompleter, scans: &[PointSet], seed: u64) -> Result<Tensor<3>> {
        let PointCloudCompleter { d_latent, device, .. } = model.config;
        let rng = &mut stream(seed, "frame noise", 0);
        let n = scans.len();
        let latent = normal_tensor([1, d_latent], 1.0, device, rng)?.repeat_dim(0, n);
        let noise = normal_tensor([1, SEARCH_POINTS, 3], 1.0, device, rng)?.repeat_dim(0, n);
        let generator = &model.networks.generator;
        let encoded = generator.encode(to_tensor(scans, device)?, Mode::Predict);
        let latent = encoded.latent.sample(latent);
        Ok(generator.generate(latent, encoded.features, noise, Mode::Predict).clouds)
    }
}

/// A trained flow.
pub type FittedPointCloudCompleter = FittedCompleter<PointCloudCompleter>;
