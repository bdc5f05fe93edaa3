//! `labelflow completions SHELL`

use clap::CommandFactory;

use super::args::CompletionsArgs;
use crate::Outcome;
use crate::commands::Cli;

pub(crate) fn run(args: &CompletionsArgs) -> anyhow::Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "labelflow", &mut script);
    crate::terminal::output::print(String::from_utf8(script)?.trim_end())?;
    Ok(Outcome::Done)
}
