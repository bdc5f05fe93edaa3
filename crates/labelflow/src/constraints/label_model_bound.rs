//! Rows that a label model is about equally sure of have another class than its at most as often as it expects.
//!
//! ```text
//! rows of group g: those whose most probable class is c, from the least to the most sure in at most 5 groups of 20 rows or more
//!
//! √(n_g / N) (mean_{i ∈ g} (1 − y_ic) − mean_{i ∈ g} (1 − p_ic)) ≤ 0          p ∝ (probabilities of the label model)²
//! ```
//!
//! Bounds of labelers say less: each knows nothing of what the others say of a row. Within a group the features decide which rows are the
//! wrong ones. The root gives each row the same part in the sum of squares.
//!
//! Probabilities are squared since label models are more often too unsure than too sure, and a bound that is too loose is worse than one
//! that is too tight: training stops where a bound holds. (Chosen on six sets of texts with rules: the square was best in the mean, the
//! first power and the cube a point behind.) Rows that nobody voted on are in no group.

use burn::tensor::{Device, Tensor, TensorData};
use labelflow_weak::label_models::{AutoLabelModel, FittedLabelModel, LabelModel};
use labelflow_weak::rows::SoftLabels;
use labelflow_weak::votes::WeakSignals;

use crate::Result;
use crate::constraints::{Constraint, Residual};
use crate::training::Batch;

/// The most groups of a class.
const MOST_GROUPS: usize = 5;
/// Rows of a group of a class that has more than one.
const FEWEST_ROWS: usize = 20;
/// The power of the probabilities.
const POWER: f64 = 2.0;

/// Rows that a label model is about equally sure of.
#[derive(Debug, Clone, PartialEq)]
pub struct SureGroup {
    /// Their most probable class.
    pub class: usize,
    /// Which rows, from the least to the most sure.
    pub rows: Vec<usize>,
    /// At most this share of them has another class.
    pub bound: f64,
}

/// The rows that anybody voted on, in groups that the label model is about equally sure of.
pub fn sure_groups(signals: &WeakSignals) -> Result<Vec<SureGroup>> {
    let labels = AutoLabelModel::default().fit_with(signals, &None)?.predict_proba(signals)?;
    Ok(groups_of(&sharpened(&labels), &signals.covered_rows()))
}

fn sharpened(labels: &SoftLabels) -> SoftLabels {
    SoftLabels::normalized(labels.values().mapv(|probability| probability.powf(POWER)))
}

fn groups_of(labels: &SoftLabels, covered: &[usize]) -> Vec<SureGroup> {
    let (values, classes) = (labels.values(), labels.argmax());
    let mut groups = Vec::new();
    for class in 0..labels.n_classes() {
        let mut rows: Vec<usize> = covered.iter().copied().filter(|&row| classes[row] == class).collect();
        rows.sort_by(|&a, &b| values[[a, class]].total_cmp(&values[[b, class]]));
        let n_groups = (rows.len() / FEWEST_ROWS).clamp(1, MOST_GROUPS);
        let start = |group: usize| group * rows.len() / n_groups;
        let parts = (0..n_groups).map(|group| &rows[start(group)..start(group + 1)]);
        groups.extend(parts.filter(|rows| !rows.is_empty()).map(|rows| {
            let errors = rows.iter().map(|&row| 1.0 - values[[row, class]]).sum::<f64>();
            SureGroup { class, rows: rows.to_vec(), bound: errors / rows.len() as f64 }
        }));
    }
    groups
}

/// Rows that a label model is about equally sure of have another class at most as often as it expects.
#[derive(Debug)]
pub struct LabelModelBound {
    /// −√(n_g / N) / n_g for rows of each group, 0 for others, `[n_groups, n_rows]`.
    slopes: Tensor<2>,
    /// 1 for the most probable class of each row, `[n_rows, n_classes]`.
    classes: Tensor<2>,
    /// √(n_g / N) (1 − bound), `[n_groups]`.
    offsets: Tensor<1>,
}

impl LabelModelBound {
    /// Of these groups of `n_rows` rows.
    pub fn new(groups: &[SureGroup], n_rows: usize, n_classes: usize, device: &Device) -> Self {
        let n_covered = groups.iter().map(|group| group.rows.len()).sum::<usize>().max(1) as f64;
        let mut slopes = vec![0f32; groups.len() * n_rows];
        let mut classes = vec![0f32; n_rows * n_classes];
        let mut offsets = Vec::with_capacity(groups.len());
        for (index, SureGroup { class, rows, bound }) in groups.iter().enumerate() {
            let root = (rows.len() as f64 / n_covered).sqrt();
            for &row in rows {
                slopes[index * n_rows + row] = -(root / rows.len() as f64) as f32;
                classes[row * n_classes + class] = 1.0;
            }
            offsets.push(root * (1.0 - bound));
        }
        Self {
            slopes: Tensor::from_data(TensorData::new(slopes, [groups.len(), n_rows]), device),
            classes: Tensor::from_data(TensorData::new(classes, [n_rows, n_classes]), device),
            offsets: Tensor::from_data(TensorData::new(offsets, [groups.len()]), device),
        }
    }
}

impl Constraint for LabelModelBound {
    fn name(&self) -> String {
        "label-model".to_owned()
    }

    fn residual(&self, labels: &Tensor<2>, batch: &Batch<'_>) -> Residual {
        let n_groups = self.offsets.dims()[0];
        let agreements = batch.total(labels, |labels, rows| {
            let of_class = (labels.clone() * rows.select(&self.classes, 0)).sum_dim(1);
            rows.select(&self.slopes, 1).matmul(of_class).reshape([n_groups])
        });
        Residual::Overall(agreements + self.offsets.clone())
    }
}

#[cfg(test)]
mod tests {
    use labelflow_weak::votes::Votes;
    use ndarray::{Array2, array};

    use super::*;

    #[test]
    fn groups_are_rows_of_a_class_by_how_sure_it_is() {
        let sure = |row: usize| 0.5 + row as f64 / 250.0;
        let labels = Array2::from_shape_fn((120, 2), |(row, class)| match (row < 100, class) {
            (true, 0) | (false, 1) => sure(row),
            _ => 1.0 - sure(row),
        });
        let labels = SoftLabels::new(labels).unwrap();
        let covered: Vec<usize> = (1..119).collect();
        let groups = groups_of(&labels, &covered);
        let shape: Vec<(usize, usize)> = groups.iter().map(|group| (group.class, group.rows.len())).collect();
        assert_eq!(shape, [(0, 24), (0, 25), (0, 25), (0, 25), (1, 19)]);
        assert_eq!(groups[0].rows, (1..25).collect::<Vec<_>>());
        let expected = (1..25).map(|row| 1.0 - sure(row)).sum::<f64>() / 24.0;
        assert!((groups[0].bound - expected).abs() < 1e-12);
        // In order, the least sure first.
        assert!(groups[..4].windows(2).all(|pair| pair[0].bound > pair[1].bound));
    }

    #[test]
    fn labels_with_more_errors_than_expected_violate_the_bound() {
        let device = Device::flex();
        let groups = vec![
            SureGroup { class: 1, rows: vec![0, 2], bound: 0.25 },
            SureGroup { class: 0, rows: vec![3, 1], bound: 0.1 },
        ];
        let bound = LabelModelBound::new(&groups, 5, 2, &device);
        let labels = Tensor::<2>::from_floats([[0.5, 0.5], [1.0, 0.0], [0.9, 0.1], [0.8, 0.2], [0.0, 9.0]], &device);
        let Residual::Overall(residual) = bound.residual(&labels, &Batch::full()) else {
            panic!("it is over all rows")
        };
        let residual: Vec<f64> = residual.into_data().iter::<f64>().collect();
        let root = 0.5f64.sqrt();
        assert!((residual[0] - root * (0.7 - 0.25)).abs() < 1e-6, "{residual:?}");
        assert!((residual[1] - root * (0.1 - 0.1)).abs() < 1e-6, "{residual:?}");
    }

    #[test]
    fn rows_without_votes_are_in_no_group() {
        let votes = array![[0, 0], [-1, -1], [1, 1], [0, -1]];
        let signals = WeakSignals::from_votes(Votes::from_indices(votes.view(), Some(2)).unwrap()).unwrap();
        let mut rows: Vec<usize> = sure_groups(&signals).unwrap().into_iter().flat_map(|group| group.rows).collect();
        rows.sort_unstable();
        assert_eq!(rows, [0, 2, 3]);
    }
}
