//! Weak signals in files: votes or probabilities, one column per labeler.

use std::path::Path;

use labelflow_weak::votes::{SignalValues, WeakSignals};
use ndarray::{Array2, Ix3};

use super::vote_cells::{CellValues, VoteCells, check_class_names, named_votes, read_cells, vote_number};
use crate::inputs::{AbstainConvention, KeyColumn, Keyed};
use crate::tables::cells::{NameCodes, Numbers};
use crate::tables::npy_file::{NpzArray, write_npz};
use crate::tables::table::{Format, TableFile};
use crate::tables::{Column, ColumnValues, write_columns};
use crate::{Error, Result, ensure, write_atomically};

/// The names under which an npz archive may hold signals.
const ARRAY_NAMES: [&str; 4] = ["signals", "votes", "L", "arr_0"];

/// How to read a file of weak signals.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SignalsOptions {
    /// What the numbers in the file are.
    pub kind: SignalsKind,
    /// The names of the classes, in order; empty when they are not known beforehand.
    pub classes: Vec<String>,
    /// How an abstention is written. Default: as the numbers look, see [`AbstainConvention::Detect`].
    pub abstain: AbstainConvention,
    /// The column that names the rows, which is no labeler.
    pub key: KeyColumn,
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

/// Reads weak signals: csv, tsv or parquet with one column per labeler, npy, or npz with an array `signals`, `votes` or
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
/// `options.abstain` is for files in which another number abstains or classes count from 1: see [`AbstainConvention`].
/// A blank line is skipped: in a file with one labeler, write −1 for an abstention.
pub fn read_signals(path: &Path, options: &SignalsOptions) -> Result<Keyed<WeakSignals>> {
    let table = TableFile::open(path, &ARRAY_NAMES)?.with_key(&options.key)?;
    Keyed::of(&table, signals_of_table(&table, options)?)
}

fn signals_of_table(table: &TableFile, options: &SignalsOptions) -> Result<WeakSignals> {
    let path = &table.path;
    let Some(array) = table.array() else {
        return read_signals_of(table, &table.columns(), options);
    };
    check_class_names(&options.classes)?;
    if array.shape().len() == 3 {
        options.abstain.check_probabilities()?;
        let values = array.numbers::<f32>().into_dimensionality::<Ix3>();
        let values = values.expect("the array has three dimensions");
        return named(path, WeakSignals::from_probabilities(values), options);
    }
    let expected = "[n_rows, n_signals] or [n_rows, n_signals, n_classes]";
    table.check_shape(expected, |shape| shape.len() == 2)?;
    unnamed_signals(table, &table.columns(), options)
}

/// The signals in some columns of a table.
pub(crate) fn read_signals_of(table: &TableFile, columns: &[usize], options: &SignalsOptions) -> Result<WeakSignals> {
    ensure(!columns.is_empty(), || table.error("at least one labeler", "none"))?;
    let labelers = columns.iter().map(|&column| table.names[column].clone()).collect();
    let signals = unnamed_signals(table, columns, options)?;
    signals.with_labelers(labelers).map_err(Error::in_file(&table.path))
}

fn unnamed_signals(table: &TableFile, columns: &[usize], options: &SignalsOptions) -> Result<WeakSignals> {
    let cells = TableCells { table, columns };
    let mut values = match read_cells(&cells, options)? {
        CellValues::Votes(votes, classes) => {
            return named_votes(votes, &classes, None).map_err(Error::in_file(&table.path));
        }
        CellValues::Probabilities(values) => values,
    };
    options.abstain.check_probabilities()?;
    for ((row, column), value) in values.indexed_iter_mut() {
        let probability = options.abstain.read_probability(*value);
        *value = probability.map_err(|expected| table.cell_error(row, columns[column], expected, *value))?;
    }
    named(&table.path, WeakSignals::from_class1_probabilities(values), options)
}

/// The cells of some columns of a table.
struct TableCells<'a> {
    table: &'a TableFile,
    columns: &'a [usize],
}

impl VoteCells for TableCells<'_> {
    fn path(&self) -> &Path {
        &self.table.path
    }

    fn numbers(&self) -> Result<Numbers<f32>> {
        self.table.numbers(self.columns)
    }

    fn name_codes(&self, codes: &mut NameCodes) -> Result<Array2<u32>> {
        self.table.name_codes(self.columns, codes)
    }

    fn at(&self, row: usize, column: usize, error: Error) -> Error {
        error.at(self.table.place(row)).in_column(&self.table.names[self.columns[column]])
    }
}

/// The same signals with the names of the classes, if they are known.
fn named(path: &Path, signals: labelflow_weak::Result<WeakSignals>, options: &SignalsOptions) -> Result<WeakSignals> {
    let signals = match &options.classes[..] {
        [] => signals,
        classes => signals.and_then(|signals| signals.with_classes(classes.to_vec())),
    };
    signals.map_err(Error::in_file(path))
}

/// Writes weak signals in the format that the extension names, so that [`read_signals`] reads the same numbers.
///
/// Votes are written as class indices, −1 for an abstention. Probabilities are written as those of class 1; with more
/// than two classes they fit only into npz.
pub fn write_signals(path: &Path, signals: &WeakSignals) -> Result<()> {
    if Format::of(path)? == Format::Npz {
        let array = match signals.values() {
            SignalValues::Votes(votes) => {
                let shape = vec![signals.n_rows(), signals.n_signals()];
                NpzArray::Shorts(shape, votes.bytes().iter().map(vote_number).collect())
            }
            SignalValues::Probabilities(p) => {
                NpzArray::Floats(p.shape().to_vec(), p.iter().map(|&p| f64::from(p)).collect())
            }
        };
        return write_atomically(path, |writer| write_npz(writer, &[("signals", array)]));
    }
    let has_place = signals.probabilities().is_none() || signals.n_classes() <= 2;
    let hint = "a table has no place for probabilities of more than two classes";
    ensure(has_place, || Error::content(path, "npz", "another extension").with_hint(hint))?;
    let columns = signals.labelers().iter().enumerate().map(|(signal, name)| {
        let values = match signals.values() {
            SignalValues::Votes(votes) => {
                let votes = votes.bytes().column(signal).mapv(|vote| vote_number(&vote).into());
                ColumnValues::Integers(votes.to_vec())
            }
            SignalValues::Probabilities(_) => {
                let p = (0..signals.n_rows()).map(|row| signals.probability(row, signal, 1));
                ColumnValues::Reals(p.map(|p| p.map_or(f64::NAN, f64::from)).collect())
            }
        };
        Column::new(name, values)
    });
    write_columns(path, &columns.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use labelflow_weak::votes::{ABSTAIN, Votes};
    use ndarray::array;
    use proptest::prelude::*;

    use super::*;

    fn read_with(text: &str, options: &SignalsOptions) -> Result<WeakSignals> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("signals.csv");
        std::fs::write(&path, text).unwrap();
        Ok(read_signals(&path, options)?.value)
    }

    fn read(text: &str) -> Result<WeakSignals> {
        read_with(text, &SignalsOptions::default())
    }

    fn classes(names: &[&str]) -> SignalsOptions {
        SignalsOptions { classes: names.iter().map(|name| (*name).to_owned()).collect(), ..SignalsOptions::default() }
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
        let options = SignalsOptions { kind: SignalsKind::Probabilities, ..SignalsOptions::default() };
        assert!(read_with("r\n0\n1\n", &options).unwrap().probabilities().is_some());
    }

    #[test]
    fn names_are_votes() {
        let signals = read("r1,r2\nspam,NA\nham,spam\n-1,ham\n").unwrap();
        assert_eq!(signals.classes(), ["ham", "spam"]);
        assert_eq!(signals.to_votes().bytes(), array![[1, A], [0, 1], [A, 0]]);
        let signals = read_with("r1,r2\nspam,\nham,-1\n", &classes(&["spam", "ham", "other"])).unwrap();
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
            ("a,b\n0,1\n1,7\n", classes(&["x", "y"]), "line 3, column 'b': expected a class from 0 to 1"),
            ("a,b\n0,0.5\n1,7\n", classes(&[]), "line 3, column 'b': expected a probability"),
            (
                "a,b\nham,spam\negg,ham\n",
                classes(&["ham", "spam"]),
                "line 3, column 'a': expected one of ham, spam, -1, ABSTAIN, found 'egg'",
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

    fn conventions(abstain: AbstainConvention, names: &[&str]) -> SignalsOptions {
        SignalsOptions { abstain, ..classes(names) }
    }

    #[test]
    fn the_same_votes_in_every_convention() {
        let expected = array![[0, A], [1, 1], [A, 0]];
        for (text, abstain, codes) in [
            ("r1,r2\n0,-1\n1,1\n,0\n", AbstainConvention::MinusOne, ["0", "1"]),
            ("r1,r2\n1,0\n2,2\n,1\n", AbstainConvention::Zero, ["1", "2"]),
            ("r1,r2\n0,\n1,1\nNaN,0\n", AbstainConvention::Missing, ["0", "1"]),
            ("r1,r2\n-1,0\n1,1\n,-1\n", AbstainConvention::Signed, ["-1", "1"]),
        ] {
            for names in [&[][..], &["no", "yes"]] {
                let signals = read_with(text, &conventions(abstain, names)).unwrap();
                assert_eq!(signals.to_votes().bytes(), expected, "{abstain:?}");
                assert_eq!(signals.labelers().len(), 2);
                assert_eq!(signals.classes(), if names.is_empty() { codes } else { ["no", "yes"] }, "{text}");
            }
        }
        for (text, codes) in [("r1,r2\n-1,\n1,1\n,-1\n", ["-1", "1"]), ("r1,r2\n1,\n2,2\n,1\n", ["1", "2"])] {
            let signals = read_with(text, &conventions(AbstainConvention::Detect, &[])).unwrap();
            assert_eq!(
                (signals.to_votes().bytes(), signals.classes()),
                (expected.view(), &codes.map(str::to_owned)[..])
            );
        }
        let named =
            read_with("a,b\nx,ABSTAIN\ny,y\n,x\n", &conventions(AbstainConvention::Detect, &["x", "y"])).unwrap();
        assert_eq!(named.to_votes().bytes(), expected);
        let signals = read_with("a,b\nx,0\ny,x\n", &conventions(AbstainConvention::Zero, &[])).unwrap();
        assert_eq!(signals.to_votes().bytes(), array![[0, A], [1, 0]]);
    }

    #[test]
    fn votes_are_read_by_the_numbers_that_classes_are_called_by() {
        let signed = conventions(AbstainConvention::MinusOne, &["-1", "1"]);
        for text in ["r1,r2\n-1,0\n1,1\n0,-1\n", "r1,r2\n-1,\n1,1\n,-1\n", "r1,r2\n-1.0,0\n1,1.0\n0,-1\n"] {
            let signals = read_with(text, &signed).unwrap();
            assert_eq!(signals.to_votes().bytes(), array![[0, A], [1, 1], [A, 0]], "{text}");
        }
        assert_eq!(read_with("r1,r2\n1,\n1,1\n", &signed).unwrap().to_votes().bytes(), array![[1, A], [1, 1]]);
        // A 0 may abstain, or be the first class.
        let counted = conventions(AbstainConvention::MinusOne, &["1", "2", "3"]);
        for (text, options, convention) in [
            ("r1,r2\n1,0\n1,1\n", &signed, "signed"),
            ("r1,r2\n1.0,0.0\n1,1\n", &signed, "signed"),
            ("r1,r2\n1,0\n2,1\n", &counted, "zero"),
            ("r1,r2\n3,0\n2,1\n", &counted, "zero"),
        ] {
            let error = read_with(text, options).unwrap_err().to_string();
            let hints = [format!("if 0 abstains, set abstain = \"{convention}\""), "abstain = \"missing\"".to_owned()];
            assert!(hints.iter().all(|hint| error.contains(hint)), "{text}: {error}");
        }
        // Beside -1, it does not.
        assert_eq!(read_with("r1,r2\n1,0\n2,-1\n", &counted).unwrap().to_votes().bytes(), array![[1, 0], [2, A]]);
        assert_eq!(read_with("r1,r2\n1,3\n2,-1\n", &counted).unwrap().to_votes().bytes(), array![[0, 2], [1, A]]);
        for (abstain, expected) in
            [(AbstainConvention::Signed, [[1, A], [1, 1]]), (AbstainConvention::Missing, [[1, 0], [1, 1]])]
        {
            let signals = read_with("r1,r2\n1,0\n1,1\n", &conventions(abstain, &["-1", "1"])).unwrap();
            assert_eq!(signals.to_votes().bytes(), ndarray::arr2(&expected));
        }
    }

    #[test]
    fn a_wrong_convention_is_told_from_the_numbers() {
        use AbstainConvention::{Detect, MinusOne, Missing, Signed, Zero};
        for (text, options, expected) in [
            (
                "a,b\n0,1\n1,2\n",
                conventions(MinusOne, &["x", "y"]),
                "line 3, column 'b': expected a class from 0 to 1, or -1 for an abstention, found 2 \
                 (if 0 abstains and the classes are 1 to 2, set abstain = \"zero\")",
            ),
            (
                "a,b\n0,1\n1,-1\n",
                conventions(Zero, &["x", "y"]),
                "line 3, column 'b': expected a class from 1 to 2, or 0 for an abstention, found -1",
            ),
            ("a,b\n0,1\n1,-1\n", conventions(Missing, &[]), "or nothing for an abstention"),
            ("a,b\n0,1\n1,2\n", conventions(Signed, &[]), "expected -1, 1, or 0"),
            (
                "a,b\n0,1\n1,2\n",
                conventions(Detect, &["x", "y"]),
                "found 2 (if 0 abstains and the classes are 1 to 2, set abstain = \"zero\")",
            ),
            ("a,b\n0,1\n1,-1\n", conventions(Signed, &["x", "y", "z"]), "more than two classes"),
            ("a,b\n0,1\n1,1\n", conventions(Zero, &[]), "only votes for class 1"),
            ("a,b\nx,y\ny,-1\n", conventions(Missing, &["x", "y"]), "one of x, y, ABSTAIN, found '-1'"),
            ("a,b\nx,y\ny,x\n", conventions(Signed, &["x", "y"]), "expected a number"),
            ("a,b\n0.5,1\n1,0\n", conventions(Zero, &[]), "the signals are probabilities"),
            ("a,b\n0.5,1\n1,-1\n", conventions(Missing, &[]), "or nothing for an abstention"),
        ] {
            let error = read_with(text, &options).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn arrays_have_conventions_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("votes.npz");
        let array = NpzArray::Shorts(vec![3, 2], vec![1, 0, 2, 2, 0, 1]);
        write_atomically(&path, |writer| write_npz(writer, &[("votes", array)])).unwrap();
        let signals = read_signals(&path, &conventions(AbstainConvention::Zero, &[])).unwrap().value;
        assert_eq!(signals.to_votes().bytes(), array![[0, A], [1, 1], [A, 0]]);
        let signals = read_signals(&path, &conventions(AbstainConvention::Detect, &[])).unwrap().value;
        assert_eq!(signals.to_votes().bytes(), array![[1, 0], [2, 2], [0, 1]]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[cfg(feature = "parquet")]
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
                let read = read_signals(&path, &classes(&names)).unwrap().value;
                prop_assert_eq!((read.labelers(), read.values()), (votes.labelers(), votes.values()));
                prop_assert_eq!(read.has_labeler_names(), extension != "npz");
                write_signals(&path, &probabilities).unwrap();
                let options =
                    SignalsOptions { kind: SignalsKind::Probabilities, ..classes(&names[..2]) };
                let read = read_signals(&path, &options).unwrap().value;
                for row in 0..read.n_rows() {
                    for signal in 0..2 {
                        let of = |signals: &WeakSignals| signals.probability(row, signal, 1);
                        prop_assert_eq!(of(&read), of(&probabilities));
                    }
                }
            }
        }

        #[cfg(feature = "parquet")]
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
