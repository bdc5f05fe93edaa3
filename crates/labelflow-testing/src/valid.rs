//! Small files of every format that are as they should be.

use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use labelflow_clouds::files::{PcdEncoding, PlyEncoding, write_cloud, write_pcd, write_ply};
use labelflow_clouds::geometry::PointCloud;
use labelflow_data::inputs::{KeyHead, LabelRows, SavedLabelModel, write_features, write_labels, write_signals};
use labelflow_data::synthetic::PlantedVotes;
use labelflow_data::tables::{Column, ColumnValues, write_columns};
use labelflow_weak::label_models::{AnyLabelModel, KnownOfLabelers};
use labelflow_weak::labelers::{Bounds, LabelerErrors};
use labelflow_weak::rows::{Features, SoftLabels};
use ndarray::array;

/// What a function writes to a file with this name.
fn written(name: &str, write: impl FnOnce(&Path)) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    write(&path);
    std::fs::read(&path).unwrap()
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// Features, signals and labels, as they are written.
fn tables(extension: &str) -> Vec<Vec<u8>> {
    let name = format!("table.{extension}");
    let features = Features::new(array![[1.5, -2.0, 1e30], [0.25, 3.0, 0.0]]).unwrap();
    let labels = SoftLabels::new(array![[0.25, 0.75], [1.0, 0.0]]).unwrap();
    vec![
        written(&name, |path| write_features(path, &features).unwrap()),
        written(&name, |path| write_signals(path, &crate::readers::signals()).unwrap()),
        written(&name, |path| {
            write_labels(path, &KeyHead::default(), LabelRows::of(&labels), &crate::readers::class_names()).unwrap()
        }),
    ]
}

const TABLES: [&str; 6] = [
    "a,b\n1,2\n3,4\n",
    "rule_a,rule_b\nspam,\nham,spam\n",
    "id,text\n1,see you\n2,\"win, \"\"now\"\"\"\n",
    "task,worker,label\nq7,ann,dog\nq7,bob,cat\nq2,bob,cat\n",
    "labeler,bound\nrule_a,0.1\nrule_b,0.2\n",
    "\u{feff}x,y,z\r\n0.5,-1,0.25\r\n-1,,1\r\n",
];

pub(crate) fn csv() -> Vec<Vec<u8>> {
    [texts(&TABLES), tables("csv")].concat()
}

pub(crate) fn tsv() -> Vec<Vec<u8>> {
    let tabs = |text: &str| text.replace(',', "\t").into_bytes();
    [TABLES.map(tabs).to_vec(), tables("tsv")].concat()
}

/// Of each format that is known by its first bytes.
pub(crate) fn pipe() -> Vec<Vec<u8>> {
    [csv(), tsv(), parquet(), npy(), npz(), rules_toml()].concat()
}

pub(crate) fn keys() -> Vec<Vec<u8>> {
    texts(&[
        "id,x\nq1,1\nq2,2\n\nid,label\nq2,1\nq1,0\n",
        "row,x\n1,1\n0,2\n\nrow,label\n0,1\n1,0\n",
        "row,x\n7,1\n8,2\n\nlabel\n1\n0\n",
    ])
}

/// Every label model, fitted to a few votes.
pub(crate) fn label_models() -> Vec<Vec<u8>> {
    let planted = PlantedVotes { n_rows: 20, n_signals: 3, ..PlantedVotes::default() }.generate().unwrap();
    let signals = planted.signals;
    let known = KnownOfLabelers {
        errors: Some(LabelerErrors::per_labeler(&[0.2; 3], 2).unwrap()),
        bounds: Some(Bounds::constant(0.2, &signals).unwrap()),
        labels: None,
    };
    let models = AnyLabelModel::NAMES.iter().map(|name| {
        let fitted = AnyLabelModel::from_name(name).unwrap().fit(&signals, &known).unwrap();
        SavedLabelModel::new(fitted, &signals).to_json().unwrap().into_bytes()
    });
    models.collect()
}

pub(crate) fn parquet() -> Vec<Vec<u8>> {
    tables("parquet")
}

/// A part with keys, the table that it begins, and the part that ends it.
pub(crate) fn part_keys() -> Vec<Vec<u8>> {
    let table = |rows: std::ops::Range<i64>| {
        let names = ColumnValues::Names(rows.clone().map(|row| format!("q{row}")).collect());
        let columns = [("id", names), ("row", ColumnValues::Integers(rows.clone().collect()))];
        let columns = columns.map(|(name, values)| Column::new(name, values));
        written("table.parquet", |path| write_columns(path, &columns).unwrap())
    };
    vec![table(0..2), table(0..5), table(2..5)]
}

fn npy_of(kind: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let length = (header.len() as u16).to_le_bytes();
    [&b"\x93NUMPY\x01\x00"[..], &length, header.as_bytes(), data].concat()
}

pub(crate) fn npy() -> Vec<Vec<u8>> {
    let doubles: Vec<u8> = (0..6).flat_map(|value: u8| f64::from(value).to_le_bytes()).collect();
    let halves: Vec<u8> = [0x3c00_u16, 0x0001, 0x7bff].iter().flat_map(|v| v.to_be_bytes()).collect();
    vec![
        npy_of("<f8", "(2, 3)", &doubles),
        npy_of("|i1", "(3, 2)", &[0, 1, 255, 1, 0, 0]),
        npy_of(">f2", "(1, 3)", &halves),
        npy_of("|u1", "(4,)", &[0, 1, 1, 0]),
    ]
}

pub(crate) fn npz() -> Vec<Vec<u8>> {
    let cloud = written("cloud.npz", |path| write_cloud(path, &cloud()).unwrap());
    [tables("npz"), vec![cloud]].concat()
}

pub(crate) fn arff() -> Vec<Vec<u8>> {
    texts(&["% a comment\r\n@RELATION small\r\n\r\n@attribute 'first one'  {-1,1}\r\n\
         @ATTRIBUTE second numeric\r\n@data\r\n-1,2.5\r\n% another\r\n'1', ?\r\n"])
}

pub(crate) fn idx() -> Vec<Vec<u8>> {
    let bytes = [0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 2, 10, 20, 30, 40];
    vec![gzipped(&bytes)]
}

pub(crate) fn wrench() -> Vec<Vec<u8>> {
    texts(&[
        r#"{"10": {"weak_labels": [0, -1, 2], "label": 2, "data": {"feature": [0.5, 1], "span": [[0]]}},
        "2": {"label": 0, "weak_labels": [-1, -1, -1], "data": {"feature": [-1.5, 2e3]}}}"#,
        r#"{"0": {"label": null, "weak_labels": [1, 0], "data": {"text": "see you"}}}"#,
    ])
}

pub(crate) fn wrench_classes() -> Vec<Vec<u8>> {
    texts(&[r#"{"0": "ham", "1": "spam", "2": "other"}"#])
}

pub(crate) fn partnet_tree() -> Vec<Vec<u8>> {
    texts(&[r#"[{"id": 0, "name": "chair", "text": "Chair", "children": [
        {"id": 1, "name": "seat", "text": "Seat", "objs": ["a"]},
        {"id": 3, "name": "base", "children": [{"id": 2, "name": "leg"}, {"id": 4, "name": "leg"}]}]}]"#])
}

pub(crate) fn partnet_split() -> Vec<Vec<u8>> {
    texts(&[r#"[{"anno_id": "7", "model_id": "x"}, {"anno_id": 8}]"#])
}

pub(crate) fn partnet_points() -> Vec<Vec<u8>> {
    texts(&["0 0.5 1 0 0 1\n-1 2 1e-3 0 1 0\n", "0 0 0\n1 1 1\n"])
}

pub(crate) fn rules_toml() -> Vec<Vec<u8>> {
    texts(&[r#"range = [0, 1000]
[[rule]]
feature = "hour"
threshold = 12
above = 230
below = { mean = 150, tolerance = 20 }
[[rule]]
name = "rush hour"
feature = "hour"
at_least = 17
below = 19
mean_between = [350, 500]
[[rule]]
where = [{ feature = "hour", at_least = 7 }, { rows = "workingday" }]
quantile = 0.9
value = 600
[[rule]]
all = true
median = 140
[[rule]]
rows = [0, 1, 1]
mean = 950
tolerance = 50
"#])
}

pub(crate) fn rules_csv() -> Vec<Vec<u8>> {
    texts(&["feature,threshold,above,below,name\nhour,25,190 +- 20,120,\nworkingday,1,,800 to 1200,w\n"])
}

pub(crate) fn keywords() -> Vec<Vec<u8>> {
    texts(&["classes = [\"negative\", \"positive\"]\n[[labelers]]\nclass = \"positive\"\n\
        keywords = [\"good\", \"great\"]\n[[labelers]]\nname = \"complaints\"\nclass = \"negative\"\n\
        keywords = [\"never again\"]\n"])
}

pub(crate) fn word_vectors() -> Vec<Vec<u8>> {
    let text = "4 2\ngood 1 0\nbad 0 1e-3\nelse 5 -5\nfilm 2 2\n";
    vec![text.as_bytes().to_vec(), gzipped(text.as_bytes())]
}

fn cloud() -> PointCloud {
    let cloud = PointCloud::new(vec![[0.0, 0.5, 1.0], [-1.0, 2.0, 1e-3], [3.5, 0.0, 0.0]]).unwrap();
    cloud.with_parts(vec![0, 1, 1]).unwrap()
}

const MESH_PLY: &str = "ply\nformat ascii 1.0\ncomment a mesh\nelement vertex 3\nproperty double x\nproperty double y\n\
    property double z\nproperty uchar red\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n\
    0 0 0 255\n1 0 0 0\n0 1 0 9\n3 0 1 2\n";

pub(crate) fn ply() -> Vec<Vec<u8>> {
    let encodings = [PlyEncoding::Ascii, PlyEncoding::LittleEndian, PlyEncoding::BigEndian];
    let mut files: Vec<Vec<u8>> = encodings
        .into_iter()
        .map(|encoding| written("a.ply", |path| write_ply(path, &cloud(), encoding).unwrap()))
        .collect();
    files.push(MESH_PLY.into());
    files.push(gzipped(MESH_PLY.as_bytes()));
    files
}

pub(crate) fn pcd() -> Vec<Vec<u8>> {
    let encodings = [PcdEncoding::Ascii, PcdEncoding::Binary, PcdEncoding::Compressed];
    let write = |encoding| written("a.pcd", |path| write_pcd(path, &cloud(), encoding).unwrap());
    encodings.into_iter().map(write).collect()
}

pub(crate) fn xyz() -> Vec<Vec<u8>> {
    texts(&["# x y z\n1 2 3\n4;5;6\n\n-7e2,8,9 1\n"])
}

pub(crate) fn pts() -> Vec<Vec<u8>> {
    texts(&["2\n1 2 3 10 255 0 0\n4 5 6 -10 0 255 0\n", "1 2 3\n"])
}

pub(crate) fn cloud_csv() -> Vec<Vec<u8>> {
    let named = written("a.csv", |path| write_cloud(path, &cloud()).unwrap());
    vec![named, b"1,2,3\n4,5,6\n".to_vec()]
}

pub(crate) fn off() -> Vec<Vec<u8>> {
    texts(&["OFF\n4 2 0\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 1 2\n4 0 1 2 3 255 0 0\n", "OFF 1 0 0\n1 2 3\n"])
}

pub(crate) fn obj() -> Vec<Vec<u8>> {
    texts(&["# a mesh\no thing\nv 0 0 0\nv 1 0 0\nv 0 1 0 1.0\nvt 0 0\nvn 0 0 1\nf 1/1/1 2//1 -1\nf 1 2 3\n"])
}

pub(crate) fn stl() -> Vec<Vec<u8>> {
    let mut binary = vec![0; 80];
    binary.extend(1_u32.to_le_bytes());
    binary.extend([0; 12]);
    for corner in [[0.0_f32, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]] {
        corner.iter().for_each(|value| binary.extend(value.to_le_bytes()));
    }
    binary.extend([0; 2]);
    let text = "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid a\n";
    vec![binary, text.into()]
}
