//! `labelflow completions SHELL`

use clap::CommandFactory;

use crate::Outcome;
use crate::args::{Cli, CompletionsArgs};

pub(crate) fn run(args: &CompletionsArgs) -> anyhow::Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "labelflow", &mut script);
    crate::output::print(String::from_utf8(script)?.trim_end())?;
    Ok(Outcome::Done)
}
