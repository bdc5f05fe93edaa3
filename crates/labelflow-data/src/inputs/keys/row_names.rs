//! What rows are called: numbers or texts.

use std::ops::Range;

use crate::tables::{ColumnValues, shown};

/// The names of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowNames {
    /// These numbers, by place.
    Place(Range<u64>),
    /// Numbers.
    Numbers(Vec<i64>),
    /// Texts.
    Texts(Vec<String>),
}

impl RowNames {
    /// Row numbers, unless one of them is not whole. Other tools may have written 7.0 for 7.
    pub(crate) fn of_numbers(numbers: impl Iterator<Item = f64>) -> Option<Self> {
        numbers.map(Self::whole).collect::<Option<_>>().map(Self::Numbers)
    }

    /// A row number, if it is whole.
    pub(crate) fn whole(number: f64) -> Option<i64> {
        const LARGEST: f64 = 9e15;
        (number.fract() == 0.0 && number.abs() <= LARGEST).then_some(number as i64)
    }

    /// How many rows they are.
    pub fn n_rows(&self) -> usize {
        match self {
            Self::Place(rows) => (rows.end - rows.start) as usize,
            Self::Numbers(numbers) => numbers.len(),
            Self::Texts(texts) => texts.len(),
        }
    }

    /// The name of a row.
    pub fn get(&self, row: usize) -> String {
        match self {
            Self::Place(rows) => (rows.start + row as u64).to_string(),
            Self::Numbers(numbers) => numbers[row].to_string(),
            Self::Texts(texts) => texts[row].clone(),
        }
    }

    /// The name of a row as messages show it.
    pub(crate) fn shown(&self, row: usize) -> String {
        match self {
            Self::Texts(texts) => format!("'{}'", shown(&texts[row])),
            _ => self.get(row),
        }
    }

    /// The names of the rows with these indices.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        let rows = rows.iter();
        match self {
            Self::Place(all) => Self::Numbers(rows.map(|&row| (all.start + row as u64) as i64).collect()),
            Self::Numbers(numbers) => Self::Numbers(rows.map(|&row| numbers[row]).collect()),
            Self::Texts(texts) => Self::Texts(rows.map(|&row| texts[row].clone()).collect()),
        }
    }

    /// The first place at which as many others differ.
    #[cfg(feature = "parquet")]
    pub(crate) fn first_difference(&self, others: &Self) -> Option<usize> {
        fn first<T: PartialEq>(own: &[T], others: &[T]) -> Option<usize> {
            own.iter().zip(others).position(|(own, other)| own != other)
        }
        match (self.numbers(), others.numbers()) {
            (Some(own), Some(others)) => first(&own, &others),
            _ => first(&self.texts(), &others.texts()),
        }
    }

    /// As cells of a table.
    pub fn cells(&self) -> ColumnValues {
        self.numbers().map_or_else(|| ColumnValues::Names(self.texts()), ColumnValues::Integers)
    }

    /// Numbers, if they are.
    pub(super) fn numbers(&self) -> Option<Vec<i64>> {
        match self {
            Self::Place(rows) => Some(rows.clone().map(|row| row as i64).collect()),
            Self::Numbers(numbers) => Some(numbers.clone()),
            Self::Texts(_) => None,
        }
    }

    pub(super) fn texts(&self) -> Vec<String> {
        match self {
            Self::Texts(texts) => texts.clone(),
            _ => self.numbers().unwrap_or_default().iter().map(i64::to_string).collect(),
        }
    }

    /// Whether they are numbers that count up by one: then rows have the order that their places say.
    pub(super) fn count_up(&self) -> bool {
        match self {
            Self::Place(_) => true,
            Self::Numbers(numbers) => numbers.windows(2).all(|pair| pair[1].checked_sub(pair[0]) == Some(1)),
            Self::Texts(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_numbers_number_rows() {
        let of = |numbers: [f64; 2]| RowNames::of_numbers(numbers.into_iter());
        assert_eq!(of([7.0, -1.0]), Some(RowNames::Numbers(vec![7, -1])));
        assert_eq!([of([0.5, 1.0]), of([f64::NAN, 1.0]), of([1e300, 0.0])], [None, None, None]);
    }
}
