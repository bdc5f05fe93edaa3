//! The same answers as published packages. `tools/golden_snorkel.py` wrote the files; their first line names the versions.

use labelflow_weak::label_models::{Abstentions, DawidSkene, FittedLabelModel, LabelModel, SnorkelLabelModel};
use labelflow_weak::linear::LogisticRegression;
use labelflow_weak::rows::SoftLabels;
use labelflow_weak::votes::{Votes, WeakSignals};
use ndarray::Array2;
use serde::Deserialize;
use serde::de::DeserializeOwned;

const TOLERANCE: f64 = 1e-5;

#[derive(Deserialize)]
struct Golden<C> {
    cases: Vec<C>,
}

fn cases<C: DeserializeOwned>(json: &str) -> Vec<C> {
    let golden: Golden<C> = serde_json::from_str(json).expect("the golden file can be read");
    assert!(golden.cases.len() >= 3);
    golden.cases
}

fn table<T: Copy>(rows: &[Vec<T>]) -> Array2<T> {
    Array2::from_shape_fn((rows.len(), rows[0].len()), |(row, column)| rows[row][column])
}

fn signals(votes: &[Vec<i64>], n_classes: usize) -> WeakSignals {
    let votes = Votes::from_indices(table(votes).view(), Some(n_classes));
    WeakSignals::from_votes(votes.expect("votes are in range")).expect("there are votes")
}

#[track_caller]
fn assert_near<'a>(name: &str, found: impl IntoIterator<Item = f64>, expected: impl IntoIterator<Item = &'a f64>) {
    let mut found = found.into_iter();
    for (place, expected) in expected.into_iter().enumerate() {
        let found = found.next().expect("as many numbers as expected");
        let message = format!("{name}, number {place}: {found}, expected {expected}");
        assert!((found - expected).abs() <= TOLERANCE, "{message}");
    }
    assert!(found.next().is_none(), "{name}: more numbers than expected");
}

#[track_caller]
fn assert_same_labels(name: &str, labels: &SoftLabels, expected: &[Vec<f64>]) {
    assert_near(name, labels.values().iter().copied(), expected.iter().flatten());
}

#[test]
fn snorkel_gives_the_same_label_model() {
    #[derive(Deserialize)]
    struct Case {
        name: String,
        n_classes: usize,
        settings: SnorkelLabelModel,
        votes: Vec<Vec<i64>>,
        /// `[n_signals, n_classes voted for, n_classes]`.
        rates: Vec<Vec<Vec<f64>>>,
        labeler_weights: Vec<f64>,
        probabilities: Vec<Vec<f64>>,
    }
    for case in cases::<Case>(include_str!("golden/snorkel_label_model.json")) {
        let signals = signals(&case.votes, case.n_classes);
        let model = SnorkelLabelModel { tempered: false, ..case.settings };
        let fitted = model.fit(&signals).expect("the settings are fit for use");
        let labels = fitted.predict_proba(&signals).expect("the signals are those of the fit");
        assert_same_labels(&case.name, &labels, &case.probabilities);
        assert_near(&case.name, fitted.labeler_weights(), &case.labeler_weights);
        let confusions = fitted.confusions();
        for (signal, rates) in case.rates.iter().enumerate() {
            for (vote, rates) in rates.iter().enumerate() {
                let found = (0..case.n_classes).map(|class| confusions[[signal, class, vote]]);
                assert_near(&case.name, found, rates);
            }
        }
    }
}

#[test]
fn crowd_kit_gives_the_same_posteriors() {
    #[derive(Deserialize)]
    struct Case {
        name: String,
        n_classes: usize,
        rounds: usize,
        votes: Vec<Vec<i64>>,
        probabilities: Vec<Vec<f64>>,
    }
    for case in cases::<Case>(include_str!("golden/dawid_skene.json")) {
        // crowd-kit knows no smoothing, an answer that is missing is not there, and its posteriors are those of the
        // last round's beginning.
        let model = DawidSkene {
            max_iterations: case.rounds - 1,
            tolerance: 0.0,
            smoothing: 0.0,
            abstentions: Abstentions::Ignored,
            ..DawidSkene::default().published()
        };
        let signals = signals(&case.votes, case.n_classes);
        let fitted = model.fit(&signals).expect("there are votes");
        let labels = fitted.predict_proba(&signals).expect("the signals are those of the fit");
        assert_same_labels(&case.name, &labels, &case.probabilities);
    }
}

#[test]
fn scikit_learn_gives_the_same_logistic_regression() {
    #[derive(Deserialize)]
    struct Case {
        name: String,
        n_classes: usize,
        features: Vec<Vec<f32>>,
        labels: Vec<usize>,
        probabilities: Vec<Vec<f64>>,
    }
    for case in cases::<Case>(include_str!("golden/logistic_regression.json")) {
        let features = table(&case.features);
        let model = LogisticRegression::default();
        let fitted = model.fit(features.view(), &case.labels, case.n_classes);
        let labels = fitted.expect("the data are fit for use").predict_proba(features.view());
        assert_same_labels(&case.name, &labels.expect("the same columns"), &case.probabilities);
    }
}
