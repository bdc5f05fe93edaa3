//! The IDX format of MNIST and its kin, gzipped: big-endian dimensions, then one byte a pixel or label.

use std::io::{BufReader, Read};
use std::path::Path;

use crate::tables::npy_file::{read_body, read_exact};
use crate::tables::open_input;
use crate::tables::unpacking::gunzip;
use crate::{Error, Result};

/// What a file should hold.
const WHOLE: &str = "a whole gzipped IDX file";

/// Bytes with a shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdxArray {
    /// The length of each dimension.
    pub shape: Vec<usize>,
    /// The values, the last dimension fastest.
    pub bytes: Vec<u8>,
}

/// Reads a gzipped IDX file of unsigned bytes. The header's claim is checked against what is really there.
pub fn read_idx(path: &Path) -> Result<IdxArray> {
    let file = open_input(path)?;
    let n_bytes = file.n_bytes();
    parse(path, gunzip(BufReader::new(file), n_bytes))
        .map_err(|error| error.with_hint("the file is damaged: fetch it again"))
}

fn parse(path: &Path, mut reader: impl Read) -> Result<IdxArray> {
    let mut magic = [0; 4];
    read_exact(path, WHOLE, &mut reader, &mut magic)?;
    let [0, 0, 8, n_dimensions @ 1..=4] = magic else {
        return Err(Error::content(path, "an IDX file of unsigned bytes", format!("{magic:?}")));
    };
    let mut lengths = vec![[0; 4]; usize::from(n_dimensions)];
    read_exact(path, WHOLE, &mut reader, lengths.as_flattened_mut())?;
    let shape: Vec<usize> = lengths.into_iter().map(|length| u32::from_be_bytes(length) as usize).collect();
    let bytes = read_body(path, WHOLE, &shape, 1, reader)?;
    Ok(IdxArray { shape, bytes })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    use super::*;

    fn gzipped(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn read(bytes: &[u8]) -> Result<IdxArray> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("images.gz");
        std::fs::write(&path, bytes).unwrap();
        read_idx(&path)
    }

    const TWO_BY_TWO: [u8; 16] = [0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 2, 10, 20, 30, 40];

    #[test]
    fn a_good_file_is_read() {
        let array = read(&gzipped(&TWO_BY_TWO)).unwrap();
        assert_eq!((array.shape, array.bytes), (vec![2, 2], vec![10, 20, 30, 40]));
    }

    #[test]
    fn claims_are_checked() {
        let mut short = TWO_BY_TWO;
        short[4..8].fill(0xff);
        for bytes in [&short[..], &TWO_BY_TWO[..15], &[&TWO_BY_TWO[..], &[1]].concat(), &[9; 20]] {
            let error = read(&gzipped(bytes)).unwrap_err();
            assert!(error.to_string().contains("expected"), "{error}");
        }
        let whole = gzipped(&TWO_BY_TWO);
        for end in 0..whole.len() {
            assert!(read(&whole[..end]).is_err(), "cut after {end} bytes");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = read(&bytes);
            let _ = read(&gzipped(&bytes));
            let _ = read(&gzipped(&[&[0, 0, 8][..], &bytes].concat()));
        }
    }
}
