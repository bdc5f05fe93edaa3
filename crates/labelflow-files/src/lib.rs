//! What every crate that touches files needs once: none of it knows what the files hold.
//!
//! | item | for |
//! |---|---|
//! | [`write_atomically`], [`replace`], [`remove`] | files that are written whole or not at all |
//! | [`InputFile`], [`keep_copies`], [`is_standard`], [`identity`] | files that are read, among them pipes, and `-` |
//! | [`FolderLock`] | folders that one process works in at a time |
//! | [`Sha256`], [`sha256_hex`] | hashes |
//! | [`guarded`], [`is_guarded`] | decoders of other people, which may panic |
//! | [`visible`], [`is_unseen`] | text of other people, which a terminal might obey |

mod atomic_file;
mod folder_lock;
mod foreign_decoder;
mod input_file;
mod sha256;
mod visible_text;

pub use atomic_file::{AtomicWriter, remove, replace, sync_folder, write_atomically};
pub use folder_lock::FolderLock;
pub use foreign_decoder::{guarded, is_guarded};
pub use input_file::{InputFile, identity, is_standard, keep_copies};
pub use sha256::{Sha256, sha256_hex};
pub use visible_text::{is_unseen, visible};
