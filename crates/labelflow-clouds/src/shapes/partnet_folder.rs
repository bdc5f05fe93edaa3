//! PartNet's folders: `data/<anno_id>/` with the tree of parts and 10,000 labelled points, and lists of ids as splits.
//!
//! ```text
//! data/<anno_id>/result.json                                     the tree of parts
//! data/<anno_id>/point_sample/ply-10000.ply or pts-10000.txt     points,   label-10000.txt: a node of the tree for each
//! data/<anno_id>/point_sample/sample-points-all-pts-nor-rgba-10000.txt, sample-points-all-label-10000.txt
//! stats/train_val_test_split/<Category>.{train,val,test}.json    [{"anno_id": …}, …]
//! ```
//!
//! Points fill the unit ball; shapes are given in a ball of radius 0.5.

use std::path::{Path, PathBuf};

use labelflow_data::tables::read_json;
use labelflow_data::{Error, Result};
use rayon::prelude::*;
use serde::Deserialize;

use crate::files::point_lines_file::read_part_lines;
use crate::files::read_cloud;
use crate::geometry::{Normalization, PointCloud, Shape};
use crate::shapes::PartTree;

/// How far the middle of a shape's box may be from the origin.
const LARGEST_SHIFT: f64 = 0.05;
/// The radius that a shape may have.
const RADII: std::ops::RangeInclusive<f64> = 0.9..=1.05;
/// The files with points and with their labels, the best first.
const SAMPLES: [(&str, &str); 3] = [
    ("ply-10000.ply", "label-10000.txt"),
    ("pts-10000.txt", "label-10000.txt"),
    ("sample-points-all-pts-nor-rgba-10000.txt", "sample-points-all-label-10000.txt"),
];

settings! {
    /// How shapes are read.
    #[derive(Eq)]
    pub struct PartNetOptions {
        /// The depth of the tree at which leaves are merged into parts: 1 for chairs and lamps, 2 for tables. Default: 1.
        part_depth: usize = 1,
    }
}

/// The shapes of a split, and those that are no use.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PartNetShapes {
    /// Shapes with at least two parts, in the order of the ids.
    pub shapes: Vec<Shape>,
    /// Shapes that were left out.
    pub dropped: Vec<DroppedShape>,
    /// Shapes that were not centred or not of radius 1 and have been normalised.
    pub normalized: Vec<String>,
}

/// A shape that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DroppedShape {
    /// Its name.
    pub id: String,
    /// Why.
    pub reason: String,
}

#[derive(Deserialize)]
struct SplitEntry {
    anno_id: AnnoId,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum AnnoId {
    Text(String),
    Number(u64),
}

/// The ids of a split's list, such as `Chair.test.json`.
pub fn read_partnet_split(path: &Path) -> Result<Vec<String>> {
    let entries: Vec<SplitEntry> = read_json(path)?;
    let ids = entries.into_iter().map(|entry| match entry.anno_id {
        AnnoId::Text(id) => id,
        AnnoId::Number(id) => id.to_string(),
    });
    Ok(ids.collect())
}

/// Reads the shapes with these ids from the folder that has one folder for each. Shapes of a single part are dropped, with a reason;
/// a missing or damaged file is an error.
pub fn read_partnet(data: &Path, ids: &[String], options: &PartNetOptions) -> Result<PartNetShapes> {
    let read: Result<Vec<_>> = ids.par_iter().map(|id| read_partnet_shape(data, id, options)).collect();
    let mut shapes = PartNetShapes::default();
    for (id, read) in ids.iter().zip(read?) {
        match read {
            Ok((shape, was_normalized)) => {
                shapes.shapes.push(shape);
                shapes.normalized.extend(was_normalized.then(|| id.clone()));
            }
            Err(dropped) => shapes.dropped.push(dropped),
        }
    }
    Ok(shapes)
}

/// Reads one shape, and whether it had to be normalised; or why it is of no use.
#[allow(clippy::type_complexity, reason = "an error is not a dropped shape")]
pub fn read_partnet_shape(
    data: &Path,
    id: &str,
    options: &PartNetOptions,
) -> Result<std::result::Result<(Shape, bool), DroppedShape>> {
    if id.is_empty() || id.contains(['/', '\\']) || id == ".." {
        return Err(Error::config("anno_id", "the name of a folder", format!("'{id}'")));
    }
    let folder = data.join(id);
    let drop = |reason: &str| Ok(Err(DroppedShape { id: id.to_owned(), reason: reason.to_owned() }));
    let Some(merged) = PartTree::read(&folder.join("result.json"))?.merged(options.part_depth) else {
        return drop("its tree has one part only");
    };
    let (points_path, labels_path) = find_sample(&folder.join("point_sample"))?;
    let cloud = read_cloud(&points_path)?;
    let labels = read_part_lines(&labels_path)?;
    if labels.len() != cloud.len() {
        let expected = format!("a label for each of the {} points", cloud.len());
        return Err(Error::content(&labels_path, expected, labels.len()));
    }
    let unknown = |label| Error::content(&labels_path, "the id of a node of result.json", label);
    let parts: Result<Vec<u32>> =
        labels.iter().map(|label| merged.get(label).copied().ok_or_else(|| unknown(label))).collect();
    let is_normal = is_normal(&cloud);
    let frame = if is_normal {
        Normalization::new([0.0; 3], Normalization::SHAPE_RADIUS)
    } else {
        Normalization::fit(&cloud, Normalization::SHAPE_RADIUS)
    };
    let points = frame.and_then(|frame| frame.apply(&cloud)).map_err(Error::in_file(&points_path))?;
    let shape = Shape::new(id, points, parts?).map_err(Error::in_file(&points_path))?;
    if shape.present_parts().len() < 2 {
        return drop("all its points belong to one part");
    }
    Ok(Ok((shape, !is_normal)))
}

fn find_sample(folder: &Path) -> Result<(PathBuf, PathBuf)> {
    let paths = SAMPLES.map(|(points, labels)| (folder.join(points), folder.join(labels)));
    paths.into_iter().find(|(points, labels)| points.is_file() && labels.is_file()).ok_or_else(|| {
        let expected = "points such as ply-10000.ply and labels such as label-10000.txt";
        Error::content(folder, expected, "no such files")
    })
}

/// Whether a shape is centred and fills the unit ball.
fn is_normal(cloud: &PointCloud) -> bool {
    let (low, high) = cloud.bounding_box();
    let is_centred = (0..3).all(|axis| ((low[axis] + high[axis]) / 2.0).abs() < LARGEST_SHIFT);
    let squared = |point: &[f64; 3]| point.iter().map(|value| value * value).sum::<f64>();
    let radius = cloud.points().iter().map(squared).fold(0.0, f64::max).sqrt();
    is_centred && RADII.contains(&radius)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn write_shape(data: &Path, id: &str, tree: &str, points: &str, labels: &str) {
        let folder = data.join(id).join("point_sample");
        fs::create_dir_all(&folder).unwrap();
        fs::write(data.join(id).join("result.json"), tree).unwrap();
        fs::write(folder.join("pts-10000.txt"), points).unwrap();
        fs::write(folder.join("label-10000.txt"), labels).unwrap();
    }

    const TREE: &str = r#"[{"id": 0, "name": "chair", "text": "Chair", "children": [
        {"id": 1, "name": "chair_back", "text": "Back", "objs": ["new-0"]},
        {"id": 2, "name": "chair_base", "text": "Base", "children": [
            {"id": 3, "name": "leg", "text": "Leg"}, {"id": 4, "name": "leg", "text": "Leg"}]},
        {"id": 5, "name": "chair_seat", "text": "Seat"}]}]"#;

    #[test]
    fn shapes_are_read_merged_and_halved() {
        let data = tempfile::tempdir().unwrap();
        let points = "1 0 0\n-1 0 0\n0 0.5 0\n0 -0.5 0\n";
        write_shape(data.path(), "7", TREE, points, "1\n3\n4\n3\n");
        write_shape(data.path(), "8", TREE, "10 0 0\n14 0 0\n", "1\n4\n");
        write_shape(data.path(), "9", TREE, points, "3\n3\n4\n4\n");
        let single = r#"[{"id": 0, "name": "lamp", "text": ""}]"#;
        write_shape(data.path(), "10", single, points, "0\n0\n0\n0\n");
        let split = data.path().join("Chair.test.json");
        fs::write(&split, r#"[{"anno_id": "7", "model_id": "x"}, {"anno_id": 8}, {"anno_id": 9}, {"anno_id": 10}]"#)
            .unwrap();
        let ids = read_partnet_split(&split).unwrap();
        let read = read_partnet(data.path(), &ids, &PartNetOptions::default()).unwrap();
        // The empty part 'chair_seat' does not disturb.
        assert_eq!(read.shapes[0].parts(), [1, 2, 2, 2]);
        assert_eq!(read.shapes[0].points().as_slice()[0], [0.5, 0.0, 0.0]);
        assert_eq!(read.shapes[1].points().as_slice(), [[-0.5, 0.0, 0.0], [0.5, 0.0, 0.0]]);
        assert_eq!(read.normalized, ["8"]);
        let dropped: Vec<&str> = read.dropped.iter().map(|shape| shape.id.as_str()).collect();
        assert_eq!(dropped, ["9", "10"]);
    }

    #[test]
    fn bad_folders_are_errors() {
        let data = tempfile::tempdir().unwrap();
        let read = |id: &str| {
            let read = read_partnet_shape(data.path(), id, &PartNetOptions::default());
            read.unwrap_err().to_string()
        };
        write_shape(data.path(), "1", TREE, "1 0 0\n-1 0 0\n", "1\n");
        assert!(read("1").contains("expected a label for each of the 2 points, found 1"));
        write_shape(data.path(), "2", TREE, "1 0 0\n-1 0 0\n", "1\n77\n");
        assert!(read("2").contains("expected the id of a node of result.json, found 77"));
        write_shape(data.path(), "3", TREE, "1 0 0\n-1 nan 0\n", "1\n3\n");
        assert!(read("3").contains("pts-10000.txt, line 2"));
        fs::remove_file(data.path().join("3/point_sample/pts-10000.txt")).unwrap();
        assert!(read("3").contains("expected points such as ply-10000.ply"));
        assert!(read("nowhere").contains("cannot read"));
        assert!(read("../1").contains("anno_id"));
    }
}
