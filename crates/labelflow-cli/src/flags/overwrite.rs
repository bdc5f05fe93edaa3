//! Whether a command may write among the files of others.

use clap::Args;

/// Of every command that fills a folder.
#[derive(Debug, Clone, Args)]
pub(crate) struct OverwriteArgs {
    /// Write into the folder even if it holds files of others; those of the same names are replaced
    #[arg(long)]
    pub(crate) overwrite: bool,
}
