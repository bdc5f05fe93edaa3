//! Every label model on three real sets of votes, beside majority vote, and what it warns of without knowing the truth.
//!
//! ```text
//! LABELFLOW_DATA=DIR cargo run --release --example label_models_on_crowds
//! ```
//!
//! Models that must be told how good labelers are, are told what the majority vote makes of them. True labels are used for
//! nothing but accuracies. It ends with an error if labels are more than a point worse than a majority vote and no warning
//! says that they may be.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::path::{Path, PathBuf};

use labelflow_data::catalog::{LoadOptions, load};
use labelflow_data::inputs::{TaskVotesOptions, read_task_votes, read_truth_of};
use labelflow_weak::label_models::{
    AnyLabelModel, FittedLabelModel, KnownOfLabelers, LabelModel, LabelWarning, MajorityVote, label_warnings,
};
use labelflow_weak::labelers::Bounds;
use labelflow_weak::labelers::LabelerErrors;
use labelflow_weak::rows::{SoftLabels, Truth};
use labelflow_weak::votes::WeakSignals;

/// Votes with the truth to judge by.
struct Set {
    name: &'static str,
    signals: WeakSignals,
    truth: Truth,
}

fn main() -> Result<(), Box<dyn Error>> {
    let dir = std::env::var_os("LABELFLOW_DATA")
        .map(PathBuf::from)
        .ok_or("LABELFLOW_DATA: expected the folder with the datasets, found nothing")?;
    let sms = load("sms-rules", &dir, 0, &LoadOptions::default())?;
    let sms = Set { name: "sms-rules", signals: sms.train.signals().clone(), truth: sms.train_truth };
    let sets = [sms, crowd("crowd-bluebird-duck", &dir)?, crowd("crowd-dog", &dir)?];
    println!("| set | label model | accuracy % | above majority vote | warns of |");
    println!("|---|---|---|---|---|");
    let mut silent = Vec::new();
    for set in &sets {
        silent.extend(judge(set)?);
    }
    match silent[..] {
        [] => Ok(()),
        _ => Err(format!("worse than a majority vote without a warning: {}", silent.join(", ")).into()),
    }
}

fn crowd(name: &'static str, dir: &Path) -> Result<Set, Box<dyn Error>> {
    let folder = dir.join("votes").join(name);
    let votes = read_task_votes(&folder.join("answer.csv"), &TaskVotesOptions::default())?;
    let truth = read_truth_of(&folder.join("truth.csv"), &votes.keys, votes.value.classes())?;
    Ok(Set { name, signals: votes.value, truth })
}

/// Prints a line for each label model; the names of those that are worse without saying so.
fn judge(set: &Set) -> Result<Vec<String>, Box<dyn Error>> {
    let signals = &set.signals;
    let majority = MajorityVote::default().fit(signals)?.predict_proba(signals)?;
    let known = KnownOfLabelers {
        errors: Some(LabelerErrors::expected(signals, &majority)),
        bounds: Some(Bounds::expected(signals, &majority)),
        labels: None,
    };
    let accuracy = |labels: &SoftLabels| 100.0 * set.truth.accuracy(&labels.argmax());
    let mut silent = Vec::new();
    for &name in AnyLabelModel::NAMES {
        let model = AnyLabelModel::from_name(name)?;
        let labels = model.fit(signals, &known)?.predict_proba(signals)?;
        let warnings = label_warnings(signals, &labels, Some(&model))?;
        let gain = accuracy(&labels) - accuracy(&majority);
        let kinds: Vec<String> = warnings.iter().map(kind).collect();
        println!("| {} | {name} | {:.1} | {gain:+.1} | {} |", set.name, accuracy(&labels), kinds.join(", "));
        let is_silent = !warnings.iter().any(|warning| warning.to_string().contains("majority"));
        if gain < -1.0 && is_silent {
            silent.push(format!("{name} on {}", set.name));
        }
    }
    Ok(silent)
}

fn kind(warning: &LabelWarning) -> String {
    match warning {
        LabelWarning::AgainstMajority { n_against, n_clear } => {
            format!("against majority {:.1} %", 100.0 * *n_against as f64 / *n_clear as f64)
        }
        LabelWarning::ClassWithoutRows { class, .. } => format!("nobody gets class {class}"),
        LabelWarning::SilentRows { class, .. } => format!("silent rows get {class}"),
        LabelWarning::WorseThanChance { .. } => "labelers worse than chance".to_owned(),
        LabelWarning::UniformBalance => "uniform balance".to_owned(),
        LabelWarning::FewLabelers { .. } => "few labelers".to_owned(),
        other => other.to_string(),
    }
}
