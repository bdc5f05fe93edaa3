//! Many columns, most of whose cells are zero, as a few: principal components of columns that are scaled by half.
//!
//! ```text
//! z = (x − mean) · w,   w = 1 / √std  (0 for a constant column)
//! y = z V / s,          V = the leading right singular vectors of z,   s² = mean of all (z V)²
//! y = x · components − offset,   components = diag(w) V / s,   offset = mean · components
//! ```
//!
//! `w` is between leaving columns as they are, where common words are all there is, and standard deviations of 1, where each rare word
//! weighs as much as a common one.
//!
//! V by randomised subspace iteration ([Halko, Martinsson and Tropp 2011](https://arxiv.org/abs/0909.4061)): with G = zᵀz and Q random,
//! Q ← an orthonormal basis of G Q, a few times; then V = Q W with the leading eigenvectors W of QᵀG Q. Zeros cost nothing: z is
//! never made, and what is subtracted from each of its columns is subtracted from the products.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, s};
use rayon::prelude::*;

use super::panels::{Panels, add, zeros};
use crate::numerics::{SymmetricEigen, fill_rows, stream};
use crate::rows::SparseRows;
use crate::{Error, Result, ensure};

/// Directions beyond those asked for: the subspace holds the leading ones sooner.
const OVERSAMPLING: usize = 10;
/// How often the subspace is multiplied by G and made orthonormal.
const ITERATIONS: usize = 4;
/// An eigenvalue of zᵀz that is smaller than this share of the largest is a rounding error.
const NEGLIGIBLE_EIGENVALUE: f64 = 1e-12;
/// Rows that a thread projects at a time.
const ROWS_PER_CHUNK: usize = 64;

/// An affine map of many columns, such as counts of words, to the few directions in which rows differ most.
///
/// The mean of each new column is 0 on the rows of the fit, and the mean square of all new cells is 1: columns with more variance come
/// first and stay larger. The same seed gives the same numbers, whatever the number of threads.
///
/// ```
/// use labelflow_weak::linear::Projection;
/// use ndarray::array;
///
/// // Two words that go together, a third one that excludes them, and one of all texts.
/// let counts = array![[1.0, 1.0, 0.0, 1.0], [2.0, 2.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 2.0, 1.0]];
/// let projection = Projection::fit(counts.view(), 1, 0)?;
/// let projected = projection.transform(counts.view())?;
/// assert_eq!(projected.dim(), (4, 1));
/// assert_eq!(projected[[0, 0]] > 0.0, projected[[1, 0]] > 0.0);
/// assert_ne!(projected[[0, 0]] > 0.0, projected[[2, 0]] > 0.0);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Projection {
    components: Array2<f32>,
    offset: Array1<f32>,
}

/// What is subtracted from each column, and what it is multiplied by.
#[derive(Clone, Copy)]
struct Column {
    mean: f64,
    weight: f64,
}

fn columns_of(rows: &SparseRows) -> Vec<Column> {
    #[derive(Clone, Copy)]
    struct Tally {
        n: usize,
        sum: f64,
        squares: f64,
        lower: f32,
        upper: f32,
    }
    let n_rows = rows.n_rows();
    let empty = Tally { n: 0, sum: 0.0, squares: 0.0, lower: f32::INFINITY, upper: f32::NEG_INFINITY };
    let mut tallies = vec![empty; rows.n_columns()];
    for (column, value) in (0..n_rows).flat_map(|row| cells(rows, row)) {
        let tally = &mut tallies[column];
        (tally.n, tally.sum) = (tally.n + 1, tally.sum + f64::from(value));
        (tally.lower, tally.upper) = (tally.lower.min(value), tally.upper.max(value));
    }
    for (column, value) in (0..n_rows).flat_map(|row| cells(rows, row)) {
        let tally = &mut tallies[column];
        tally.squares += (f64::from(value) - tally.sum / n_rows as f64).powi(2);
    }
    let column = |tally: Tally| {
        let mean = tally.sum / n_rows as f64;
        let n_zeros = n_rows - tally.n;
        let (lower, upper) = match n_zeros {
            0 => (tally.lower, tally.upper),
            _ => (tally.lower.min(0.0), tally.upper.max(0.0)),
        };
        let variance = (tally.squares + n_zeros as f64 * mean * mean) / n_rows as f64;
        Column { mean, weight: if lower < upper { 1.0 / variance.sqrt().sqrt() } else { 0.0 } }
    };
    tallies.into_iter().map(column).collect()
}

/// The places and values of the cells of a row.
fn cells(rows: &SparseRows, row: usize) -> impl Iterator<Item = (usize, f32)> {
    let (columns, values) = rows.row(row);
    columns.iter().map(|&column| column as usize).zip(values.iter().copied())
}

/// `zᵀz Q`: a pass over all rows for each panel of Q.
fn multiply(rows: &SparseRows, columns: &[Column], q: &Panels) -> Panels {
    q.map(|panel| {
        let mut weighted = panel.to_vec();
        let mut shift = [0.0; _];
        for (row, column) in weighted.iter_mut().zip(columns) {
            row.iter_mut().for_each(|value| *value *= column.weight);
            add(&mut shift, -column.mean, row);
        }
        let (mut product, mut sums) = (zeros(panel.len()), [0.0; _]);
        for row in 0..rows.n_rows() {
            let mut projected = shift;
            cells(rows, row).for_each(|(column, value)| add(&mut projected, value.into(), &weighted[column]));
            cells(rows, row).for_each(|(column, value)| add(&mut product[column], value.into(), &projected));
            add(&mut sums, 1.0, &projected);
        }
        for (row, column) in product.iter_mut().zip(columns) {
            add(row, -column.mean, &sums);
            row.iter_mut().for_each(|value| *value *= column.weight);
        }
        product
    })
}

impl Projection {
    /// Of rows `[n_rows, d_features]`, to `n_components` columns, or as many as there are directions in which the rows differ.
    pub fn fit(features: ArrayView2<'_, f32>, n_components: usize, seed: u64) -> Result<Self> {
        Self::fit_sparse(&SparseRows::from_dense(features)?, n_components, seed)
    }

    /// The same of rows that keep no zeros.
    pub fn fit_sparse(rows: &SparseRows, n_components: usize, seed: u64) -> Result<Self> {
        ensure(n_components > 0, || Error::config("n_components", "at least 1", n_components))?;
        let (n_rows, d_features) = (rows.n_rows(), rows.n_columns());
        ensure(n_rows > 0 && d_features > 0, || {
            let found = format!("{n_rows} rows and {d_features} columns");
            Error::data("features", "at least one row and one column", found)
        })?;
        let columns = columns_of(rows);
        let n_varying = columns.iter().filter(|column| column.weight > 0.0).count();
        ensure(n_varying > 0, || {
            Error::data("features", "a column that differs between rows", "constant columns only")
                .with_hint("give features that differ between rows")
        })?;
        let n_most = n_components.min(n_varying).min(n_rows - 1);
        let n_sampled = (n_most + OVERSAMPLING).min(n_varying);
        let mut q = Panels::normal(d_features, n_sampled, &mut stream(seed, "projection"));
        for _ in 0..ITERATIONS {
            q = multiply(rows, &columns, &q);
            q.orthonormalize();
        }
        // Once more, since the first time leaves what columns that were nearly dependent had in common.
        q.orthonormalize();
        let SymmetricEigen { values, vectors } =
            SymmetricEigen::of(&q.symmetric_products(&multiply(rows, &columns, &q)));
        let is_of_rank = |value: &&f64| **value > NEGLIGIBLE_EIGENVALUE * values[0];
        let rank = values[..n_most].iter().take_while(is_of_rank).count();
        let leading = vectors.slice_move(s![..rank, ..]).reversed_axes().as_standard_layout().into_owned();
        let directions = fill_rows(d_features, rank, |row, sums| q.add_row_times(row, &leading, sums));
        let mean_square = values[..rank].iter().sum::<f64>() / (n_rows as f64 * rank as f64);
        Self::of_directions(&columns, directions, mean_square.sqrt())
    }

    /// With each direction turned so that its largest entry is positive.
    fn of_directions(columns: &[Column], mut directions: Array2<f64>, scale: f64) -> Result<Self> {
        let mut largest = Array1::<f64>::zeros(directions.ncols());
        for row in directions.rows() {
            largest.zip_mut_with(&row, |largest, &v| {
                if v.abs() > largest.abs() {
                    *largest = v;
                }
            });
        }
        let factors = largest.mapv(|largest| largest.signum() / scale);
        let mut offset = Array1::<f64>::zeros(directions.ncols());
        for (mut row, column) in directions.rows_mut().into_iter().zip(columns) {
            row.zip_mut_with(&factors, |v, factor| *v *= column.weight * factor);
            // Of the numbers that are kept, so that the mean of the new columns is 0 whatever rounding does to them.
            offset.zip_mut_with(&row, |offset, &v| *offset += column.mean * f64::from(v as f32));
        }
        Self::from_parts(directions.mapv(|v| v as f32), offset.mapv(|v| v as f32))
    }

    /// A projection whose numbers are known: `components`, `[d_features, n_components]`, and `offset`, `[n_components]`.
    pub fn from_parts(components: Array2<f32>, offset: Array1<f32>) -> Result<Self> {
        let (d_features, n_components) = components.dim();
        ensure(!components.is_empty(), || {
            let found = format!("{d_features} columns and {n_components} components");
            Error::data("projection", "at least one column and one component", found)
        })?;
        ensure(offset.len() == n_components, || {
            Error::data("projection", format!("{n_components} offsets, one for each component"), offset.len())
        })?;
        let numbers = components.iter().chain(&offset);
        match numbers.into_iter().find(|number| !number.is_finite()) {
            None => Ok(Self { components, offset }),
            Some(number) => Err(Error::data("projection", "finite numbers", number)),
        }
    }

    /// Rows `[n_rows, d_features]` in the new columns, `[n_rows, n_components]`.
    pub fn transform(&self, features: ArrayView2<'_, f32>) -> Result<Array2<f32>> {
        self.transform_sparse(&SparseRows::from_dense(features)?)
    }

    /// The same of rows that keep no zeros.
    pub fn transform_sparse(&self, rows: &SparseRows) -> Result<Array2<f32>> {
        ensure(rows.n_columns() == self.d_features(), || {
            Error::data("features", format!("{} columns, as in the fit", self.d_features()), rows.n_columns())
        })?;
        let width = self.n_components();
        let mut projected = vec![0.0; rows.n_rows() * width];
        projected.par_chunks_mut(ROWS_PER_CHUNK * width).enumerate().for_each(|(chunk, projected)| {
            let mut sums = Array1::<f64>::zeros(width);
            for (place, projected) in projected.chunks_exact_mut(width).enumerate() {
                sums.fill(0.0);
                for (column, value) in cells(rows, chunk * ROWS_PER_CHUNK + place) {
                    let value = f64::from(value);
                    sums.zip_mut_with(&self.components.row(column), |sum, &c| *sum += value * f64::from(c));
                }
                let numbers = projected.iter_mut().zip(&sums).zip(&self.offset);
                numbers.for_each(|((y, sum), &offset)| *y = (sum - f64::from(offset)) as f32);
            }
        });
        Ok(Array2::from_shape_vec((rows.n_rows(), width), projected).expect("n_rows × width numbers were allocated"))
    }

    /// What a row is multiplied by, `[d_features, n_components]`.
    pub fn components(&self) -> ArrayView2<'_, f32> {
        self.components.view()
    }

    /// What is subtracted from the product, `[n_components]`.
    pub fn offset(&self) -> ArrayView1<'_, f32> {
        self.offset.view()
    }

    /// The number of columns that are projected.
    pub fn d_features(&self) -> usize {
        self.components.nrows()
    }

    /// The number of columns that they become.
    pub fn n_components(&self) -> usize {
        self.components.ncols()
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Axis, array, concatenate};
    use rand::RngExt;

    use super::*;

    /// Counts of words, most of them rare.
    fn counts(n_rows: usize, d_features: usize, seed: u64) -> Array2<f32> {
        let mut rng = stream(seed, "counts");
        Array2::from_shape_fn((n_rows, d_features), |(row, column)| {
            let rate = 1.0 / (1.0 + 0.3 * ((column + 3 * (row % 4)) % d_features) as f64);
            let is_there = rng.random::<f64>() < 0.7 * rate;
            if is_there { rng.random_range(1..4) as f32 } else { 0.0 }
        })
    }

    /// z in full, by the definition.
    fn scaled(features: &Array2<f32>) -> Array2<f64> {
        let mut z = features.mapv(f64::from);
        for mut column in z.columns_mut() {
            let mean = column.mean().unwrap();
            column -= mean;
            let std = column.mapv(|z| z * z).mean().unwrap().sqrt();
            column *= if std < 1e-9 { 0.0 } else { 1.0 / std.sqrt() };
        }
        z
    }

    fn largest(numbers: &Array2<f64>) -> f64 {
        numbers.iter().fold(0.0, |largest, number| largest.max(number.abs()))
    }

    #[test]
    fn it_is_the_leading_part_of_the_full_decomposition() {
        // Fewer directions than are sampled, in columns or rows or all of them; more, of variances that fall off.
        let falling = counts(200, 30, 3) * Array1::from_shape_fn(30, |column| 0.6f32.powi(column as i32));
        let cases = [(counts(200, 20, 1), 10), (counts(25, 300, 2), 24), (counts(200, 30, 3), 30), (falling, 5)];
        for (features, k) in cases {
            let projection = Projection::fit(features.view(), k, 5).unwrap();
            assert_eq!(projection.n_components(), k);
            let projected = projection.transform(features.view()).unwrap().mapv(f64::from);
            let z = scaled(&features);
            let is_wide = z.ncols() > z.nrows();
            let eigen = SymmetricEigen::of(&if is_wide { z.dot(&z.t()) } else { z.t().dot(&z) });
            let vectors = eigen.vectors.slice(s![..k, ..]);
            // z V, whose columns are singular vectors of the rows times their singular values.
            let mut expected = match is_wide {
                true => &vectors.t() * &Array1::from_iter(eigen.values[..k].iter().map(|value| value.sqrt())),
                false => z.dot(&vectors.t()),
            };
            expected /= expected.mapv(|y| y * y).mean().unwrap().sqrt();
            let gram = |y: &Array2<f64>| y.dot(&y.t());
            let error = largest(&(gram(&projected) - gram(&expected))) / largest(&gram(&expected));
            assert!(error < 1e-4, "{error:e}");
        }
    }

    #[test]
    fn new_columns_have_mean_0_are_orthogonal_and_have_mean_square_1() {
        let features = counts(300, 80, 4);
        let projection = Projection::fit(features.view(), 12, 0).unwrap();
        let projected = projection.transform(features.view()).unwrap().mapv(f64::from);
        assert!(projected.mean_axis(Axis(0)).unwrap().iter().all(|mean| mean.abs() < 1e-6));
        assert!((projected.mapv(|y| y * y).mean().unwrap() - 1.0).abs() < 1e-5);
        let gram = projected.t().dot(&projected);
        let squares = gram.diag().to_owned();
        assert!(squares.as_slice().unwrap().is_sorted_by(|a, b| a >= b));
        assert!(largest(&(gram - Array2::from_diag(&squares))) < 1e-4 * squares[0]);
    }

    #[test]
    fn a_planted_matrix_of_low_rank_is_recovered() {
        let mut rng = stream(6, "planted");
        let mut numbers = |shape| Array2::from_shape_simple_fn(shape, || rng.random_range(-4..5) as f32);
        let features = numbers((150, 3)).dot(&numbers((3, 200)));
        let projection = Projection::fit(features.view(), 40, 1).unwrap();
        assert_eq!(projection.n_components(), 3);
        let projected = projection.transform(features.view()).unwrap().mapv(f64::from);
        let z = scaled(&features);
        // Each direction of z is one of the new columns: z = U Uᵀ z, U = the new columns with length 1.
        let lengths = projected.mapv(|y| y * y).sum_axis(Axis(0)).mapv(f64::sqrt);
        let unit = projected / lengths;
        let error = largest(&(&z - &unit.dot(&unit.t().dot(&z)))) / largest(&z);
        assert!(error < 1e-5, "{error:e}");
    }

    #[test]
    fn sparse_and_dense_agree_and_seeds_repeat() {
        let features = counts(100, 60, 7);
        let rows = SparseRows::from_dense(features.view()).unwrap();
        let projection = Projection::fit(features.view(), 8, 3).unwrap();
        assert_eq!(Projection::fit_sparse(&rows, 8, 3).unwrap(), projection);
        let projected = projection.transform_sparse(&rows).unwrap();
        assert_eq!(projection.transform(features.view()).unwrap(), projected);
        let by_definition = features.dot(&projection.components()) - projection.offset();
        assert!(largest(&(projected - by_definition).mapv(f64::from)) < 1e-5);
        assert_eq!(projection.transform(Array2::zeros((0, 60)).view()).unwrap().dim(), (0, 8));
        // Cells that hold zero are those that are not there.
        let columns = (0..100).flat_map(|_| 0..60).collect();
        let full =
            SparseRows::new((0..=100).map(|row| row * 60).collect(), columns, features.into_iter().collect(), 60);
        let of_full = Projection::fit_sparse(&full.unwrap(), 8, 3).unwrap();
        assert!(largest(&(&of_full.components() - &projection.components()).mapv(f64::from)) < 1e-5);
    }

    #[test]
    fn the_number_of_threads_changes_nothing() {
        let features = counts(600, 120, 8);
        let fit_with = |n_threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
            pool.install(|| {
                let projection = Projection::fit(features.view(), 30, 3).unwrap();
                let projected = projection.transform(features.view()).unwrap();
                (projection, projected)
            })
        };
        assert_eq!(fit_with(1), fit_with(3));
    }

    #[test]
    fn constant_columns_do_not_matter() {
        let features = counts(80, 15, 9);
        let constant = Array2::from_elem((80, 1), 0.1f32);
        let wider = concatenate![Axis(1), constant, features, Array2::zeros((80, 2))];
        let (of_all, of_others) = [&wider, &features]
            .map(|rows| Projection::fit(rows.view(), 5, 0).unwrap().transform(rows.view()).unwrap())
            .into();
        assert!(largest(&(of_all - of_others).mapv(f64::from)) < 1e-4);
        let projection = Projection::fit(wider.view(), 5, 0).unwrap();
        assert!([0, 16, 17].iter().all(|&column| projection.components().row(column).iter().all(|&c| c == 0.0)));
    }

    #[test]
    fn duplicates_share_a_direction() {
        let features = counts(80, 4, 10);
        let doubled = concatenate![Axis(1), features, features, features];
        let projection = Projection::fit(doubled.view(), 12, 0).unwrap();
        assert_eq!(projection.n_components(), 4);
        let components = projection.components();
        assert!(largest(&(&components.slice(s![..4, ..]) - &components.slice(s![4..8, ..])).mapv(f64::from)) < 1e-5);
        let duplicated_rows = concatenate![Axis(0), features.slice(s![..2, ..]), features.slice(s![..2, ..])];
        assert_eq!(Projection::fit(duplicated_rows.view(), 12, 0).unwrap().n_components(), 1);
    }

    #[test]
    fn columns_far_from_zero_are_centred() {
        let near = counts(120, 10, 11);
        let far = &near + 1000.0;
        let [near, far] =
            [near, far].map(|rows| Projection::fit(rows.view(), 4, 0).unwrap().transform(rows.view()).unwrap());
        assert!(largest(&(near - far).mapv(f64::from)) < 1e-3);
    }

    #[test]
    fn rows_that_do_not_differ_and_bad_tables_are_errors() {
        let error = Projection::fit(Array2::ones((5, 3)).view(), 2, 0).unwrap_err().to_string();
        assert!(error.starts_with("features: expected a column that differs between rows, found constant columns"));
        assert!(Projection::fit(array![[1.0, 2.0]].view(), 2, 0).is_err());
        assert!(Projection::fit(Array2::zeros((0, 3)).view(), 2, 0).is_err());
        assert!(Projection::fit(array![[1.0], [f32::NAN]].view(), 2, 0).is_err());
        let features = array![[1.0, 2.0], [3.0, 0.0]];
        assert!(Projection::fit(features.view(), 0, 0).unwrap_err().to_string().starts_with("n_components"));
        let projection = Projection::fit(features.view(), usize::MAX, 0).unwrap();
        assert_eq!((projection.d_features(), projection.n_components()), (2, 1));
        let error = projection.transform(array![[1.0]].view()).unwrap_err();
        assert_eq!(error.to_string(), "features: expected 2 columns, as in the fit, found 1");
        assert!(projection.transform(array![[1.0, f32::NAN]].view()).is_err());
    }

    #[test]
    fn parts_are_checked() {
        let features = counts(30, 8, 12);
        let projection = Projection::fit(features.view(), 3, 0).unwrap();
        let (components, offset) = (projection.components().to_owned(), projection.offset().to_owned());
        assert_eq!(Projection::from_parts(components.clone(), offset.clone()).unwrap(), projection);
        assert!(Projection::from_parts(components.clone(), Array1::zeros(2)).is_err());
        assert!(Projection::from_parts(Array2::zeros((0, 3)), offset.clone()).is_err());
        assert!(Projection::from_parts(components.clone(), Array1::from_elem(3, f32::NAN)).is_err());
        assert!(Projection::from_parts(components * f32::INFINITY, offset).is_err());
    }
}
