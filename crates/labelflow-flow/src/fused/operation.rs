//! Operations with a way back written by hand, as burn sees them: on Flex, its CPU backend, and on Flex with gradients.

use std::fmt::Debug;
use std::marker::PhantomData;

use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Flex, TensorMetadata};
use burn::tensor::{DType, TensorData};

use super::float::Float;

/// An operation on N tensors of one type of number. What it depends on besides them is in the value.
pub(super) trait Operation<const N: usize>: Clone + Debug + Send + 'static {
    /// What the way back needs besides the inputs.
    type Saved<T: Float>: Clone + Debug + Send + 'static;

    /// The result, followed by what has no gradient.
    fn forward<T: Float>(&self, inputs: &[FlexTensor; N]) -> (Vec<FlexTensor>, Self::Saved<T>);

    /// The gradients of all inputs; that of the first may be empty where it is not wanted.
    fn backward<T: Float>(
        &self,
        inputs: [FlexTensor; N],
        saved: Self::Saved<T>,
        gradient: FlexTensor,
        wants_first: bool,
    ) -> [Vec<T>; N];
}

/// The outputs of an operation without a way back.
pub(super) fn without_gradient<O: Operation<N>, const N: usize>(
    operation: &O,
    inputs: &[FlexTensor; N],
) -> Vec<FlexTensor> {
    let inputs = inputs.each_ref().map(FlexTensor::to_contiguous);
    match inputs[0].dtype() {
        DType::F64 => operation.forward::<f64>(&inputs).0,
        _ => operation.forward::<f32>(&inputs).0,
    }
}

/// The outputs of an operation, the first of which knows its way back.
pub(super) fn with_gradient<O: Operation<N>, C: CheckpointStrategy, const N: usize>(
    operation: O,
    inputs: [FloatTensor<Autodiff<Flex, C>>; N],
) -> Vec<FloatTensor<Autodiff<Flex, C>>> {
    fn run<T: Float, O: Operation<N>, C: CheckpointStrategy, const N: usize>(
        operation: O,
        inputs: [FloatTensor<Autodiff<Flex, C>>; N],
    ) -> Vec<FloatTensor<Autodiff<Flex, C>>> {
        let nodes = inputs.each_ref().map(|input| input.node());
        let inputs = inputs.map(|input| input.into_primitive().to_contiguous());
        let prepared = WayBack::<O, T>(PhantomData).prepare::<C>(nodes);
        let (mut outputs, saved) = operation.forward::<T>(&inputs);
        let without_gradient = outputs.split_off(1).into_iter();
        let result = outputs.pop().expect("an operation has a result");
        let result = match prepared.compute_bound().stateful() {
            OpsKind::Tracked(prepared) => prepared.finish((inputs, operation, saved), result),
            OpsKind::UnTracked(prepared) => prepared.finish(result),
        };
        let others = without_gradient.map(FloatTensor::<Autodiff<Flex, C>>::new);
        std::iter::once(result).chain(others).collect()
    }
    match inputs[0].dtype() {
        DType::F64 => run::<f64, O, C, N>(operation, inputs),
        _ => run::<f32, O, C, N>(operation, inputs),
    }
}

#[derive(Debug)]
struct WayBack<O, T>(PhantomData<(O, T)>);

impl<O: Operation<N>, T: Float, const N: usize> Backward<Flex, N> for WayBack<O, T> {
    type State = ([FlexTensor; N], O, O::Saved<T>);

    fn backward(self, ops: Ops<Self::State, N>, grads: &mut Gradients, _checkpointer: &mut Checkpointer) {
        let gradient = grads.consume::<Flex>(&ops.node);
        let (inputs, operation, saved) = ops.state;
        let shapes = inputs.each_ref().map(|input| input.shape());
        let wants_first = ops.parents[0].is_some();
        let gradients = operation.backward::<T>(inputs, saved, gradient, wants_first);
        for ((parent, shape), gradient) in ops.parents.into_iter().zip(shapes).zip(gradients) {
            if let Some(parent) = parent {
                let gradient = FlexTensor::from_data(TensorData::new(gradient, shape));
                grads.register::<Flex>(parent.id, gradient);
            }
        }
    }
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
