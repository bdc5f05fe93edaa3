//! Error bounds without a single label, from agreement between labelers.
//!
//! ```text
//! p[i](c)     = P(Y = c | votes on row i), by Dawid and Skene's model
//! bound[j][c] = mean over the rows where q[j][·][c] is given of the expected |1[Y = c] − q[j][i][c]| under p[i]
//! ```
//!
//! [`Bounds::auto`] says why this works and when it fails.

use crate::label_models::label_warnings::{Majority, majority};
use crate::label_models::{DawidSkene, FittedDawidSkene, FittedLabelModel, LabelModel};
use crate::labelers::Bounds;
use crate::rows::SoftLabels;
use crate::votes::{ABSTAIN, CountedVotes, VotePatterns, Votes, WeakSignals, cast_votes};
use crate::{Error, Result, StopReason};

/// Labelers with at least this chance-corrected agreement count as one.
const SAME_ABOVE: f64 = 0.9;
/// Agreement on fewer common rows than this says nothing.
const MIN_COMMON_ROWS: f64 = 20.0;
/// The most numbers kept to compare pairs of labelers.
const MAX_PAIR_COUNTS: usize = 1 << 22;
/// The most pairs of votes looked at; with more, a regular sample of the rows stands for all.
const MAX_PAIR_VISITS: usize = 1 << 28;
/// With a smaller share of rows that have three votes, the estimate is called weak.
const MIN_TRIPLE_SHARE: f64 = 0.01;

/// Estimated bounds, and what is doubtful about them.
#[derive(Debug, Clone, PartialEq)]
pub struct AutoBounds {
    /// The estimated soft errors of each labeler and class.
    pub bounds: Bounds,
    /// The labels under which those errors are expected.
    pub labels: SoftLabels,
    /// Why the estimate may be wrong; empty when nothing was found. One sentence each.
    pub warnings: Vec<String>,
}

impl Bounds {
    /// Estimates bounds from agreement between labelers.
    ///
    /// Independent labelers agree more often than chance only through the truth, so who agrees with whom tells how
    /// often each errs. Three independent labelers are needed; the estimate gets better with more rows.
    ///
    /// **Copies.** Two labelers that copy each other agree for another reason, and would make each other look perfect.
    /// Labelers that agree almost always (Cohen's κ ≥ 0.9 on common rows, or on all rows with the abstention as an
    /// answer) are therefore merged before the fit. Independent labelers of two balanced classes reach that only if
    /// they are right on about 97 % of the rows, and then merging costs little.
    ///
    /// **When it fails.** Labelers that share mistakes without being copies still look better than they are. If most
    /// labelers are wrong more often than right, the classes are swapped. With a few dozen rows per labeler the
    /// estimate is noise. What can be seen of this is said in [`AutoBounds::warnings`].
    ///
    /// It is an error if no two labelers ever vote on the same row.
    ///
    /// ```
    /// use labelflow_weak::labelers::Bounds;
    /// use labelflow_weak::votes::{Votes, WeakSignals};
    /// use ndarray::array;
    ///
    /// // Labeler 0 never contradicts a majority, the others do once each.
    /// let votes = array![[0, 0, 0], [1, 1, 1], [0, 1, 0], [1, 1, 0], [0, 0, 0], [1, 1, 1]];
    /// let signals = WeakSignals::from_votes(Votes::from_indices(votes.view(), None)?)?;
    /// let bounds = Bounds::auto(&signals)?.bounds;
    /// assert!(bounds.values()[[0, 0]] < 0.01);
    /// assert!((bounds.values()[[1, 0]] - 1.0 / 6.0).abs() < 0.01);
    /// # Ok::<(), labelflow_weak::Error>(())
    /// ```
    pub fn auto(signals: &WeakSignals) -> Result<AutoBounds> {
        let patterns = VotePatterns::of(&signals.votes());
        estimate(signals, &patterns, |_| 1, |merged| DawidSkene::default().published().fit(merged))
    }

    /// [`auto`](Self::auto) for counted votes, equal to it up to rounding. The labels are those of the patterns.
    pub fn auto_of_counts(counted: &CountedVotes) -> Result<AutoBounds> {
        let counts = counted.counts();
        let model = DawidSkene::default().published();
        let fit = |merged: &WeakSignals| model.fit_counts(&CountedVotes::new(merged, &counts)?);
        estimate(&counted.signals(), &counted.patterns, |row| counts[row] as usize, fit)
    }
}

/// The bounds of signals of which each row stands for as many as `count` says.
fn estimate(
    signals: &WeakSignals,
    patterns: &VotePatterns,
    count: impl Fn(usize) -> usize + Sync,
    fit: impl Fn(&WeakSignals) -> Result<FittedDawidSkene>,
) -> Result<AutoBounds> {
    let votes = signals.votes();
    let mut warnings = Vec::new();
    let groups = Groups::find(patterns, signals, &mut warnings);
    let overlaps = Overlaps::count(&votes, &groups, &count);
    if overlaps.n_pairs == 0 {
        let expected = "rows on which two labelers vote, to estimate bounds from their agreement";
        return Err(Error::data("signals", expected, "none").with_hint("give the bounds instead"));
    }
    overlaps.warn(&groups, signals.labelers(), &mut warnings);
    let merged = WeakSignals::from_votes(merge(&votes, &groups, &overlaps)?)?;
    let fitted = fit(&merged)?;
    if fitted.stop != StopReason::Converged {
        warnings.push("the estimate of the labelers' errors did not converge".to_owned());
    }
    let labels = fitted.predict_proba(&merged)?;
    let bounds = Bounds::expected_of_counts(signals, &labels, |row| count(row) as f64);
    Ok(AutoBounds { bounds: average_for_isolated(&bounds, &groups, &overlaps)?, labels, warnings })
}

/// Which labelers count as one.
struct Groups {
    /// The group of each labeler, `[n_signals]`; groups are numbered in the order of their first members.
    of_signal: Vec<usize>,
    n_groups: usize,
}

impl Groups {
    fn find(patterns: &VotePatterns, signals: &WeakSignals, warnings: &mut Vec<String>) -> Self {
        let (n_signals, names) = (signals.n_signals(), signals.labelers());
        let mut first_like = (0..n_signals).collect::<Vec<_>>();
        if n_signals * n_signals * signals.n_classes() <= MAX_PAIR_COUNTS {
            let pairs = PairCounts::of(patterns, n_signals, signals.n_classes());
            for later in 0..n_signals {
                for earlier in (0..later).filter(|&earlier| pairs.are_same(earlier, later)) {
                    warnings.push(format!(
                        "labelers '{}' and '{}' agree almost always and count as one",
                        names[earlier], names[later]
                    ));
                    join(&mut first_like, earlier, later);
                }
            }
        } else {
            warnings.push("too many labelers to look for copies among them".to_owned());
        }
        let groups = Self::numbered(&first_like);
        if groups.n_groups > 1 || n_signals == 1 {
            return groups;
        }
        // All agree: either all are excellent or all are copies. Nothing can tell, and merging would leave nothing to
        // compare.
        warnings.push("all labelers agree almost always: if they copy each other, the bounds are too low".to_owned());
        Self::numbered(&(0..n_signals).collect::<Vec<_>>())
    }

    /// `first_like[j]` is the first labeler that counts as one with j.
    fn numbered(first_like: &[usize]) -> Self {
        let mut of_signal = Vec::with_capacity(first_like.len());
        let mut n_groups = 0;
        for (signal, &first) in first_like.iter().enumerate() {
            if first == signal {
                of_signal.push(n_groups);
                n_groups += 1;
            } else {
                of_signal.push(of_signal[first]);
            }
        }
        Self { of_signal, n_groups }
    }
}

/// Puts two labelers, and all that count as one with either, under the first of them.
fn join(first_like: &mut [usize], a: usize, b: usize) {
    let (a, b) = (first_like[a], first_like[b]);
    first_like.iter_mut().filter(|first| **first == a.max(b)).for_each(|first| *first = a.min(b));
}

/// How pairs of labelers vote together.
struct PairCounts {
    n_signals: usize,
    n_classes: usize,
    n_rows: f64,
    /// Votes of each labeler, `[n_signals, n_classes]`.
    votes: Vec<f64>,
    /// Votes of the first labeler of a pair on rows where the second votes too, `[n_signals, n_signals, n_classes]`.
    common: Vec<f64>,
    /// Rows where both vote for the same class, `[n_signals, n_signals]`.
    agree: Vec<f64>,
}

impl PairCounts {
    fn of(patterns: &VotePatterns, n_signals: usize, n_classes: usize) -> Self {
        let n_visits = patterns.len().saturating_mul(n_signals * n_signals);
        let mut counts = Self {
            n_signals,
            n_classes,
            n_rows: 0.0,
            votes: vec![0.0; n_signals * n_classes],
            common: vec![0.0; n_signals * n_signals * n_classes],
            agree: vec![0.0; n_signals * n_signals],
        };
        for (row, count) in patterns.iter().step_by(n_visits.div_ceil(MAX_PAIR_VISITS).max(1)) {
            counts.add(row, count);
        }
        counts
    }

    fn add(&mut self, row: &[u8], count: f64) {
        self.n_rows += count;
        for (a, vote) in cast_votes(row) {
            self.votes[a * self.n_classes + vote] += count;
            for (b, other) in cast_votes(row) {
                let pair = a * self.n_signals + b;
                self.common[pair * self.n_classes + vote] += count;
                if vote == other {
                    self.agree[pair] += count;
                }
            }
        }
    }

    /// Whether two labelers agree so well that they count as one.
    fn are_same(&self, a: usize, b: usize) -> bool {
        let (pair, back) = (a * self.n_signals + b, b * self.n_signals + a);
        let of = |counts: &[f64], place: usize| counts[place * self.n_classes..][..self.n_classes].to_vec();
        let agree = self.agree[pair];
        let (common_a, common_b) = (of(&self.common, pair), of(&self.common, back));
        let n_common: f64 = common_a.iter().sum();
        if n_common < MIN_COMMON_ROWS {
            return false;
        }
        // With the abstention as one more class, on all rows.
        let (mut all_a, mut all_b) = (of(&self.votes, a), of(&self.votes, b));
        let silent = |votes: &[f64]| self.n_rows - votes.iter().sum::<f64>();
        let (silent_a, silent_b) = (silent(&all_a), silent(&all_b));
        let both_silent = self.n_rows - (self.n_rows - silent_a) - (self.n_rows - silent_b) + n_common;
        all_a.push(silent_a);
        all_b.push(silent_b);
        kappa(agree, &common_a, &common_b) >= SAME_ABOVE || kappa(agree + both_silent, &all_a, &all_b) >= SAME_ABOVE
    }
}

/// Cohen's κ from the number of agreements and how often each of two labelers gives each answer; 0 where both always
/// give the same one, which is agreement that says nothing.
fn kappa(n_agree: f64, a: &[f64], b: &[f64]) -> f64 {
    let n: f64 = a.iter().sum();
    let by_chance: f64 = a.iter().zip(b).map(|(a, b)| a / n * (b / n)).sum();
    if 1.0 - by_chance < 1e-9 { 0.0 } else { (n_agree / n - by_chance) / (1.0 - by_chance) }
}

/// How the groups vote together.
struct Overlaps {
    n_covered: usize,
    /// Rows on which two groups or more vote.
    n_pairs: usize,
    /// Rows on which three groups or more vote.
    n_triples: usize,
    /// Rows on which each group votes with another one, `[n_groups]`.
    shared: Vec<usize>,
}

impl Overlaps {
    fn count(votes: &Votes, groups: &Groups, count: impl Fn(usize) -> usize) -> Self {
        let mut overlaps = Self { n_covered: 0, n_pairs: 0, n_triples: 0, shared: vec![0; groups.n_groups] };
        let mut last_row = vec![usize::MAX; groups.n_groups];
        let mut speaking = Vec::with_capacity(groups.n_groups);
        for row in 0..votes.n_rows() {
            speaking.clear();
            for (&vote, &group) in votes.row_bytes(row).iter().zip(&groups.of_signal) {
                if vote != ABSTAIN && last_row[group] != row {
                    last_row[group] = row;
                    speaking.push(group);
                }
            }
            let count = count(row);
            overlaps.n_covered += count * usize::from(!speaking.is_empty());
            overlaps.n_triples += count * usize::from(speaking.len() >= 3);
            if speaking.len() >= 2 {
                overlaps.n_pairs += count;
                speaking.iter().for_each(|&group| overlaps.shared[group] += count);
            }
        }
        overlaps
    }

    fn warn(&self, groups: &Groups, names: &[String], warnings: &mut Vec<String>) {
        let triple_share = self.n_triples as f64 / self.n_covered as f64;
        if self.n_triples == 0 {
            warnings.push(
                "no row has votes of three independent labelers: \
                 the bounds assume that any two are equally good"
                    .to_owned(),
            );
        } else if triple_share < MIN_TRIPLE_SHARE {
            warnings.push(format!(
                "only {} of {} rows have votes of three independent labelers: the bounds are weakly determined",
                self.n_triples, self.n_covered
            ));
        }
        for (name, &group) in names.iter().zip(&groups.of_signal) {
            if self.shared[group] == 0 {
                warnings.push(format!(
                    "labeler '{name}' never votes on a row with another one: it gets the mean bound of the others"
                ));
            } else if (self.shared[group] as f64) < MIN_COMMON_ROWS {
                warnings.push(format!(
                    "labeler '{name}' votes together with others on {} rows only: its bound is rough",
                    self.shared[group]
                ));
            }
        }
    }
}

/// One column for each group that votes with another one: the majority of its members, an abstention where they are
/// divided.
fn merge(votes: &Votes, groups: &Groups, overlaps: &Overlaps) -> Result<Votes> {
    let mut members = vec![Vec::new(); groups.n_groups];
    groups.of_signal.iter().enumerate().for_each(|(signal, &group)| members[group].push(signal));
    let kept: Vec<usize> = (0..groups.n_groups).filter(|&g| overlaps.shared[g] > 0).collect();
    let mut counts = vec![0; votes.n_classes()];
    let shape = (votes.n_rows(), kept.len());
    let bytes = ndarray::Array2::from_shape_fn(shape, |(row, column)| {
        let row = votes.row_bytes(row);
        match members[kept[column]][..] {
            [signal] => row[signal],
            ref several => {
                counts.fill(0);
                let votes = several.iter().map(|&signal| row[signal]).filter(|&vote| vote != ABSTAIN);
                votes.for_each(|vote| counts[usize::from(vote)] += 1);
                if let Majority::Clear(class) = majority(&counts) { class as u8 } else { ABSTAIN }
            }
        }
    });
    Votes::from_bytes(bytes, votes.n_classes())
}

/// Nothing is known of a labeler that votes alone; the best guess is that it is like the others.
fn average_for_isolated(bounds: &Bounds, groups: &Groups, overlaps: &Overlaps) -> Result<Bounds> {
    let mut values = bounds.values().to_owned();
    let is_isolated = |signal: usize| overlaps.shared[groups.of_signal[signal]] == 0;
    let (isolated, others): (Vec<usize>, Vec<usize>) = (0..values.nrows()).partition(|&signal| is_isolated(signal));
    for class in 0..values.ncols() {
        let sum: f64 = others.iter().map(|&signal| values[[signal, class]]).sum();
        for &signal in &isolated {
            values[[signal, class]] = sum / others.len() as f64;
        }
    }
    Bounds::new(values)
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};

    use super::*;
    use crate::label_models::planted::Planted;

    /// The largest difference between estimated and measured bounds.
    fn worst_error(problem: &Planted) -> (f64, Vec<String>) {
        let auto = Bounds::auto(&problem.signals).unwrap();
        let measured = Bounds::measured(&problem.signals, &problem.truth).unwrap();
        let difference = &auto.bounds.values() - &measured.values();
        (difference.iter().fold(0.0, |worst, d| d.abs().max(worst)), auto.warnings)
    }

    fn with_votes(problem: Planted, votes: Array2<u8>) -> Planted {
        let votes = Votes::from_bytes(votes, problem.truth.n_classes()).unwrap();
        Planted { signals: WeakSignals::from_votes(votes).unwrap(), truth: problem.truth }
    }

    #[test]
    fn planted_errors_of_two_classes_are_found() {
        for seed in 0..3 {
            let problem = Planted::new(10_000, 2, &[0.9, 0.8, 0.7, 0.65, 0.6], 0.5, seed);
            let (error, warnings) = worst_error(&problem);
            assert!(error < 0.05, "seed {seed}: {error}");
            assert!(warnings.is_empty(), "{warnings:?}");
        }
    }

    #[test]
    fn planted_errors_of_five_classes_are_found() {
        for seed in 0..3 {
            let problem = Planted::new(10_000, 5, &[0.85, 0.75, 0.65, 0.55, 0.5], 0.5, seed);
            let (error, warnings) = worst_error(&problem);
            assert!(error < 0.04, "seed {seed}: {error}");
            assert!(warnings.is_empty(), "{warnings:?}");
        }
    }

    #[test]
    fn counts_give_the_bounds_of_the_rows() {
        for (n_classes, seed) in [(2, 1), (3, 2)] {
            let problem = Planted::new(3000, n_classes, &[0.9, 0.8, 0.7, 0.65], 0.5, seed);
            let rows = Bounds::auto(&problem.signals).unwrap();
            let counts = Bounds::auto_of_counts(&CountedVotes::of(&problem.signals)).unwrap();
            assert_eq!(counts.warnings, rows.warnings);
            let difference = &counts.bounds.values() - &rows.bounds.values();
            assert!(difference.iter().all(|d| d.abs() < 1e-9), "{difference}");
        }
    }

    #[test]
    fn errors_of_keyword_rules_are_found() {
        let problem = Planted::keywords(10_000, &[0, 0, 0, 1, 1, 1], 0.4, 0.1, 5);
        let (error, _) = worst_error(&problem);
        assert!(error < 0.06, "{error}");
    }

    #[test]
    fn a_copy_does_not_make_a_labeler_look_better() {
        let problem = Planted::new(10_000, 2, &[0.6, 0.8, 0.75, 0.7], 0.2, 9);
        let bytes = problem.signals.to_votes().bytes().to_owned();
        // Labeler 4 repeats labeler 0 and forgets every seventh row.
        let bytes = Array2::from_shape_fn((bytes.nrows(), 5), |(row, signal)| match signal {
            4 if row % 7 == 0 => ABSTAIN,
            4 => bytes[[row, 0]],
            _ => bytes[[row, signal]],
        });
        let problem = with_votes(problem, bytes);
        let (error, warnings) = worst_error(&problem);
        assert!(error < 0.05, "{error}");
        assert_eq!(warnings, ["labelers 'labeler0' and 'labeler4' agree almost always and count as one"]);
        // Without merging, the copies outvote the better labelers.
        let fitted = DawidSkene::default().published().fit(&problem.signals).unwrap();
        let naive = Bounds::expected(&problem.signals, &fitted.predict_proba(&problem.signals).unwrap());
        assert!(naive.values()[[0, 0]] < 0.2, "{}", naive.values());
    }

    #[test]
    fn a_labeler_alone_gets_the_mean_of_the_others_and_a_warning() {
        let problem = Planted::new(9000, 2, &[0.8, 0.8, 0.8, 0.8], 0.0, 2);
        let mut bytes = problem.signals.to_votes().bytes().to_owned();
        for ((row, signal), vote) in bytes.indexed_iter_mut() {
            if (signal == 3) == (row < 6000) {
                *vote = ABSTAIN;
            }
        }
        let (error, warnings) = worst_error(&with_votes(problem, bytes));
        assert!(error < 0.04, "{error}");
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].contains("'labeler3'"), "{warnings:?}");
    }

    #[test]
    fn two_labelers_are_estimated_as_equals_with_a_warning() {
        let (error, warnings) = worst_error(&Planted::new(10_000, 2, &[0.8, 0.8], 0.0, 4));
        assert!(error < 0.05, "{error}");
        assert!(warnings[0].contains("three independent labelers"), "{warnings:?}");
    }

    #[test]
    fn three_excellent_labelers_are_not_taken_for_nothing() {
        let (error, warnings) = worst_error(&Planted::new(3000, 2, &[0.995; 3], 0.0, 4));
        assert!(error < 0.01, "{error}");
        assert!(warnings.last().unwrap().starts_with("all labelers agree"), "{warnings:?}");
    }

    #[test]
    fn one_labeler_is_an_error() {
        let signals = WeakSignals::from_class1_probabilities(array![[0.2f32], [0.7]]).unwrap();
        let error = Bounds::auto(&signals).unwrap_err();
        assert!(error.to_string().ends_with("(give the bounds instead)"), "{error}");
    }

    #[test]
    fn probabilities_are_bounded_softly() {
        // The votes are those of a planted problem, given with a confidence of 0.9.
        let problem = Planted::new(5000, 2, &[0.8, 0.7, 0.75], 0.0, 6);
        let class1 =
            Array2::from_shape_fn(
                (5000, 3),
                |(row, signal)| {
                    if problem.signals.vote(row, signal) == Some(1) { 0.9 } else { 0.1 }
                },
            );
        let soft = Planted { signals: WeakSignals::from_class1_probabilities(class1).unwrap(), truth: problem.truth };
        let (error, _) = worst_error(&soft);
        assert!(error < 0.05, "{error}");
    }
}
