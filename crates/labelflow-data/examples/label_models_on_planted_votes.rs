//! Every label model on planted votes, beside the best possible answer.
//!
//! ```text
//! cargo run --release --example label_models_on_planted_votes
//! ```
//!
//! Models that must be told how good labelers are, are told what the majority vote makes of them. None is told the class
//! balance.

#![allow(clippy::print_stdout)]

use std::error::Error;

use labelflow_data::synthetic::PlantedVotes;
use labelflow_weak::label_models::{AnyLabelModel, FittedLabelModel, KnownOfLabelers, LabelModel, MajorityVote};
use labelflow_weak::labelers::Bounds;
use labelflow_weak::labelers::LabelerErrors;
use labelflow_weak::rows::{SoftLabels, Truth};
use labelflow_weak::votes::ABSTAIN;
use labelflow_weak::votes::{Votes, WeakSignals};
use ndarray::{Array2, Axis, concatenate};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const N_ROWS: usize = 20_000;

/// Votes, the truth, and the labels that nobody can better.
struct Problem {
    name: &'static str,
    signals: WeakSignals,
    truth: Truth,
    best: SoftLabels,
}

fn main() -> Result<(), Box<dyn Error>> {
    let base = PlantedVotes { n_rows: N_ROWS, ..PlantedVotes::default() };
    let unbalanced =
        PlantedVotes { n_rows: 100_000, accuracy: (0.55, 0.85), balance: vec![0.65, 0.35], ..base.clone() };
    let problems = [
        independent("independent", &base)?,
        independent("65 : 35", &unbalanced)?,
        independent("low coverage", &PlantedVotes { coverage: (0.05, 0.15), ..base.clone() })?,
        independent("five classes", &PlantedVotes { n_classes: 5, ..base.clone() })?,
        correlated("three copies", &base)?,
        asymmetric("asymmetric")?,
    ];
    let names: Vec<&str> = problems.iter().map(|problem| problem.name).collect();
    println!("| accuracy % | {} |", names.join(" | "));
    println!("|---|{}", "---|".repeat(problems.len()));
    let best = problems.iter().map(|problem| problem.accuracy(&problem.best));
    print_line("best possible", best);
    for &name in AnyLabelModel::NAMES {
        let accuracies: Vec<f64> = problems.iter().map(|problem| problem.judge(name)).collect::<Result<_, _>>()?;
        print_line(name, accuracies.into_iter());
    }
    Ok(())
}

fn print_line(name: &str, accuracies: impl Iterator<Item = f64>) {
    let cells: Vec<String> = accuracies.map(|accuracy| format!("{accuracy:.1}")).collect();
    println!("| {name} | {} |", cells.join(" | "));
}

impl Problem {
    fn accuracy(&self, labels: &SoftLabels) -> f64 {
        100.0 * self.truth.accuracy(&labels.argmax())
    }

    /// The accuracy of a label model.
    fn judge(&self, name: &str) -> Result<f64, Box<dyn Error>> {
        let signals = &self.signals;
        let majority = MajorityVote::default().fit(signals)?.predict_proba(signals)?;
        let known = KnownOfLabelers {
            errors: Some(LabelerErrors::expected(signals, &majority)),
            bounds: Some(Bounds::expected(signals, &majority)),
            labels: None,
        };
        let fitted = AnyLabelModel::from_name(name)?.fit(signals, &known)?;
        Ok(self.accuracy(&fitted.predict_proba(signals)?))
    }
}

/// Labelers that err independently, each as often in every class.
fn independent(name: &'static str, planted: &PlantedVotes) -> Result<Problem, Box<dyn Error>> {
    let made = planted.generate()?;
    Ok(Problem { name, signals: made.signals, truth: made.truth, best: made.posterior })
}

/// Three more labelers say what the first one says. They add nothing, so the best answer stays.
fn correlated(name: &'static str, planted: &PlantedVotes) -> Result<Problem, Box<dyn Error>> {
    let made = planted.generate()?;
    let votes = made.signals.votes();
    let (n_rows, n_signals) = (votes.n_rows(), votes.n_signals());
    let bytes = Array2::from_shape_fn((n_rows, n_signals), |(row, signal)| votes.row_bytes(row)[signal]);
    let first = bytes.column(0).insert_axis(Axis(1));
    let all = concatenate(Axis(1), &[bytes.view(), first, first, first])?;
    let signals = WeakSignals::from_votes(Votes::from_bytes(all, 2)?)?;
    Ok(Problem { name, signals, truth: made.truth, best: made.posterior })
}

/// Labelers that are far better in one class than in the other.
fn asymmetric(name: &'static str) -> Result<Problem, Box<dyn Error>> {
    const N_SIGNALS: usize = 10;
    const COVERAGE: f64 = 0.5;
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let accuracies: Vec<[f64; 2]> = (0..N_SIGNALS)
        .map(|signal| {
            let (sharp, blunt) = (rng.random_range(0.85..0.95), rng.random_range(0.45..0.65));
            if signal % 2 == 0 { [sharp, blunt] } else { [blunt, sharp] }
        })
        .collect();
    let truth: Vec<usize> = (0..N_ROWS).map(|_| usize::from(rng.random_bool(0.5))).collect();
    let mut posterior = Array2::ones((N_ROWS, 2));
    let bytes = Array2::from_shape_fn((N_ROWS, N_SIGNALS), |(row, signal)| {
        if !rng.random_bool(COVERAGE) {
            return ABSTAIN;
        }
        let is_right = rng.random_bool(accuracies[signal][truth[row]]);
        let vote = if is_right { truth[row] } else { 1 - truth[row] };
        for class in 0..2 {
            let right = accuracies[signal][class];
            posterior[[row, class]] *= if vote == class { right } else { 1.0 - right };
        }
        vote as u8
    });
    Ok(Problem {
        name,
        signals: WeakSignals::from_votes(Votes::from_bytes(bytes, 2)?)?,
        truth: Truth::new(truth, 2)?,
        best: SoftLabels::normalized(posterior),
    })
}
