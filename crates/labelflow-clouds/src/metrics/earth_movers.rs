//! The earth mover's distance of two clouds of the same size.
//!
//! ```text
//! EMD = min over one-to-one maps φ of the mean over a of ‖a − φ(a)‖          or of its square
//! ```
//!
//! The exact method takes n³ steps. The auction is for more points: every point of the first cloud bids for points of the second, a bid
//! raises a price by what the best offer is better than the second best, plus ε. At the end the mean is at most ε above the best one.
//!
//! D. P. Bertsekas, *A distributed algorithm for the assignment problem*, 1979.

use labelflow_weak::numerics::best_assignment;
use labelflow_weak::{Error, Result};
use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::geometry::PointSet;

/// The most points for which the exact method is sensible: some seconds and 32 MB.
const MOST_EXACT: usize = 2048;
/// The most points for an auction: each bid looks at all points of the other cloud.
const MOST_IN_AUCTION: usize = 1 << 16;
/// What errors call the clouds.
const CLOUDS: &str = "clouds for the earth mover's distance";
/// By what ε shrinks from one round of the auction to the next.
const SHRINK: f64 = 5.0;

/// What it costs to move a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MovingCost {
    /// The distance.
    #[default]
    Distance,
    /// Its square.
    SquaredDistance,
}

impl MovingCost {
    fn between(self, a: [f32; 3], b: [f32; 3]) -> f64 {
        match self {
            Self::Distance => squared_distance(&a, &b).sqrt(),
            Self::SquaredDistance => squared_distance(&a, &b),
        }
    }
}

pub(super) fn squared_distance(a: &[f32; 3], b: &[f32; 3]) -> f64 {
    let [x, y, z] = std::array::from_fn(|axis| f64::from(a[axis]) - f64::from(b[axis]));
    x * x + y * y + z * z
}

/// The mean cost per point of the cheapest one-to-one map between two clouds of the same size, at most 2048 points.
///
/// ```
/// use labelflow_clouds::geometry::PointSet;
/// use labelflow_clouds::metrics::{MovingCost, exact_earth_movers_distance};
///
/// let a = PointSet::new(vec![[0.0; 3], [1.0, 0.0, 0.0]])?;
/// let b = PointSet::new(vec![[2.0, 0.0, 0.0], [0.0; 3]])?;
/// assert_eq!(exact_earth_movers_distance(&a, &b, MovingCost::Distance)?, 0.5);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
pub fn exact_earth_movers_distance(first: &PointSet, second: &PointSet, cost: MovingCost) -> Result<f64> {
    check_sizes(CLOUDS, first, second, MOST_EXACT)
        .map_err(|error| error.with_hint("resample them, or take the auction"))?;
    let (first, second) = (first.as_slice(), second.as_slice());
    let n = first.len();
    let costs = Array2::from_shape_fn((n, n), |(a, b)| -cost.between(first[a], second[b]));
    let columns = best_assignment(costs.view());
    let total: f64 = columns.iter().enumerate().map(|(a, &b)| costs[[a, b]]).sum();
    Ok(-total / n as f64)
}

/// The same up to `tolerance`, by an auction, for at most 65,536 points.
pub fn auction_earth_movers_distance(
    first: &PointSet,
    second: &PointSet,
    cost: MovingCost,
    tolerance: f64,
) -> Result<f64> {
    check_sizes(CLOUDS, first, second, MOST_IN_AUCTION)
        .map_err(|error| error.with_hint("resample them to the same number of points"))?;
    if !(tolerance.is_finite() && tolerance > 0.0) {
        return Err(Error::config("tolerance", "a positive number", tolerance));
    }
    let (first, second) = (first.as_slice(), second.as_slice());
    let costs = |a: usize, b: usize| cost.between(first[a], second[b]);
    let largest = second.iter().map(|&point| cost.between(first[0], point)).fold(0.0, f64::max);
    // Below the rounding of prices a bid would change nothing, and the auction would not end.
    let epsilon = tolerance.max(largest * 1e-12);
    let mut prices = vec![0.0; second.len()];
    let mut step = (largest / 4.0).max(epsilon);
    loop {
        let taken = auction(costs, &mut prices, step);
        if step <= epsilon {
            let total: f64 = taken.iter().enumerate().map(|(b, &a)| costs(a, b)).sum();
            return Ok(total / first.len() as f64);
        }
        step = (step / SHRINK).max(epsilon);
    }
}

/// Lets every point of the first cloud bid until it has one of the second; who has each of them.
fn auction(costs: impl Fn(usize, usize) -> f64, prices: &mut [f64], step: f64) -> Vec<usize> {
    let mut taker: Vec<Option<usize>> = vec![None; prices.len()];
    let mut without: Vec<usize> = (0..prices.len()).rev().collect();
    while let Some(bidder) = without.pop() {
        let (mut best, mut second_best, mut wanted) = (f64::INFINITY, f64::INFINITY, 0);
        for (target, price) in prices.iter().enumerate() {
            let offer = costs(bidder, target) + price;
            if offer < best {
                (second_best, best, wanted) = (best, offer, target);
            } else if offer < second_best {
                second_best = offer;
            }
        }
        let raise = if second_best.is_finite() { second_best - best } else { 0.0 };
        prices[wanted] += raise + step;
        without.extend(taker[wanted].replace(bidder));
    }
    taker.into_iter().map(|taker| taker.expect("as many bidders as targets")).collect()
}

pub(super) fn check_sizes(what: &str, first: &PointSet, second: &PointSet, most: usize) -> Result<()> {
    if first.len() == second.len() && first.len() <= most {
        return Ok(());
    }
    let expected = format!("as many points in both, at most {most}");
    let found = format!("{} and {}", first.len(), second.len());
    Err(Error::data(what, expected, found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::nearest_tree::tests::random_points;

    fn moved(points: &PointSet, by: [f32; 3]) -> PointSet {
        let points = points.as_slice().iter().map(|p| std::array::from_fn(|i| p[i] + by[i]));
        PointSet::new(points.collect()).unwrap()
    }

    #[test]
    fn a_shift_costs_its_square() {
        let points = random_points(64, 1);
        let shifted = moved(&points, [0.1, 0.0, 0.0]);
        let exact = exact_earth_movers_distance(&points, &shifted, MovingCost::SquaredDistance).unwrap();
        assert!((exact - 0.01).abs() < 1e-6, "{exact}");
        let auction = auction_earth_movers_distance(&points, &shifted, MovingCost::SquaredDistance, 1e-6);
        let auction = auction.unwrap();
        assert!((auction - 0.01).abs() < 3e-6, "{auction}");
    }

    #[test]
    fn the_auction_is_as_near_as_it_says() {
        for seed in 0..5 {
            let (a, b) = (random_points(40, seed), random_points(40, seed + 9));
            for cost in [MovingCost::Distance, MovingCost::SquaredDistance] {
                let exact = exact_earth_movers_distance(&a, &b, cost).unwrap();
                for tolerance in [0.1, 1e-3, 1e-6] {
                    let found = auction_earth_movers_distance(&a, &b, cost, tolerance).unwrap();
                    assert!((0.0..=tolerance).contains(&(found - exact + 1e-12)), "{found} {exact}");
                }
            }
        }
    }

    #[test]
    fn same_points_in_any_order_cost_nothing() {
        let points = random_points(50, 3);
        let turned: Vec<usize> = (0..50).map(|index| (index * 7 + 3) % 50).collect();
        let turned = points.select(&turned);
        let exact = exact_earth_movers_distance(&points, &turned, MovingCost::Distance).unwrap();
        assert_eq!(exact, 0.0);
        let found = auction_earth_movers_distance(&points, &turned, MovingCost::Distance, 1e-6);
        assert!(found.unwrap() <= 1e-6);
        // A tolerance below what numbers can hold still ends.
        let found = auction_earth_movers_distance(&points, &turned, MovingCost::Distance, 1e-300);
        assert!(found.unwrap() <= 1e-9);
    }

    #[test]
    fn clouds_of_other_sizes_are_errors() {
        let (a, b) = (random_points(3, 0), random_points(4, 0));
        let error = exact_earth_movers_distance(&a, &b, MovingCost::Distance).unwrap_err();
        assert!(error.to_string().contains("found 3 and 4"), "{error}");
        assert!(auction_earth_movers_distance(&a, &a, MovingCost::Distance, 0.0).is_err());
        let one = random_points(1, 0);
        assert_eq!(auction_earth_movers_distance(&one, &one, MovingCost::Distance, 1.0).unwrap(), 0.0);
        let large = random_points(2049, 0);
        assert!(exact_earth_movers_distance(&large, &large, MovingCost::Distance).is_err());
    }
}
