//! The networks of [`networks`](super::networks) as burn sees them: forward on Flex, and with a way back on Flex with gradients.

use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Flex, TensorMetadata, backend_extension};
use burn::tensor::DType;

use super::backend::{contiguous, like, tensor, values};
use super::float::Float;
use super::networks::{Networks, Saved};
use super::rows::in_pool;
use crate::Activation;

/// The operation of affine flows, in training and in prediction.
#[backend_extension(Flex, Autodiff)]
pub(super) trait FusedNetworks: Backend {
    /// The heads, `[n_networks, n_rows, d_heads]`.
    #[allow(clippy::too_many_arguments)]
    fn fused_networks(
        features: FloatTensor<Self>,
        first: FloatTensor<Self>,
        first_bias: FloatTensor<Self>,
        second: FloatTensor<Self>,
        second_bias: FloatTensor<Self>,
        last: FloatTensor<Self>,
        last_bias: FloatTensor<Self>,
        activation: Activation,
    ) -> FloatTensor<Self>;
}

/// Features, first, first bias, second, second bias, last, last bias.
type Inputs = [FlexTensor; 7];

fn networks_of<T: Float>(inputs: &Inputs, activation: Activation) -> Networks<'_, T> {
    let [features, first, first_bias, second, second_bias, last, last_bias] = inputs;
    let [_, d_features, d_hidden] = first.shape().dims();
    Networks {
        n_rows: features.shape()[0],
        d_features,
        d_hidden,
        d_heads: last.shape()[2],
        activation,
        first: values(first),
        first_bias: values(first_bias),
        second: values(second),
        second_bias: values(second_bias),
        last: values(last),
        last_bias: values(last_bias),
    }
}

fn forward<T: Float>(inputs: &Inputs, activation: Activation) -> (FlexTensor, Saved<T>) {
    let networks = networks_of::<T>(inputs, activation);
    let (heads, saved) = in_pool(|| networks.forward(values(&inputs[0])));
    let n_networks = inputs[1].shape()[0];
    (tensor(heads, [n_networks, networks.n_rows, networks.d_heads]), saved)
}

fn without_gradient<T: Float>(inputs: &Inputs, activation: Activation) -> FlexTensor {
    let (heads, saved) = forward::<T>(inputs, activation);
    saved.give_back();
    heads
}

#[derive(Debug)]
struct NetworksBackward<T>(std::marker::PhantomData<T>);

impl<T: Float> Backward<Flex, 7> for NetworksBackward<T> {
    type State = (Inputs, Activation, Saved<T>);

    fn backward(
        self,
        ops: Ops<Self::State, 7>,
        grads: &mut Gradients,
        _checkpointer: &mut Checkpointer,
    ) {
        let gradient = grads.consume::<Flex>(&ops.node).to_contiguous();
        let (inputs, activation, saved) = ops.state;
        let wants_features = ops.parents[0].is_some();
        let networks = networks_of::<T>(&inputs, activation);
        let (features, gradient) = (values(&inputs[0]), values(&gradient));
        let result = in_pool(|| networks.backward(features, saved, gradient, wants_features));
        let gradients = [
            result.features.unwrap_or_default(),
            result.first,
            result.first_bias,
            result.second,
            result.second_bias,
            result.last,
            result.last_bias,
        ];
        for ((parent, input), gradient) in ops.parents.into_iter().zip(&inputs).zip(gradients) {
            if let Some(parent) = parent {
                grads.register::<Flex>(parent.id, like(input, gradient));
            }
        }
    }
}

impl FusedNetworks for Flex {
    fn fused_networks(
        features: FlexTensor,
        first: FlexTensor,
        first_bias: FlexTensor,
        second: FlexTensor,
        second_bias: FlexTensor,
        last: FlexTensor,
        last_bias: FlexTensor,
        activation: Activation,
    ) -> FlexTensor {
        let dtype = features.dtype();
        let inputs =
            contiguous([&features, &first, &first_bias, &second, &second_bias, &last, &last_bias]);
        match dtype {
            DType::F64 => without_gradient::<f64>(&inputs, activation),
            _ => without_gradient::<f32>(&inputs, activation),
        }
    }
}

impl<C: CheckpointStrategy> FusedNetworks for Autodiff<Flex, C> {
    fn fused_networks(
        features: FloatTensor<Self>,
        first: FloatTensor<Self>,
        first_bias: FloatTensor<Self>,
        second: FloatTensor<Self>,
        second_bias: FloatTensor<Self>,
        last: FloatTensor<Self>,
        last_bias: FloatTensor<Self>,
        activation: Activation,
    ) -> FloatTensor<Self> {
        fn run<T: Float, C: CheckpointStrategy>(
            inputs: [FloatTensor<Autodiff<Flex, C>>; 7],
            activation: Activation,
        ) -> FloatTensor<Autodiff<Flex, C>> {
            let nodes = inputs.each_ref().map(|input| input.node());
            let inputs = inputs.map(|input| input.into_primitive().to_contiguous());
            let prepared = NetworksBackward::<T>(std::marker::PhantomData).prepare::<C>(nodes);
            let (heads, saved) = forward::<T>(&inputs, activation);
            match prepared.compute_bound().stateful() {
                OpsKind::Tracked(prepared) => prepared.finish((inputs, activation, saved), heads),
                OpsKind::UnTracked(prepared) => {
                    saved.give_back();
                    prepared.finish(heads)
                }
            }
        }
        let dtype = features.dtype();
        let inputs = [features, first, first_bias, second, second_bias, last, last_bias];
        match dtype {
            DType::F64 => run::<f64, C>(inputs, activation),
            _ => run::<f32, C>(inputs, activation),
        }
    }
}
