//! Three small real datasets that come with the crate, so that a first try needs no download.
//!
//! Origin and licence: `data/README.md`.

use std::io::Read;

use flate2::read::GzDecoder;
use labelflow_weak::rows::{Features, TrueValues, Truth};

use crate::catalog::sets::classes::breast_cancer;
use crate::catalog::sets::number_table::owned;
use crate::catalog::{LabelledTable, ValueTable};
use crate::tables::cells::into_table;

const BREAST_CANCER: &str = include_str!("../../data/breast_cancer.csv");
const DIGITS: &[u8] = include_bytes!("../../data/digits.csv.gz");
const DIABETES: &[u8] = include_bytes!("../../data/diabetes_data_raw.csv.gz");
const DIABETES_TARGET: &[u8] = include_bytes!("../../data/diabetes_target.csv.gz");

/// Wisconsin breast cancer (diagnostic): 569 rows, 30 features, 357 benign (0) and 212 malignant (1).
///
/// ```
/// let table = labelflow_data::catalog::embedded::breast_cancer();
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
        classes: owned(&breast_cancer::CLASSES),
    }
}

/// Handwritten digits: 1797 rows, 8 × 8 pixels from 0 to 16, ten classes.
pub fn digits() -> LabelledTable {
    let text = unpacked(DIGITS);
    let names = (0..64).map(|pixel| format!("pixel_{}_{}", pixel / 8, pixel % 8)).collect();
    let (features, labels) = parse(&text, names);
    LabelledTable {
        features,
        truth: Truth::new(labels, 10).expect("the embedded labels are digits"),
        classes: (0..10).map(|digit| digit.to_string()).collect(),
    }
}

/// Diabetes: 442 patients, age, sex, body mass index, blood pressure and six blood serum measurements in their own units;
/// the label is the disease's progression a year later, 25 to 346.
///
/// ```
/// let table = labelflow_data::catalog::embedded::diabetes();
/// assert_eq!(table.features.names()[2], "bmi");
/// assert_eq!(table.truth.values()[0], 151.0);
/// ```
pub fn diabetes() -> ValueTable {
    let names = ["age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6"];
    let text = unpacked(DIABETES);
    let cells = text.split_ascii_whitespace();
    let values: Vec<f32> = cells.map(|cell| cell.parse().expect("the embedded cells are numbers")).collect();
    let target = unpacked(DIABETES_TARGET);
    let labels = target.lines().map(|line| line.parse().expect("the embedded labels are numbers"));
    ValueTable {
        features: features(values, owned(&names)),
        truth: TrueValues::new(labels.collect()).expect("the embedded labels are finite"),
    }
}

fn unpacked(bytes: &[u8]) -> String {
    let mut text = String::new();
    GzDecoder::new(bytes).read_to_string(&mut text).expect("the embedded file is whole");
    text
}

/// Lines of numbers, the label last.
fn parse(text: &str, names: Vec<String>) -> (Features, Vec<usize>) {
    let mut values = Vec::new();
    let mut labels = Vec::new();
    for line in text.lines() {
        let (row, label) = line.rsplit_once(',').expect("the embedded rows have many fields");
        values.extend(row.split(',').map(|cell| cell.parse::<f32>().expect("the embedded cells are numbers")));
        labels.push(label.parse::<f64>().expect("the embedded labels are numbers") as usize);
    }
    (features(values, names), labels)
}

fn features(cells: Vec<f32>, names: Vec<String>) -> Features {
    Features::with_names(into_table(cells, names.len()), names).expect("the embedded numbers are finite")
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
        assert_eq!(table.features.rounded()[[0, 20]], 25.38);
    }

    #[test]
    fn digits_are_whole() {
        let table = digits();
        assert_eq!((table.features.n_rows(), table.features.d_features()), (1797, 64));
        assert_eq!(class_counts(&table.truth), [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]);
        assert!(table.features.values().iter().all(|&pixel| (0.0..=16.0).contains(&pixel)));
    }

    #[test]
    fn diabetes_is_whole() {
        let table = diabetes();
        assert_eq!((table.features.n_rows(), table.features.d_features()), (442, 10));
        assert_eq!((table.truth.n_rows(), table.truth.extremes()), (442, (25.0, 346.0)));
        let first = [59.0, 2.0, 32.1, 101.0, 157.0, 93.2, 38.0, 4.0, 4.8598, 87.0];
        assert_eq!(table.features.rounded().row(0).to_vec(), first);
        let mean = table.truth.values().iter().sum::<f64>() / 442.0;
        assert!((mean - 152.1335).abs() < 1e-4, "{mean}");
    }
}
