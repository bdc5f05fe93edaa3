//! What every label model must do, one function a law.

use labelflow_weak::{
    ABSTAIN, Abstentions, AdversarialMulticlass, AverageSignals, Bounds, ConstrainedLabels,
    Coverage, DataProgramming, DawidSkene, FlyingSquid, LabelModel, Labeler, LabelerErrors,
    MajorityVote, MeTaL, MinimaxEntropy, PerformanceGuaranteedVote, Share, SnorkelLabelModel,
    SoftLabels, Triplets, Votes, WeakSignals,
};
use ndarray::{Array2, Axis};
use proptest::prelude::*;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

type FitPredict = Box<dyn Fn(&WeakSignals) -> SoftLabels + Send + Sync>;

/// Every label model, as a function from signals to labels.
fn models() -> Vec<(&'static str, FitPredict)> {
    fn boxed<M>(model: M) -> FitPredict
    where
        M: LabelModel + Send + Sync + 'static,
    {
        Box::new(move |signals| {
            let fitted = model.fit(signals).expect("the signals are fit for use");
            fitted.predict_proba(signals).expect("the signals are those of the fit")
        })
    }
    /// A method that needs to know how good the labelers are is told what a majority vote would make of them.
    fn informed<L, F>(fit: F) -> FitPredict
    where
        L: Labeler,
        F: Fn(&WeakSignals, &SoftLabels) -> labelflow_weak::Result<L> + Send + Sync + 'static,
    {
        let majority = boxed(MajorityVote::default());
        Box::new(move |signals| {
            let fitted = fit(signals, &majority(signals)).expect("the signals are fit for use");
            fitted.predict_proba(signals).expect("the signals are those of the fit")
        })
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
