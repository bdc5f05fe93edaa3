//! `labelflow man --out DIR`

use std::path::Path;

use anyhow::Context;
use clap::CommandFactory;
use clap_mangen::Man;

use super::args::ManArgs;
use crate::Outcome;
use crate::commands::Cli;

pub(crate) fn run(args: &ManArgs) -> anyhow::Result<Outcome> {
    let folder = &args.out;
    std::fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    write_pages(&command, folder)?;
    Ok(Outcome::Done)
}

/// The page of a command, and those of what it offers.
fn write_pages(command: &clap::Command, folder: &Path) -> anyhow::Result<()> {
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        write_pages(inner, folder)?;
    }
    let man = Man::new(command.clone());
    let path = folder.join(man.get_filename());
    labelflow_data::write_atomically(&path, |writer| man.render(writer))
        .with_context(|| format!("writing man pages into {}", folder.display()))?;
    Ok(())
}
