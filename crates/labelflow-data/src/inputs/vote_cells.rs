//! What cells of votes mean: names or numbers, classes or abstentions. One set of rules for tables of votes, for long tables
//! of a crowd, for arrays, and for parts of which each different cell is looked at once.

use std::path::Path;

use labelflow_weak::votes::{ABSTAIN, Votes, WeakSignals};
use ndarray::Array2;

use super::abstain_convention::{Reading, SIGNED_CLASSES};
use crate::inputs::{AbstainConvention, SignalsKind, SignalsOptions};
use crate::tables::cells::{NameCodes, Numbers, into_table, parse_number};
use crate::{Error, Result, ensure};

/// Cells of votes before it is known what they mean.
pub(crate) trait VoteCells {
    /// The file, for errors.
    fn path(&self) -> &Path;

    /// All cells as numbers, NaN where one is missing.
    fn numbers(&self) -> Result<Numbers<f32>>;

    /// All cells as codes of names, [`NameCodes::ABSENT`] where one is missing.
    fn name_codes(&self, codes: &mut NameCodes) -> Result<Array2<u32>>;

    /// An error with the place of a cell.
    fn at(&self, row: usize, column: usize, error: Error) -> Error;
}

/// What cells are.
pub(crate) enum CellValues {
    /// A class or [`ABSTAIN`] for each cell, and the names of the classes.
    Votes(Array2<u8>, Vec<String>),
    /// Numbers of which one is not whole, or which are said to be probabilities.
    Probabilities(Array2<f32>),
}

/// Classes are not named, or there are two at least.
pub(crate) fn check_class_names(classes: &[String]) -> Result<()> {
    match classes {
        [only] => Err(Error::config("classes", "at least two names", format!("only '{only}'"))),
        _ => Ok(()),
    }
}

/// What abstains too where the classes are named and this is none of them.
const SILENT_WORD: &str = "ABSTAIN";

/// Decides what the cells are, and reads them.
pub(crate) fn read_cells(cells: &impl VoteCells, options: &SignalsOptions) -> Result<CellValues> {
    check_class_names(&options.classes)?;
    let abstain = options.abstain;
    let may_be_names = options.kind != SignalsKind::Probabilities && abstain != AbstainConvention::Signed;
    let mut names_error = None;
    if !options.classes.is_empty() && may_be_names {
        match read_names(cells, Some(&options.classes), abstain) {
            Ok(votes) => {
                check_zero(cells, &votes, options)?;
                return Ok(votes);
            }
            Err(error) => names_error = Some(error),
        }
    }
    match (cells.numbers()?, names_error) {
        (Ok(values), _) => read_numbers(cells, values, options),
        (Err(_), Some(error)) => Err(error),
        (Err(error), None) if !may_be_names => Err(error),
        (Err(error), None) => {
            let votes = read_names(cells, None, abstain)?;
            // Numbers and names mixed are more likely a mistake than classes of both kinds.
            match &votes {
                CellValues::Votes(_, classes) if classes.iter().any(|class| parse_number(class).is_some()) => {
                    Err(error.with_hint("name the classes if some of them look like numbers"))
                }
                _ => Ok(votes),
            }
        }
    }
}

/// Votes given as names. The classes are the known ones, or the names found, sorted.
fn read_names(cells: &impl VoteCells, known: Option<&[String]>, abstain: AbstainConvention) -> Result<CellValues> {
    let mark = match known {
        Some(classes) if is_signed(classes, abstain) => Some("0".to_owned()),
        _ => abstain.mark().map(|mark| mark.to_string()),
    };
    let mut codes = match known {
        None => NameCodes::open(usize::from(ABSTAIN) + 1),
        Some(classes) => {
            // The mark of an abstention may be itself a class.
            let silent = mark.clone().into_iter().chain([SILENT_WORD.to_owned()]);
            let silent = silent.filter(|word| !classes.contains(word));
            NameCodes::of(&classes.iter().cloned().chain(silent).collect::<Vec<_>>())
        }
    };
    let cell_codes = cells.name_codes(&mut codes).map_err(|error| {
        error.with_hint(
            "name all classes, and leave out columns that are not votes, or name the one that is the key of rows",
        )
    })?;
    let names = codes.into_names();
    let classes = known.map_or_else(
        || {
            let mut classes: Vec<String> = names.iter().filter(|name| Some(*name) != mark.as_ref()).cloned().collect();
            classes.sort_unstable();
            classes
        },
        <[String]>::to_vec,
    );
    ensure(classes.len() >= 2, || too_few_classes(cells.path(), if classes.is_empty() { "none" } else { "one" }))?;
    // Names come in order of appearance; votes are in order of classes.
    let class_of = |name: &String| classes.iter().position(|class| class == name);
    let votes: Vec<u8> = names.iter().map(|name| class_of(name).map_or(ABSTAIN, |class| class as u8)).collect();
    let vote = |code: u32| if code == NameCodes::ABSENT { ABSTAIN } else { votes[code as usize] };
    Ok(CellValues::Votes(cell_codes.mapv(vote), classes))
}

/// Whether the classes are -1 and 1, and -1 would abstain if it were none of them: then 0 does.
fn is_signed(classes: &[String], abstain: AbstainConvention) -> bool {
    classes == SIGNED_CLASSES && abstain.mark() == Some(-1)
}

/// Where 0 was taken for an abstention beside the classes -1 and 1, there must be a -1: else 0 may stand for the first class.
fn check_zero(cells: &impl VoteCells, votes: &CellValues, options: &SignalsOptions) -> Result<()> {
    let CellValues::Votes(votes, classes) = votes else { return Ok(()) };
    if !is_signed(classes, options.abstain) || votes.iter().any(|&vote| vote == 0) {
        return Ok(());
    }
    match cells.numbers()? {
        Ok(values) => check_zeros(cells.path(), &values, classes),
        Err(_) => Ok(()),
    }
}

/// Where the classes are called 1, 2, …, or -1 and 1, a 0 beside no -1 has two meanings.
fn check_zeros(path: &Path, values: &Array2<f32>, classes: &[String]) -> Result<()> {
    let has = |number: f32| values.iter().any(|&value| value == number);
    ensure(!has(0.0) || has(-1.0), || {
        let [first, convention] = match AbstainConvention::of_class_names(classes) {
            Some(AbstainConvention::Signed) => ["-1", "signed"],
            _ => ["1", "zero"],
        };
        let expected = format!("votes for the classes {}, or -1 or nothing for an abstention", classes.join(", "));
        Error::content(path, expected, "0 among them").with_hint(format!(
            "if 0 abstains, set abstain = \"{convention}\"; if it stands for the class {first}, set abstain = \"missing\""
        ))
    })
}

/// Votes or probabilities given as numbers.
fn read_numbers(cells: &impl VoteCells, values: Array2<f32>, options: &SignalsOptions) -> Result<CellValues> {
    let path = cells.path();
    let is_whole = |value: &f32| value.is_nan() || value.fract() == 0.0;
    let are_votes = match options.kind {
        SignalsKind::Probabilities => false,
        SignalsKind::Detect => values.iter().all(is_whole),
        SignalsKind::Votes => true,
    };
    if !are_votes {
        return Ok(CellValues::Probabilities(values));
    }
    let n_named = options.classes.len();
    let abstain = match (options.abstain, AbstainConvention::of_class_names(&options.classes)) {
        (AbstainConvention::MinusOne | AbstainConvention::Detect, Some(AbstainConvention::Signed)) => {
            check_zeros(path, &values, &options.classes)?;
            AbstainConvention::Signed
        }
        (AbstainConvention::MinusOne | AbstainConvention::Detect, Some(_)) => {
            check_zeros(path, &values, &options.classes)?;
            AbstainConvention::MinusOne
        }
        (abstain, _) => abstain.resolve(values.iter(), n_named),
    };
    let n_most = abstain.n_most_classes(n_named);
    let too_many = || Error::config("abstain", "a convention for more than two classes", "signed");
    ensure(n_named <= n_most, too_many)?;
    ensure(!values.is_empty(), || Error::content(path, "at least one row of votes", "none"))?;
    let mut bytes = Array2::from_elem(values.raw_dim(), ABSTAIN);
    let mut n_found = 0;
    for (((row, column), &value), byte) in values.indexed_iter().zip(bytes.iter_mut()) {
        match abstain.read(value, n_most) {
            Reading::Abstains => {}
            Reading::Class(class) => {
                *byte = class as u8;
                n_found = n_found.max(class + 1);
            }
            Reading::Nothing => {
                let error = cells.at(row, column, Error::content(path, abstain.expected(n_most), value));
                return Err(match abstain.advice(values.iter(), n_named) {
                    Some(advice) => error.with_hint(advice),
                    None => error,
                });
            }
        }
    }
    if n_named > 0 {
        return Ok(CellValues::Votes(bytes, options.classes.clone()));
    }
    let n_classes = if abstain == AbstainConvention::Signed { 2 } else { n_found };
    let found = match (n_found, abstain) {
        (0, _) => "only abstentions",
        (_, AbstainConvention::Zero) => "only votes for class 1",
        _ => "only votes for class 0",
    };
    ensure(n_classes >= 2, || too_few_classes(path, found))?;
    Ok(CellValues::Votes(bytes, abstain.class_names(n_classes)))
}

fn too_few_classes(path: &Path, found: &str) -> Error {
    Error::content(path, "votes for at least two classes", found)
        .with_hint("name the classes if others exist but got no vote")
}

/// Each different cell once, `[n_cells, 1]`.
pub(crate) struct DistinctCells<'a, At> {
    pub(crate) path: &'a Path,
    /// The cells as they are read among names, and as they are read among numbers.
    pub(crate) cells: Vec<(String, Option<f32>)>,
    /// An error with the place where a cell came first.
    pub(crate) at: At,
}

impl<At: Fn(usize, Error) -> Error> VoteCells for DistinctCells<'_, At> {
    fn path(&self) -> &Path {
        self.path
    }

    fn numbers(&self) -> Result<Numbers<f32>> {
        let number = |(index, (text, number)): (usize, &(String, Option<f32>))| {
            number.ok_or_else(|| self.at(index, 0, Error::cell(self.path, "a number", text)))
        };
        Ok(self.cells.iter().enumerate().map(number).collect::<Result<_>>().map(|cells| into_table(cells, 1)))
    }

    fn name_codes(&self, codes: &mut NameCodes) -> Result<Array2<u32>> {
        let code = |(index, (name, _)): (usize, &(String, Option<f32>))| {
            codes.code(self.path, name).map_err(|error| self.at(index, 0, error))
        };
        Ok(into_table(self.cells.iter().enumerate().map(code).collect::<Result<_>>()?, 1))
    }

    fn at(&self, row: usize, _: usize, error: Error) -> Error {
        (self.at)(row, error)
    }
}

/// Votes with the names of the classes and, if they have some, of the labelers.
pub(crate) fn named_votes(
    votes: Array2<u8>,
    classes: &[String],
    labelers: Option<&[String]>,
) -> labelflow_weak::Result<WeakSignals> {
    let votes = Votes::from_bytes(votes, classes.len())?;
    let signals = WeakSignals::from_votes(votes)?.with_classes(classes.to_vec())?;
    match labelers {
        Some(labelers) => signals.with_labelers(labelers.to_vec()),
        None => Ok(signals),
    }
}

/// A vote as files have it: the class, −1 for an abstention.
pub(crate) fn vote_number(&vote: &u8) -> i16 {
    if vote == ABSTAIN { -1 } else { i16::from(vote) }
}
