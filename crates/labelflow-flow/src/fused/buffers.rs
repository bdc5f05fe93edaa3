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

/// Runs `work` with N pieces of `len` values each, with anything in them, that belong to this thread. Each starts at a cache line:
/// vectors and tiles that cross a line take twice the time.
pub(super) fn with_scratch<T: Float, R, const N: usize>(len: usize, work: impl FnOnce([&mut [T]; N]) -> R) -> R {
    const LINE: usize = 64;
    let room = len.next_multiple_of(LINE / size_of::<T>());
    let mut scratch = T::scratch().take();
    let needed = N * room + LINE / size_of::<T>();
    if scratch.len() < needed {
        scratch.resize(needed, T::ZERO);
    }
    let start = scratch.as_ptr().align_offset(LINE);
    let mut pieces = scratch[start..][..N * room].chunks_exact_mut(room);
    let result = work(std::array::from_fn(|_| &mut pieces.next().expect("N pieces")[..len]));
    T::scratch().set(scratch);
    result
}

/// Frees the memory that the fused operations keep for their next use.
pub fn release_buffers() {
    f32::spare_buffers().lock().expect("no thread panics while it holds this").clear();
    f64::spare_buffers().lock().expect("no thread panics while it holds this").clear();
}
