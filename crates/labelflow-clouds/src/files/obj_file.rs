//! OBJ, Wavefront's object format: lines `v x y z` and `f a/b/c …`; all others are skipped.
//!
//! Corners count from 1, or backwards from the newest vertex if they are negative.

use std::io::Write;
use std::path::Path;

use labelflow_data::{Result, write_atomically};

use super::cloud_content::CloudContent;
use super::text::{coordinates, unexpected, visit_text};
use crate::geometry::PointCloud;

/// Reads the vertices and faces of an OBJ file.
pub(crate) fn read_obj(path: &Path) -> Result<CloudContent> {
    let mut content = CloudContent::default();
    visit_text(path, |line| {
        match line.split_once(char::is_whitespace) {
            Some(("v", rest)) => content.points.push(coordinates(path, rest)?),
            Some(("f", rest)) => {
                let n_vertices = content.points.len();
                let corners = rest.split_ascii_whitespace().map(|word| {
                    corner(word, n_vertices)
                        .ok_or_else(|| unexpected(path, format!("a corner among {n_vertices} vertices"), word))
                });
                content.push_polygon(&corners.collect::<Result<Vec<u32>>>()?);
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(content)
}

/// The index of a corner such as `3`, `3/1/2` or `-1`.
fn corner(word: &str, n_vertices: usize) -> Option<u32> {
    let number: i64 = word.split('/').next()?.parse().ok()?;
    let index = if number < 0 { n_vertices as i64 + number } else { number - 1 };
    u32::try_from(index).ok().filter(|&index| number != 0 && (index as usize) < n_vertices)
}

/// Writes the points of a cloud as vertices.
pub(crate) fn write_obj(path: &Path, cloud: &PointCloud) -> Result<()> {
    write_atomically(path, |writer| cloud.points().iter().try_for_each(|[x, y, z]| writeln!(writer, "v {x} {y} {z}")))
}

#[cfg(test)]
mod tests {
    use crate::files::cloud_file::tests::{read_bytes, utm_cloud};
    use crate::files::{read_cloud, write_cloud};

    #[test]
    fn vertices_and_faces() {
        let text = "mtllib a.mtl\no seat\nv 0 0 0\nv 2 0 0 1 1 1\nv 2 1 0\nvn 0 0 1\nv 0 1 0\ng a\n\
            f 1/1/1 2//1 3 -1\n";
        let cloud = read_bytes("a.obj", text.as_bytes()).unwrap();
        assert_eq!(cloud.len(), 10_000);
        let mean = cloud.points().iter().map(|point| point[0]).sum::<f64>() / 1e4;
        assert!((mean - 1.0).abs() < 0.03, "{mean}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.obj");
        write_cloud(&path, &utm_cloud()).unwrap();
        assert_eq!(read_cloud(&path).unwrap(), utm_cloud());
    }

    #[test]
    fn bad_files_are_errors() {
        for (text, expected) in [
            ("# nothing\nf\n", "at least one point"),
            ("v 1 2\n", "line 1: expected three coordinates"),
            ("v 1 2 3\nf 1 2 3\n", "line 2: expected a corner among 1 vertices, found '2'"),
            ("v 1 2 3\nf 0 1 1\n", "found '0'"),
            ("v 1 2 3\nf -2 1 1\n", "found '-2'"),
            ("v 1 2 nan\n", "point 1: expected three finite"),
        ] {
            let error = read_bytes("a.obj", text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
