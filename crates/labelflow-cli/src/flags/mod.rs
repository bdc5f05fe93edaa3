//! Flags that several commands share.

mod device;
mod signals;

pub(crate) use device::DeviceName;
pub(crate) use signals::{AbstainName, SignalsArgs, WrenchPart};
