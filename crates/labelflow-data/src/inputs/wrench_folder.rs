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
use labelflow_weak::votes::{ABSTAIN, Votes, WeakSignals};
use ndarray::Array2;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::tables::csv_file::shown;
use crate::tables::packed_text::read_json;
use crate::{Error, Result};

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
    let train_path = find_file(folder, "train").ok_or_else(|| {
        Error::content(folder, "a folder with the file train.json", "no such file")
    })?;
    let train = read_json::<RawRows>(&train_path)?.checked(&train_path)?;
    let part = |name: &str| -> Result<Option<(PathBuf, RawRows)>> {
        let Some(path) = find_file(folder, name) else { return Ok(None) };
        let rows = read_json::<RawRows>(&path)?.checked(&path)?;
        rows.check_like(&path, &train)?;
        Ok(Some((path, rows)))
    };
    let (valid, test) = (part("valid")?, part("test")?);
    let classes = match find_file(folder, "label") {
        Some(path) => read_classes(&path)?,
        None => {
            let parts =
                [&valid, &test].into_iter().flatten().map(|(_, rows)| rows.n_classes_told());
            let n_classes = parts.fold(train.n_classes_told(), usize::max).max(2);
            (0..n_classes).map(|class| class.to_string()).collect()
        }
    };
    let finish = |part: Option<(PathBuf, RawRows)>| {
        part.map(|(path, rows)| rows.finish(&path, &classes)).transpose()
    };
    Ok(WrenchFolder {
        valid: finish(valid)?,
        test: finish(test)?,
        train: train.finish(&train_path, &classes)?,
        classes,
    })
}

fn find_file(folder: &Path, name: &str) -> Option<PathBuf> {
    let paths = ["json", "json.gz"].map(|extension| folder.join(format!("{name}.{extension}")));
    paths.into_iter().find(|path| path.is_file())
}

/// The names of the classes 0, 1, …
fn read_classes(path: &Path) -> Result<Vec<String>> {
    let ClassNames(entries) = read_json(path)?;
    let n_classes = entries.len();
    if !(2..=usize::from(ABSTAIN)).contains(&n_classes) {
        return Err(Error::content(path, format!("2 to {ABSTAIN} classes"), n_classes));
    }
    let mut classes = vec![None; n_classes];
    for (index, ClassName(name)) in entries {
        let class = index.parse::<usize>().ok().and_then(|index| classes.get_mut(index));
        match class {
            Some(class) if class.is_none() => *class = Some(name),
            _ => {
                let expected = format!("the keys 0 to {}, each once", n_classes - 1);
                return Err(Error::content(path, expected, format!("'{}'", shown(&index))));
            }
        }
    }
    Ok(classes.into_iter().flatten().collect())
}

/// The name of a class; some folders give a number.
struct ClassName(String);

impl<'de> Deserialize<'de> for ClassName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "the name of a class")]
        enum Name {
            Text(String),
            Number(i64),
        }
        Ok(Self(match Name::deserialize(deserializer)? {
            Name::Text(name) => name,
            Name::Number(number) => number.to_string(),
        }))
    }
}

/// Visits the entries of a JSON object in the order of the file. None is kept that `visit` does not keep.
fn visit_entries<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
    expected: &'static str,
    visit: impl FnMut(String, T),
) -> Result<(), D::Error> {
    struct InOrder<T, F>(&'static str, F, PhantomData<T>);
    impl<'de, T: Deserialize<'de>, F: FnMut(String, T)> Visitor<'de> for InOrder<T, F> {
        type Value = ();

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str(self.0)
        }

        fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
            while let Some((key, value)) = map.next_entry()? {
                (self.1)(key, value);
            }
            Ok(())
        }
    }
    deserializer.deserialize_map(InOrder(expected, visit, PhantomData))
}

/// Names of classes with their indices.
struct ClassNames(Vec<(String, ClassName)>);

impl<'de> Deserialize<'de> for ClassNames {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut entries = Vec::new();
        visit_entries(deserializer, "an object", |index, name| entries.push((index, name)))?;
        Ok(Self(entries))
    }
}

/// One row as it stands in the file.
#[derive(Deserialize)]
struct RawRow {
    #[serde(default)]
    label: Option<i64>,
    weak_labels: Vec<i64>,
    #[serde(default)]
    data: RawData,
}

#[derive(Default, Deserialize)]
#[serde(expecting = "an object with a feature or a text")]
struct RawData {
    feature: Option<Vec<f32>>,
    text: Option<String>,
}

/// The rows of a file, column by column, so that memory does not exceed what the file holds.
#[derive(Default)]
struct RawRows {
    ids: Vec<String>,
    /// Votes row after row, −1 for an abstention.
    votes: Vec<i64>,
    n_signals: usize,
    /// −1 for a row without a label.
    labels: Vec<i64>,
    features: Vec<f32>,
    d_features: usize,
    n_with_feature: usize,
    texts: Vec<String>,
    /// The first row that differs from the first one in form, and how.
    fault: Option<(String, String, String)>,
}

impl<'de> Deserialize<'de> for RawRows {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut rows = Self::default();
        visit_entries(deserializer, "an object with one entry per row", |id, row| {
            rows.push(id, row)
        })?;
        Ok(rows)
    }
}

impl RawRows {
    fn push(&mut self, id: String, row: RawRow) {
        let feature = row.data.feature.unwrap_or_default();
        if self.ids.is_empty() {
            self.n_signals = row.weak_labels.len();
            self.d_features = feature.len();
        }
        for (what, expected, found) in [
            ("weak labels", self.n_signals, row.weak_labels.len()),
            ("numbers in feature", self.d_features, feature.len()),
        ] {
            if expected != found && self.fault.is_none() {
                let expected = format!("{expected} {what}, as in the first row");
                self.fault = Some((id.clone(), expected, found.to_string()));
            }
        }
        self.n_with_feature += usize::from(!feature.is_empty());
        self.votes.extend(row.weak_labels);
        self.features.extend(feature);
        self.labels.push(row.label.unwrap_or(-1));
        self.texts.extend(row.data.text);
        self.ids.push(id);
    }

    /// The same rows, if they have one form.
    fn checked(self, path: &Path) -> Result<Self> {
        if let Some((id, expected, found)) = &self.fault {
            return Err(Error::content(path, expected, format!("{found} in row '{}'", shown(id))));
        }
        if self.ids.is_empty() || self.n_signals == 0 {
            let found = format!("{} rows and {} labelers", self.ids.len(), self.n_signals);
            return Err(Error::content(path, "at least one row and one labeler", found));
        }
        let mut known = HashSet::new();
        if let Some(id) = self.ids.iter().find(|id| !known.insert(id.as_str())) {
            return Err(Error::content(path, "each row once", format!("'{}' twice", shown(id))));
        }
        let n_labelled = self.labels.iter().filter(|&&label| label != -1).count();
        for (what, n_given) in [("label", n_labelled), ("text", self.texts.len())] {
            if n_given != 0 && n_given != self.ids.len() {
                let found = format!("{n_given} of {} rows with one", self.ids.len());
                return Err(Error::content(
                    path,
                    format!("a {what} in all rows or in none"),
                    found,
                ));
            }
        }
        Ok(self)
    }

    /// Checks that another file has as many labelers and features.
    fn check_like(&self, path: &Path, train: &Self) -> Result<()> {
        for (what, expected, found) in [
            ("weak labels", train.n_signals, self.n_signals),
            ("numbers in feature", train.d_features, self.d_features),
        ] {
            if expected != found {
                let expected = format!("{expected} {what}, as in the training file");
                return Err(Error::content(path, expected, found));
            }
        }
        Ok(())
    }

    /// One more than the largest class in the file.
    fn n_classes_told(&self) -> usize {
        let largest = self.votes.iter().chain(&self.labels).copied().max().unwrap_or(-1);
        // Too large a class is refused later, with its row.
        usize::try_from(largest.saturating_add(1)).unwrap_or(0).min(usize::from(ABSTAIN))
    }

    fn finish(self, path: &Path, classes: &[String]) -> Result<WrenchRows> {
        let n_classes = classes.len() as i64;
        let refuse = |what: &str, row: usize, found: i64| {
            let expected = format!("{what} from 0 to {}, or -1", n_classes - 1);
            let found = format!("{found} in row '{}'", shown(&self.ids[row]));
            Error::content(path, expected, found)
        };
        let in_range = |class: i64| (-1..n_classes).contains(&class);
        if let Some(cell) = self.votes.iter().position(|&vote| !in_range(vote)) {
            return Err(refuse("weak labels", cell / self.n_signals, self.votes[cell]));
        }
        if let Some(row) = self.labels.iter().position(|&label| !in_range(label)) {
            return Err(refuse("a label", row, self.labels[row]));
        }
        let n_rows = self.ids.len();
        let bytes = self.votes.iter().map(|&vote| if vote == -1 { ABSTAIN } else { vote as u8 });
        let bytes = Array2::from_shape_vec((n_rows, self.n_signals), bytes.collect())
            .expect("every row has as many weak labels");
        let signals = Votes::from_bytes(bytes, classes.len())
            .and_then(WeakSignals::from_votes)
            .and_then(|signals| signals.with_classes(classes.to_vec()))
            .map_err(Error::in_file(path))?;
        let features = match self.n_with_feature {
            0 => None,
            _ => {
                let values = Array2::from_shape_vec((n_rows, self.d_features), self.features)
                    .expect("every row has as many numbers");
                Some(Features::new(values).map_err(Error::in_file(path))?)
            }
        };
        let truth = match self.labels.contains(&-1) {
            true => None,
            false => {
                let labels = self.labels.iter().map(|&label| label as usize).collect();
                Some(Truth::new(labels, classes.len()).map_err(Error::in_file(path))?)
            }
        };
        let texts = (!self.texts.is_empty()).then_some(self.texts);
        Ok(WrenchRows { ids: self.ids, signals, features, texts, truth })
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

    const TRAIN: &str = r#"{
        "10": {"weak_labels": [0, -1, 2], "label": 2, "data": {"feature": [0.5, 1], "span": [[0]]}},
        "2": {"label": 0, "weak_labels": [-1, -1, -1], "data": {"feature": [-1.5, 2e3]}}
    }"#;

    #[test]
    fn rows_keep_their_order_and_parts_share_classes() {
        let test =
            r#"{"0": {"label": null, "weak_labels": [3, 0, 0], "data": {"feature": [1, 1]}}}"#;
        let set = read(&[("train.json", TRAIN), ("test.json", test)]).unwrap();
        assert_eq!(set.train.ids, ["10", "2"]);
        assert_eq!(set.classes, ["0", "1", "2", "3"], "the test file has a vote for class 3");
        assert_eq!(
            set.train.signals.to_votes().bytes(),
            array![[0, ABSTAIN, 2], [ABSTAIN, ABSTAIN, ABSTAIN]]
        );
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
        let two = |second: &str| {
            format!(r#"{{"0": {{"label": 0, {good}}}, "7": {{"label": 1, {second}}}}}"#)
        };
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
            (
                row(r#""weak_labels": [0, -2]"#),
                "weak labels from 0 to 1, or -1, found -2 in row '0'",
            ),
            (row(r#""weak_labels": [0, 255]"#), "found 255 in row '0'"),
            (row(r#""weak_labels": [9223372036854775807]"#), "found 9223372036854775807"),
            (row(r#""weak_labels": [0, 1], "data": {"feature": [1e39]}"#), "number out of range"),
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
            let error =
                read(&[("train.json", TRAIN), ("label.json", names)]).unwrap_err().to_string();
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
