//! Completion by inversion: a generator that has seen complete shapes alone is bent, scan by scan, until what it grows has the scan in it.
//!
//! ```text
//! training     G against D, on complete shapes
//! completion   z, G ← argmin CD(what a scan shows of G(z), scan) + …,   y = G(z)
//! ```
//!
//! Partial clouds are not learned from at all, and a completion takes hundreds of steps of optimisation.
//! (Zhang et al., 2021, <https://arxiv.org/abs/2104.13366>.)

use burn::tensor::{Tensor, TensorData};
use labelflow::training::{DeviceKind, Report, stream};
use labelflow::{Error, Result};
use serde::{Deserialize, Serialize};

use super::latent_inversion::{farthest_rows, invert};
use crate::completers::completion_dataset::redrawn;
use crate::completers::flow::completion_batch::normal;
use crate::completers::flow::point_cloud_completer::{
    check_frame, finished, scan_stream, to_points, to_tensor,
};
use crate::completers::networks::nearest_points::nearest_squares;
use crate::completers::{CompletionOptions, StageTraining, TreePlayers, settings_check};
use crate::geometry::PointSet;

/// Clouds that are grown or judged at once.
const CLOUDS_AT_ONCE: usize = 64;
/// The most candidates: more than anyone compares, and few enough for any memory.
const MOST_CANDIDATES: usize = 1 << 20;
/// Candidates that a search for frames looks at, and points of the scan that it compares them by.
const SEARCH_CANDIDATES: usize = 64;
const SEARCH_POINTS: usize = 256;

/// Settings of completion by inversion. Training sees the complete shapes of a dataset alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ShapeInversion {
    /// Where all randomness comes from. Default: 0.
    pub seed: u64,
    /// Points of a scan that a completion is fitted to. Default: 1024.
    pub n_partial_points: usize,
    /// Width of the noise at the root of the tree. Default: 96.
    pub d_noise: usize,
    /// Widths of the nodes of the layers between root and points. Default: 256, 256, 256, 128, 128, 128.
    pub generator_widths: Vec<usize>,
    /// Children of each node, layer by layer; their product is the number of points. Default: 1, 2, 2, 2, 2, 2, 64.
    pub degrees: Vec<usize>,
    /// How many times as wide as its input the inner map of a layer is. Default: 10.
    pub widening: usize,
    /// Widths of the discriminator's layers for points. Default: 64, 128, 256, 256, 512.
    pub discriminator_widths: Vec<usize>,
    /// Widths of the discriminator's layers after them. Default: 128, 64.
    pub discriminator_head: Vec<usize>,
    /// Steps of the discriminator before each one of the generator. Default: 5.
    pub discriminator_steps: usize,
    /// The weight of the penalty on the discriminator's steepness. Default: 10.
    pub penalty_weight: f64,
    /// The weight of the unevenness of points. Default: 0.2.
    pub patch_weight: f64,
    /// Points of a cloud around which it is measured. Default: 100.
    pub n_patches: usize,
    /// Neighbours of each of them. Default: 30.
    pub n_neighbors: usize,
    /// Where to compute. Default: cpu.
    pub device: DeviceKind,
    /// Both players learn complete shapes. Default: 2000 epochs of batches of 128, a constant step size of 1e-4, β₁ = 0, β₂ = 0.99.
    pub training: StageTraining,
    /// How scans are completed.
    pub inversion: Inversion,
}

/// How a scan is completed by inversion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Inversion {
    /// Grown clouds of which the search begins with the best. Default: 500.
    pub n_candidates: usize,
    /// The best of them by their distance from the scan, of which those are taken that differ most, when several completions are wanted.
    /// Default: 50.
    pub n_nearest: usize,
    /// Steps of each stage; 30 were published for bulky shapes. Default: 200.
    pub n_iterations: usize,
    /// Adam's step size for the noise, a stage each. Default: 1e-2, 1e-4, 1e-4, 1e-6.
    pub noise_rates: Vec<f64>,
    /// Adam's step size for the weights, a stage each. Default: 2e-7, 1e-6, 1e-6, 2e-7.
    pub weight_rates: Vec<f64>,
    /// Adam's β₁ and β₂. Default: 0, 0.99.
    pub betas: [f64; 2],
    /// Grown points that each scanned point shows. Default: 5.
    pub n_mask_neighbors: usize,
    /// The weight of the distance between the features of what is shown and of the scan. Default: 0.1.
    pub feature_weight: f64,
    /// The weight of half the mean square of the noise. Default: 0.001.
    pub prior_weight: f64,
    /// Completions that are searched at once, each with weights of its own. Default: 8.
    pub n_at_once: usize,
}

impl Default for ShapeInversion {
    fn default() -> Self {
        Self {
            seed: 0,
            n_partial_points: 1024,
            d_noise: 96,
            generator_widths: vec![256, 256, 256, 128, 128, 128],
            degrees: vec![1, 2, 2, 2, 2, 2, 64],
            widening: 10,
            discriminator_widths: vec![64, 128, 256, 256, 512],
            discriminator_head: vec![128, 64],
            discriminator_steps: 5,
            penalty_weight: 10.0,
            patch_weight: 0.2,
            n_patches: 100,
            n_neighbors: 30,
            device: DeviceKind::Cpu,
            training: StageTraining {
                max_epochs: 2000,
                batch_size: 128,
                learning_rate: 1e-4,
                decay: 1.0,
                final_rate: 1.0,
                beta_1: 0.0,
                beta_2: 0.99,
            },
            inversion: Inversion::default(),
        }
    }
}

impl Default for Inversion {
    fn default() -> Self {
        Self {
            n_candidates: 500,
            n_nearest: 50,
            n_iterations: 200,
            noise_rates: vec![1e-2, 1e-4, 1e-4, 1e-6],
            weight_rates: vec![2e-7, 1e-6, 1e-6, 2e-7],
            betas: [0.0, 0.99],
            n_mask_neighbors: 5,
            feature_weight: 0.1,
            prior_weight: 0.001,
            n_at_once: 8,
        }
    }
}

impl ShapeInversion {
    /// These settings with small networks for small clouds, that train in seconds.
    #[must_use]
    pub fn small(self) -> Self {
        Self {
            n_partial_points: 64,
            d_noise: 16,
            generator_widths: vec![32, 32, 32],
            degrees: vec![1, 2, 4, 12],
            widening: 2,
            discriminator_widths: vec![16, 32, 64],
            discriminator_head: vec![32],
            discriminator_steps: 2,
            // In few steps a critic that must not be steep learns nothing.
            penalty_weight: 0.03 * self.penalty_weight,
            n_patches: 16,
            n_neighbors: 6,
            training: StageTraining {
                max_epochs: 80,
                batch_size: 16,
                learning_rate: 2e-3,
                ..self.training
            },
            inversion: Inversion {
                n_candidates: 64,
                n_nearest: 16,
                n_iterations: 20,
                noise_rates: vec![1e-1, 3e-2],
                weight_rates: vec![1e-3, 1e-3],
                ..self.inversion
            },
            ..self
        }
    }

    /// Points of a complete cloud: as many as the tree has leaves.
    pub fn n_points(&self) -> usize {
        self.degrees.iter().product()
    }

    /// With a last layer that has so many points; an error when its nodes cannot have equally many children.
    pub fn with_n_points(mut self, n_points: usize) -> Result<Self> {
        let Some((last, above)) = self.degrees.split_last_mut() else {
            return Ok(self);
        };
        let n_nodes: usize = above.iter().product();
        if n_points == 0 || !n_points.is_multiple_of(n_nodes.max(1)) {
            let expected = format!("a multiple of {n_nodes}, the nodes above the points");
            return Err(Error::config("n_points", expected, n_points));
        }
        *last = n_points / n_nodes;
        Ok(self)
    }

    pub(crate) fn check_settings(&self) -> Result<()> {
        let inversion = &self.inversion;
        settings_check::at_least_one(&[
            ("n_partial_points", self.n_partial_points),
            ("d_noise", self.d_noise),
            ("widening", self.widening),
            ("discriminator_steps", self.discriminator_steps),
            ("n_patches", self.n_patches),
            ("n_neighbors", self.n_neighbors),
            ("inversion.n_candidates", inversion.n_candidates),
            ("inversion.n_nearest", inversion.n_nearest),
            ("inversion.n_iterations", inversion.n_iterations),
            ("inversion.n_mask_neighbors", inversion.n_mask_neighbors),
            ("inversion.n_at_once", inversion.n_at_once),
        ])?;
        settings_check::widths(&[
            ("generator_widths", &self.generator_widths[..]),
            ("degrees", &self.degrees[..]),
            ("discriminator_widths", &self.discriminator_widths[..]),
            ("discriminator_head", &self.discriminator_head[..]),
        ])?;
        if self.degrees.len() != self.generator_widths.len() + 1 {
            let expected =
                format!("one more than the {} generator_widths", self.generator_widths.len());
            return Err(Error::config("degrees", expected, self.degrees.len()));
        }
        // More than this is no cloud, and must not decide how much memory is taken.
        let n_points = self.degrees.iter().try_fold(1usize, |n, &degree| n.checked_mul(degree));
        if n_points.is_none_or(|n_points| !(2..=1 << 24).contains(&n_points)) {
            let found = format!("{:?}", self.degrees);
            return Err(Error::config("degrees", "a product of 2 to 2²⁴ points", found));
        }
        if self.discriminator_widths.is_empty() {
            return Err(Error::config("discriminator_widths", "at least one width", "none"));
        }
        settings_check::not_negative(&[
            ("penalty_weight", self.penalty_weight),
            ("patch_weight", self.patch_weight),
            ("inversion.feature_weight", inversion.feature_weight),
            ("inversion.prior_weight", inversion.prior_weight),
        ])?;
        self.training.check("training")?;
        inversion.check()
    }
}

impl Inversion {
    fn check(&self) -> Result<()> {
        if self.n_candidates > MOST_CANDIDATES {
            let expected = format!("at most {MOST_CANDIDATES}");
            return Err(Error::config("inversion.n_candidates", expected, self.n_candidates));
        }
        let (noise, weights) = (self.noise_rates.len(), self.weight_rates.len());
        if noise != weights {
            let expected = format!("{noise} rates, one for each of noise_rates");
            return Err(Error::config("inversion.weight_rates", expected, weights));
        }
        for (setting, rates) in
            [("noise_rates", &self.noise_rates), ("weight_rates", &self.weight_rates)]
        {
            if let Some(rate) = rates.iter().find(|rate| !(rate.is_finite() && **rate >= 0.0)) {
                let setting = format!("inversion.{setting}");
                return Err(Error::config(setting, "numbers that are not negative", rate));
            }
        }
        if let Some(beta) = self.betas.iter().find(|beta| !(0.0..1.0).contains(*beta)) {
            return Err(Error::config("inversion.betas", "shares from 0 to below 1", beta));
        }
        Ok(())
    }
}

/// A trained completer by inversion.
///
/// A single completion of a scan begins with the candidate whose features are nearest to the scan's, several with candidates that lie near the
/// scan and differ. Their noise is N(0, I) times the temperature: there is no other source, and [`CompletionOptions::latent`] changes
/// nothing. A number of points that is not the tree's is drawn from its points. [`n_at_once`](Inversion::n_at_once) completions are searched
/// for together.
#[derive(Debug, Clone)]
pub struct FittedShapeInversion {
    pub(crate) config: ShapeInversion,
    pub(crate) players: TreePlayers,
    pub(crate) report: Report,
}

/// Grown clouds among which searches begin.
struct Candidates {
    noise: Vec<Vec<f32>>,
    /// `[n_candidates, n_points, 3]`
    clouds: Tensor<3>,
    /// Of the critic, `[n_candidates, d_features]`
    features: Tensor<2>,
}

impl FittedShapeInversion {
    /// The completions of each of several scans that lie in the frame of the shapes.
    pub fn complete_all(
        &self,
        scans: &[PointSet],
        options: &CompletionOptions,
    ) -> Result<Vec<Vec<PointSet>>> {
        options.check()?;
        let n_each = options.n_completions;
        let candidates = self.candidates(
            self.config.inversion.n_candidates.max(n_each),
            options.temperature,
            options.seed,
        )?;
        let mut jobs: Vec<(usize, &[f32])> = Vec::with_capacity(scans.len() * n_each);
        let mut streams = Vec::with_capacity(scans.len());
        let mut partials = Vec::with_capacity(scans.len());
        for (index, scan) in scans.iter().enumerate() {
            check_frame(scan)?;
            let mut rng = scan_stream(scan, options.seed);
            let partial = redrawn(scan, self.config.n_partial_points, &mut rng)?;
            let begin = self.chosen(&candidates, &partial, n_each)?;
            jobs.extend(begin.into_iter().map(|one| (index, candidates.noise[one].as_slice())));
            streams.push(rng);
            partials.push(partial);
        }
        let mut completions = vec![Vec::with_capacity(n_each); scans.len()];
        for jobs in jobs.chunks(self.config.inversion.n_at_once) {
            let scans: Vec<PointSet> =
                jobs.iter().map(|&(index, _)| partials[index].clone()).collect();
            let noise: Vec<f32> = jobs.iter().flat_map(|(_, noise)| *noise).copied().collect();
            let noise = self.noise(noise, [jobs.len(), 1, self.config.d_noise])?;
            let scans = to_tensor(&scans, self.config.device)?;
            let clouds = invert(&self.config.inversion, &self.players, noise, scans);
            for (cloud, &(index, _)) in to_points(clouds)?.into_iter().zip(jobs) {
                let cloud = finished(cloud, &partials[index], options, &mut streams[index])?;
                completions[index].push(cloud);
            }
        }
        Ok(completions)
    }

    /// Whether it knows a single completion of a scan: it knows as many as are asked for.
    pub fn is_deterministic(&self) -> bool {
        false
    }

    /// What the critic gives each cloud, between 0 and 1: more for those that look like complete shapes.
    pub fn scores(&self, clouds: &[PointSet]) -> Result<Vec<f64>> {
        let mut scores = Vec::with_capacity(clouds.len());
        for clouds in clouds.chunks(CLOUDS_AT_ONCE) {
            let clouds = to_tensor(clouds, self.config.device)?;
            let batch = self.players.critic.forward(clouds).scores;
            scores.extend(batch.into_data().iter::<f64>());
        }
        Ok(scores)
    }

    /// Clouds that the generator grows from nothing but noise.
    pub fn grow(&self, n_clouds: usize, seed: u64) -> Result<Vec<PointSet>> {
        to_points(self.candidates(n_clouds, 1.0, seed)?.clouds)
    }

    /// The candidate nearest to each scan, as it was grown.
    pub(crate) fn one_each(&self, scans: &[PointSet], seed: u64) -> Result<Vec<PointSet>> {
        let candidates = self.candidates(SEARCH_CANDIDATES, 1.0, seed)?;
        let clouds = to_points(candidates.clouds.clone())?;
        scans
            .iter()
            .map(|scan| {
                let first: Vec<usize> = (0..scan.len().min(SEARCH_POINTS)).collect();
                let distances = self.distances(&candidates, &scan.select(&first))?;
                Ok(clouds[ranked(&distances)[0]].clone())
            })
            .collect()
    }

    /// The same candidates for all scans.
    fn candidates(&self, n: usize, temperature: f64, seed: u64) -> Result<Candidates> {
        let width = self.config.d_noise;
        let rng = &mut stream(seed, "candidates", 0);
        let draw = |_| normal(width, rng).into_iter().map(|v| v * temperature as f32).collect();
        let noise: Vec<Vec<f32>> = (0..n).map(draw).collect();
        let (mut clouds, mut features) = (Vec::new(), Vec::new());
        for noise in noise.chunks(CLOUDS_AT_ONCE) {
            let noise = self.noise(noise.concat(), [1, noise.len(), width])?;
            let grown = self.players.generator.forward(noise);
            features.push(self.players.critic.forward(grown.clone()).features);
            clouds.push(grown);
        }
        Ok(Candidates { noise, clouds: Tensor::cat(clouds, 0), features: Tensor::cat(features, 0) })
    }

    /// The candidates with which the search for completions of a scan begins.
    fn chosen(&self, candidates: &Candidates, scan: &PointSet, n: usize) -> Result<Vec<usize>> {
        if n == 1 {
            let scan = to_tensor(std::slice::from_ref(scan), self.config.device)?;
            let wanted = self.players.critic.forward(scan).features;
            let away = (candidates.features.clone() - wanted).abs().mean_dim(1);
            let away: Vec<f64> = away.into_data().iter::<f64>().collect();
            return Ok(vec![ranked(&away)[0]]);
        }
        let mut nearest = ranked(&self.distances(candidates, scan)?);
        nearest.truncate(self.config.inversion.n_nearest.max(n));
        let noise: Vec<Vec<f32>> =
            nearest.iter().map(|&index| candidates.noise[index].clone()).collect();
        Ok(farthest_rows(&noise, n).into_iter().map(|rank| nearest[rank]).collect())
    }

    /// The mean squared distance from the points of a scan to each candidate.
    fn distances(&self, candidates: &Candidates, scan: &PointSet) -> Result<Vec<f64>> {
        let [n, ..] = candidates.clouds.dims();
        let scan = to_tensor(std::slice::from_ref(scan), self.config.device)?;
        let mut distances = Vec::with_capacity(n);
        for start in (0..n).step_by(CLOUDS_AT_ONCE) {
            let n_here = CLOUDS_AT_ONCE.min(n - start);
            let clouds = candidates.clouds.clone().narrow(0, start, n_here);
            let squares = nearest_squares(scan.clone().repeat_dim(0, n_here), clouds);
            distances.extend(squares.mean_dim(1).into_data().iter::<f64>());
        }
        Ok(distances)
    }

    fn noise(&self, values: Vec<f32>, shape: [usize; 3]) -> Result<Tensor<3>> {
        Ok(Tensor::from_data(TensorData::new(values, shape), &self.config.device.open()?))
    }
}

/// Indices by their numbers, the smallest first.
fn ranked(numbers: &[f64]) -> Vec<usize> {
    let mut indices: Vec<usize> = (0..numbers.len()).collect();
    indices.sort_by(|&one, &other| numbers[one].total_cmp(&numbers[other]));
    indices
}
