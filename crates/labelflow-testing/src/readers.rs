//! Every reader as a function of bytes, with small files that it reads: what random tests mutate and fuzzers start from.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use labelflow_clouds::files::{CloudOptions, read_clouds};
use labelflow_clouds::shapes::{PartNetOptions, PartTree, read_partnet_shape, read_partnet_split};
use labelflow_data::catalog::formats::{XlsSheet, read_arff, read_idx};
use labelflow_data::inputs::{
    KeyColumn, SavedLabelModel, SignalsOptions, TaskVotesOptions, read_bounds, read_counts, read_features, read_labels,
    read_predictions, read_rules, read_signals, read_task_votes, read_truth_of, read_values, read_wrench,
};
use labelflow_data::parts::{BadRows, FeatureParts, ProbabilityStream, TableParts, VoteParts, VoteStream};
use labelflow_data::texts::{KeywordLabelers, WordVectors, read_texts};
use labelflow_weak::label_models::FittedLabelModel;
use labelflow_weak::rows::Features;
use labelflow_weak::rules::RuleDataset;
use labelflow_weak::votes::{Votes, WeakSignals};
use ndarray::array;

use crate::{valid, workbook};

/// A reader, or several that read the same format.
pub struct Reader {
    /// What it is called in reports, and as a fuzz target.
    pub name: &'static str,
    /// Where in a folder its bytes are put.
    file: &'static str,
    /// Reads what was put there; what comes of it does not matter, as long as it comes.
    read: fn(&Path),
    /// Files that are read without an error.
    pub valid: fn() -> Vec<Vec<u8>>,
}

impl Reader {
    /// The reader with this name.
    pub fn named(name: &str) -> &'static Self {
        READERS.iter().find(|reader| reader.name == name).expect("a reader has this name")
    }

    /// Reads these bytes, in a folder that is used for nothing else.
    pub fn read(&self, folder: &Path, bytes: &[u8]) {
        let path = folder.join(self.file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        (self.read)(&path);
    }
}

/// All of them.
pub const READERS: &[Reader] = &[
    Reader { name: "csv", file: "table.csv", read: table, valid: valid::csv },
    Reader { name: "tsv", file: "table.tsv", read: table, valid: valid::tsv },
    Reader { name: "parquet", file: "table.parquet", read: table, valid: valid::parquet },
    Reader { name: "npy", file: "table.npy", read: array_file, valid: valid::npy },
    Reader { name: "npz", file: "table.npz", read: array_file, valid: valid::npz },
    Reader { name: "pipe", file: "table", read: pipe, valid: valid::pipe },
    Reader { name: "parts", file: "parts/part-1.parquet", read: parts, valid: valid::parquet },
    Reader { name: "keys", file: "tables.csv", read: keys, valid: valid::keys },
    Reader { name: "label_model", file: "model.json", read: label_model, valid: valid::label_models },
    Reader { name: "arff", file: "table.arff", read: arff, valid: valid::arff },
    Reader { name: "xls", file: "book.xls", read: xls, valid: workbook::valid },
    Reader { name: "idx", file: "images.gz", read: idx, valid: valid::idx },
    Reader { name: "wrench", file: "train.json", read: wrench, valid: valid::wrench },
    Reader { name: "wrench_classes", file: "label.json", read: wrench_classes, valid: valid::wrench_classes },
    Reader { name: "partnet_tree", file: "7/result.json", read: partnet_tree, valid: valid::partnet_tree },
    Reader { name: "partnet_split", file: "split.json", read: partnet_split, valid: valid::partnet_split },
    Reader {
        name: "partnet_points",
        file: "7/point_sample/pts-10000.txt",
        read: partnet_points,
        valid: valid::partnet_points,
    },
    Reader { name: "rules_toml", file: "rules.toml", read: rules, valid: valid::rules_toml },
    Reader { name: "rules_csv", file: "rules.csv", read: rules, valid: valid::rules_csv },
    Reader { name: "keywords", file: "keywords.toml", read: keywords, valid: valid::keywords },
    Reader { name: "word_vectors", file: "vectors.txt", read: word_vectors, valid: valid::word_vectors },
    Reader { name: "ply", file: "cloud.ply", read: clouds, valid: valid::ply },
    Reader { name: "pcd", file: "cloud.pcd", read: clouds, valid: valid::pcd },
    Reader { name: "xyz", file: "cloud.xyz", read: clouds, valid: valid::xyz },
    Reader { name: "pts", file: "cloud.pts", read: clouds, valid: valid::pts },
    Reader { name: "cloud_csv", file: "cloud.csv", read: clouds, valid: valid::cloud_csv },
    Reader { name: "off", file: "cloud.off", read: clouds, valid: valid::off },
    Reader { name: "obj", file: "cloud.obj", read: clouds, valid: valid::obj },
    Reader { name: "stl", file: "cloud.stl", read: clouds, valid: valid::stl },
    Reader { name: "part_keys", file: "keyed/part-1.parquet", read: part_keys, valid: valid::part_keys },
];

pub(crate) fn signals() -> WeakSignals {
    let votes = Votes::from_indices(array![[0, 1], [1, -1]].view(), None).unwrap();
    let names = ["rule_a", "rule_b"].map(str::to_owned).to_vec();
    WeakSignals::from_votes(votes).unwrap().with_labelers(names).unwrap()
}

pub(crate) fn class_names() -> Vec<String> {
    ["ham", "spam"].map(str::to_owned).to_vec()
}

/// Everything that reads csv, tsv and parquet.
fn table(path: &Path) {
    array_file(path);
    let _ = read_texts(path, "text", &KeyColumn::Row);
    let _ = read_counts(path, &SignalsOptions::default());
    if let Ok(votes) = read_task_votes(path, &TaskVotesOptions::default()) {
        let _ = read_truth_of(path, &votes.keys, votes.value.classes());
    }
}

/// Everything that reads arrays too.
fn array_file(path: &Path) {
    let _ = read_features(path, &KeyColumn::Row);
    let _ = read_signals(path, &SignalsOptions::default());
    let _ = read_labels(path, &class_names(), &KeyColumn::Row);
    let _ = read_values(path, &KeyColumn::Row);
    let _ = read_bounds(path, &signals());
    let _ = read_predictions(path, &KeyColumn::Row);
    clouds(path);
}

/// What has no extension: its format is in its first bytes.
fn pipe(path: &Path) {
    table(path);
    rules(path);
}

/// A part alone, and after another one.
fn parts(path: &Path) {
    static FIRST: LazyLock<Vec<u8>> = LazyLock::new(|| valid::parquet().remove(0));
    std::fs::write(path.with_file_name("part-0.parquet"), &*FIRST).unwrap();
    for place in [path, path.parent().unwrap()] {
        let Ok(table) = TableParts::open(place, &KeyColumn::Row) else { continue };
        // A cut file may say that it has more rows than anyone would wait for.
        let (n_rows, columns) = (table.n_rows().min(1000), table.columns_of_values());
        let _ = table.names().next_rows(n_rows as usize);
        let _ = TableParts::open(path, &KeyColumn::of(Some("x0"))).map(|other| other.check_same_rows(&table));
        let votes = VoteParts::new(table.clone(), columns.clone());
        let options = SignalsOptions::default();
        if let Ok(stream) = VoteStream::read(votes.clone(), &options, |_, _| 10) {
            let _ = stream.visit(|_| Ok::<_, labelflow_data::Error>(()));
        }
        if let Ok(Some(stream)) = ProbabilityStream::find(&votes, &options) {
            let _ = stream.reader(0..n_rows).next_rows(n_rows as usize);
        }
        if let Ok(features) = FeatureParts::new(table, columns) {
            for bad_rows in [BadRows::Fail, BadRows::Abstain, BadRows::Skip] {
                let mut reader = features.reader(0..n_rows, 2, bad_rows);
                while let Ok(Some(_)) = reader.next_rows() {}
            }
        }
    }
}

/// A part with keys, after another one; and its rows beside those of a whole table.
fn part_keys(path: &Path) {
    static VALID: LazyLock<Vec<Vec<u8>>> = LazyLock::new(valid::part_keys);
    let parts = path.parent().unwrap();
    let whole = parts.with_file_name("whole.parquet");
    std::fs::write(parts.join("part-0.parquet"), &VALID[0]).unwrap();
    std::fs::write(&whole, &VALID[1]).unwrap();
    for key in [KeyColumn::Row, KeyColumn::of(Some("id"))] {
        let Ok(table) = TableParts::open(parts, &key) else { continue };
        let mut names = table.names();
        // A cut file may say that it has more rows than anyone would wait for.
        (0..table.n_rows().min(100)).step_by(3).for_each(|_| drop(names.next_rows(3)));
        let whole = TableParts::open(&whole, &key).unwrap();
        let _ = (table.check_same_rows(&whole), whole.check_same_rows(&table));
    }
}

/// Two tables with an empty line between them, whose rows are matched.
fn keys(path: &Path) {
    let bytes = std::fs::read(path).unwrap();
    let middle = bytes.windows(2).position(|pair| pair == b"\n\n").unwrap_or(bytes.len());
    let tables = ["features.csv", "labels.csv"].map(|name| path.with_file_name(name));
    for (table, bytes) in tables.iter().zip([&bytes[..middle], &bytes[middle..]]) {
        std::fs::write(table, bytes).unwrap();
    }
    for key in [KeyColumn::Row, KeyColumn::of(Some("id"))] {
        if let (Ok(features), Ok(labels)) = (read_features(&tables[0], &key), read_labels(&tables[1], &[], &key)) {
            let _ = labels.in_order_of(&features.keys);
        }
    }
}

fn label_model(path: &Path) {
    if let Ok(model) = SavedLabelModel::load(path) {
        let _ = model.fitted().predict_proba(&signals());
        let arranged = model.arrange(&signals());
        let _ = arranged.map(|signals| model.fitted().predict_proba(&signals));
    }
}

fn arff(path: &Path) {
    let _ = read_arff(path);
}

fn xls(path: &Path) {
    if let Ok(sheet) = XlsSheet::read(path, "Data") {
        let (n_rows, n_columns) = (sheet.n_rows().min(50), sheet.n_columns().min(50));
        for (row, column) in (0..n_rows).flat_map(|row| (0..n_columns).map(move |c| (row, c))) {
            let _ = (sheet.text(row, column), sheet.required_number(row, column, "x"));
        }
    }
}

fn idx(path: &Path) {
    let _ = read_idx(path);
}

fn wrench(path: &Path) {
    let _ = read_wrench(path.parent().unwrap());
}

fn wrench_classes(path: &Path) {
    let folder = path.parent().unwrap();
    std::fs::write(folder.join("train.json"), &valid::wrench()[0]).unwrap();
    let _ = read_wrench(folder);
}

/// The folder of a shape with two points, and what is read of it.
fn partnet(data: &Path) {
    let _ = read_partnet_shape(data, "7", &PartNetOptions { part_depth: 1 });
}

fn beside(path: &Path, files: &[(&str, Vec<u8>)]) -> PathBuf {
    let data = path.ancestors().find(|folder| folder.ends_with("7")).unwrap().parent().unwrap();
    for (name, bytes) in files {
        let file = data.join("7").join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, bytes).unwrap();
    }
    data.to_owned()
}

fn partnet_tree(path: &Path) {
    if let Ok(tree) = PartTree::read(path) {
        let _ = (tree.merged(0), tree.merged(2));
    }
    let points = valid::partnet_points()[0].clone();
    let labels = b"1\n2\n".to_vec();
    partnet(&beside(path, &[("point_sample/pts-10000.txt", points), ("point_sample/label-10000.txt", labels)]));
}

fn partnet_points(path: &Path) {
    let tree = valid::partnet_tree()[0].clone();
    let labels = b"1\n2\n".to_vec();
    partnet(&beside(path, &[("result.json", tree), ("point_sample/label-10000.txt", labels)]));
}

fn partnet_split(path: &Path) {
    let _ = read_partnet_split(path);
}

fn rules(path: &Path) {
    if let Ok(file) = read_rules(path, None) {
        let names = ["hour", "workingday"].map(str::to_owned).to_vec();
        let features = array![[1.0, 1.0], [30.0, 1.0], [0.0, 0.0]];
        let features = Features::with_names(features, names).unwrap();
        let _ = RuleDataset::new(features, file.rules, file.range);
    }
}

fn keywords(path: &Path) {
    if let Ok(labelers) = KeywordLabelers::read(path) {
        let _ = labelers.vote(&["a great film", "never again", ""]);
    }
}

fn word_vectors(path: &Path) {
    let documents = ["good good film", "no idea"];
    if let Ok(vectors) = WordVectors::read_for(path, &documents) {
        let _ = vectors.average(&documents);
    }
}

fn clouds(path: &Path) {
    // Few points of a surface: drawing them is no part of reading.
    let options = CloudOptions { n_surface_points: 20, ..CloudOptions::default() };
    let _ = read_clouds(path, &options);
}
