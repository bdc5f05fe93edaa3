//! LAS and LAZ, the formats of airborne laser scans: whole numbers with a scale and an offset.

use std::io::{BufReader, Cursor, Write};
use std::path::Path;

use labelflow_data::tables::{guarded, open_input};
use labelflow_data::{Error, Result, write_atomically};
use las::point::Classification;
use las::{Builder, Color, Point, Reader, Transform, Vector, Writer};

use super::cloud_content::CloudContent;
use super::text::cut_off;
use crate::geometry::PointCloud;

/// The points read at once.
const POINTS_AT_ONCE: u64 = 10_000;
/// Whole numbers reach from minus this to this.
const LARGEST_STEP: f64 = 2_147_483_000.0;

/// Reads the coordinates, colours and classes of a LAS or LAZ file.
pub(crate) fn read_las(path: &Path) -> Result<CloudContent> {
    let file = open_input(path)?;
    guarded(path, || {
        let refuse = |error| Error::content(path, "a whole LAS or LAZ file", error);
        let mut reader = Reader::new(BufReader::new(file)).map_err(refuse)?;
        let n_claimed = reader.header().number_of_points();
        let has_color = reader.header().point_format().has_color;
        let mut content = CloudContent::default();
        loop {
            // A batch at a time: memory grows with what arrives, not with what the header claims.
            let batch = reader.read_points(POINTS_AT_ONCE).map_err(refuse)?;
            let n_before = content.points.len();
            for point in batch.points() {
                let point = point.map_err(refuse)?;
                content.points.push([point.x, point.y, point.z]);
                content.parts.push(u32::from(u8::from(point.classification)));
                if has_color {
                    let color = point.color.unwrap_or_default();
                    let channels = [color.red, color.green, color.blue];
                    content.colors.push(channels.map(|value| (value >> 8) as u8));
                }
            }
            if content.points.len() == n_before {
                break;
            }
        }
        if content.points.len() as u64 != n_claimed {
            let expected = format!("{n_claimed} points, as the header says");
            return Err(cut_off(path, expected, content.points.len()));
        }
        Ok(content)
    })
}

/// Writes a cloud as LAS, or as LAZ if its name says so. The scale is the finest power of ten at which all coordinates fit; parts are
/// classes and must be below 32, twelve apart.
pub(crate) fn write_las(path: &Path, cloud: &PointCloud) -> Result<()> {
    let (low, high) = cloud.bounding_box();
    let transform = |axis: usize| {
        let offset = ((low[axis] + high[axis]) / 2.0).round();
        let reach = (low[axis] - offset).abs().max((high[axis] - offset).abs());
        let digits = (LARGEST_STEP / reach.max(1e-3)).log10().floor().min(12.0);
        Transform { scale: 10f64.powf(-digits), offset }
    };
    let mut builder = Builder::from((1, 2));
    builder.transforms = Vector { x: transform(0), y: transform(1), z: transform(2) };
    builder.point_format.has_color = cloud.colors().is_some();
    builder.point_format.is_compressed =
        path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("laz"));
    let refuse = |error: las::Error| Error::content(path, "a cloud that LAS can hold", error);
    let header = builder.into_header().map_err(refuse)?;
    let mut points = Vec::with_capacity(cloud.len());
    for (index, &[x, y, z]) in cloud.points().iter().enumerate() {
        let part = cloud.parts().map_or(0, |parts| parts[index]);
        let class = u8::try_from(part).ok().and_then(|part| Classification::new(part).ok());
        let Some(classification) = class else {
            return Err(Error::content(path, "parts that are classes of LAS, below 32", part)
                .with_hint("write ply, pcd or csv"));
        };
        let color = cloud.colors().map(|colors| {
            let [red, green, blue] = colors[index].map(|byte| u16::from(byte) * 257);
            Color::new(red, green, blue)
        });
        points.push(Point { x, y, z, classification, color, ..Point::default() });
    }
    // The writer wants to own what it writes to, so the file is made in memory first.
    let mut writer = Writer::new(Cursor::new(Vec::new()), header).map_err(refuse)?;
    points.into_iter().try_for_each(|point| writer.write_point(point)).map_err(refuse)?;
    let bytes = writer.into_inner().map_err(refuse)?.into_inner();
    write_atomically(path, |writer| writer.write_all(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::cloud_file::tests::{full_cloud, read_bytes, utm_cloud};
    use crate::files::{read_cloud, write_cloud};

    #[test]
    fn millimetres_far_from_the_origin_survive() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.las", "a.laz"] {
            let path = folder.path().join(name);
            for cloud in [full_cloud(), utm_cloud()] {
                write_cloud(&path, &cloud).unwrap();
                let read = read_cloud(&path).unwrap();
                for (point, other) in cloud.points().iter().zip(read.points()) {
                    assert!((0..3).all(|axis| (point[axis] - other[axis]).abs() < 1e-6), "{name}");
                }
                assert_eq!(read.colors(), cloud.colors());
                assert!(cloud.parts().is_none_or(|parts| read.parts() == Some(parts)));
            }
        }
    }

    fn bytes_of(name: &str, cloud: &PointCloud) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        write_cloud(&path, cloud).unwrap();
        std::fs::read(&path).unwrap()
    }

    /// The same file with another number of points in its header of LAS 1.2.
    fn claiming(bytes: &[u8], n_points: u32) -> Vec<u8> {
        let mut lying = bytes.to_vec();
        lying[107..111].copy_from_slice(&n_points.to_le_bytes());
        lying
    }

    #[test]
    fn bad_files_are_errors() {
        for name in ["a.las", "a.laz"] {
            let bytes = bytes_of(name, &utm_cloud());
            for end in (4..bytes.len()).step_by(13) {
                assert!(read_bytes(name, &bytes[..end]).is_err(), "{name} cut after {end} bytes");
            }
            assert!(read_bytes(name, &claiming(&bytes, 1_000_000_000)).is_err(), "{name}");
            let error = read_bytes(name, &claiming(&bytes, 0)).unwrap_err().to_string();
            assert!(error.contains("at least one point"), "{name}: {error}");
        }
        let folder = tempfile::tempdir().unwrap();
        let large = utm_cloud().with_parts(vec![77; 20]).unwrap();
        assert!(write_cloud(&folder.path().join("a.las"), &large).is_err());
    }

    #[test]
    fn one_point_and_millimetres_as_units() {
        let one = PointCloud::new(vec![[500_000_000.125, 5_000_000_000.25, -1.5]]).unwrap();
        let scan = (0..200)
            .map(f64::from)
            .map(|step| [500_000_000.125 + 100.0 * step, 5_000_000_000.25 - 33.0 * step, 0.5 * step * step]);
        let scan = PointCloud::new(scan.collect()).unwrap();
        for name in ["a.las", "a.laz"] {
            for cloud in [&one, &scan] {
                let read = read_bytes(name, &bytes_of(name, cloud)).unwrap();
                assert_eq!(read.len(), cloud.len());
                for (point, other) in cloud.points().iter().zip(read.points()) {
                    assert!((0..3).all(|axis| (point[axis] - other[axis]).abs() < 1e-4), "{name}");
                }
            }
        }
    }
}
