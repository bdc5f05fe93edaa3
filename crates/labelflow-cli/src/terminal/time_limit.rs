//! `--max-minutes`.

use std::time::Duration;

use anyhow::Context as _;
use labelflow::training::TimeLimit;

/// Ends training after so many minutes from now.
pub(crate) fn after_minutes(minutes: f64) -> anyhow::Result<TimeLimit> {
    let time = Duration::try_from_secs_f64(60.0 * minutes);
    Ok(TimeLimit::after(time.with_context(|| format!("--max-minutes {minutes}"))?))
}
