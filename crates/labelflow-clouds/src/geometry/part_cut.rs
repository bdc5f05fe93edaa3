//! Partial clouds: some parts of a shape are kept, the others are taken away.
//!
//! ```text
//! n parts own points   →   keep k of them, k uniform on 1 … max(1, n − 1), all choices of k alike
//! points of kept parts →   resampled to n_points; the frame stays that of the whole shape
//! ```

use labelflow_weak::Result;
use rand::seq::SliceRandom;
use rand::{Rng, RngExt};

use crate::geometry::{PointSet, Shape, resample, shape_stream};

settings! {
    /// How partial clouds are cut from shapes.
    ///
    /// ```
    /// use labelflow_clouds::geometry::{PartialCut, PointSet, Shape};
    ///
    /// let points = PointSet::new(vec![[0.0; 3], [1.0; 3], [2.0; 3]])?;
    /// let shape = Shape::new("chair-1", points, vec![0, 0, 1])?;
    /// let partial = PartialCut { n_points: 8, ..PartialCut::default() }.cut(&shape, 0)?;
    /// assert_eq!(partial.points.len(), 8);
    /// assert_eq!(partial.kept_parts.len(), 1);
    /// # Ok::<(), labelflow_weak::Error>(())
    /// ```
    #[derive(Copy, Eq)]
    pub struct PartialCut {
        /// The number of points of a partial cloud. Default: 1024.
        n_points: usize = 1024,
        /// The seed; with the name of the shape and the number of the visit it decides the cut. Default: 1234.
        seed: u64 = 1234,
    }
}

/// What is left of a shape.
#[derive(Debug, Clone, PartialEq)]
pub struct PartialCloud {
    /// Points of the kept parts, in the frame of the whole shape.
    pub points: PointSet,
    /// The kept parts, ascending.
    pub kept_parts: Vec<u32>,
}

impl PartialCut {
    /// Cuts a shape. Another `visit` cuts it anew, as training does; evaluation uses the visit 0.
    pub fn cut(&self, shape: &Shape, visit: u64) -> Result<PartialCloud> {
        let rng = &mut shape_stream(self.seed, shape.id(), &format!("cut {visit}"));
        let kept_parts = kept_parts(shape.present_parts(), rng);
        let of_kept = |&index: &usize| kept_parts.binary_search(&shape.parts()[index]).is_ok();
        let candidates: Vec<usize> = (0..shape.points().len()).filter(of_kept).collect();
        let drawn = resample(candidates.len(), self.n_points, rng)?;
        let indices: Vec<usize> = drawn.into_iter().map(|index| candidates[index]).collect();
        Ok(PartialCloud { points: shape.points().select(&indices), kept_parts })
    }
}

fn kept_parts(mut parts: Vec<u32>, rng: &mut impl Rng) -> Vec<u32> {
    let n_kept = rng.random_range(1..=parts.len().saturating_sub(1).max(1));
    parts.shuffle(rng);
    parts.truncate(n_kept);
    parts.sort_unstable();
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(id: &str, n_parts: u32) -> Shape {
        let points = (0..n_parts * 5).map(|index| [index as f32, 0.0, 0.0]).collect();
        let parts = (0..n_parts * 5).map(|index| (index % n_parts) * 10).collect();
        Shape::new(id, PointSet::new(points).unwrap(), parts).unwrap()
    }

    #[test]
    fn points_come_from_kept_parts_alone() {
        let cut = PartialCut { n_points: 12, seed: 3 };
        for visit in 0..50 {
            let partial = cut.cut(&shape("a", 4), visit).unwrap();
            assert!((1..=3).contains(&partial.kept_parts.len()));
            for point in partial.points.as_slice() {
                let part = (point[0] as u32 % 4) * 10;
                assert!(partial.kept_parts.contains(&part));
            }
        }
    }

    #[test]
    fn the_number_of_kept_parts_and_the_parts_are_uniform() {
        let cut = PartialCut { n_points: 1, seed: 0 };
        let (mut counts, mut parts) = ([0; 5], [0; 4]);
        let n_visits = 3000;
        for visit in 0..n_visits {
            let partial = cut.cut(&shape("a", 4), visit).unwrap();
            counts[partial.kept_parts.len()] += 1;
            partial.kept_parts.iter().for_each(|&part| parts[part as usize / 10] += 1);
        }
        assert_eq!((counts[0], counts[4]), (0, 0));
        // Expected 1000 each, with a standard deviation of 26; and half of the visits each, with one of 27.
        assert!(counts[1..4].iter().all(|&count: &i32| (count - 1000).abs() < 105), "{counts:?}");
        assert!(parts.iter().all(|&count: &i32| (count - 1500).abs() < 110), "{parts:?}");
    }

    #[test]
    fn cuts_depend_on_the_name_and_the_visit() {
        let cut = PartialCut { n_points: 16, seed: 0 };
        assert_eq!(cut.cut(&shape("a", 6), 0).unwrap(), cut.cut(&shape("a", 6), 0).unwrap());
        assert_ne!(cut.cut(&shape("a", 6), 0).unwrap(), cut.cut(&shape("b", 6), 0).unwrap());
        assert_ne!(cut.cut(&shape("a", 6), 0).unwrap(), cut.cut(&shape("a", 6), 1).unwrap());
    }

    #[test]
    fn a_shape_of_one_part_stays_whole() {
        let partial = PartialCut { n_points: 9, seed: 0 }.cut(&shape("a", 1), 0).unwrap();
        assert_eq!(partial.kept_parts, [0]);
        assert_eq!(partial.points.len(), 9);
        assert!(PartialCut { n_points: 0, seed: 0 }.cut(&shape("a", 2), 0).is_err());
        let points = PointSet::new(vec![[0.0; 3]]).unwrap();
        assert!(Shape::new("a", points, vec![]).is_err());
    }
}
