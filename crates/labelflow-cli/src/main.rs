//! The `labelflow` command line: weak signals in, labels with probabilities out.

mod chart;
mod commands;
mod experiments;
mod flags;
mod inputs;
mod report;
mod terminal;

use std::panic;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};
use labelflow::training::becomes_an_error;

use crate::commands::Cli;
use crate::terminal::places::Places;
use crate::terminal::{device_memory, output, threads};

/// Tensors of megabytes come and go thousands of times a second. The system's allocator returns each of them to the kernel and asks for it
/// again: before this line, a quarter of the demo's time was spent in the kernel.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How a command ended, when it did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All went well.
    Done,
    /// It finished, but a declared expectation was missed.
    Missed,
}

impl From<()> for Outcome {
    fn from((): ()) -> Self {
        Self::Done
    }
}

/// Exit codes: 0 done, 1 an expectation was missed, 2 error (also clap's own code for wrong arguments).
fn main() -> ExitCode {
    let mut command = Cli::command();
    let matches = command.get_matches_mut();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.format(&mut command).exit());
    output::set_strict(cli.strict);
    report_panics();
    // A command reads a pipe once, whatever it opens it for.
    labelflow_files::keep_copies();
    let run = || {
        Places::of(&command, &matches)?.check()?;
        threads::start()?;
        let outcome = cli.command.run()?;
        // What was warned of late, as while training, is an error too.
        output::refuse_warnings()?;
        Ok(outcome)
    };
    match device_memory::guarded(run) {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Missed) => ExitCode::from(1),
        // The reader of a pipe has seen enough: not an error.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::report_error(&error);
            ExitCode::from(2)
        }
    }
}

/// Panics are reported as usual, unless they become errors.
fn report_panics() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !becomes_an_error(info) {
            usual(info);
        }
    }));
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    })
}
