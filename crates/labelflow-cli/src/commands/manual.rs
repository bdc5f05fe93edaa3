//! `labelflow completions SHELL` and `labelflow man --out DIR`

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, CommandFactory};
use clap_mangen::Man;

use crate::commands::Cli;
use crate::terminal::output;

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The folder to write into
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub(crate) fn print_completions(args: &CompletionsArgs) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "labelflow", &mut script);
    output::write_text(None, String::from_utf8(script)?.trim_end())
}

pub(crate) fn write_man_pages(args: &ManArgs) -> anyhow::Result<()> {
    let folder = &args.out;
    std::fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    write_pages(&command, folder)
}

/// The page of a command, and those of its subcommands.
fn write_pages(command: &clap::Command, folder: &Path) -> anyhow::Result<()> {
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        write_pages(inner, folder)?;
    }
    let man = Man::new(command.clone());
    let path = folder.join(man.get_filename());
    labelflow_data::write_atomically(&path, |writer| man.render(writer))
        .with_context(|| format!("writing man pages into {}", folder.display()))
}
