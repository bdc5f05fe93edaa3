//! SHA-256, written in hexadecimal.

use std::io::{self, Write};

use sha2::Digest;

/// A SHA-256 that is being computed: of what it is given, or of what is written into it.
///
/// ```
/// use labelflow_files::{Sha256, sha256_hex};
///
/// let mut hash = Sha256::default();
/// hash.update("ab");
/// hash.update(b"c");
/// assert_eq!(hash.hex(), sha256_hex("abc"));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Sha256(sha2::Sha256);

impl Sha256 {
    /// Adds bytes.
    pub fn update(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.update(bytes);
    }

    /// The hash in hexadecimal.
    pub fn hex(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl Write for Sha256 {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The SHA-256 of some bytes, in hexadecimal.
pub fn sha256_hex(bytes: impl AsRef<[u8]>) -> String {
    let mut hash = Sha256::default();
    hash.update(bytes);
    hash.hex()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_sha256sum_prints() {
        // printf abc | sha256sum
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256_hex("abc"), abc);
    }
}
