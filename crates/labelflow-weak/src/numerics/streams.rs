//! Numbers that look random: those that depend on one number alone, and one stream for each consumer of a seed, so that adding a consumer
//! does not shift the others.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use sha2::{Digest, Sha256};

/// The output function of the generator SplitMix64: neighbouring numbers become numbers that have nothing in common.
pub fn scramble(number: u64) -> u64 {
    let mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

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
    fn it_is_the_published_generator() {
        // The first two numbers that SplitMix64 gives from the seed 0.
        assert_eq!(scramble(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(scramble(0x9e37_79b9_7f4a_7c15), 0x6e78_9e6a_a1b9_65f4);
    }

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
