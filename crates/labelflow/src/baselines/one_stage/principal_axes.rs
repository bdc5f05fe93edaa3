//! Few columns along which groups of rows differ as much as possible.
//!
//! ```text
//! M the mean rows of the groups, centred and weighted,   Q ← orthonormal basis of Mᵀ M Q, again and again
//! z = (x − mean of all rows) Q / (its deviation, column by column)
//! ```

use ndarray::{Array1, Array2, ArrayView2, Axis};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// Rounds of the iteration: the axes need not be exact.
const N_ROUNDS: usize = 12;
/// What is shorter, of vectors that were of length one or more, is nothing.
const SMALL: f32 = 1e-5;

/// As many axes there are, though rows do not differ along them: a coupling needs one axis to keep.
const N_LEAST: usize = 2;

/// A projection onto few directions, in which some rows have mean 0 and deviation 1.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PrincipalAxes {
    means: Array1<f32>,
    /// `[d_features, n_axes]`
    axes: Array2<f32>,
}

impl PrincipalAxes {
    /// At most so many axes of these rows, `[n_rows, d_features]`, in the order of how much the groups' differences from the mean row,
    /// `[n_groups, d_features]`, lie along them.
    pub(super) fn fit(
        rows: ArrayView2<'_, f32>,
        differences: ArrayView2<'_, f32>,
        n_axes: usize,
        rng: &mut ChaCha8Rng,
    ) -> Self {
        let mut axes = Array2::from_shape_simple_fn((rows.ncols(), n_axes), || StandardNormal.sample(rng));
        for _ in 0..N_ROUNDS {
            axes = differences.t().dot(&differences.dot(&axes));
            orthonormalize(&mut axes);
        }
        let means = rows.mean_axis(Axis(0)).expect("there are rows");
        let deviations = (&rows - &means).dot(&axes).std_axis(Axis(0), 0.0);
        for (mut axis, &deviation) in axes.columns_mut().into_iter().zip(&deviations) {
            axis.mapv_inplace(|value| if deviation > SMALL { value / deviation } else { 0.0 });
        }
        // An axis along which nothing varies has an endless density.
        let kept: Vec<usize> = (0..n_axes).filter(|&axis| axis < N_LEAST || deviations[axis] > SMALL).collect();
        Self { means, axes: axes.select(Axis(1), &kept) }
    }

    /// `[n_rows, n_axes]`
    pub(super) fn project(&self, rows: ArrayView2<'_, f32>) -> Array2<f32> {
        (&rows - &self.means).dot(&self.axes)
    }
}

/// Makes columns orthogonal, from the first one on, and of length one; zero where nothing is left.
fn orthonormalize(columns: &mut Array2<f32>) {
    for column in 0..columns.ncols() {
        let mut this = columns.column(column).to_owned();
        let before = this.dot(&this).sqrt();
        for earlier in 0..column {
            let earlier = columns.column(earlier);
            let overlap = this.dot(&earlier);
            this.scaled_add(-overlap, &earlier);
        }
        let length = this.dot(&this).sqrt();
        let is_left = length > SMALL * before;
        this.mapv_inplace(|value| if is_left { value / length } else { 0.0 });
        columns.column_mut(column).assign(&this);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::training::stream;

    #[test]
    fn the_directions_of_the_largest_differences_are_found_and_have_unit_deviation() {
        let mut rng = stream(0, "test", 0);
        let noise: Array2<f32> = Array2::from_shape_simple_fn((500, 6), || StandardNormal.sample(&mut rng));
        // Columns 2 and 4 vary most.
        let spreads = [0.1, 0.1, 5.0, 0.1, 3.0, 0.0];
        let rows = Array2::from_shape_fn((500, 6), |(row, column)| 7.0 + spreads[column] * noise[[row, column]]);
        let centred = &rows - &rows.mean_axis(Axis(0)).unwrap();
        let axes = PrincipalAxes::fit(rows.view(), centred.view(), 2, &mut rng);
        let z = axes.project(rows.view());
        for (axis, column) in [(0, 2), (1, 4)] {
            let overlap = (&z.column(axis) * &noise.column(column)).mean().unwrap().abs();
            assert!(overlap > 0.95, "axis {axis}: {overlap}");
            assert!((z.column(axis).std(0.0) - 1.0).abs() < 1e-3);
        }
    }

    #[test]
    fn rows_that_do_not_differ_are_at_zero() {
        let rows = Array2::from_elem((3, 2), 5.0);
        let none = Array2::zeros((1, 2));
        let axes = PrincipalAxes::fit(rows.view(), none.view(), 4, &mut stream(0, "test", 0));
        assert_eq!(axes.project(rows.view()), Array2::<f32>::zeros((3, 2)));
    }
}
