//! Progress of training: a bar on a terminal, a line now and then in a log.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use labelflow::training::{EpochEvent, Observer, StopReason};

use crate::terminal::{interrupt, output};

/// Work shorter than this shows no bar.
const QUIET: Duration = Duration::from_secs(2);
/// The time from line to line where there is no terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(30);

/// A bar over epochs, which also turns Ctrl-C into the end of training.
pub(crate) struct Progress {
    bar: ProgressBar,
    started: Instant,
    last_line: Instant,
    is_silent: bool,
}

impl Progress {
    pub(crate) fn new() -> Self {
        interrupt::listen();
        let style =
            ProgressStyle::with_template("{bar:30} {pos}/{len} epochs, {eta} left, {msg}").expect("a valid template");
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let started = Instant::now();
        Self { bar: bar.with_style(style), started, last_line: started, is_silent: false }
    }

    /// Shows nothing but warnings: one of several that go on at the same time.
    pub(crate) fn silent() -> Self {
        let mut progress = Self::new();
        progress.is_silent = true;
        progress
    }
}

impl Observer for Progress {
    fn observe(&mut self, event: EpochEvent<'_>) -> labelflow::Result<ControlFlow<StopReason>> {
        if interrupt::requested() {
            return Ok(ControlFlow::Break(StopReason::Interrupted));
        }
        if self.is_silent {
            return Ok(ControlFlow::Continue(()));
        }
        if self.bar.is_hidden() && self.started.elapsed() > QUIET {
            // indicatif itself draws nothing when standard error is not a terminal.
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        let (epoch, max_epochs) = (event.record.epoch + 1, event.max_epochs);
        let loss = format!("loss {:.3}", event.record.loss);
        if !std::io::stderr().is_terminal() && self.last_line.elapsed() > BETWEEN_LINES {
            self.last_line = Instant::now();
            let seconds = self.started.elapsed().as_secs();
            output::note(&format!("{epoch} of at most {max_epochs} epochs, {seconds} s, {loss}"));
        }
        self.bar.set_length(max_epochs as u64);
        self.bar.set_position(epoch as u64);
        self.bar.set_message(loss);
        Ok(ControlFlow::Continue(()))
    }

    fn warn(&mut self, warning: &str) {
        self.bar.suspend(|| output::warn_text("training", "training", warning));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A bar over independent runs.
pub(crate) fn over_runs(n_runs: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} runs, {elapsed}, {msg}").expect("a valid template");
    ProgressBar::new(n_runs as u64).with_style(style)
}

/// Why training ended, for people.
pub(crate) fn why_ended(stop: StopReason) -> &'static str {
    match stop {
        StopReason::Converged => "converged",
        StopReason::MaxEpochs => "epoch limit reached",
        StopReason::TimeLimit => "time limit reached",
        StopReason::Interrupted => "interrupted",
    }
}
