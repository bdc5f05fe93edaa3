//! One random stream for each shape and purpose.

use labelflow_weak::numerics::scramble;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// The stream that depends on `seed`, the name of a shape and what is drawn for it, and on nothing else.
///
/// ```
/// use labelflow_clouds::geometry::shape_stream;
/// use rand::Rng;
///
/// let first = |id, role| shape_stream(7, id, role).next_u64();
/// assert_eq!(first("chair-1", "cut"), first("chair-1", "cut"));
/// assert_ne!(first("chair-1", "cut"), first("chair-2", "cut"));
/// assert_ne!(first("chair-1", "cut"), first("chair-1", "complete"));
/// ```
pub fn shape_stream(seed: u64, shape_id: &str, role: &str) -> ChaCha8Rng {
    // No text in UTF-8 holds the byte 0xff, so that "a" + "bc" and "ab" + "c" differ.
    let bytes = role.bytes().chain([0xff]).chain(shape_id.bytes());
    let mut state = bytes.fold(scramble(seed), |state, byte| scramble(state ^ u64::from(byte)));
    let mut key = [0; 32];
    for word in key.chunks_exact_mut(8) {
        state = scramble(state);
        word.copy_from_slice(&state.to_le_bytes());
    }
    ChaCha8Rng::from_seed(key)
}

#[cfg(test)]
mod tests {
    use rand::Rng;

    use super::*;

    #[test]
    fn names_are_kept_apart() {
        let first = |seed, id, role| shape_stream(seed, id, role).next_u64();
        assert_ne!(first(0, "bc", "a"), first(0, "c", "ab"));
        assert_ne!(first(0, "a", "cut"), first(1, "a", "cut"));
        assert_ne!(first(0, "", ""), first(0, "\0", ""));
    }
}
