//! A scale that can neither vanish nor explode.

use burn::tensor::Tensor;

/// Keeps the scale above zero where the exponential underflows.
pub(crate) const FLOOR: f64 = 1e-6;

/// Turns a network's output h into a scale and its logarithm.
///
/// ```text
/// s = √(1e-6 + exp(h / (1 + |h|))),   so that 0.607 < s < 1.649
/// ```
///
/// The bound is not cosmetic. The likelihood term of label learning flows, E_z[log p(g(z)|x)], is minus the model's entropy: its
/// maximisation shrinks the scales without end, and only the bound keeps it finite.
pub fn bounded_scale<const D: usize>(raw: Tensor<D>) -> (Tensor<D>, Tensor<D>) {
    let softsign = raw.clone() / (raw.abs() + 1.0);
    let squared = softsign.exp() + FLOOR;
    (squared.clone().sqrt(), squared.log() * 0.5)
}

/// The scale, its logarithm and the shift, each `[n_rows, d]`, from what a network says of both, `[2, n_rows, d]`.
pub(super) fn scale_and_shift(heads: Tensor<3>) -> [Tensor<2>; 3] {
    let (scale, log_scale) = bounded_scale(heads.clone().narrow(0, 0, 1).squeeze_dim::<2>(0));
    [scale, log_scale, heads.narrow(0, 1, 1).squeeze_dim::<2>(0)]
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    #[test]
    fn the_scale_stays_within_its_bounds() {
        let device = Device::flex();
        let raw = Tensor::<1>::from_floats([-1e9, -1.0, 0.0, 1.0, 1e9], &device);
        let (scale, log_scale) = bounded_scale(raw);
        let scale = scale.into_data().try_to_vec::<f32>().unwrap();
        let log_scale = log_scale.into_data().try_to_vec::<f32>().unwrap();
        let expected = [-1.0f64, -0.5, 0.0, 0.5, 1.0].map(|a| (1e-6 + a.exp()).sqrt());
        for i in 0..5 {
            assert!((f64::from(scale[i]) - expected[i]).abs() < 1e-6);
            assert!((f64::from(log_scale[i]) - expected[i].ln()).abs() < 1e-6);
            assert!(scale[i] > 0.606 && scale[i] < 1.649);
        }
    }
}
