//! Progress of training on a terminal; nothing in a pipe.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use labelflow::{EpochEvent, Observer};

use crate::interrupt;

/// Work shorter than this shows no bar.
const QUIET: Duration = Duration::from_secs(2);

/// A bar over epochs, which also turns Ctrl-C into the end of training.
pub(crate) struct Progress {
    bar: ProgressBar,
    started: Instant,
}

impl Progress {
    pub(crate) fn new() -> Self {
        interrupt::listen();
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} epochs, {eta} left, {msg}")
            .expect("a valid template");
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        Self { bar: bar.with_style(style), started: Instant::now() }
    }
}

impl Observer for Progress {
    fn observe(&mut self, event: EpochEvent<'_>) -> labelflow::Result<ControlFlow<()>> {
        if interrupt::requested() {
            return Ok(ControlFlow::Break(()));
        }
        if self.bar.is_hidden() && self.started.elapsed() > QUIET {
            // indicatif itself draws nothing when standard error is not a terminal.
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_length(event.max_epochs as u64);
        self.bar.set_position(event.record.epoch as u64 + 1);
        self.bar.set_message(format!("loss {:.3}", event.record.loss));
        Ok(ControlFlow::Continue(()))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A bar over independent runs.
pub(crate) fn over_runs(n_runs: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} runs, {elapsed}, {msg}")
        .expect("a valid template");
    ProgressBar::new(n_runs as u64).with_style(style)
}
