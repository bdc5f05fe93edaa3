//! Tall matrices as panels of a few columns: each panel is worked on by one thread, in the order of its rows, so that no sum depends on the
//! number of threads.

use ndarray::Array2;
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

/// As many columns as a panel has: few enough for registers, enough to make one pass over sparse rows worth its while.
const WIDTH: usize = 16;

/// A column that keeps less than this of its square, once what it shares with others is taken away, is one of rounding errors.
const NEGLIGIBLE_SQUARE: f64 = 1e-24;

type Row = [f64; WIDTH];
type Square = [Row; WIDTH];

/// A matrix `[n_rows, n_columns]`, whose number of columns is a multiple of 16.
pub(super) struct Panels {
    n_rows: usize,
    panels: Vec<Vec<Row>>,
}

/// `sums += factor · row`
pub(super) fn add(sums: &mut Row, factor: f64, row: &Row) {
    sums.iter_mut().zip(row).for_each(|(sum, &value)| *sum += factor * value);
}

/// `AᵀB`
fn products(a: &[Row], b: &[Row]) -> Square {
    let mut products = [[0.0; WIDTH]; WIDTH];
    for (a, b) in a.iter().zip(b) {
        products.iter_mut().zip(a).for_each(|(sums, &a)| add(sums, a, b));
    }
    products
}

/// `B −= A C`
fn subtract(b: &mut [Row], a: &[Row], c: &Square) {
    for (b, a) in b.iter_mut().zip(a) {
        c.iter().zip(a).for_each(|(c, &a)| add(b, -a, c));
    }
}

/// Makes the columns of a panel orthonormal, one after the other; those that keep nothing of their `squares` become zero.
fn orthonormalize_panel(panel: &mut [Row], squares: &Row) {
    for column in 0..WIDTH {
        let mut shared = [0.0; WIDTH];
        panel.iter().for_each(|row| add(&mut shared, row[column], row));
        let square = shared[column];
        if square <= NEGLIGIBLE_SQUARE * squares[column] {
            panel.iter_mut().for_each(|row| row[column] = 0.0);
            continue;
        }
        shared[..=column].fill(0.0);
        shared.iter_mut().for_each(|shared| *shared /= square);
        let scale = 1.0 / square.sqrt();
        for row in panel.iter_mut() {
            let value = row[column];
            add(row, -value, &shared);
            row[column] = value * scale;
        }
    }
}

impl Panels {
    /// Normal numbers, in at least `n_columns` columns.
    pub(super) fn normal(n_rows: usize, n_columns: usize, rng: &mut impl Rng) -> Self {
        let mut panel = || (0..n_rows).map(|_| std::array::from_fn(|_| StandardNormal.sample(rng))).collect();
        Self { n_rows, panels: (0..n_columns.div_ceil(WIDTH)).map(|_| panel()).collect() }
    }

    /// Each panel as `map` makes it.
    pub(super) fn map(&self, map: impl Fn(&[Row]) -> Vec<Row> + Sync) -> Self {
        Self { n_rows: self.n_rows, panels: self.panels.par_iter().map(|panel| map(panel)).collect() }
    }

    /// Makes the columns orthonormal, by Gram and Schmidt; a column that depends on those before it becomes zero.
    pub(super) fn orthonormalize(&mut self) {
        let squares: Vec<Row> = self.panels.par_iter().map(|panel| square_sums(panel)).collect();
        for place in 0..self.panels.len() {
            let (done, later) = self.panels.split_at_mut(place + 1);
            let panel = &mut done[place];
            orthonormalize_panel(panel, &squares[place]);
            later.par_iter_mut().for_each(|other| {
                let shared = products(panel, other);
                subtract(other, panel, &shared);
            });
        }
    }

    /// `AᵀB` of two matrices whose product is symmetric, `[n_columns, n_columns]`.
    pub(super) fn symmetric_products(&self, other: &Self) -> Array2<f64> {
        let n_panels = self.panels.len();
        let pairs: Vec<(usize, usize)> = (0..n_panels).flat_map(|i| (i..n_panels).map(move |j| (i, j))).collect();
        let blocks: Vec<Square> = pairs.par_iter().map(|&(i, j)| products(&self.panels[i], &other.panels[j])).collect();
        let mut all = Array2::zeros((n_panels * WIDTH, n_panels * WIDTH));
        for ((i, j), block) in pairs.into_iter().zip(blocks) {
            for (row, column) in (0..WIDTH).flat_map(|row| (0..WIDTH).map(move |column| (row, column))) {
                all[[i * WIDTH + row, j * WIDTH + column]] = block[row][column];
                all[[j * WIDTH + column, i * WIDTH + row]] = block[row][column];
            }
        }
        all
    }

    /// Adds row `row` times a matrix `[n_columns, n_sums]` to `sums`.
    pub(super) fn add_row_times(&self, row: usize, matrix: &Array2<f64>, sums: &mut [f64]) {
        let cells = self.panels.iter().flat_map(|panel| &panel[row]);
        for (&cell, factors) in cells.zip(matrix.rows()) {
            sums.iter_mut().zip(factors).for_each(|(sum, factor)| *sum += cell * factor);
        }
    }
}

/// The sum of squares of each column.
fn square_sums(panel: &[Row]) -> Row {
    let mut sums = [0.0; WIDTH];
    panel.iter().for_each(|row| sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value * value));
    sums
}

/// A panel of zeros.
pub(super) fn zeros(n_rows: usize) -> Vec<[f64; WIDTH]> {
    vec![[0.0; WIDTH]; n_rows]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::stream;

    #[test]
    fn columns_become_orthonormal_and_dependent_ones_zero() {
        for (n_rows, rank) in [(100, 48), (20, 20), (1, 1)] {
            let mut panels = Panels::normal(n_rows, 40, &mut stream(1, "test"));
            panels.orthonormalize();
            let products = panels.symmetric_products(&panels);
            assert_eq!(products.dim(), (48, 48));
            for ((i, j), product) in products.indexed_iter() {
                let expected = if i == j && i < rank { 1.0 } else { 0.0 };
                assert!((product - expected).abs() < 1e-12, "{n_rows} rows, {i} {j}: {product}");
            }
        }
    }
}
