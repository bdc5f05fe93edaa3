//! Folders of the WRENCH benchmark: `train.json`, `valid.json`, `test.json` and `label.json`.
//!
//! ```text
//! {"0": {"label": 1, "weak_labels": [1, -1, 0], "data": {"text": "…"}}, "1": …}      −1 abstains
//! {"0": "ham", "1": "spam"}                                                          label.json
//! ```
//!
//! `data` may hold a list of numbers `feature`, a `text`, or both; what else it holds is ignored. Files may be gzipped
//! and then end in `.json.gz`.

use std::collections::HashSet;
use std::fmt;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use labelflow_weak::rows::{Features, Truth};
use labelflow_weak::votes::{ABSTAIN, WeakSignals};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::vote_cells::named_votes;
use crate::tables::cells::into_table;
use crate::tables::csv_file::shown;
use crate::tables::packed_text::read_json;
use crate::{Error, Result, ensure};

/// A whole folder.
#[derive(Debug, Clone, PartialEq)]
pub struct WrenchFolder {
    /// The names of the classes, or their indices when there is no `label.json`.
    pub classes: Vec<String>,
    /// `train.json`.
    pub train: WrenchRows,
    /// `valid.json`, if it is there.
    pub valid: Option<WrenchRows>,
    /// `test.json`, if it is there.
    pub test: Option<WrenchRows>,
}

/// One file of a folder.
#[derive(Debug, Clone, PartialEq)]
pub struct WrenchRows {
    /// The name of each row.
    pub ids: Vec<String>,
    /// The votes.
    pub signals: WeakSignals,
    /// The numbers of each row, if they are given.
    pub features: Option<Features>,
    /// The text of each row, if it is given.
    pub texts: Option<Vec<String>>,
    /// The true class of each row, if it is given.
    pub truth: Option<Truth>,
}

/// Reads a WRENCH folder. `train.json` must be there; the other files may be.
///
/// Without `label.json` there are as many classes as the largest vote or label of any file tells.
///
/// ```
/// use labelflow_data::inputs::read_wrench;
///
/// let folder = tempfile::tempdir()?;
/// let train = r#"{"0": {"label": 1, "weak_labels": [1, -1], "data": {"text": "win a prize"}},
///                 "1": {"label": 0, "weak_labels": [0, 0], "data": {"text": "see you"}}}"#;
/// std::fs::write(folder.path().join("train.json"), train)?;
/// std::fs::write(folder.path().join("label.json"), r#"{"0": "ham", "1": "spam"}"#)?;
/// let set = read_wrench(folder.path())?;
/// assert_eq!(set.train.signals.classes(), ["ham", "spam"]);
/// assert_eq!(set.train.signals.vote(0, 1), None);
/// assert_eq!(set.train.texts.as_ref().map(|texts| texts[1].as_str()), Some("see you"));
/// assert!(set.train.features.is_none() && set.test.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_wrench(folder: &Path) -> Result<WrenchFolder> {
    let train = find_file(folder, "train")
        .ok_or_else(|| Error::content(folder, "a folder with the file train.json", "no such file"))?;
    let train = RawRows::read(train, None)?;
    let part = |name: &str| find_file(folder, name).map(|path| RawRows::read(path, Some(&train.rows[0].1))).transpose();
    let (valid, test) = (part("valid")?, part("test")?);
    let classes = match find_file(folder, "label") {
        Some(path) => read_classes(&path)?,
        None => {
            let others = [&valid, &test].into_iter().flatten().map(RawRows::n_classes_told);
            let n_classes = others.fold(train.n_classes_told(), usize::max).max(2);
            (0..n_classes).map(|class| class.to_string()).collect()
        }
    };
    let finish = |part: Option<RawRows>| part.map(|rows| rows.finish(&classes)).transpose();
    Ok(WrenchFolder { valid: finish(valid)?, test: finish(test)?, train: train.finish(&classes)?, classes })
}

fn find_file(folder: &Path, name: &str) -> Option<PathBuf> {
    let paths = ["json", "json.gz"].map(|extension| folder.join(format!("{name}.{extension}")));
    paths.into_iter().find(|path| path.is_file())
}

/// The names of the classes 0, 1, …
fn read_classes(path: &Path) -> Result<Vec<String>> {
    let Entries(entries) = read_json(path)?;
    let n_classes = entries.len();
    let refuse = || Error::content(path, format!("2 to {ABSTAIN} classes"), n_classes);
    ensure((2..=usize::from(ABSTAIN)).contains(&n_classes), refuse)?;
    let mut classes = vec![None; n_classes];
    for (index, name) in entries {
        let class = index.parse::<usize>().ok().and_then(|index| classes.get_mut(index));
        let expected = || format!("the keys 0 to {}, each once", n_classes - 1);
        let refuse = || Error::content(path, expected(), format!("'{}'", shown(&index)));
        *class.filter(|class| class.is_none()).ok_or_else(refuse)? = Some(match name {
            ClassName::Text(name) => name,
            ClassName::Number(number) => number.to_string(),
        });
    }
    Ok(classes.into_iter().flatten().collect())
}

/// The name of a class; some folders give a number.
#[derive(Deserialize)]
#[serde(untagged, expecting = "the name of a class")]
enum ClassName {
    Text(String),
    Number(i64),
}

/// The entries of a JSON object in the order of the file, also those whose key has come before.
struct Entries<T>(Vec<(String, T)>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for InOrder<T> {
            type Value = Entries<T>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object with one entry per row or class")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<T>, A::Error> {
                std::iter::from_fn(|| map.next_entry().transpose()).collect::<Result<_, _>>().map(Entries)
            }
        }
        deserializer.deserialize_map(InOrder(PhantomData))
    }
}

/// One row as it stands in the file. Classes are few: a packed file of votes must not take much more memory than its text.
#[derive(Deserialize)]
struct RawRow {
    #[serde(default)]
    label: Option<i16>,
    weak_labels: Vec<i16>,
    #[serde(default)]
    data: RawData,
}

#[derive(Default, Deserialize)]
#[serde(expecting = "an object with a feature or a text")]
struct RawData {
    feature: Option<Vec<f64>>,
    text: Option<String>,
}

impl RawRow {
    /// Its class, if it has one.
    fn class(&self) -> Option<i16> {
        self.label.filter(|&label| label != -1)
    }

    fn feature(&self) -> &[f64] {
        self.data.feature.as_deref().unwrap_or_default()
    }

    /// In what another row differs in form: what was expected, and what was found.
    fn difference(&self, other: &Self) -> Option<(String, usize)> {
        let lengths = [
            ("weak labels", self.weak_labels.len(), other.weak_labels.len()),
            ("numbers in feature", self.feature().len(), other.feature().len()),
        ];
        let differs = lengths.into_iter().find(|(_, expected, found)| expected != found);
        differs.map(|(what, expected, found)| (format!("{expected} {what}"), found))
    }
}

/// The rows of a file, of one form and with names that differ.
struct RawRows {
    path: PathBuf,
    rows: Vec<(String, RawRow)>,
}

impl RawRows {
    /// Reads rows of the form of the first one in the training file, which is this one where none is given.
    fn read(path: PathBuf, first: Option<&RawRow>) -> Result<Self> {
        let Entries(rows) = read_json::<Entries<RawRow>>(&path)?;
        let n_signals = rows.first().map_or(0, |(_, first)| first.weak_labels.len());
        let place = if first.is_some() { "the training file" } else { "the first row" };
        let mut known = HashSet::new();
        for (id, row) in &rows {
            if let Some((expected, found)) = first.unwrap_or(&rows[0].1).difference(row) {
                let expected = format!("{expected}, as in {place}");
                let found = format!("{found} in row '{}'", shown(id));
                return Err(Error::content(&path, expected, found));
            }
            ensure(known.insert(id), || Error::content(&path, "each row once", format!("'{}' twice", shown(id))))?;
        }
        let found = || format!("{} rows and {n_signals} labelers", rows.len());
        ensure(n_signals != 0, || Error::content(&path, "at least one row and one labeler", found()))?;
        let count = |has: fn(&RawRow) -> bool| rows.iter().filter(|(_, row)| has(row)).count();
        let n_labelled = count(|row| row.class().is_some());
        let n_texts = count(|row| row.data.text.is_some());
        for (what, n_given) in [("label", n_labelled), ("text", n_texts)] {
            let expected = || format!("a {what} in all rows or in none");
            let found = || format!("{n_given} of {} rows with one", rows.len());
            ensure(n_given == 0 || n_given == rows.len(), || Error::content(&path, expected(), found()))?;
        }
        Ok(Self { path, rows })
    }

    /// One more than the largest class in the file.
    fn n_classes_told(&self) -> usize {
        let classes = self.rows.iter().flat_map(|(_, row)| row.weak_labels.iter().chain(&row.label));
        let largest = classes.copied().max().unwrap_or(-1);
        // Too large a class is refused later, with its row.
        usize::try_from(largest.saturating_add(1)).unwrap_or(0).min(usize::from(ABSTAIN))
    }

    fn finish(self, classes: &[String]) -> Result<WrenchRows> {
        let Self { path, rows } = self;
        let n_classes = classes.len() as i16;
        for (id, row) in &rows {
            let votes = row.weak_labels.iter().map(|vote| ("weak labels", vote));
            let mut all = votes.chain(row.label.iter().map(|label| ("a label", label)));
            if let Some((what, class)) = all.find(|(_, class)| !(-1..n_classes).contains(class)) {
                let expected = format!("{what} from 0 to {}, or -1", n_classes - 1);
                let found = format!("{class} in row '{}'", shown(id));
                return Err(Error::content(&path, expected, found));
            }
        }
        let votes = rows.iter().flat_map(|(_, row)| &row.weak_labels);
        let bytes = votes.map(|&vote| if vote == -1 { ABSTAIN } else { vote as u8 }).collect();
        let bytes = into_table(bytes, rows[0].1.weak_labels.len());
        let signals = named_votes(bytes, classes, None).map_err(Error::in_file(&path))?;
        let features = match rows[0].1.feature().len() {
            0 => None,
            d_features => {
                let values = rows.iter().flat_map(|(_, row)| row.feature()).copied().collect();
                let features = Features::new(into_table(values, d_features));
                Some(features.map_err(Error::in_file(&path))?)
            }
        };
        let labels: Option<Vec<usize>> = rows.iter().map(|(_, row)| row.class().map(|class| class as usize)).collect();
        let truth = labels.map(|labels| Truth::new(labels, classes.len()));
        let truth = truth.transpose().map_err(Error::in_file(&path))?;
        let (ids, texts): (Vec<_>, Vec<_>) = rows.into_iter().map(|(id, row)| (id, row.data.text)).unzip();
        Ok(WrenchRows { ids, signals, features, texts: texts.into_iter().collect(), truth })
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use proptest::prelude::*;

    use super::*;

    fn read(files: &[(&str, &str)]) -> Result<WrenchFolder> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        read_wrench(folder.path())
    }

    #[test]
    fn a_small_archive_of_very_many_votes_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = std::fs::File::create(folder.path().join("train.json.gz")).unwrap();
        let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::default());
        std::io::Write::write_all(&mut packed, br#"{"0": {"weak_labels": [0"#).unwrap();
        let votes = b",0".repeat(1 << 19);
        (0..70).for_each(|_| std::io::Write::write_all(&mut packed, &votes).unwrap());
        std::io::Write::write_all(&mut packed, b"]}}").unwrap();
        packed.finish().unwrap();
        let error = read_wrench(folder.path()).unwrap_err().to_string();
        assert!(error.contains("more than 64 MB after unpacking"), "{error}");
    }

    const TRAIN: &str = r#"{
        "10": {"weak_labels": [0, -1, 2], "label": 2, "data": {"feature": [0.5, 1], "span": [[0]]}},
        "2": {"label": 0, "weak_labels": [-1, -1, -1], "data": {"feature": [-1.5, 2e3]}}
    }"#;

    #[test]
    fn rows_keep_their_order_and_parts_share_classes() {
        let test = r#"{"0": {"label": null, "weak_labels": [3, 0, 0], "data": {"feature": [1, 1]}}}"#;
        let set = read(&[("train.json", TRAIN), ("test.json", test)]).unwrap();
        assert_eq!(set.train.ids, ["10", "2"]);
        assert_eq!(set.classes, ["0", "1", "2", "3"], "the test file has a vote for class 3");
        assert_eq!(set.train.signals.to_votes().bytes(), array![[0, ABSTAIN, 2], [ABSTAIN, ABSTAIN, ABSTAIN]]);
        let features = set.train.features.as_ref().unwrap();
        assert_eq!(features.values(), array![[0.5, 1.0], [-1.5, 2000.0]]);
        assert_eq!(set.train.truth.as_ref().unwrap().labels(), [2, 0]);
        assert!(set.train.texts.is_none() && set.valid.is_none());
        assert!(set.test.unwrap().truth.is_none());
    }

    #[test]
    fn class_names_may_be_in_any_order() {
        let names = r#"{"2": "c", "0": "a", "1": 7}"#;
        let set = read(&[("train.json", TRAIN), ("label.json", names)]).unwrap();
        assert_eq!(set.train.signals.classes(), ["a", "7", "c"]);
    }

    #[test]
    fn bad_files_are_named() {
        let row = |rest: &str| format!(r#"{{"0": {{"label": 0, {rest}}}}}"#);
        let good = r#""weak_labels": [0, 1], "data": {"text": "x"}"#;
        let two = |second: &str| format!(r#"{{"0": {{"label": 0, {good}}}, "7": {{"label": 1, {second}}}}}"#);
        for (train, expected) in [
            (String::new(), "train.json"),
            (TRAIN[..TRAIN.len() / 2].to_owned(), "the file is cut"),
            ("[]".to_owned(), "an object with one entry per row"),
            ("{}".to_owned(), "found 0 rows"),
            (r#"{"0": 1}"#.to_owned(), "line 1"),
            (row(r#""data": {}"#), "weak_labels"),
            (row(r#""weak_labels": "01""#), "line 1"),
            (row(r#""weak_labels": [0.5]"#), "line 1"),
            (row(r#""weak_labels": [0, 1], "data": {"text": 5}"#), "line 1"),
            (row(r#""weak_labels": [0, 1], "data": {"feature": ["x"]}"#), "line 1"),
            (row(r#""weak_labels": [0, 1], "data": 3"#), "an object with a feature or a text"),
            (row(r#""weak_labels": []"#), "one labeler"),
            (row(r#""weak_labels": [0, -2]"#), "weak labels from 0 to 1, or -1, found -2 in row '0'"),
            (row(r#""weak_labels": [0, 255]"#), "found 255 in row '0'"),
            (row(r#""weak_labels": [32767]"#), "found 32767 in row '0'"),
            (row(r#""weak_labels": [9223372036854775807]"#), "integer `9223372036854775807`"),
            (row(r#""weak_labels": [0, 1], "data": {"feature": [1e309]}"#), "number out of range"),
            (
                two(r#""weak_labels": [0], "data": {"text": "x"}"#),
                "2 weak labels, as in the first row, found 1 in row '7'",
            ),
            (
                two(r#""weak_labels": [0, 1], "data": {"feature": [1]}"#),
                "0 numbers in feature, as in the first row, found 1",
            ),
            (two(r#""weak_labels": [0, 1]"#), "a text in all rows or in none, found 1 of 2"),
            (two(good).replace("\"label\": 1", "\"label\": -1"), "a label in all rows or in none"),
            (two(good).replace("\"7\"", "\"0\""), "'0' twice"),
            (two(good).replace("\"label\": 1", "\"label\": -3"), "a label from 0 to 1"),
        ] {
            let error = read(&[("train.json", &train)]).unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains("train.json"), "{train}: {error}");
        }
        assert!(read(&[]).unwrap_err().to_string().contains("train.json"));
    }

    #[test]
    fn parts_that_do_not_fit_are_named() {
        let test = r#"{"0": {"label": 1, "weak_labels": [0, 0]}}"#;
        let error = read(&[("train.json", TRAIN), ("test.json", test)]).unwrap_err().to_string();
        assert!(error.contains("test.json: expected 3 weak labels, as in the training"), "{error}");
        for (names, expected) in [
            (r#"{"0": "a"}"#, "2 to 255 classes, found 1"),
            (r#"{"0": "a", "1": "b"}"#, "weak labels from 0 to 1, or -1, found 2 in row '10'"),
            (r#"{"0": "a", "2": "b"}"#, "the keys 0 to 1, each once, found '2'"),
            (r#"{"0": "a", "0": "b"}"#, "each once"),
            (r#"{"0": "a", "1": "a", "2": "b"}"#, "'a' twice"),
            (r#"["a", "b"]"#, "an object"),
            (r#"{"0": ["a"], "1": "b"}"#, "the name of a class"),
        ] {
            let error = read(&[("train.json", TRAIN), ("label.json", names)]).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_part_or_change_of_a_file_is_read_or_refused(
            end in 0..TRAIN.len(),
            at in 0..TRAIN.len(),
            letter in "[\\[\\]{}0-9a\",:-]",
        ) {
            let _ = read(&[("train.json", &TRAIN[..end])]);
            let changed = format!("{}{letter}{}", &TRAIN[..at], &TRAIN[at + 1..]);
            let _ = read(&[("train.json", &changed), ("label.json", &changed)]);
        }
    }
}
