//! Hard votes, one byte each.

use ndarray::{Array2, ArrayView1, ArrayView2, Axis};

use crate::{Error, Result};

/// The byte that stands for "no opinion".
pub const ABSTAIN: u8 = u8::MAX;

/// Votes of `n_signals` labelers on `n_rows` rows: a class index, or [`ABSTAIN`].
///
/// ```
/// use labelflow_weak::{ABSTAIN, Votes};
/// use ndarray::array;
///
/// let votes = Votes::from_indices(array![[0, 1], [-1, 1]].view(), None)?;
/// assert_eq!((votes.n_rows(), votes.n_signals(), votes.n_classes()), (2, 2, 2));
/// assert_eq!(votes.get(1, 0), None);
/// assert_eq!(votes.bytes()[[1, 0]], ABSTAIN);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Votes {
    bytes: Array2<u8>,
    n_classes: usize,
}

impl Votes {
    /// Votes that are bytes already; entries are below `n_classes` or [`ABSTAIN`].
    pub fn from_bytes(bytes: Array2<u8>, n_classes: usize) -> Result<Self> {
        check_n_classes(n_classes)?;
        let out_of_range = |&vote: &u8| vote != ABSTAIN && usize::from(vote) >= n_classes;
        if let Some(((row, signal), vote)) =
            bytes.indexed_iter().find(|(_, vote)| out_of_range(vote))
        {
            return Err(vote_out_of_range(row, signal, vote, n_classes));
        }
        Ok(Self::row_major(bytes, n_classes))
    }

    /// Keeps each row's bytes side by side, which is what every pass over the votes reads.
    fn row_major(bytes: Array2<u8>, n_classes: usize) -> Self {
        let bytes = if bytes.is_standard_layout() {
            bytes
        } else {
            bytes.as_standard_layout().into_owned()
        };
        Self { bytes, n_classes }
    }

    /// Votes as integers, −1 for an abstention. Without `n_classes` it is the largest vote plus one.
    pub fn from_indices(votes: ArrayView2<'_, i64>, n_classes: Option<usize>) -> Result<Self> {
        let largest = votes.iter().copied().max().unwrap_or(-1);
        let n_classes = match n_classes {
            Some(n_classes) => n_classes,
            None if largest < 1 => {
                return Err(Error::data(
                    "signals",
                    "votes for at least two classes",
                    if largest < 0 { "only abstentions" } else { "only votes for class 0" },
                )
                .with_hint("name the number of classes if other classes exist but got no vote"));
            }
            None => largest as usize + 1,
        };
        check_n_classes(n_classes)?;
        let mut bytes = Array2::from_elem(votes.raw_dim(), ABSTAIN);
        for (((row, signal), &vote), byte) in votes.indexed_iter().zip(bytes.iter_mut()) {
            if vote >= 0 && (vote as usize) < n_classes {
                *byte = vote as u8;
            } else if vote != -1 {
                return Err(vote_out_of_range(row, signal, vote, n_classes));
            }
        }
        Ok(Self::row_major(bytes, n_classes))
    }

    /// The vote of labeler `signal` on `row`, or nothing where it abstains.
    pub fn get(&self, row: usize, signal: usize) -> Option<usize> {
        let vote = self.bytes[[row, signal]];
        (vote != ABSTAIN).then_some(usize::from(vote))
    }

    /// All votes as bytes, `[n_rows, n_signals]`.
    pub fn bytes(&self) -> ArrayView2<'_, u8> {
        self.bytes.view()
    }

    /// One row's votes as bytes.
    pub fn row(&self, row: usize) -> ArrayView1<'_, u8> {
        self.bytes.row(row)
    }

    /// One row's votes as a slice of bytes.
    pub fn row_bytes(&self, row: usize) -> &[u8] {
        let n_signals = self.n_signals();
        &self.as_slice()[row * n_signals..][..n_signals]
    }

    /// All votes as bytes, row after row.
    pub fn as_slice(&self) -> &[u8] {
        self.bytes.as_slice().expect("votes are stored row after row")
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.bytes.nrows()
    }

    /// Number of labelers.
    pub fn n_signals(&self) -> usize {
        self.bytes.ncols()
    }

    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        self.n_classes
    }

    /// The rows with these indices, in this order.
    #[must_use]
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        Self::row_major(self.bytes.select(Axis(0), rows), self.n_classes)
    }
}

fn check_n_classes(n_classes: usize) -> Result<()> {
    if (2..=usize::from(ABSTAIN)).contains(&n_classes) {
        return Ok(());
    }
    Err(Error::config("n_classes", format!("2 to {ABSTAIN}"), n_classes))
}

fn vote_out_of_range(
    row: usize,
    signal: usize,
    vote: impl std::fmt::Display,
    n_classes: usize,
) -> Error {
    Error::data(
        format!("signals, row {row}, labeler {signal}"),
        format!("a class from 0 to {}, or -1 for an abstention", n_classes - 1),
        vote,
    )
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn a_vote_out_of_range_names_its_place() {
        let error = Votes::from_indices(array![[0, 1], [1, 7]].view(), Some(3)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "signals, row 1, labeler 1: expected a class from 0 to 2, or -1 for an abstention, found 7"
        );
        assert!(Votes::from_indices(array![[0, -2]].view(), Some(2)).is_err());
        assert!(Votes::from_bytes(array![[0, 2]], 2).is_err());
    }

    #[test]
    fn rows_are_stored_side_by_side_whatever_the_layout_given() {
        let by_column = array![[0u8, 1], [1, ABSTAIN], [0, 0]].reversed_axes();
        let votes = Votes::from_bytes(by_column, 2).unwrap();
        assert_eq!(votes.as_slice(), [0, 1, 0, 1, ABSTAIN, 0]);
        assert_eq!(votes.row_bytes(1), [1, ABSTAIN, 0]);
        assert_eq!(votes.select_rows(&[1]).as_slice(), [1, ABSTAIN, 0]);
    }

    #[test]
    fn one_class_only_is_an_error() {
        assert!(Votes::from_indices(array![[0, 0]].view(), None).is_err());
        assert!(Votes::from_indices(array![[-1, -1]].view(), None).is_err());
        assert!(Votes::from_indices(array![[0, 0]].view(), Some(1)).is_err());
        assert_eq!(Votes::from_indices(array![[0, 0]].view(), Some(2)).unwrap().n_classes(), 2);
    }
}
