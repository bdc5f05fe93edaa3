//! Files of point clouds and meshes, whatever their format.
//!
//! | format | read | written | holds |
//! |---|---|---|---|
//! | PLY | text, both binary orders, any scalar type, faces | binary; [`write_ply`] chooses | everything |
//! | PCD | text, binary, compressed | binary; [`write_pcd`] chooses | everything |
//! | CSV | with or without names | with names | everything |
//! | XYZ, TXT, PTS | blanks, commas, semicolons | blanks | coordinates; PTS colours too |
//! | NPY, NPZ | `[n, 3 or more]`, `[3, n]`, `[k, n, 3]`, any numeric type | doubles | coordinates; NPZ parts too |
//! | OFF, OBJ | vertices and faces | vertices | coordinates |
//! | STL | text and binary | no | triangles |
//! | LAS, LAZ | with the feature `las` | with the feature `las` | coordinates, colours, classes |
//!
//! The first bytes of a file decide, then its name. Files may be gzipped, LAS and NPZ apart.

use std::io::BufRead;
use std::path::Path;

use labelflow_data::tables::{NpyArray, NpzArray, open_text, write_npz};
use labelflow_data::{Error, Result, write_atomically};
use labelflow_weak::settings::{check_at_least_one, check_cells};
use ndarray::{ArrayD, ArrayView2, Axis, Ix3};

use super::cloud_content::CloudContent;
use super::las_file::{read_las, write_las};
use super::obj_file::{read_obj, write_obj};
use super::off_file::{read_off, write_off};
use super::pcd_file::read_pcd;
use super::ply_file::read_ply;
use super::point_lines_file::{LinesKind, read_point_lines, write_point_lines};
use super::stl_file::read_stl;
use crate::files::{PcdEncoding, PlyEncoding, write_pcd, write_ply};
use crate::geometry::PointCloud;

/// The names under which NPZ archives keep coordinates.
const POINT_NAMES: [&str; 5] = ["points", "pts", "data", "xyz", "arr_0"];
/// The name under which NPZ archives keep parts.
const PART_NAME: &str = "parts";

settings! {
    /// How files become clouds.
    #[derive(Eq)]
    pub struct CloudOptions {
        /// The number of points drawn from the surface of a mesh. Default: 10000.
        n_surface_points: usize = 10_000,
        /// The seed of those points. Default: 0.
        seed: u64 = 0,
        /// Whether arrays are `[3, n]` instead of `[n, 3]`. Default: false.
        axes_first: bool = false,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CloudFormat {
    Ply,
    Pcd,
    Lines(LinesKind),
    Array,
    Off,
    Obj,
    Stl,
    Las,
}

impl CloudFormat {
    fn of_name(path: &Path) -> Option<Self> {
        let mut name = path.file_name()?.to_str()?.to_ascii_lowercase();
        if let Some(shorter) = name.strip_suffix(".gz") {
            name = shorter.to_owned();
        }
        Some(match name.rsplit_once('.')?.1 {
            "ply" => Self::Ply,
            "pcd" => Self::Pcd,
            "xyz" | "txt" | "asc" => Self::Lines(LinesKind::Xyz),
            "pts" => Self::Lines(LinesKind::Pts),
            "csv" => Self::Lines(LinesKind::Csv),
            "npy" | "npz" => Self::Array,
            "off" => Self::Off,
            "obj" => Self::Obj,
            "stl" => Self::Stl,
            "las" | "laz" => Self::Las,
            _ => return None,
        })
    }

    fn of_content(start: &[u8]) -> Option<Self> {
        let magics: [(&[u8], Self); 9] = [
            (b"ply\n", Self::Ply),
            (b"ply\r", Self::Ply),
            (b"# .PCD", Self::Pcd),
            (b"VERSION", Self::Pcd),
            (b"OFF", Self::Off),
            (b"COFF", Self::Off),
            (b"\x93NUMPY", Self::Array),
            (b"PK\x03\x04", Self::Array),
            (b"LASF", Self::Las),
        ];
        magics.into_iter().find(|(magic, _)| start.starts_with(magic)).map(|(_, format)| format)
    }
}

/// Reads a cloud. A mesh becomes 10,000 points of its surface, drawn with the seed 0.
///
/// ```
/// use labelflow_clouds::files::{read_cloud, write_cloud};
///
/// let folder = tempfile::tempdir()?;
/// let (text, binary) = (folder.path().join("scan.xyz"), folder.path().join("scan.ply"));
/// std::fs::write(&text, "1 2 3\n4 5 6\n")?;
/// write_cloud(&binary, &read_cloud(&text)?)?;
/// assert_eq!(read_cloud(&binary)?.points(), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_cloud(path: &Path) -> Result<PointCloud> {
    read_cloud_with(path, &CloudOptions::default())
}

/// Reads a cloud with options.
pub fn read_cloud_with(path: &Path, options: &CloudOptions) -> Result<PointCloud> {
    let mut clouds = read_clouds(path, options)?;
    match (clouds.len(), clouds.pop()) {
        (1, Some(cloud)) => Ok(cloud),
        (n, _) => Err(Error::content(path, "one cloud", format!("{n} of them"))
            .with_hint("this file is a batch: read all its clouds")),
    }
}

/// Reads all clouds of a file: one, or k of an array `[k, n, 3]`.
pub fn read_clouds(path: &Path, options: &CloudOptions) -> Result<Vec<PointCloud>> {
    check_at_least_one(&[("n_surface_points", options.n_surface_points)])?;
    check_cells("n_surface_points", options.n_surface_points, 3)?;
    let mut reader = open_text(path)?;
    let start = reader.fill_buf().map_err(|source| Error::read(path, source))?;
    let format = CloudFormat::of_content(start).or_else(|| CloudFormat::of_name(path));
    let content = match format.ok_or_else(|| unknown(path))? {
        CloudFormat::Ply => read_ply(path)?,
        CloudFormat::Pcd => read_pcd(path)?,
        CloudFormat::Lines(kind) => read_point_lines(path, kind)?,
        CloudFormat::Off => read_off(path)?,
        CloudFormat::Obj => read_obj(path)?,
        CloudFormat::Stl => read_stl(path)?,
        CloudFormat::Array => return read_array(path, options),
        CloudFormat::Las => read_las(path)?,
    };
    Ok(vec![content.into_cloud(path, options)?])
}

fn unknown(path: &Path) -> Error {
    let known = "a name ending in ply, pcd, xyz, txt, pts, csv, npy, npz, off, obj, stl, las or laz";
    Error::content(path, known, "another one")
}

fn read_array(path: &Path, options: &CloudOptions) -> Result<Vec<PointCloud>> {
    let array = NpyArray::read(path, &POINT_NAMES)?;
    let shape = array.shape().to_vec();
    let refuse = || {
        let expected = match options.axes_first {
            true => "an array [3, n] or [k, 3, n]",
            false => "an array [n, 3 or more] or [k, n, 3 or more]",
        };
        let hint = "set axes_first if coordinates are rows";
        Error::content(path, expected, format!("{shape:?}")).with_hint(hint)
    };
    let numbers: ArrayD<f64> = array.numbers();
    let parts = NpyArray::read_named(path, PART_NAME)?;
    let parts = parts.map(|parts| parts.numbers::<f64>().iter().map(|&p| p as u32).collect());
    let batch = if shape.len() == 2 { numbers.insert_axis(Axis(0)) } else { numbers };
    let mut batch = batch.into_dimensionality::<Ix3>().map_err(|_| refuse())?;
    if options.axes_first {
        batch.swap_axes(1, 2);
    }
    let (n_clouds, _, n_columns) = batch.dim();
    if n_columns < 3 || (options.axes_first && n_columns != 3) {
        return Err(refuse());
    }
    let cloud = |array: ArrayView2<'_, f64>| {
        let points = array.rows().into_iter().map(|row| [row[0], row[1], row[2]]).collect();
        let parts = parts.clone().filter(|_| n_clouds == 1).unwrap_or_default();
        CloudContent { points, parts, ..CloudContent::default() }.into_cloud(path, options)
    };
    batch.axis_iter(Axis(0)).map(cloud).collect()
}

/// Writes a cloud in the format of the file's name. What the format cannot hold, such as parts in XYZ, is left out;
/// PLY, PCD and CSV hold everything.
pub fn write_cloud(path: &Path, cloud: &PointCloud) -> Result<()> {
    let ends_in = |end: &str| path.extension().is_some_and(|own| own.eq_ignore_ascii_case(end));
    let format = CloudFormat::of_name(path).filter(|_| !ends_in("gz"));
    match format.ok_or_else(|| unknown(path))? {
        CloudFormat::Ply => write_ply(path, cloud, PlyEncoding::default()),
        CloudFormat::Pcd => write_pcd(path, cloud, PcdEncoding::default()),
        CloudFormat::Lines(kind) => write_point_lines(path, cloud, kind),
        CloudFormat::Off => write_off(path, cloud),
        CloudFormat::Obj => write_obj(path, cloud),
        CloudFormat::Stl => {
            Err(Error::content(path, "a format for points", "STL")
                .with_hint("STL holds triangles; write ply, pcd or csv"))
        }
        CloudFormat::Array => write_array(path, cloud, ends_in("npz")),
        CloudFormat::Las => write_las(path, cloud),
    }
}

fn write_array(path: &Path, cloud: &PointCloud, is_archive: bool) -> Result<()> {
    let values = cloud.points().as_flattened().to_vec();
    let points = NpzArray::Floats(vec![cloud.len(), 3], values);
    write_atomically(path, |writer| {
        if !is_archive {
            return points.write(writer);
        }
        let mut arrays = vec![("points", points)];
        let parts: Option<Vec<i64>> = cloud.parts().map(|parts| parts.iter().map(|&part| part.into()).collect());
        arrays.extend(parts.as_ref().map(|parts| (PART_NAME, NpzArray::Integers(parts))));
        write_npz(writer, &arrays)
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io::Write;

    use super::*;

    /// A cloud with everything, in single precision.
    pub(crate) fn full_cloud() -> PointCloud {
        let points = (0..40).map(|i| [i as f32 * 0.1, -1.0 / (i + 1) as f32, 3e-7 * i as f32]);
        let points = points.map(|point| point.map(f64::from)).collect();
        PointCloud::new(points)
            .and_then(|cloud| cloud.with_parts((0..40).map(|i| i % 7).collect()))
            .and_then(|cloud| cloud.with_normals((0..40).map(|i| [0.1 * i as f32, 0.0, -1.0]).collect()))
            .and_then(|cloud| cloud.with_colors((0..40).map(|i| [i, 255 - i, 3]).collect()))
            .unwrap()
    }

    /// A cloud that needs double precision.
    pub(crate) fn utm_cloud() -> PointCloud {
        let points = (0..20).map(|i| {
            let i = f64::from(i);
            [500_000.001 + i * 0.003, 5_000_000.002 - i * 0.1, 123.456 + i]
        });
        PointCloud::new(points.collect()).unwrap()
    }

    pub(crate) fn read_bytes(name: &str, bytes: &[u8]) -> Result<PointCloud> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        read_cloud(&path)
    }

    #[test]
    fn content_decides_before_the_name() {
        let ply = b"ply\nformat ascii 1.0\nelement vertex 1\nproperty int x\nproperty int y\nproperty int z\nend_header\n1 2 3\n";
        for name in ["a.ply", "a.txt", "a", "a.unknown", "a.ply.gz"] {
            assert_eq!(read_bytes(name, ply).unwrap().points(), [[1.0, 2.0, 3.0]], "{name}");
        }
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(b"1 2 3\n").unwrap();
        let packed = packed.finish().unwrap();
        assert_eq!(read_bytes("a.xyz.gz", &packed).unwrap().len(), 1);
        let error = read_bytes("a.unknown", b"1 2 3\n").unwrap_err().to_string();
        assert!(error.contains("expected a name ending in ply"), "{error}");
        assert!(read_cloud(Path::new("/no/such/file.ply")).is_err());
        assert!(write_cloud(Path::new("/tmp/a.ply.gz"), &full_cloud()).is_err());
        assert!(read_bytes("a.ply", b"").is_err());
    }

    #[test]
    fn arrays_of_clouds() {
        let folder = tempfile::tempdir().unwrap();
        for (name, cloud) in [("a.npy", utm_cloud()), ("a.npz", utm_cloud()), ("a.npz", full_cloud())] {
            let path = folder.path().join(name);
            write_cloud(&path, &cloud).unwrap();
            let read = read_cloud(&path).unwrap();
            assert_eq!(read.points(), cloud.points());
            assert_eq!(read.parts(), cloud.parts());
        }
        let path = folder.path().join("batch.npy");
        let write = |shape: Vec<usize>| {
            let n = shape.iter().product::<usize>();
            let array = NpzArray::Floats(shape, (0..n).map(|i| i as f64).collect());
            write_atomically(&path, |writer| array.write(writer)).unwrap();
        };
        write(vec![2, 4, 3]);
        let clouds = read_clouds(&path, &CloudOptions::default()).unwrap();
        assert_eq!(clouds.len(), 2);
        assert_eq!(clouds[1].points()[0], [12.0, 13.0, 14.0]);
        assert!(read_cloud(&path).unwrap_err().to_string().contains("2 of them"));
        write(vec![3, 5]);
        let options = CloudOptions { axes_first: true, ..CloudOptions::default() };
        assert_eq!(read_cloud_with(&path, &options).unwrap().points()[1], [1.0, 6.0, 11.0]);
        write(vec![5, 2]);
        let error = read_cloud(&path).unwrap_err().to_string();
        assert!(error.contains("expected an array [n, 3 or more]"), "{error}");
        write(vec![0, 3]);
        assert!(read_cloud(&path).unwrap_err().to_string().contains("at least one point"));
        write(vec![7]);
        assert!(read_cloud(&path).is_err());
    }

    #[cfg(not(feature = "las"))]
    #[test]
    fn las_needs_its_feature() {
        let error = read_bytes("a.las", b"LASF").unwrap_err().to_string();
        assert!(error.contains("feature 'las'"), "{error}");
    }
}
