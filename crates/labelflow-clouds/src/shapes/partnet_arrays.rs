//! Labelled chairs as arrays: one folder with the points, parts and labels of each split, and an index.
//!
//! ```text
//! chair_<split>_points_i16.npy        [n_shapes, n_points, 3], coordinate = value / 32768, +Y up
//! chair_<split>_part_u8.npy.gz        [n_shapes, n_points], the box that a point belongs to
//! chair_<split>_label_u8.npy.gz       [n_shapes, n_points], 0 back, 1 seat, 2 leg, 3 armrest
//! index.tsv                           split, row, partnet_anno_id, …, mean_residual
//! ```
//!
//! The labels come from boxes that were fitted to the points; shapes whose boxes fit badly are dropped.

use std::collections::HashMap;
use std::path::Path;

use labelflow_data::tables::{NpyArray, shown, visit_lines};
use labelflow_data::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::geometry::{Normalization, PointCloud, Shape};
use crate::shapes::{DroppedShape, PartNetShapes};

/// The longest line of the index.
const LONGEST_LINE: u64 = 1 << 16;
/// The label of armrests.
const ARMREST: u32 = 3;

/// What counts as a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArrayParts {
    /// The label; armrests on the two sides are two parts. This is what merging PartNet's tree at depth 1 gives.
    #[default]
    Labels,
    /// The boxes, of which a shape has nine in the middle and fifty at most.
    Boxes,
}

settings! {
    /// How the arrays are read.
    pub struct PartNetArrays {
        /// What counts as a part. Default: labels.
        parts: ArrayParts = ArrayParts::default(),
        /// Shapes whose boxes are farther from the points on average are dropped. Default: 0.01.
        largest_residual: f64 = 0.01,
    }
}

/// Reads a split (`train`, `val` or `test`) of the folder, in the frame of radius 0.5.
pub fn read_partnet_arrays(folder: &Path, split: &str, options: &PartNetArrays) -> Result<PartNetShapes> {
    if !["train", "val", "test"].contains(&split) {
        return Err(Error::config("split", "train, val or test", format!("'{split}'")));
    }
    let index = read_index(&folder.join("index.tsv"), split)?;
    let points_path = folder.join(format!("chair_{split}_points_i16.npy"));
    let points = NpyArray::read(&points_path, &[])?;
    let &[n_shapes, n_points, 3] = points.shape() else {
        let found = format!("{:?}", points.shape());
        return Err(Error::content(&points_path, "an array [n_shapes, n_points, 3]", found));
    };
    let bytes = |kind: &str| -> Result<Vec<f32>> {
        let path = folder.join(format!("chair_{split}_{kind}_u8.npy.gz"));
        let array = NpyArray::read(&path, &[])?;
        if array.shape() != [n_shapes, n_points] {
            let expected = format!("an array [{n_shapes}, {n_points}]");
            return Err(Error::content(&path, expected, format!("{:?}", array.shape())));
        }
        Ok(array.numbers::<f32>().into_raw_vec_and_offset().0)
    };
    let parts = match options.parts {
        ArrayParts::Labels => bytes("label")?,
        ArrayParts::Boxes => bytes("part")?,
    };
    let points: Vec<f32> = points.numbers::<f32>().into_raw_vec_and_offset().0;
    let mut shapes = PartNetShapes::default();
    for row in 0..n_shapes {
        let Some((id, residual)) = index.get(&row) else {
            let expected = format!("row {row} of split {split}");
            return Err(Error::content(&folder.join("index.tsv"), expected, "no such line"));
        };
        let mut drop = |reason: String| shapes.dropped.push(DroppedShape { id: id.clone(), reason });
        if *residual > options.largest_residual {
            drop(format!("its boxes miss the points by {residual}"));
            continue;
        }
        let rows = row * n_points..(row + 1) * n_points;
        let points = &points[3 * rows.start..3 * rows.end];
        let parts = merged(&parts[rows], points, options.parts);
        let shape = shape(id, points, parts).map_err(Error::in_file(&points_path))?;
        if shape.present_parts().len() < 2 {
            drop("all its points belong to one part".to_owned());
            continue;
        }
        shapes.shapes.push(shape);
    }
    Ok(shapes)
}

/// The part of each point; armrests are told apart by their side.
fn merged(parts: &[f32], points: &[f32], kind: ArrayParts) -> Vec<u32> {
    let part = |(&part, point): (&f32, &[f32])| {
        let part = part as u32;
        let is_left = kind == ArrayParts::Labels && part == ARMREST && point[0] < 0.0;
        part + u32::from(is_left)
    };
    parts.iter().zip(points.chunks_exact(3)).map(part).collect()
}

fn shape(id: &str, points: &[f32], parts: Vec<u32>) -> labelflow_weak::Result<Shape> {
    let points = points.as_chunks::<3>().0;
    let point = |point: &[f32; 3]| point.map(|value| f64::from(value) / 32768.0);
    let cloud = PointCloud::new(points.iter().map(point).collect())?;
    let frame = Normalization::fit(&cloud, Normalization::SHAPE_RADIUS)?;
    Shape::new(id, frame.apply(&cloud)?, parts)
}

/// The name and residual of each row of a split.
fn read_index(path: &Path, split: &str) -> Result<HashMap<usize, (String, f64)>> {
    let mut places: Option<Vec<usize>> = None;
    let mut index = HashMap::new();
    visit_lines(path, LONGEST_LINE, |_, line| {
        let line = String::from_utf8_lossy(line);
        let cells: Vec<&str> = line.split('\t').collect();
        let Some(places) = &places else {
            let names = ["split", "row", "partnet_anno_id", "mean_residual"];
            let found: Option<Vec<usize>> =
                names.iter().map(|name| cells.iter().position(|cell| cell == name)).collect();
            places = Some(found.ok_or_else(|| {
                let expected = format!("the columns {}", names.join(", "));
                Error::content(path, expected, format!("'{}'", shown(&line)))
            })?);
            return Ok(());
        };
        let refuse = || Error::content(path, "a row of the index", format!("'{}'", shown(&line)));
        let cell = |place: usize| cells.get(places[place]).copied().ok_or_else(refuse);
        if cell(0)? == split {
            let row: usize = cell(1)?.parse().map_err(|_| refuse())?;
            let residual: f64 = cell(3)?.parse().map_err(|_| refuse())?;
            index.insert(row, (cell(2)?.to_owned(), residual));
        }
        Ok(())
    })?;
    Ok(index)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use labelflow_data::tables::NpzArray;
    use labelflow_data::write_atomically;

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, shape: Vec<usize>, values: Vec<i16>| {
            let path = folder.path().join(name);
            let array = NpzArray::Shorts(shape, values);
            write_atomically(&path, |writer| array.write(writer)).unwrap();
        };
        let shape = [16384, 0, 0, -16384, 0, 0];
        write("chair_val_points_i16.npy", vec![3, 2, 3], shape.repeat(3));
        write("chair_val_label_u8.npy.gz", vec![3, 2], vec![3, 3, 0, 0, 1, 2]);
        write("chair_val_part_u8.npy.gz", vec![3, 2], vec![7, 8, 7, 9, 1, 1]);
        let index = "split\trow\tpartnet_anno_id\tmean_residual\nval\t0\ta\t0.001\ntest\t0\tz\t0\n\
            val\t1\tb\t0.001\nval\t2\tc\t0.02\n";
        fs::write(folder.path().join("index.tsv"), index).unwrap();
        folder
    }

    #[test]
    fn shapes_that_do_not_fit_or_have_one_part_are_dropped() {
        let folder = folder();
        let read = |parts| {
            let options = PartNetArrays { parts, ..PartNetArrays::default() };
            read_partnet_arrays(folder.path(), "val", &options).unwrap()
        };
        let shapes = read(ArrayParts::Labels);
        // Two armrests are two parts; shape b has a back alone, shape c does not fit.
        assert_eq!(shapes.shapes.len(), 1);
        assert_eq!(shapes.shapes[0].parts(), [3, 4]);
        assert_eq!(shapes.shapes[0].points().as_slice()[0], [0.5, 0.0, 0.0]);
        let dropped: Vec<&str> = shapes.dropped.iter().map(|shape| shape.id.as_str()).collect();
        assert_eq!(dropped, ["b", "c"]);
        let ids: Vec<String> = read(ArrayParts::Boxes).shapes.iter().map(|shape| shape.id().to_owned()).collect();
        assert_eq!(ids, ["a", "b"]);
    }

    #[test]
    fn bad_folders_are_errors() {
        let folder = folder();
        let options = PartNetArrays::default();
        assert!(read_partnet_arrays(folder.path(), "valid", &options).is_err());
        assert!(read_partnet_arrays(folder.path(), "train", &options).is_err());
        fs::write(folder.path().join("index.tsv"), "split\trow\n").unwrap();
        let error = read_partnet_arrays(folder.path(), "val", &options).unwrap_err().to_string();
        assert!(error.contains("expected the columns split, row"), "{error}");
        let index = "split\trow\tpartnet_anno_id\tmean_residual\nval\t0\ta\t0.001\n";
        fs::write(folder.path().join("index.tsv"), index).unwrap();
        let error = read_partnet_arrays(folder.path(), "val", &options).unwrap_err().to_string();
        assert!(error.contains("expected row 1 of split val"), "{error}");
    }
}
