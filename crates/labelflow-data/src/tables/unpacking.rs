//! Packed files, unpacked as far as an honest file goes: gzip, npz and the pages of parquet.
//!
//! What unpacks to a thousand times its size is made to fill memory. Files of a few hundred megabytes may be of any kind: a column of
//! zeros packs that well too.

use std::io::{self, BufRead, Read};

use flate2::bufread::MultiGzDecoder;

/// What any file may unpack to, in bytes.
const ALWAYS_FINE: u64 = 256 << 20;
/// How much larger than the file it may be beyond that.
const LARGEST_RATIO: u64 = 200;
/// Text may have this share of both: what is read of it can take more room than the text.
const SHARE_OF_TEXT: u64 = 4;

/// What a file of so many bytes may unpack to, in bytes.
pub(crate) fn most_unpacked(n_bytes: u64) -> u64 {
    ALWAYS_FINE.max(n_bytes.saturating_mul(LARGEST_RATIO))
}

/// What is said of a file that unpacks to more.
pub(crate) fn too_much(most: u64) -> io::Error {
    let most = most >> 20;
    let reason = format!(
        "more than {most} MB after unpacking, too much for a file of its size; if that is meant, unpack it first or save it \
         without compression"
    );
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

/// Unpacks a gzip file of so many bytes, most likely of text, while it is read.
pub(crate) fn gunzip<R: BufRead>(packed: R, n_bytes: u64) -> Unpacking<MultiGzDecoder<R>> {
    Unpacking::new(MultiGzDecoder::new(packed), most_unpacked(n_bytes) / SHARE_OF_TEXT)
}

/// What a decoder makes of a file, as far as it is honest.
pub(crate) struct Unpacking<R> {
    decoder: R,
    most: u64,
    n_read: u64,
}

impl<R: Read> Unpacking<R> {
    /// At most so many bytes.
    pub(crate) fn new(decoder: R, most: u64) -> Self {
        Self { decoder, most, n_read: 0 }
    }
}

impl<R: Read> Read for Unpacking<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_read = self.decoder.read(buffer)?;
        self.n_read += n_read as u64;
        if self.n_read > self.most { Err(too_much(self.most)) } else { Ok(n_read) }
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
        let bomb = zeros(65 << 20);
        assert_eq!(most_unpacked(bomb.len() as u64) / SHARE_OF_TEXT, 64 << 20);
        let error = unpacked(&bomb).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert!(error.to_string().contains("more than 64 MB after unpacking"), "{error}");
        assert!(error.to_string().contains("unpack it first"), "{error}");
    }
}
