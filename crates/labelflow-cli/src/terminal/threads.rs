//! How many threads compute.

use anyhow::{Context, bail};

const VARIABLE: &str = "RAYON_NUM_THREADS";
/// More do not make anything faster, and few systems start so many.
pub(crate) const MOST_THREADS: usize = 512;

/// Starts as many threads as the environment asks for; without a word, one per core when they are needed.
pub(crate) fn start() -> anyhow::Result<()> {
    let Some(value) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) else { return Ok(()) };
    let value = value.to_string_lossy();
    let Some(n_threads) = value.parse().ok().filter(|n_threads| *n_threads <= MOST_THREADS) else {
        bail!(
            "{VARIABLE}: expected a number of threads from 1 to {MOST_THREADS}, or 0 for one per core, found '{value}'"
        );
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads);
    pool.build_global().with_context(|| format!("{VARIABLE}: starting {n_threads} threads"))
}
