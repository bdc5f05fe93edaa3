//! What each fused operation makes of its tensors.

use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, ExtensionType, Flex, TensorMetadata, backend_extension};
use burn::tensor::DType;

use super::bank::{self, Bank, Statistics};
use super::couplings::{self, Couplings};
use super::float::Float;
use super::networks::{self, Networks};
use super::operation::{Operation, into_values, tensor, values, with_gradient, without_gradient};
use super::rows::in_pool;
use super::sampling::{Affine, Sampler};
use crate::Activation;

/// The operations of training by their tensors, on both backends.
macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident($($input:ident),+ $(; $setting:ident: $type:ty)?) => $operation:expr;)+) => {
        /// The operations of training.
        #[backend_extension(Flex, Autodiff)]
        pub(super) trait FusedTraining: Backend {
            $(
                $(#[$doc])*
                #[allow(clippy::too_many_arguments)]
                fn $name($($input: FloatTensor<Self>,)+ $($setting: $type)?) -> Vec<FloatTensor<Self>>;
            )+
        }

        impl FusedTraining for Flex {
            $(fn $name($($input: FlexTensor,)+ $($setting: $type)?) -> Vec<FlexTensor> {
                without_gradient(&$operation, &[$($input),+])
            })+
        }

        impl<C: CheckpointStrategy> FusedTraining for Autodiff<Flex, C> {
            $(fn $name($($input: FloatTensor<Self>,)+ $($setting: $type)?) -> Vec<FloatTensor<Self>> {
                with_gradient::<_, C, _>($operation, [$($input),+])
            })+
        }
    };
}

operations! {
    /// The condition, and mean and unbiased variance of its normalisation.
    fused_bank(features, first, scale, shift, second, second_bias) => BankOperation;
    /// Labels with log-determinants in the last column, and mean and unbiased variance of both normalisations.
    fused_couplings(noise, condition, first, scale, shift, second, merge, merge_bias; warped: Warped)
        => CouplingsOperation { warped };
    /// The heads of affine maps, `[n_networks, n_rows, d_heads]`, in training and in prediction.
    fused_networks(features, first, first_bias, second, second_bias, last, last_bias; activation: Activation)
        => NetworksOperation { activation };
}

#[derive(Debug, Clone)]
struct BankOperation;

fn bank_of<T: Float>(n_rows: usize, weights: [&FlexTensor; 5]) -> Bank<'_, T> {
    let [_, d_features, d_hidden] = weights[0].shape().dims();
    let [first, scale, shift, second, second_bias] = weights.map(values);
    Bank { n_rows, d_features, d_hidden, first, scale, shift, second, second_bias }
}

impl BankOperation {
    fn bank<T: Float>([features, weights @ ..]: &[FlexTensor; 6]) -> Bank<'_, T> {
        bank_of(features.shape()[0], weights.each_ref())
    }
}

impl Operation<6> for BankOperation {
    type Saved<T: Float> = bank::Saved<T>;

    fn forward<T: Float>(&self, inputs: &[FlexTensor; 6]) -> (Vec<FlexTensor>, bank::Saved<T>) {
        let bank = Self::bank::<T>(inputs);
        let (condition, saved) = in_pool(|| bank.forward(values(&inputs[0])));
        let n_networks = condition.len() / (bank.n_rows * bank.d_hidden);
        let condition = tensor(condition, [n_networks, bank.n_rows, bank.d_hidden]);
        let [mean, variance] = statistics(Statistics::of(&saved.networks), bank.d_hidden);
        (vec![condition, mean, variance], saved)
    }

    fn backward<T: Float>(
        &self,
        inputs: [FlexTensor; 6],
        saved: bank::Saved<T>,
        gradient: FlexTensor,
        wants_features: bool,
    ) -> [Vec<T>; 6] {
        let (bank, features) = (Self::bank::<T>(&inputs), values(&inputs[0]));
        let gradient = into_values(gradient);
        in_pool(|| bank.backward(features, saved, gradient, wants_features))
    }
}

#[derive(Debug, Clone)]
struct CouplingsOperation {
    warped: Warped,
}

/// What couplings warp, and how far.
#[derive(Debug, Clone)]
pub(super) struct Warped {
    /// The label of each coupling.
    pub(super) labels: Vec<usize>,
    /// The largest logarithm of a scale.
    pub(super) max_log_scale: f64,
}

/// Of labels `[n_rows, d_labels]`.
fn couplings_of<'a, T: Float>(
    [n_rows, d_labels]: [usize; 2],
    warped: &'a Warped,
    weights: [&'a FlexTensor; 6],
) -> Couplings<'a, T> {
    let [_, d_kept, d_hidden] = weights[0].shape().dims();
    let [first, scale, shift, second, merge, merge_bias] = weights.map(values);
    let Warped { labels: warped, max_log_scale } = warped;
    Couplings {
        n_rows,
        d_labels,
        d_kept,
        d_hidden,
        max_log_scale: *max_log_scale,
        warped,
        first,
        scale,
        shift,
        second,
        merge,
        merge_bias,
    }
}

impl CouplingsOperation {
    fn couplings<'a, T: Float>(&'a self, inputs: &'a [FlexTensor; 8]) -> Couplings<'a, T> {
        let [noise, _, weights @ ..] = inputs;
        couplings_of(noise.shape().dims(), &self.warped, weights.each_ref())
    }
}

impl Operation<8> for CouplingsOperation {
    type Saved<T: Float> = couplings::Saved<T>;

    fn forward<T: Float>(&self, inputs: &[FlexTensor; 8]) -> (Vec<FlexTensor>, couplings::Saved<T>) {
        let couplings = self.couplings::<T>(inputs);
        let (noise, condition) = (values(&inputs[0]), values(&inputs[1]));
        let (output, saved) = in_pool(|| couplings.forward(noise, condition));
        let shape = [couplings.n_rows, couplings.d_labels + 1];
        let [first_mean, first_variance] = statistics(output.first, couplings.d_hidden);
        let [second_mean, second_variance] = statistics(output.second, couplings.d_hidden);
        let labels = tensor(output.labels_and_log_det, shape);
        (vec![labels, first_mean, first_variance, second_mean, second_variance], saved)
    }

    fn backward<T: Float>(
        &self,
        mut inputs: [FlexTensor; 8],
        saved: couplings::Saved<T>,
        gradient: FlexTensor,
        _: bool,
    ) -> [Vec<T>; 8] {
        let gradient = gradient.to_contiguous();
        // The condition's memory becomes that of its gradient: no other tensor needs it any more, or else it is copied here.
        let empty = tensor::<T, 3>(Vec::new(), [0, 0, 0]);
        let condition = into_values::<T>(std::mem::replace(&mut inputs[1], empty));
        let couplings = self.couplings::<T>(&inputs);
        let gradient = values(&gradient);
        in_pool(|| couplings.backward(saved, condition, gradient))
    }
}

#[derive(Debug, Clone)]
struct NetworksOperation {
    activation: Activation,
}

impl NetworksOperation {
    fn networks<'a, T: Float>(&self, inputs: &'a [FlexTensor; 7]) -> Networks<'a, T> {
        let [features, first, first_bias, second, second_bias, last, last_bias] = inputs;
        let [_, d_features, d_hidden] = first.shape().dims();
        Networks {
            n_rows: features.shape()[0],
            d_features,
            d_hidden,
            d_heads: last.shape()[2],
            activation: self.activation,
            first: values(first),
            first_bias: values(first_bias),
            second: values(second),
            second_bias: values(second_bias),
            last: values(last),
            last_bias: values(last_bias),
        }
    }
}

impl Operation<7> for NetworksOperation {
    type Saved<T: Float> = networks::Saved<T>;

    fn forward<T: Float>(&self, inputs: &[FlexTensor; 7]) -> (Vec<FlexTensor>, networks::Saved<T>) {
        let networks = self.networks::<T>(inputs);
        let (heads, saved) = in_pool(|| networks.forward(values(&inputs[0])));
        let n_networks = inputs[1].shape()[0];
        (vec![tensor(heads, [n_networks, networks.n_rows, networks.d_heads])], saved)
    }

    fn backward<T: Float>(
        &self,
        inputs: [FlexTensor; 7],
        saved: networks::Saved<T>,
        gradient: FlexTensor,
        wants_features: bool,
    ) -> [Vec<T>; 7] {
        let gradient = gradient.to_contiguous();
        let networks = self.networks::<T>(&inputs);
        let (features, gradient) = (values(&inputs[0]), values(&gradient));
        in_pool(|| networks.backward(features, saved, gradient, wants_features))
    }
}

/// Mean and variance as tensors.
fn statistics<T: Float>(statistics: Statistics<T>, d_hidden: usize) -> [FlexTensor; 2] {
    let shape = [statistics.mean.len() / d_hidden, 1, d_hidden];
    [tensor(statistics.mean, shape), tensor(statistics.variance, shape)]
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
        warped: Warped,
    ) -> FloatTensor<Self>;
}

impl FusedSampling for Flex {
    fn fused_samples(
        noise: FlexTensor,
        features: FlexTensor,
        weights: FlowWeights<Self>,
        warped: Warped,
    ) -> FlexTensor {
        let [noise, features] = [noise, features].map(|tensor| tensor.to_contiguous());
        match noise.dtype() {
            DType::F64 => sample::<f64>(&noise, &features, &weights, &warped),
            _ => sample::<f32>(&noise, &features, &weights, &warped),
        }
    }
}

fn sample<T: Float>(
    noise: &FlexTensor,
    features: &FlexTensor,
    weights: &FlowWeights<Flex>,
    warped: &Warped,
) -> FlexTensor {
    let [n_samples, n_rows, d_labels] = noise.shape().dims();
    let norm = |mean, variance| Affine::new(values(mean), values(variance));
    let w = weights;
    let of_bank = [&w.bank_first, &w.bank_scale, &w.bank_shift, &w.bank_second, &w.bank_second_bias];
    let bank = bank_of(n_rows, of_bank);
    let of_couplings = [&w.first, &w.first_scale, &w.first_shift, &w.second, &w.merge, &w.merge_bias];
    let couplings = couplings_of([n_rows, d_labels], warped, of_couplings);
    let sampler = Sampler {
        bank_norm: norm(&w.bank_mean, &w.bank_variance).then(bank.scale, bank.shift),
        bank,
        first_norm: norm(&w.first_mean, &w.first_variance).then(couplings.scale, couplings.shift),
        couplings,
        second_bias: values(&w.second_bias),
        second_norm: norm(&w.second_mean, &w.second_variance),
    };
    let samples = sampler.sample(values::<T>(features), values(noise));
    tensor(samples, [n_samples, n_rows, d_labels])
}
