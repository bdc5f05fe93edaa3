//! SHA-256 of a file or of what a gzip file holds.

use std::io;

use flate2::read::MultiGzDecoder;
use labelflow_files::Sha256;
use serde::Serialize;

/// Which bytes of a file are hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Checksum {
    /// The file as it is.
    File,
    /// What the gzip file holds. Copies of the same content differ in gzip headers, which may carry a file name.
    Unpacked,
}

/// The SHA-256 in hexadecimal. A gzip file that cannot be unpacked has the hash of what could be.
pub(crate) fn sha256_hex(checksum: Checksum, bytes: &[u8]) -> String {
    let mut hasher = Sha256::default();
    match checksum {
        Checksum::File => hasher.update(bytes),
        Checksum::Unpacked => {
            // A damaged stream ends early, and its hash cannot be the right one: that is the answer needed.
            let _ = io::copy(&mut MultiGzDecoder::new(bytes), &mut hasher);
        }
    }
    hasher.hex()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, GzBuilder};

    use super::*;

    #[test]
    fn the_hash_of_the_content_does_not_depend_on_the_gzip_header() {
        // printf abc | sha256sum
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256_hex(Checksum::File, b"abc"), abc);
        for name in ["short", "a much longer name"] {
            let mut encoder = GzBuilder::new().filename(name).write(vec![], Compression::fast());
            encoder.write_all(b"abc").unwrap();
            let bytes = encoder.finish().unwrap();
            assert_eq!(sha256_hex(Checksum::Unpacked, &bytes), abc);
            assert_ne!(sha256_hex(Checksum::File, &bytes), abc);
            assert_ne!(sha256_hex(Checksum::Unpacked, &bytes[..bytes.len() / 2]), abc);
        }
    }
}
