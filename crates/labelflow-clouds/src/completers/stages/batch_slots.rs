//! Where the batches of all steps of a stage lie, one after another.

use std::marker::PhantomData;

use burn::tensor::Tensor;
use labelflow_flow::Slot;

/// What a step sees: tensors whose values change from step to step, and whose shapes do not.
pub(crate) trait StepBatch: Sized {
    /// Its tensors, in an order of its own; rows as `[1, n_rows, width]`.
    fn into_tensors(self) -> Vec<Tensor<3>>;

    /// A batch of tensors in that order.
    fn from_tensors(tensors: impl Iterator<Item = Tensor<3>>) -> Self;
}

/// What every batch has.
pub(crate) const WHOLE: &str = "a batch has as many tensors as it gave";

/// The tensors of a batch in slots.
#[derive(Debug)]
pub(crate) struct BatchSlots<B> {
    slots: Vec<Slot<3>>,
    kind: PhantomData<B>,
}

impl<B: StepBatch> BatchSlots<B> {
    /// Room for batches like this one, on a device without gradients.
    pub(crate) fn new(batch: B) -> Self {
        let slots = batch.into_tensors().into_iter().map(Slot::new).collect();
        Self { slots, kind: PhantomData }
    }

    /// Replaces the batch.
    pub(crate) fn write(&self, batch: B) {
        let tensors = batch.into_tensors();
        self.slots.iter().zip(tensors).for_each(|(slot, tensor)| slot.write(tensor));
    }

    /// The batch, on the device with gradients.
    pub(crate) fn batch(&self) -> B {
        B::from_tensors(self.slots.iter().map(|slot| Tensor::from_inner(slot.value())))
    }
}
