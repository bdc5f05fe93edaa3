//! What every label model must do, one function a law.

#![allow(clippy::print_stderr)]

use labelflow_weak::label_models::{
    Abstentions, AdversarialMulticlass, AverageSignals, ConstrainedLabels, Coverage,
    DataProgramming, DawidSkene, FlyingSquid, LabelModel, Labeler, MajorityVote, MeTaL,
    MinimaxEntropy, PerformanceGuaranteedVote, Share, SnorkelLabelModel, Triplets,
};
use labelflow_weak::labelers::Bounds;
use labelflow_weak::labelers::LabelerErrors;
use labelflow_weak::rows::SoftLabels;
use labelflow_weak::votes::ABSTAIN;
use labelflow_weak::votes::{Votes, WeakSignals};
use ndarray::{Array2, Axis};
use proptest::prelude::*;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

type FitPredict = Box<dyn Fn(&WeakSignals) -> SoftLabels + Send + Sync>;
type TryFitPredict = Box<dyn Fn(&WeakSignals) -> labelflow_weak::Result<SoftLabels> + Send + Sync>;

/// Every label model, as a function from signals that are fit for use to labels.
fn models() -> Vec<(&'static str, FitPredict)> {
    let sure = |model: TryFitPredict| -> FitPredict {
        Box::new(move |signals| model(signals).expect("the signals are fit for use"))
    };
    fallible_models().into_iter().map(|(name, model)| (name, sure(model))).collect()
}

/// Every label model, as a function from any signals to labels or an error.
fn fallible_models() -> Vec<(&'static str, TryFitPredict)> {
    fn boxed<M>(model: M) -> TryFitPredict
    where
        M: LabelModel + Send + Sync + 'static,
    {
        Box::new(move |signals| model.fit(signals)?.predict_proba(signals))
    }
    /// A method that needs to know how good the labelers are is told what a majority vote would make of them.
    fn informed<L, F>(fit: F) -> TryFitPredict
    where
        L: Labeler,
        F: Fn(&WeakSignals, &SoftLabels) -> labelflow_weak::Result<L> + Send + Sync + 'static,
    {
        let majority = boxed(MajorityVote::default());
        Box::new(move |signals| fit(signals, &majority(signals)?)?.predict_proba(signals))
    }
    let winners = MajorityVote { share: Share::Winners };
    let answers = DawidSkene { abstentions: Abstentions::Answer, ..DawidSkene::default() };
    let coupled = DataProgramming { coverage: Coverage::Coupled, ..DataProgramming::default() };
    let median = FlyingSquid { triplets: Triplets::Median, ..FlyingSquid::default() };
    vec![
        ("majority vote", boxed(MajorityVote::default())),
        ("majority vote, winners", boxed(winners)),
        ("average", boxed(AverageSignals)),
        ("dawid-skene", boxed(DawidSkene::default())),
        ("dawid-skene, abstentions answer", boxed(answers)),
        ("data programming", boxed(DataProgramming::default())),
        ("data programming, coupled", boxed(coupled)),
        ("flying squid", boxed(FlyingSquid::default())),
        ("flying squid, median", boxed(median)),
        ("minimax entropy", boxed(MinimaxEntropy::default())),
        // The scale of the start is drawn from the seed alone, so all laws hold for these two as well.
        ("metal", boxed(MeTaL::default())),
        ("snorkel", boxed(SnorkelLabelModel::default())),
        (
            "performance-guaranteed vote",
            informed(|signals, labels| {
                // A vote of one labeler says nothing where that one abstains: unanimous others would not be heard.
                let model = PerformanceGuaranteedVote { min_size: 3, ..Default::default() };
                model.fit(signals, &LabelerErrors::expected(signals, labels))
            }),
        ),
        (
            "adversarial",
            informed(|signals, labels| {
                let errors = LabelerErrors::expected(signals, labels);
                AdversarialMulticlass::default().fit(signals, &errors)
            }),
        ),
        (
            "constrained labels",
            informed(|signals, labels| {
                ConstrainedLabels::default().fit(signals, &Bounds::expected(signals, labels))
            }),
        ),
    ]
}

fn for_every_model(law: impl Fn(&str, &FitPredict)) {
    models().iter().for_each(|(name, model)| law(name, model));
}

fn votes(bytes: Array2<u8>, n_classes: usize) -> WeakSignals {
    let votes = Votes::from_bytes(bytes, n_classes).expect("votes are in range");
    WeakSignals::from_votes(votes).expect("there are rows and labelers")
}

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
    for_every_model(|name, model| assert_distributions(name, &model(&signals)));
}

#[test]
fn permuting_rows_permutes_the_labels() {
    let bytes = problem(1);
    let order = shuffled(bytes.nrows(), 11);
    let (signals, permuted) =
        (votes(bytes.clone(), N_CLASSES), votes(bytes.select(Axis(0), &order), N_CLASSES));
    for_every_model(|name, model| {
        assert_close(name, &model(&permuted), model(&signals).values().select(Axis(0), &order));
    });
}

#[test]
fn permuting_labelers_changes_nothing() {
    let bytes = problem(2);
    let order = shuffled(N_SIGNALS, 12);
    let (signals, permuted) =
        (votes(bytes.clone(), N_CLASSES), votes(bytes.select(Axis(1), &order), N_CLASSES));
    for_every_model(|name, model| {
        assert_close(name, &model(&permuted), model(&signals).values().to_owned());
    });
}

#[test]
fn permuting_classes_permutes_the_columns() {
    let bytes = problem(3);
    let renamed = [2u8, 0, 1];
    let permuted =
        bytes.mapv(|vote| if vote == ABSTAIN { vote } else { renamed[usize::from(vote)] });
    let (signals, permuted) = (votes(bytes, N_CLASSES), votes(permuted, N_CLASSES));
    for_every_model(|name, model| {
        // Column c of the permuted labels is the class that was renamed to c.
        let columns = [1, 2, 0];
        assert_close(name, &model(&permuted), model(&signals).values().select(Axis(1), &columns));
    });
}

#[test]
fn unanimous_votes_give_that_label() {
    let truth: Vec<usize> = (0..60).map(|row| row * row % 7 % N_CLASSES).collect();
    let bytes = Array2::from_shape_fn((60, 4), |(row, signal)| {
        if (row + signal) % 3 == 0 { ABSTAIN } else { truth[row] as u8 }
    });
    let signals = votes(bytes, N_CLASSES);
    for_every_model(|name, model| assert_eq!(model(&signals).argmax(), truth, "{name}"));
}

#[test]
fn the_same_input_gives_the_same_output() {
    let signals = votes(problem(4), N_CLASSES);
    for_every_model(|name, model| assert_eq!(model(&signals), model(&signals), "{name}"));
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let with_threads = |n_threads: usize, model: &FitPredict, signals: &WeakSignals| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build();
        pool.expect("a small pool can be built").install(|| model(signals))
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
    fn check(model: impl LabelModel) {
        check_fitted(
            model.fit(&votes(problem(6), N_CLASSES)).expect("the signals are fit for use"),
        );
    }
    fn check_fitted(fitted: impl Labeler) {
        let fewer = votes(problem(6).select(Axis(1), &[0, 1]), N_CLASSES);
        let wider = votes(problem(6), N_CLASSES + 1);
        assert!(fitted.predict_proba(&fewer).is_err());
        assert!(fitted.predict_proba(&wider).is_err());
    }
    check(MajorityVote::default());
    check(AverageSignals);
    check(DawidSkene::default());
    check(DataProgramming::default());
    check(FlyingSquid::default());
    check(MinimaxEntropy::default());
    check(MeTaL::default());
    check(SnorkelLabelModel::default());
    let signals = votes(problem(6), N_CLASSES);
    let errors = LabelerErrors::per_labeler(&[0.3; N_SIGNALS], N_CLASSES).expect("rates");
    let bounds = Bounds::constant(0.2, &signals).expect("a rate");
    check_fitted(PerformanceGuaranteedVote::default().fit(&signals, &errors).expect("a fit"));
    check_fitted(AdversarialMulticlass::default().fit(&signals, &errors).expect("a fit"));
    check_fitted(ConstrainedLabels::default().fit(&signals, &bounds).expect("a fit"));
}

/// Labels that are distributions, or an error that says something; whether there were labels.
fn distributions_or_an_error(name: &str, model: &TryFitPredict, signals: &WeakSignals) -> bool {
    match model(signals) {
        Ok(labels) => {
            assert_eq!(labels.n_rows(), signals.n_rows(), "{name}");
            assert_distributions(name, &labels);
            true
        }
        Err(error) => {
            assert!(error.to_string().contains("expected"), "{name}: {error}");
            false
        }
    }
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

#[test]
fn extreme_votes_give_distributions_or_an_error() {
    let models = fallible_models();
    let (mut n_cases, mut n_labelled) = (0, 0);
    for signals in (0..150).map(extreme_votes) {
        for (name, model) in &models {
            n_cases += 1;
            n_labelled += usize::from(distributions_or_an_error(name, model, &signals));
        }
    }
    eprintln!(
        "{n_cases} cases of {} label models: {n_labelled} labelled, the others refused",
        models.len()
    );
}

#[test]
fn certain_probabilities_give_distributions_or_an_error() {
    let models = fallible_models();
    let (mut n_cases, mut n_labelled) = (0, 0);
    for case in 0..60 {
        let mut rng = ChaCha8Rng::seed_from_u64(case);
        let shape = ([1, 2, 20][rng.random_range(0..3)], [1, 2, 8][rng.random_range(0..3)]);
        // As large and as small as a probability gets, and what is next to that.
        let values = [0.0, 1.0, f32::MIN_POSITIVE, 1e-30, 1.0 - f32::EPSILON, f32::NAN];
        let n_values = if case % 2 == 0 { 2 } else { values.len() };
        let mut class1 =
            Array2::from_shape_simple_fn(shape, || values[rng.random_range(0..n_values)]);
        class1[[0, 0]] = 1.0;
        let signals = WeakSignals::from_class1_probabilities(class1).expect("probabilities");
        for (name, model) in &models {
            n_cases += 1;
            n_labelled += usize::from(distributions_or_an_error(name, model, &signals));
        }
    }
    eprintln!(
        "{n_cases} cases of {} label models: {n_labelled} labelled, the others refused",
        models.len()
    );
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
    let is_slow = |name: &str| name == "performance-guaranteed vote";
    for (name, model) in fallible_models().into_iter().filter(|(name, _)| !is_slow(name)) {
        let start = std::time::Instant::now();
        let is_labelled = distributions_or_an_error(name, &model, &signals);
        eprintln!("{name}: labelled {is_labelled}, {:.1} s", start.elapsed().as_secs_f64());
    }
}

proptest! {
    #[test]
    fn any_votes_give_distributions_and_bounds(
        bytes in proptest::collection::vec(0u8..4, 4..120),
    ) {
        let n_rows = bytes.len() / 4;
        let bytes = bytes[..4 * n_rows].iter().map(|&v| if v == 3 { ABSTAIN } else { v }).collect();
        let bytes = Array2::from_shape_vec((n_rows, 4), bytes).expect("four votes a row");
        prop_assume!(bytes.iter().any(|&vote| vote != ABSTAIN));
        let signals = votes(bytes, 3);
        for_every_model(|name, model| assert_distributions(name, &model(&signals)));
        if let Ok(auto) = Bounds::auto(&signals) {
            prop_assert!(auto.bounds.values().iter().all(|b| (0.0..=1.0).contains(b)));
        }
    }
}
