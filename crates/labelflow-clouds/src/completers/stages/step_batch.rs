//! What a step of training sees: drawn on the host, then in slots that a recorded step reads.

use burn::tensor::{Device, Tensor};
use labelflow::Result;
use labelflow::training::stream;
use labelflow_flow::N_AXES;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::completers::scan_input::{normal, stacked};
use crate::geometry::PointSet;

/// Tensors whose values change from step to step, and whose shapes do not: the fields of a step, each `[n_clouds, n_rows, width]`.
pub(crate) type StepBatch = Vec<Tensor<3>>;

/// What one cloud has of each field: its rows one after another, and their width.
pub(crate) type CloudDraw = Vec<(Vec<f32>, usize)>;

/// The points of a cloud as a field.
pub(crate) fn point_rows(points: &PointSet) -> (Vec<f32>, usize) {
    (points.as_flat().to_vec(), N_AXES)
}

/// So many standard normal numbers as a field of one row per cloud.
pub(crate) fn noise_row(n_values: usize, rng: &mut ChaCha8Rng) -> (Vec<f32>, usize) {
    (normal(n_values, rng), n_values)
}

/// The fields of several clouds, on a device.
pub(crate) fn to_batch(draws: &[CloudDraw], device: &Device) -> StepBatch {
    let field = |index: usize| {
        let (values, width) = &draws[0][index];
        let rows = draws.iter().map(|draw| draw[index].0.as_slice());
        stacked(rows, [draws.len(), values.len() / width, *width], device)
    };
    (0..draws[0].len()).map(field).collect()
}

/// The fields of a batch one by one.
pub(crate) fn fields<const N: usize>(batch: StepBatch) -> [Tensor<3>; N] {
    batch.try_into().expect("a step sees as many fields as it has drawn")
}

/// Draws all clouds of a step: each from its index, the number of the visit and random numbers of its own. So nothing depends on anything
/// but the settings, the data and the step, and training can go on at any epoch.
///
/// `names` are those of the random order of each epoch and of the random numbers of each cloud. An epoch has so many clouds, of which a last
/// short batch is left out.
pub(crate) fn draw_clouds(
    seed: u64,
    names: [&str; 2],
    n_clouds: usize,
    batch_size: usize,
    step: usize,
    draw: impl Fn(usize, u64, &mut ChaCha8Rng) -> Result<CloudDraw> + Sync,
) -> Result<Vec<CloudDraw>> {
    let per_step = batch_size.min(n_clouds);
    let n_steps = n_clouds / per_step;
    let mut order: Vec<usize> = (0..n_clouds).collect();
    order.shuffle(&mut stream(seed, names[0], (step / n_steps) as u64));
    let chosen = order[step % n_steps * per_step..][..per_step].par_iter().enumerate();
    chosen
        .map(|(cloud, &index)| {
            let visit = (step * per_step + cloud) as u64;
            draw(index, visit, &mut stream(seed, names[1], visit))
        })
        .collect()
}
