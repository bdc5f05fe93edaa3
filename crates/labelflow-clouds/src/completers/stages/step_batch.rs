//! What a step of training sees: drawn on the host, then in slots that a recorded step reads.

use burn::tensor::Tensor;
use labelflow::Result;
use labelflow::training::stream;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

/// Tensors whose values change from step to step, and whose shapes do not.
pub(crate) trait StepBatch: Sized {
    /// Its tensors in the order of its fields.
    fn into_tensors(self) -> Vec<Tensor<3>>;

    /// A batch of tensors in that order.
    fn from_tensors(tensors: impl Iterator<Item = Tensor<3>>) -> Self;
}

/// A field of a [`StepBatch`]; fields that may be missing come last.
pub(crate) trait BatchField {
    fn into_tensor(self) -> Option<Tensor<3>>;
    fn from_tensor(tensor: Option<Tensor<3>>) -> Self;
}

impl<const D: usize> BatchField for Tensor<D> {
    fn into_tensor(self) -> Option<Tensor<3>> {
        Some(self.unsqueeze())
    }

    fn from_tensor(tensor: Option<Tensor<3>>) -> Self {
        let tensor = tensor.expect("a batch has as many tensors as it gave");
        let shape = tensor.dims();
        tensor.reshape::<D, _>(std::array::from_fn(|axis| shape[3 - D + axis]))
    }
}

impl<T: BatchField> BatchField for Option<T> {
    fn into_tensor(self) -> Option<Tensor<3>> {
        self.and_then(T::into_tensor)
    }

    fn from_tensor(tensor: Option<Tensor<3>>) -> Self {
        tensor.map(|tensor| T::from_tensor(Some(tensor)))
    }
}

/// Makes a [`StepBatch`] of a struct with these fields.
macro_rules! step_batch {
    ($batch:ident { $($field:ident),+ }) => {
        impl $crate::completers::stages::StepBatch for $batch {
            fn into_tensors(self) -> Vec<Tensor<3>> {
                use $crate::completers::stages::BatchField;
                [$(self.$field.into_tensor()),+].into_iter().flatten().collect()
            }

            fn from_tensors(mut tensors: impl Iterator<Item = Tensor<3>>) -> Self {
                use $crate::completers::stages::BatchField;
                $(let $field = BatchField::from_tensor(tensors.next());)+
                Self { $($field),+ }
            }
        }
    };
}
pub(crate) use step_batch;

/// Draws all clouds of a step: each from its index, the number of the visit and random numbers of its own. So nothing depends on anything
/// but the settings, the data and the step, and training can go on at any epoch.
///
/// `names` are those of the random order of each epoch and of the random numbers of each cloud. An epoch has so many clouds, of which a last
/// short batch is left out.
pub(crate) fn draw_clouds<T: Send>(
    seed: u64,
    names: [&str; 2],
    n_clouds: usize,
    batch_size: usize,
    step: usize,
    draw: impl Fn(usize, u64, &mut ChaCha8Rng) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let per_step = batch_size.min(n_clouds);
    let n_steps = n_clouds / per_step;
    let mut order: Vec<usize> = (0..n_clouds).collect();
    order.shuffle(&mut stream(seed, names[0], (step / n_steps) as u64));
    let chosen = order[step % n_steps * per_step..][..per_step].par_iter().enumerate();
    chosen
        .map(|(cloud, &index)| {
            let visit = (step * per_step + cloud) as u64;
            draw(index, visit, &mut stream(seed, names[1], visit))
        })
        .collect()
}
