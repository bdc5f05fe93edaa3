//! Clouds that files should not hold, and clouds that are hard to hold, in every format.

#![allow(clippy::unwrap_used)]

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use labelflow_clouds::files::{read_cloud, write_cloud};
use labelflow_clouds::geometry::{Normalization, PointCloud};
use labelflow_clouds::pictures::{CompletedScan, write_cloud_page, write_cloud_picture};

/// A format that is both read and written.
const WRITTEN: [&str; 9] = ["ply", "pcd", "csv", "xyz", "txt", "pts", "npy", "npz", "off"];

fn read(name: &str, bytes: &[u8]) -> Result<PointCloud, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    read_cloud(&path).map_err(|error| error.to_string())
}

fn refused(name: &str, bytes: impl AsRef<[u8]>, because: &str) {
    let message = read(name, bytes.as_ref()).expect_err(name);
    assert!(message.contains(because), "{name}: {message}");
    assert!(message.contains(name), "the file is named: {message}");
}

fn ply(format: &str, n_vertices: u64, rest: &str) -> Vec<u8> {
    let properties = "property float x\nproperty float y\nproperty float z\n";
    format!("ply\nformat {format} 1.0\nelement vertex {n_vertices}\n{properties}{rest}").into_bytes()
}

fn pcd(data: &str, n_points: u64) -> Vec<u8> {
    let fields = "VERSION 0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1";
    format!("{fields}\nWIDTH {n_points}\nHEIGHT 1\nPOINTS {n_points}\nDATA {data}\n").into_bytes()
}

fn npy(shape: &str, numbers: &[f64]) -> Vec<u8> {
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n");
    let length = (header.len() as u16).to_le_bytes();
    let mut bytes = [&b"\x93NUMPY\x01\x00"[..], &length, header.as_bytes()].concat();
    numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
    bytes
}

fn stl(n_claimed: u32, triangles: &[[f32; 9]]) -> Vec<u8> {
    let mut bytes = vec![0; 80];
    bytes.extend(n_claimed.to_le_bytes());
    for triangle in triangles {
        bytes.extend([0; 12]);
        triangle.iter().for_each(|value| bytes.extend(value.to_le_bytes()));
        bytes.extend([0; 2]);
    }
    bytes
}

#[test]
fn no_points() {
    let none = "at least one point";
    refused("a.ply", ply("ascii", 0, "end_header\n"), none);
    refused("a.ply", ply("binary_little_endian", 0, "end_header\n"), none);
    for data in ["ascii", "binary"] {
        refused("a.pcd", pcd(data, 0), none);
    }
    refused("a.pcd", [&pcd("binary_compressed", 0)[..], &[0; 8]].concat(), none);
    for name in ["a.xyz", "a.txt", "a.pts", "a.csv"] {
        refused(name, "", none);
        refused(name, "\n# nothing was seen\n\n", none);
    }
    refused("a.pts", "0\n", none);
    refused("a.csv", "x,y,z\n", none);
    refused("a.npy", npy("(0, 3)", &[]), none);
    refused("a.off", "OFF\n0 0 0\n", none);
    refused("a.obj", "# an empty mesh\no nothing\n", none);
    refused("a.stl", stl(0, &[]), none);
    refused("a.stl", "solid a\nendsolid a\n", none);
    for name in ["a.ply", "a.pcd", "a.npy", "a.npz", "a.off", "a.obj", "a.stl"] {
        assert!(read(name, b"").is_err(), "{name} without a byte");
    }
}

#[test]
fn meshes_without_vertices() {
    let faces = "element face 1\nproperty list uchar int vertex_indices\nend_header\n";
    let expected = "faces between the 0 vertices, found the index";
    refused("a.ply", ply("ascii", 0, &format!("{faces}3 0 1 2\n")), expected);
    let mut binary = ply("binary_little_endian", 0, faces);
    binary.extend([3, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0]);
    refused("a.ply", binary, expected);
    refused("a.off", "OFF\n0 1 0\n3 0 1 2\n", expected);
    refused("a.obj", "f 1 2 3\n", "a corner among 0 vertices");
    let only_faces = "ply\nformat ascii 1.0\nelement face 0\n\
        property list uchar int vertex_indices\nend_header\n";
    refused("a.ply", only_faces, "at least one point");
}

#[test]
fn one_point() {
    let folder = tempfile::tempdir().unwrap();
    let one = PointCloud::new(vec![[0.25, -3.0, 7.5]]).unwrap();
    for extension in WRITTEN.into_iter().chain(["obj"]) {
        let path = folder.path().join("a").with_extension(extension);
        write_cloud(&path, &one).unwrap();
        assert_eq!(read_cloud(&path).unwrap(), one, "{extension}");
    }
    let frame = Normalization::fit(&one, 0.5).unwrap();
    assert_eq!(frame.apply(&one).unwrap().as_slice(), [[0.0; 3]]);
    let scan = CompletedScan { name: "a".into(), input: one.clone(), completions: vec![one], truth: None };
    write_cloud_picture(&folder.path().join("a.png"), std::slice::from_ref(&scan)).unwrap();
    write_cloud_page(&folder.path().join("a.html"), &[scan]).unwrap();
    // A triangle whose corners are one point has no surface to draw from, but it has corners.
    let flat = read("a.stl", &stl(1, &[[1.0; 9]])).unwrap();
    assert!(flat.points().iter().all(|point| *point == [1.0; 3]));
}

#[test]
fn points_that_are_no_numbers() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let because = "expected three finite";
        for (format, number) in [("little", bad.to_le_bytes()), ("big", bad.to_be_bytes())] {
            let mut bytes = ply(&format!("binary_{format}_endian"), 2, "end_header\n");
            bytes.extend([0; 16]);
            bytes.extend(number);
            bytes.extend([0; 4]);
            refused("a.ply", bytes, because);
        }
        for name in ["a.xyz", "a.pts", "a.csv"] {
            refused(name, format!("0 0 0\n1 {bad} 0\n").replace(' ', ","), because);
        }
        refused("a.npy", npy("(2, 3)", &[0.0, 0.0, 0.0, 1.0, f64::from(bad), 0.0]), because);
        refused("a.off", format!("OFF\n2 0 0\n0 0 0\n0 {bad} 0\n"), because);
        refused("a.obj", format!("v 0 0 0\nv 0 {bad} 0\n"), because);
        let mut corners = [0.0; 9];
        corners[7] = bad;
        refused("a.stl", stl(1, &[corners]), because);
    }
    // PCD marks what was not seen with NaN. A cloud of nothing else has no points; infinity is no mark.
    let rows = |value: f32| {
        let numbers = [value; 3].into_iter().flat_map(f32::to_le_bytes);
        [pcd("binary", 1), numbers.collect()].concat()
    };
    refused("a.pcd", rows(f32::NAN), "at least one point");
    refused("a.pcd", rows(f32::INFINITY), "expected three finite");
}

#[test]
fn files_that_claim_a_billion_points() {
    let billion = 1_000_000_000;
    for format in ["ascii", "binary_little_endian", "binary_big_endian"] {
        let because = "expected 1000000000 of 'vertex', as the header says, found 0 whole ones";
        refused("a.ply", ply(format, billion, "end_header\n"), because);
    }
    for (data, points) in [("ascii", &b"1 2 3\n"[..]), ("binary", &[0; 12]), ("binary_compressed", &[0; 8])] {
        let bytes = [&pcd(data, billion)[..], points].concat();
        refused("a.pcd", bytes, "expected 1000000000 points");
    }
    refused("a.pts", "1000000000\n1 2 3\n", "expected 1000000000 points");
    refused("a.npy", npy("(1000000000, 3)", &[1.0; 3]), "expected");
    refused("a.off", "OFF\n1000000000 0 0\n1 2 3\n", "expected 1000000000 vertices");
    refused("a.off", "OFF\n1 1000000000 0\n1 2 3\n", "1000000000");
    refused("a.stl", stl(1_000_000_000, &[[0.0; 9]]), "expected 1000000000 triangles");
    let faces = "element face 1000000000\nproperty list uchar int vertex_indices\nend_header\n1 2 3\n";
    refused("a.ply", ply("ascii", 1, faces), "expected 1000000000 of 'face'");
}

#[test]
fn every_cut_of_a_binary_ply_says_what_is_missing() {
    let mut whole = ply("binary_little_endian", 3, "end_header\n");
    let header = whole.len();
    whole.extend((0..9).flat_map(|value: u8| f32::from(value).to_le_bytes()));
    assert_eq!(read("a.ply", &whole).unwrap().points()[2], [6.0, 7.0, 8.0]);
    for end in header..whole.len() {
        let because = format!("expected 3 of 'vertex', as the header says, found {} whole ones", (end - header) / 12);
        refused("a.ply", &whole[..end], &because);
    }
}

/// A scan of 20 m in millimetres, 500 km east and 5000 km north.
fn far_scan() -> PointCloud {
    let points = (0..200).map(|index| {
        let step = f64::from(index);
        [500_000_000.125 + 100.0 * step, 5_000_000_000.25 - 33.0 * step, 0.5 * step * step]
    });
    PointCloud::new(points.collect()).unwrap()
}

#[test]
fn millimetres_at_utm_coordinates_survive_file_and_frame() {
    let folder = tempfile::tempdir().unwrap();
    let scan = far_scan();
    for extension in WRITTEN.into_iter().chain(["obj"]) {
        let path = folder.path().join("far").with_extension(extension);
        write_cloud(&path, &scan).unwrap();
        let cloud = read_cloud(&path).unwrap();
        assert_eq!(cloud.points(), scan.points(), "{extension}: doubles are kept");
        let frame = Normalization::fit(&cloud, 0.5).unwrap();
        let back = frame.undo(&frame.apply(&cloud).unwrap()).unwrap();
        for (point, other) in scan.points().iter().zip(back.points()) {
            let error = (0..3).map(|axis| (point[axis] - other[axis]).abs()).fold(0.0, f64::max);
            assert!(error < 0.005, "{extension}: {error} mm");
        }
    }
}

/// Writes a binary PLY of points on a screw line.
fn write_large_ply(path: &Path, n_points: u32) {
    let mut writer = BufWriter::new(File::create(path).unwrap());
    writer.write_all(&ply("binary_little_endian", u64::from(n_points), "end_header\n")).unwrap();
    for index in 0..n_points {
        let point = [index as f32, (index % 1000) as f32, -1.0];
        point.iter().for_each(|value| writer.write_all(&value.to_le_bytes()).unwrap());
    }
    writer.flush().unwrap();
}

#[test]
fn ten_million_points() {
    let n_points = 10_000_000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.ply");
    write_large_ply(&path, n_points);
    let cloud = read_cloud(&path).unwrap();
    assert_eq!(cloud.len(), n_points as usize);
    let last = n_points - 1;
    assert_eq!(cloud.points()[last as usize], [f64::from(last as f32), f64::from(last % 1000), -1.0]);
}
