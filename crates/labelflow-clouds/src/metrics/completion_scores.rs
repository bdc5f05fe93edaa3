//! A row of the table of completion: MMD, TMD and UHD, with what a perfect method would score beside them.

use std::fmt;

use labelflow_weak::Result;

use crate::geometry::NearestTree;
use crate::metrics::{SamplingFloor, minimum_matching_distance, mutual_difference, unidirectional_hausdorff};

/// By what tables multiply MMD.
pub const MMD_UNIT: f64 = 1e3;
/// By what tables multiply TMD.
pub const TMD_UNIT: f64 = 1e2;
/// By what tables multiply UHD.
pub const UHD_UNIT: f64 = 1e2;

/// The scores of a method, not multiplied by any unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CompletionScores {
    /// MMD over all completions: how near they come to the complete test shapes.
    pub matching_distance: f64,
    /// MMD over the first completion of each partial cloud: fair to methods that give only one.
    pub matching_distance_of_one: f64,
    /// TMD: how much the completions of one partial cloud differ.
    pub mutual_difference: f64,
    /// UHD: how far completions stray from what was scanned.
    pub hausdorff: f64,
    /// TMD of a method that draws fresh points of the one true surface.
    pub mutual_difference_floor: f64,
    /// UHD of such a method.
    pub hausdorff_floor: f64,
}

impl CompletionScores {
    /// Measures completions: `completions[i]` are those of `partials[i]`, as many for each; `references` are the complete test
    /// shapes, and `floor` is that of their surfaces.
    pub fn measure<S>(
        references: &[NearestTree],
        partials: &[NearestTree],
        completions: &[S],
        floor: SamplingFloor,
    ) -> Result<Self>
    where
        S: AsRef<[NearestTree]> + Sync,
    {
        let hausdorff = unidirectional_hausdorff(partials, completions)?;
        let groups = || completions.iter().map(AsRef::as_ref);
        let all: Vec<NearestTree> = groups().flatten().cloned().collect();
        let ones: Vec<NearestTree> = groups().map(|group| group[0].clone()).collect();
        let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / completions.len() as f64;
        let (n_partial, n_points) = (partials[0].len(), all[0].len());
        let floor_of = |group: &[NearestTree]| match group.len() {
            0 | 1 => 0.0,
            n_samples => floor.mutual_difference(n_points, n_samples),
        };
        Ok(Self {
            matching_distance: minimum_matching_distance(references, &all)?.mean,
            matching_distance_of_one: minimum_matching_distance(references, &ones)?.mean,
            mutual_difference: mean(&mut groups().map(mutual_difference)),
            hausdorff,
            mutual_difference_floor: mean(&mut groups().map(floor_of)),
            hausdorff_floor: floor.hausdorff(n_partial, n_points),
        })
    }
}

impl fmt::Display for CompletionScores {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "MMD ×10³ {:.2} (one completion each {:.2}), TMD ×10² {:.2} (floor {:.2}), UHD ×10² {:.2} (floor {:.2})",
            self.matching_distance * MMD_UNIT,
            self.matching_distance_of_one * MMD_UNIT,
            self.mutual_difference * TMD_UNIT,
            self.mutual_difference_floor * TMD_UNIT,
            self.hausdorff * UHD_UNIT,
            self.hausdorff_floor * UHD_UNIT,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::PointSet;

    #[test]
    fn a_row_by_hand() {
        let at = |x: f32| NearestTree::new(&PointSet::new(vec![[x, 0.0, 0.0]]).unwrap());
        let floor = SamplingFloor::from_area(0.0).unwrap();
        let completions = [vec![at(0.3), at(0.1)]];
        let scores = CompletionScores::measure(&[at(0.0)], &[at(0.0)], &completions, floor).unwrap();
        assert_eq!(
            scores.to_string(),
            "MMD ×10³ 20.00 (one completion each 180.00), TMD ×10² 16.00 (floor 0.00), UHD ×10² 20.00 (floor 0.00)"
        );
        let none: [Vec<NearestTree>; 0] = [];
        assert!(CompletionScores::measure(&[at(0.0)], &[], &none, floor).is_err());
    }
}
