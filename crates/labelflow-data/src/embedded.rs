//! Two small real datasets that come with the crate, so that a first try needs no download.
//!
//! Origin and licence: `data/README.md`.

use std::io::Read;

use flate2::read::GzDecoder;
use labelflow_weak::{Features, Truth};
use ndarray::Array2;

use crate::LabelledTable;
use crate::sets::breast_cancer;

const BREAST_CANCER: &str = include_str!("../data/breast_cancer.csv");
const DIGITS: &[u8] = include_bytes!("../data/digits.csv.gz");

/// Wisconsin breast cancer (diagnostic): 569 rows, 30 features, 357 benign (0) and 212 malignant (1).
///
/// ```
/// let table = labelflow_data::embedded::breast_cancer();
/// assert_eq!(table.features.names()[0], "mean radius");
/// assert_eq!(table.classes, ["benign", "malignant"]);
/// ```
pub fn breast_cancer() -> LabelledTable {
    // The first line holds counts and class names, not columns.
    let body = BREAST_CANCER.split_once('\n').expect("the embedded file has a first line").1;
    let (features, labels) = parse(body, breast_cancer::column_names());
    // In this file malignant is 0; everywhere in this project the condition looked for is 1.
    let labels = labels.into_iter().map(|label| 1 - label).collect();
    LabelledTable {
        features,
        truth: Truth::new(labels, 2).expect("the embedded labels are 0 and 1"),
        classes: breast_cancer::CLASSES.map(str::to_owned).to_vec(),
    }
}

/// Handwritten digits: 1797 rows, 8 × 8 pixels from 0 to 16, ten classes.
pub fn digits() -> LabelledTable {
    let mut text = String::new();
    GzDecoder::new(DIGITS).read_to_string(&mut text).expect("the embedded file is whole");
    let names = (0..64).map(|pixel| format!("pixel_{}_{}", pixel / 8, pixel % 8)).collect();
    let (features, labels) = parse(&text, names);
    LabelledTable {
        features,
        truth: Truth::new(labels, 10).expect("the embedded labels are digits"),
        classes: (0..10).map(|digit| digit.to_string()).collect(),
    }
}

/// Lines of numbers, the label last.
fn parse(text: &str, names: Vec<String>) -> (Features, Vec<usize>) {
    let mut values = Vec::new();
    let mut labels = Vec::new();
    for line in text.lines() {
        let (row, label) = line.rsplit_once(',').expect("the embedded rows have many fields");
        values.extend(
            row.split(',').map(|cell| cell.parse::<f32>().expect("the embedded cells are numbers")),
        );
        labels.push(label.parse::<f64>().expect("the embedded labels are numbers") as usize);
    }
    let values = Array2::from_shape_vec((labels.len(), names.len()), values)
        .expect("the embedded rows are equally long");
    let features = Features::with_names(values, names).expect("the embedded numbers are finite");
    (features, labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class_counts(truth: &Truth) -> Vec<usize> {
        let mut counts = vec![0; truth.n_classes()];
        truth.labels().iter().for_each(|&label| counts[label] += 1);
        counts
    }

    #[test]
    fn breast_cancer_is_whole() {
        let table = breast_cancer();
        assert_eq!((table.features.n_rows(), table.features.d_features()), (569, 30));
        assert_eq!(class_counts(&table.truth), [357, 212]);
        assert_eq!(table.truth.labels()[0], 1, "the first row is malignant");
        assert_eq!(table.features.names()[20], "worst radius");
        assert_eq!(table.features.values()[[0, 20]], 25.38);
    }

    #[test]
    fn digits_are_whole() {
        let table = digits();
        assert_eq!((table.features.n_rows(), table.features.d_features()), (1797, 64));
        assert_eq!(class_counts(&table.truth), [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]);
        assert!(table.features.values().iter().all(|&pixel| (0.0..=16.0).contains(&pixel)));
    }
}
