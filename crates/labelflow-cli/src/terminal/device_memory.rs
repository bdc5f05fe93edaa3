//! A device without memory left is an error of the user's machine, not of the program.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};

use anyhow::anyhow;

/// What the tensor library says, in the text of a panic, when a device cannot give what was asked for.
const OUT_OF_MEMORY: &str = "out of device memory";

/// Runs `work`; when it panics because the device has no memory left, that is an error.
pub(crate) fn guarded<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    // Nothing of what `work` held is used after it has panicked.
    panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| match text(&*payload) {
        Some(text) if text.contains(OUT_OF_MEMORY) => Err(anyhow!(
            "the device has too little free memory; end other programs that use it, take smaller batches (--batch-size; \
             `inversion.n_at_once` for searches of shape-inversion), or use --device cpu"
        )),
        _ => panic::resume_unwind(payload),
    })
}

/// Keeps quiet about panics that [`guarded`] turns into errors.
pub(crate) fn silence() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !text(info.payload()).is_some_and(|text| text.contains(OUT_OF_MEMORY)) {
            usual(info);
        }
    }));
}

fn text(payload: &dyn Any) -> Option<&str> {
    let owned = payload.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| payload.downcast_ref::<&str>().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_memory_is_an_error_and_other_panics_stay_panics() {
        silence();
        let error = guarded::<()>(|| panic!("reading: out of device memory allocating {} bytes", 9));
        assert!(error.unwrap_err().to_string().contains("too little free memory"));
        assert_eq!(guarded(|| Ok(3)).unwrap(), 3);
        let other = panic::catch_unwind(|| guarded::<()>(|| panic!("an index out of bounds")));
        assert!(other.is_err());
    }
}
