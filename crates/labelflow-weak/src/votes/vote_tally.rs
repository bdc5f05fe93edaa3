//! What votes and their labels show, added up part by part. Rows in memory are one part.

use ndarray::Array2;

use crate::label_models::class_balance::votes_tell_balance;
use crate::label_models::label_warnings::{Comparison, doubts_of_fit, worse_than_chance};
use crate::label_models::{AnyLabelModel, LabelWarning};
use crate::labelers::LabelerSummary;
use crate::labelers::krippendorff_alpha::Agreement;
use crate::labelers::labeler_summary::{VoteCounts, true_classes};
use crate::rows::{SoftLabels, Truth};
use crate::votes::{CountedVotes, WeakSignals, cast_votes};
use crate::{Error, Result};

/// The most cells of confusion matrices that are kept.
const MOST_CELLS: usize = 1 << 22;

/// Sums over rows of votes with labels, from which labelers are described and doubts about the labels follow.
///
/// ```
/// use labelflow_weak::rows::SoftLabels;
/// use labelflow_weak::votes::{CountedVotes, VoteTally, Votes, WeakSignals};
/// use ndarray::array;
///
/// let votes = Votes::from_indices(array![[0, 1], [1, 1]].view(), None)?;
/// let signals = WeakSignals::from_votes(votes)?;
/// let mut tally = VoteTally::new(&signals);
/// tally.add(&signals, &[30, 10], &SoftLabels::new(array![[0.5, 0.5], [0.1, 0.9]])?, None)?;
/// assert_eq!((tally.n_rows(), tally.summaries()[0].conflicts), (40, 0.75));
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct VoteTally {
    labelers: Vec<String>,
    classes: Vec<String>,
    counts: VoteCounts,
    comparison: Comparison,
    /// The sum of the probabilities of the classes that each labeler voted for.
    right: Vec<f64>,
    /// The sum of the probabilities of each class.
    labelled: Vec<f64>,
    has_truth: bool,
    agreement: Agreement,
    /// Expected votes of each labeler, `[n_signals, n_classes, n_classes voted for]`; none where they would be too many.
    confusions: Vec<f64>,
}

impl VoteTally {
    /// Nothing added yet, for labelers and classes as these signals have.
    pub fn new(signals: &WeakSignals) -> Self {
        let (n_signals, n_classes) = (signals.n_signals(), signals.n_classes());
        let n_cells = n_signals * n_classes * n_classes;
        Self {
            labelers: signals.labelers().to_vec(),
            classes: signals.classes().to_vec(),
            counts: VoteCounts::new(n_signals, n_classes),
            comparison: Comparison::new(n_classes),
            right: vec![0.0; n_signals],
            labelled: vec![0.0; n_classes],
            has_truth: false,
            agreement: Agreement::new(n_classes),
            confusions: vec![0.0; if n_cells <= MOST_CELLS { n_cells } else { 0 }],
        }
    }

    /// Adds rows of votes with their labels. `counts` says how often each occurs, once each when it is empty; `truth` is
    /// the true class of each row, where it is known.
    pub fn add(
        &mut self,
        signals: &WeakSignals,
        counts: &[u64],
        labels: &SoftLabels,
        truth: Option<&Truth>,
    ) -> Result<()> {
        let n_rows = signals.n_rows();
        let shape = (n_rows, signals.n_signals(), signals.n_classes());
        let found = (labels.n_rows(), self.labelers.len(), labels.n_classes());
        if found != shape || self.classes.len() != shape.2 {
            let expected = format!("{} rows, {} labelers and {} classes", shape.0, shape.1, shape.2);
            let found = format!("{} rows, {} labelers and {} classes", found.0, found.1, found.2);
            return Err(Error::data("labels", expected, found));
        }
        if !counts.is_empty() {
            signals.check_counts(counts)?;
        }
        let truth = true_classes(signals, truth)?;
        self.has_truth |= truth.is_some();
        let votes = signals.votes();
        let values = labels.values();
        for (row, label) in labels.argmax().into_iter().enumerate() {
            let count = counts.get(row).map_or(1, |&count| count as usize);
            let (bytes, p) = (votes.row_bytes(row), values.row(row));
            self.counts.add(bytes, count, truth.map(|truth| truth[row]));
            self.comparison.add(bytes, count, label);
            self.agreement.add(bytes, count as f64);
            for (signal, class) in cast_votes(bytes) {
                self.right[signal] += count as f64 * p[class];
                let of_signal = self.confusions.chunks_exact_mut(shape.2 * shape.2).nth(signal);
                let cells = of_signal.into_iter().flat_map(|cells| cells.iter_mut().skip(class).step_by(shape.2));
                cells.zip(p).for_each(|(cell, p)| *cell += count as f64 * p);
            }
            self.labelled.iter_mut().zip(p).for_each(|(sum, p)| *sum += count as f64 * p);
        }
        Ok(())
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.counts.n_rows
    }

    /// Number of rows on which every labeler abstains.
    pub fn n_uncovered(&self) -> usize {
        self.comparison.n_uncovered()
    }

    /// What each labeler does.
    pub fn summaries(&self) -> Vec<LabelerSummary> {
        self.counts.summaries(&self.labelers, self.has_truth)
    }

    /// The share of each labeler's votes that is expected to be right by the labels; nothing without votes.
    pub fn learned_accuracies(&self) -> Vec<Option<f64>> {
        let labelers = self.right.iter().zip(self.counts.n_votes());
        labelers.map(|(right, n)| (n > 0).then(|| right / n as f64)).collect()
    }

    /// How often each labeler is expected to vote for each class on rows of each class by the labels, `[class, class voted for]`; nothing where all
    /// matrices together would have more than four million cells.
    pub fn confusions(&self) -> Option<Vec<Array2<f64>>> {
        let n_classes = self.classes.len();
        let matrix = |cells: &[f64]| {
            Array2::from_shape_vec((n_classes, n_classes), cells.to_vec()).expect("a cell for each two classes")
        };
        let is_kept = !self.confusions.is_empty();
        is_kept.then(|| self.confusions.chunks_exact(n_classes * n_classes).map(matrix).collect())
    }

    /// How far the labelers agree beyond chance, see [`krippendorff_alpha`](crate::labelers::krippendorff_alpha()).
    pub fn krippendorff_alpha(&self) -> Option<f64> {
        self.agreement.alpha()
    }

    /// The share of all votes that each class has.
    pub fn vote_shares(&self) -> Vec<f64> {
        let votes_for = self.counts.votes_for();
        let n_all = votes_for.iter().sum::<usize>().max(1) as f64;
        votes_for.into_iter().map(|n| n as f64 / n_all).collect()
    }

    /// The mean of the labels: how common each class is by them.
    pub fn label_balance(&self) -> Vec<f64> {
        let n_rows = self.n_rows().max(1) as f64;
        self.labelled.iter().map(|sum| sum / n_rows).collect()
    }

    /// What speaks against the labels. `fitted` is the label model that gave them and what it was fitted to.
    pub fn warnings(&self, fitted: Option<(&AnyLabelModel, &CountedVotes)>) -> Vec<LabelWarning> {
        let mut warnings = self.comparison.warnings(&self.classes);
        let accuracies: Vec<f64> = self.learned_accuracies().into_iter().flatten().collect();
        warnings.extend(worse_than_chance(&accuracies, self.classes.len()));
        if let Some((model, counted)) = fitted {
            let tells_balance = || votes_tell_balance(&counted.patterns, counted.shape());
            warnings.extend(doubts_of_fit(model, accuracies.len(), tells_balance));
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label_models::planted::Planted;
    use crate::label_models::{FittedLabelModel, KnownOfLabelers, label_warnings};
    use crate::labelers::{LabelerErrors, analyze, krippendorff_alpha};
    use crate::labelers::{labeler_pairs, labeler_pairs_of_counts};

    fn assert_confusions(tally: &VoteTally, labels: &SoftLabels, signals: &WeakSignals) {
        let votes = signals.votes();
        for (signal, confusion) in tally.confusions().unwrap().iter().enumerate() {
            for ((class, vote), found) in confusion.indexed_iter() {
                let rows = (0..signals.n_rows()).filter(|&row| votes.get(row, signal) == Some(vote));
                let expected: f64 = rows.map(|row| labels.values()[[row, class]]).sum();
                assert!((found - expected).abs() < 1e-9, "{found}, expected {expected}");
            }
        }
    }

    #[test]
    fn it_tells_of_counts_and_of_parts_what_is_told_of_rows() {
        let problem = Planted::unequal(700, &[0.65, 0.35], 3);
        let signals = &problem.signals;
        let model = AnyLabelModel::from_name("data-programming").unwrap();
        let fitted = model.fit(signals, &KnownOfLabelers::default()).unwrap();
        let labels = fitted.predict_proba(signals).unwrap();
        let counted = CountedVotes::of(signals);
        let of_patterns = fitted.predict_proba(&counted.signals()).unwrap();
        let patterns = counted.signals();
        let mut of_counts = VoteTally::new(&patterns);
        of_counts.add(&patterns, &counted.counts(), &of_patterns, None).unwrap();
        let mut of_parts = VoteTally::new(signals);
        for rows in (0..700).collect::<Vec<_>>().chunks(99) {
            let part = signals.select_rows(rows);
            of_parts.add(&part, &[], &fitted.predict_proba(&part).unwrap(), None).unwrap();
        }
        let rates = LabelerErrors::expected(signals, &labels).rates();
        for tally in [&of_counts, &of_parts] {
            assert_eq!(tally.n_rows(), 700);
            assert_eq!(tally.n_uncovered(), signals.n_uncovered());
            let alpha = tally.krippendorff_alpha().unwrap();
            assert!((alpha - krippendorff_alpha(signals).unwrap()).abs() < 1e-12);
            assert_confusions(tally, &labels, signals);
            assert_eq!(tally.summaries(), analyze(signals, None).unwrap());
            for (found, rate) in tally.learned_accuracies().into_iter().zip(&rates) {
                assert!((found.unwrap() - (1.0 - rate)).abs() < 1e-12);
            }
            let expected = label_warnings(signals, &labels, Some(&model)).unwrap();
            assert_eq!(tally.warnings(Some((&model, &counted))), expected);
        }
        assert_eq!(labeler_pairs_of_counts(&counted), labeler_pairs(signals));
        assert!(of_parts.add(signals, &[1], &labels, None).is_err());
        assert!(of_parts.add(signals, &[], &of_patterns, None).is_err());
    }
}
