//! What every label model must do, one function a law.

use labelflow_weak::label_models::{AnyLabelModel, FittedLabelModel, KnownOfLabelers, LabelModel, MajorityVote};
use labelflow_weak::labelers::{Bounds, LabelerErrors};
use labelflow_weak::rows::SoftLabels;
use labelflow_weak::votes::{ABSTAIN, Votes, WeakSignals};
use ndarray::{Array2, Axis};
use proptest::prelude::*;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Label models with other settings than their defaults, for which the laws must hold as well.
const VARIANTS: [&str; 15] = [
    r#"{"model": "majority-vote", "share": "winners"}"#,
    r#"{"model": "dawid-skene", "abstentions": "answer"}"#,
    r#"{"model": "dawid-skene", "abstentions": "automatic", "prior_votes": 0}"#,
    r#"{"model": "data-programming", "prior_votes": 0}"#,
    r#"{"model": "data-programming", "accuracies": "per-class"}"#,
    r#"{"model": "glad", "difficulty_spread": 0}"#,
    r#"{"model": "mace", "prior_votes": 0}"#,
    r#"{"model": "minimax-entropy", "prior_accuracy": 0}"#,
    r#"{"model": "minimax-entropy", "abstentions": "answer"}"#,
    r#"{"model": "flying-squid", "triplets": "mean", "negative_probabilities": "absolute"}"#,
    r#"{"model": "metal", "l2": 0, "rate_margin": 0.01}"#,
    r#"{"model": "data-programming", "coverage": "coupled"}"#,
    r#"{"model": "flying-squid", "triplets": "median"}"#,
    r#"{"model": "flying-squid", "one_versus_rest": "softmax", "tempered": false}"#,
    r#"{"model": "performance-guaranteed-vote", "min_size": 3}"#,
];

/// A label model that the laws must hold for.
struct Case {
    /// Its name, or its settings where they are not the defaults.
    name: String,
    model: AnyLabelModel,
}

/// Labels of the rows of the fit. A label model that needs to know how good the labelers are is told what a majority vote
/// would make of them.
fn label(model: &AnyLabelModel, signals: &WeakSignals) -> labelflow_weak::Result<SoftLabels> {
    let majority = MajorityVote::default().fit(signals)?.predict_proba(signals)?;
    let known = KnownOfLabelers {
        errors: Some(LabelerErrors::expected(signals, &majority)),
        bounds: Some(Bounds::expected(signals, &majority)),
        labels: None,
    };
    model.fit(signals, &known)?.predict_proba(signals)
}

impl Case {
    fn label(&self, signals: &WeakSignals) -> SoftLabels {
        label(&self.model, signals).expect("the signals are fit for use")
    }
}

/// Every label model of the registry, and the variants.
fn cases() -> Vec<Case> {
    let defaults = AnyLabelModel::NAMES.iter().map(|&name| Case {
        name: name.to_owned(),
        model: AnyLabelModel::from_name(name).expect("a name of the registry"),
    });
    let variants = VARIANTS.iter().map(|&settings| Case {
        name: settings.to_owned(),
        model: serde_json::from_str(settings).expect("settings of a label model"),
    });
    defaults.chain(variants).collect()
}

fn for_every_model(law: impl Fn(&str, &Case)) {
    cases().iter().for_each(|case| law(&case.name, case));
}

fn votes(bytes: Array2<u8>, n_classes: usize) -> WeakSignals {
    let votes = Votes::from_bytes(bytes, n_classes).expect("votes are in range");
    WeakSignals::from_votes(votes).expect("there are rows and labelers")
}

/// Label models may refuse to compare more labelers, or labelers times classes, with each other.
const MOST_COMPARED: usize = 2048;
const N_CLASSES: usize = 3;
const N_SIGNALS: usize = 5;

/// Votes of five labelers of different quality about three classes; more than one chunk of rows, some without votes.
fn problem(seed: u64) -> Array2<u8> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let accuracies = [0.9, 0.8, 0.7, 0.6, 0.5];
    let n_rows = 3000;
    let truth: Vec<usize> = (0..n_rows).map(|_| rng.random_range(0..N_CLASSES)).collect();
    Array2::from_shape_fn((n_rows, N_SIGNALS), |(row, signal)| {
        if rng.random_bool(0.4) {
            ABSTAIN
        } else if rng.random_bool(accuracies[signal]) {
            truth[row] as u8
        } else {
            ((truth[row] + rng.random_range(1..N_CLASSES)) % N_CLASSES) as u8
        }
    })
}

fn shuffled(n: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    order
}

#[track_caller]
fn assert_close(name: &str, found: &SoftLabels, expected: Array2<f64>) {
    let worst = (&found.values() - &expected).iter().fold(0.0, |worst: f64, d| d.abs().max(worst));
    assert!(worst <= 1e-9, "{name}: {worst}");
}

fn assert_distributions(name: &str, labels: &SoftLabels) {
    for (row, p) in labels.values().axis_iter(Axis(0)).enumerate() {
        assert!(p.iter().all(|p| (0.0..=1.0).contains(p)), "{name}, row {row}: {p}");
        assert!((p.sum() - 1.0).abs() < 1e-9, "{name}, row {row}: {p}");
    }
}

#[test]
fn rows_are_distributions() {
    let signals = votes(problem(0), N_CLASSES);
    for_every_model(|name, model| assert_distributions(name, &model.label(&signals)));
}

#[test]
fn permuting_rows_permutes_the_labels() {
    let bytes = problem(1);
    let order = shuffled(bytes.nrows(), 11);
    let (signals, permuted) = (votes(bytes.clone(), N_CLASSES), votes(bytes.select(Axis(0), &order), N_CLASSES));
    for_every_model(|name, model| {
        assert_close(name, &model.label(&permuted), model.label(&signals).values().select(Axis(0), &order));
    });
}

#[test]
fn permuting_labelers_changes_nothing() {
    let bytes = problem(2);
    let order = shuffled(N_SIGNALS, 12);
    let (signals, permuted) = (votes(bytes.clone(), N_CLASSES), votes(bytes.select(Axis(1), &order), N_CLASSES));
    for_every_model(|name, model| {
        assert_close(name, &model.label(&permuted), model.label(&signals).values().to_owned());
    });
}

#[test]
fn permuting_classes_permutes_the_columns() {
    let bytes = problem(3);
    let renamed = [2u8, 0, 1];
    let permuted = bytes.mapv(|vote| if vote == ABSTAIN { vote } else { renamed[usize::from(vote)] });
    let (signals, permuted) = (votes(bytes, N_CLASSES), votes(permuted, N_CLASSES));
    for_every_model(|name, model| {
        // Column c of the permuted labels is the class that was renamed to c.
        let columns = [1, 2, 0];
        assert_close(name, &model.label(&permuted), model.label(&signals).values().select(Axis(1), &columns));
    });
}

#[test]
fn tempering_changes_no_class() {
    // Labelers repeat each other: the second and third say what the first says.
    let mut bytes = problem(7);
    let first = bytes.column(0).to_owned();
    (1..3).for_each(|copy| bytes.column_mut(copy).assign(&first));
    let signals = votes(bytes, N_CLASSES);
    let mut n_changed = 0;
    for model in AnyLabelModel::NAMES.iter().filter_map(|name| AnyLabelModel::from_name(name).ok()) {
        let mut settings = serde_json::to_value(&model).expect("settings can be written");
        let Some(tempered) = settings.get_mut("tempered") else { continue };
        *tempered = false.into();
        let untempered: AnyLabelModel = serde_json::from_value(settings).expect("settings of a label model");
        let labels = |model: &AnyLabelModel| label(model, &signals).expect("the signals are fit for use");
        let (with, without) = (labels(&model), labels(&untempered));
        assert_eq!(with.argmax(), without.argmax(), "{}", model.name());
        n_changed += usize::from(with != without);
    }
    assert!(n_changed >= 5, "{n_changed}");
}

/// Thirty rules, fifteen for each class, that find a twentieth of the rows of their class and, of those for class 1, one row of class 0 in a
/// hundred. One row in ten is of class 1. Rows without a vote are left out.
fn rules_of_a_rare_class(seed: u64) -> (Array2<u8>, Vec<usize>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut bytes, mut truth) = (Vec::new(), Vec::new());
    for _ in 0..1500 {
        let class = usize::from(rng.random_bool(0.1));
        let row: Vec<u8> = (0..30)
            .map(|rule| {
                let own = rule % 2;
                let rate = if own == class { 0.05 } else { [0.02, 0.005][own] };
                if rng.random_bool(rate) { own as u8 } else { ABSTAIN }
            })
            .collect();
        if row.iter().any(|&vote| vote != ABSTAIN) {
            bytes.extend(row);
            truth.push(class);
        }
    }
    (Array2::from_shape_vec((truth.len(), 30), bytes).expect("thirty votes a row"), truth)
}

#[test]
fn a_rare_class_misleads_no_model_that_learns_from_votes() {
    for seed in 0..3 {
        let (bytes, truth) = rules_of_a_rare_class(seed);
        let signals = votes(bytes, 2);
        let accuracy = |name: &str| {
            let model = AnyLabelModel::from_name(name).expect("a name of the registry");
            let classes = label(&model, &signals).expect("the signals are fit for use").argmax();
            let n_right = classes.iter().zip(&truth).filter(|(found, class)| found == class).count();
            n_right as f64 / truth.len() as f64
        };
        let majority = accuracy("majority-vote");
        for name in ["dawid-skene", "data-programming", "flying-squid", "minimax-entropy", "metal", "snorkel"] {
            assert!(accuracy(name) > majority - 0.02, "{name}, seed {seed}: {}, {majority}", accuracy(name));
        }
    }
}

#[test]
fn unanimous_votes_give_that_label() {
    let truth: Vec<usize> = (0..60).map(|row| row * row % 7 % N_CLASSES).collect();
    let bytes = Array2::from_shape_fn(
        (60, 4),
        |(row, signal)| {
            if (row + signal) % 3 == 0 { ABSTAIN } else { truth[row] as u8 }
        },
    );
    let signals = votes(bytes, N_CLASSES);
    for_every_model(|name, model| {
        // A vote of one labeler says nothing where that one abstains: unanimous others would not be heard. The variant
        // has votes of three.
        if name != "performance-guaranteed-vote" {
            assert_eq!(model.label(&signals).argmax(), truth, "{name}");
        }
    });
}

#[test]
fn the_same_input_gives_the_same_output() {
    let signals = votes(problem(4), N_CLASSES);
    for_every_model(|name, model| assert_eq!(model.label(&signals), model.label(&signals), "{name}"));
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let with_threads = |n_threads: usize, model: &Case, signals: &WeakSignals| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build();
        pool.expect("a small pool can be built").install(|| model.label(signals))
    };
    // Many labelers make many distinct rows, hence many partial sums.
    let many = Array2::from_shape_fn((3000, 20), |(row, signal)| {
        ((row * 7919 + signal * 104_729 + row * signal) % 11 % N_CLASSES) as u8
    });
    for signals in [votes(problem(5), N_CLASSES), votes(many, N_CLASSES)] {
        for_every_model(|name, model| {
            let one = with_threads(1, model, &signals);
            for n_threads in [2, 5] {
                assert_eq!(with_threads(n_threads, model, &signals), one, "{name}");
            }
        });
    }
}

#[test]
fn other_labelers_or_classes_are_an_error() {
    let fewer = votes(problem(6).select(Axis(1), &[0, 1]), N_CLASSES);
    let wider = votes(problem(6), N_CLASSES + 1);
    let signals = votes(problem(6), N_CLASSES);
    let known = KnownOfLabelers {
        errors: Some(LabelerErrors::per_labeler(&[0.3; N_SIGNALS], N_CLASSES).expect("rates")),
        bounds: Some(Bounds::constant(0.2, &signals).expect("a rate")),
        labels: None,
    };
    for Case { name, model } in cases() {
        let fitted = model.fit(&signals, &known).expect("the signals are fit for use");
        assert!(fitted.predict_proba(&fewer).is_err(), "{name}");
        assert!(fitted.predict_proba(&wider).is_err(), "{name}");
    }
}

/// Labels that are distributions; or a refusal, for the number of labelers alone. Whether there were labels.
fn is_labelled_or_refused_with_reason(Case { name, model }: &Case, signals: &WeakSignals) -> bool {
    let (n_labelers, n_classes) = (signals.n_signals(), signals.n_classes());
    let error = match label(model, signals) {
        Ok(labels) => {
            assert_eq!(labels.n_rows(), signals.n_rows(), "{name}");
            assert_distributions(name, &labels);
            return true;
        }
        Err(error) => error.to_string(),
    };
    let is_reason = |text: &str| error.contains(text);
    let too_few = is_reason("at least 3 labelers") || is_reason("an odd number of labelers");
    let too_many = is_reason("at most") && n_labelers * n_classes > MOST_COMPARED;
    assert!(too_few && n_labelers < 3 || too_many, "{name}, {n_labelers} labelers: {error}");
    false
}

/// Votes that hardly ever occur: of one class, of one labeler, on one row, against each other, with one abstention or one vote.
fn extreme_votes(case: u64) -> WeakSignals {
    let mut rng = ChaCha8Rng::seed_from_u64(case);
    let n_rows = [1, 2, 3, 40][rng.random_range(0..4)];
    let n_classes = [2, 3, 10, 254][rng.random_range(0..4)];
    // Some label models compare all votes with each other, which takes long where there are many classes.
    let most = [30, 30, 8, 2][[2, 3, 10, 254].iter().position(|&n| n == n_classes).unwrap_or(0)];
    let n_signals = [1, 2, 3, 30][rng.random_range(0..4)].min(most);
    let any_class = rng.random_range(0..n_classes) as u8;
    let kind = rng.random_range(0..6);
    let mut bytes = Array2::from_shape_fn((n_rows, n_signals), |(row, signal)| match kind {
        0 => any_class,
        1 => (row % n_classes) as u8,
        2 => ((row + signal) % n_classes) as u8,
        3 | 4 => ABSTAIN,
        _ if rng.random_bool(0.5) => ABSTAIN,
        _ => rng.random_range(0..n_classes) as u8,
    });
    // Every kind has a vote; the fourth has no other.
    bytes[[rng.random_range(0..n_rows), rng.random_range(0..n_signals)]] = any_class;
    if kind == 4 {
        bytes.column_mut(0).fill(any_class);
    }
    votes(bytes, n_classes)
}

/// Every label model on all of these signals. Each must label some of them, so that none can hide behind refusals.
fn all_are_labelled_or_refused_with_reason(signals: &[WeakSignals]) {
    for case in cases() {
        let labelled = |signals: &&WeakSignals| is_labelled_or_refused_with_reason(&case, signals);
        let n_labelled = signals.iter().filter(labelled).count();
        // None may refuse three labelers or more.
        let least = signals.iter().filter(|signals| signals.n_signals() >= 3).count();
        assert!(least > 0 && n_labelled >= least, "{}: {n_labelled} of {least}", case.name);
    }
}

#[test]
fn extreme_votes_give_distributions() {
    let signals: Vec<WeakSignals> = (0..150).map(extreme_votes).collect();
    all_are_labelled_or_refused_with_reason(&signals);
}

#[test]
fn certain_probabilities_give_distributions() {
    let signals = (0..60).map(|case| {
        let mut rng = ChaCha8Rng::seed_from_u64(case);
        let shape = ([1, 2, 20][rng.random_range(0..3)], [1, 2, 8][rng.random_range(0..3)]);
        // As large and as small as a probability gets, and what is next to that.
        let values = [0.0, 1.0, f32::MIN_POSITIVE, 1e-30, 1.0 - f32::EPSILON, f32::NAN];
        let n_values = if case % 2 == 0 { 2 } else { values.len() };
        let mut class1 = Array2::from_shape_simple_fn(shape, || values[rng.random_range(0..n_values)]);
        class1[[0, 0]] = 1.0;
        WeakSignals::from_class1_probabilities(class1).expect("probabilities")
    });
    all_are_labelled_or_refused_with_reason(&signals.collect::<Vec<_>>());
}

#[test]
fn ten_thousand_labelers() {
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let bytes = Array2::from_shape_fn((20, 10_000), |(row, _)| match rng.random_range(0..10) {
        0..8 => ABSTAIN,
        8 => (row % 2) as u8,
        _ => rng.random_range(0..2) as u8,
    });
    let signals = votes(bytes, 2);
    // It solves a program for every labeler in every step: minutes, and nothing that fewer labelers would not show.
    let is_slow = |case: &Case| case.model.name() == "performance-guaranteed-vote";
    let mut labelled = Vec::new();
    for case in cases().into_iter().filter(|case| !is_slow(case)) {
        if is_labelled_or_refused_with_reason(&case, &signals) {
            labelled.push(case.model.name());
        }
    }
    // Those that compare no labelers with each other.
    for name in ["majority-vote", "average", "dawid-skene", "data-programming", "glad", "mace"] {
        assert!(labelled.contains(&name), "{name}: {labelled:?}");
    }
}

proptest! {
    #[test]
    fn any_votes_give_distributions_and_bounds(
        bytes in proptest::collection::vec(0u8..4, 4..120),
    ) {
        let n_rows = bytes.len() / 4;
        let bytes = bytes[..4 * n_rows].iter().map(|&v| if v == 3 { ABSTAIN } else { v }).collect();
        let bytes = Array2::from_shape_vec((n_rows, 4), bytes).expect("four votes per row");
        prop_assume!(bytes.iter().any(|&vote| vote != ABSTAIN));
        let signals = votes(bytes, 3);
        for_every_model(|name, model| assert_distributions(name, &model.label(&signals)));
        if let Ok(auto) = Bounds::auto(&signals) {
            prop_assert!(auto.bounds.values().iter().all(|b| (0.0..=1.0).contains(b)));
        }
    }
}
