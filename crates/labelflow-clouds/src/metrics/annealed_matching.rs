//! The earth mover's distance by annealing, as autoencoders of point clouds are trained with.
//!
//! Every point of both clouds has one unit to give away. At ten levels, from −4⁷ over −4⁻¹ to 0, points give what they still have to those that
//! are near: first by rows, then cut to what the columns can still take.
//!
//! ```text
//! w_ij = exp(level · ‖a_i − b_j‖²)
//! p_i  = left_i / Σ_j w_ij · free_j,    q_j = free_j · min(1, 1 / Σ_i w_ij · p_i)… so that no column takes more than free_j
//! m_ij += p_i · w_ij · q_j,             left and free shrink by the sums of what was given
//! cost = Σ m_ij · ‖a_i − b_j‖²,         ∂cost / ∂a_i = 2 Σ_j m_ij · (a_i − b_j)
//! ```
//!
//! The gradient takes what is moved where as given.
//!
//! It is a greedy plan that can be carried out, hence never cheaper than the best one.

use labelflow_weak::Result;

use super::earth_movers::{check_sizes, squared_distance};
use crate::geometry::PointSet;

/// Keeps quotients finite.
const TINY: f64 = 1e-9;
/// The most points of a cloud: the work grows with the product of both numbers.
const MOST: usize = 1 << 14;

/// What the annealing found.
#[derive(Debug, Clone, PartialEq)]
pub struct AnnealedMatching {
    /// The squared distances of all that was moved, added up.
    pub cost: f64,
    /// What each point of the first cloud gave.
    pub given: Vec<f64>,
    /// What each point of the second cloud took.
    pub taken: Vec<f64>,
    /// How the cost changes with each point of the first cloud, when the same is moved.
    pub gradient: Vec<[f64; 3]>,
}

impl AnnealedMatching {
    /// Matches two clouds of the same size.
    pub fn between(first: &PointSet, second: &PointSet) -> Result<Self> {
        Self::watched(first, second, |_, _, _| {})
    }

    /// [`between`](Self::between), with every move told: from which point, to which one, and how much.
    fn watched(first: &PointSet, second: &PointSet, mut tell: impl FnMut(usize, usize, f64)) -> Result<Self> {
        check_sizes("clouds to be matched", first, second, MOST)?;
        let (first, second) = (first.as_slice(), second.as_slice());
        let n = first.len();
        let mut matching = Self { cost: 0.0, given: vec![0.0; n], taken: vec![0.0; n], gradient: vec![[0.0; 3]; n] };
        let (mut left, mut free) = (vec![1.0; n], vec![1.0; n]);
        for level in (-1..=7).rev().map(|exponent| -(4f64.powi(exponent))).chain([0.0]) {
            let weight = |a: &[f32; 3], b: &[f32; 3]| (level * squared_distance(a, b)).exp();
            let mut wanted = vec![0.0; n];
            let mut ratios = Vec::with_capacity(n);
            for (a, left) in first.iter().zip(&left) {
                let weights: Vec<f64> = second.iter().map(|b| weight(a, b)).collect();
                let sum: f64 = weights.iter().zip(&free).map(|(weight, free)| weight * free).sum();
                let ratio = left / (sum + TINY);
                wanted.iter_mut().zip(&weights).for_each(|(wanted, w)| *wanted += w * ratio);
                ratios.push(ratio);
            }
            let mut shares = Vec::with_capacity(n);
            for (free, wanted) in free.iter_mut().zip(&wanted) {
                let wanted: f64 = wanted * *free;
                shares.push(*free * (*free / (wanted + TINY)).min(1.0));
                *free = (*free - wanted).max(0.0);
            }
            for (row, (a, ratio)) in first.iter().zip(ratios).enumerate() {
                let mut given = 0.0;
                for (column, (b, share)) in second.iter().zip(&shares).enumerate() {
                    let moved = weight(a, b) * ratio * share;
                    given += moved;
                    matching.taken[column] += moved;
                    matching.cost += moved * squared_distance(a, b);
                    for (axis, slope) in matching.gradient[row].iter_mut().enumerate() {
                        *slope += 2.0 * moved * (f64::from(a[axis]) - f64::from(b[axis]));
                    }
                    tell(row, column, moved);
                }
                left[row] = (left[row] - given).max(0.0);
            }
        }
        matching.given = left.iter().map(|left| 1.0 - left).collect();
        Ok(matching)
    }

    /// The cost per point.
    pub fn mean_cost(&self) -> f64 {
        self.cost / self.given.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::nearest_tree::tests::random_points;
    use crate::metrics::{MovingCost, exact_earth_movers_distance};

    #[test]
    fn same_clouds_cost_next_to_nothing() {
        let points = random_points(200, 1);
        let matching = AnnealedMatching::between(&points, &points).unwrap();
        assert!(matching.mean_cost() < 1e-4, "{}", matching.mean_cost());
    }

    #[test]
    fn masses_are_at_most_one_and_nearly_all_is_moved() {
        let matching = AnnealedMatching::between(&random_points(120, 1), &random_points(120, 2)).unwrap();
        for masses in [&matching.given, &matching.taken] {
            assert!(masses.iter().all(|&mass| mass <= 1.0 + 1e-6));
            let total: f64 = masses.iter().sum();
            assert!((total - 120.0).abs() < 0.5, "{total}");
        }
    }

    #[test]
    fn no_plan_is_cheaper_than_the_best_one() {
        for n in 1..=8 {
            let (a, b) = (random_points(n, 5), random_points(n, 50));
            let best = exact_earth_movers_distance(&a, &b, MovingCost::SquaredDistance).unwrap();
            let found = AnnealedMatching::between(&a, &b).unwrap();
            // A little mass may stay at home.
            assert!(found.mean_cost() >= best * 0.999 - 1e-9, "{n}: {} {best}", found.mean_cost());
        }
    }

    #[test]
    fn the_order_of_points_does_not_matter() {
        let (a, b) = (random_points(30, 1), random_points(30, 2));
        let turned: Vec<usize> = (0..30).map(|index| (index * 7 + 3) % 30).collect();
        let cost = AnnealedMatching::between(&a, &b).unwrap().cost;
        let other = AnnealedMatching::between(&a.select(&turned), &b).unwrap().cost;
        assert!((cost - other).abs() < 1e-9 * cost, "{cost} {other}");
        assert!(AnnealedMatching::between(&a, &random_points(31, 0)).is_err());
    }

    #[test]
    fn the_gradient_is_that_of_central_differences() {
        const N: usize = 12;
        let (a, b) = (random_points(N, 3), random_points(N, 4));
        let mut plan = [[0.0; N]; N];
        let matching = AnnealedMatching::watched(&a, &b, |row, column, moved| plan[row][column] += moved).unwrap();
        let wide = |points: &PointSet| -> Vec<[f64; 3]> {
            points.as_slice().iter().map(|point| point.map(f64::from)).collect()
        };
        let (mut first, second) = (wide(&a), wide(&b));
        let cost = |first: &[[f64; 3]]| -> f64 {
            let pairs = (0..N).flat_map(|row| (0..N).map(move |column| (row, column)));
            let square = |row: usize, column: usize| -> f64 {
                (0..3).map(|axis| (first[row][axis] - second[column][axis]).powi(2)).sum()
            };
            pairs.map(|(row, column)| plan[row][column] * square(row, column)).sum()
        };
        assert!((cost(&first) - matching.cost).abs() < 1e-12);
        for (row, expected) in matching.gradient.iter().enumerate() {
            for (axis, expected) in expected.iter().enumerate() {
                let start = first[row][axis];
                let [above, below] = [1e-5, -1e-5].map(|step| {
                    first[row][axis] = start + step;
                    cost(&first)
                });
                first[row][axis] = start;
                let found = (above - below) / 2e-5;
                assert!((found - expected).abs() < 1e-8, "{row} {axis}: {found} {expected}");
            }
        }
        for (row, given) in plan.iter().zip(&matching.given) {
            assert!((row.iter().sum::<f64>() - given).abs() < 1e-9);
        }
    }

    #[test]
    fn following_the_gradient_brings_clouds_together() {
        let (mut a, b) = (random_points(40, 8), random_points(40, 9));
        let start = AnnealedMatching::between(&a, &b).unwrap().mean_cost();
        for _ in 0..20 {
            let slopes = AnnealedMatching::between(&a, &b).unwrap().gradient;
            let moved = a
                .as_slice()
                .iter()
                .zip(&slopes)
                .map(|(point, slope)| std::array::from_fn(|axis| point[axis] - 0.25 * slope[axis] as f32));
            a = PointSet::new(moved.collect()).unwrap();
        }
        let end = AnnealedMatching::between(&a, &b).unwrap().mean_cost();
        assert!(end < 0.1 * start, "{start} and {end}");
    }
}
