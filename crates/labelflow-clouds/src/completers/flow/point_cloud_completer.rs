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

use burn::tensor::{Tensor, TensorData};
use labelflow::training::{DeviceKind, Report, stream};
use labelflow::{Error, Result};
use labelflow_flow::{Mode, N_AXES};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::completion_batch::normal;
use crate::completers::completion_dataset::redrawn;
use crate::completers::{
    CompletionDataset, CompletionOptions, CompletionTraining, LatentSource, Players, settings_check,
};
use crate::geometry::PointSet;

/// Clouds that a network sees at once when completing.
const CLOUDS_AT_ONCE: usize = 64;

/// Scans that reach farther than this from the origin are not in the frame of the shapes, whose radius is 0.5.
const FARTHEST: f32 = 5.0;

/// Settings of a point cloud completer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PointCloudCompleter {
    /// Where all randomness comes from. Default: 0.
    pub seed: u64,
    /// Points of a partial cloud. Default: 1024.
    pub n_partial_points: usize,
    /// Points of a complete cloud in training; a trained model gives any number. Default: 2048.
    pub n_points: usize,
    /// Steps of the flow, of three couplings each. Default: 8.
    pub n_steps: usize,
    /// Width inside the couplings. Default: 64.
    pub d_hidden: usize,
    /// Width of the latent. Default: 128.
    pub d_latent: usize,
    /// Widths of the layers that look at partial clouds. Default: 64, 128, 256, 512.
    pub feature_widths: Vec<usize>,
    /// Widths of the discriminator's layers for points. Default: 64, 128, 128, 256, 128.
    pub discriminator_widths: Vec<usize>,
    /// Widths of the discriminator's layers after them. Default: 256, 512.
    pub discriminator_head: Vec<usize>,
    /// Whether the discriminator's layers for points are normalised over the batch, as in the paper. Default: true.
    pub discriminator_norm: bool,
    /// The discriminator sees points blurred by noise of this deviation, shapes and completions alike, so that it judges shapes rather than
    /// how thin a surface is; 0 in the paper. Default: 0.
    pub discriminator_blur: f64,
    /// The deviation of the base density; 1 in the paper. Default: 0.2.
    pub base_deviation: f64,
    /// The weight of the likelihood term, in bits per dimension; 0 for the paper's "w/o-nll". Default: 0.1.
    pub likelihood_weight: f64,
    /// The weight of the latent's divergence from N(0, I). Default: 1/128.
    pub divergence_weight: f64,
    /// The weight of the discriminator's judgement. Default: 10.
    pub adversarial_weight: f64,
    /// The weight of the largest distance from the scan to its completion. Default: 100.
    pub hausdorff_weight: f64,
    /// The weight of the mean distance from the scan to its completion; 0 in the paper. Default: 100.
    pub fidelity_weight: f64,
    /// Training scales clouds by 1 ± this and moves them by half as much, for scans whose frame is not known. Default: 0.
    pub jitter: f64,
    /// Where to compute. Default: cpu.
    pub device: DeviceKind,
    /// How training proceeds.
    pub training: CompletionTraining,
}

impl Default for PointCloudCompleter {
    fn default() -> Self {
        Self {
            seed: 0,
            n_partial_points: 1024,
            n_points: 2048,
            n_steps: 8,
            d_hidden: 64,
            d_latent: 128,
            feature_widths: vec![64, 128, 256, 512],
            discriminator_widths: vec![64, 128, 128, 256, 128],
            discriminator_head: vec![256, 512],
            discriminator_norm: true,
            discriminator_blur: 0.0,
            base_deviation: 0.2,
            likelihood_weight: 0.1,
            divergence_weight: 1.0 / 128.0,
            adversarial_weight: 10.0,
            hausdorff_weight: 100.0,
            fidelity_weight: 100.0,
            jitter: 0.0,
            device: DeviceKind::Cpu,
            training: CompletionTraining::default(),
        }
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

    /// The clouds of one step: as many as wanted, or all when there are fewer.
    pub(crate) fn clouds_a_step(&self, dataset: &CompletionDataset) -> usize {
        self.training.batch_size.min(dataset.n_partials())
    }

    /// The steps of one pass over the partial clouds; a short last batch is left out.
    pub(crate) fn steps_an_epoch(&self, dataset: &CompletionDataset) -> usize {
        dataset.n_partials() / self.clouds_a_step(dataset)
    }

    pub(crate) fn check_settings(&self) -> Result<()> {
        settings_check::at_least_one(&[
            ("n_partial_points", self.n_partial_points),
            ("n_points", self.n_points),
            ("n_steps", self.n_steps),
            ("d_hidden", self.d_hidden),
            ("d_latent", self.d_latent),
        ])?;
        for (setting, widths) in [
            ("feature_widths", &self.feature_widths),
            ("discriminator_widths", &self.discriminator_widths),
        ] {
            if widths.is_empty() || widths.contains(&0) {
                let expected = "at least one width, each at least 1";
                return Err(Error::config(setting, expected, format!("{widths:?}")));
            }
        }
        settings_check::widths(&[("discriminator_head", &self.discriminator_head)])?;
        settings_check::positive(&[("base_deviation", self.base_deviation)])?;
        settings_check::not_negative(&[
            ("likelihood_weight", self.likelihood_weight),
            ("divergence_weight", self.divergence_weight),
            ("adversarial_weight", self.adversarial_weight),
            ("hausdorff_weight", self.hausdorff_weight),
            ("fidelity_weight", self.fidelity_weight),
            ("discriminator_blur", self.discriminator_blur),
        ])?;
        if !(0.0..1.0).contains(&self.jitter) {
            return Err(Error::config("jitter", "a share from 0 to below 1", self.jitter));
        }
        self.training.check()
    }
}

/// A trained completer.
#[derive(Debug, Clone)]
pub struct FittedPointCloudCompleter {
    pub(crate) config: PointCloudCompleter,
    pub(crate) players: Players,
    pub(crate) report: Report,
}

impl FittedPointCloudCompleter {
    /// Several completions of a scan that lies in the frame of the shapes.
    ///
    /// They depend on the scan, the model and the options, not on what else is completed.
    pub fn complete(&self, scan: &PointSet, options: &CompletionOptions) -> Result<Vec<PointSet>> {
        options.check()?;
        check_frame(scan)?;
        let n_points = options.n_points.unwrap_or(self.config.n_points);
        let rng = &mut scan_stream(scan, options.seed);
        let partial = redrawn(scan, self.config.n_partial_points, rng)?;
        let encoded = self
            .players
            .generator
            .encode(self.to_tensor(std::slice::from_ref(&partial))?, Mode::Predict);
        let clouds_at_once = (CLOUDS_AT_ONCE * self.config.n_points / n_points).max(1);
        let mut completions = Vec::with_capacity(options.n_completions);
        while completions.len() < options.n_completions {
            let n = clouds_at_once.min(options.n_completions - completions.len());
            let latent_noise = self.numbers([n, self.config.d_latent], options.temperature, rng)?;
            let noise = self.numbers([n, n_points, N_AXES], options.temperature, rng)?;
            let latent = match options.latent {
                LatentSource::Posterior => encoded.latent.sample(latent_noise),
                LatentSource::Prior => latent_noise,
            };
            let features = encoded.features.clone().repeat_dim(0, n);
            let generated = self.players.generator.generate(latent, features, noise, Mode::Predict);
            for cloud in to_points(generated.clouds)? {
                completions.push(match options.keep_input {
                    true => with_input(&cloud, &partial, rng)?,
                    false => cloud,
                });
            }
        }
        Ok(completions)
    }

    /// Whether it knows a single completion of a scan: it knows as many as are asked for.
    pub fn is_deterministic(&self) -> bool {
        false
    }

    /// How much each cloud looks like a complete shape: about 1 when it does, about 0 when it does not.
    pub fn scores(&self, clouds: &[PointSet]) -> Result<Vec<f64>> {
        let mut scores = Vec::with_capacity(clouds.len());
        for clouds in clouds.chunks(CLOUDS_AT_ONCE) {
            let clouds = self.to_tensor(clouds)?;
            let batch = self.players.discriminator.forward(clouds, Mode::Predict);
            scores.extend(batch.into_data().iter::<f64>());
        }
        Ok(scores)
    }

    pub(crate) fn numbers<const D: usize>(
        &self,
        shape: [usize; D],
        temperature: f64,
        rng: &mut ChaCha8Rng,
    ) -> Result<Tensor<D>> {
        let values = normal(shape.iter().product(), rng);
        let tensor = Tensor::from_data(TensorData::new(values, shape), &self.config.device.open()?);
        Ok(tensor * temperature)
    }

    pub(crate) fn to_tensor(&self, clouds: &[PointSet]) -> Result<Tensor<3>> {
        to_tensor(clouds, self.config.device)
    }
}

/// The random numbers of a scan: from the seed and its points, so that they do not depend on what else is completed.
pub(crate) fn scan_stream(scan: &PointSet, seed: u64) -> ChaCha8Rng {
    let mut hash = Sha256::new();
    scan.as_flat().iter().for_each(|value| hash.update(value.to_le_bytes()));
    let digest: [u8; 32] = hash.finalize().into();
    let index = u64::from_le_bytes(digest[..8].try_into().expect("eight bytes"));
    stream(seed, "completion", index)
}

/// Networks have never seen anything far outside of their frame, and would give anything for it.
pub(crate) fn check_frame(scan: &PointSet) -> Result<()> {
    let farthest = scan.as_flat().iter().fold(0f32, |farthest, value| farthest.max(value.abs()));
    if farthest <= FARTHEST {
        return Ok(());
    }
    let expected = format!(
        "coordinates up to {FARTHEST}, in the frame where shapes have a radius of {}",
        crate::geometry::Normalization::SHAPE_RADIUS
    );
    Err(Error::data("scan", expected, format!("{farthest}; give or search its frame")))
}

/// Clouds of the same number of points as a tensor `[n_clouds, n_points, 3]`.
pub(crate) fn to_tensor(clouds: &[PointSet], device: DeviceKind) -> Result<Tensor<3>> {
    let n_points = clouds.first().map_or(0, PointSet::len);
    if let Some(other) = clouds.iter().find(|cloud| cloud.len() != n_points) {
        let expected = format!("{n_points} points in each cloud");
        return Err(Error::data("clouds", expected, other.len()));
    }
    let values: Vec<f32> = clouds.iter().flat_map(|cloud| cloud.as_flat()).copied().collect();
    let shape = [clouds.len(), n_points, N_AXES];
    Ok(Tensor::from_data(TensorData::new(values, shape), &device.open()?))
}

/// The clouds of a tensor `[n_clouds, n_points, 3]`.
pub(crate) fn to_points(clouds: Tensor<3>) -> Result<Vec<PointSet>> {
    let n_points = clouds.dims()[1];
    let values: Vec<f32> = clouds.into_data().iter::<f32>().collect();
    let points = values.as_chunks::<N_AXES>().0;
    let cloud = |points: &[[f32; 3]]| {
        PointSet::new(points.to_vec()).map_err(|_| {
            let found = "points without a place; the scan is like nothing in training, or training was too short";
            Error::data("completion", "finite points", found)
        })
    };
    points.chunks(n_points).map(cloud).collect()
}

/// A completion with as many points as wanted, and with those of the scan if they are kept.
pub(crate) fn finished(
    cloud: PointSet,
    partial: &PointSet,
    options: &CompletionOptions,
    rng: &mut ChaCha8Rng,
) -> Result<PointSet> {
    let cloud = match options.n_points {
        Some(n_points) if n_points != cloud.len() => redrawn(&cloud, n_points, rng)?,
        _ => cloud,
    };
    match options.keep_input {
        true => with_input(&cloud, partial, rng),
        false => Ok(cloud),
    }
}

/// As many points as before, drawn from a completion and the scan together, none of them twice.
pub(crate) fn with_input(
    cloud: &PointSet,
    scan: &PointSet,
    rng: &mut ChaCha8Rng,
) -> Result<PointSet> {
    let all = PointSet::new([cloud.as_slice(), scan.as_slice()].concat())?;
    Ok(all.select(&rand::seq::index::sample(rng, all.len(), cloud.len()).into_vec()))
}
