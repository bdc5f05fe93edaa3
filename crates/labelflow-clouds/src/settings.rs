//! Structs of settings whose defaults, and the numbers that they may hold, stand beside their fields.

/// A struct of settings: public fields, each with its default. Files may leave out any of them, and name no others.
///
/// After `checked`, a field may also have what it is checked by: a function of `completers::settings_check`, all of which are in scope there,
/// or another one like them.
macro_rules! settings {
    (
        checked
        $(#[$struct_meta:meta])*
        pub struct $name:ident {
            $($(#[$meta:meta])* $field:ident: $type:ty = $default:expr $(=> $check:expr)?,)+
        }
    ) => {
        settings! {
            $(#[$struct_meta])*
            pub struct $name {
                $($(#[$meta])* $field: $type = $default,)+
            }
        }

        impl $name {
            /// An error where one of the settings alone makes no sense; `prefix` comes before its name.
            pub(crate) fn check_each(&self, prefix: &str) -> labelflow::Result<()> {
                #[allow(unused_imports, reason = "few settings need all of them")]
                use $crate::completers::settings_check::{
                    at_least, each, if_given, not_negative, positive, share, share_below_one,
                    some_widths, widths,
                };
                $($(
                    let setting = [prefix, stringify!($field)].concat();
                    $check(&setting, &self.$field)?;
                )?)+
                Ok(())
            }
        }
    };
    (
        $(#[$struct_meta:meta])*
        pub struct $name:ident {
            $($(#[$meta:meta])* $field:ident: $type:ty = $default:expr,)+
        }
    ) => {
        $(#[$struct_meta])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $($(#[$meta])* pub $field: $type,)+
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)+ }
            }
        }
    };
}
