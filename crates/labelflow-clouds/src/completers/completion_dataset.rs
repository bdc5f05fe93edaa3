//! What completion is learned from: partial clouds and complete shapes that have nothing to do with each other.

use labelflow::{Error, Result};
use labelflow_files::Sha256;
use rand::{Rng, RngExt};
use serde::Serialize;

use super::older_names::as_written_by_0_1;
use crate::geometry::{PartialCut, PointSet, Shape, resample};

/// Partial clouds and complete shapes, both in the frame of radius 0.5. No pairs are known.
///
/// ```
/// use labelflow_clouds::completers::CompletionDataset;
/// use labelflow_clouds::geometry::PointSet;
///
/// let scan = PointSet::new(vec![[0.1, 0.0, 0.0], [0.2, 0.0, 0.1]])?;
/// let shape = PointSet::new(vec![[0.0, 0.5, 0.0], [0.0, -0.5, 0.0]])?;
/// let dataset = CompletionDataset::from_scans(vec![scan], vec![shape])?;
/// assert_eq!((dataset.n_partials(), dataset.n_shapes()), (1, 1));
/// # Ok::<(), labelflow::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct CompletionDataset {
    partials: Partials,
    shapes: Vec<PointSet>,
}

#[derive(Debug, Clone)]
enum Partials {
    /// As they were scanned.
    Scans(Vec<PointSet>),
    /// Cut from shapes with parts, anew at every visit.
    Cuts(Vec<Shape>, u64),
}

impl CompletionDataset {
    /// Scans, and complete shapes that are not theirs.
    pub fn from_scans(scans: Vec<PointSet>, shapes: Vec<PointSet>) -> Result<Self> {
        Self::new(Partials::Scans(scans), shapes)
    }

    /// Partial clouds that are cut from the same shapes, anew at every visit. The network is never told which shape a partial cloud
    /// came from.
    pub fn from_parts(shapes: Vec<Shape>, seed: u64) -> Result<Self> {
        let complete = shapes.iter().map(|shape| shape.points().clone()).collect();
        Self::new(Partials::Cuts(shapes, seed), complete)
    }

    fn new(partials: Partials, shapes: Vec<PointSet>) -> Result<Self> {
        let dataset = Self { partials, shapes };
        if dataset.n_partials() == 0 {
            return Err(Error::data("partial clouds", "at least one", "none"));
        }
        if dataset.shapes.is_empty() {
            return Err(Error::data("complete shapes", "at least one", "none"));
        }
        Ok(dataset)
    }

    /// The number of partial clouds: an epoch is one pass over them.
    pub fn n_partials(&self) -> usize {
        match &self.partials {
            Partials::Scans(scans) => scans.len(),
            Partials::Cuts(shapes, _) => shapes.len(),
        }
    }

    /// The number of complete shapes.
    pub fn n_shapes(&self) -> usize {
        self.shapes.len()
    }

    /// A partial cloud as training sees it at a visit, and a complete one that is not its own, of so many points each.
    pub(crate) fn pair(
        &self,
        index: usize,
        visit: u64,
        n_points: [usize; 2],
        rng: &mut impl Rng,
    ) -> Result<(PointSet, PointSet)> {
        let partial = self.partial(index, visit, n_points[0], rng)?;
        let shape = rng.random_range(0..self.shapes.len());
        Ok((partial, self.shape(shape, n_points[1], rng)?))
    }

    fn partial(&self, index: usize, visit: u64, n_points: usize, rng: &mut impl Rng) -> Result<PointSet> {
        match &self.partials {
            Partials::Scans(scans) => redrawn(&scans[index], n_points, rng),
            Partials::Cuts(shapes, seed) => {
                let cut = PartialCut { n_points, seed: *seed };
                Ok(cut.cut(&shapes[index], visit)?.points)
            }
        }
    }

    /// A complete cloud of one of the shapes.
    pub(crate) fn shape(&self, index: usize, n_points: usize, rng: &mut impl Rng) -> Result<PointSet> {
        redrawn(&self.shapes[index], n_points, rng)
    }

    /// A digest of the kind of a learner, its settings and all points: two runs with the same digest end with the same weights.
    pub(crate) fn run_digest(&self, kind: &str, settings: &impl Serialize) -> String {
        let mut hash = Sha256::default();
        hash.update(kind);
        hash.update(as_written_by_0_1(settings));
        let mut add = |points: &PointSet| {
            hash.update(points.len().to_le_bytes());
            points.as_flat().iter().for_each(|value| hash.update(value.to_le_bytes()));
        };
        self.shapes.iter().for_each(&mut add);
        match &self.partials {
            Partials::Scans(scans) => scans.iter().for_each(add),
            Partials::Cuts(shapes, seed) => {
                shapes.iter().for_each(|shape| add(shape.points()));
                hash.update(seed.to_le_bytes());
            }
        }
        hash.hex()
    }
}

/// As many points as wanted of a cloud.
pub(crate) fn redrawn(points: &PointSet, n_points: usize, rng: &mut impl Rng) -> Result<PointSet> {
    Ok(points.select(&resample(points.len(), n_points, rng)?))
}
