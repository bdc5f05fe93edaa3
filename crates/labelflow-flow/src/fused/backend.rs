//! The fused operations as burn sees them: forward on Flex, its CPU backend, and with a way back on Flex with gradients.

use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, ExtensionType, Flex, TensorMetadata, backend_extension};
use burn::tensor::{DType, TensorData};

use super::bank::{self, Bank, Statistics};
use super::couplings::{self, Couplings};
use super::float::Float;
use super::rows::in_pool;
use super::sampling::{Affine, Sampler};

/// The operations of a training step.
#[backend_extension(Flex, Autodiff)]
pub(super) trait FusedTraining: Backend {
    /// The condition, and mean and unbiased variance of its normalisation.
    fn fused_bank(
        features: FloatTensor<Self>,
        first: FloatTensor<Self>,
        scale: FloatTensor<Self>,
        shift: FloatTensor<Self>,
        second: FloatTensor<Self>,
        second_bias: FloatTensor<Self>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>);

    /// Labels with log-determinants in the last column, and mean and unbiased variance of both normalisations.
    #[allow(clippy::too_many_arguments, clippy::type_complexity)]
    fn fused_couplings(
        noise: FloatTensor<Self>,
        condition: FloatTensor<Self>,
        first: FloatTensor<Self>,
        scale: FloatTensor<Self>,
        shift: FloatTensor<Self>,
        second: FloatTensor<Self>,
        merge: FloatTensor<Self>,
        merge_bias: FloatTensor<Self>,
        warped: Vec<usize>,
    ) -> (
        FloatTensor<Self>,
        FloatTensor<Self>,
        FloatTensor<Self>,
        FloatTensor<Self>,
        FloatTensor<Self>,
    );
}

/// The weights of a trained flow: those of the bank, and those of all couplings, stacked.
#[derive(ExtensionType)]
pub(super) struct FlowWeights<B: Backend> {
    pub(super) bank_first: FloatTensor<B>,
    pub(super) bank_mean: FloatTensor<B>,
    pub(super) bank_variance: FloatTensor<B>,
    pub(super) bank_scale: FloatTensor<B>,
    pub(super) bank_shift: FloatTensor<B>,
    pub(super) bank_second: FloatTensor<B>,
    pub(super) bank_second_bias: FloatTensor<B>,
    pub(super) first: FloatTensor<B>,
    pub(super) first_mean: FloatTensor<B>,
    pub(super) first_variance: FloatTensor<B>,
    pub(super) first_scale: FloatTensor<B>,
    pub(super) first_shift: FloatTensor<B>,
    pub(super) second: FloatTensor<B>,
    pub(super) second_bias: FloatTensor<B>,
    pub(super) second_mean: FloatTensor<B>,
    pub(super) second_variance: FloatTensor<B>,
    pub(super) merge: FloatTensor<B>,
    pub(super) merge_bias: FloatTensor<B>,
}

/// The operation of prediction.
#[backend_extension(Flex)]
pub(super) trait FusedSampling: Backend {
    /// Labels of all samples.
    fn fused_samples(
        noise: FloatTensor<Self>,
        features: FloatTensor<Self>,
        #[extension_type] weights: FlowWeights<Self>,
        warped: Vec<usize>,
    ) -> FloatTensor<Self>;
}

/// Calls a function for the number type of a tensor.
macro_rules! for_dtype {
    ($dtype:expr, $function:ident($($argument:expr),*)) => {
        match $dtype {
            DType::F64 => $function::<f64>($($argument),*),
            _ => $function::<f32>($($argument),*),
        }
    };
}

pub(super) fn contiguous<const N: usize>(tensors: [&FlexTensor; N]) -> [FlexTensor; N] {
    tensors.map(FlexTensor::to_contiguous)
}

pub(super) fn values<T: Float>(tensor: &FlexTensor) -> &[T] {
    tensor.as_slice().expect("tensors of one operation are contiguous and of one type")
}

pub(super) fn into_values<T: Float>(tensor: FlexTensor) -> Vec<T> {
    tensor.into_data().try_into_vec().expect("tensors of one operation are of one type")
}

pub(super) fn tensor<T: Float, const D: usize>(values: Vec<T>, shape: [usize; D]) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(values, shape))
}

/// A gradient of the shape of what it belongs to.
pub(super) fn like<T: Float>(input: &FlexTensor, gradient: Vec<T>) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(gradient, input.shape()))
}

fn statistics<T: Float>(statistics: Statistics<T>, d_hidden: usize) -> (FlexTensor, FlexTensor) {
    let shape = [statistics.mean.len() / d_hidden, 1, d_hidden];
    (tensor(statistics.mean, shape), tensor(statistics.variance, shape))
}

// The bank.

/// Features, first, scale, shift, second, second bias.
type BankInputs = [FlexTensor; 6];

fn bank_of<T: Float>(inputs: &BankInputs) -> Bank<'_, T> {
    let [features, first, scale, shift, second, second_bias] = inputs;
    let [_, d_features, d_hidden] = first.shape().dims();
    Bank {
        n_rows: features.shape()[0],
        d_features,
        d_hidden,
        first: values(first),
        scale: values(scale),
        shift: values(shift),
        second: values(second),
        second_bias: values(second_bias),
    }
}

/// The condition with the statistics of its normalisation, and what the way back needs.
type BankOutput<T> = ((FlexTensor, FlexTensor, FlexTensor), bank::Saved<T>);

fn bank_forward<T: Float>(inputs: &BankInputs) -> BankOutput<T> {
    let bank = bank_of::<T>(inputs);
    let (condition, saved) = in_pool(|| bank.forward(values(&inputs[0])));
    let n_networks = condition.len() / (bank.n_rows * bank.d_hidden);
    let condition = tensor(condition, [n_networks, bank.n_rows, bank.d_hidden]);
    let (mean, variance) = statistics(saved.statistics(), bank.d_hidden);
    ((condition, mean, variance), saved)
}

fn bank_without_gradient<T: Float>(inputs: BankInputs) -> (FlexTensor, FlexTensor, FlexTensor) {
    let (output, saved) = bank_forward::<T>(&inputs);
    saved.give_back();
    output
}

#[derive(Debug)]
struct BankBackward<T>(std::marker::PhantomData<T>);

impl<T: Float> Backward<Flex, 6> for BankBackward<T> {
    type State = (BankInputs, bank::Saved<T>);

    fn backward(
        self,
        ops: Ops<Self::State, 6>,
        grads: &mut Gradients,
        _checkpointer: &mut Checkpointer,
    ) {
        let gradient = into_values(grads.consume::<Flex>(&ops.node));
        let (inputs, saved) = ops.state;
        let wants_features = ops.parents[0].is_some();
        let bank = bank_of::<T>(&inputs);
        let features = values(&inputs[0]);
        let result = in_pool(|| bank.backward(features, saved, gradient, wants_features));
        let gradients = [
            result.features.unwrap_or_default(),
            result.first,
            result.scale,
            result.shift,
            result.second,
            result.second_bias,
        ];
        for ((parent, input), gradient) in ops.parents.into_iter().zip(&inputs).zip(gradients) {
            if let Some(parent) = parent {
                grads.register::<Flex>(parent.id, like(input, gradient));
            }
        }
    }
}

// The couplings.

/// Noise, condition, first, scale, shift, second, merge, merge bias.
type CouplingsInputs = [FlexTensor; 8];

fn couplings_of<'a, T: Float>(
    inputs: &'a CouplingsInputs,
    warped: &'a [usize],
) -> Couplings<'a, T> {
    let [noise, _, first, scale, shift, second, merge, merge_bias] = inputs;
    let [n_rows, d_labels] = noise.shape().dims();
    Couplings {
        n_rows,
        d_labels,
        d_hidden: second.shape()[2],
        warped,
        first: values(first),
        scale: values(scale),
        shift: values(shift),
        second: values(second),
        merge: values(merge),
        merge_bias: values(merge_bias),
    }
}

type CouplingsOutput = (FlexTensor, FlexTensor, FlexTensor, FlexTensor, FlexTensor);

fn couplings_forward<T: Float>(
    inputs: &CouplingsInputs,
    warped: &[usize],
) -> (CouplingsOutput, couplings::Saved<T>) {
    let couplings = couplings_of::<T>(inputs, warped);
    let (noise, condition) = (values(&inputs[0]), values(&inputs[1]));
    let (output, saved) = in_pool(|| couplings.forward(noise, condition));
    let shape = [couplings.n_rows, couplings.d_labels + 1];
    let (first_mean, first_variance) = statistics(output.first, couplings.d_hidden);
    let (second_mean, second_variance) = statistics(output.second, couplings.d_hidden);
    let labels = tensor(output.labels_and_log_det, shape);
    ((labels, first_mean, first_variance, second_mean, second_variance), saved)
}

fn couplings_without_gradient<T: Float>(
    inputs: CouplingsInputs,
    warped: &[usize],
) -> CouplingsOutput {
    let (output, saved) = couplings_forward::<T>(&inputs, warped);
    saved.give_back();
    output
}

#[derive(Debug)]
struct CouplingsBackward<T>(std::marker::PhantomData<T>);

impl<T: Float> Backward<Flex, 8> for CouplingsBackward<T> {
    type State = (CouplingsInputs, Vec<usize>, couplings::Saved<T>);

    fn backward(
        self,
        ops: Ops<Self::State, 8>,
        grads: &mut Gradients,
        _checkpointer: &mut Checkpointer,
    ) {
        let gradient = grads.consume::<Flex>(&ops.node).to_contiguous();
        let (mut inputs, warped, saved) = ops.state;
        // The condition's memory becomes that of its gradient: no other tensor needs it any more, or else it is copied here.
        let empty = tensor::<T, 3>(Vec::new(), [0, 0, 0]);
        let condition_shape = inputs[1].shape();
        let condition = into_values::<T>(std::mem::replace(&mut inputs[1], empty));
        let couplings = couplings_of::<T>(&inputs, &warped);
        let gradient = values(&gradient);
        let result = in_pool(|| couplings.backward(saved, condition, gradient));
        let gradients = [
            like(&inputs[0], result.noise),
            FlexTensor::from_data(TensorData::new(result.condition, condition_shape)),
            like(&inputs[2], result.first),
            like(&inputs[3], result.scale),
            like(&inputs[4], result.shift),
            like(&inputs[5], result.second),
            like(&inputs[6], result.merge),
            like(&inputs[7], result.merge_bias),
        ];
        for (parent, gradient) in ops.parents.into_iter().zip(gradients) {
            if let Some(parent) = parent {
                grads.register::<Flex>(parent.id, gradient);
            }
        }
    }
}

impl FusedTraining for Flex {
    fn fused_bank(
        features: FlexTensor,
        first: FlexTensor,
        scale: FlexTensor,
        shift: FlexTensor,
        second: FlexTensor,
        second_bias: FlexTensor,
    ) -> (FlexTensor, FlexTensor, FlexTensor) {
        let inputs = contiguous([&features, &first, &scale, &shift, &second, &second_bias]);
        for_dtype!(features.dtype(), bank_without_gradient(inputs))
    }

    fn fused_couplings(
        noise: FlexTensor,
        condition: FlexTensor,
        first: FlexTensor,
        scale: FlexTensor,
        shift: FlexTensor,
        second: FlexTensor,
        merge: FlexTensor,
        merge_bias: FlexTensor,
        warped: Vec<usize>,
    ) -> CouplingsOutput {
        let inputs =
            contiguous([&noise, &condition, &first, &scale, &shift, &second, &merge, &merge_bias]);
        for_dtype!(noise.dtype(), couplings_without_gradient(inputs, &warped))
    }
}

impl<C: CheckpointStrategy> FusedTraining for Autodiff<Flex, C> {
    fn fused_bank(
        features: FloatTensor<Self>,
        first: FloatTensor<Self>,
        scale: FloatTensor<Self>,
        shift: FloatTensor<Self>,
        second: FloatTensor<Self>,
        second_bias: FloatTensor<Self>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        fn run<T: Float, C: CheckpointStrategy>(
            inputs: [FloatTensor<Autodiff<Flex, C>>; 6],
        ) -> [FloatTensor<Autodiff<Flex, C>>; 3] {
            let nodes = inputs.each_ref().map(|input| input.node());
            let inputs = inputs.map(|input| input.into_primitive().to_contiguous());
            let prepared = BankBackward::<T>(std::marker::PhantomData).prepare::<C>(nodes);
            let ((condition, mean, variance), saved) = bank_forward::<T>(&inputs);
            let condition = match prepared.compute_bound().stateful() {
                OpsKind::Tracked(prepared) => prepared.finish((inputs, saved), condition),
                OpsKind::UnTracked(prepared) => {
                    saved.give_back();
                    prepared.finish(condition)
                }
            };
            [
                condition,
                FloatTensor::<Autodiff<Flex, C>>::new(mean),
                FloatTensor::<Autodiff<Flex, C>>::new(variance),
            ]
        }
        let dtype = features.dtype();
        let inputs = [features, first, scale, shift, second, second_bias];
        let [condition, mean, variance] = match dtype {
            DType::F64 => run::<f64, C>(inputs),
            _ => run::<f32, C>(inputs),
        };
        (condition, mean, variance)
    }

    fn fused_couplings(
        noise: FloatTensor<Self>,
        condition: FloatTensor<Self>,
        first: FloatTensor<Self>,
        scale: FloatTensor<Self>,
        shift: FloatTensor<Self>,
        second: FloatTensor<Self>,
        merge: FloatTensor<Self>,
        merge_bias: FloatTensor<Self>,
        warped: Vec<usize>,
    ) -> (
        FloatTensor<Self>,
        FloatTensor<Self>,
        FloatTensor<Self>,
        FloatTensor<Self>,
        FloatTensor<Self>,
    ) {
        fn run<T: Float, C: CheckpointStrategy>(
            inputs: [FloatTensor<Autodiff<Flex, C>>; 8],
            warped: Vec<usize>,
        ) -> [FloatTensor<Autodiff<Flex, C>>; 5] {
            let nodes = inputs.each_ref().map(|input| input.node());
            let inputs = inputs.map(|input| input.into_primitive().to_contiguous());
            let prepared = CouplingsBackward::<T>(std::marker::PhantomData).prepare::<C>(nodes);
            let (output, saved) = couplings_forward::<T>(&inputs, &warped);
            let (labels, first_mean, first_variance, second_mean, second_variance) = output;
            let labels = match prepared.compute_bound().stateful() {
                OpsKind::Tracked(prepared) => prepared.finish((inputs, warped, saved), labels),
                OpsKind::UnTracked(prepared) => {
                    saved.give_back();
                    prepared.finish(labels)
                }
            };
            let [a, b, c, d] = [first_mean, first_variance, second_mean, second_variance]
                .map(FloatTensor::<Autodiff<Flex, C>>::new);
            [labels, a, b, c, d]
        }
        let dtype = noise.dtype();
        let inputs = [noise, condition, first, scale, shift, second, merge, merge_bias];
        let [labels, first_mean, first_variance, second_mean, second_variance] = match dtype {
            DType::F64 => run::<f64, C>(inputs, warped),
            _ => run::<f32, C>(inputs, warped),
        };
        (labels, first_mean, first_variance, second_mean, second_variance)
    }
}

impl FusedSampling for Flex {
    fn fused_samples(
        noise: FlexTensor,
        features: FlexTensor,
        weights: FlowWeights<Self>,
        warped: Vec<usize>,
    ) -> FlexTensor {
        let [noise, features] = contiguous([&noise, &features]);
        for_dtype!(noise.dtype(), sample(&noise, &features, &weights, &warped))
    }
}

fn sample<T: Float>(
    noise: &FlexTensor,
    features: &FlexTensor,
    weights: &FlowWeights<Flex>,
    warped: &[usize],
) -> FlexTensor {
    let [n_samples, n_rows, d_labels] = noise.shape().dims();
    let affine = |mean, variance| Affine::new(values(mean), values(variance));
    let w = weights;
    let sampler = Sampler {
        d_features: features.shape()[1],
        d_labels,
        d_hidden: w.second.shape()[2],
        warped,
        bank_first: values(&w.bank_first),
        bank_norm: affine(&w.bank_mean, &w.bank_variance)
            .then(values(&w.bank_scale), values(&w.bank_shift)),
        bank_second: values(&w.bank_second),
        bank_second_bias: values(&w.bank_second_bias),
        first: values(&w.first),
        first_norm: affine(&w.first_mean, &w.first_variance)
            .then(values(&w.first_scale), values(&w.first_shift)),
        second: values(&w.second),
        second_bias: values(&w.second_bias),
        second_norm: affine(&w.second_mean, &w.second_variance),
        merge: values(&w.merge),
        merge_bias: values(&w.merge_bias),
    };
    let samples = sampler.sample(values::<T>(features), values(noise));
    tensor(samples, [n_samples, n_rows, d_labels])
}
