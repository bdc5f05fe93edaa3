//! What one step of training sees, drawn on the host.

use burn::tensor::{Device, Tensor};
use labelflow::Result;
use labelflow_flow::N_AXES;
use rand::{Rng, RngExt};
use rand_chacha::ChaCha8Rng;

use crate::completers::scan_input::{normal, stacked};
use crate::completers::stages::{draw_clouds, step_batch};
use crate::completers::{CompletionDataset, PointCloudCompleter};
use crate::geometry::PointSet;

/// Partial clouds, complete shapes that are not theirs, and noise, on a device.
#[derive(Debug)]
pub(crate) struct CompletionBatch {
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

step_batch!(CompletionBatch { partials, shapes, latent_noise, noise, blur });

/// The part of a batch that belongs to one of its clouds.
#[derive(Debug)]
pub(crate) struct CloudDraw {
    partial: PointSet,
    shape: PointSet,
    latent_noise: Vec<f32>,
    noise: Vec<f32>,
    /// Empty when the discriminator sees clouds as they are.
    blur: Vec<f32>,
}

impl CompletionBatch {
    /// The batch of these clouds.
    pub(crate) fn on_device(draws: &[CloudDraw], config: &PointCloudCompleter, device: &Device) -> Self {
        let clouds = |n_points: usize, values: fn(&CloudDraw) -> &[f32]| {
            stacked(draws.iter().map(values), [draws.len(), n_points, N_AXES], device)
        };
        let latent_noise = draws.iter().map(|draw| draw.latent_noise.as_slice());
        Self {
            partials: clouds(config.n_partial_points, |draw| draw.partial.as_flat()),
            shapes: clouds(config.n_points, |draw| draw.shape.as_flat()),
            latent_noise: stacked(latent_noise, [draws.len(), config.d_latent], device),
            noise: clouds(config.n_points, |draw| &draw.noise),
            blur: (config.discriminator_blur > 0.0).then(|| clouds(config.n_points, |draw| &draw.blur)),
        }
    }
}

impl CloudDraw {
    /// The clouds of a step.
    pub(crate) fn all(dataset: &CompletionDataset, config: &PointCloudCompleter, step: usize) -> Result<Vec<Self>> {
        let (n_clouds, batch_size) = (dataset.n_partials(), config.training.batch_size);
        let draw = |index: usize, visit, rng: &mut ChaCha8Rng| {
            let points = [config.n_partial_points, config.n_points];
            let (partial, shape) = dataset.pair(index, visit, points, rng)?;
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
        };
        draw_clouds(config.seed, ["partials", "clouds"], n_clouds, batch_size, step, draw)
    }
}

/// Points with an offset each.
fn shifted(points: &PointSet, offsets: &[f32]) -> Result<PointSet> {
    let offsets = offsets.as_chunks::<N_AXES>().0;
    let shift = |(point, offset): (&[f32; 3], &[f32; 3])| std::array::from_fn(|axis| point[axis] + offset[axis]);
    Ok(PointSet::new(points.as_slice().iter().zip(offsets).map(shift).collect())?)
}

/// A cloud scaled by 1 ± jitter and moved by up to half of jitter along each axis, as if its frame were not quite known.
fn moved(points: PointSet, jitter: f64, rng: &mut impl Rng) -> Result<PointSet> {
    if jitter == 0.0 {
        return Ok(points);
    }
    let mut draw = |largest: f64| rng.random_range(-largest..=largest) as f32;
    let scale = 1.0 + draw(jitter);
    let offset: [f32; N_AXES] = std::array::from_fn(|_| draw(jitter / 2.0));
    let move_point = |point: &[f32; 3]| std::array::from_fn(|axis| point[axis] * scale + offset[axis]);
    Ok(PointSet::new(points.as_slice().iter().map(move_point).collect())?)
}
