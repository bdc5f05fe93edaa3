//! One seed, many streams: every consumer of randomness draws from its own, so that adding one does not shift the others.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use sha2::{Digest, Sha256};

/// The stream that `consumer` derives from `seed`.
pub fn stream(seed: u64, consumer: &str) -> ChaCha8Rng {
    from_parts(&[&seed.to_le_bytes(), consumer.as_bytes()])
}

/// The stream that `purpose` derives from `seed` for the `index`-th time, so that an interrupted run can go on at any index.
///
/// No index gives the numbers of [`stream`].
pub fn indexed_stream(seed: u64, purpose: &str, index: u64) -> ChaCha8Rng {
    from_parts(&[&seed.to_le_bytes(), &index.to_le_bytes(), purpose.as_bytes()])
}

fn from_parts(parts: &[&[u8]]) -> ChaCha8Rng {
    let hash = parts.iter().fold(Sha256::new(), |hash, part| hash.chain_update(part));
    ChaCha8Rng::from_seed(hash.finalize().into())
}

#[cfg(test)]
mod tests {
    use rand::Rng;

    use super::*;

    #[test]
    fn streams_depend_on_seed_consumer_and_index_only() {
        let first = |seed, consumer| stream(seed, consumer).next_u64();
        assert_eq!(first(1, "split"), first(1, "split"));
        assert_ne!(first(1, "split"), first(2, "split"));
        assert_ne!(first(1, "split"), first(1, "votes"));
        let first = |seed, purpose, index| indexed_stream(seed, purpose, index).next_u64();
        assert_eq!(first(1, "noise", 2), first(1, "noise", 2));
        assert_ne!(first(1, "noise", 2), first(2, "noise", 2));
        assert_ne!(first(1, "noise", 2), first(1, "split", 2));
        assert_ne!(first(1, "noise", 2), first(1, "noise", 3));
    }

    /// Saved runs go on with these numbers.
    #[test]
    fn streams_are_the_same_in_every_version() {
        assert_eq!(stream(7, "split").next_u64(), 0x52f1_f1db_972b_e44f);
        assert_eq!(indexed_stream(7, "noise", 3).next_u64(), 0x1834_db88_d076_97be);
    }
}
