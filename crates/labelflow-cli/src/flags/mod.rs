//! Flags that several commands share.

mod key;
mod labelled_rows;
mod overwrite;
mod signals;

use clap::builder::RangedU64ValueParser;

pub(crate) use key::KeyArgs;
pub(crate) use labelled_rows::LabelledRowsArgs;
pub(crate) use overwrite::OverwriteArgs;
pub(crate) use signals::{AbstainName, SignalsArgs, WrenchPart};

/// A count of at least one.
pub(crate) fn count() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..)
}

/// The values of a flag: those of a type of the library, with their help.
macro_rules! flag_values {
    ($(#[$doc:meta])* $name:ident for $library:ty { $($(#[$help:meta])* $value:ident,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
        pub(crate) enum $name {
            $($(#[$help])* $value,)+
        }

        impl From<$name> for $library {
            fn from(name: $name) -> Self {
                match name {
                    $($name::$value => Self::$value,)+
                }
            }
        }
    };
}
pub(crate) use flag_values;

flag_values! {
    /// Where to compute.
    DeviceName for labelflow::training::DeviceKind { Cpu, Cuda, Wgpu, }
}
