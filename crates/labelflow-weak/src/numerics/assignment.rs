//! The best one-to-one assignment: one column for each row, so that the chosen gains have the largest sum.
//!
//! The Hungarian method takes in one row after the other. Each row and column has a price; an assignment is best if no
//! pair costs less than its two prices and every chosen pair costs exactly that. A new row looks for the shortest path,
//! in costs above prices, to a column that is still free, and the pairs along the path are exchanged. That takes k³
//! operations for k rows.
//!
//! H. W. Kuhn, *The Hungarian method for the assignment problem*, 1955.

use ndarray::ArrayView2;

/// The column of each row of a square matrix of finite gains.
pub fn best_assignment(gains: ArrayView2<'_, f64>) -> Vec<usize> {
    let n = gains.nrows();
    let mut prices = Prices { rows: vec![0.0; n], columns: vec![0.0; n] };
    let mut row_of: Vec<Option<usize>> = vec![None; n];
    for row in 0..n {
        take_in(row, gains, &mut prices, &mut row_of);
    }
    let mut column_of = vec![0; n];
    for (column, row) in row_of.iter().enumerate() {
        column_of[row.expect("every row has taken a column")] = column;
    }
    column_of
}

struct Prices {
    rows: Vec<f64>,
    columns: Vec<f64>,
}

/// Finds a column for one more row, moving earlier rows where that is better.
fn take_in(new_row: usize, gains: ArrayView2<'_, f64>, prices: &mut Prices, row_of: &mut [Option<usize>]) {
    let n = row_of.len();
    let mut distance = vec![f64::INFINITY; n];
    let mut reached_from = vec![None; n];
    let mut is_done = vec![false; n];
    // What a pair costs above its prices; never negative but for rounding.
    let excess = |row: usize, column: usize| -gains[[row, column]] - prices.rows[row] - prices.columns[column];
    let (mut row, mut here, mut walked) = (new_row, None, 0.0);
    let free = loop {
        for column in (0..n).filter(|&column| !is_done[column]) {
            let through_row = walked + excess(row, column);
            if through_row < distance[column] {
                distance[column] = through_row;
                reached_from[column] = here;
            }
        }
        let nearest = (0..n)
            .filter(|&column| !is_done[column])
            .min_by(|&a, &b| distance[a].total_cmp(&distance[b]))
            .expect("there are as many columns as rows");
        walked = distance[nearest];
        is_done[nearest] = true;
        match row_of[nearest] {
            None => break nearest,
            Some(taker) => (row, here) = (taker, Some(nearest)),
        }
    };
    prices.rows[new_row] += walked;
    for column in (0..n).filter(|&column| is_done[column] && column != free) {
        let taker = row_of[column].expect("only the last column on the way was free");
        prices.rows[taker] += walked - distance[column];
        prices.columns[column] -= walked - distance[column];
    }
    let mut column = free;
    while let Some(before) = reached_from[column] {
        row_of[column] = row_of[before];
        column = before;
    }
    row_of[column] = Some(new_row);
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};
    use proptest::prelude::*;

    use super::*;

    fn total(gains: &Array2<f64>, columns: &[usize]) -> f64 {
        columns.iter().enumerate().map(|(row, &column)| gains[[row, column]]).sum()
    }

    /// The largest sum over all permutations of the columns from `row` on.
    fn best_of_all(gains: &Array2<f64>, columns: &mut [usize], row: usize) -> f64 {
        if row == columns.len() {
            return total(gains, columns);
        }
        let mut best = f64::NEG_INFINITY;
        for other in row..columns.len() {
            columns.swap(row, other);
            best = best.max(best_of_all(gains, columns, row + 1));
            columns.swap(row, other);
        }
        best
    }

    #[test]
    fn the_greedy_choice_is_not_taken() {
        assert_eq!(best_assignment(array![[9.0, 8.0], [8.0, 1.0]].view()), [1, 0]);
        assert_eq!(best_assignment(array![[1.0, 0.0], [0.0, 1.0]].view()), [0, 1]);
        assert_eq!(best_assignment(array![[-3.0]].view()), [0]);
    }

    #[test]
    fn many_rows_find_their_columns() {
        let n = 60;
        let gains = Array2::from_shape_fn((n, n), |(row, column)| {
            if column == (row * 7 + 3) % n { 1.0 } else { 0.9 - (column % 5) as f64 * 0.1 }
        });
        let expected: Vec<usize> = (0..n).map(|row| (row * 7 + 3) % n).collect();
        assert_eq!(best_assignment(gains.view()), expected);
    }

    proptest! {
        #[test]
        fn no_permutation_is_better(
            n in 1usize..7,
            entries in proptest::collection::vec(-2i32..9, 36),
        ) {
            // Small whole numbers make many ties.
            let gains = Array2::from_shape_fn((n, n), |(row, column)| f64::from(entries[row * n + column]));
            let columns = best_assignment(gains.view());
            let mut sorted = columns.clone();
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..n).collect::<Vec<_>>());
            let best = best_of_all(&gains, &mut (0..n).collect::<Vec<_>>(), 0);
            prop_assert_eq!(total(&gains, &columns), best);
        }
    }
}
