//! LZF, the compression of PCD files: runs of plain bytes, and copies of what came before.
//!
//! ```text
//! 000nnnnn                      n + 1 plain bytes follow
//! lllddddd dddddddd             copy l + 2 bytes from d + 1 bytes back             l from 1 to 6
//! 111ddddd llllllll dddddddd    copy l + 9 bytes from d + 1 bytes back
//! ```

/// The longest run of plain bytes.
const LONGEST_RUN: usize = 32;
/// The farthest a copy looks back.
const FARTHEST: usize = 1 << 13;
/// The longest copy.
const LONGEST_COPY: usize = 264;
/// The bits of the table of places.
const TABLE_BITS: u32 = 14;

/// What `packed` stands for, or nothing if it does not stand for exactly `n_bytes` bytes.
pub(crate) fn decompress(packed: &[u8], n_bytes: usize) -> Option<Vec<u8>> {
    // Three bytes become at most 264: a false claim costs no memory.
    let mut bytes = Vec::with_capacity(n_bytes.min(packed.len().saturating_mul(LONGEST_COPY)));
    let mut rest = packed.iter();
    while let Some(&control) = rest.next() {
        let control = usize::from(control);
        if control < LONGEST_RUN {
            let (run, after) = rest.as_slice().split_at_checked(control + 1)?;
            bytes.extend(run);
            rest = after.iter();
        } else {
            let mut length = (control >> 5) + 2;
            if length == 9 {
                length += usize::from(*rest.next()?);
            }
            let back = ((control & 0x1f) << 8) + usize::from(*rest.next()?) + 1;
            let start = bytes.len().checked_sub(back)?;
            // The copy may reach into itself.
            for place in start..start + length {
                bytes.push(bytes[place]);
            }
        }
        if bytes.len() > n_bytes {
            return None;
        }
    }
    (bytes.len() == n_bytes).then_some(bytes)
}

/// Compresses bytes, greedily: each three bytes are looked up where they last occurred.
pub(crate) fn compress(bytes: &[u8]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(bytes.len() / 2);
    let mut last_place = vec![usize::MAX; 1 << TABLE_BITS];
    let (mut here, mut run_start) = (0, 0);
    while here + 2 < bytes.len() {
        let three = [bytes[here], bytes[here + 1], bytes[here + 2], 0];
        let slot = u32::from_le_bytes(three).wrapping_mul(0x9e37_79b1) >> (32 - TABLE_BITS);
        let before = std::mem::replace(&mut last_place[slot as usize], here);
        let is_match = before < here && here - before <= FARTHEST && bytes[before..before + 3] == bytes[here..here + 3];
        if !is_match {
            here += 1;
            continue;
        }
        let longest = (bytes.len() - here).min(LONGEST_COPY);
        let length = (3..longest).find(|&length| bytes[before + length] != bytes[here + length]).unwrap_or(longest);
        push_runs(&mut packed, &bytes[run_start..here]);
        let back = here - before - 1;
        if length < 9 {
            packed.push((((length - 2) << 5) | (back >> 8)) as u8);
        } else {
            packed.extend([(0xe0 | (back >> 8)) as u8, (length - 9) as u8]);
        }
        packed.push(back as u8);
        here += length;
        run_start = here;
    }
    push_runs(&mut packed, &bytes[run_start..]);
    packed
}

fn push_runs(packed: &mut Vec<u8>, bytes: &[u8]) {
    for run in bytes.chunks(LONGEST_RUN) {
        packed.push(run.len() as u8 - 1);
        packed.extend(run);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn repeated_bytes_become_few() {
        let bytes = vec![7; 10_000];
        let packed = compress(&bytes);
        assert!(packed.len() < 130, "{}", packed.len());
        assert_eq!(decompress(&packed, 10_000).unwrap(), bytes);
        assert_eq!(decompress(&packed, 9_999), None);
        assert_eq!(decompress(&packed[..packed.len() - 1], 10_000), None);
        // A plain byte, then a copy of three bytes from one back.
        assert_eq!(decompress(&[0, 9, 0x20, 0], 4), Some(vec![9; 4]));
        assert_eq!(decompress(&[0, 9, 0x20, 1], 4), None);
        assert_eq!(decompress(&[], usize::MAX), None);
    }

    proptest! {
        #[test]
        fn what_was_packed_comes_back(
            bytes in proptest::collection::vec(0u8..4, 0..3000),
            noise in proptest::collection::vec(any::<u8>(), 0..300),
        ) {
            for bytes in [bytes, noise] {
                prop_assert_eq!(decompress(&compress(&bytes), bytes.len()), Some(bytes));
            }
        }

        #[test]
        fn damaged_bytes_are_refused_or_something(bytes in proptest::collection::vec(any::<u8>(), 0..50)) {
            let _ = decompress(&bytes, 100);
        }
    }
}
