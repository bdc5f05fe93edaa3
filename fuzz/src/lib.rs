//! What the fuzz targets share: the readers of the random tests, and a folder for their files.

use std::path::PathBuf;
use std::sync::OnceLock;

pub use labelflow_testing::{READERS, Reader};
pub use libfuzzer_sys::fuzz_target;

/// A folder in memory where there is one: a fuzzer writes a file thousands of times a second.
pub fn folder() -> &'static PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let memory = PathBuf::from("/dev/shm");
        let parent = if memory.is_dir() { memory } else { std::env::temp_dir() };
        let folder = parent.join(format!("labelflow-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder can be made");
        folder
    })
}

/// Hands bytes to the reader that the variable READER names. The fuzzer ends with any panic; those of foreign decoders become errors and
/// are none of them.
pub fn read(bytes: &[u8]) {
    static READER: OnceLock<&Reader> = OnceLock::new();
    let reader = READER.get_or_init(|| {
        let end = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !labelflow_files::is_guarded() {
                end(info);
            }
        }));
        Reader::named(&std::env::var("READER").expect("READER names a reader, as in READER=csv"))
    });
    reader.read(folder(), bytes);
}
