//! How often each labeler's votes are wrong.
//!
//! ```text
//! rate[j]           = share of the rows where j votes on which its vote is not the label
//! one_versus_rest[j][c] = share of those rows on which "j votes for c" and "the label is c" differ
//! ```
//!
//! A wrong vote is wrong about two classes, the one it names and the true one, so a labeler's rate is half the sum of
//! its errors about the classes. With two classes all three numbers are the same.

use ndarray::{Array2, ArrayView2};

use crate::label_models::SignalShape;
use crate::labelers::Bounds;
use crate::rows::{SoftLabels, Truth};
use crate::settings::check_labelers;
use crate::votes::WeakSignals;
use crate::{Error, Result, ensure};

/// The share of each labeler's votes that are wrong, about every class. Probabilities are rounded to votes first, so
/// these are no [`Bounds`], which measure how far a probability is off.
///
/// ```
/// use labelflow_weak::labelers::LabelerErrors;
/// use labelflow_weak::rows::Truth;
/// use labelflow_weak::votes::{Votes, WeakSignals};
/// use ndarray::array;
///
/// let votes = Votes::from_indices(array![[0, 1], [1, 1], [1, -1], [0, 0]].view(), None)?;
/// let truth = Truth::new(vec![0, 1, 0, 0], 2)?;
/// let errors = LabelerErrors::measured(&WeakSignals::from_votes(votes)?, &truth)?;
/// assert!((errors.rates()[0] - 1.0 / 4.0).abs() < 1e-12);
/// assert!((errors.rates()[1] - 1.0 / 3.0).abs() < 1e-12);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LabelerErrors(Array2<f64>);

impl LabelerErrors {
    /// The rate of each labeler, its errors spread evenly over the classes.
    pub fn per_labeler(rates: &[f64], n_classes: usize) -> Result<Self> {
        if let Some(labeler) = rates.iter().position(|rate| !(0.0..=1.0).contains(rate)) {
            let place = format!("labeler errors, labeler {labeler}");
            return Err(Error::data(place, "an error rate from 0 to 1", rates[labeler]));
        }
        ensure(n_classes >= 2, || Error::data("labeler errors", "at least two classes", n_classes))?;
        let share = 2.0 / n_classes as f64;
        Ok(Self(Array2::from_shape_fn((rates.len(), n_classes), |(labeler, _)| rates[labeler] * share)))
    }

    /// The errors measured on labelled rows, such as a simulation set. A labeler that never votes there is taken for
    /// one that guesses.
    pub fn measured(signals: &WeakSignals, truth: &Truth) -> Result<Self> {
        let votes = hard(signals);
        Ok(Self::of_bounds(&votes, &Bounds::measured(&votes, truth)?))
    }

    /// The errors expected when the labels have these probabilities.
    ///
    /// # Panics
    ///
    /// If the labels are not those of the signals' rows and classes.
    pub fn expected(signals: &WeakSignals, labels: &SoftLabels) -> Self {
        let votes = hard(signals);
        Self::of_bounds(&votes, &Bounds::expected(&votes, labels))
    }

    /// The soft error of a vote is 0 or 1, so that measured bounds of votes are shares of wrong votes.
    fn of_bounds(votes: &WeakSignals, bounds: &Bounds) -> Self {
        let mut errors = bounds.values().to_owned();
        let n_classes = votes.n_classes() as f64;
        for (labeler, mut errors) in errors.rows_mut().into_iter().enumerate() {
            if (0..votes.n_rows()).all(|row| votes.vote(row, labeler).is_none()) {
                errors.fill(2.0 * (n_classes - 1.0) / (n_classes * n_classes));
            }
        }
        Self(errors)
    }

    /// The share of wrong votes of each labeler.
    pub fn rates(&self) -> Vec<f64> {
        self.0.rows().into_iter().map(|errors| errors.sum() / 2.0).collect()
    }

    /// The share of each labeler's votes that are wrong about each class, `[n_signals, n_classes]`.
    pub fn one_versus_rest(&self) -> ArrayView2<'_, f64> {
        self.0.view()
    }

    /// Checks that there are errors for each labeler and class.
    pub(crate) fn check_shape(&self, shape: SignalShape) -> Result<()> {
        let expected = (shape.n_signals, shape.n_classes);
        check_labelers("labeler errors", self.0.dim(), expected, "the signals have")
    }
}

fn hard(signals: &WeakSignals) -> WeakSignals {
    WeakSignals::from_votes(signals.to_votes()).expect("signals have rows and labelers")
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::label_models::planted::{Planted, assert_near};
    use crate::votes::Votes;

    #[test]
    fn a_wrong_vote_is_wrong_about_two_classes() {
        let votes = Votes::from_indices(array![[0], [1], [2], [2]].view(), Some(3)).unwrap();
        let truth = Truth::new(vec![0, 1, 2, 0], 3).unwrap();
        let errors = LabelerErrors::measured(&WeakSignals::from_votes(votes).unwrap(), &truth).unwrap();
        assert_near(errors.one_versus_rest(), &array![[0.25, 0.0, 0.25]], 1e-12);
        assert_eq!(errors.rates(), [0.25]);
    }

    #[test]
    fn rates_are_shares_of_wrong_votes() {
        let problem = Planted::new(2000, 4, &[0.9, 0.4], 0.3, 5);
        let rates = LabelerErrors::measured(&problem.signals, &problem.truth).unwrap().rates();
        for (labeler, rate) in rates.into_iter().enumerate() {
            let votes: Vec<(usize, usize)> = (0..2000)
                .filter_map(|row| Some((problem.signals.vote(row, labeler)?, problem.truth.labels()[row])))
                .collect();
            let wrong = votes.iter().filter(|(vote, label)| vote != label).count();
            approx::assert_abs_diff_eq!(rate, wrong as f64 / votes.len() as f64, epsilon = 1e-12);
        }
    }

    #[test]
    fn probabilities_are_rounded() {
        let signals = WeakSignals::from_class1_probabilities(array![[0.6], [0.4], [0.9]]).unwrap();
        let truth = Truth::new(vec![1, 0, 0], 2).unwrap();
        let errors = LabelerErrors::measured(&signals, &truth).unwrap();
        approx::assert_abs_diff_eq!(errors.rates()[0], 1.0 / 3.0, epsilon = 1e-12);
    }

    #[test]
    fn silent_labelers_guess() {
        for n_classes in [2, 5] {
            let votes = Votes::from_indices(array![[0, -1], [1, -1]].view(), Some(n_classes));
            let signals = WeakSignals::from_votes(votes.unwrap()).unwrap();
            let truth = Truth::new(vec![0, 1], n_classes).unwrap();
            let rates = LabelerErrors::measured(&signals, &truth).unwrap().rates();
            assert_eq!(rates[0], 0.0);
            approx::assert_abs_diff_eq!(rates[1], 1.0 - 1.0 / n_classes as f64, epsilon = 1e-12);
        }
    }

    #[test]
    fn given_rates_come_back_and_bad_ones_are_errors() {
        let errors = LabelerErrors::per_labeler(&[0.3, 0.1], 3).unwrap();
        approx::assert_abs_diff_eq!(&errors.rates()[..], &[0.3, 0.1][..], epsilon = 1e-15);
        for rate in [-0.1, 1.1, f64::NAN] {
            let error = LabelerErrors::per_labeler(&[0.2, rate], 2).unwrap_err();
            assert!(error.to_string().starts_with("labeler errors, labeler 1"), "{error}");
        }
        assert!(LabelerErrors::per_labeler(&[0.2], 1).is_err());
    }
}
