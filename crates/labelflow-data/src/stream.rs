//! One seed, many streams: every consumer of randomness draws from its own, so adding one does not shift the others.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use sha2::{Digest, Sha256};

/// The stream that `consumer` derives from `seed`.
pub fn stream(seed: u64, consumer: &str) -> ChaCha8Rng {
    let digest = Sha256::new().chain_update(seed.to_le_bytes()).chain_update(consumer).finalize();
    let mut key = [0; 32];
    key.copy_from_slice(&digest);
    ChaCha8Rng::from_seed(key)
}

#[cfg(test)]
mod tests {
    use rand::Rng;

    use super::*;

    #[test]
    fn streams_depend_on_seed_and_consumer_only() {
        let first = |seed, consumer| stream(seed, consumer).next_u64();
        assert_eq!(first(1, "split"), first(1, "split"));
        assert_ne!(first(1, "split"), first(2, "split"));
        assert_ne!(first(1, "split"), first(1, "votes"));
    }
}
