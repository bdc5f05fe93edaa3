//! TMD: how much the completions of one partial cloud differ from each other.
//!
//! ```text
//! TMD = mean over partial clouds of 2/(M − 1) · Σ over j < k of CD(y_j, y_k)  =  M × the mean Chamfer distance of two completions
//! ```

use labelflow_weak::Result;
use rayon::prelude::*;

use super::hausdorff::check_completions;
use crate::geometry::NearestTree;
use crate::metrics::Chamfer;

/// The mutual difference of the completions of one partial cloud; 0 if there are fewer than two.
pub fn mutual_difference(completions: &[NearestTree]) -> f64 {
    let n = completions.len();
    if n < 2 {
        return 0.0;
    }
    let mut sum = 0.0;
    for (index, completion) in completions.iter().enumerate() {
        for other in &completions[..index] {
            sum += Chamfer::between(other, completion).squared_sum();
        }
    }
    sum * 2.0 / (n - 1) as f64
}

/// TMD: the mean mutual difference over partial clouds, each of which has at least two completions. Tables print it times 100.
pub fn total_mutual_difference<S>(completions: &[S]) -> Result<f64>
where
    S: AsRef<[NearestTree]> + Sync,
{
    check_completions(completions.len(), completions, 2)?;
    let differences: Vec<f64> =
        completions.par_iter().map(|completions| mutual_difference(completions.as_ref())).collect();
    Ok(differences.iter().sum::<f64>() / differences.len() as f64)
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;
    use crate::geometry::PointSet;
    use crate::geometry::nearest_tree::tests::random_points;

    fn at(point: [f32; 3]) -> NearestTree {
        NearestTree::new(&PointSet::new(vec![point]).unwrap())
    }

    #[test]
    fn two_completions_count_twice() {
        let two = [0, 1].map(|seed| NearestTree::new(&random_points(50, seed)));
        let distance = Chamfer::between(&two[0], &two[1]).squared_sum();
        assert_eq!(mutual_difference(&two), 2.0 * distance);
    }

    #[test]
    fn three_at_equal_distances_count_three_times() {
        // The corners of an equilateral triangle in space: squared sides 2, so a Chamfer distance of 4.
        let three = [at([1.0, 0.0, 0.0]), at([0.0, 1.0, 0.0]), at([0.0, 0.0, 1.0])];
        assert_relative_eq!(mutual_difference(&three), 12.0);
        let same = [at([0.0; 3]), at([0.0; 3]), at([0.0; 3])];
        assert_eq!(total_mutual_difference(&[three.to_vec(), same.to_vec()]).unwrap(), 6.0);
    }

    #[test]
    fn one_completion_has_no_difference() {
        assert_eq!(mutual_difference(&[at([0.0; 3])]), 0.0);
        assert!(total_mutual_difference(&[vec![at([0.0; 3])]]).is_err());
        assert!(total_mutual_difference::<Vec<NearestTree>>(&[]).is_err());
    }
}
