//! What is printed, and what is written for machines.

use std::fmt::Display;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::Context;
use comfy_table::{Cell, CellAlignment, Table, presets};
use labelflow_files::{is_standard, is_unseen, visible};
use serde::Serialize;

/// Whether a table is written to standard output, which then has nothing else.
static IS_FOR_TABLE: AtomicBool = AtomicBool::new(false);

/// From now on, what is printed for people goes to standard error.
pub(crate) fn keep_for_table() {
    IS_FOR_TABLE.store(true, Ordering::Relaxed);
}

/// Prints lines for people to standard output; a closed pipe is an error that ends the program quietly. Names in them may come from
/// anybody's files: what a terminal would obey is made visible, here and in notes and tables.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    if IS_FOR_TABLE.load(Ordering::Relaxed) {
        note(text);
        return Ok(());
    }
    print_as_it_is(&visible(text))
}

fn print_as_it_is(text: &str) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    let written =
        stdout.write_all(text.as_bytes()).and_then(|()| stdout.write_all(b"\n")).and_then(|()| stdout.flush());
    written.context("writing to standard output")
}

/// Says something that is no result: to standard error, so that pipes carry results alone.
pub(crate) fn note(text: &str) {
    // When nobody can hear it, that is no reason to fail.
    let _ = writeln!(std::io::stderr(), "{}", visible(text));
}

/// Whether warnings are errors.
static IS_STRICT: AtomicBool = AtomicBool::new(false);
/// What was warned of so far.
static WARNINGS: Mutex<Vec<Warning>> = Mutex::new(Vec::new());

/// Something that looks wrong, as machines read it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Warning {
    /// Its kind and its numbers.
    #[serde(flatten)]
    about: serde_json::Value,
    /// The file it is about, or what else.
    place: String,
    text: String,
}

impl Warning {
    /// The labelers that it names, or nothing if it is not about some of them.
    pub(crate) fn labelers(&self) -> Option<Vec<&str>> {
        let named = ["labeler", "labelers", "first", "second"].iter().filter_map(|key| self.about.get(key));
        let names: Vec<&str> = named
            .flat_map(|value| value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice))
            .filter_map(serde_json::Value::as_str)
            .collect();
        (!names.is_empty()).then_some(names)
    }
}

/// Makes warnings errors.
pub(crate) fn set_strict(is_strict: bool) {
    IS_STRICT.store(is_strict, Ordering::Relaxed);
}

/// Whether warnings are errors.
pub(crate) fn is_strict() -> bool {
    IS_STRICT.load(Ordering::Relaxed)
}

/// Warns of something that looks wrong, on standard error; [`refuse_warnings`] makes it an error where that is asked for.
pub(crate) fn warn(place: impl Display, warning: &(impl Serialize + Display)) {
    let about = serde_json::to_value(warning).expect("warnings can be written as JSON");
    push_warning(Warning { about, place: place.to_string(), text: warning.to_string() });
}

/// Warns of something of which no more is known than its kind and a text.
pub(crate) fn warn_text(place: impl Display, kind: &str, text: &str) {
    let about = serde_json::json!({ "kind": kind });
    push_warning(Warning { about, place: place.to_string(), text: text.to_owned() });
}

/// As [`warn_text`], of a file, where there is something to warn of.
pub(crate) fn warn_if_any(file: &Path, kind: &str, text: Option<impl AsRef<str>>) {
    if let Some(text) = text {
        warn_text(file.display(), kind, text.as_ref());
    }
}

fn push_warning(warning: Warning) {
    note(&format!("warning: {}: {}", warning.place, warning.text));
    WARNINGS.lock().unwrap_or_else(PoisonError::into_inner).push(warning);
}

/// All warnings so far.
pub(crate) fn warnings() -> Vec<Warning> {
    WARNINGS.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// With `--strict`, an error if there was a warning: called before anything is trained or written.
pub(crate) fn refuse_warnings() -> anyhow::Result<()> {
    let n_warnings = warnings().len();
    anyhow::ensure!(!is_strict() || n_warnings == 0, "--strict: expected no warnings, found {n_warnings} (see above)");
    Ok(())
}

/// Says why a command failed: every cause once, though some errors quote their cause themselves.
pub(crate) fn report_error(error: &anyhow::Error) {
    let mut text = String::from("labelflow");
    for cause in error.chain() {
        let cause = cause.to_string();
        if !text.contains(cause.trim_end()) {
            text += ": ";
            text += cause.trim_end();
        }
    }
    note(&text);
}

/// A table for people; the first column holds names, the others numbers.
pub(crate) fn table<const N: usize>(header: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    table_of(header.map(str::to_owned).to_vec(), rows.into_iter().map(Vec::from).collect())
}

/// A table whose number of columns is known when it is printed.
pub(crate) fn table_of(header: Vec<String>, rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(header.iter().map(|name| cell(name)));
    for row in rows {
        table.add_row(row.into_iter().enumerate().map(|(index, text)| {
            let alignment = if index == 0 { CellAlignment::Left } else { CellAlignment::Right };
            Cell::new(cell(&text)).set_alignment(alignment)
        }));
    }
    table.to_string()
}

/// Text that neither leaves its cell nor begins another.
fn cell(text: &str) -> String {
    visible(text).replace('|', "\\|").replace('\n', "\\n").replace('\t', " ")
}

/// A share as a percentage.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}

/// Writes JSON for machines: to a file, or to standard output for `-`.
pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> anyhow::Result<()> {
    write_text((path != Path::new("-")).then_some(path), &json(value)?)
}

/// A value as JSON, in which signs that a terminal obeys are escaped: all of them stand in strings.
pub(crate) fn json(value: &impl Serialize) -> serde_json::Result<String> {
    let text = serde_json::to_string_pretty(value)?;
    let escaped = |sign: char| match is_unseen(sign) && sign != '\n' {
        true => format!("\\u{:04x}", u32::from(sign)),
        false => sign.to_string(),
    };
    Ok(match text.contains(|sign| is_unseen(sign) && sign != '\n') {
        true => text.chars().map(escaped).collect(),
        false => text,
    })
}

/// Writes a result as JSON where that is asked for, and prints it for people unless standard output has the JSON.
pub(crate) fn show(
    json: Option<&Path>,
    value: &impl Serialize,
    print: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    if let Some(path) = json {
        write_json(path, value)?;
    }
    if json == Some(Path::new("-")) { Ok(()) } else { print() }
}

/// Where a table was written, for people.
pub(crate) fn place(out: &Path) -> String {
    if is_standard(out) { "standard output".to_owned() } else { out.display().to_string() }
}

/// Prints a line beside a result that may be written as JSON: to standard error if the JSON is on standard output.
pub(crate) fn print_beside(json: Option<&Path>, text: &str) -> anyhow::Result<()> {
    if json == Some(Path::new("-")) {
        note(text);
        return Ok(());
    }
    print(text)
}

/// Writes lines to a file, atomically, or to standard output, as they are.
pub(crate) fn write_text(path: Option<&Path>, text: &str) -> anyhow::Result<()> {
    let Some(path) = path else { return print_as_it_is(text) };
    labelflow_data::write_atomically(path, |writer| {
        writer.write_all(text.as_bytes())?;
        writer.write_all(b"\n")
    })
    .with_context(|| format!("writing {}", path.display()))
}
