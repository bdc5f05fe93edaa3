//! A scan and its completions, as pictures show them.

use labelflow_data::{Error, Result};
use serde::Serialize;

use crate::geometry::{Normalization, PointCloud};

/// A scan with what it may have been before parts of it were lost: a row of a picture, or one of the scans of a page.
#[derive(Debug, Clone, PartialEq)]
pub struct CompletedScan {
    /// What to call it, such as the name of its file.
    pub name: String,
    /// What was seen.
    pub input: PointCloud,
    /// The completions, of which there may be none.
    pub completions: Vec<PointCloud>,
    /// The whole shape, if it is known.
    pub truth: Option<PointCloud>,
}

/// What a cloud of a scan is, which decides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CloudRole {
    Input,
    Completion,
    Truth,
}

impl CompletedScan {
    /// All clouds in the order in which they are shown, with no more than so many completions.
    pub(crate) fn clouds(&self, n_completions: usize) -> Vec<(CloudRole, &PointCloud)> {
        let completions = self.completions.iter().take(n_completions);
        std::iter::once((CloudRole::Input, &self.input))
            .chain(completions.map(|cloud| (CloudRole::Completion, cloud)))
            .chain(self.truth.iter().map(|cloud| (CloudRole::Truth, cloud)))
            .collect()
    }

    /// The frame that all clouds share: their common box has its middle at 0 and its corners at the distance 0.5.
    pub(crate) fn frame(&self, n_completions: usize) -> Result<Normalization> {
        let boxes = self.clouds(n_completions).into_iter().map(|(_, cloud)| cloud.bounding_box());
        let corners = boxes.flat_map(|(low, high)| [low, high]).collect();
        let (low, high) = PointCloud::new(corners)?.bounding_box();
        Ok(Normalization::fit(&PointCloud::new(vec![low, high])?, 0.5)?)
    }
}

/// That there is something to show, and not too much of it.
pub(crate) fn check_scans(scans: &[CompletedScan], most: usize) -> Result<()> {
    if (1..=most).contains(&scans.len()) {
        return Ok(());
    }
    let expected = format!("from 1 to {most} scans in one file");
    Err(Error::config("scans", expected, scans.len()).with_hint("write several files"))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::shapes::{Furniture, FurnitureCategory};

    /// A synthetic chair, table or lamp with one part left, and completions of it.
    pub(crate) fn scan_of_furniture(category: FurnitureCategory, index: usize, n_completions: u64) -> CompletedScan {
        let model = Furniture { category, seed: 0 }.model("test", index).unwrap();
        let depth = category.part_depth();
        let shape = model.shape(depth).unwrap();
        let part = shape.present_parts()[0];
        let cloud = |points: Vec<[f32; 3]>| {
            let points = points.into_iter().map(|point| point.map(f64::from)).collect();
            PointCloud::new(points).unwrap()
        };
        let whole = shape.points().as_slice().iter().zip(shape.parts());
        let seen = whole.clone().filter(|&(_, &of_point)| of_point == part).map(|(&point, _)| point);
        let completions = (0..n_completions)
            .map(|sample| model.complete(depth, &[part], sample, 2048).unwrap())
            .map(|points| cloud(points.as_slice().to_vec()));
        CompletedScan {
            name: model.id().to_owned(),
            input: cloud(seen.take(1024).collect()),
            completions: completions.collect(),
            truth: Some(cloud(whole.map(|(&point, _)| point).take(2048).collect())),
        }
    }

    #[test]
    fn one_frame_holds_all_clouds() {
        let cloud = |point: [f64; 3]| PointCloud::new(vec![point]).unwrap();
        let scan = CompletedScan {
            name: "a".into(),
            input: cloud([500_000_000.0, 0.0, 0.0]),
            completions: vec![cloud([500_000_008.0, 0.0, 0.0]), cloud([0.0; 3])],
            truth: Some(cloud([500_000_004.0, 0.0, 6.0])),
        };
        let frame = scan.frame(1).unwrap();
        assert_eq!(frame.center(), [500_000_004.0, 0.0, 3.0]);
        assert_eq!(frame.scale(), 0.1);
        assert_eq!(scan.clouds(1).len(), 3);
        let far = CompletedScan { completions: vec![cloud([f64::MAX; 3]), cloud([-f64::MAX; 3])], ..scan };
        assert!(far.frame(2).is_err());
    }

    #[test]
    fn no_scans_and_too_many_are_errors() {
        let scan = scan_of_furniture(FurnitureCategory::Lamp, 0, 0);
        assert!(check_scans(&[], 3).is_err());
        assert!(check_scans(&vec![scan.clone(); 3], 3).is_ok());
        let error = check_scans(&vec![scan; 4], 3).unwrap_err().to_string();
        assert!(error.contains("from 1 to 3 scans in one file, found 4"), "{error}");
    }
}
