//! Scans as networks see them, and clouds on their way into tensors and out of them.

use burn::tensor::{Device, Tensor, TensorData};
use labelflow::training::{DeviceKind, stream};
use labelflow::{Error, Result};
use labelflow_flow::N_AXES;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use sha2::{Digest, Sha256};

use super::completion_dataset::redrawn;
use crate::completers::CompletionOptions;
use crate::geometry::{Normalization, PointSet};

/// Clouds that networks see at once when completing.
pub(crate) const CLOUDS_AT_ONCE: usize = 64;
/// Scans that reach farther than this from the origin are not in the frame of the shapes, whose radius is 0.5.
const FARTHEST: f32 = 5.0;

/// A scan as networks see it, with the random numbers of its completions.
pub(crate) struct ScanInput {
    /// As many points of it as in training.
    pub(crate) partial: PointSet,
    pub(crate) rng: ChaCha8Rng,
}

impl ScanInput {
    /// The input of a scan. It depends on the scan and the seed, not on what else is completed.
    pub(crate) fn new(scan: &PointSet, n_points: usize, seed: u64) -> Result<Self> {
        check_frame(scan)?;
        let mut hash = Sha256::new();
        scan.as_flat().iter().for_each(|value| hash.update(value.to_le_bytes()));
        let digest: [u8; 32] = hash.finalize().into();
        let index = u64::from_le_bytes(digest[..8].try_into().expect("eight bytes"));
        let mut rng = stream(seed, "completion", index);
        Ok(Self { partial: redrawn(scan, n_points, &mut rng)?, rng })
    }

    /// Completions, no more than `n_at_once` clouds `[n, n_points, 3]` of which are generated together.
    pub(crate) fn completions(
        mut self,
        n_completions: usize,
        n_at_once: usize,
        options: &CompletionOptions,
        generate: impl Fn(usize, &mut ChaCha8Rng) -> Result<Tensor<3>>,
    ) -> Result<Vec<PointSet>> {
        let mut completions = Vec::with_capacity(n_completions);
        while completions.len() < n_completions {
            let n = n_at_once.min(n_completions - completions.len());
            for cloud in to_points(generate(n, &mut self.rng)?)? {
                completions.push(self.finished(cloud, options)?);
            }
        }
        Ok(completions)
    }

    /// A completion with as many points as wanted, and with those of the scan if they are kept.
    pub(crate) fn finished(&mut self, cloud: PointSet, options: &CompletionOptions) -> Result<PointSet> {
        let cloud = match options.n_points {
            Some(n_points) if n_points != cloud.len() => redrawn(&cloud, n_points, &mut self.rng)?,
            _ => cloud,
        };
        if !options.keep_input {
            return Ok(cloud);
        }
        // As many points as before, drawn from both together, none of them twice.
        let all = PointSet::new([cloud.as_slice(), self.partial.as_slice()].concat())?;
        let chosen = rand::seq::index::sample(&mut self.rng, all.len(), cloud.len());
        Ok(all.select(&chosen.into_vec()))
    }
}

/// Networks have never seen anything far outside of their frame, and would give anything for it.
pub(crate) fn check_frame(scan: &PointSet) -> Result<()> {
    let farthest = scan.as_flat().iter().fold(0f32, |farthest, value| farthest.max(value.abs()));
    if farthest <= FARTHEST {
        return Ok(());
    }
    let expected = format!(
        "coordinates up to {FARTHEST}, in the frame where shapes have a radius of {}",
        Normalization::SHAPE_RADIUS
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
    let rows = clouds.iter().map(PointSet::as_flat);
    Ok(stacked(rows, [clouds.len(), n_points, N_AXES], &device.open()?))
}

/// Rows of values as a tensor.
pub(crate) fn stacked<'a, const D: usize>(
    rows: impl Iterator<Item = &'a [f32]>,
    shape: [usize; D],
    device: &Device,
) -> Tensor<D> {
    let values: Vec<f32> = rows.flatten().copied().collect();
    Tensor::from_data(TensorData::new(values, shape), device)
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

/// Standard normal noise.
pub(crate) fn normal(n_values: usize, rng: &mut impl Rng) -> Vec<f32> {
    StandardNormal.sample_iter(rng).take(n_values).collect()
}

/// [`normal`] as a tensor, times a temperature.
pub(crate) fn normal_tensor<const D: usize>(
    shape: [usize; D],
    temperature: f64,
    device: DeviceKind,
    rng: &mut ChaCha8Rng,
) -> Result<Tensor<D>> {
    let values = normal(shape.iter().product(), rng);
    Ok(Tensor::from_data(TensorData::new(values, shape), &device.open()?) * temperature)
}
