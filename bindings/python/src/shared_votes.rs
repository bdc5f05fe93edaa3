//! Votes in the memory of a numpy array.

use numpy::{PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyWeakrefReference;

/// The bytes of a C-contiguous array of int8, which is kept alive as long as they are used.
///
/// As anywhere in numpy, nobody may write into the array meanwhile. A vote that becomes invalid that way ends a fit with
/// an error; it does not reach memory beyond the array, since the length is fixed here and every index is checked.
pub(crate) struct SharedVotes {
    _array: Py<PyArray2<i8>>,
    /// numpy resizes no array to which there is a weak reference. A counted one alone would not keep it from that.
    _not_resized: Py<PyWeakrefReference>,
    start: *const u8,
    len: usize,
}

impl SharedVotes {
    /// Fails when the array's rows do not lie one after another.
    pub(crate) fn new(array: &Bound<'_, PyArray2<i8>>) -> PyResult<Self> {
        // The memory of an array whose columns lie one after another is a slice too, but of other votes.
        if !array.is_c_contiguous() {
            return Err(PyValueError::new_err("signals: expected rows that lie one after another, found gaps"));
        }
        let votes = array.try_readonly()?;
        let bytes: &[u8] = bytemuck::cast_slice(votes.as_slice()?);
        let not_resized = PyWeakrefReference::new(array.as_any())?.unbind();
        let (start, len) = (bytes.as_ptr(), array.len());
        Ok(Self { _array: array.clone().unbind(), _not_resized: not_resized, start, len })
    }
}

// SAFETY: the array and its weak reference are never touched as Python objects except to drop them, which PyO3 does with
// the GIL held; its memory is plain bytes that are only read.
unsafe impl Send for SharedVotes {}
// SAFETY: as above.
unsafe impl Sync for SharedVotes {}

impl AsRef<[u8]> for SharedVotes {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: `start` and `len` are those of the memory of `_array`. It is alive because we hold a reference, and
        // numpy does not resize it because we hold a weak one.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}
