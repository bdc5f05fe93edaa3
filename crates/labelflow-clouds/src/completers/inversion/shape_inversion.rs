//! Completion by inversion: a generator that has seen complete shapes alone is fitted, scan by scan, until what it generates has the scan in it.
//!
//! ```text
//! training     G against D, on complete shapes
//! completion   z, G ← argmin CD(what a scan shows of G(z), scan) + …,   y = G(z)
//! ```
//!
//! Partial clouds are not learned from at all, and a completion takes hundreds of steps of optimisation.
//! (Zhang et al., 2021, <https://arxiv.org/abs/2104.13366>.)

use burn::tensor::{Device, Tensor};
use labelflow::storage::ModelTask;
use labelflow::training::{DeviceKind, Report, stream};
use labelflow::{Error, Result};
use labelflow_flow::Initializer;

use super::inversion_training::{TreeNetworks, TreeStage};
use super::latent_inversion::{farthest_rows, invert};
use super::shape_critic::ShapeCritic;
use super::tree_generator::TreeGenerator;
use crate::completers::completer::common_settings;
use crate::completers::fitted_completer::n_in_chains;
use crate::completers::networks::nearest_squares;
use crate::completers::older_names::stage;
use crate::completers::scan_input::{CLOUDS_AT_ONCE, ScanInput, normal, stacked, to_points, to_tensor};
use crate::completers::stages::{Course, UpdateRule};
use crate::completers::{CompletionLearner, CompletionOptions, FittedCompleter, StageTraining, System};
use crate::geometry::PointSet;

/// Candidates that a search for frames looks at, and points of the scan that it compares them by.
const SEARCH_CANDIDATES: usize = 64;
const SEARCH_POINTS: usize = 256;

settings! {
    checked
    /// Settings of completion by inversion. Training sees the complete shapes of a dataset alone.
    pub struct ShapeInversion {
        /// Where all randomness comes from. Default: 0.
        seed: u64 = 0,
        /// Points of a scan that a completion is fitted to. Default: 1024.
        n_partial_points: usize = 1024 => at_least(1),
        /// Width of the noise at the root of the tree. Default: 96.
        d_noise: usize = 96 => at_least(1),
        /// Widths of the nodes of the layers between root and points. Default: 256, 256, 256, 128, 128, 128.
        generator_widths: Vec<usize> = vec![256, 256, 256, 128, 128, 128] => widths,
        /// Children of each node, layer by layer; their product is the number of points. Default: 1, 2, 2, 2, 2, 2, 64.
        degrees: Vec<usize> = vec![1, 2, 2, 2, 2, 2, 64] => widths,
        /// How many times as wide as its input the inner map of a layer is. Default: 10.
        widening: usize = 10 => at_least(1),
        /// Widths of the discriminator's layers for points. Default: 64, 128, 256, 256, 512.
        discriminator_widths: Vec<usize> = vec![64, 128, 256, 256, 512] => some_widths,
        /// Widths of the discriminator's layers after them. Default: 128, 64.
        discriminator_head: Vec<usize> = vec![128, 64] => widths,
        /// Steps of the discriminator before each one of the generator. Default: 5.
        discriminator_steps: usize = 5 => at_least(1),
        /// The weight of the penalty on the discriminator's steepness. Default: 10.
        penalty_weight: f64 = 10.0 => not_negative,
        /// The weight of the unevenness of points. Default: 0.2.
        patch_weight: f64 = 0.2 => not_negative,
        /// Points of a cloud around which it is measured. Default: 100.
        n_patches: usize = 100 => at_least(1),
        /// Neighbours of each of them. Default: 30.
        n_neighbors: usize = 30 => at_least(1),
        /// Where to compute. Default: cpu.
        device: DeviceKind = DeviceKind::Cpu,
        /// Generator and critic learn complete shapes. Default: 2000 epochs of batches of 128, a constant step size of 1e-4, β₁ = 0, β₂ = 0.99.
        #[serde(deserialize_with = "stage")]
        training: StageTraining = StageTraining {
            max_epochs: 2000,
            batch_size: 128,
            learning_rate: 1e-4,
            learning_rate_decay: 1.0,
            learning_rate_floor: 1.0,
            betas: [0.0, 0.99],
        },
        /// How scans are completed.
        inversion: Inversion = Inversion::default(),
    }
}

settings! {
    checked
    /// How a scan is completed by inversion.
    pub struct Inversion {
        /// Grown clouds of which the search begins with the best. Default: 500.
        n_candidates: usize = 500 => at_least(1),
        /// The best of them by their distance from the scan, of which those are taken that differ most, when several completions are wanted.
        /// Default: 50.
        n_nearest: usize = 50 => at_least(1),
        /// Steps of each stage; 30 were published for bulky shapes. Default: 200.
        n_iterations: usize = 200 => at_least(1),
        /// Adam's step size for the noise, one per stage. Default: 1e-2, 1e-4, 1e-4, 1e-6.
        noise_rates: Vec<f64> = vec![1e-2, 1e-4, 1e-4, 1e-6] => each(not_negative),
        /// Adam's step size for the weights, one per stage. Default: 2e-7, 1e-6, 1e-6, 2e-7.
        weight_rates: Vec<f64> = vec![2e-7, 1e-6, 1e-6, 2e-7] => each(not_negative),
        /// Adam's β₁ and β₂. Default: 0, 0.99.
        betas: [f64; 2] = [0.0, 0.99] => each(share_below_one),
        /// Grown points that each scanned point shows. Default: 5.
        n_mask_neighbors: usize = 5 => at_least(1),
        /// The weight of the distance between the features of what is shown and of the scan. Default: 0.1.
        feature_weight: f64 = 0.1 => not_negative,
        /// The weight of half the mean square of the noise. Default: 0.001.
        prior_weight: f64 = 0.001 => not_negative,
        /// Completions that are searched at once, each with weights of its own. Default: 8.
        n_at_once: usize = 8 => at_least(1),
    }
}

impl CompletionLearner for ShapeInversion {
    type Networks = TreeNetworks;
    const TASK: ModelTask = ModelTask::InversionCompletion;
    const KIND: &'static str = "shape inversion";
    const SYSTEMS: &'static [System<Self>] = &[("shape-inversion", Self::default)];
    const LEARNS_FROM_PARTIALS: bool = false;

    common_settings!([training]);

    /// As many as the tree has leaves.
    fn n_points(&self) -> usize {
        self.degrees.iter().product()
    }

    /// With a last layer that has so many points; an error when its nodes cannot have equally many children.
    fn with_n_points(mut self, n_points: usize) -> Result<Self> {
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

    fn small(self) -> Self {
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
            training: self.training.small(80, 2e-3),
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

    fn check(&self) -> Result<()> {
        self.check_each("")?;
        if self.degrees.len() != self.generator_widths.len() + 1 {
            let expected = format!("one more than the {} generator_widths", self.generator_widths.len());
            return Err(Error::config("degrees", expected, self.degrees.len()));
        }
        // More than this is no cloud, and must not decide how much memory is taken.
        let n_points = self.degrees.iter().try_fold(1usize, |n, &degree| n.checked_mul(degree));
        if n_points.is_none_or(|n_points| !(2..=1 << 24).contains(&n_points)) {
            let found = format!("{:?}", self.degrees);
            return Err(Error::config("degrees", "a product of 2 to 2²⁴ points", found));
        }
        self.training.check_each("training.")?;
        self.inversion.check()
    }

    fn init(&self, device: &Device) -> TreeNetworks {
        let init = &mut Initializer::new(self.seed, device);
        let widths = [&[self.d_noise], &self.generator_widths[..]].concat();
        TreeNetworks {
            generator: TreeGenerator::init(&widths, &self.degrees, self.widening, init),
            critic: ShapeCritic::init(&self.discriminator_widths, &self.discriminator_head, init),
        }
    }

    fn n_weights_at_least(&self) -> Option<usize> {
        let features = *self.discriminator_widths.last()?;
        let mut n_weights =
            n_in_chains(&[&[&[3], &self.discriminator_widths], &[&[features], &self.discriminator_head, &[1]]])?;
        let (root, mut n_nodes) = ([self.d_noise], 1usize);
        for (&width, &degree) in root.iter().chain(&self.generator_widths).zip(&self.degrees) {
            let square = width.checked_mul(width)?;
            let branch = n_nodes.checked_mul(square.checked_mul(degree)?)?;
            let inner = square.checked_mul(self.widening)?;
            n_weights = n_weights.checked_add(branch)?.checked_add(inner)?;
            n_nodes = n_nodes.checked_mul(degree)?;
        }
        Some(n_weights)
    }

    fn train(&self, mut course: Course<'_, TreeNetworks>) -> Result<(TreeNetworks, Report)> {
        let rule = self.training.rule();
        let of_critic = UpdateRule { updates_per_step: self.discriminator_steps, ..rule };
        let TreeNetworks { generator, critic } = course.model.clone();
        let stage = TreeStage {
            config: self,
            dataset: course.dataset,
            generator: course.network(generator, rule)?,
            critic: course.network(critic, of_critic)?,
        };
        course.finish(&stage, self.training.max_epochs)
    }

    fn complete_all(
        model: &FittedShapeInversion,
        scans: &[PointSet],
        options: &CompletionOptions,
    ) -> Result<Vec<Vec<PointSet>>> {
        let (config, n_each) = (&model.config, options.n_completions);
        let n_candidates = config.inversion.n_candidates.max(n_each);
        let candidates = model.candidates(n_candidates, options.temperature, options.seed)?;
        let mut jobs: Vec<(usize, &[f32])> = Vec::with_capacity(scans.len() * n_each);
        let mut inputs = Vec::with_capacity(scans.len());
        for (index, scan) in scans.iter().enumerate() {
            let input = ScanInput::new(scan, config.n_partial_points, options.seed)?;
            let begin = model.chosen(&candidates, &input.partial, n_each)?;
            jobs.extend(begin.into_iter().map(|one| (index, candidates.noise[one].as_slice())));
            inputs.push(input);
        }
        let mut completions = vec![Vec::with_capacity(n_each); scans.len()];
        for jobs in jobs.chunks(config.inversion.n_at_once) {
            let scans: Vec<PointSet> = jobs.iter().map(|&(index, _)| inputs[index].partial.clone()).collect();
            let noise = jobs.iter().map(|&(_, noise)| noise);
            let noise = stacked(noise, [jobs.len(), 1, config.d_noise], &config.device.open()?);
            let scans = to_tensor(&scans, config.device)?;
            let clouds = invert(&config.inversion, &model.networks, noise, scans);
            for (cloud, &(index, _)) in to_points(clouds)?.into_iter().zip(jobs) {
                completions[index].push(inputs[index].finished(cloud, options)?);
            }
        }
        Ok(completions)
    }

    /// What the critic gives each cloud, between 0 and 1.
    fn scores(networks: &TreeNetworks, clouds: Tensor<3>) -> Tensor<1> {
        networks.critic.forward(clouds).scores
    }

    /// The candidate nearest to each scan, as it was generated.
    fn one_each(model: &FittedShapeInversion, scans: &[PointSet], seed: u64) -> Result<Tensor<3>> {
        let candidates = model.candidates(SEARCH_CANDIDATES, 1.0, seed)?;
        let nearest = |scan: &PointSet| {
            let first: Vec<usize> = (0..scan.len().min(SEARCH_POINTS)).collect();
            let distances = model.distances(&candidates, &scan.select(&first))?;
            Ok(candidates.clouds.clone().narrow(0, ranked(&distances)[0], 1))
        };
        Ok(Tensor::cat(scans.iter().map(nearest).collect::<Result<_>>()?, 0))
    }
}

impl Inversion {
    fn check(&self) -> Result<()> {
        self.check_each("inversion.")?;
        let (noise, weights) = (self.noise_rates.len(), self.weight_rates.len());
        if noise != weights {
            let expected = format!("{noise} rates, one for each of noise_rates");
            return Err(Error::config("inversion.weight_rates", expected, weights));
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
pub type FittedShapeInversion = FittedCompleter<ShapeInversion>;

/// Generated clouds among which searches begin.
struct Candidates {
    noise: Vec<Vec<f32>>,
    /// `[n_candidates, n_points, 3]`
    clouds: Tensor<3>,
    /// Of the critic, `[n_candidates, d_features]`
    features: Tensor<2>,
}

impl FittedShapeInversion {
    /// Clouds that the generator makes of nothing but noise.
    pub fn grow(&self, n_clouds: usize, seed: u64) -> Result<Vec<PointSet>> {
        to_points(self.candidates(n_clouds, 1.0, seed)?.clouds)
    }

    /// The same candidates for all scans.
    fn candidates(&self, n: usize, temperature: f64, seed: u64) -> Result<Candidates> {
        let (width, device) = (self.config.d_noise, self.config.device.open()?);
        let rng = &mut stream(seed, "candidates", 0);
        let draw = |_| normal(width, rng).into_iter().map(|v| v * temperature as f32).collect();
        let noise: Vec<Vec<f32>> = (0..n).map(draw).collect();
        let (mut clouds, mut features) = (Vec::new(), Vec::new());
        for noise in noise.chunks(CLOUDS_AT_ONCE) {
            let shape = [1, noise.len(), width];
            let noise = stacked(noise.iter().map(Vec::as_slice), shape, &device);
            let generated = self.networks.generator.forward(noise);
            features.push(self.networks.critic.forward(generated.clone()).features);
            clouds.push(generated);
        }
        Ok(Candidates { noise, clouds: Tensor::cat(clouds, 0), features: Tensor::cat(features, 0) })
    }

    /// The candidates with which the search for completions of a scan begins.
    fn chosen(&self, candidates: &Candidates, scan: &PointSet, n: usize) -> Result<Vec<usize>> {
        if n == 1 {
            let scan = to_tensor(std::slice::from_ref(scan), self.config.device)?;
            let wanted = self.networks.critic.forward(scan).features;
            let away = (candidates.features.clone() - wanted).abs().mean_dim(1);
            let away: Vec<f64> = away.into_data().iter::<f64>().collect();
            return Ok(vec![ranked(&away)[0]]);
        }
        let mut nearest = ranked(&self.distances(candidates, scan)?);
        nearest.truncate(self.config.inversion.n_nearest.max(n));
        let noise: Vec<Vec<f32>> = nearest.iter().map(|&index| candidates.noise[index].clone()).collect();
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
}

/// Indices by their numbers, the smallest first.
fn ranked(numbers: &[f64]) -> Vec<usize> {
    let mut indices: Vec<usize> = (0..numbers.len()).collect();
    indices.sort_by(|&one, &other| numbers[one].total_cmp(&numbers[other]));
    indices
}
