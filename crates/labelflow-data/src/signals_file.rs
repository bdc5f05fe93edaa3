//! Weak signals in files: votes or probabilities, one column a labeler.

use std::path::Path;

use labelflow_weak::{ABSTAIN, SignalValues, Votes, WeakSignals};
use ndarray::{Array2, Ix3};

use crate::cells::{NameCodes, Numbers, parse_number};
use crate::columns::{Column, ColumnValues, write_columns};
use crate::error::Place;
use crate::features_file::two_dimensions;
use crate::npy_file::{NpyArray, NpzArray, write_npz};
use crate::table::{Format, Source, TableFile};
use crate::{Error, Result, write_atomically};

/// The names under which an npz archive may hold signals.
const ARRAY_NAMES: [&str; 4] = ["signals", "votes", "L", "arr_0"];

/// How to read a file of weak signals.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SignalsOptions {
    /// What the numbers in the file are.
    pub kind: SignalsKind,
    /// The names of the classes, in order; empty when they are not known beforehand.
    pub classes: Vec<String>,
}

/// What the numbers in a file of weak signals are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SignalsKind {
    /// Votes when every number is whole, probabilities of class 1 as soon as one is not.
    #[default]
    Detect,
    /// Class indices.
    Votes,
    /// Probabilities of class 1.
    Probabilities,
}

/// Reads weak signals: csv, tsv or parquet with one column a labeler, npy, or npz with an array `signals`, `votes` or
/// `L` or only one.
///
/// | cells | meaning |
/// |---|---|
/// | whole numbers | class indices; −1, an empty cell, null, NA or NaN abstains |
/// | numbers of which one is not whole | probabilities of class 1; −1, an empty cell, null, NA or NaN abstains |
/// | names | votes for classes, abstentions as above; without `options.classes`, the classes are the names, sorted |
/// | array `[n_rows, n_signals]` of integers | class indices, −1 abstains |
/// | array `[n_rows, n_signals]` of floats | as numbers above |
/// | array `[n_rows, n_signals, n_classes]` of floats | probabilities, NaN abstains |
///
/// So a file with nothing but 0 and 1 holds votes, even if they were meant as probabilities; `options.kind` overrides.
/// With `options.classes`, cells that are all among these names are read as names, even when they look like numbers.
/// A blank line is skipped: in a file with one labeler, write −1 for an abstention.
pub fn read_signals(path: &Path, options: &SignalsOptions) -> Result<WeakSignals> {
    if options.classes.len() == 1 {
        let found = format!("only '{}'", options.classes[0]);
        return Err(Error::config("classes", "at least two names", found));
    }
    let signals = match Source::open(path)? {
        Source::Table(table) => read_table(path, &table, options)?,
        Source::Array => read_array(path, options)?,
    };
    if options.classes.is_empty() {
        return Ok(signals);
    }
    signals.with_classes(options.classes.clone()).map_err(Error::in_file(path))
}

fn read_table(path: &Path, table: &TableFile, options: &SignalsOptions) -> Result<WeakSignals> {
    let columns = table.columns();
    let mut names_error = None;
    if !options.classes.is_empty() && options.kind != SignalsKind::Probabilities {
        match read_names(path, table, Some(&options.classes)) {
            Ok(signals) => return Ok(signals),
            Err(error) => names_error = Some(error),
        }
    }
    let signals = match (table.numbers::<f32>(&columns)?, names_error) {
        (Numbers::All(values), _) => {
            let at = |row: usize, signal: usize, error: Error| {
                error.at(table.place(row)).in_column(&table.names()[signal])
            };
            from_numbers(path, &values, options, at)?
        }
        (Numbers::Text(_), Some(error)) => return Err(error),
        (Numbers::Text(error), None) if options.kind == SignalsKind::Probabilities => {
            return Err(error);
        }
        (Numbers::Text(error), None) => {
            let signals = read_names(path, table, None)?;
            // Numbers and names mixed are more likely a slip of the pen than classes of both kinds.
            if signals.classes().iter().any(|class| parse_number(class).is_some()) {
                return Err(error.with_hint("name the classes if some of them look like numbers"));
            }
            return Ok(signals);
        }
    };
    signals.with_labelers(table.names().to_vec()).map_err(Error::in_file(path))
}

/// The mark for an abstention in files of names.
const ABSTENTION: &str = "-1";

/// Votes given as names. The classes are the known ones, or the names found, sorted.
fn read_names(path: &Path, table: &TableFile, known: Option<&[String]>) -> Result<WeakSignals> {
    let mut codes = match known {
        Some(classes) => NameCodes::of(&with_abstention(classes)),
        None => NameCodes::open(usize::from(ABSTAIN) + 1),
    };
    let cells = table.name_codes(&table.columns(), &mut codes).map_err(|error| {
        error.with_hint("drop columns that are not labelers, and name all classes")
    })?;
    let found = codes.into_names();
    let classes = known.map_or_else(|| sorted_classes(&found), <[String]>::to_vec);
    if classes.len() < 2 {
        let found = if classes.is_empty() { "none" } else { "one" };
        return Err(Error::content(path, "votes for at least two classes", found)
            .with_hint("name the classes if others exist but got no vote"));
    }
    // Codes count in order of appearance; votes in order of classes.
    let votes = found.iter().map(|name| {
        classes.iter().position(|class| class == name).map_or(ABSTAIN, |class| class as u8)
    });
    let votes = votes.collect::<Vec<_>>();
    let bytes =
        cells.mapv(|code| if code == NameCodes::ABSENT { ABSTAIN } else { votes[code as usize] });
    Votes::from_bytes(bytes, classes.len())
        .and_then(WeakSignals::from_votes)
        .and_then(|signals| signals.with_classes(classes))
        .and_then(|signals| signals.with_labelers(table.names().to_vec()))
        .map_err(Error::in_file(path))
}

/// Names that may stand in a cell: the classes, and −1 for an abstention unless it is itself a class.
fn with_abstention(classes: &[String]) -> Vec<String> {
    let mut names = classes.to_vec();
    if !names.iter().any(|name| name == ABSTENTION) {
        names.push(ABSTENTION.to_owned());
    }
    names
}

fn sorted_classes(found: &[String]) -> Vec<String> {
    let mut classes = found.iter().filter(|name| *name != ABSTENTION).cloned().collect::<Vec<_>>();
    classes.sort_unstable();
    classes
}

fn read_array(path: &Path, options: &SignalsOptions) -> Result<WeakSignals> {
    let array = NpyArray::read(path, &ARRAY_NAMES)?;
    if array.shape().len() == 3 {
        let values = array.numbers::<f32>().into_dimensionality::<Ix3>();
        let values = values.expect("the array has three dimensions");
        return WeakSignals::from_probabilities(values).map_err(Error::in_file(path));
    }
    let shape = "[n_rows, n_signals] or [n_rows, n_signals, n_classes]";
    let values = two_dimensions(path, array.numbers(), shape)?;
    let kind = match options.kind {
        SignalsKind::Detect if array.is_integer() => SignalsKind::Votes,
        other => other,
    };
    let options = SignalsOptions { kind, classes: options.classes.clone() };
    from_numbers(path, &values, &options, |row, signal, error| {
        error.at(Place::row(row)).in_column(signal)
    })
}

/// Signals from numbers, NaN or −1 for an abstention. `at` adds a row's place and a labeler's name to an error.
fn from_numbers(
    path: &Path,
    values: &Array2<f32>,
    options: &SignalsOptions,
    at: impl Fn(usize, usize, Error) -> Error,
) -> Result<WeakSignals> {
    let is_whole = |value: &f32| value.is_nan() || value.fract() == 0.0;
    let is_votes = match options.kind {
        SignalsKind::Detect => values.iter().all(is_whole),
        SignalsKind::Votes => true,
        SignalsKind::Probabilities => false,
    };
    if is_votes {
        return votes_from_numbers(path, values, options.classes.len(), at);
    }
    let is_probability = |value: f32| (0.0..=1.0).contains(&value);
    if let Some(((row, signal), value)) = first_bad(values, is_probability) {
        let expected = "a probability from 0 to 1, or -1 for an abstention";
        return Err(at(row, signal, Error::content(path, expected, value)));
    }
    let class1 = values.mapv(|value| if abstains(value) { f32::NAN } else { value });
    WeakSignals::from_class1_probabilities(class1).map_err(Error::in_file(path))
}

/// Votes for `n_classes` classes, or for as many as the largest vote tells when `n_classes` is 0.
fn votes_from_numbers(
    path: &Path,
    values: &Array2<f32>,
    n_classes: usize,
    at: impl Fn(usize, usize, Error) -> Error,
) -> Result<WeakSignals> {
    let n_most = if n_classes == 0 { usize::from(ABSTAIN) } else { n_classes };
    let is_class = |value: f32| value.fract() == 0.0 && (0.0..n_most as f32).contains(&value);
    if let Some(((row, signal), value)) = first_bad(values, is_class) {
        let expected = format!("a class from 0 to {}, or -1 for an abstention", n_most - 1);
        return Err(at(row, signal, Error::content(path, expected, value)));
    }
    if values.is_empty() {
        return Err(Error::content(path, "at least one row of votes", "none"));
    }
    let largest = values.iter().copied().filter(|&value| !abstains(value)).fold(-1.0, f32::max);
    if n_classes == 0 && largest < 1.0 {
        let found = if largest < 0.0 { "only abstentions" } else { "only votes for class 0" };
        return Err(Error::content(path, "votes for at least two classes", found)
            .with_hint("name the classes if others exist but got no vote"));
    }
    let n_classes = if n_classes == 0 { largest as usize + 1 } else { n_classes };
    let bytes = values.mapv(|value| if abstains(value) { ABSTAIN } else { value as u8 });
    Votes::from_bytes(bytes, n_classes)
        .and_then(WeakSignals::from_votes)
        .map_err(Error::in_file(path))
}

fn abstains(value: f32) -> bool {
    value.is_nan() || value == -1.0
}

/// The first number that is neither good nor an abstention.
fn first_bad(values: &Array2<f32>, is_good: impl Fn(f32) -> bool) -> Option<((usize, usize), f32)> {
    let mut cells = values.indexed_iter().map(|(place, &value)| (place, value));
    cells.find(|&(_, value)| !abstains(value) && !is_good(value))
}

/// Writes weak signals in the format that the extension names, so that [`read_signals`] reads the same numbers.
///
/// Votes are written as class indices, −1 for an abstention. Probabilities are written as those of class 1; with more
/// than two classes they fit only into npz.
pub fn write_signals(path: &Path, signals: &WeakSignals) -> Result<()> {
    let (n_rows, n_signals) = (signals.n_rows(), signals.n_signals());
    let format = Format::of(path)?;
    let vote = |row, signal| signals.vote(row, signal).map_or(-1, |class| class as i64);
    let probability = |row, signal| signals.probability(row, signal, 1).map_or(f64::NAN, f64::from);
    match (signals.values(), format) {
        (SignalValues::Votes(votes), Format::Npz) => {
            let bytes = votes.bytes();
            let shorts =
                bytes.iter().map(|&vote| if vote == ABSTAIN { -1 } else { i16::from(vote) });
            let array = NpzArray::Shorts(vec![n_rows, n_signals], shorts.collect());
            write_atomically(path, |writer| write_npz(writer, &[("signals", array)]))
        }
        (SignalValues::Probabilities(p), Format::Npz) => {
            let values = p.iter().map(|&p| f64::from(p)).collect();
            let array = NpzArray::Floats(p.shape().to_vec(), values);
            write_atomically(path, |writer| write_npz(writer, &[("signals", array)]))
        }
        (SignalValues::Probabilities(_), _) if signals.n_classes() > 2 => {
            Err(Error::content(path, "npz", "another extension")
                .with_hint("a table has no place for probabilities of more than two classes"))
        }
        (values, _) => {
            let columns = signals.labelers().iter().enumerate().map(|(signal, name)| {
                let values = match values {
                    SignalValues::Votes(_) => {
                        ColumnValues::Integers((0..n_rows).map(|row| vote(row, signal)).collect())
                    }
                    SignalValues::Probabilities(_) => ColumnValues::Reals(
                        (0..n_rows).map(|row| probability(row, signal)).collect(),
                    ),
                };
                Column { name: name.clone(), values }
            });
            write_columns(path, &columns.collect::<Vec<_>>())
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use proptest::prelude::*;

    use super::*;

    fn read_with(text: &str, options: &SignalsOptions) -> Result<WeakSignals> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("signals.csv");
        std::fs::write(&path, text).unwrap();
        read_signals(&path, options)
    }

    fn read(text: &str) -> Result<WeakSignals> {
        read_with(text, &SignalsOptions::default())
    }

    fn classes(names: &[&str]) -> SignalsOptions {
        SignalsOptions {
            classes: names.iter().map(|name| (*name).to_owned()).collect(),
            ..SignalsOptions::default()
        }
    }

    const A: u8 = ABSTAIN;

    #[test]
    fn whole_numbers_are_votes() {
        let signals = read("r1,r2\n0,NA\n2.0,-1\nNaN,1\n").unwrap();
        assert_eq!(signals.labelers(), ["r1", "r2"]);
        assert_eq!(signals.n_classes(), 3);
        assert_eq!(signals.to_votes().bytes(), array![[0, A], [2, A], [A, 1]]);
        assert!(signals.probabilities().is_none(), "0 and 1 alone are votes");
    }

    #[test]
    fn other_numbers_are_probabilities_of_class_1() {
        let signals = read("r1,r2\n0,\n0.25,1\n").unwrap();
        assert_eq!(signals.n_classes(), 2);
        assert_eq!(signals.probability(1, 0, 1), Some(0.25));
        assert_eq!(signals.probability(1, 0, 0), Some(0.75));
        assert_eq!(signals.probability(0, 1, 1), None);
        let options =
            SignalsOptions { kind: SignalsKind::Probabilities, ..SignalsOptions::default() };
        assert!(read_with("r\n0\n1\n", &options).unwrap().probabilities().is_some());
    }

    #[test]
    fn names_are_votes() {
        let signals = read("r1,r2\nspam,NA\nham,spam\n-1,ham\n").unwrap();
        assert_eq!(signals.classes(), ["ham", "spam"]);
        assert_eq!(signals.to_votes().bytes(), array![[1, A], [0, 1], [A, 0]]);
        let signals =
            read_with("r1,r2\nspam,\nham,-1\n", &classes(&["spam", "ham", "other"])).unwrap();
        assert_eq!(signals.classes(), ["spam", "ham", "other"]);
        assert_eq!(signals.to_votes().bytes(), array![[0, A], [1, A]]);
        let signals = read_with("r1,r2\n3,7\n7,-1\n", &classes(&["3", "7"])).unwrap();
        assert_eq!(signals.to_votes().bytes(), array![[0, 1], [1, A]]);
        let signals = read_with("r1,r2\n0,1\n1,-1\n", &classes(&["ham", "spam"])).unwrap();
        assert_eq!(signals.classes(), ["ham", "spam"]);
        let signals = read_with("r1,r2\n-1,1\n1,\n", &classes(&["-1", "1"])).unwrap();
        assert_eq!(signals.to_votes().bytes(), array![[0, 1], [1, A]]);
    }

    #[test]
    fn bad_cells_are_named() {
        for (text, options, expected) in [
            ("a,b\n0,1\n1,-2\n", classes(&[]), "line 3, column 'b'"),
            (
                "a,b\n0,1\n1,7\n",
                classes(&["x", "y"]),
                "line 3, column 'b': expected a class from 0 to 1",
            ),
            ("a,b\n0,0.5\n1,7\n", classes(&[]), "line 3, column 'b': expected a probability"),
            (
                "a,b\nham,spam\negg,ham\n",
                classes(&["ham", "spam"]),
                "line 3, column 'a': expected one of ham, spam, -1, found 'egg'",
            ),
            ("a,b\n-1,\n,-1\n", classes(&[]), "only abstentions"),
            ("a,b\n0,\n0,-1\n", classes(&[]), "only votes for class 0"),
            ("a,b\nham,\n,ham\n", classes(&[]), "found one"),
            ("a,a\n0,1\n", classes(&[]), "'a' twice"),
            ("a,b\n0,1\n1,l\n", classes(&[]), "line 3, column 'b': expected a number, found 'l'"),
            ("a,b\n", classes(&[]), "at least"),
        ] {
            let error = read_with(text, &options).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn what_is_written_is_read_back(
            votes in proptest::collection::vec([-1i64..3, -1i64..3], 1..20),
            p in proptest::collection::vec([0f32..1.0, 0f32..1.0], 1..20),
        ) {
            let names = ["0", "1", "2"];
            let votes = Votes::from_indices(Array2::from(votes).view(), Some(3)).unwrap();
            let votes = WeakSignals::from_votes(votes).unwrap();
            let p = Array2::from(p).mapv(|p| if p < 0.1 { f32::NAN } else { p });
            let probabilities = WeakSignals::from_class1_probabilities(p).unwrap();
            let folder = tempfile::tempdir().unwrap();
            for extension in ["csv", "parquet", "npz"] {
                let path = folder.path().join("signals").with_extension(extension);
                write_signals(&path, &votes).unwrap();
                prop_assert_eq!(&read_signals(&path, &classes(&names)).unwrap(), &votes);
                write_signals(&path, &probabilities).unwrap();
                let options =
                    SignalsOptions { kind: SignalsKind::Probabilities, ..classes(&names[..2]) };
                let read = read_signals(&path, &options).unwrap();
                for row in 0..read.n_rows() {
                    for signal in 0..2 {
                        let of = |signals: &WeakSignals| signals.probability(row, signal, 1);
                        prop_assert_eq!(of(&read), of(&probabilities));
                    }
                }
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            text in "[a-c0-9.,\n\"-]{0,60}",
        ) {
            let folder = tempfile::tempdir().unwrap();
            for extension in ["csv", "tsv", "parquet", "npy", "npz"] {
                let path = folder.path().join("signals").with_extension(extension);
                std::fs::write(&path, &bytes).unwrap();
                let _ = read_signals(&path, &SignalsOptions::default());
                let _ = read_signals(&path, &classes(&["a", "b"]));
            }
            let _ = read(&text);
            let _ = read_with(&text, &classes(&["a", "b"]));
        }
    }
}
