//! Writes the page that the tests in `tools/browser_tests` open, and a picture of the same scans to look at.

use std::fs;
use std::path::Path;

use labelflow_clouds::geometry::{PartialCut, PointCloud, PointSet};
use labelflow_clouds::pictures::{CompletedScan, write_cloud_page, write_cloud_picture};
use labelflow_clouds::shapes::{Furniture, FurnitureCategory};
use labelflow_data::Result;

fn cloud(points: &PointSet) -> Result<PointCloud> {
    let points = points.as_slice().iter().map(|point| point.map(f64::from));
    Ok(PointCloud::new(points.collect())?)
}

/// A synthetic piece of furniture, what a cut leaves of it, and three pieces it may have been.
fn scan(category: FurnitureCategory, index: usize, name: &str) -> Result<CompletedScan> {
    let model = Furniture { category, seed: 0 }.model("test", index)?;
    let shape = model.shape(category.part_depth())?;
    let partial = PartialCut::default().cut(&shape, 0)?;
    let complete = |sample| cloud(&model.complete(category.part_depth(), &partial.kept_parts, sample, 2048)?);
    Ok(CompletedScan {
        name: name.to_owned(),
        input: cloud(&partial.points)?,
        completions: (0..3).map(complete).collect::<Result<_>>()?,
        truth: Some(cloud(shape.points())?),
    })
}

#[test]
fn page_for_the_browser() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let scans = [
        scan(FurnitureCategory::Chair, 1, "chair.ply").unwrap(),
        scan(FurnitureCategory::Table, 0, "</script><b>table</b> & \"more\".ply").unwrap(),
        scan(FurnitureCategory::Lamp, 2, "lamp.ply").unwrap(),
    ];
    let (page, picture) = (folder.join("cloud_page.html"), folder.join("contact_sheet.png"));
    write_cloud_page(&page, &scans).unwrap();
    write_cloud_picture(&picture, &scans).unwrap();
    assert!(fs::metadata(page).unwrap().len() > 100_000);
    assert!(fs::metadata(picture).unwrap().len() > 10_000);
}
