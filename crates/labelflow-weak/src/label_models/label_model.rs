//! What every label model does: learn from votes, then turn votes into soft labels.
//!
//! ```text
//! fit: signals → counted votes → fitted label model,   predict_proba: signals → p(label | signals), [n_rows, n_classes]
//! ```

use ndarray::Array2;

use crate::Result;
use crate::label_models::{ClassBalance, Knowledge};
use crate::rows::SoftLabels;
use crate::votes::{ABSTAIN, CountedVotes, Votes, WeakSignals};

/// The settings of a label model. Fitting gives another type, so nothing can predict before it was fitted.
pub trait LabelModel {
    /// What fitting returns.
    type Fitted: FittedLabelModel;
    /// What must be known of the labelers beside their votes: nothing, `()`, for most label models;
    /// [`LabelerErrors`](crate::labelers::LabelerErrors) or [`Bounds`](crate::labelers::Bounds) for the others.
    type Known: Knowledge;

    /// Whether a fit looks at no vote at all, so that votes need not be counted for it.
    const IGNORES_VOTES: bool = false;

    /// Learns from counted votes, and from what is known of the labelers, how far each can be trusted.
    fn fit_counts_with(&self, counted: &CountedVotes, known: &Self::Known) -> Result<Self::Fitted>;

    /// Learns from the signals and from what is known of the labelers: the fit to the counted votes of the signals.
    fn fit_with(&self, signals: &WeakSignals, known: &Self::Known) -> Result<Self::Fitted> {
        let counted = match Self::IGNORES_VOTES {
            true => CountedVotes::without_rows(signals),
            false => CountedVotes::of(signals),
        };
        self.fit_counts_with(&counted, known)
    }

    /// Learns from counted votes alone.
    fn fit_counts(&self, counted: &CountedVotes) -> Result<Self::Fitted>
    where
        Self: LabelModel<Known = ()>,
    {
        self.fit_counts_with(counted, &())
    }

    /// Learns from signals alone.
    fn fit(&self, signals: &WeakSignals) -> Result<Self::Fitted>
    where
        Self: LabelModel<Known = ()>,
    {
        self.fit_with(signals, &())
    }

    /// The same with every setting as published whose default departs from the publication to keep some votes from misleading the fit.
    #[must_use]
    fn published(self) -> Self
    where
        Self: Sized,
    {
        self
    }

    /// How common the classes are by the settings, of a label model that must know it before it learns accuracies.
    fn class_balance(&self) -> Option<&ClassBalance> {
        None
    }

    /// Whether it learns from the votes alone whom to trust.
    fn learns_accuracies(&self) -> bool {
        self.class_balance().is_some()
    }

    /// The most bytes of memory that a fit takes for each distinct row of votes, beside the counted votes themselves.
    fn bytes_per_pattern(&self, n_signals: usize, _n_classes: usize) -> usize {
        // Patterns without those of no vote, patterns of some of the labelers, and sums no larger than the patterns.
        if Self::IGNORES_VOTES { 0 } else { 3 * (n_signals + 8) }
    }
}

/// A fitted label model.
pub trait FittedLabelModel {
    /// The probability of each class for each row, `[n_rows, n_classes]`.
    ///
    /// A row's answer depends on that row's signals only. The signals must come from the same labelers and speak of
    /// the same classes as those of the fit.
    fn predict_proba(&self, signals: &WeakSignals) -> Result<SoftLabels>;

    /// The most probable class of each row. Of several that are equally probable, the one that the fit holds for more common, by what a row
    /// without votes gets; and of several as common, the one that a hash of the row's votes chooses. The signals must have the labelers of the
    /// fit in its order.
    fn predict(&self, signals: &WeakSignals) -> Result<Vec<usize>> {
        self.choose(signals, &self.predict_proba(signals)?)
    }

    /// The same from the probabilities of the rows.
    fn choose(&self, signals: &WeakSignals, labels: &SoftLabels) -> Result<Vec<usize>> {
        let silent = Votes::from_bytes(Array2::from_elem((1, signals.n_signals()), ABSTAIN), signals.n_classes())?;
        let balance = self.predict_proba(&WeakSignals::from_votes(silent)?)?;
        labels.classes_of_votes(signals, &balance.values().row(0).to_vec(), 0)
    }

    /// What a user should know of the fit, in a sentence: by default nothing.
    fn remark(&self) -> Option<&str> {
        None
    }
}
