//! FlyingSquid: accuracies from the agreement within triplets of labelers, in closed form.
//!
//! ```text
//! votes v[j] in {−1, 0, 1} (0: abstains),  class Y in {−1, 1},  π = P(Y = 1),  errors alike in both classes
//! M[j,l] = mean of v[j] v[l] = a[j] a[l],  a[j] = mean of v[j] Y
//! a[j]   = mean (or median) over pairs {l, r} without j of √|M[j,l] M[j,r] / M[l,r]|,  0 where M[l,r] = 0
//! z = P(v[j] = 0),  ρ = P(v[j] Y = 1) = ½ (1 + a[j] − z)
//! P(v[j] = 1, Y = 1)   = ½ (π (1 − z) + ρ − P(v[j] = −1))     P(v[j] = 1, Y = −1)  = P(v[j] = 1) − P(1, 1)
//! P(v[j] = −1, Y = −1) = ρ − P(1, 1)                          P(v[j] = −1, Y = 1)  = π (1 − z) − P(1, 1)
//! P(Y | votes) ∝ ∏ over j of P(v[j], Y) / P(Y)^(m − 1)
//! ```
//!
//! Deviation: this is the published form ([`Triplets::Mean`]). Where labelers seldom vote together most of its triplets are
//! zero or noise; by default triplets are pooled, and rules of one class, whose products say nothing, are not learned
//! (`one_class_labelers.rs`).
//!
//! The square root leaves the signs open: every labeler is taken to be better than chance. Entries of a table that come
//! out negative lose their sign, and the table is scaled to one again.
//!
//! With more than two classes there is one such model for each class against the rest, and their probabilities are
//! combined. One pass over the distinct rows of votes; then m³ operations a class.
//!
//! D. Fu, M. Chen, F. Sala, S. Hooper, K. Fatahalian and C. Ré, *Fast and three-rious: speeding up weak supervision with
//! triplet methods*, 2020.

use ndarray::Array2;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::label_models::one_class_labelers::{OneClassLabeler, one_class_labelers};
use crate::label_models::tempering::Tempering;
use crate::label_models::{ClassBalance, FittedLabelModel, LabelModel, SignalShape};
use crate::numerics::{normalize_logs, normalize_weights};
use crate::rows::SoftLabels;
use crate::votes::{ABSTAIN, CountedVotes, VotePatterns, WeakSignals, cast_votes};

/// What a negative probability becomes when it is clamped.
const SMALLEST: f64 = 1e-8;

/// So many pairs of votes weigh as much as the mean of all labelers.
const PRIOR_PAIRS: f64 = 20.0;

/// How the estimates of all triplets that hold a labeler become one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Triplets {
    /// The root of a ratio of sums over all triplets, in which pairs count by how often they vote together; drawn towards the mean of
    /// all labelers as far as a labeler seldom votes with others. Votes of labelers that vote for one class only, which cannot tell, count
    /// as right 7 times in 10, or not at all.
    #[default]
    Pooled,
    /// Their mean, as published.
    Mean,
    /// Their median, which a few labelers that hardly ever vote together cannot spoil. Triplets with a pair that never
    /// votes together, or agrees no more often than it disagrees, say nothing and are left out.
    Median,
}

/// What becomes of a probability that comes out negative.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NegativeProbabilities {
    /// All are moved together until none is negative, and as much towards independence of the class as 1 vote weighs. So the labeler's votes and the
    /// class keep their frequencies.
    #[default]
    Bounded,
    /// It loses its sign, as published.
    Absolute,
    /// It becomes 1e-8.
    Clamped,
}

/// How the probabilities of each class against the rest become one distribution, with more than two classes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OneVersusRest {
    /// Each probability divided by their sum.
    #[default]
    Shares,
    /// Softmax of the probabilities, as published. The most probable class is the same, but none gets more than e / (e + k − 1), however sure its
    /// model is.
    Softmax,
}

/// FlyingSquid for labelers that are independent given the class. Probabilities are rounded to votes first. It needs three
/// labelers.
///
/// ```
/// use labelflow_weak::label_models::{FlyingSquid, LabelModel, FittedLabelModel};
/// use labelflow_weak::votes::{Votes, WeakSignals};
/// use ndarray::array;
///
/// let votes = array![[0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 1, 1], [0, 0, 0], [1, -1, 0]];
/// let signals = WeakSignals::from_votes(Votes::from_indices(votes.view(), None)?)?;
/// let labels = FlyingSquid::default().fit(&signals)?.predict_proba(&signals)?;
/// assert_eq!(labels.argmax(), [0, 1, 0, 1, 0, 1]);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FlyingSquid {
    /// How the estimates of a labeler's triplets become one. Default: pooled.
    pub triplets: Triplets,
    /// How common each class is. Default: estimated.
    pub class_balance: ClassBalance,
    /// What becomes of a probability that comes out negative. Default: it is bounded.
    pub negative_probabilities: NegativeProbabilities,
    /// How classes are combined when there are more than two. Default: shares; published: softmax.
    pub one_versus_rest: OneVersusRest,
    /// Whether labels are made less sure where the votes show that labelers err together. Default: yes; published: no.
    pub tempered: bool,
}

impl Default for FlyingSquid {
    fn default() -> Self {
        Self {
            triplets: Triplets::default(),
            class_balance: ClassBalance::default(),
            negative_probabilities: NegativeProbabilities::default(),
            one_versus_rest: OneVersusRest::default(),
            tempered: true,
        }
    }
}

impl FlyingSquid {
    /// One class, in the role of Y = 1, against the rest.
    fn fit_class(&self, moments: &Moments, class: usize, class_balance: &[f64]) -> ClassModel {
        let probability = class_balance[class];
        let products = moments.products(class);
        let pooled = matches!(self.triplets, Triplets::Pooled).then(|| Pooled::new(&products, moments));
        let correlation = |signal| match &pooled {
            Some(pooled) => pooled.correlation(signal),
            None => self.correlation(&products, signal),
        };
        let correlations: Vec<f64> = (0..moments.shape.n_signals).into_par_iter().map(correlation).collect();
        let tables = correlations.iter().enumerate().map(|(signal, &correlation)| {
            let (votes_for, votes_against) = moments.marginals(signal, class);
            match moments.only_class(signal).zip(moments.one_class[signal]).filter(|_| pooled.is_some()) {
                Some((own, labeler)) => {
                    let accuracy = labeler.accuracy(class_balance);
                    moments.held_table(own, accuracy, class, class_balance)
                }
                None => self.table(correlation, votes_for, votes_against, probability, moments.n_rows),
            }
        });
        ClassModel { tables: tables.collect(), correlations }
    }

    /// a[j] from all triplets that hold `signal`.
    fn correlation(&self, products: &Array2<f64>, signal: usize) -> f64 {
        let n_signals = products.nrows();
        let own = products.row(signal);
        let mut estimates = Vec::with_capacity((n_signals - 1) * (n_signals - 2) / 2);
        let others = || (0..n_signals).filter(|&other| other != signal);
        for left in others() {
            for right in others().skip_while(|&right| right <= left) {
                let product = products[[left, right]];
                estimates.push(if product == 0.0 { 0.0 } else { (own[left] * own[right] / product).abs().sqrt() });
            }
        }
        match self.triplets {
            Triplets::Pooled | Triplets::Mean => estimates.iter().sum::<f64>() / estimates.len() as f64,
            Triplets::Median => {
                estimates.retain(|&estimate| estimate > 0.0);
                median(&mut estimates)
            }
        }
    }

    /// P(v, Y) for votes for and against the class.
    fn table(&self, correlation: f64, votes_for: f64, votes_against: f64, probability: f64, n_rows: f64) -> VoteTable {
        let abstains = 1.0 - votes_for - votes_against;
        let mut agrees = 0.5 * (1.0 + correlation - abstains);
        let votes_on_class = probability * (1.0 - abstains);
        let mut right_for = 0.5 * (votes_on_class + agrees - votes_against);
        if self.negative_probabilities == NegativeProbabilities::Bounded {
            let most = votes_for.min(votes_on_class);
            right_for = right_for.min(most).max(votes_on_class - votes_against).max(0.0);
            let of_one_vote = 1.0 / (n_rows * (votes_for + votes_against) + 1.0);
            right_for += of_one_vote * (probability * votes_for - right_for);
            agrees = votes_against - votes_on_class + 2.0 * right_for;
        }
        let cells = [votes_for - right_for, right_for, agrees - right_for, votes_on_class - right_for];
        let cells = cells.map(|p| match self.negative_probabilities {
            NegativeProbabilities::Bounded => p.max(0.0),
            NegativeProbabilities::Absolute => p.abs(),
            NegativeProbabilities::Clamped if p < 0.0 => SMALLEST,
            NegativeProbabilities::Clamped => p,
        });
        let sum = cells.iter().fold(abstains, |sum, p| sum + p);
        // What is left of the abstentions is the same share of both classes: it cancels from the posterior.
        let [wrong_for, right_for, right_against, wrong_against] = cells.map(|p| p / sum);
        VoteTable { votes_for: [wrong_for, right_for], votes_against: [right_against, wrong_against] }
    }
}

impl LabelModel for FlyingSquid {
    type Fitted = FittedFlyingSquid;
    type Known = ();

    fn fit_counts_with(&self, counted: &CountedVotes, (): &()) -> Result<FittedFlyingSquid> {
        let shape = counted.shape();
        self.class_balance.check(shape.n_classes)?;
        shape.check_three_labelers()?;
        shape.check_triplets()?;
        counted.check_any_vote()?;
        let class_balance = self.class_balance.resolve_counts(counted)?;
        let moments = Moments::of(&counted.patterns, shape);
        let one_class = |class| self.fit_class(&moments, class, &class_balance);
        let fitted = FittedFlyingSquid {
            shape,
            models: shape.classes_against_rest().map(one_class).collect(),
            class_balance,
            one_versus_rest: self.one_versus_rest,
            tempering: Tempering::default(),
        };
        let tempering = if self.tempered { fitted.learned_tempering(&counted.patterns) } else { Tempering::default() };
        Ok(FittedFlyingSquid { tempering, ..fitted })
    }

    fn published(self) -> Self {
        Self {
            triplets: Triplets::Mean,
            negative_probabilities: NegativeProbabilities::Absolute,
            one_versus_rest: OneVersusRest::Softmax,
            tempered: false,
            ..self
        }
    }

    fn class_balance(&self) -> Option<&ClassBalance> {
        Some(&self.class_balance)
    }
}

/// A fitted FlyingSquid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedFlyingSquid {
    shape: SignalShape,
    class_balance: Vec<f64>,
    one_versus_rest: OneVersusRest,
    #[serde(default, skip_serializing_if = "Tempering::is_none")]
    tempering: Tempering,
    /// Class 1 only with two classes, every class otherwise.
    models: Vec<ClassModel>,
}

impl FittedFlyingSquid {
    /// How common each class is, `[n_classes]`.
    pub fn class_balance(&self) -> &[f64] {
        &self.class_balance
    }

    /// a: the mean of vote × class, both as ±1, an abstention as 0, for each class against the rest and each labeler,
    /// `[n_classes, n_signals]`. With two classes both rows are the same. Estimates are not bounded by one.
    pub fn correlations(&self) -> Array2<f64> {
        let shape = (self.shape.n_classes, self.shape.n_signals);
        Array2::from_shape_fn(shape, |(class, signal)| {
            self.models[class.min(self.models.len() - 1)].correlations[signal]
        })
    }

    /// How often each labeler is right about each class against the rest, where it votes, `[n_classes, n_signals]`.
    /// With two classes both rows are the same; NaN where a labeler never votes.
    pub fn accuracies(&self) -> Array2<f64> {
        let shape = (self.shape.n_classes, self.shape.n_signals);
        Array2::from_shape_fn(shape, |(class, signal)| {
            let table = &self.models[class.min(self.models.len() - 1)].tables[signal];
            let right = table.votes_for[1] + table.votes_against[0];
            right / (right + table.votes_for[0] + table.votes_against[1])
        })
    }

    /// Combines the probabilities of each class against the rest.
    fn combine(&self, probabilities: &mut [f64]) {
        match self.one_versus_rest {
            OneVersusRest::Softmax => {
                normalize_logs(probabilities);
            }
            OneVersusRest::Shares => normalize_weights(probabilities),
        }
    }

    /// What the votes of a fit show of errors that labelers have in common.
    fn learned_tempering(&self, patterns: &VotePatterns) -> Tempering {
        let label = self.labeller();
        Tempering::learned(patterns, self.shape, |_, votes, p| label(votes, p))
    }

    /// What writes the probabilities of a row's classes, up to a factor.
    fn labeller(&self) -> impl Fn(&[u8], &mut [f64]) + Sync {
        let classes = self.shape.classes_against_rest();
        let models = classes.clone().zip(&self.models);
        let log_ratios: Vec<_> = models.map(|(class, model)| model.log_ratios(self.class_balance[class])).collect();
        move |votes: &[u8], probabilities: &mut [f64]| {
            if votes.iter().all(|&vote| vote == ABSTAIN) {
                probabilities.copy_from_slice(&self.class_balance);
                return;
            }
            for (class, log_ratios) in classes.clone().zip(&log_ratios) {
                probabilities[class] = posterior(log_ratios, self.class_balance[class], class, votes);
            }
            match probabilities {
                [against, p] => *against = 1.0 - *p,
                _ => self.combine(probabilities),
            }
        }
    }

    pub(crate) fn checked_shape(&self) -> Result<SignalShape> {
        let SignalShape { n_signals, n_classes } = self.shape;
        self.tempering.check()?;
        self.shape.check_list("class_balance", self.class_balance.len(), &[n_classes])?;
        let n_models = self.shape.classes_against_rest().len();
        self.shape.check_list("models", self.models.len(), &[n_models])?;
        for model in &self.models {
            self.shape.check_list("tables", model.tables.len(), &[n_signals])?;
            self.shape.check_list("correlations", model.correlations.len(), &[n_signals])?;
        }
        Ok(self.shape)
    }
}

impl FittedLabelModel for FittedFlyingSquid {
    fn predict_proba(&self, signals: &WeakSignals) -> Result<SoftLabels> {
        let label = self.labeller();
        self.shape.label_votes(signals, |votes, probabilities| {
            label(votes, probabilities);
            self.tempering.apply(votes, probabilities);
        })
    }
}

/// The middle value; zero without any.
fn median(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { 0.5 * (values[middle - 1] + values[middle]) }
}

/// Pooled triplets of one class against the rest: correlations given that a labeler votes, c, from
///
/// ```text
/// c[j]² = Σ over pairs {l, r} without j of M[j,l] M[j,r] T[l,r]  /  Σ of T[j,l] T[j,r] M[l,r],   T: how often two vote together
/// mean² = Σ over pairs of M  /  Σ of T
/// ```
///
/// and c[j] drawn towards the mean as far as some votes with others weigh.
struct Pooled<'a> {
    products: &'a Array2<f64>,
    moments: &'a Moments,
    /// Labelers that vote for several classes.
    learning: Vec<usize>,
    mean: f64,
}

impl<'a> Pooled<'a> {
    fn new(products: &'a Array2<f64>, moments: &'a Moments) -> Self {
        let n_signals = moments.shape.n_signals;
        let learning: Vec<usize> = (0..n_signals).filter(|&signal| moments.only_class(signal).is_none()).collect();
        let mut pooled = Self { products, moments, learning, mean: 0.0 };
        let (mut agreement, mut together) = (0.0, 0.0);
        for (place, &left) in pooled.learning.iter().enumerate() {
            for &right in &pooled.learning[place + 1..] {
                agreement += products[[left, right]];
                together += pooled.together(left, right);
            }
        }
        pooled.mean = if agreement > 0.0 { (agreement / together).sqrt() } else { 0.0 };
        pooled
    }

    /// T
    fn together(&self, left: usize, right: usize) -> f64 {
        self.moments.together[[left.min(right), left.max(right)]]
    }

    /// a[j]
    fn correlation(&self, signal: usize) -> f64 {
        let own: Vec<(usize, f64, f64)> = self
            .learning
            .iter()
            .filter(|&&other| other != signal)
            .map(|&other| (other, self.products[[signal, other]], self.together(signal, other)))
            .filter(|(_, _, together)| *together > 0.0)
            .collect();
        let (mut above, mut below) = (0.0, 0.0);
        for (place, &(left, product, together)) in own.iter().enumerate() {
            for &(right, other_product, other_together) in &own[place + 1..] {
                above += product * other_product * self.together(left, right);
                below += together * other_together * self.products[[left, right]];
            }
        }
        let estimate = if above > 0.0 && below > 0.0 { (above / below).sqrt().min(1.0) } else { 0.0 };
        let estimate = if below > 0.0 { estimate } else { self.mean };
        let n_together = self.moments.n_rows * own.iter().map(|(_, _, together)| together).sum::<f64>();
        let given_vote = (n_together * estimate + PRIOR_PAIRS * self.mean) / (n_together + PRIOR_PAIRS);
        given_vote * self.moments.votes.row(signal).sum()
    }
}

/// How often labelers vote, vote for each class, and vote together, as shares of the rows.
struct Moments {
    shape: SignalShape,
    n_rows: f64,
    /// Labelers that vote for one class only, `[n_signals]`.
    one_class: Vec<Option<OneClassLabeler>>,
    /// `[n_signals, n_classes]`
    votes: Array2<f64>,
    /// The share of rows on which both vote, `[n_signals, n_signals]`; above the diagonal only.
    together: Array2<f64>,
    /// The share of rows on which both vote, one of them for this class and the other not,
    /// `[n_classes, n_signals · n_signals]`; above the diagonal only.
    apart: Array2<f64>,
}

impl Moments {
    fn of(patterns: &VotePatterns, shape: SignalShape) -> Self {
        let SignalShape { n_signals, n_classes } = shape;
        let (n_votes, n_pairs) = (n_signals * n_classes, n_signals * n_signals);
        let length = n_votes + n_pairs * (1 + n_classes);
        let mut sums = patterns.sum(length, |patterns, sums| {
            let (votes_sums, rest) = sums.split_at_mut(n_votes);
            let (together, apart) = rest.split_at_mut(n_pairs);
            let mut spoken: Vec<(usize, usize)> = Vec::with_capacity(n_signals);
            for (votes, count) in patterns {
                spoken.clear();
                spoken.extend(cast_votes(votes));
                for (index, &(left, of_left)) in spoken.iter().enumerate() {
                    votes_sums[left * n_classes + of_left] += count;
                    for &(right, of_right) in &spoken[index + 1..] {
                        let pair = left * n_signals + right;
                        together[pair] += count;
                        if of_left != of_right {
                            apart[of_left * n_pairs + pair] += count;
                            apart[of_right * n_pairs + pair] += count;
                        }
                    }
                }
            }
        });
        let n_rows = patterns.n_rows();
        sums.iter_mut().for_each(|sum| *sum /= n_rows);
        let mut take = |rows: usize, columns: usize| {
            let rest = sums.split_off(rows * columns);
            let taken = std::mem::replace(&mut sums, rest);
            Array2::from_shape_vec((rows, columns), taken).expect("as many sums as were laid out")
        };
        Self {
            shape,
            n_rows,
            one_class: one_class_labelers(patterns, shape),
            votes: take(n_signals, n_classes),
            together: take(n_signals, n_signals),
            apart: take(n_classes, n_pairs),
        }
    }

    /// M for one class against the rest, `[n_signals, n_signals]`, symmetric; the diagonal is not used.
    fn products(&self, class: usize) -> Array2<f64> {
        let n_signals = self.shape.n_signals;
        let apart = self.apart.row(class);
        Array2::from_shape_fn((n_signals, n_signals), |(left, right)| {
            let (left, right) = (left.min(right), left.max(right));
            self.together[[left, right]] - 2.0 * apart[left * n_signals + right]
        })
    }

    /// The only class that a labeler votes for, if there is one.
    fn only_class(&self, signal: usize) -> Option<usize> {
        let votes = self.votes.row(signal);
        let mut classes = (0..votes.len()).filter(|&class| votes[class] > 0.0);
        classes.next().filter(|_| classes.next().is_none())
    }

    /// The table of one class for a labeler of this accuracy that votes for class `own` only.
    fn held_table(&self, own: usize, accuracy: f64, class: usize, class_balance: &[f64]) -> VoteTable {
        let wrong = (1.0 - accuracy) / (class_balance.len() - 1) as f64;
        let joint = |vote: usize, truth: usize| class_balance[truth] * if vote == truth { accuracy } else { wrong };
        let table = |vote| {
            let others = (0..class_balance.len()).filter(|&truth| truth != class);
            [others.map(|truth| joint(vote, truth)).sum(), joint(vote, class)]
        };
        // A vote against the class is one for its own, if that is another.
        let other = if own == class { usize::from(class == 0) } else { own };
        VoteTable { votes_for: table(class), votes_against: table(other) }
    }

    /// How often a labeler votes for a class, and how often for another.
    fn marginals(&self, signal: usize, class: usize) -> (f64, f64) {
        let votes = self.votes.row(signal);
        let against = votes.iter().enumerate().filter(|(other, _)| *other != class);
        (votes[class], against.map(|(_, share)| share).sum())
    }
}

/// Joint probabilities of one labeler's vote and of Y = −1, then Y = 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct VoteTable {
    votes_for: [f64; 2],
    votes_against: [f64; 2],
}

/// One class against the rest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct ClassModel {
    tables: Vec<VoteTable>,
    correlations: Vec<f64>,
}

impl ClassModel {
    /// ln (P(v, Y) / P(Y)) of each labeler's votes against and for the class.
    fn log_ratios(&self, probability: f64) -> Vec<[[f64; 2]; 2]> {
        let logs = |joint: [f64; 2]| [(joint[0] / (1.0 - probability)).ln(), (joint[1] / probability).ln()];
        self.tables.iter().map(|table| [logs(table.votes_against), logs(table.votes_for)]).collect()
    }
}

/// P(Y = 1 | votes) for one class; one half where the tables hold the votes impossible.
fn posterior(log_ratios: &[[[f64; 2]; 2]], probability: f64, class: usize, votes: &[u8]) -> f64 {
    let mut logs = [(1.0 - probability).ln(), probability.ln()];
    for (signal, vote) in cast_votes(votes) {
        let of_vote = log_ratios[signal][usize::from(vote == class)];
        logs[0] += of_vote[0];
        logs[1] += of_vote[1];
    }
    if logs == [f64::NEG_INFINITY; 2] {
        return 0.5;
    }
    normalize_logs(&mut logs);
    logs[1]
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;
    use ndarray::array;

    use super::*;
    use crate::label_models::planted::{Planted, assert_near, signals};

    fn uniform() -> FlyingSquid {
        FlyingSquid { class_balance: ClassBalance::Uniform, ..FlyingSquid::default().published() }
    }

    #[test]
    fn an_exact_population_is_recovered() {
        for triplets in [Triplets::Mean, Triplets::Median] {
            let model = FlyingSquid { triplets, ..uniform() };
            let fitted = model.fit(&Planted::exact_population([18, 15, 12])).unwrap();
            let twice = |row: [f64; 3]| array![row, row];
            assert_near(fitted.correlations().view(), &twice([0.8, 0.5, 0.2]), 1e-12);
            assert_near(fitted.accuracies().view(), &twice([0.9, 0.75, 0.6]), 1e-12);
        }
    }

    #[test]
    fn three_labelers_of_accuracy_08_give_two_against_one_08() {
        let fitted = uniform().fit(&Planted::exact_population([16, 16, 16])).unwrap();
        for table in &fitted.models[0].tables {
            assert_abs_diff_eq!(&table.votes_for[..], &[0.1, 0.4][..], epsilon = 1e-12);
            assert_abs_diff_eq!(&table.votes_against[..], &[0.4, 0.1][..], epsilon = 1e-12);
        }
        let labels = fitted.predict_proba(&signals(array![[1, 1, 0], [-1, 0, -1]], 2)).unwrap();
        assert_near(labels.values(), &array![[0.2, 0.8], [0.8, 0.2]], 1e-12);
    }

    #[test]
    fn the_joint_table_has_its_margins() {
        // Accuracy 0.8, coverage 0.5, P(Y = 1) = 0.3: P(1, 1) = 0.3 · 0.5 · 0.8.
        let votes_for = 0.5 * (0.3 * 0.8 + 0.7 * 0.2);
        let table = uniform().table(0.5 * 0.6, votes_for, 0.5 - votes_for, 0.3, 1e3);
        assert_abs_diff_eq!(&table.votes_for[..], &[0.07, 0.12][..], epsilon = 1e-12);
        assert_abs_diff_eq!(&table.votes_against[..], &[0.28, 0.03][..], epsilon = 1e-12);
    }

    #[test]
    fn negative_probabilities_lose_their_sign_or_are_clamped() {
        // A correlation that is too large: P(1, −1) = 0.5 − 0.6 = P(−1, 1).
        let absolute = uniform().table(1.4, 0.5, 0.5, 0.5, 1e3);
        assert_abs_diff_eq!(absolute.votes_for[0], 0.1 / 1.4, epsilon = 1e-12);
        let clamping = NegativeProbabilities::Clamped;
        let model = FlyingSquid { negative_probabilities: clamping, ..uniform() };
        let clamped = model.table(1.4, 0.5, 0.5, 0.5, 1e3);
        assert_abs_diff_eq!(clamped.votes_for[0], 1e-8 / (1.2 + 2e-8), epsilon = 1e-15);
    }

    #[test]
    fn pooled_triplets_recover_a_large_population() {
        let model = FlyingSquid { class_balance: ClassBalance::Uniform, ..FlyingSquid::default() };
        let fitted = model.fit(&Planted::exact_population([18, 15, 12])).unwrap();
        // Drawn towards the mean of √(mean of a[j] a[l]) as by 20 of 8000 · 2 votes with others.
        let twice = |row: [f64; 3]| array![row, row];
        assert_near(fitted.correlations().view(), &twice([0.8, 0.5, 0.2]), 1e-3);
    }

    #[test]
    fn a_sparse_crowd_is_labelled_better_than_by_majority() {
        // Each of 60 workers answers one row in fifteen: hardly three of them ever meet.
        let labelers: Vec<(f64, f64)> = (0..60).map(|j| (1.0 / 15.0, 0.45 + 0.5 * f64::from(j % 10) / 9.0)).collect();
        let problem = Planted::one_coin(1500, &[0.25; 4], &labelers, 4);
        let accuracy = |labels: SoftLabels| problem.truth.accuracy(&labels.argmax());
        let label = |model: FlyingSquid| model.fit(&problem.signals).unwrap().predict_proba(&problem.signals).unwrap();
        let majority = crate::label_models::MajorityVote::default().fit(&problem.signals).unwrap();
        let majority = accuracy(majority.predict_proba(&problem.signals).unwrap());
        let found = accuracy(label(FlyingSquid::default()));
        assert!(found > majority, "{found}, majority {majority}");
    }

    #[test]
    fn bounded_probabilities_keep_the_margins() {
        let model = FlyingSquid::default();
        let table = model.table(1.4, 0.3, 0.5, 0.6, 99.0 / 0.8);
        let sums = [table.votes_for.iter().sum::<f64>(), table.votes_against.iter().sum::<f64>()];
        assert_abs_diff_eq!(&sums[..], &[0.3, 0.5][..], epsilon = 1e-12);
        // P(1, 1) = 0.3 at most, and a hundredth nearer to 0.6 · 0.3.
        assert_abs_diff_eq!(table.votes_for[1], 0.3 - 0.01 * 0.12, epsilon = 1e-12);
    }

    #[test]
    fn moments_are_those_of_the_definition() {
        let problem = Planted::new(300, 3, &[0.8, 0.6, 0.7, 0.5], 0.4, 2);
        let votes = problem.signals.votes();
        let moments = Moments::of(&VotePatterns::of(&votes), SignalShape::of(&problem.signals));
        for class in 0..3 {
            let sign = |row: usize, signal: usize| match votes.get(row, signal) {
                None => 0.0,
                Some(vote) if vote == class => 1.0,
                Some(_) => -1.0,
            };
            let products = moments.products(class);
            for (left, right) in [(0, 1), (2, 0), (3, 1)] {
                let sum: f64 = (0..300).map(|row| sign(row, left) * sign(row, right)).sum();
                assert_abs_diff_eq!(products[[left, right]], sum / 300.0, epsilon = 1e-12);
            }
            let n_for = (0..300).filter(|&row| sign(row, 1) > 0.0).count();
            assert_abs_diff_eq!(moments.marginals(1, class).0, n_for as f64 / 300.0);
        }
    }

    #[test]
    fn unequal_classes_are_labelled_almost_as_well_as_with_known_parameters() {
        for (balance, loss) in [(&[0.65, 0.35][..], 0.01), (&[0.5, 0.3, 0.2], 0.02)] {
            let problem = Planted::unequal(8000, balance, 7);
            let best = problem.best_accuracy(balance);
            for triplets in [Triplets::Mean, Triplets::Median] {
                let model = FlyingSquid { triplets, ..FlyingSquid::default() };
                let fitted = model.fit(&problem.signals).unwrap();
                let labels = fitted.predict_proba(&problem.signals).unwrap();
                let accuracy = problem.truth.accuracy(&labels.argmax());
                assert!(accuracy > best - loss, "{accuracy}, best {best}");
            }
        }
    }

    #[test]
    fn softmax_and_shares_agree_on_the_class() {
        let problem = Planted::new(500, 4, &[0.8, 0.7, 0.6, 0.7], 0.3, 6);
        let label = |one_versus_rest| {
            let model = FlyingSquid { one_versus_rest, ..FlyingSquid::default() };
            model.fit(&problem.signals).unwrap().predict_proba(&problem.signals).unwrap()
        };
        let (softmax, shares) = (label(OneVersusRest::Softmax), label(OneVersusRest::Shares));
        assert_eq!(softmax.argmax(), shares.argmax());
        let largest = softmax.values().iter().copied().fold(0.0, f64::max);
        assert!(largest <= 1f64.exp() / (1f64.exp() + 3.0));
    }

    #[test]
    fn rows_without_votes_get_the_class_balance() {
        for balance in [vec![0.7, 0.3], vec![0.5, 0.3, 0.2]] {
            let n_classes = balance.len();
            let votes = array![[0, 0, 1], [1, 1, 1], [0, 1, 0], [-1, -1, -1]];
            let signals = signals(votes, n_classes);
            let class_balance = ClassBalance::Given(balance.clone());
            let model = FlyingSquid { class_balance, ..FlyingSquid::default() };
            let labels = model.fit(&signals).unwrap().predict_proba(&signals).unwrap();
            assert_abs_diff_eq!(labels.values().row(3).to_vec()[..], balance[..], epsilon = 1e-12);
        }
    }

    #[test]
    fn extreme_votes_give_finite_labels() {
        let cases = [
            array![[0, 0, 0]],
            array![[1, 1, 1], [1, 1, 1]],
            array![[0, -1, -1], [-1, 1, -1], [-1, -1, 0]],
            array![[0, -1, -1], [0, 1, -1]],
            array![[0, 1, 0], [1, 0, 1]],
        ];
        for votes in cases {
            for n_classes in [2, 3] {
                let signals = signals(votes.clone(), n_classes);
                let fitted = FlyingSquid::default().fit(&signals).unwrap();
                let labels = fitted.predict_proba(&signals).unwrap();
                assert!(labels.values().iter().all(|p| p.is_finite()));
            }
        }
    }

    #[test]
    fn two_labelers_bad_balances_and_empty_votes_are_errors() {
        let error = FlyingSquid::default().fit(&signals(array![[0, 1]], 2)).unwrap_err();
        assert!(error.to_string().starts_with("signals: expected at least 3 labelers, found 2"));
        let class_balance = ClassBalance::Given(vec![0.0, 1.0]);
        let model = FlyingSquid { class_balance, ..FlyingSquid::default() };
        let error = model.fit(&signals(array![[0, 1, 1]], 2)).unwrap_err();
        assert!(error.to_string().starts_with("class_balance"), "{error}");
        let error = FlyingSquid::default().fit(&signals(array![[-1, -1, -1]], 2)).unwrap_err();
        assert!(error.to_string().contains("at least one vote"), "{error}");
    }
}
