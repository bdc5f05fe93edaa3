#![no_main]
//! A checkpoint.

use labelflow::storage::Checkpoint;

labelflow_fuzz::fuzz_target!(|bytes: &[u8]| {
    let path = labelflow_fuzz::folder().join("checkpoint.safetensors");
    std::fs::write(&path, bytes).expect("a file can be written");
    let _ = Checkpoint::load(&path);
});
