//! Samples of a trained flow, row by row.
//!
//! Samples need noise. Drawn in the order of the rows it would change a row's label when rows are added, dropped or sorted; the same for all
//! rows it would give every row the same luck. So the noise of a row comes from the model's seed and a hash of its features: the same row
//! has the same noise wherever it stands, and different rows have independent noise.

// Deviation: the paper does not say where the noise of a prediction comes from; here a row keeps its label in any file.

use burn::tensor::{Device, Tensor, TensorData};
use labelflow_flow::{Bijection, Flow};
use labelflow_weak::rows::Features;
use ndarray::{Array2, Array3, ArrayView1, ArrayView2, Axis, s};
use rand_distr::{Distribution, StandardNormal};

use crate::training::stream;

/// Labels drawn from p(y|x), `[n_samples, n_rows, d_labels]`, as the flow gives them.
///
/// `scaled` are the features as the flow sees them, `features` those that the noise is derived from.
pub(crate) fn sample_rows<B: Bijection>(
    flow: &Flow<B>,
    features: &Features,
    scaled: &Array2<f32>,
    [n_samples, d_labels]: [usize; 2],
    seed: u64,
    device: &Device,
) -> Array3<f32> {
    let n_rows = features.n_rows();
    let mut samples = Array3::zeros((n_samples, n_rows, d_labels));
    let at_once = rows_at_once(flow);
    for start in (0..n_rows).step_by(at_once) {
        let rows = start..n_rows.min(start + at_once);
        let noise = noise(features.values().slice(s![rows.clone(), ..]), n_samples, d_labels, seed);
        let noise = TensorData::new(noise, [n_samples, rows.len(), d_labels]);
        let part = to_tensor(scaled.slice(s![rows.clone(), ..]), device);
        let labels = to_array(flow.samples(Tensor::from_data(noise, device), part));
        samples.slice_mut(s![.., rows, ..]).assign(&labels);
    }
    samples
}

/// As many rows as keep the condition below about 64 MB.
pub(crate) fn rows_at_once<B: Bijection>(flow: &Flow<B>) -> usize {
    let [n_networks, d_hidden, _] = flow.bank.second.weight.dims();
    ((64 << 20) / (n_networks * d_hidden * size_of::<f32>())).clamp(1, 8192)
}

/// The noise of rows, `[n_samples, n_rows, d_labels]` one after another.
fn noise(features: ArrayView2<'_, f64>, n_samples: usize, d_labels: usize, seed: u64) -> Vec<f32> {
    let n_rows = features.nrows();
    let mut noise = vec![0.0; n_samples * n_rows * d_labels];
    for (row, features) in features.axis_iter(Axis(0)).enumerate() {
        let draws: Vec<f32> = StandardNormal
            .sample_iter(stream(seed, "prediction", hash_of_row(features)))
            .take(n_samples * d_labels)
            .collect();
        let samples = noise.chunks_exact_mut(n_rows * d_labels);
        for (noise, draw) in samples.zip(draws.chunks_exact(d_labels)) {
            noise[row * d_labels..][..d_labels].copy_from_slice(draw);
        }
    }
    noise
}

/// The 64-bit FNV-1a hash of a row's values in single precision, as models of all versions draw their noise.
fn hash_of_row(features: ArrayView1<'_, f64>) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    features.iter().fold(OFFSET, |hash, &value| {
        // Adding zero makes −0 and 0 the same.
        (hash ^ u64::from((value as f32 + 0.0).to_bits())).wrapping_mul(PRIME)
    })
}

pub(crate) fn to_tensor(values: ArrayView2<'_, f32>, device: &Device) -> Tensor<2> {
    let shape = [values.nrows(), values.ncols()];
    let values: Vec<f32> = values.iter().copied().collect();
    Tensor::from_data(TensorData::new(values, shape), device)
}

fn to_array(labels: Tensor<3>) -> Array3<f32> {
    let shape = labels.dims();
    let values = labels.into_data().convert::<f32>().try_into_vec().expect("just converted");
    Array3::from_shape_vec(shape, values).expect("as many values as the shape says")
}
