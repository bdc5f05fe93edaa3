//! OFF, the object file format: the number of vertices and faces, then both, in text.

use std::io::Write;
use std::path::Path;

use labelflow_data::{Result, write_atomically};

use super::cloud_content::CloudContent;
use super::text::{coordinates, cut_off, unexpected, visit_text};
use crate::geometry::PointCloud;

/// Reads the vertices and faces of an OFF file. What follows a vertex's coordinates or a face's corners is skipped.
pub(crate) fn read_off(path: &Path) -> Result<CloudContent> {
    let mut content = CloudContent::default();
    let mut counts: Option<(u64, u64)> = None;
    let mut n_faces = 0;
    let mut has_magic = false;
    visit_text(path, |line| {
        let mut text = line.split('#').next().unwrap_or_default().trim();
        if text.is_empty() {
            return Ok(());
        }
        if !has_magic {
            // Some writers put the counts right behind the magic word, without even a blank.
            let Some((prefix, rest)) = text.split_once("OFF") else {
                return Err(unexpected(path, "an OFF file", text));
            };
            if prefix.contains(['4', 'n']) || rest.trim_start().starts_with("BINARY") {
                return Err(unexpected(path, "points of three coordinates in text", text));
            }
            has_magic = true;
            text = rest.trim();
            if text.is_empty() {
                return Ok(());
            }
        }
        match counts {
            None => {
                let numbers = whole_numbers(path, text, 2)?;
                counts = Some((u64::from(numbers[0]), u64::from(numbers[1])));
            }
            Some((n_vertices, _)) if (content.points.len() as u64) < n_vertices => {
                content.points.push(coordinates(path, text)?);
            }
            Some((_, n)) if n_faces < n => {
                n_faces += 1;
                let n_corners = whole_numbers(path, text, 1)?[0] as usize;
                let numbers = whole_numbers(path, text, n_corners.saturating_add(1))?;
                content.push_polygon(&numbers[1..]);
            }
            Some(_) => {}
        }
        Ok(())
    })?;
    let (n_vertices, n) = counts.unwrap_or_default();
    if (content.points.len() as u64, n_faces) != (n_vertices, n) {
        let expected = format!("{n_vertices} vertices and {n} faces, as the header says");
        let found = format!("{} and {n_faces}", content.points.len());
        return Err(cut_off(path, expected, found));
    }
    Ok(content)
}

/// The first `n` whole numbers of a text.
fn whole_numbers(path: &Path, text: &str, n: usize) -> Result<Vec<u32>> {
    let words = text.split_ascii_whitespace().take(n);
    let numbers: Option<Vec<u32>> = words.map(|word| word.parse().ok()).collect();
    let numbers = numbers.filter(|numbers| numbers.len() == n);
    numbers.ok_or_else(|| unexpected(path, format!("{n} whole numbers"), text))
}

/// Writes the points of a cloud as vertices.
pub(crate) fn write_off(path: &Path, cloud: &PointCloud) -> Result<()> {
    write_atomically(path, |writer| {
        writeln!(writer, "OFF\n{} 0 0", cloud.len())?;
        cloud.points().iter().try_for_each(|[x, y, z]| writeln!(writer, "{x} {y} {z}"))
    })
}

#[cfg(test)]
mod tests {
    use crate::files::cloud_file::tests::{read_bytes, utm_cloud};
    use crate::files::{read_cloud, write_cloud};

    #[test]
    fn vertices_and_faces() {
        let cloud = read_bytes("a.off", b"OFF # cube\n2 0 0\n1 2 3\n4 5 6 255 0 0\n").unwrap();
        assert_eq!(cloud.points(), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
        let text = "OFF4 1 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2 3 0.1 0.2 0.3\n";
        let cloud = read_bytes("a.off", text.as_bytes()).unwrap();
        assert_eq!(cloud.len(), 10_000);
        assert!(cloud.points().iter().all(|p| p[2] == 0.0 && p[0] <= 1.0 && p[1] <= 1.0));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.off");
        write_cloud(&path, &utm_cloud()).unwrap();
        assert_eq!(read_cloud(&path).unwrap(), utm_cloud());
    }

    #[test]
    fn bad_files_are_errors() {
        for (text, expected) in [
            ("OFF\n1000000000 0 0\n1 2 3\n", "expected 1000000000 vertices"),
            ("OFF\n0 0 0\n", "at least one point"),
            ("OFF\n1 1 0\n1 2 3\n3 0 0\n", "line 4: expected 4 whole numbers"),
            ("OFF\n1 1 0\n1 2 3\n3 0 0 7\n", "found the index 7"),
            ("OFF\n1 1 0\n1 2 3\n4294967295 0\n", "line 4: expected 4294967296 whole numbers"),
            ("OFF\n1 0 0\n1 2\n", "line 3: expected three coordinates"),
            ("OFF BINARY\n", "in text"),
        ] {
            let error = read_bytes("a.off", text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
