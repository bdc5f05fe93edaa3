//! Cells so far from the others of their column that they would flatten it.
//!
//! ```text
//! rest      = the column without its farthest cells: at most 1 % of them, one at least, and at most 16
//! outliers  = the most of those of which the nearest alone makes the deviation of the rest 20 times as large
//! ```
//!
//! A column of which more than nine cells in ten are equal has none: what occurs rarely is rare, not wrong.
//!
//! The 16 smallest and the 16 largest cells are kept, and the mean and the deviation of all others: so one pass in bounded memory is
//! enough, and the same cells are found whatever parts the rows come in.

/// At most so many outliers, and so many cells kept of each end.
const MOST: usize = 16;
/// At most this share of the cells.
const MOST_SHARE: f64 = 0.01;
/// A deviation this many times as large as without a cell makes it an outlier.
const FLATTENED: f64 = 20.0;
/// Of fewer cells nobody can tell.
const LEAST_ROWS: u64 = 10;
/// A column with this share of equal cells has no outliers.
const MOST_EQUAL: f64 = 0.9;

/// The ends of a column, and what lies between them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ExtremeCells {
    /// Ascending.
    smallest: Vec<Cell>,
    /// Descending.
    largest: Vec<Cell>,
    others: Spread,
    /// The value of most cells, if there is one, and how many more cells have it than have not, at least.
    common: f64,
    lead: u64,
}

/// A cell of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cell {
    pub(crate) row: u64,
    pub(crate) value: f64,
}

/// The middle and the size of some numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) n: f64,
    pub(crate) mean: f64,
    /// Σ (x − mean)²
    pub(crate) squares: f64,
    pub(crate) lower: f64,
    pub(crate) upper: f64,
}

/// A column without its outliers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rest {
    pub(crate) spread: Spread,
    /// The farthest first.
    pub(crate) outliers: Vec<Cell>,
}

impl Default for Spread {
    fn default() -> Self {
        Self { n: 0.0, mean: 0.0, squares: 0.0, lower: f64::INFINITY, upper: f64::NEG_INFINITY }
    }
}

impl Spread {
    fn add(&mut self, value: f64) {
        self.n += 1.0;
        let difference = value - self.mean;
        self.mean += difference / self.n;
        self.squares += difference * (value - self.mean);
        (self.lower, self.upper) = (self.lower.min(value), self.upper.max(value));
    }

    /// Adds other numbers.
    pub(crate) fn merge(&mut self, other: Self) {
        let n_all = self.n + other.n;
        let difference = other.mean - self.mean;
        self.mean += difference * other.n / n_all;
        self.squares += other.squares + difference.powi(2) * self.n * other.n / n_all;
        self.lower = self.lower.min(other.lower);
        self.upper = self.upper.max(other.upper);
        self.n = n_all;
    }

    /// The standard deviation, divided by n.
    pub(crate) fn deviation(&self) -> f64 {
        (self.squares / self.n).sqrt()
    }
}

impl ExtremeCells {
    pub(crate) fn add(&mut self, row: u64, value: f64) {
        match (value == self.common, self.lead) {
            (true, _) => self.lead += 1,
            (false, 0) => (self.common, self.lead) = (value, 1),
            (false, _) => self.lead -= 1,
        }
        let displaced = displace(&mut self.smallest, Cell { row, value }, |one, other| one < other)
            .and_then(|cell| displace(&mut self.largest, cell, |one, other| one > other));
        if let Some(cell) = displaced {
            self.others.add(cell.value);
        }
    }

    /// Whether more than nine cells in ten are equal; it is so if 95 in 100 are.
    pub(crate) fn is_nearly_constant(&self, n_rows: u64) -> bool {
        self.lead as f64 > MOST_EQUAL * n_rows as f64
    }

    /// The column without its outliers, if it has any.
    pub(crate) fn rest(&self, n_rows: u64) -> Option<Rest> {
        if n_rows < LEAST_ROWS || self.is_nearly_constant(n_rows) {
            return None;
        }
        let most = ((MOST_SHARE * n_rows as f64) as usize).clamp(1, MOST);
        let middle = self.middle();
        let mut cells: Vec<Cell> = self.smallest.iter().chain(&self.largest).copied().collect();
        cells.sort_by(|one, other| {
            let distance = |cell: &Cell| (cell.value - middle).abs();
            distance(other).total_cmp(&distance(one)).then(one.row.cmp(&other.row))
        });
        // Without the farthest cells: spreads[t] lacks t of them.
        let mut spread = self.others;
        let mut spreads: Vec<Spread> = cells
            .iter()
            .rev()
            .map(|cell| {
                let without = spread;
                spread.add(cell.value);
                without
            })
            .collect();
        spreads.push(spread);
        spreads.reverse();
        let flattens = |&n: &usize| {
            let Spread { squares, .. } = spreads[n];
            squares > 0.0 && squares.is_finite() && spreads[n - 1].deviation() >= FLATTENED * spreads[n].deviation()
        };
        let n_outliers = (1..=most.min(cells.len())).rev().find(flattens)?;
        cells.truncate(n_outliers);
        Some(Rest { spread: spreads[n_outliers], outliers: cells })
    }

    /// Where most cells are: the mean of those that are not at the ends, or the median of a few.
    fn middle(&self) -> f64 {
        if self.others.n > 0.0 {
            return self.others.mean;
        }
        let mut values: Vec<f64> = self.smallest.iter().chain(&self.largest).map(|cell| cell.value).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    }
}

/// Puts a cell where it belongs among those of an end; what leaves them, if they are complete.
fn displace(end: &mut Vec<Cell>, cell: Cell, is_farther: impl Fn(f64, f64) -> bool) -> Option<Cell> {
    let is_full = end.len() == MOST;
    if is_full && !is_farther(cell.value, end[MOST - 1].value) {
        return Some(cell);
    }
    let place = end.partition_point(|other| !is_farther(cell.value, other.value));
    let displaced = if is_full { end.pop() } else { None };
    end.insert(place, cell);
    displaced
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rest(values: &[f64]) -> Option<Rest> {
        let mut cells = ExtremeCells::default();
        (0..).zip(values).for_each(|(row, &value)| cells.add(row, value));
        cells.rest(values.len() as u64)
    }

    /// 0.0, 0.1, …, 9.9 in some order, n times over.
    fn ordinary(n: usize) -> Vec<f64> {
        (0..100 * n).map(|row| ((row * 37) % 100) as f64 / 10.0).collect()
    }

    #[test]
    fn one_cell_that_flattens_its_column_is_found_in_any_place() {
        let values = ordinary(2);
        for (place, value) in [(0, 3e38), (57, -3e38), (200, 1e12), (3, 1e5), (100, 1e300)] {
            let mut values = values.clone();
            values.insert(place, value);
            let found = rest(&values).unwrap();
            assert_eq!(found.outliers, [Cell { row: place as u64, value }]);
            assert_eq!((found.spread.lower, found.spread.upper), (0.0, 9.9));
            assert!((found.spread.mean - 4.95).abs() < 1e-9 && (found.spread.deviation() - 2.8866).abs() < 1e-3);
        }
    }

    #[test]
    fn several_are_found_whatever_their_sizes_but_never_more_than_one_in_a_hundred() {
        let found = |outliers: &[f64]| rest(&[ordinary(5), outliers.to_vec()].concat()).map(|rest| rest.outliers.len());
        assert_eq!(found(&[1e9, 1e9]), Some(2));
        assert_eq!(found(&[3e38, 1e7, -1e20]), Some(3));
        assert_eq!(found(&[1e9, -1e9, 1.1e9, 1e9, 1e9]), Some(5));
        assert_eq!(found(&[1e9, -1e9, 1.1e9, 1e9, 1e9, 1e9]), None);
    }

    #[test]
    fn ordinary_columns_have_none() {
        assert_eq!(rest(&ordinary(3)), None);
        assert_eq!(rest(&[5.0; 50]), None);
        assert_eq!(rest(&[1.0, 2.0, 1e30]), None);
        let skewed: Vec<f64> = (0..1000).map(|row| 1.001f64.powi((row * 7919) % 10_007)).collect();
        assert_eq!(rest(&skewed), None);
    }

    #[test]
    fn what_is_rare_is_no_outlier() {
        let indicator = |n_rare: usize, value: f64| -> Vec<f64> {
            (0..1000).map(|row| if row * n_rare % 1000 < n_rare { value } else { 0.0 }).collect()
        };
        for n_rare in [1, 3, 20, 50] {
            assert_eq!(rest(&indicator(n_rare, 1.0)), None, "{n_rare}");
        }
        let mut words = indicator(5, 0.5);
        words[7] = 1e-4;
        assert_eq!(rest(&words), None);
    }
}
