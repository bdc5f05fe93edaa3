//! Decoders of complicated formats are other people's code, and damaged files make some of them panic.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// Whether this thread is inside [`guarded`].
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs a decoder: nothing comes of it if it panics.
///
/// What the decoder was building is dropped with the panic, so no half-made value survives it. A program built to
/// abort on panics is not protected.
///
/// The panic hook belongs to the program and is left alone: it runs as always, and can ask [`is_guarded`].
pub fn guarded<T>(decode: impl FnOnce() -> T) -> Option<T> {
    let was_guarded = IS_GUARDED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(decode));
    IS_GUARDED.set(was_guarded);
    result.ok()
}

/// Whether this thread runs what is [`guarded`], so that a panic becomes an error, about which a panic hook can keep quiet.
pub fn is_guarded() -> bool {
    IS_GUARDED.get()
}

#[cfg(test)]
mod tests {
    use std::panic;
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn nothing_comes_of_a_panic() {
        assert_eq!(guarded(|| 1), Some(1));
        assert_eq!(guarded::<()>(|| panic!("overflow")), None);
        assert!(!is_guarded());
    }

    /// One test changes the hook of this process.
    #[test]
    fn the_hook_of_the_program_stays_and_can_tell_such_panics_from_others() {
        static SEEN: Mutex<Vec<(String, bool)>> = Mutex::new(Vec::new());
        let usual = panic::take_hook();
        panic::set_hook(Box::new(|info| {
            let text = info.payload_as_str().unwrap_or_default().to_owned();
            SEEN.lock().unwrap().push((text, is_guarded()));
        }));
        guarded::<()>(|| panic!("a damaged page"));
        let _ = catch_unwind(|| panic!("a bug"));
        panic::set_hook(usual);
        let seen = SEEN.lock().unwrap();
        assert!(seen.contains(&("a damaged page".to_owned(), true)), "{seen:?}");
        assert!(seen.contains(&("a bug".to_owned(), false)), "{seen:?}");
    }
}
