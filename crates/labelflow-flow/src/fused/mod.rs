//! The hot block of training and prediction on the CPU, each as one operation.
//!
//! | here | the same as a composition of tensor operations |
//! |---|---|
//! | [`bank`] | `ConditionerBank::composed` |
//! | [`couplings`] | `Chain` folding over `Coupling` |
//! | [`samples`] | `Flow::composed_samples` |
//! | [`networks`] | `AffineMap`'s heads of the condition, for networks without normalisation |
//!
//! The compositions are what other devices run, and what tests hold these operations against. An operation here saves what its
//! hand-written way back needs, passes over memory a few times instead of dozens, and reuses its large buffers from step to step.
//! To burn they are operations like any other, so that constraints, losses and the optimiser stay ordinary tensor code.

/// Evaluates an expression with the best instructions that this machine has.
///
/// Only what is inlined into it is compiled for them: functions that it calls must be `#[inline(always)]`.
macro_rules! vectorized {
    ($pass:expr) => {{
        // A closure that consumes something can be called only once. Others are called through a shim that is not inlined.
        let once = $crate::fused::Once;
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                let _consumed = once;
                $pass
            },
        )
    }};
}

/// What the closures of `vectorized!` consume.
struct Once;

mod backend;
mod bank;
mod buffers;
mod couplings;
mod float;
mod head;
mod matmul;
mod networks;
mod operation;
mod rows;
mod sampling;

use burn::backend::Dispatch;
use burn::backend::tensor::FloatTensor;
use burn::module::Param;
use burn::tensor::{DType, Device, Tensor};

use self::backend::{FlowWeights, FusedSampling, FusedTraining, Warped};
pub use self::buffers::release_buffers;
use crate::bijections::N_HEADS;
use crate::{
    AffineMap, ConditionerBank, Coupling, Flow, Linear, MAX_LOG_SCALE, Mapped, Normalization, StatisticsRecorder,
};

/// Whether there is a fused operation for tensors like this one.
pub(crate) fn applies<const D: usize>(tensor: &Tensor<D>) -> bool {
    is_on_cpu(tensor.dtype(), tensor.device().inner())
}

/// Whether samples of tensors like this one can be fused: they have no way back.
pub(crate) fn applies_without_gradient<const D: usize>(tensor: &Tensor<D>) -> bool {
    is_on_cpu(tensor.dtype(), tensor.device())
}

fn is_on_cpu(dtype: DType, device: Device) -> bool {
    matches!(dtype, DType::F32 | DType::F64) && device == Device::flex()
}

/// [`ConditionerBank::forward`] with statistics of the batch.
pub(crate) fn bank(
    bank: &ConditionerBank,
    norm: &Normalization,
    features: Tensor<2>,
    recorder: &StatisticsRecorder,
) -> Tensor<3> {
    let (scale, shift) = affine_part(norm);
    let outputs = <Dispatch as FusedTraining>::fused_bank(
        features.into_dispatch(),
        bank.first.weight.val().into_dispatch(),
        scale.val().into_dispatch(),
        shift.val().into_dispatch(),
        bank.second.weight.val().into_dispatch(),
        bias(&bank.second).val().into_dispatch(),
    );
    let mut outputs = outputs.into_iter();
    let [condition, mean, variance] = tensors(&mut outputs);
    recorder.record(norm, mean, variance);
    condition
}

/// The inverse of a chain of couplings with statistics of the batch.
pub(crate) fn couplings(
    maps: &[Coupling],
    noise: Tensor<2>,
    condition: Tensor<3>,
    recorder: &StatisticsRecorder,
) -> Mapped {
    let d_labels = noise.dims()[1];
    let outputs = <Dispatch as FusedTraining>::fused_couplings(
        noise.into_dispatch(),
        condition.into_dispatch(),
        stacked(maps, |map| &map.first.weight).into_dispatch(),
        stacked(maps, |map| affine_part(&map.first_norm).0).into_dispatch(),
        stacked(maps, |map| affine_part(&map.first_norm).1).into_dispatch(),
        stacked(maps, |map| &map.second.weight).into_dispatch(),
        stacked(maps, |map| &map.merge.weight).into_dispatch(),
        stacked(maps, |map| bias(&map.merge)).into_dispatch(),
        warped_by(maps),
    );
    let mut outputs = outputs.into_iter();
    let [output] = tensors::<2, 1>(&mut outputs);
    let [first_mean, first_variance, second_mean, second_variance] = tensors(&mut outputs);
    record_all(maps, |map| &map.first_norm, &first_mean, &first_variance, recorder);
    // The operation leaves out the second layer's bias, which cancels in the normalisation after it but not in its running mean.
    let second_mean = second_mean + stacked(maps, |map| bias(&map.second)).detach();
    record_all(maps, |map| &map.second_norm, &second_mean, &second_variance, recorder);
    let log_det = output.clone().narrow(1, d_labels, 1).squeeze_dim::<1>(1);
    (output.narrow(1, 0, d_labels), log_det)
}

/// Labels drawn with running statistics, any number of samples of each row.
///
/// # Shapes
///
/// - noise and result: `[n_samples, n_rows, d_labels]`, features: `[n_rows, d_features]`
pub(crate) fn samples(flow: &Flow<Coupling>, noise: Tensor<3>, features: Tensor<2>) -> Tensor<3> {
    let (bank, maps) = (&flow.bank, &flow.chain.maps);
    let norm = bank.norm.as_ref().expect("couplings have a bank with normalisation");
    let own = |weight: &Param<Tensor<3>>| weight.val().into_dispatch();
    let all = |weight: fn(&Coupling) -> &Param<Tensor<3>>| stacked(maps, weight).into_dispatch();
    let weights = FlowWeights {
        bank_first: own(&bank.first.weight),
        bank_mean: own(&norm.running_mean),
        bank_variance: own(&norm.running_variance),
        bank_scale: own(affine_part(norm).0),
        bank_shift: own(affine_part(norm).1),
        bank_second: own(&bank.second.weight),
        bank_second_bias: own(bias(&bank.second)),
        first: all(|map| &map.first.weight),
        first_mean: all(|map| &map.first_norm.running_mean),
        first_variance: all(|map| &map.first_norm.running_variance),
        first_scale: all(|map| affine_part(&map.first_norm).0),
        first_shift: all(|map| affine_part(&map.first_norm).1),
        second: all(|map| &map.second.weight),
        second_bias: all(|map| bias(&map.second)),
        second_mean: all(|map| &map.second_norm.running_mean),
        second_variance: all(|map| &map.second_norm.running_variance),
        merge: all(|map| &map.merge.weight),
        merge_bias: all(|map| bias(&map.merge)),
    };
    Tensor::from_dispatch(<Dispatch as FusedSampling>::fused_samples(
        noise.into_dispatch(),
        features.into_dispatch(),
        weights,
        warped_by(maps),
    ))
}

/// The heads of all affine maps, `[2 · n_maps, n_rows, d_labels]`, from networks that see each row by itself.
pub(crate) fn networks(flow: &Flow<AffineMap>, features: Tensor<2>) -> Tensor<3> {
    let (bank, maps) = (&flow.bank, &flow.chain.maps);
    let outputs = <Dispatch as FusedTraining>::fused_networks(
        features.into_dispatch(),
        bank.first.weight.val().into_dispatch(),
        bias(&bank.first).val().into_dispatch(),
        bank.second.weight.val().into_dispatch(),
        bias(&bank.second).val().into_dispatch(),
        stacked(maps, |map| &map.merge.weight).into_dispatch(),
        stacked(maps, |map| bias(&map.merge)).into_dispatch(),
        bank.activation,
    );
    let [heads] = tensors(&mut outputs.into_iter());
    heads
}

/// The next outputs of an operation.
fn tensors<const D: usize, const N: usize>(
    outputs: &mut impl Iterator<Item = FloatTensor<Dispatch>>,
) -> [Tensor<D>; N] {
    std::array::from_fn(|_| Tensor::from_dispatch(outputs.next().expect("an operation has all of its outputs")))
}

fn warped_by(maps: &[Coupling]) -> Warped {
    let max_log_scale = maps.first().map_or(MAX_LOG_SCALE, |map| map.max_log_scale);
    Warped { labels: maps.iter().map(|map| map.warped).collect(), max_log_scale }
}

/// One weight of all maps.
fn stacked<B>(maps: &[B], weight: impl Fn(&B) -> &Param<Tensor<3>>) -> Tensor<3> {
    Tensor::cat(maps.iter().map(|map| weight(map).val()).collect(), 0)
}

fn record_all(
    maps: &[Coupling],
    norm: impl Fn(&Coupling) -> &Normalization,
    mean: &Tensor<3>,
    variance: &Tensor<3>,
    recorder: &StatisticsRecorder,
) {
    for (index, map) in maps.iter().enumerate() {
        let part = |all: &Tensor<3>| all.clone().narrow(0, index * N_HEADS, N_HEADS);
        recorder.record(norm(map), part(mean), part(variance));
    }
}

fn affine_part(norm: &Normalization) -> (&Param<Tensor<3>>, &Param<Tensor<3>>) {
    let part = norm.scale.as_ref().zip(norm.shift.as_ref());
    part.expect("this layer has an affine part")
}

fn bias(linear: &Linear) -> &Param<Tensor<3>> {
    linear.bias.as_ref().expect("this layer has a bias")
}
