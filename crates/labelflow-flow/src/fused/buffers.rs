//! Large buffers, kept from one training step to the next: fresh memory costs a page fault every few kilobytes.

use super::float::Float;

/// Smaller buffers are left to the allocator.
const SMALLEST: usize = 1 << 14;
/// No more than this many wait at a time.
const MOST: usize = 8;

/// A buffer of this length with anything in it.
pub(super) fn take<T: Float>(len: usize) -> Vec<T> {
    let mut buffer = take_spare(len).unwrap_or_default();
    buffer.resize(len, T::ZERO);
    buffer
}

/// A spare buffer that is large enough, and not far too large.
fn take_spare<T: Float>(len: usize) -> Option<Vec<T>> {
    let mut spare = T::spare_buffers().lock().expect("no thread panics while it holds this");
    let fits = |buffer: &Vec<T>| buffer.capacity() >= len && buffer.capacity() / 2 <= len;
    let index = spare.iter().position(fits)?;
    Some(spare.swap_remove(index))
}

/// Hands a buffer back.
pub(super) fn give_back<T: Float>(buffer: Vec<T>) {
    if buffer.capacity() < SMALLEST {
        return;
    }
    let mut spare = T::spare_buffers().lock().expect("no thread panics while it holds this");
    if spare.len() == MOST {
        spare.remove(0);
    }
    spare.push(buffer);
}

/// Runs `work` with N pieces of `len` values each, with anything in them, that belong to this thread.
pub(super) fn with_scratch<T: Float, R, const N: usize>(
    len: usize,
    work: impl FnOnce([&mut [T]; N]) -> R,
) -> R {
    let mut scratch = T::scratch().take();
    if scratch.len() < N * len {
        scratch.resize(N * len, T::ZERO);
    }
    let mut pieces = scratch[..N * len].chunks_exact_mut(len);
    let result = work(std::array::from_fn(|_| pieces.next().expect("N pieces")));
    T::scratch().set(scratch);
    result
}

/// Frees the memory that the fused operations keep for their next use.
pub fn release_buffers() {
    f32::spare_buffers().lock().expect("no thread panics while it holds this").clear();
    f64::spare_buffers().lock().expect("no thread panics while it holds this").clear();
}
