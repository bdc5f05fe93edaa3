//! Random streams derived from one seed.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use sha2::{Digest, Sha256};

/// The random numbers that `purpose` draws for the `index`-th time.
///
/// Every consumer has a stream of its own, so that a new consumer shifts nobody else's numbers, and an interrupted run can go on at
/// any index.
pub fn stream(seed: u64, purpose: &str, index: u64) -> ChaCha8Rng {
    let mut hash = Sha256::new();
    hash.update(seed.to_le_bytes());
    hash.update(index.to_le_bytes());
    hash.update(purpose.as_bytes());
    ChaCha8Rng::from_seed(hash.finalize().into())
}

#[cfg(test)]
mod tests {
    use rand::Rng;

    use super::*;

    #[test]
    fn streams_differ_by_seed_purpose_and_index() {
        let first = |seed, purpose, index| stream(seed, purpose, index).next_u64();
        assert_eq!(first(1, "noise", 2), first(1, "noise", 2));
        assert_ne!(first(1, "noise", 2), first(2, "noise", 2));
        assert_ne!(first(1, "noise", 2), first(1, "split", 2));
        assert_ne!(first(1, "noise", 2), first(1, "noise", 3));
    }
}
