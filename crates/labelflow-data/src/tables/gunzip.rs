//! Gzip files, unpacked as far as an honest file goes.
//!
//! What unpacks to a thousand times its size is made to fill memory. Files of a few hundred megabytes may be of any kind: a column of
//! zeros packs that well too.

use std::io::{self, BufRead, Read};

use flate2::bufread::MultiGzDecoder;

/// What any file may unpack to, in bytes.
const ALWAYS_FINE: u64 = 256 << 20;
/// How much larger than the file it may be beyond that.
const LARGEST_RATIO: u64 = 200;

/// What a file of so many bytes may unpack to, in bytes.
pub(crate) fn most_unpacked(n_bytes: u64) -> u64 {
    ALWAYS_FINE.max(n_bytes.saturating_mul(LARGEST_RATIO))
}

/// Unpacks a gzip file of so many bytes while it is read.
pub(crate) fn gunzip<R: BufRead>(packed: R, n_bytes: u64) -> Gunzip<R> {
    Gunzip { decoder: MultiGzDecoder::new(packed), left: most_unpacked(n_bytes) }
}

/// A gzip file that is being unpacked.
pub(crate) struct Gunzip<R> {
    decoder: MultiGzDecoder<R>,
    /// What may still come.
    left: u64,
}

impl<R: BufRead> Read for Gunzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_read = self.decoder.read(buffer)?;
        match self.left.checked_sub(n_read as u64) {
            Some(left) => self.left = left,
            None => {
                let reason = format!(
                    "more than {LARGEST_RATIO} times its size after unpacking; if that is meant, unpack it first"
                );
                return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
            }
        }
        Ok(n_read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn zeros(n_bytes: u64) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        let block = vec![0; 1 << 20];
        for _ in 0..n_bytes >> 20 {
            encoder.write_all(&block).unwrap();
        }
        encoder.finish().unwrap()
    }

    fn unpacked(packed: &[u8]) -> io::Result<u64> {
        io::copy(&mut gunzip(packed, packed.len() as u64), &mut io::sink())
    }

    #[test]
    fn files_of_some_size_may_pack_well() {
        assert_eq!(unpacked(&zeros(64 << 20)).unwrap(), 64 << 20);
    }

    #[test]
    fn a_bomb_is_refused() {
        let bomb = zeros(ALWAYS_FINE + (1 << 20));
        assert!((bomb.len() as u64) * LARGEST_RATIO < ALWAYS_FINE, "{}", bomb.len());
        let error = unpacked(&bomb).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert!(error.to_string().contains("unpack it first"), "{error}");
    }
}
