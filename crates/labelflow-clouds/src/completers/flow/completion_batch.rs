//! What one step of training sees, drawn on the host.

use labelflow::Result;
use labelflow_flow::N_AXES;
use rand::{Rng, RngExt};
use rand_chacha::ChaCha8Rng;

use crate::completers::scan_input::normal;
use crate::completers::stages::{CloudDraw, draw_clouds, noise_row, point_rows};
use crate::completers::{CompletionDataset, PointCloudCompleter};
use crate::geometry::PointSet;

/// What each cloud of a step has: a partial cloud, a complete shape that is not its own, noise of the latent and of the points; and where the
/// discriminator sees clouds blurred, what is added to generated ones before it does. Shapes have it already.
pub(crate) fn draw_step(
    dataset: &CompletionDataset,
    config: &PointCloudCompleter,
    step: usize,
) -> Result<Vec<CloudDraw>> {
    let (n_clouds, batch_size) = (dataset.n_partials(), config.training.batch_size);
    let draw = |index: usize, visit, rng: &mut ChaCha8Rng| {
        let (partial, shape) = dataset.pair(index, visit, [config.n_partial_points, config.n_points], rng)?;
        let partial = moved(partial, config.jitter, rng)?;
        let mut shape = moved(shape, config.jitter, rng)?;
        let latent_noise = noise_row(config.d_latent, rng);
        let mut noise = || normal(config.n_points * N_AXES, rng);
        let mut fields = vec![latent_noise, (noise(), N_AXES)];
        if config.discriminator_blur > 0.0 {
            let mut blur =
                || -> Vec<f32> { noise().into_iter().map(|value| value * config.discriminator_blur as f32).collect() };
            shape = shifted(&shape, &blur())?;
            fields.push((blur(), N_AXES));
        }
        Ok([point_rows(&partial), point_rows(&shape)].into_iter().chain(fields).collect())
    };
    draw_clouds(config.seed, ["partials", "clouds"], n_clouds, batch_size, step, draw)
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
