//! `labelflow man --out DIR`

use anyhow::Context;
use clap::CommandFactory;

use crate::Outcome;
use crate::args::{Cli, ManArgs};

pub(crate) fn run(args: &ManArgs) -> anyhow::Result<Outcome> {
    let folder = &args.out;
    std::fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    clap_mangen::generate_to(Cli::command(), folder)
        .with_context(|| format!("writing man pages into {}", folder.display()))?;
    Ok(Outcome::Done)
}
