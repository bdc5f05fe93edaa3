//! The `labelflow` command line: weak signals in, labels that know how sure they are out.

mod args;
mod bounds_setting;
mod chart;
mod claimed_folder;
mod cloud_files;
mod commands;
mod completer;
mod completion_sheets;
mod config_table;
mod data_folder;
mod device_memory;
mod evaluation_file;
mod interrupt;
mod labeler_report;
mod memory_size;
mod metric;
#[cfg(test)]
#[path = "../../labelflow-data/tests/readers/mutation.rs"]
#[allow(unreachable_pub)]
mod mutation;
mod output;
mod pattern_input;
mod progress;
mod report;
mod run_file;
mod signals_input;
mod summary;
mod systems;
mod time_limit;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};

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

/// Exit codes: 0 done, 1 an expectation was missed, 2 error (also clap's own code for wrong arguments).
fn main() -> ExitCode {
    let cli = Cli::parse();
    device_memory::silence();
    match device_memory::guarded(|| run(cli.command)) {
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

fn run(command: Command) -> anyhow::Result<Outcome> {
    match command {
        Command::Demo(args) => commands::demo::run(&args),
        Command::Fit(args) => commands::fit::run(&args),
        Command::Predict(args) => commands::predict::run(&args),
        Command::Eval(args) => commands::eval::run(&args),
        Command::Calibrate(args) => commands::calibrate::run(&args),
        Command::Analyze(args) => commands::analyze::run(&args),
        Command::Label(args) => commands::label::run(&args),
        Command::Votes(args) => commands::votes::run(&args),
        Command::Run(args) => commands::run::run(&args),
        Command::Report(args) => commands::report::run(&args),
        Command::Complete(args) => commands::complete::run(&args),
        Command::Metrics(args) => commands::metrics::run(&args),
        Command::Data(args) => commands::data::run(&args),
        Command::Completions(args) => commands::completions::run(&args),
        Command::Man(args) => commands::man::run(&args),
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    })
}
