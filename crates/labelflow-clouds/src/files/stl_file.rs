//! STL, the format of 3D printers: triangles with three corners each, in text or binary.

use std::io::{self, BufRead, Read};
use std::path::Path;

use labelflow_data::tables::{open_text, text_error};
use labelflow_data::{Error, Result};

use super::cloud_content::CloudContent;
use super::text::{coordinates, cut_off, unexpected, visit_text};

/// The bytes before the number of triangles.
const HEADER: usize = 80;
/// The bytes of a triangle: a normal, three corners, and two bytes of something else.
const TRIANGLE: usize = 50;

/// Reads the triangles of an STL file.
pub(crate) fn read_stl(path: &Path) -> Result<CloudContent> {
    let mut reader = open_text(path)?;
    let mut start = Vec::new();
    let n_start = (HEADER + 4) as u64;
    reader.by_ref().take(n_start).read_to_end(&mut start).map_err(|s| text_error(path, s))?;
    // Binary files may start with 'solid' too, but then their first lines are no text.
    let next = reader.fill_buf().map_err(|source| text_error(path, source))?;
    let is_text = start.trim_ascii_start().starts_with(b"solid")
        && start.iter().chain(next.iter().take(TRIANGLE)).all(|byte| !matches!(byte, 0 | 0x80..));
    if is_text { read_text(path) } else { read_binary(path, &start, reader) }
}

fn read_text(path: &Path) -> Result<CloudContent> {
    let mut content = CloudContent::default();
    let mut is_closed = false;
    visit_text(path, |line| {
        if let Some(rest) = line.strip_prefix("vertex") {
            content.points.push(coordinates(path, rest)?);
        } else if line.starts_with("endfacet") {
            let n = content.points.len() as u32;
            if !n.is_multiple_of(3) || n as usize != 3 * (content.faces.len() + 1) {
                return Err(unexpected(path, "three corners before", line));
            }
            content.faces.push([n - 3, n - 2, n - 1]);
        }
        is_closed = line.starts_with("endsolid") || (is_closed && line.is_empty());
        Ok(())
    })?;
    if !is_closed {
        return Err(cut_off(path, "a last line 'endsolid'", "none"));
    }
    Ok(content)
}

fn read_binary(path: &Path, start: &[u8], mut reader: impl Read) -> Result<CloudContent> {
    let Some(count) = start.get(HEADER..).and_then(|bytes| bytes.try_into().ok()) else {
        return Err(Error::content(path, "an STL file of at least 84 bytes", start.len()));
    };
    let n_claimed = u32::from_le_bytes(count);
    let mut content = CloudContent::default();
    let mut bytes = [0; TRIANGLE];
    for index in 0..n_claimed {
        reader.read_exact(&mut bytes).map_err(|source| match source.kind() {
            io::ErrorKind::UnexpectedEof => {
                let expected = format!("{n_claimed} triangles, as the header says");
                cut_off(path, expected, format!("{index} whole ones"))
            }
            _ => Error::read(path, source),
        })?;
        let corners = bytes[12..48].as_chunks::<4>().0;
        let numbers: Vec<f64> = corners.iter().map(|bytes| f64::from(f32::from_le_bytes(*bytes))).collect();
        content.points.extend(numbers.as_chunks::<3>().0);
        let Ok(n) = u32::try_from(content.points.len()) else {
            return Err(Error::content(path, "fewer than 2³² corners", "more"));
        };
        content.faces.push([n - 3, n - 2, n - 1]);
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::cloud_file::tests::{full_cloud, read_bytes};
    use crate::files::write_cloud;

    fn binary(n_claimed: u32, triangles: &[[f32; 9]]) -> Vec<u8> {
        let mut bytes = b"solid but binary".to_vec();
        bytes.resize(HEADER, 0);
        bytes.extend(n_claimed.to_le_bytes());
        for triangle in triangles {
            bytes.extend([0; 12]);
            triangle.iter().for_each(|value| bytes.extend(value.to_le_bytes()));
            bytes.extend([0; 2]);
        }
        bytes
    }

    const TEXT: &str = "solid t\n facet normal 0 0 1\n  outer loop\n   vertex 0 0 5\n   vertex 1 0 5\n   \
        vertex 0 1 5\n  endloop\n endfacet\nendsolid t\n";

    #[test]
    fn text_and_binary_are_sampled() {
        let bytes = binary(1, &[[0.0, 0.0, 5.0, 1.0, 0.0, 5.0, 0.0, 1.0, 5.0]]);
        let from_binary = read_bytes("a.stl", &bytes).unwrap();
        assert_eq!(from_binary.len(), 10_000);
        assert!(from_binary.points().iter().all(|p| p[2] == 5.0 && p[0] + p[1] <= 1.0));
        assert_eq!(read_bytes("a.stl", TEXT.as_bytes()).unwrap(), from_binary);
    }

    #[test]
    fn bad_files_are_errors() {
        let triangle = [0.0; 9];
        let message = |bytes: &[u8]| read_bytes("a.stl", bytes).unwrap_err().to_string();
        let error = message(&binary(4_000_000_000, &[triangle]));
        assert!(error.contains("expected 4000000000 triangles"), "{error}");
        assert!(message(&binary(0, &[])).contains("at least one point"));
        assert!(message(b"short").contains("at least 84 bytes"));
        assert!(message(&TEXT.as_bytes()[..TEXT.len() - 12]).contains("endsolid"));
        assert!(message(TEXT.replace("vertex 1 0 5", "").as_bytes()).contains("three corners"));
        let mut nan = triangle;
        nan[4] = f32::NAN;
        assert!(message(&binary(1, &[nan])).contains("point 2: expected three finite"));
        let folder = tempfile::tempdir().unwrap();
        let error = write_cloud(&folder.path().join("a.stl"), &full_cloud()).unwrap_err();
        assert!(error.to_string().contains("STL holds triangles"), "{error}");
    }
}
