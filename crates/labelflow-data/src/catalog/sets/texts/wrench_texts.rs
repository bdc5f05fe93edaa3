//! Texts with the votes of rules, in the form of the WRENCH benchmark.
//!
//! The files are the three parts, and the labelled validation texts are the simulation rows. Bounds are smoothed, as those of
//! `sms-rules` are.

use std::path::Path;

use crate::catalog::catalog_entry::Source;
use crate::catalog::sets::labelled_texts::smoothed_bounds;
use crate::catalog::{EvaluatedRows, WeakProblem};
use crate::inputs::{WrenchRows, read_wrench};
use crate::texts::HashedWords;
use crate::{Error, Result};

const D_FEATURES: usize = 2048;

pub(crate) fn load(source: &Source<'_>) -> Result<WeakProblem> {
    let [train, valid, test, _] = &source.paths[..] else { unreachable!("such a set has three parts and class names") };
    let folder = read_wrench(train.parent().expect("a file of the data folder"))?;
    let part = |path: &Path, rows: Option<WrenchRows>| {
        evaluated(path, rows.ok_or_else(|| Error::content(path, "a file with rows", "no such file"))?)
    };
    let train = part(train, Some(folder.train))?;
    let (simulation, test) = (part(valid, folder.valid)?, part(test, folder.test)?);
    WeakProblem::measured(train, simulation, test, source.options.bounds, smoothed_bounds)
}

fn evaluated(path: &Path, rows: WrenchRows) -> Result<EvaluatedRows> {
    let missing = |what: &str| Error::content(path, format!("a {what} in all rows"), "none");
    let texts = rows.texts.ok_or_else(|| missing("text"))?;
    let truth = rows.truth.ok_or_else(|| missing("label"))?;
    let features = HashedWords { d_features: D_FEATURES }.transform(&texts)?;
    Ok(EvaluatedRows { features, signals: rows.signals, truth })
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::catalog::LoadOptions;

    const TRAIN: &str = r#"{"9": {"label": 1, "weak_labels": [1, -1], "data": {"text": "sun and rain", "span": [0]}},
        "2": {"label": 0, "weak_labels": [-1, 0], "data": {"text": "a vote"}}}"#;
    const VALID: &str = r#"{"0": {"label": 1, "weak_labels": [1, 0], "data": {"text": "rain"}},
        "1": {"label": 0, "weak_labels": [1, -1], "data": {"text": "vote"}}}"#;
    const TEST: &str = r#"{"0": {"label": 2, "weak_labels": [2, -1], "data": {"text": "goal"}}}"#;

    /// The problem of these files.
    fn loaded(train: &str, valid: &str, test: &str) -> Result<WeakProblem> {
        let folder = tempfile::tempdir().unwrap();
        let classes = r#"{"0": "politics", "1": "weather", "2": "sport"}"#;
        let files = [("train.json", train), ("valid.json", valid), ("test.json", test), ("label.json", classes)];
        let paths = files.map(|(name, text)| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        });
        load(&Source { dir: folder.path(), paths: paths.to_vec(), seed: 0, options: &LoadOptions::default() })
    }

    #[test]
    fn parts_are_those_of_the_files_in_their_order() {
        let problem = loaded(TRAIN, VALID, TEST).unwrap();
        assert_eq!(problem.train_truth.labels(), [1, 0]);
        assert_eq!(problem.test.truth.labels(), [2]);
        assert_eq!(problem.train.signals().classes(), ["politics", "weather", "sport"]);
        assert_eq!(problem.train.signals().vote(0, 0), Some(1));
        assert_eq!(problem.train.signals().vote(0, 1), None);
        assert_eq!(problem.train.features().d_features(), D_FEATURES);
        // One error in two votes, and one in one, each with one more error in two more votes.
        assert_eq!(problem.train.bounds().values(), array![[0.5, 0.5, 0.5], [2.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0]]);
    }

    #[test]
    fn files_that_cannot_be_used_are_named_with_the_row() {
        let no_text = VALID.replace("\"text\"", "\"words\"");
        let no_label = TEST.replace("\"label\": 2, ", "");
        let other_class = VALID.replace("[1, -1]", "[3, -1]");
        for (train, valid, test, parts) in [
            (TRAIN, no_text.as_str(), TEST, ["valid.json", "a text in all rows"]),
            (TRAIN, VALID, no_label.as_str(), ["test.json", "a label in all rows"]),
            (TRAIN, other_class.as_str(), TEST, ["valid.json", "3 in row '1'"]),
            (&TRAIN[..40], VALID, TEST, ["train.json", "the file is cut"]),
        ] {
            let error = loaded(train, valid, test).unwrap_err().to_string();
            assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        }
    }
}
