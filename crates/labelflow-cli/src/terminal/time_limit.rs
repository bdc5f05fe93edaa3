//! `--max-minutes`.

use std::time::Duration;

use anyhow::ensure;
use labelflow::training::TimeLimit;

/// Ends training after so many minutes from now.
pub(crate) fn after_minutes(minutes: f64) -> anyhow::Result<TimeLimit> {
    const MOST: f64 = 1e6;
    ensure!((0.0..=MOST).contains(&minutes), "--max-minutes: expected 0 to {MOST} minutes, found {minutes:?}");
    Ok(TimeLimit::after(Duration::from_secs_f64(60.0 * minutes)))
}
