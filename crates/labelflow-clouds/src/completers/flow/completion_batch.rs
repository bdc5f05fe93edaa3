//! What one step of training sees, drawn on the host.

use burn::tensor::{Device, Tensor, TensorData};
use labelflow::Result;
use labelflow::training::stream;
use labelflow_flow::N_AXES;
use rand::seq::SliceRandom;
use rand::{Rng, RngExt};
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

use crate::completers::stages::batch_slots::{StepBatch, WHOLE};
use crate::completers::{CompletionDataset, PointCloudCompleter};
use crate::geometry::PointSet;

/// Partial clouds, complete shapes that are not theirs, and noise.
#[derive(Debug)]
pub(crate) struct CompletionBatch {
    partials: Vec<f32>,
    shapes: Vec<f32>,
    latent_noise: Vec<f32>,
    noise: Vec<f32>,
    /// Empty when the discriminator sees clouds as they are.
    blur: Vec<f32>,
}

/// A batch on a device.
#[derive(Debug)]
pub(crate) struct DeviceBatch {
    /// `[n_clouds, n_partial_points, 3]`
    pub(crate) partials: Tensor<3>,
    /// `[n_clouds, n_points, 3]`
    pub(crate) shapes: Tensor<3>,
    /// `[n_clouds, d_latent]`
    pub(crate) latent_noise: Tensor<2>,
    /// `[n_clouds, n_points, 3]`
    pub(crate) noise: Tensor<3>,
    /// What is added to generated clouds before the discriminator sees them, `[n_clouds, n_points, 3]`. Shapes have it already.
    pub(crate) blur: Option<Tensor<3>>,
}

/// The part of a batch that belongs to one of its clouds.
struct CloudDraw {
    partial: PointSet,
    shape: PointSet,
    latent_noise: Vec<f32>,
    noise: Vec<f32>,
    blur: Vec<f32>,
}

impl CompletionBatch {
    /// The batch of a step. It depends on nothing but the settings, the data and the step, so that training can go on at any step.
    pub(crate) fn draw(
        dataset: &CompletionDataset,
        config: &PointCloudCompleter,
        step: usize,
    ) -> Result<Self> {
        let n_clouds = config.clouds_a_step(dataset);
        let steps_an_epoch = config.steps_an_epoch(dataset);
        let (epoch, start) = (step / steps_an_epoch, step % steps_an_epoch * n_clouds);
        let mut order: Vec<usize> = (0..dataset.n_partials()).collect();
        order.shuffle(&mut stream(config.seed, "partials", epoch as u64));
        let draws: Result<Vec<CloudDraw>> = (0..n_clouds)
            .into_par_iter()
            .map(|cloud| {
                let index = order[(start + cloud) % order.len()];
                let number = step * n_clouds + cloud;
                CloudDraw::of(dataset, config, index, number as u64)
            })
            .collect();
        Ok(Self::join(draws?))
    }

    fn join(draws: Vec<CloudDraw>) -> Self {
        let mut batch = Self {
            partials: Vec::new(),
            shapes: Vec::new(),
            latent_noise: Vec::new(),
            noise: Vec::new(),
            blur: Vec::new(),
        };
        for draw in draws {
            batch.partials.extend_from_slice(draw.partial.as_flat());
            batch.shapes.extend_from_slice(draw.shape.as_flat());
            batch.latent_noise.extend_from_slice(&draw.latent_noise);
            batch.noise.extend_from_slice(&draw.noise);
            batch.blur.extend_from_slice(&draw.blur);
        }
        batch
    }

    /// The same batch on a device.
    pub(crate) fn on_device(self, config: &PointCloudCompleter, device: &Device) -> DeviceBatch {
        let n_clouds = self.latent_noise.len() / config.d_latent;
        let clouds = |values: Vec<f32>| {
            let n_points = values.len() / n_clouds / N_AXES;
            Tensor::from_data(TensorData::new(values, [n_clouds, n_points, N_AXES]), device)
        };
        let latent = TensorData::new(self.latent_noise, [n_clouds, config.d_latent]);
        DeviceBatch {
            partials: clouds(self.partials),
            shapes: clouds(self.shapes),
            latent_noise: Tensor::from_data(latent, device),
            noise: clouds(self.noise),
            blur: (!self.blur.is_empty()).then(|| clouds(self.blur)),
        }
    }
}

impl StepBatch for DeviceBatch {
    fn into_tensors(self) -> Vec<Tensor<3>> {
        let always = [self.partials, self.shapes, self.latent_noise.unsqueeze(), self.noise];
        always.into_iter().chain(self.blur).collect()
    }

    fn from_tensors(mut tensors: impl Iterator<Item = Tensor<3>>) -> Self {
        let mut next = || tensors.next().expect(WHOLE);
        Self {
            partials: next(),
            shapes: next(),
            latent_noise: next().squeeze_dim(0),
            noise: next(),
            blur: tensors.next(),
        }
    }
}

impl CloudDraw {
    fn of(
        dataset: &CompletionDataset,
        config: &PointCloudCompleter,
        index: usize,
        number: u64,
    ) -> Result<Self> {
        let rng = &mut stream(config.seed, "clouds", number);
        let partial = dataset.partial(index, number, config.n_partial_points, rng)?;
        let shape = dataset.complete(config.n_points, rng)?;
        let mut draw = Self {
            partial: moved(partial, config.jitter, rng)?,
            shape: moved(shape, config.jitter, rng)?,
            latent_noise: normal(config.d_latent, rng),
            noise: normal(config.n_points * N_AXES, rng),
            blur: Vec::new(),
        };
        if config.discriminator_blur > 0.0 {
            let mut blur = || -> Vec<f32> {
                let noise = normal(config.n_points * N_AXES, rng).into_iter();
                noise.map(|value| value * config.discriminator_blur as f32).collect()
            };
            draw.shape = shifted(&draw.shape, &blur())?;
            draw.blur = blur();
        }
        Ok(draw)
    }
}

/// Points with an offset each.
fn shifted(points: &PointSet, offsets: &[f32]) -> Result<PointSet> {
    let offsets = offsets.as_chunks::<N_AXES>().0;
    let shift = |(point, offset): (&[f32; 3], &[f32; 3])| {
        std::array::from_fn(|axis| point[axis] + offset[axis])
    };
    Ok(PointSet::new(points.as_slice().iter().zip(offsets).map(shift).collect())?)
}

/// Standard normal noise.
pub(crate) fn normal(n_values: usize, rng: &mut impl Rng) -> Vec<f32> {
    StandardNormal.sample_iter(rng).take(n_values).collect()
}

/// A cloud scaled by 1 ± jitter and moved by up to half of jitter along each axis, as if its frame were not quite known.
fn moved(points: PointSet, jitter: f64, rng: &mut impl Rng) -> Result<PointSet> {
    if jitter == 0.0 {
        return Ok(points);
    }
    let mut draw = |largest: f64| rng.random_range(-largest..=largest) as f32;
    let scale = 1.0 + draw(jitter);
    let offset: [f32; N_AXES] = std::array::from_fn(|_| draw(jitter / 2.0));
    let move_point =
        |point: &[f32; 3]| std::array::from_fn(|axis| point[axis] * scale + offset[axis]);
    Ok(PointSet::new(points.as_slice().iter().map(move_point).collect())?)
}
