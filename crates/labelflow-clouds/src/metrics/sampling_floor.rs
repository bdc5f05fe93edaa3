//! What a perfect method scores that draws fresh points of the true surface: not 0.
//!
//! Two independent samples of n points of a surface of area A, and a partial cloud of p of its points, have
//!
//! ```text
//! CD  ≈ 2A / (πn)                    × exp(−n / N) when both were drawn with replacement from one pool of N points
//! TMD ≈ M · CD                       for M completions
//! UHD ≈ √(A · ln p / (πn))
//! ```

use std::f64::consts::PI;

use labelflow_weak::{Error, Result};
use rand::Rng;
use rand::seq::SliceRandom;

use crate::geometry::{NearestTree, PointSet};
use crate::metrics::Chamfer;

/// The scores of a perfect method without diversity, on shapes of a given area.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SamplingFloor {
    area: f64,
}

impl SamplingFloor {
    /// For surfaces of this area, in the frame of the clouds.
    pub fn from_area(area: f64) -> Result<Self> {
        if area.is_finite() && area >= 0.0 {
            return Ok(Self { area });
        }
        Err(Error::data("area of a surface", "a number that is not negative", area))
    }

    /// For the surface that these points were drawn from, independently: its area is estimated from how far one half of
    /// the points is from the other.
    pub fn from_points(points: &PointSet, rng: &mut impl Rng) -> Result<Self> {
        let n_half = points.len() / 2;
        if n_half == 0 {
            return Err(Error::data("points of a surface", "at least two", points.len()));
        }
        let mut indices: Vec<usize> = (0..points.len()).collect();
        indices.shuffle(rng);
        let half = |indices: &[usize]| NearestTree::new(&points.select(indices));
        let (first, second) = (half(&indices[..n_half]), half(&indices[n_half..2 * n_half]));
        let distance = Chamfer::between(&first, &second).squared_sum();
        Self::from_area(distance * PI * n_half as f64 / 2.0)
    }

    /// For a set of shapes: the mean area.
    pub fn mean(floors: &[Self]) -> Result<Self> {
        if floors.is_empty() {
            return Err(Error::data("areas of surfaces", "at least one", "none"));
        }
        Self::from_area(floors.iter().map(|floor| floor.area).sum::<f64>() / floors.len() as f64)
    }

    /// The area.
    pub fn area(&self) -> f64 {
        self.area
    }

    /// The Chamfer distance of two samples of `n_points` fresh points.
    pub fn chamfer(&self, n_points: usize) -> f64 {
        2.0 * self.area / (PI * n_points as f64)
    }

    /// The Chamfer distance of two samples of `n_points` drawn with replacement from one pool of `n_pool` points.
    pub fn chamfer_from_pool(&self, n_points: usize, n_pool: usize) -> f64 {
        self.chamfer(n_points) * (-(n_points as f64) / n_pool as f64).exp()
    }

    /// TMD of `n_samples` completions of `n_points` fresh points each.
    pub fn mutual_difference(&self, n_points: usize, n_samples: usize) -> f64 {
        n_samples as f64 * self.chamfer(n_points)
    }

    /// UHD of `n_partial` points of the surface to completions of `n_points` fresh points.
    pub fn hausdorff(&self, n_partial: usize, n_points: usize) -> f64 {
        (self.area * (n_partial as f64).ln() / (PI * n_points as f64)).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::geometry::shape_stream;
    use crate::metrics::directed_hausdorff;

    fn sphere(n: usize, rng: &mut impl Rng) -> PointSet {
        let points = (0..n).map(|_| {
            let z: f64 = rng.random_range(-0.5..0.5);
            let angle = rng.random_range(0.0..2.0 * PI);
            let radius = (0.25 - z * z).sqrt();
            [(radius * angle.cos()) as f32, (radius * angle.sin()) as f32, z as f32]
        });
        PointSet::new(points.collect()).unwrap()
    }

    fn square(n: usize, rng: &mut impl Rng) -> PointSet {
        let points = (0..n).map(|_| [rng.random_range(0.0..1.0), rng.random_range(0.0..1.0), 0.0]);
        PointSet::new(points.collect()).unwrap()
    }

    fn mean_chamfer(draw: impl Fn(&mut rand_chacha::ChaCha8Rng) -> PointSet) -> f64 {
        let rng = &mut shape_stream(0, "floor", "test");
        let mut distance = || {
            let (a, b) = (NearestTree::new(&draw(rng)), NearestTree::new(&draw(rng)));
            Chamfer::between(&a, &b).squared_sum()
        };
        (0..10).map(|_| distance()).sum::<f64>() / 10.0
    }

    #[test]
    fn a_sphere_has_the_published_floors() {
        let floor = SamplingFloor::from_area(PI).unwrap();
        assert!((floor.chamfer(2048) - 9.77e-4).abs() < 1e-6);
        assert!((floor.mutual_difference(2048, 10) - 0.00977).abs() < 1e-5);
        assert!((floor.hausdorff(1024, 2048) - 0.0582).abs() < 1e-4);
        let measured = mean_chamfer(|rng| sphere(2048, rng));
        assert!((measured - 9.76e-4).abs() < 1e-5, "{measured}");
        let rng = &mut shape_stream(1, "sphere", "test");
        let mut farthest = || directed_hausdorff(&sphere(1024, rng), &sphere(2048, rng)).distance;
        let measured = (0..20).map(|_| farthest()).sum::<f64>() / 20.0;
        assert!((measured - 0.0600).abs() < 0.002, "{measured}");
    }

    #[test]
    fn a_square_has_the_published_floor() {
        let floor = SamplingFloor::from_area(1.0).unwrap();
        assert!((floor.chamfer(2048) - 3.11e-4).abs() < 1e-6);
        let measured = mean_chamfer(|rng| square(2048, rng));
        assert!((measured - 3.17e-4).abs() < 4e-6, "{measured}");
    }

    #[test]
    fn the_area_is_found_from_points() {
        let rng = &mut shape_stream(2, "sphere", "test");
        let floor = SamplingFloor::from_points(&sphere(2048, rng), rng).unwrap();
        assert!((floor.area() / PI - 1.0).abs() < 0.06, "{}", floor.area());
        let share = floor.chamfer_from_pool(2048, 10_000) / floor.chamfer(2048);
        assert!((share - (1.0 - 0.185)).abs() < 1e-3, "{share}");
        let one = PointSet::new(vec![[0.0; 3]]).unwrap();
        assert!(SamplingFloor::from_points(&one, rng).is_err());
        assert!(SamplingFloor::from_area(f64::NAN).is_err());
        assert!(SamplingFloor::mean(&[]).is_err());
        let two = [1.0, 3.0].map(|area| SamplingFloor::from_area(area).unwrap());
        assert_eq!(SamplingFloor::mean(&two).unwrap().area(), 2.0);
    }
}
