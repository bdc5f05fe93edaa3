//! Decoders of complicated formats are other people's code, and damaged files make some of them panic.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    /// Whether this thread is inside [`guarded`].
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs a decoder: nothing comes of it if it panics.
///
/// What the decoder was building is dropped with the panic, so no half-made value survives it. A program built to
/// abort on panics is not protected.
pub fn guarded<T>(decode: impl FnOnce() -> T) -> Option<T> {
    silence_guarded_panics();
    let was_guarded = IS_GUARDED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(decode));
    IS_GUARDED.set(was_guarded);
    result.ok()
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
    fn nothing_comes_of_a_panic() {
        assert_eq!(guarded(|| 1), Some(1));
        assert_eq!(guarded::<()>(|| panic!("overflow")), None);
        assert!(!IS_GUARDED.get());
    }
}
