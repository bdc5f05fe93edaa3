//! The files that a command reads and writes: what is read is not written over, and nothing is written twice. `-`, for standard input
//! and standard output, is for one flag each.

use std::path::{Path, PathBuf};

use anyhow::{bail, ensure};
use clap::{ArgMatches, Command};
use labelflow_data::parts::TableParts;
use labelflow_files::{identity, is_standard};

use super::claimed_folder::files_below;
use super::output;
use crate::inputs::model_files::{is_model, is_model_file};

/// The arguments whose paths are written. All other paths are read.
const WRITTEN: [&str; 10] =
    ["out", "save", "write_counts", "relabel_out", "json", "csv", "charts", "keep", "models", "pictures"];
/// The arguments whose text may be a file that is read.
const PERHAPS_READ: [&str; 2] = ["bounds", "errors"];
/// The flag of a file that is written instead of what is printed, see [`output::show`].
const JSON: &str = "--json";

/// What a command reads and writes, by the arguments that name it.
#[derive(Debug, Default)]
pub(crate) struct Places {
    read: Vec<Place>,
    written: Vec<Place>,
}

#[derive(Debug)]
struct Place {
    /// As it is typed: a flag, or the name of an argument without one.
    flag: String,
    path: PathBuf,
    /// Whether it is a folder that is written, with files of the command's own choice.
    is_filled: bool,
}

impl Places {
    /// Those that are named on the command line, or by default. Refuses `-` for a folder, for two inputs and for two outputs, and leaves
    /// standard output to a table that is written there.
    pub(crate) fn of(mut command: &Command, mut matches: &ArgMatches) -> anyhow::Result<Self> {
        while let Some((name, inner)) = matches.subcommand() {
            command = command.find_subcommand(name).expect("a command that was matched");
            matches = inner;
        }
        let mut places = Self::default();
        let mut standard = [Vec::new(), Vec::new()];
        for argument in command.get_arguments() {
            let id = argument.get_id().as_str();
            let value = argument.get_value_names().and_then(|names| names.first()).map_or(id, |name| name.as_str());
            let flag = argument.get_long().map_or_else(|| value.to_owned(), |flag| format!("--{flag}"));
            let paths = matches.try_get_many::<PathBuf>(id).ok().flatten().into_iter().flatten().cloned();
            let texts = matches.try_get_many::<String>(id).ok().flatten().into_iter().flatten();
            let texts = texts.filter(|_| PERHAPS_READ.contains(&id)).map(PathBuf::from);
            let (is_written, is_folder) = (WRITTEN.contains(&id), value.ends_with("DIR"));
            for path in paths.clone().filter(|path| is_standard(path)) {
                ensure!(!is_folder, "{flag}: expected a folder, found '{}'", path.display());
                standard[usize::from(is_written)].push(flag.clone());
            }
            for path in paths.chain(texts) {
                match is_written {
                    true => places.add_written(&flag, path, is_folder),
                    false => places.add_read(&flag, path),
                }
            }
        }
        for (flags, what) in standard.iter().zip(["input", "output"]) {
            ensure!(
                flags.len() < 2,
                "{}: expected '-', standard {what}, for one of them, found it for each: name a file or a pipe such as <(command)",
                flags.join(", ")
            );
        }
        if standard[1].iter().any(|flag| flag != JSON) {
            output::keep_for_table();
        }
        Ok(places)
    }

    pub(crate) fn add_read(&mut self, flag: &str, path: PathBuf) {
        self.read.push(Place { flag: flag.to_owned(), path, is_filled: false });
    }

    /// Adds a file, or a folder that is filled.
    pub(crate) fn add_written(&mut self, flag: &str, path: PathBuf, is_filled: bool) {
        // Standard output and devices take all that is written.
        if path != Path::new("-") && (path.is_file() || path.is_dir() || !path.exists()) {
            self.written.push(Place { flag: flag.to_owned(), path, is_filled });
        }
    }

    /// Refuses to write what is read, and to write the same file twice.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        for (index, output) in self.written.iter().enumerate() {
            let place = || format!("{} {}", output.flag, output.path.display());
            if let Some(other) = self.written[..index].iter().find(|other| is_same(&other.path, &output.path)) {
                bail!("{}: expected a place of its own, found that of {}: name another one", place(), other.flag);
            }
            if let Some(input) = self.read.iter().find(|input| input.is_read_from(output)) {
                let input = format!("{} {}", input.flag, input.path.display());
                bail!("{}: expected a place that is not read, found what {input} reads: name another one", place());
            }
        }
        Ok(())
    }
}

impl Place {
    /// Whether what is read here would be replaced by an output, or would have it among its files.
    fn is_read_from(&self, output: &Place) -> bool {
        let (input, file) = (&self.path, &output.path);
        if !input.exists() {
            // A pattern, or the name of something that is no file.
            let is_read = |part: &PathBuf| is_same(part, file) || output.holds(part);
            return TableParts::is_several(input)
                && (TableParts::would_read(&resolved(input), &resolved(file))
                    || TableParts::find(input).is_ok_and(|parts| parts.iter().any(is_read)));
        }
        let is_own = |own: PathBuf| self.reads(&own) && is_same(&own, file);
        let is_inside = || is_within(file, input) && self.reads(file);
        let is_in_folder = || is_inside() || (file.exists() && files_below(input).any(is_own));
        is_same(input, file) || output.holds(input) || (input.is_dir() && !output.is_filled && is_in_folder())
    }

    /// Whether a file in this folder is read.
    fn reads(&self, file: &Path) -> bool {
        match self.flag.as_str() {
            _ if is_model(&self.path) => is_model_file(file),
            // Parts, the files of WRENCH, and runs; labels and reports may lie beside them.
            "--features" | "--signals" | "--wrench" | "RESULTS" => {
                file.extension().is_some_and(|ending| ending == "parquet" || ending == "json")
            }
            _ => true,
        }
    }

    /// Whether an input lies in this folder, which is filled.
    fn holds(&self, input: &Path) -> bool {
        self.is_filled && self.path.is_dir() && is_within(input, &self.path)
    }
}

/// Whether two paths name the same file or folder, or would if they were there.
fn is_same(one: &Path, other: &Path) -> bool {
    let found = |path: &Path| path.canonicalize().unwrap_or_else(|_| resolved(path));
    match [one, other].map(|path| identity(&path.metadata().ok()?)) {
        // They are not there, or the system tells files apart by their paths.
        [None, None] => found(one) == found(other),
        [one, other] => one == other,
    }
}

fn is_within(path: &Path, folder: &Path) -> bool {
    folder.canonicalize().is_ok_and(|folder| resolved(path).starts_with(folder))
}

/// A path from the root, with links in the names of its folders followed. It need not be there.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => folder.canonicalize().unwrap_or_else(|_| resolved(folder)).join(name),
        _ => path.canonicalize().unwrap_or(path),
    }
}

#[cfg(test)]
mod tests {
    use std::any::TypeId;

    use clap::CommandFactory;

    use super::*;
    use crate::commands::Cli;

    /// The arguments whose paths are read.
    const READ: &str = "counts data features files from generated known_labels labelled_signals labelled_truth labels labels_for_eval load model \
                        partials predictions references results rules run scans settings shapes signals signals_labels task_votes \
                        texts wrench";

    fn visit(command: &Command, seen: &mut Vec<String>) {
        for argument in command.get_arguments() {
            if argument.get_value_parser().type_id() == TypeId::of::<PathBuf>() {
                seen.push(argument.get_id().to_string());
            }
        }
        command.get_subcommands().for_each(|inner| visit(inner, seen));
    }

    /// A new argument must say which it is.
    #[test]
    fn every_path_is_read_or_written() {
        let mut seen = Vec::new();
        visit(&Cli::command(), &mut seen);
        for id in &seen {
            let known = READ.split(' ').chain(WRITTEN);
            assert_eq!(known.filter(|known| known == id).count(), 1, "'{id}': read or written?");
        }
        assert!(WRITTEN.iter().all(|id| seen.iter().any(|seen| seen == id)));
    }
}
