//! How sure labels may be where labelers err together.
//!
//! Label models hold that labelers err independently given the class. Where they do not, because some rows are hard for all of them or because
//! they follow each other, many votes on a row say less than the model believes, and its labels are too sure. The votes show it: what they say
//! of a row varies more than independent votes would.
//!
//! ```text
//! z[j](c, a)   what a vote of labeler j for a says for class c: ln P(a | c) − ln P(a | not c), less its mean given c
//! s²[j](c)     its variance given c
//! q[i](c)      P(c | votes on row i) if votes are independent given the class
//! ρ            Σ over rows i, classes c of q[i](c) Σ over pairs of different votes of z z  /  Σ over i, c of q[i](c) (m[i] − 1) Σ over votes of s²
//! T[i]         1 + 6 max(0, ρ − 2 standard errors) (m[i] − 1), at most 10,    m[i]: votes on row i
//! p'[i](c)  ∝  p[i](c)^(1 / T[i])
//! ```
//!
//! P(a | c) is counted from the votes under the labels p themselves; a model whose p is too cautious is not taken for one whose labelers err together,
//! since q is not. With independent errors ρ is zero, and labels stay as they are. A row with one vote
//! keeps its labels, and no row gets another class.
//!
//! Why 6: a model takes part of what errors have in common for the class, so that ρ shows but some of it. On simulated
//! crowds with hard rows, with first impressions that many share and with groups of labelers that follow one of them, the probabilities were closest to
//! the truth when T grew about six times as fast as ρ alone would say.
//!
//! What does not show is not found: rows that mislead all labelers alike look like rows of another class.

use serde::{Deserialize, Serialize};

use super::class_balance::never_zero;
use super::one_class_labelers::PRIOR_ACCURACY;
use crate::Result;
use crate::label_models::SignalShape;
use crate::numerics::{RowChunks, normalize_logs, normalize_weights};
use crate::settings::check_not_negative;
use crate::votes::{VotePatterns, cast_votes};

/// What a vote more adds to the temperature, for each unit of correlation.
const PER_CORRELATION: f64 = 6.0;
/// Correlations below so many standard errors are taken for chance.
const STANDARD_ERRORS: f64 = 2.0;
/// No row gets a higher temperature.
const HIGHEST: f64 = 10.0;
/// So many votes of each labeler in each class are taken to be right as often as all of its votes.
const PRIOR_VOTES: f64 = 20.0;

/// What each further vote on a row adds to the temperature of its labels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Tempering {
    per_vote: f64,
}

impl Tempering {
    /// What the votes of a fit show under its labels: `label` is given the number and the votes of a pattern and writes the probabilities of its classes.
    pub(crate) fn learned(
        patterns: &VotePatterns,
        shape: SignalShape,
        label: impl Fn(usize, &[u8], &mut [f64]) + Sync,
    ) -> Self {
        let evidence = Evidence::of(patterns, shape, &label);
        let [products, variances, squares] = evidence.sums(patterns, shape);
        if variances <= 0.0 {
            return Self::default();
        }
        let correlation = (products - STANDARD_ERRORS * squares.sqrt()) / variances;
        Self { per_vote: PER_CORRELATION * correlation.max(0.0) }
    }

    /// Whether it leaves labels as they are. Fits of the first version were saved without, and are known by a hash of all that they say.
    pub(crate) fn is_none(&self) -> bool {
        self.per_vote == 0.0
    }

    /// Tempers the probabilities of a row with these votes.
    pub(crate) fn apply(self, votes: &[u8], p: &mut [f64]) {
        let further_votes = cast_votes(votes).count().saturating_sub(1) as f64;
        let temperature = (1.0 + self.per_vote * further_votes).min(HIGHEST);
        if temperature > 1.0 {
            p.iter_mut().for_each(|p| *p = p.powf(1.0 / temperature));
            normalize_weights(p);
        }
    }

    /// Checks what was read from a file.
    pub(crate) fn check(self) -> Result<()> {
        check_not_negative(&[("tempering", self.per_vote)])
    }
}

/// What votes say for each class.
struct Evidence {
    /// z, `[n_signals, n_classes voted for, n_classes]`; zero for labelers that vote for one class only.
    votes: Vec<f64>,
    /// s², `[n_signals, n_classes]`.
    variances: Vec<f64>,
    /// ln P(a | c), `[n_signals, n_classes voted for, n_classes]`.
    log_rates: Vec<f64>,
    /// ln P(c), `[n_classes]`.
    log_balance: Vec<f64>,
}

impl Evidence {
    fn of(patterns: &VotePatterns, shape: SignalShape, label: &(impl Fn(usize, &[u8], &mut [f64]) + Sync)) -> Self {
        let SignalShape { n_signals, n_classes } = shape;
        let n_votes = n_signals * n_classes * n_classes;
        let counts = sum_labelled(patterns, shape, n_votes + n_classes, label, |votes, count, p, sums| {
            for (signal, vote) in cast_votes(votes) {
                let of_vote = sums[(signal * n_classes + vote) * n_classes..].iter_mut();
                of_vote.zip(p).for_each(|(sum, p)| *sum += count * p);
            }
            sums[n_votes..].iter_mut().zip(p).for_each(|(sum, p)| *sum += count * p);
        });
        let (of_labelers, rows) = counts.split_at(n_votes);
        let mut balance = rows.to_vec();
        normalize_weights(&mut balance);
        let balance = never_zero(balance, patterns.n_rows());
        let mut evidence = Self {
            votes: of_labelers.to_vec(),
            variances: vec![0.0; n_signals * n_classes],
            log_rates: vec![0.0; n_votes],
            log_balance: balance.iter().map(|p| p.ln()).collect(),
        };
        let labelers = evidence.votes.chunks_exact_mut(n_classes * n_classes);
        let labelers = labelers.zip(evidence.log_rates.chunks_exact_mut(n_classes * n_classes));
        for ((votes, log_rates), variances) in labelers.zip(evidence.variances.chunks_exact_mut(n_classes)) {
            let n_classes_voted_for = votes.chunks_exact(n_classes).filter(|n| n.iter().sum::<f64>() > 0.0).count();
            if n_classes_voted_for > 1 {
                let rates = weigh(votes, variances, &balance);
                log_rates.iter_mut().zip(rates).for_each(|(log, rate)| *log = rate.ln());
            } else {
                // What a vote of such a labeler says is how often it is cast in each class.
                let places = log_rates.iter_mut().zip(votes.iter()).enumerate();
                places.for_each(|(place, (log, n))| *log = ((n + 1.0) / (rows[place % n_classes] + 1.0)).ln());
                votes.fill(0.0);
            }
        }
        evidence
    }

    /// P(c | votes).
    fn posterior(&self, votes: &[u8], p: &mut [f64]) {
        p.copy_from_slice(&self.log_balance);
        let n_classes = p.len();
        for (signal, vote) in cast_votes(votes) {
            let of_vote = &self.log_rates[(signal * n_classes + vote) * n_classes..][..n_classes];
            p.iter_mut().zip(of_vote).for_each(|(sum, log)| *sum += log);
        }
        normalize_logs(p);
    }

    /// Sums of products of different votes on a row, of what their squares would be if they went together, and of squared products.
    fn sums(&self, patterns: &VotePatterns, shape: SignalShape) -> [f64; 3] {
        let n_classes = shape.n_classes;
        let label = |_: usize, votes: &[u8], p: &mut [f64]| self.posterior(votes, p);
        let sums = sum_labelled(patterns, shape, 3, &label, |votes, count, p, sums| {
            let further_votes = cast_votes(votes).count().saturating_sub(1) as f64;
            let (mut products, mut variances) = (0.0, 0.0);
            for (class, p) in p.iter().enumerate() {
                let (mut sum, mut squares, mut variance) = (0.0, 0.0, 0.0);
                for (signal, vote) in cast_votes(votes) {
                    let z = self.votes[(signal * n_classes + vote) * n_classes + class];
                    sum += z;
                    squares += z * z;
                    variance += self.variances[signal * n_classes + class];
                }
                products += p * (sum * sum - squares);
                variances += p * variance * further_votes;
            }
            sums[0] += count * products;
            sums[1] += count * variances;
            sums[2] += count * products * products;
        });
        [sums[0], sums[1], sums[2]]
    }
}

/// Turns expected counts of one labeler's votes, `[vote, class]`, into what they say for each class, and writes the variances. Returns P(vote | class).
fn weigh(votes: &mut [f64], variances: &mut [f64], balance: &[f64]) -> Vec<f64> {
    let n_classes = balance.len();
    let right: f64 = votes.iter().step_by(n_classes + 1).sum();
    let accuracy = (right + PRIOR_VOTES * PRIOR_ACCURACY) / (votes.iter().sum::<f64>() + PRIOR_VOTES);
    let wrong = (1.0 - accuracy) / (n_classes - 1) as f64;
    let mut rates = votes.to_vec();
    for class in 0..n_classes {
        let total: f64 = votes[class..].iter().step_by(n_classes).sum();
        for vote in 0..n_classes {
            let prior = PRIOR_VOTES * if vote == class { accuracy } else { wrong };
            let place = vote * n_classes + class;
            rates[place] = (votes[place] + prior) / (total + PRIOR_VOTES);
        }
    }
    for (of_vote, votes) in rates.chunks_exact(n_classes).zip(votes.chunks_exact_mut(n_classes)) {
        let joint = |class: usize| balance[class] * of_vote[class];
        let total: f64 = (0..n_classes).map(joint).sum();
        for (class, vote) in votes.iter_mut().enumerate() {
            let of_others = (total - joint(class)).max(f64::MIN_POSITIVE) / (1.0 - balance[class]);
            *vote = (of_vote[class] / of_others).ln();
        }
    }
    for (class, variance) in variances.iter_mut().enumerate() {
        let places = || (class..rates.len()).step_by(n_classes);
        let mean: f64 = places().map(|place| rates[place] * votes[place]).sum();
        places().for_each(|place| votes[place] -= mean);
        *variance = places().map(|place| rates[place] * votes[place] * votes[place]).sum();
    }
    rates
}

/// Sums of what `add` adds for each pattern: it is given the votes, their count and the probabilities of the classes.
fn sum_labelled(
    patterns: &VotePatterns,
    shape: SignalShape,
    n_sums: usize,
    label: &(impl Fn(usize, &[u8], &mut [f64]) + Sync),
    add: impl Fn(&[u8], f64, &[f64], &mut [f64]) + Sync,
) -> Vec<f64> {
    RowChunks::new(patterns.len(), shape.n_signals, n_sums).sum(|range, sums| {
        let mut p = vec![0.0; shape.n_classes];
        for pattern in range {
            let votes = patterns.row(pattern);
            p.fill(0.0);
            label(pattern, votes, &mut p);
            normalize_weights(&mut p);
            add(votes, patterns.counts[pattern], &p, sums);
        }
    })
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;
    use ndarray::Array2;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::label_models::planted::Planted;
    use crate::label_models::{DawidSkene, FittedDawidSkene, FittedLabelModel, LabelModel};
    use crate::rows::Truth;
    use crate::votes::{ABSTAIN, Votes, WeakSignals};

    /// Twelve labelers who repeat the first impression of a row with this probability and are else right three times in four, as the impression is.
    fn with_impressions(share: f64, seed: u64) -> (WeakSignals, Truth) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let n_rows = 1500;
        let truth: Vec<usize> = (0..n_rows).map(|_| rng.random_range(0..2)).collect();
        let impressions: Vec<usize> = truth.iter().map(|&class| class ^ usize::from(rng.random_bool(0.25))).collect();
        let votes = Array2::from_shape_fn((n_rows, 12), |(row, _)| {
            if rng.random_bool(0.3) {
                ABSTAIN
            } else if rng.random_bool(share) {
                impressions[row] as u8
            } else {
                (truth[row] ^ usize::from(rng.random_bool(0.25))) as u8
            }
        });
        let signals = WeakSignals::from_votes(Votes::from_bytes(votes, 2).unwrap()).unwrap();
        (signals, Truth::new(truth, 2).unwrap())
    }

    /// Twenty labelers on rows that are harder or easier for all of them; on a hard row most are wrong.
    fn with_hard_rows(seed: u64) -> (WeakSignals, Truth) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let n_rows = 1500;
        let truth: Vec<usize> = (0..n_rows).map(|_| rng.random_range(0..2)).collect();
        let right: Vec<f64> = (0..n_rows).map(|_| rng.random_range(0.25..1.0)).collect();
        let votes = Array2::from_shape_fn((n_rows, 20), |(row, _)| match rng.random_bool(0.5) {
            true => ABSTAIN,
            false => (truth[row] ^ usize::from(!rng.random_bool(right[row]))) as u8,
        });
        let signals = WeakSignals::from_votes(Votes::from_bytes(votes, 2).unwrap()).unwrap();
        (signals, Truth::new(truth, 2).unwrap())
    }

    /// How much more probable the labels say they are than they are right.
    fn excess(tempered: bool, signals: &WeakSignals, truth: &Truth) -> f64 {
        let model = DawidSkene { tempered, ..DawidSkene::default() };
        let labels = model.fit(signals).unwrap().predict_proba(signals).unwrap();
        let sure: f64 = labels.values().rows().into_iter().map(|p| p.fold(0.0, |most: f64, &p| most.max(p))).sum();
        sure / labels.n_rows() as f64 - truth.accuracy(&labels.argmax())
    }

    #[test]
    fn labels_of_independent_labelers_stay_as_they_are() {
        for seed in 0..5 {
            let problem = Planted::unequal(2000, &[0.65, 0.35], seed);
            let labels = |tempered| {
                let model = DawidSkene { tempered, ..DawidSkene::default() };
                model.fit(&problem.signals).unwrap().predict_proba(&problem.signals).unwrap()
            };
            let change = (&labels(true).values() - &labels(false).values()).mapv(f64::abs);
            assert!(change.mean().unwrap() < 0.003, "seed {seed}: {}", change.mean().unwrap());
        }
    }

    #[test]
    fn labels_are_less_sure_where_labelers_share_first_impressions() {
        for seed in 0..3 {
            let (signals, truth) = with_impressions(0.35, seed);
            let (without, with) = (excess(false, &signals, &truth), excess(true, &signals, &truth));
            assert!(without > 0.07, "{without}");
            assert!(with.abs() < 0.6 * without, "seed {seed}: {with}, {without} before");
        }
    }

    #[test]
    fn labels_are_less_sure_where_rows_are_hard_for_all() {
        for seed in 0..3 {
            let (signals, truth) = with_hard_rows(seed);
            let (without, with) = (excess(false, &signals, &truth), excess(true, &signals, &truth));
            assert!(without > 0.1, "{without}");
            assert!(with.abs() < 0.6 * without, "seed {seed}: {with}, {without} before");
        }
    }

    #[test]
    fn further_votes_raise_the_temperature_and_change_no_class() {
        let tempering = Tempering { per_vote: 0.5 };
        let tempered = |votes: &[u8]| {
            let mut p = [0.9, 0.06, 0.04];
            tempering.apply(votes, &mut p);
            p
        };
        assert_eq!(tempered(&[0, ABSTAIN, ABSTAIN]), [0.9, 0.06, 0.04]);
        // Three votes: T = 2, a square root.
        let sum = 0.9_f64.sqrt() + 0.06_f64.sqrt() + 0.04_f64.sqrt();
        let expected = [0.9_f64.sqrt() / sum, 0.06_f64.sqrt() / sum, 0.2 / sum];
        assert_abs_diff_eq!(&tempered(&[0, 1, 2])[..], &expected[..], epsilon = 1e-12);
        // However many votes, T is at most 10.
        let odds = (0.9_f64 / 0.06).powf(0.1);
        let p = tempered(&[0; 200]);
        assert_abs_diff_eq!(p[0] / p[1], odds, epsilon = 1e-12);
        assert!(p[0] > p[1] && p[1] > p[2]);
    }

    #[test]
    fn what_votes_say_is_centered_and_measured() {
        // A labeler that is right 8 times in 10, seen so often that the prior does not count: ln 4 or −ln 4, with mean 0.6 ln 4.
        let (mut votes, mut variances) = (vec![8e9, 2e9, 2e9, 8e9], vec![0.0; 2]);
        weigh(&mut votes, &mut variances, &[0.5, 0.5]);
        let log_odds = 4.0_f64.ln();
        let expected = [0.4, -1.6, -1.6, 0.4].map(|z| z * log_odds);
        assert_abs_diff_eq!(&votes[..], &expected[..], epsilon = 1e-6);
        assert_abs_diff_eq!(&variances[..], &[0.64 * log_odds * log_odds; 2][..], epsilon = 1e-6);
    }

    #[test]
    fn fits_without_a_temperature_are_read_and_impossible_ones_are_not() {
        let fitted = DawidSkene::default().fit(&with_impressions(0.35, 0).0).unwrap();
        let mut saved = serde_json::to_value(&fitted).unwrap();
        assert_eq!(serde_json::from_value::<FittedDawidSkene>(saved.clone()).unwrap(), fitted);
        saved["tempering"] = (-1.0).into();
        let damaged: FittedDawidSkene = serde_json::from_value(saved.clone()).unwrap();
        assert!(damaged.checked_shape().unwrap_err().to_string().starts_with("tempering"));
        saved.as_object_mut().unwrap().remove("tempering");
        let old: FittedDawidSkene = serde_json::from_value(saved).unwrap();
        assert_ne!(old, fitted);
        old.checked_shape().unwrap();
    }
}
