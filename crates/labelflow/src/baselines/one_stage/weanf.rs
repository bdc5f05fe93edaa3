//! WeaNF: densities of the features of the rows on which each labeler votes, by one normalizing flow with the labeler as condition.
//!
//! ```text
//! z = x along few directions in which voters differ           max Σ over votes (row i, labeler j, class c) of ln p(z_i | j, c)
//! p(c | x) ∝ Σ_j P(j, c) p(z | j, c)                          P(j, c) the share of j's votes for c among all votes
//! ```
//!
//! A tenth of the votes is held back: training ends when their density falls, and the best flow stays.
//!
//! A row is of a class if it looks like the rows on which the class's labelers vote; the row's own votes are not asked.
//!
//! A. Stephan and B. Roth, *WeaNF: Weak Supervision with Normalizing Flows*, RepL4NLP 2022, <https://arxiv.org/abs/2204.13409>.

// Deviation: the variant without negative information (WeaNF-S). The paper has the embeddings of a language model as they are; here
// features are projected first, onto the directions along which the mean rows of voters differ most. A voter is a pair of labeler and
// class, since labelers may vote for several classes.

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use labelflow_flow::{Coupling, CouplingFlowConfig, Flow, MOMENTUM, Mode, StatisticsRecorder, absorb, n_parameters};
use labelflow_weak::linear::Scaler;
use labelflow_weak::numerics::normalize_logs;
use labelflow_weak::rows::{Features, SoftLabels};
use labelflow_weak::settings::{check_at_least_one, check_positive};
use labelflow_weak::votes::WeakSignals;
use ndarray::{Array2, ArrayView2, Axis};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::principal_axes::PrincipalAxes;
use super::scaled;
use crate::learners::{Scaling, impl_classifier, scale};
use crate::training::train::batches;
use crate::training::{Adam, flat_gradient, stream};
use crate::{Error, Result};

/// The rows that a prediction works on at once.
const BLOCK_ROWS: usize = 1024;
/// Epochs without a higher density of the votes held back, after which training ends.
const PATIENCE: usize = 5;
/// How far z may be from the training rows' mean, in deviations: beyond, a density says nothing.
const FARTHEST: f32 = 8.0;

/// Settings of WeaNF.
///
/// ```
/// use labelflow::baselines::Weanf;
/// use labelflow_data::synthetic::PlantedGaussian;
///
/// let planted = PlantedGaussian { n_rows: 50, ..PlantedGaussian::default() }.generate()?;
/// let fitted = Weanf { n_epochs: 2, ..Weanf::default() }.fit(&planted.features, &planted.signals)?;
/// assert_eq!(fitted.predict_proba(&planted.features)?.n_classes(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Weanf {
    /// Where axes, first weights and the order of votes come from. Default: 0.
    pub seed: u64,
    /// What is done to the features first. Default: standardize.
    pub scaling: Scaling,
    /// Number of directions, at least 2; no more than there are. Default: 16.
    pub n_axes: usize,
    /// Steps of the flow, each with a coupling for every direction. Default: 1.
    pub n_steps: usize,
    /// Width of its hidden layers. Default: 16.
    pub d_hidden: usize,
    /// The step size of Adam. Default: 1e-2.
    pub learning_rate: f64,
    /// The votes of one step. Default: 256.
    pub batch_size: usize,
    /// Passes over the votes, at most. Default: 60.
    pub n_epochs: usize,
}

impl Default for Weanf {
    fn default() -> Self {
        Self {
            seed: 0,
            scaling: Scaling::default(),
            n_axes: 16,
            n_steps: 1,
            d_hidden: 16,
            learning_rate: 1e-2,
            batch_size: 256,
            n_epochs: 60,
        }
    }
}

/// Labelers and classes of which there are votes, with their shares P of all votes.
#[derive(Debug, Clone, PartialEq)]
struct Voters {
    /// The class of each.
    classes: Vec<usize>,
    log_shares: Vec<f64>,
}

impl Weanf {
    /// Trains on features and votes.
    pub fn fit(&self, features: &Features, signals: &WeakSignals) -> Result<FittedWeanf> {
        self.check()?;
        let (scaler, scaled) = scaled(self.scaling, features, signals)?;
        let rows = scaled.rounded();
        let (voters, votes) = Voters::of(signals);
        let means = voters.means(rows.view(), &votes);
        let axes = PrincipalAxes::fit(rows.view(), means.view(), self.n_axes, &mut stream(self.seed, "weanf axes", 0));
        let z = axes.project(rows.view());
        let flow = self.train(z.view(), &votes, voters.classes.len())?;
        Ok(FittedWeanf {
            n_classes: signals.n_classes(),
            d_features: features.d_features(),
            feature_names: features.own_names().to_vec(),
            scaler,
            axes,
            voters,
            flow,
        })
    }

    fn check(&self) -> Result<()> {
        let counts = [("n_steps", self.n_steps), ("d_hidden", self.d_hidden), ("n_epochs", self.n_epochs)];
        check_at_least_one(&counts)?;
        for (name, value) in [("n_axes", self.n_axes), ("batch_size", self.batch_size)] {
            if value < 2 {
                return Err(Error::config(name, "at least 2", value));
            }
        }
        Ok(check_positive(&[("learning_rate", self.learning_rate)])?)
    }

    /// The flow of votes, which are rows and voters.
    fn train(&self, z: ArrayView2<'_, f32>, votes: &[(usize, usize)], n_voters: usize) -> Result<Flow<Coupling>> {
        let (d_labels, d_hidden, n_steps) = (z.ncols(), self.d_hidden, self.n_steps);
        let config =
            CouplingFlowConfig { d_features: n_voters, d_labels, d_hidden, n_steps, ..CouplingFlowConfig::default() };
        let [training, held_back] = self.split(votes);
        let device = Device::flex().autodiff();
        let mut flow = config.init(self.seed, &device);
        let mut adam = Adam::new(n_parameters(&flow), &Device::flex());
        let log_prob = |flow: &Flow<Coupling>, votes: &[(usize, usize)], mode: Mode<'_>, device: &Device| {
            let (rows, voters): (Vec<usize>, Vec<usize>) = votes.iter().copied().unzip();
            let labels = tensor(z.select(Axis(0), &rows), device);
            flow.log_prob(labels, one_hot(&voters, n_voters, device), mode).mean()
        };
        let (mut best, mut best_value, mut n_worse) = (flow.valid(), f32::NEG_INFINITY, 0);
        for epoch in 0..self.n_epochs {
            let n_batches = training.len().div_ceil(self.batch_size);
            for batch in batches(self.seed, epoch as u64, training.len(), n_batches) {
                let batch: Vec<(usize, usize)> = batch.iter().map(|&vote| training[vote as usize]).collect();
                let recorder = StatisticsRecorder::default();
                let loss = -log_prob(&flow, &batch, Mode::Train(&recorder), &device);
                let value = loss.clone().into_scalar::<f32>();
                if !value.is_finite() {
                    return Err(Error::NotFinite { term: "log density".to_owned(), value: f64::from(value), epoch });
                }
                let gradient = flat_gradient(&flow, loss.backward());
                flow = absorb(adam.step(flow, gradient, self.learning_rate), recorder, MOMENTUM);
            }
            let now = flow.valid();
            let value = log_prob(&now, &held_back, Mode::Predict, &Device::flex()).into_scalar::<f32>();
            n_worse += 1;
            if value > best_value {
                (best, best_value, n_worse) = (now, value, 0);
            }
            if n_worse == PATIENCE {
                break;
            }
        }
        Ok(best)
    }

    /// Votes to train on, at least two, since a batch has statistics, and votes held back.
    fn split(&self, votes: &[(usize, usize)]) -> [Vec<(usize, usize)>; 2] {
        let mut shuffled = votes.to_vec();
        shuffled.shuffle(&mut stream(self.seed, "weanf held back", 0));
        if shuffled.len() < 20 {
            return [[votes, votes].concat(), shuffled];
        }
        let training = shuffled.split_off(votes.len() / 10);
        [training, shuffled]
    }
}

impl Voters {
    /// Voters, and all votes as rows and voters.
    fn of(signals: &WeakSignals) -> (Self, Vec<(usize, usize)>) {
        let n_classes = signals.n_classes();
        let mut voter_of = vec![None; signals.n_signals() * n_classes];
        let (mut classes, mut counts, mut votes) = (Vec::new(), Vec::new(), Vec::new());
        for row in 0..signals.n_rows() {
            for signal in 0..signals.n_signals() {
                let Some(class) = signals.vote(row, signal) else { continue };
                let voter = *voter_of[signal * n_classes + class].get_or_insert_with(|| {
                    classes.push(class);
                    counts.push(0.0);
                    classes.len() - 1
                });
                counts[voter] += 1.0;
                votes.push((row, voter));
            }
        }
        let n_votes = votes.len() as f64;
        (Self { classes, log_shares: counts.iter().map(|count: &f64| (count / n_votes).ln()).collect() }, votes)
    }

    /// The mean of the rows on which each votes, minus that of all rows, times the root of its number of votes: `[n_voters, d_features]`.
    fn means(&self, rows: ArrayView2<'_, f32>, votes: &[(usize, usize)]) -> Array2<f32> {
        let of_all = rows.mean_axis(Axis(0)).expect("there are rows");
        let mut sums = Array2::zeros((self.classes.len(), rows.ncols()));
        let mut counts = vec![0.0_f32; self.classes.len()];
        for &(row, voter) in votes {
            sums.row_mut(voter).zip_mut_with(&rows.row(row), |sum, value| *sum += value);
            counts[voter] += 1.0;
        }
        for (mut sum, &count) in sums.rows_mut().into_iter().zip(&counts) {
            sum.zip_mut_with(&of_all, |sum, of_all| *sum = (*sum / count - of_all) * count.sqrt());
        }
        sums
    }
}

fn tensor(values: Array2<f32>, device: &Device) -> Tensor<2> {
    let shape = [values.nrows(), values.ncols()];
    Tensor::from_data(TensorData::new(values.into_iter().collect::<Vec<f32>>(), shape), device)
}

fn one_hot(indices: &[usize], n_columns: usize, device: &Device) -> Tensor<2> {
    let mut values = Array2::zeros((indices.len(), n_columns));
    indices.iter().enumerate().for_each(|(row, &column)| values[[row, column]] = 1.0);
    tensor(values, device)
}

/// Densities of the rows of each labeler.
#[derive(Debug, Clone)]
pub struct FittedWeanf {
    n_classes: usize,
    d_features: usize,
    feature_names: Vec<String>,
    scaler: Option<Scaler>,
    axes: PrincipalAxes,
    voters: Voters,
    flow: Flow<Coupling>,
}

impl FittedWeanf {
    /// The probability of each class for each row. A class for which nobody voted has none.
    pub fn predict_proba(&self, features: &Features) -> Result<SoftLabels> {
        let features = features.arranged(&self.feature_names, self.d_features)?;
        let rows = scale(self.scaler.as_ref(), &features)?;
        let mut labels = Array2::zeros((rows.nrows(), self.n_classes));
        let blocks = rows.axis_chunks_iter(Axis(0), BLOCK_ROWS).zip(labels.axis_chunks_iter_mut(Axis(0), BLOCK_ROWS));
        for (rows, mut labels) in blocks {
            let log_densities = self.log_densities(rows);
            for (log_densities, mut labels) in log_densities.rows().into_iter().zip(labels.rows_mut()) {
                let mut p = log_densities.to_vec();
                normalize_logs(&mut p);
                p.iter().zip(&self.voters.classes).for_each(|(p, &class)| labels[class] += p);
            }
        }
        Ok(SoftLabels::normalized(labels))
    }

    /// ln P(j, c) p(z | j, c), `[n_rows, n_voters]`.
    fn log_densities(&self, rows: ArrayView2<'_, f32>) -> Array2<f64> {
        let device = Device::flex();
        let n_voters = self.voters.classes.len();
        let z = self.axes.project(rows).mapv(|z| if z.is_nan() { 0.0 } else { z.clamp(-FARTHEST, FARTHEST) });
        let z = tensor(z, &device);
        let mut log_densities = Array2::zeros((rows.nrows(), n_voters));
        for (voter, mut column) in log_densities.columns_mut().into_iter().enumerate() {
            let condition = one_hot(&vec![voter; rows.nrows()], n_voters, &device);
            let log_prob = self.flow.log_prob(z.clone(), condition, Mode::Predict).into_data();
            let values = log_prob.iter::<f64>().map(|value| value + self.voters.log_shares[voter]);
            column.iter_mut().zip(values).for_each(|(cell, value)| *cell = value);
        }
        log_densities
    }
}

impl_classifier!(FittedWeanf, |model| model.d_features, model.n_classes);

#[cfg(test)]
mod tests {
    use labelflow_weak::votes::{ABSTAIN, Votes};
    use ndarray::array;

    use super::*;
    use crate::baselines::one_stage::testing::{Halves, check_votes_are_needed};

    fn small() -> Weanf {
        Weanf { n_axes: 4, n_steps: 1, d_hidden: 16, learning_rate: 1e-2, n_epochs: 10, ..Weanf::default() }
    }

    #[test]
    fn held_back_rows_are_classified_better_than_by_votes() {
        for n_classes in [2, 3] {
            let halves = Halves::new(n_classes);
            let fitted = small().fit(&halves.features, &halves.signals).unwrap();
            halves.check(&fitted);
            let again = small().fit(&halves.features, &halves.signals).unwrap();
            let p = |fitted: &FittedWeanf| fitted.predict_proba(&halves.features).unwrap();
            assert_eq!(p(&fitted), p(&again));
            let alone = fitted.predict_proba(&halves.features.select_rows(&[7])).unwrap();
            for (alone, together) in alone.values().iter().zip(p(&fitted).values().row(7)) {
                assert!((alone - together).abs() < 1e-5, "{alone} and {together}");
            }
        }
    }

    #[test]
    fn voters_are_labelers_with_the_classes_they_vote_for() {
        let votes = array![[1, ABSTAIN], [0, 1], [1, ABSTAIN]];
        let signals = WeakSignals::from_votes(Votes::from_bytes(votes, 3).unwrap()).unwrap();
        let (voters, votes) = Voters::of(&signals);
        assert_eq!(voters.classes, [1, 0, 1]);
        assert_eq!(votes, [(0, 0), (1, 1), (1, 2), (2, 0)]);
        assert!((voters.log_shares[0] - 0.5_f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn bad_settings_and_missing_votes_are_errors() {
        let halves = Halves::new(2);
        let bad = |change: fn(&mut Weanf)| {
            let mut settings = small();
            change(&mut settings);
            settings.fit(&halves.features, &halves.signals).unwrap_err().to_string()
        };
        assert!(bad(|weanf| weanf.n_axes = 1).starts_with("n_axes"));
        assert!(bad(|weanf| weanf.batch_size = 1).starts_with("batch_size"));
        assert!(bad(|weanf| weanf.n_epochs = 0).starts_with("n_epochs"));
        assert!(bad(|weanf| weanf.learning_rate = -1.0).starts_with("learning_rate"));
        check_votes_are_needed(|features, signals| small().fit(features, signals));
    }
}
