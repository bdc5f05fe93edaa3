//! `-` for a file: standard input and standard output, each for one flag of a command.

use std::any::TypeId;
use std::path::{Path, PathBuf};

use anyhow::ensure;
use clap::{Arg, ArgMatches, Command};
use labelflow_files::is_standard;

use crate::terminal::output;
use crate::terminal::places::WRITTEN;

/// The flag of a file that is written instead of what is printed, see [`output::show`].
const JSON: &str = "json";

/// Refuses `-` for a folder, for two inputs and for two outputs. Standard output is left to a table that is written there.
pub(crate) fn check(command: &Command, matches: &ArgMatches) -> anyhow::Result<()> {
    if let Some((name, inner)) = matches.subcommand() {
        return check(command.find_subcommand(name).expect("a command that was parsed"), inner);
    }
    let given = |arg: &&Arg| {
        let values = matches.get_raw(arg.get_id().as_str()).into_iter().flatten();
        values.filter(|value| is_standard(Path::new(value))).count()
    };
    let is_path = |arg: &&Arg| arg.get_value_parser().type_id() == TypeId::of::<PathBuf>();
    let mut flags = [Vec::new(), Vec::new()];
    for arg in command.get_arguments().filter(is_path) {
        let n_given = given(&arg);
        let id = arg.get_id().as_str();
        let is_folder = arg.get_value_names().is_some_and(|names| names[0].ends_with("DIR"));
        ensure!(n_given == 0 || !is_folder, "{}: expected a folder, found '-'", name_of(arg));
        flags[usize::from(WRITTEN.contains(&id))].extend(std::iter::repeat_n(arg, n_given));
    }
    for (flags, what) in flags.iter().zip(["input", "output"]) {
        let names: Vec<String> = flags.iter().map(|arg| name_of(arg)).collect();
        ensure!(
            names.len() < 2,
            "{}: expected '-', standard {what}, for one of them, found it for each: name a file or a pipe such as <(command)",
            names.join(", ")
        );
    }
    if flags[1].iter().any(|arg| arg.get_id() != JSON) {
        output::keep_for_table();
    }
    Ok(())
}

fn name_of(arg: &Arg) -> String {
    match (arg.get_long(), arg.get_value_names()) {
        (Some(long), _) => format!("--{long}"),
        (None, Some([name, ..])) => name.to_string(),
        (None, _) => arg.get_id().to_string(),
    }
}
