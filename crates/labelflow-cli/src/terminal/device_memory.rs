//! A device without memory left is an error of the user's machine, not of the program.

use std::panic::{self, AssertUnwindSafe};

use anyhow::anyhow;
use labelflow::training::is_out_of_device_memory;

/// Runs `work`; when it panics because the device has no memory left, that is an error.
pub(crate) fn guarded<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    // Nothing of what `work` held is used after it has panicked.
    panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| match is_out_of_device_memory(&*payload) {
        true => Err(anyhow!(
            "the device has too little free memory; end other programs that use it, take smaller batches (--batch-size; \
             `inversion.n_at_once` for searches of shape-inversion), or use --device cpu"
        )),
        false => panic::resume_unwind(payload),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_memory_is_an_error_and_other_panics_stay_panics() {
        let error = guarded::<()>(|| panic!("reading: out of device memory allocating {} bytes", 9));
        assert!(error.unwrap_err().to_string().contains("too little free memory"));
        assert_eq!(guarded(|| Ok(3)).unwrap(), 3);
        let other = panic::catch_unwind(|| guarded::<()>(|| panic!("an index out of bounds")));
        assert!(other.is_err());
    }
}
