//! Panics of other people's code that are no bugs of ours.
//!
//! Decoders panic on damaged files, and the tensor library where a device has too little memory. Programs make errors of both, so they need
//! not be reported as panics. That is for the program to decide, whose panic hook a library leaves alone.

use std::any::Any;
use std::panic::PanicHookInfo;

/// What the tensor library says, in the text of a panic, when a device cannot give what was asked for.
const OUT_OF_MEMORY: &str = "out of device memory";

/// Whether a panic, by its payload, says that a device has too little free memory: an error of the user's machine.
pub fn is_out_of_device_memory(panic: &dyn Any) -> bool {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| panic.downcast_ref::<&str>().copied()).is_some_and(|text| text.contains(OUT_OF_MEMORY))
}

/// Whether a panic becomes an error, so that a program's panic hook can keep quiet about it:
///
/// ```
/// let usual = std::panic::take_hook();
/// std::panic::set_hook(Box::new(move |info| {
///     if !labelflow::training::becomes_an_error(info) {
///         usual(info);
///     }
/// }));
/// ```
pub fn becomes_an_error(panic: &PanicHookInfo<'_>) -> bool {
    labelflow_files::is_guarded() || is_out_of_device_memory(panic.payload())
}
