//! Structs of settings whose defaults stand beside their fields.

/// A struct of settings: public fields, each with its default. Files may leave out any of them, and name no others.
macro_rules! settings {
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
