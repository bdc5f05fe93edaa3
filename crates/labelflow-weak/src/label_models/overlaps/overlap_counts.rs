//! How often votes occur together: all that methods of moments know of the votes.
//!
//! ```text
//! ψ[i][j·k + c] = 1 if labeler j votes for class c on row i, else 0   (an abstention is all zeros)
//! O = ψᵀψ / n
//! ```
//!
//! The diagonal holds how often each vote occurs. The matrix comes from counts, which are exact, so neither the order
//! of the rows nor the number of threads changes a bit of it.

use ndarray::Array2;

use crate::label_models::SignalShape;
use crate::votes::{VotePatterns, cast_votes};

/// O, `[n_signals · n_classes, n_signals · n_classes]`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Overlaps {
    /// Labelers and classes of the votes.
    pub(crate) shape: SignalShape,
    n_rows: f64,
    /// n O.
    pub(crate) counts: Array2<f64>,
    /// O.
    pub(crate) values: Array2<f64>,
}

impl Overlaps {
    /// Counts the votes of counted rows in one pass.
    pub(crate) fn of_patterns(patterns: &VotePatterns, shape: SignalShape) -> Self {
        let width = shape.n_signals * shape.n_classes;
        let upper = patterns.sum(width * width, |patterns, sums| {
            let mut cast = Vec::with_capacity(shape.n_signals);
            for (votes, count) in patterns {
                cast.clear();
                cast.extend(cast_votes(votes).map(|(signal, class)| signal * shape.n_classes + class));
                for (position, &vote) in cast.iter().enumerate() {
                    let sums = &mut sums[vote * width..][..width];
                    // Labelers come in order, so this is the upper triangle. Whole numbers add up exactly in a float.
                    cast[position..].iter().for_each(|&other| sums[other] += count);
                }
            }
        });
        let counts =
            Array2::from_shape_fn((width, width), |(row, column)| upper[row.min(column) * width + row.max(column)]);
        let n_rows = patterns.n_rows();
        Self { shape, n_rows, values: &counts / n_rows, counts }
    }

    /// How often each labeler votes for each class, the diagonal of O, `[n_signals · n_classes]`.
    pub(crate) fn frequencies(&self) -> Vec<f64> {
        self.values.diag().to_vec()
    }

    /// The share of rows on which each labeler votes, `[n_signals]`; exactly 1 where it never abstains.
    pub(crate) fn coverages(&self) -> Vec<f64> {
        let counts = self.counts.diag().to_vec();
        counts.chunks_exact(self.shape.n_classes).map(|c| c.iter().sum::<f64>() / self.n_rows).collect()
    }
}

#[cfg(test)]
impl Overlaps {
    /// Those of rows.
    pub(crate) fn of(votes: &crate::votes::Votes) -> Self {
        let shape = SignalShape { n_signals: votes.n_signals(), n_classes: votes.n_classes() };
        Self::of_patterns(&VotePatterns::of(votes), shape)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use proptest::prelude::*;

    use super::*;
    use crate::votes::{ABSTAIN, Votes};

    #[test]
    fn a_small_matrix_is_counted_by_hand() {
        let votes = array![[0, 1], [0, -1], [1, 1], [-1, -1]];
        let overlaps = Overlaps::of(&Votes::from_indices(votes.view(), None).unwrap());
        let expected =
            array![[0.5, 0.0, 0.0, 0.25], [0.0, 0.25, 0.0, 0.25], [0.0, 0.0, 0.0, 0.0], [0.25, 0.25, 0.0, 0.5],];
        assert_eq!(overlaps.values.view(), expected);
        assert_eq!(overlaps.frequencies(), [0.5, 0.25, 0.0, 0.5]);
        assert_eq!(overlaps.coverages(), [0.75, 0.5]);
    }

    proptest! {
        #[test]
        fn it_is_the_product_of_one_hot_votes(bytes in proptest::collection::vec(0u8..4, 3..90)) {
            let n_rows = bytes.len() / 3;
            let bytes: Vec<u8> = bytes[..3 * n_rows]
                .iter()
                .map(|&vote| if vote == 3 { ABSTAIN } else { vote })
                .collect();
            let bytes = Array2::from_shape_vec((n_rows, 3), bytes).unwrap();
            let one_hot = Array2::from_shape_fn((n_rows, 9), |(row, place)| {
                f64::from(u8::from(usize::from(bytes[[row, place / 3]]) == place % 3))
            });
            let overlaps = Overlaps::of(&Votes::from_bytes(bytes, 3).unwrap());
            prop_assert_eq!(overlaps.values.view(), one_hot.t().dot(&one_hot) / n_rows as f64);
        }

        #[test]
        fn neither_threads_nor_the_order_of_rows_change_a_bit(seed in 0usize..1000) {
            let bytes = Array2::from_shape_fn((2500, 6), |(row, signal)| {
                let mixed = (row * 7919 + signal * 104_729 + row * signal + seed) % 13 % 4;
                if mixed == 3 { ABSTAIN } else { mixed as u8 }
            });
            let reversed = bytes.slice(ndarray::s![..;-1, ..]).to_owned();
            let overlaps = |bytes: &Array2<u8>, n_threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
                pool.install(|| Overlaps::of(&Votes::from_bytes(bytes.clone(), 3).unwrap()))
            };
            let one = overlaps(&bytes, 1);
            prop_assert_eq!(&overlaps(&bytes, 3), &one);
            prop_assert_eq!(&overlaps(&reversed, 2), &one);
        }
    }
}
