//! The k nearest points of a tree, exactly.
//!
//! The walk is that of the nearest one: nearer half first, and a half whose box is farther away than the k-th neighbour so far is left out.

use labelflow_weak::{Error, Result};

use super::nearest_tree::{BLOCK, Bounds, NearestTree, Visit};

/// A point of a tree, seen from somewhere.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Neighbor {
    /// Its index in the set that the tree was made from.
    pub index: usize,
    /// Its squared distance.
    pub squared_distance: f32,
}

impl NearestTree {
    /// The `n_wanted` points nearest to a place, the nearest first and lower indices first on ties; all points when there are fewer.
    ///
    /// ```
    /// use labelflow_clouds::geometry::{NearestTree, PointSet};
    ///
    /// let tree = NearestTree::new(&PointSet::new(vec![[0.0; 3], [5.0, 0.0, 0.0], [2.0, 0.0, 0.0]])?);
    /// let nearest = tree.nearest_neighbors([1.5, 0.0, 0.0], 2)?;
    /// assert_eq!(nearest.iter().map(|neighbor| neighbor.index).collect::<Vec<_>>(), [2, 0]);
    /// # Ok::<(), labelflow_weak::Error>(())
    /// ```
    pub fn nearest_neighbors(&self, place: [f32; 3], n_wanted: usize) -> Result<Vec<Neighbor>> {
        if n_wanted == 0 {
            return Err(Error::config("n_wanted", "at least 1", n_wanted));
        }
        if place.iter().any(|value| !value.is_finite()) {
            let found = format!("{place:?}");
            return Err(Error::data("place", "three finite coordinates", found));
        }
        let n_wanted = n_wanted.min(self.len());
        let bounds = Bounds { low: place, high: place };
        // Sorted, at most as many as wanted.
        let mut found: Vec<Neighbor> = Vec::new();
        let mut waiting = vec![Visit { n_blocks: self.blocks.len(), ..Visit::default() }];
        while let Some(here) = waiting.pop() {
            let farthest = found.get(n_wanted - 1).map_or(f32::INFINITY, |one| one.squared_distance);
            if here.distance > farthest {
                continue;
            }
            if here.n_blocks > 1 {
                let (left, right) = self.halves(here, &bounds);
                let is_right_nearer = right.distance < left.distance;
                waiting.extend(if is_right_nearer { [left, right] } else { [right, left] });
                continue;
            }
            let [xs, ys, zs] = self.blocks[here.first_block].0;
            // The last block may repeat its last point, which has no index then.
            let order = self.order[here.first_block * BLOCK..].iter().take(BLOCK);
            for (lane, &index) in order.enumerate() {
                let [x, y, z] = place;
                let (dx, dy, dz) = (xs[lane] - x, ys[lane] - y, zs[lane] - z);
                let squared_distance = dx * dx + dy * dy + dz * dz;
                let key = |one: &Neighbor| (one.squared_distance, one.index);
                let neighbor = Neighbor { index: index as usize, squared_distance };
                let at = found.partition_point(|other| key(other) < key(&neighbor));
                if at < n_wanted {
                    found.truncate(n_wanted - 1);
                    found.insert(at, neighbor);
                }
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::nearest_tree::tests::random_points;

    #[test]
    fn the_tree_finds_what_sorting_all_points_finds() {
        for n in [1, 2, 7, 31, 33, 255, 257, 2048] {
            let points = random_points(n, n as u64);
            let tree = NearestTree::new(&points);
            for place in random_points(9, 1).as_slice().iter().chain(&points.as_slice()[..1]) {
                let mut all: Vec<Neighbor> = (points.as_slice().iter().enumerate())
                    .map(|(index, point)| {
                        let [x, y, z] = std::array::from_fn(|axis| point[axis] - place[axis]);
                        Neighbor { index, squared_distance: x * x + y * y + z * z }
                    })
                    .collect();
                all.sort_by(|a, b| a.squared_distance.total_cmp(&b.squared_distance));
                for n_wanted in [1, 5, 30] {
                    let found = tree.nearest_neighbors(*place, n_wanted).unwrap();
                    assert_eq!(found, all[..n_wanted.min(n)], "{n} {n_wanted}");
                }
            }
        }
    }

    #[test]
    fn bad_questions_are_errors() {
        let tree = NearestTree::new(&random_points(5, 0));
        assert!(tree.nearest_neighbors([0.0; 3], 0).is_err());
        assert!(tree.nearest_neighbors([f32::NAN, 0.0, 0.0], 1).is_err());
    }
}
