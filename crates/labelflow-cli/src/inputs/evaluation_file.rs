//! How good a model was as training went on: `evaluation.jsonl` in its folder, one object per line.
//!
//! ```text
//! {"epoch":49,"accuracy":0.91,"ece":0.03}        classification, shares from 0 to 1
//! {"epoch":49,"rmse":12.5}                       regression, in the label's units
//! ```
//!
//! Epochs count from 0, as in `metrics.jsonl`. The file is always written whole.

use std::path::Path;

use anyhow::Context;
use serde::{Deserialize, Serialize};

/// The name of the file in a model folder.
pub(crate) const EVALUATION: &str = "evaluation.jsonl";

/// The model after one epoch, judged by true labels.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Evaluation {
    pub(crate) epoch: usize,
    #[serde(flatten)]
    pub(crate) scores: Scores,
}

/// What a model is judged by.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Scores {
    Classification { accuracy: f64, ece: f64 },
    Regression { rmse: f64 },
}

impl Scores {
    /// One of the numbers, by its name.
    pub(crate) fn get(self, name: &str) -> Option<f64> {
        match (self, name) {
            (Self::Classification { accuracy, .. }, "accuracy") => Some(accuracy),
            (Self::Classification { ece, .. }, "ece") => Some(ece),
            (Self::Regression { rmse }, "rmse") => Some(rmse),
            _ => None,
        }
    }
}

/// All lines of a file; none where there is no file.
pub(crate) fn read_evaluations(path: &Path) -> anyhow::Result<Vec<Evaluation>> {
    if let Ok(false) = path.try_exists() {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let line = |(index, line): (usize, &str)| {
        let place = || format!("{}, line {}: expected an evaluation", path.display(), index + 1);
        serde_json::from_str(line).with_context(place)
    };
    text.lines().enumerate().map(line).collect()
}

/// Replaces the file by one with these lines, whole or not at all.
pub(crate) fn write_evaluations(path: &Path, evaluations: &[Evaluation]) -> std::io::Result<()> {
    let mut lines = Vec::new();
    for evaluation in evaluations {
        serde_json::to_writer(&mut lines, evaluation)?;
        lines.push(b'\n');
    }
    labelflow_files::replace(path, &lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_lines_are_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(EVALUATION);
        assert_eq!(read_evaluations(&path).unwrap(), []);
        let evaluations = [
            Evaluation { epoch: 9, scores: Scores::Classification { accuracy: 0.9, ece: 0.1 } },
            Evaluation { epoch: 19, scores: Scores::Regression { rmse: 2.5 } },
        ];
        write_evaluations(&path, &evaluations).unwrap();
        assert_eq!(read_evaluations(&path).unwrap(), evaluations);
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "{\"epoch\":9,\"accuracy\":0.9,\"ece\":0.1}\n{\"epoch\":19,\"rmse\":2.5}\n");
        std::fs::write(&path, text + "{\"epoch\":29}\n").unwrap();
        let error = read_evaluations(&path).unwrap_err().to_string();
        assert!(error.contains("line 3"), "{error}");
    }
}
