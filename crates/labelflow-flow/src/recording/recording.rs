//! A computation that is recorded once and then repeated for the price of one launch.
//!
//! A training step is thousands of small operations. A GPU is done with each of them sooner than the host can hand over the next, so that
//! the host decides how long a step takes. On CUDA a [`Recording`] hands over all of them together, as a graph; on other devices the
//! computation is simply run again.
//!
//! A recorded graph reads and writes the memory that it was recorded with. What changes from one repetition to the next is therefore
//! read from [`Slot`]s, whose values are replaced where they are.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::rc::Rc;

use burn::tensor::kind::Basic;
use burn::tensor::{Device, Float, Graph, Int, Tensor, capture};

/// What those are told who wait for a computation that [could not be recorded](Recording::has_failed).
pub const NOT_RECORDED: &str = "the device could not record a training step as one graph: every operation is launched by itself, which takes longer \
     and changes no result";

/// Whether a recording is worth its while on this device: whether it has graphs.
pub fn records(device: &Device) -> bool {
    // With operation fusion, operations do not run where they are called.
    cfg!(all(feature = "cuda", not(feature = "fusion"))) && device.clone().inner() != Device::flex()
}

/// The kinds of tensors whose values can be replaced: numbers.
pub trait SlotKind: Basic {
    /// Copies a value over that of a tensor of the same shape on a device with graphs, and returns that tensor; the value itself where
    /// no device has graphs.
    fn write_in_place<const D: usize>(_place: Tensor<D, Self>, value: Tensor<D, Self>) -> Tensor<D, Self> {
        value
    }
}

#[cfg(not(all(feature = "cuda", not(feature = "fusion"))))]
impl SlotKind for Float {}
#[cfg(not(all(feature = "cuda", not(feature = "fusion"))))]
impl SlotKind for Int {}

/// A tensor without gradients whose value can be replaced under the eyes of a [`Recording`]. Clones share the value.
#[derive(Debug, Clone)]
pub struct Slot<const D: usize, K: SlotKind = Float> {
    tensor: Rc<RefCell<Tensor<D, K>>>,
}

impl<const D: usize, K: SlotKind> Slot<D, K> {
    /// A place of its own for this value.
    pub fn new(value: Tensor<D, K>) -> Self {
        let slot = Self { tensor: Rc::new(RefCell::new(value.zeros_like())) };
        slot.write(value);
        slot
    }

    /// The value. On a device with graphs it is a view: it changes with the next [`write`](Self::write).
    pub fn value(&self) -> Tensor<D, K> {
        self.tensor.borrow().clone()
    }

    /// Replaces the value by another one of the same shape.
    ///
    /// # Panics
    ///
    /// If the shapes differ.
    pub fn write(&self, value: Tensor<D, K>) {
        let place = self.value();
        assert_eq!(place.dims(), value.dims(), "a slot keeps its shape");
        let written = match records(&place.device()) {
            true => K::write_in_place(place, value),
            false => value,
        };
        *self.tensor.borrow_mut() = written;
    }
}

/// A computation with its result, to be repeated. It stays on its thread, whose operations a device carries out in order.
pub struct Recording<T, F> {
    repeated: Repeated<T, F>,
    on_one_thread: PhantomData<Rc<()>>,
}

enum Repeated<T, F> {
    Graph(Graph<T, F>),
    Again { computation: F, result: Option<T> },
}

impl<T, F: FnMut() -> T> Recording<T, F> {
    /// Records a computation on devices with graphs, where it runs a few times to see what memory it needs.
    ///
    /// It reads [`Slot`]s and tensors that it owns or borrows, writes to none, and copies nothing to or from the host.
    pub fn new(device: &Device, computation: F) -> Self {
        let repeated = match records(device) {
            true => Repeated::Graph(capture(&device.clone().inner(), computation)),
            false => Repeated::Again { computation, result: None },
        };
        Self { repeated, on_one_thread: PhantomData }
    }

    /// Repeats the computation. On devices with graphs its result lies where that of the last time lay.
    #[allow(unsafe_code)]
    pub fn repeat(&mut self) -> &T {
        match &mut self.repeated {
            // SAFETY: a replay must find the buffers alive that it was recorded with. Inputs belong to the closure, or are borrowed by
            // it, and the graph owns the closure and its result; slots replace values, never buffers, on devices with graphs. Buffers of
            // intermediate results are guarded by the graph itself. No other thread can touch them or replay: this type is not `Send`,
            // and neither are slots, so that writes, replays and reads are operations of one thread, which are carried out in order.
            Repeated::Graph(graph) => unsafe { graph.replay() },
            Repeated::Again { computation, result } => result.insert(computation()),
        }
    }

    /// Whether the device has graphs and yet could not record this one, so that every operation is launched by itself.
    pub fn has_failed(&self) -> bool {
        matches!(&self.repeated, Repeated::Graph(graph) if !graph.is_hardware())
    }
}

impl<T, F> std::fmt::Debug for Recording<T, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Recording")
    }
}

#[cfg(all(feature = "cuda", not(feature = "fusion")))]
mod in_place {
    use burn::backend::cubecl::dtype_to_elem_type;
    use burn::backend::tensor::{FloatTensor, IntTensor};
    use burn::backend::{Backend, Cube, Dispatch, backend_extension};
    use cubecl::std::tensor::copy_into;

    use super::{Float, Int, SlotKind, Tensor};

    /// What burn has no operation for: tensors are values.
    #[backend_extension(Cube)]
    pub(super) trait InPlace: Backend {
        /// Copies a value over that of a tensor of the same shape, and returns that tensor.
        fn write_in_place(place: FloatTensor<Self>, value: FloatTensor<Self>) -> FloatTensor<Self>;

        /// [`write_in_place`](Self::write_in_place) of whole numbers.
        fn write_int_in_place(place: IntTensor<Self>, value: IntTensor<Self>) -> IntTensor<Self>;
    }

    impl InPlace for Cube {
        fn write_in_place(place: FloatTensor<Self>, value: FloatTensor<Self>) -> FloatTensor<Self> {
            let dtype = dtype_to_elem_type(place.dtype);
            copy_into(&place.client, value.binding(), place.clone().binding(), dtype);
            place
        }

        // Both kinds are the same type of tensor there.
        fn write_int_in_place(place: IntTensor<Self>, value: IntTensor<Self>) -> IntTensor<Self> {
            Self::write_in_place(place, value)
        }
    }

    impl SlotKind for Float {
        fn write_in_place<const D: usize>(place: Tensor<D>, value: Tensor<D>) -> Tensor<D> {
            let (place, value) = (place.into_dispatch(), value.into_dispatch());
            Tensor::from_dispatch(<Dispatch as InPlace>::write_in_place(place, value))
        }
    }

    impl SlotKind for Int {
        fn write_in_place<const D: usize>(place: Tensor<D, Self>, value: Tensor<D, Self>) -> Tensor<D, Self> {
            let (place, value) = (place.into_dispatch(), value.into_dispatch());
            Tensor::from_dispatch(<Dispatch as InPlace>::write_int_in_place(place, value))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(tensor: &Tensor<1>) -> Vec<f32> {
        tensor.to_data().iter::<f32>().collect()
    }

    #[test]
    fn a_repetition_sees_what_slots_hold_now() {
        let device = Device::flex();
        let slot = Slot::new(Tensor::<1>::from_floats([1.0, 2.0], &device));
        let read = slot.clone();
        let mut doubled = Recording::new(&device, move || read.value() * 2.0);
        assert_eq!(numbers(doubled.repeat()), [2.0, 4.0]);
        slot.write(Tensor::from_floats([-1.0, 5.0], &device));
        assert_eq!(numbers(doubled.repeat()), [-2.0, 10.0]);
        assert!(!doubled.has_failed());
    }

    #[test]
    #[should_panic(expected = "keeps its shape")]
    fn a_slot_keeps_its_shape() {
        let device = Device::flex();
        Slot::new(Tensor::<1>::zeros([2], &device)).write(Tensor::zeros([3], &device));
    }
}
