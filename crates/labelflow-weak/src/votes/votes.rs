//! Hard votes, one byte each.

use std::fmt;
use std::sync::Arc;

use ndarray::{Array2, ArrayView2, Axis};

use crate::{Error, Result, ensure};

/// The byte that stands for "no opinion".
pub const ABSTAIN: u8 = u8::MAX;

/// Votes of `n_signals` labelers on `n_rows` rows: a class index, or [`ABSTAIN`].
///
/// ```
/// use labelflow_weak::votes::{ABSTAIN, Votes};
/// use ndarray::array;
///
/// let votes = Votes::from_indices(array![[0, 1], [-1, 1]].view(), None)?;
/// assert_eq!((votes.n_rows(), votes.n_signals(), votes.n_classes()), (2, 2, 2));
/// assert_eq!(votes.get(1, 0), None);
/// assert_eq!(votes.bytes()[[1, 0]], ABSTAIN);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
///
/// The bytes may belong to somebody else, see [`from_shared`](Self::from_shared); a clone shares them.
#[derive(Clone)]
pub struct Votes {
    /// Row after row.
    bytes: Arc<dyn AsRef<[u8]> + Send + Sync>,
    n_rows: usize,
    n_signals: usize,
    n_classes: usize,
}

impl fmt::Debug for Votes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Votes").field("bytes", &self.bytes()).field("n_classes", &self.n_classes).finish()
    }
}

impl PartialEq for Votes {
    fn eq(&self, other: &Self) -> bool {
        self.n_classes == other.n_classes && self.bytes() == other.bytes()
    }
}

impl Eq for Votes {}

impl Votes {
    /// Votes that are bytes already; entries are below `n_classes` or [`ABSTAIN`].
    pub fn from_bytes(bytes: Array2<u8>, n_classes: usize) -> Result<Self> {
        check_n_classes(n_classes)?;
        let out_of_range = |&vote: &u8| vote != ABSTAIN && usize::from(vote) >= n_classes;
        if let Some(((row, signal), vote)) = bytes.indexed_iter().find(|(_, vote)| out_of_range(vote)) {
            return Err(vote_out_of_range(row, signal, vote, n_classes));
        }
        Ok(Self::row_major(bytes, n_classes))
    }

    /// Keeps each row's bytes side by side, which is what every pass over the votes reads.
    fn row_major(bytes: Array2<u8>, n_classes: usize) -> Self {
        let (n_rows, n_signals) = bytes.dim();
        let by_rows = if bytes.is_standard_layout() {
            bytes.into_raw_vec_and_offset()
        } else {
            (bytes.iter().copied().collect(), Some(0))
        };
        let bytes = match by_rows {
            (bytes, Some(0) | None) if bytes.len() == n_rows * n_signals => bytes,
            // Part of a larger array.
            (bytes, start) => bytes[start.unwrap_or(0)..][..n_rows * n_signals].to_vec(),
        };
        Self { bytes: Arc::new(bytes), n_rows, n_signals, n_classes }
    }

    /// Votes in memory that somebody else owns, row after row: a class, or [`ABSTAIN`], which as a signed byte is −1.
    /// Nothing is copied. Without `n_classes` it is the largest vote plus one.
    ///
    /// The owner must not change the bytes as long as the votes live: they are checked here, once.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use labelflow_weak::votes::{ABSTAIN, Votes};
    ///
    /// let votes = Votes::from_shared(Arc::new([0, 1, ABSTAIN, 1]), 2, None)?;
    /// assert_eq!((votes.n_rows(), votes.n_signals(), votes.n_classes()), (2, 2, 2));
    /// assert_eq!((votes.get(0, 1), votes.get(1, 0)), (Some(1), None));
    /// # Ok::<(), labelflow_weak::Error>(())
    /// ```
    pub fn from_shared(
        bytes: Arc<dyn AsRef<[u8]> + Send + Sync>,
        n_signals: usize,
        n_classes: Option<usize>,
    ) -> Result<Self> {
        let votes = (*bytes).as_ref();
        if n_signals == 0 || !votes.len().is_multiple_of(n_signals) {
            let expected = format!("rows of {n_signals} votes, at least one");
            return Err(Error::data("signals", expected, format!("{} votes", votes.len())));
        }
        // Plus one, an abstention is zero.
        let largest = votes.iter().map(|vote| vote.wrapping_add(1)).max().unwrap_or(0);
        let n_classes = n_classes_or_found(n_classes, usize::from(largest))?;
        if usize::from(largest) > n_classes {
            let is_wrong = |&vote: &u8| vote != ABSTAIN && usize::from(vote) >= n_classes;
            let place = votes.iter().position(is_wrong).expect("the largest is one");
            let (row, signal) = (place / n_signals, place % n_signals);
            return Err(vote_out_of_range(row, signal, votes[place], n_classes));
        }
        let n_rows = votes.len() / n_signals;
        Ok(Self { bytes, n_rows, n_signals, n_classes })
    }

    /// Votes as integers, −1 for an abstention. Without `n_classes` it is the largest vote plus one.
    pub fn from_indices(votes: ArrayView2<'_, i64>, n_classes: Option<usize>) -> Result<Self> {
        let largest = votes.iter().copied().max().unwrap_or(-1).max(-1);
        let n_classes = n_classes_or_found(n_classes, (largest + 1) as usize)?;
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
        let vote = self.row_bytes(row)[signal];
        (vote != ABSTAIN).then_some(usize::from(vote))
    }

    /// All votes as bytes, `[n_rows, n_signals]`.
    pub fn bytes(&self) -> ArrayView2<'_, u8> {
        let shape = (self.n_rows, self.n_signals);
        ArrayView2::from_shape(shape, self.as_slice()).expect("as many bytes as votes")
    }

    /// One row's votes as bytes.
    pub fn row_bytes(&self, row: usize) -> &[u8] {
        &self.as_slice()[row * self.n_signals..][..self.n_signals]
    }

    /// All votes as bytes, row after row.
    pub fn as_slice(&self) -> &[u8] {
        (*self.bytes).as_ref()
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Number of labelers.
    pub fn n_signals(&self) -> usize {
        self.n_signals
    }

    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        self.n_classes
    }

    /// The rows with these indices, in this order.
    #[must_use]
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        Self::row_major(self.bytes().select(Axis(0), rows), self.n_classes)
    }
}

/// The labelers that vote in a row, each with the class it votes for.
pub(crate) fn cast_votes(row: &[u8]) -> impl Iterator<Item = (usize, usize)> {
    let voting = row.iter().enumerate().filter(|(_, vote)| **vote != ABSTAIN);
    voting.map(|(signal, &vote)| (signal, usize::from(vote)))
}

/// The number of classes as named, or else as found: the largest vote plus one.
fn n_classes_or_found(named: Option<usize>, found: usize) -> Result<usize> {
    if named.is_none() && found < 2 {
        let found = if found == 0 { "only abstentions" } else { "only votes for class 0" };
        return Err(Error::data("signals", "votes for at least two classes", found)
            .with_hint("name the number of classes if other classes exist but got no vote"));
    }
    let n_classes = named.unwrap_or(found);
    check_n_classes(n_classes)?;
    Ok(n_classes)
}

pub(crate) fn check_n_classes(n_classes: usize) -> Result<()> {
    let is_possible = (2..=usize::from(ABSTAIN)).contains(&n_classes);
    ensure(is_possible, || Error::config("n_classes", format!("2 to {ABSTAIN}"), n_classes))
}

fn vote_out_of_range(row: usize, signal: usize, vote: impl std::fmt::Display, n_classes: usize) -> Error {
    let expected = format!("a class from 0 to {}, or -1 for an abstention", n_classes - 1);
    Error::data(format!("signals, row {row}, labeler {signal}"), expected, vote)
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
    fn a_part_of_a_larger_array_keeps_its_own_bytes_only() {
        let whole = array![[9u8, 9], [0, 1], [1, 1], [9, 9]];
        let votes = Votes::from_bytes(whole.slice_move(ndarray::s![1..3, ..]), 2).unwrap();
        assert_eq!(votes.as_slice(), [0, 1, 1, 1]);
    }

    #[test]
    fn shared_bytes_are_checked_and_not_copied() {
        let bytes = Arc::new(vec![0u8, 2, ABSTAIN, 1]);
        let votes = Votes::from_shared(bytes.clone(), 2, None).unwrap();
        assert_eq!(votes.as_slice().as_ptr(), bytes.as_ptr());
        assert_eq!(votes, Votes::from_bytes(array![[0, 2], [ABSTAIN, 1]], 3).unwrap());
        let error = |bytes: &[u8], n_signals, n_classes| {
            let bytes = Arc::new(bytes.to_vec());
            Votes::from_shared(bytes, n_signals, n_classes).unwrap_err().to_string()
        };
        assert_eq!(
            error(&[0, 2, ABSTAIN, 1], 2, Some(2)),
            "signals, row 0, labeler 1: expected a class from 0 to 1, or -1 for an abstention, found 2"
        );
        assert!(error(&[0, 1, 1], 2, None).contains("found 3 votes"));
        assert!(error(&[0, 1], 0, None).contains("found 2 votes"));
        assert!(error(&[ABSTAIN; 2], 2, None).contains("found only abstentions"));
        assert!(error(&[0; 2], 1, None).contains("found only votes for class 0"));
    }

    #[test]
    fn one_class_only_is_an_error() {
        assert!(Votes::from_indices(array![[0, 0]].view(), None).is_err());
        assert!(Votes::from_indices(array![[-1, -1]].view(), None).is_err());
        assert!(Votes::from_indices(array![[0, 0]].view(), Some(1)).is_err());
        assert_eq!(Votes::from_indices(array![[0, 0]].view(), Some(2)).unwrap().n_classes(), 2);
    }
}
