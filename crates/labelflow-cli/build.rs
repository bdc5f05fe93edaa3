//! Keeps the versions of all dependencies at hand: `fit` records their hash in the models it writes.

use std::path::Path;

fn main() {
    let out = std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    // In the workspace, or in a package, which has its own.
    let places = [here.join("../../Cargo.lock"), here.join("Cargo.lock")];
    let lock = match places.iter().find(|path| path.exists()) {
        Some(path) => {
            println!("cargo::rerun-if-changed={}", path.display());
            std::fs::read(path).expect("Cargo.lock can be read")
        }
        None => Vec::new(),
    };
    std::fs::write(Path::new(&out).join("Cargo.lock"), lock).expect("OUT_DIR can be written");
    println!("cargo::rerun-if-changed=build.rs");
}
