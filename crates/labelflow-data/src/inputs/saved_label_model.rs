//! A fitted label model on disk: one JSON file.
//!
//! ```text
//! { "format": 1, "labelflow": "0.1.0", "sha256": "…", "labelers": […], "classes": […], "model": "dawid-skene", "fitted": {…} }
//! ```
//!
//! The hash is that of the same text with an empty hash: a file that was damaged is refused, rather than labelled with.

use std::path::Path;

use labelflow_files::sha256_hex;
use labelflow_weak::label_models::{AnyFittedLabelModel, FittedLabelModel};
use labelflow_weak::rows::SoftLabels;
use labelflow_weak::votes::WeakSignals;
use serde::{Deserialize, Serialize};

use crate::tables::read_text;
use crate::{Error, Result, ensure};

/// The version of the format; a file of a later one is refused.
const FORMAT: u32 = 1;
/// Stands for the name of the file where there is none.
const IN_MEMORY: &str = "label model";
/// What a file should have been, in errors.
const EXPECTED: &str = "a label model of labelflow, as `labelflow label --save` writes it";

/// A fitted label model with the names of the labelers and classes that it was fitted with.
///
/// ```
/// use labelflow_data::inputs::SavedLabelModel;
/// use labelflow_weak::label_models::{AnyLabelModel, FittedLabelModel, KnownOfLabelers};
/// use labelflow_weak::votes::{Votes, WeakSignals};
/// use ndarray::array;
///
/// let votes = Votes::from_indices(array![[0, 0, 1], [1, 1, 1], [0, 0, 0]].view(), None)?;
/// let signals = WeakSignals::from_votes(votes)?;
/// let fitted = AnyLabelModel::from_name("dawid-skene")?.fit(&signals, &KnownOfLabelers::default())?;
/// let path = std::env::temp_dir().join(format!("label-model-{}.json", std::process::id()));
/// SavedLabelModel::new(fitted, &signals).save(&path)?;
/// let labels = SavedLabelModel::load(&path)?.predict_proba(&signals)?;
/// assert_eq!(labels.argmax(), [0, 1, 0]);
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), labelflow_data::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct SavedLabelModel {
    fitted: AnyFittedLabelModel,
    labelers: Vec<String>,
    classes: Vec<String>,
}

/// What the file holds.
#[derive(Serialize, Deserialize)]
struct Contents {
    format: u32,
    labelflow: String,
    sha256: String,
    labelers: Vec<String>,
    classes: Vec<String>,
    #[serde(flatten)]
    fitted: AnyFittedLabelModel,
}

impl Contents {
    /// The hash of the text that has none yet.
    fn digest(&self) -> String {
        sha256_hex(serde_json::to_string(self).expect("numbers and names"))
    }
}

/// The part of the file that all versions share.
#[derive(Deserialize)]
struct Version {
    format: u32,
    labelflow: String,
}

impl SavedLabelModel {
    /// A label model that was fitted to these signals.
    pub fn new(fitted: AnyFittedLabelModel, signals: &WeakSignals) -> Self {
        let (labelers, classes) = (signals.labelers().to_vec(), signals.classes().to_vec());
        Self { fitted, labelers, classes }
    }

    /// The fitted label model.
    pub fn fitted(&self) -> &AnyFittedLabelModel {
        &self.fitted
    }

    /// The names of the labelers, in the order of the fit.
    pub fn labelers(&self) -> &[String] {
        &self.labelers
    }

    /// The names of the classes, in the order of the fit.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// Writes the file, replacing one that is there.
    pub fn save(&self, path: &Path) -> Result<()> {
        let text = self.text(path)? + "\n";
        labelflow_files::replace(path, text.as_bytes()).map_err(|error| Error::write(path, error))
    }

    /// Reads a file.
    pub fn load(path: &Path) -> Result<Self> {
        let text = read_text(path)?;
        Self::read(&text, path)
    }

    /// What the file holds.
    pub fn to_json(&self) -> Result<String> {
        self.text(Path::new(IN_MEMORY))
    }

    /// The label model that [`to_json`](Self::to_json) wrote.
    pub fn from_json(text: &str) -> Result<Self> {
        Self::read(text, Path::new(IN_MEMORY))
    }

    /// The contents of the file at this place.
    fn text(&self, place: &Path) -> Result<String> {
        let mut contents = Contents {
            format: FORMAT,
            labelflow: env!("CARGO_PKG_VERSION").to_owned(),
            sha256: String::new(),
            labelers: self.labelers.clone(),
            classes: self.classes.clone(),
            fitted: self.fitted.clone(),
        };
        contents.sha256 = contents.digest();
        let text = serde_json::to_string(&contents).expect("numbers and names");
        // JSON has no infinity: it would be written as null, and found out only when it is read.
        let expected = "a fit whose numbers are finite";
        let found = || format!("another of {}", self.fitted.name());
        ensure(serde_json::from_str::<Contents>(&text).is_ok(), || Error::content(place, expected, found()))?;
        Ok(text)
    }

    /// The label model whose file at this place has these contents.
    fn read(text: &str, place: &Path) -> Result<Self> {
        let broken = |error: serde_json::Error| Error::content(place, EXPECTED, error);
        // First the version alone: a later format may have other fields.
        let Version { format, labelflow } = serde_json::from_str(text).map_err(broken)?;
        let found = || format!("format {format}, written by labelflow {labelflow}");
        ensure(format <= FORMAT, || Error::content(place, format!("format {FORMAT} or earlier"), found()))?;
        let mut contents: Contents = serde_json::from_str(text).map_err(broken)?;
        let found = std::mem::take(&mut contents.sha256);
        let refuse = || Error::content(place, EXPECTED, "one that was changed: its hash differs");
        ensure(contents.digest() == found, refuse)?;
        let Contents { labelers, classes, fitted, .. } = contents;
        fitted
            .check(labelers.len(), classes.len())
            .map_err(|error| Error::content(place, EXPECTED, format!("one at odds with itself: {error}")))?;
        Ok(Self { fitted, labelers, classes })
    }

    /// The same signals with the labelers of the fit: see [`WeakSignals::select_labelers`].
    pub fn arrange(&self, signals: &WeakSignals) -> labelflow_weak::Result<WeakSignals> {
        signals.select_labelers(&self.labelers)
    }

    /// The same for signals of a crowd: workers of the fit that are absent abstain, and others are left out, whose number is returned too. See
    /// [`WeakSignals::select_known_labelers`].
    pub fn arrange_known(&self, signals: &WeakSignals) -> labelflow_weak::Result<(WeakSignals, usize)> {
        signals.select_known_labelers(&self.labelers)
    }
}

impl FittedLabelModel for SavedLabelModel {
    /// As [`FittedLabelModel::predict_proba`], with the labelers found by name: see [`SavedLabelModel::arrange`].
    fn predict_proba(&self, signals: &WeakSignals) -> labelflow_weak::Result<SoftLabels> {
        self.fitted.predict_proba(&self.arrange(signals)?)
    }

    fn choose(&self, signals: &WeakSignals, labels: &SoftLabels) -> labelflow_weak::Result<Vec<usize>> {
        self.fitted.choose(&self.arrange(signals)?, labels)
    }

    fn remark(&self) -> Option<&str> {
        self.fitted.remark()
    }
}

#[cfg(test)]
mod tests {
    use labelflow_weak::label_models::{AnyLabelModel, ConstrainedLabels, KnownOfLabelers};
    use labelflow_weak::labelers::{Bounds, LabelerErrors};
    use labelflow_weak::votes::Votes;
    use ndarray::{Array2, Axis};
    use serde_json::Value;

    use super::*;

    fn signals() -> WeakSignals {
        signals_of(2)
    }

    fn signals_of(n_classes: usize) -> WeakSignals {
        let votes = Array2::from_shape_fn((30, 3), |(row, signal)| {
            let wrong = usize::from((row * 7 + signal * 3) % 5 == 0);
            if (row + signal) % 6 == 0 { -1 } else { ((row + wrong) % n_classes) as i64 }
        });
        let votes = Votes::from_indices(votes.view(), None).unwrap();
        let names = ["a", "b", "c"].map(str::to_owned).to_vec();
        WeakSignals::from_votes(votes).unwrap().with_labelers(names).unwrap()
    }

    fn saved(name: &str) -> SavedLabelModel {
        saved_fit(&AnyLabelModel::from_name(name).unwrap(), &signals())
    }

    fn saved_fit(model: &AnyLabelModel, signals: &WeakSignals) -> SavedLabelModel {
        let known = KnownOfLabelers {
            errors: Some(LabelerErrors::per_labeler(&[0.2; 3], signals.n_classes()).unwrap()),
            bounds: Some(Bounds::constant(0.2, signals).unwrap()),
            labels: None,
        };
        SavedLabelModel::new(model.fit(signals, &known).unwrap(), signals)
    }

    /// The text with these values and the hash that belongs to them; nothing if no label model has such values.
    fn forged(values: Value) -> Option<String> {
        let mut contents: Contents = serde_json::from_value(values).ok()?;
        contents.sha256.clear();
        contents.sha256 = contents.digest();
        Some(serde_json::to_string(&contents).unwrap())
    }

    /// Where in the values there is a list or a number, as JSON pointers.
    fn places(values: &Value, here: &str, found: &mut Vec<String>) {
        if values.is_array() || values.is_number() {
            found.push(here.to_owned());
        }
        let mut inside = |key: &str, value: &Value| places(value, &format!("{here}/{key}"), found);
        match values {
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(index, item)| inside(&index.to_string(), item));
            }
            Value::Object(fields) => fields.iter().for_each(|(key, value)| inside(key, value)),
            _ => {}
        }
    }

    /// Other lists and numbers in the place of one.
    fn others(value: &Value) -> Vec<Value> {
        if let Some(count) = value.as_u64() {
            let counts = [0, count.wrapping_sub(1), count.wrapping_add(1), 1 << 40, u64::MAX];
            return counts.map(Value::from).to_vec();
        }
        let Value::Array(items) = value else {
            return [0.0, -1.0, 1e308, -1e308, 1e-320].map(Value::from).to_vec();
        };
        let shorter = items[..items.len().saturating_sub(1)].to_vec();
        let longer = [items.clone(), items.last().cloned().into_iter().collect()].concat();
        vec![Value::Array(shorter), Value::Array(longer), Value::Array(Vec::new())]
    }

    #[test]
    fn every_label_model_comes_back_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.json");
        for name in AnyLabelModel::NAMES {
            let model = saved(name);
            model.save(&path).unwrap();
            let loaded = SavedLabelModel::load(&path).unwrap();
            assert_eq!((loaded.labelers(), loaded.classes()), (model.labelers(), model.classes()));
            let labels = model.predict_proba(&signals()).unwrap();
            assert_eq!(loaded.predict_proba(&signals()).unwrap(), labels, "{name}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn cut_off_and_foreign_files_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.json");
        saved("dawid-skene").save(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let error = |contents: &str| {
            std::fs::write(&path, contents).unwrap();
            SavedLabelModel::load(&path).unwrap_err().to_string()
        };
        for length in [0, 1, 20, text.len() / 2, text.len() - 3] {
            let error = error(&text[..length]);
            assert!(error.contains("model.json: expected a label model of labelflow"), "{error}");
        }
        for foreign in ["[1, 2]", "{}", "{\"format\": 1, \"labelflow\": \"0\"}", "label\n0\n"] {
            let error = error(foreign);
            assert!(error.contains("expected a label model of labelflow"), "{foreign}: {error}");
        }
        let later = error(&text.replace("\"format\":1", "\"format\":2"));
        assert!(later.contains("format 1 or earlier, found format 2, written by"), "{later}");
        let other = error(&text.replace("dawid-skene", "dawid"));
        assert!(other.contains("unknown variant `dawid`"), "{other}");
        let error = SavedLabelModel::load(&folder.path().join("none.json")).unwrap_err();
        assert!(error.to_string().starts_with("cannot read "), "{error}");
        assert!(error.to_string().contains("none.json"), "{error}");
    }

    #[test]
    fn lists_of_other_lengths_are_refused_although_the_hash_is_right() {
        let mut values: Value = serde_json::from_str(&saved("metal").to_json().unwrap()).unwrap();
        values["fitted"]["rates"]["class_balance"] = Value::from(vec![0.02]);
        let error = SavedLabelModel::from_json(&forged(values).unwrap()).unwrap_err().to_string();
        let expected = "at odds with itself: class_balance: expected 2 entries for 3 labelers and 2 classes, found 1";
        assert!(error.contains(expected), "{error}");
        let mut values: Value = serde_json::from_str(&saved("metal").to_json().unwrap()).unwrap();
        values["labelers"].as_array_mut().unwrap().pop();
        let error = SavedLabelModel::from_json(&forged(values).unwrap()).unwrap_err().to_string();
        let expected = "names: expected names of 3 labelers and 2 classes, found 2 and 2";
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn files_at_odds_with_themselves_are_refused_or_label() {
        for (n_classes, name) in
            [2, 3].into_iter().flat_map(|n| AnyLabelModel::NAMES.iter().map(move |name| (n, *name)))
        {
            let model = match AnyLabelModel::from_name(name).unwrap() {
                // Fewer numbers to change.
                AnyLabelModel::ConstrainedLabels(model) => {
                    AnyLabelModel::ConstrainedLabels(ConstrainedLabels { n_steps: 4, ..model })
                }
                model => model,
            };
            let signals = signals_of(n_classes);
            let text = saved_fit(&model, &signals).to_json().unwrap();
            let values: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(forged(values.clone()).unwrap(), text, "{name}");
            let mut found = Vec::new();
            places(&values, "", &mut found);
            let mut n_refused = 0;
            for place in &found {
                for other in others(values.pointer(place).unwrap()) {
                    let mut values = values.clone();
                    *values.pointer_mut(place).unwrap() = other;
                    match forged(values).map(|text| SavedLabelModel::from_json(&text)) {
                        Some(Ok(model)) => drop(model.predict_proba(&signals)),
                        Some(Err(_)) | None => n_refused += 1,
                    }
                }
            }
            // Both lists of names and both counts of the shape, whatever else there is.
            assert!(n_refused >= 3 * 2 + 4 * 2, "{name}: {n_refused} of {}", found.len());
        }
    }

    #[test]
    fn workers_that_are_unknown_are_left_out_and_absent_ones_abstain() {
        let signals = signals();
        let votes = signals.to_votes();
        let of = |columns: &[usize], names: &[&str]| {
            let bytes = votes.bytes().select(Axis(1), columns);
            let names = names.iter().map(|&name| name.to_owned()).collect();
            WeakSignals::from_votes(Votes::from_bytes(bytes, 2).unwrap()).unwrap().with_labelers(names).unwrap()
        };
        for name in AnyLabelModel::NAMES {
            let model = saved(name);
            let (known, n_unknown) = model.arrange_known(&of(&[2, 1, 0, 0], &["c", "new", "a", "other"])).unwrap();
            assert_eq!(n_unknown, 2);
            let mut bytes = votes.bytes().to_owned();
            bytes.column_mut(1).fill(labelflow_weak::votes::ABSTAIN);
            assert_eq!(known.to_votes().bytes(), bytes);
            // As if the absent one had been there and silent.
            let silent = WeakSignals::from_votes(Votes::from_bytes(bytes, 2).unwrap()).unwrap();
            let labels = model.predict_proba(&silent).unwrap();
            assert_eq!(model.predict_proba(&known).unwrap(), labels, "{name}");
        }
        let error = saved("dawid-skene").arrange_known(&of(&[0, 1], &["x", "y"])).unwrap_err().to_string();
        assert!(error.contains("expected one of the labelers a, b, c, found x, y"), "{error}");
    }

    #[test]
    fn labelers_are_found_by_name() {
        let (model, signals) = (saved("dawid-skene"), signals());
        let labels = model.predict_proba(&signals).unwrap();
        let votes = signals.to_votes();
        let of = |columns: &[usize], names: &[&str]| {
            let bytes = votes.bytes().select(Axis(1), columns);
            let names = names.iter().map(|&name| name.to_owned()).collect();
            WeakSignals::from_votes(Votes::from_bytes(bytes, 2).unwrap()).unwrap().with_labelers(names).unwrap()
        };
        let predict = |signals: &WeakSignals| model.predict_proba(signals);
        assert_eq!(predict(&of(&[2, 0, 1], &["c", "a", "b"])).unwrap(), labels);
        assert_eq!(predict(&of(&[2, 0, 0, 1], &["c", "more", "a", "b"])).unwrap(), labels);
        let unnamed = |columns: &[usize]| {
            WeakSignals::from_votes(Votes::from_bytes(votes.bytes().select(Axis(1), columns), 2).unwrap()).unwrap()
        };
        assert_eq!(predict(&unnamed(&[0, 1, 2])).unwrap(), labels);
        for (signals, found) in [
            (of(&[0, 1, 2], &["a", "b", "z"]), "a, b, z"),
            (of(&[0, 1, 2], &["x", "y", "z"]), "x, y, z"),
            (unnamed(&[0, 1]), "2 without names"),
        ] {
            let error = predict(&signals).unwrap_err().to_string();
            assert!(error.contains(&format!("expected the labelers a, b, c, found {found}")), "{error}");
        }
    }
}
