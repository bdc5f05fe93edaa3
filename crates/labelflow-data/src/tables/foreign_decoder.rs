//! Decoders of complicated formats are other people's code, and damaged files make some of them panic.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Once;

use crate::{Error, Result};

thread_local! {
    /// Whether this thread is inside [`guarded`].
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs a decoder; should it panic, the file is refused instead.
///
/// What the decoder was building is dropped with the panic, so no half-made value survives it. A program built to
/// abort on panics is not protected.
pub fn guarded<T>(path: &Path, decode: impl FnOnce() -> Result<T>) -> Result<T> {
    silence_guarded_panics();
    let was_guarded = IS_GUARDED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(decode));
    IS_GUARDED.set(was_guarded);
    result.unwrap_or_else(|_| Err(Error::content(path, "a whole file", "a damaged one")))
}

/// Keeps the report of a panic that becomes an error from users; all other panics are reported as before.
fn silence_guarded_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_GUARDED.get() {
                report(info);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error() {
        let error = guarded::<()>(Path::new("book.xls"), || panic!("overflow")).unwrap_err();
        assert_eq!(error.to_string(), "book.xls: expected a whole file, found a damaged one");
        assert!(!IS_GUARDED.get());
    }
}
