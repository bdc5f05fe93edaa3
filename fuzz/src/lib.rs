//! What the fuzz targets share: the readers of the random tests, each as a target of its own.

use std::path::PathBuf;
use std::sync::{Once, OnceLock};

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

/// Hands bytes to a reader. The fuzzer ends with any panic; those of foreign decoders become errors and are none of them.
pub fn read(name: &str, bytes: &[u8]) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let end = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !labelflow_files::is_guarded() {
                end(info);
            }
        }));
    });
    Reader::named(name).read(folder(), bytes);
}

/// A target that hands its bytes to a reader.
#[macro_export]
macro_rules! reader {
    ($name:literal) => {
        $crate::fuzz_target!(|bytes: &[u8]| {
            $crate::read($name, bytes);
        });
    };
}
