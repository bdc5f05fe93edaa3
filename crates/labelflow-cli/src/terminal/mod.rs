//! What commands share: places to write, output, progress, interruption.

pub(crate) mod claimed_folder;
pub(crate) mod device_memory;
pub(crate) mod interrupt;
pub(crate) mod output;
pub(crate) mod places;
pub(crate) mod progress;
pub(crate) mod threads;
pub(crate) mod time_limit;
