//! Two stages: labels for the training rows first, then a classifier on their features.
//!
//! ```text
//! labels of the training rows, by a label model or a flow  →  most probable class  →  end model on features
//! ```
//!
//! LLF-TS is this with a [`FittedLabelFlow`] as the first stage. Features that hold more than the signals let the
//! second stage correct the first.

use labelflow_weak::{Features, Labeler, SoftLabels, WeakSignals};
use ndarray::ArrayView1;
use rand::RngExt;
use serde::{Deserialize, Serialize};

use crate::end_model::one_hot;
use crate::stream::stream;
use crate::{EndModel, Error, FittedEndModel, FittedLabelFlow, Result};

/// Probabilities that are no farther apart are the same but for rounding.
const TIE: f64 = 1e-9;

/// What the second stage is told of the first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StageLabels {
    /// The most probable class of each row.
    #[default]
    Hard,
    /// The probabilities. An end model that takes classes only, such as a logistic regression, rounds them all the same.
    Soft,
}

/// Which of several most probable classes is taken for a hard label.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ties {
    /// The lowest. Where ties are common, as with the votes of a few rules, this makes class 0 too common.
    #[default]
    Lowest,
    /// Any of them, drawn from the seed.
    Random,
}

/// A classifier on features from the labels of another model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TwoStage {
    /// Where random ties come from; the end model has a seed of its own. Default: 0.
    pub seed: u64,
    /// What the second stage is told. Default: hard labels.
    pub labels: StageLabels,
    /// Which class a tie is rounded to. Default: the lowest.
    pub ties: Ties,
    /// The second stage. Default: the multilayer perceptron.
    pub end_model: EndModel,
}

impl TwoStage {
    /// Trains the second stage on labels that are there already.
    pub fn fit(&self, features: &Features, labels: &SoftLabels) -> Result<FittedEndModel> {
        match self.labels {
            StageLabels::Soft => self.end_model.fit(features, labels),
            StageLabels::Hard => {
                self.end_model.fit(features, &one_hot(&self.round(labels), labels.n_classes()))
            }
        }
    }

    /// The most probable class of each row.
    fn round(&self, labels: &SoftLabels) -> Vec<usize> {
        if self.ties == Ties::Lowest {
            return labels.argmax();
        }
        let mut rng = stream(self.seed, "ties", 0);
        let class = |row: ArrayView1<'_, f64>| {
            let highest = row.fold(0.0, |highest: f64, &p| highest.max(p));
            let is_highest = |class: &usize| row[*class] >= highest - TIE;
            let highest: Vec<usize> = (0..row.len()).filter(is_highest).collect();
            highest[rng.random_range(0..highest.len())]
        };
        labels.values().rows().into_iter().map(class).collect()
    }

    /// Trains the second stage on the labels of a fitted label model. Rows that nobody speaks of are left out: their
    /// labels would say nothing of their features.
    pub fn fit_labeler(
        &self,
        features: &Features,
        signals: &WeakSignals,
        labeler: &impl Labeler,
    ) -> Result<FittedEndModel> {
        if signals.n_rows() != features.n_rows() {
            let expected = format!("{} rows, as many as the features have", features.n_rows());
            return Err(Error::data("signals", expected, signals.n_rows()));
        }
        let covered: Vec<usize> =
            (0..signals.n_rows()).filter(|&row| signals.is_covered(row)).collect();
        if covered.is_empty() {
            return Err(Error::data("signals", "at least one vote", "abstentions only"));
        }
        let labels = labeler.predict_proba(&signals.select_rows(&covered))?;
        self.fit(&features.select_rows(&covered), &labels)
    }

    /// Trains the second stage on a flow's labels of its training rows.
    pub fn fit_label_flow(
        &self,
        features: &Features,
        flow: &FittedLabelFlow,
    ) -> Result<FittedEndModel> {
        self.fit(features, &flow.predict_proba(features)?)
    }
}

#[cfg(test)]
mod tests {
    use labelflow_data::PlantedGaussian;
    use labelflow_weak::{Bounds, LabelModel, MajorityVote, Votes, WeakDataset};
    use ndarray::Array2;

    use super::*;
    use crate::{HiddenLayer, LabelFlow, MultilayerPerceptron, SupervisedClassifier, TrainConfig};

    fn small() -> TwoStage {
        let perceptron = MultilayerPerceptron {
            hidden: vec![HiddenLayer { width: 16, dropout: 0.2 }],
            learning_rate: 1e-2,
            n_epochs: 10,
            ..MultilayerPerceptron::default()
        };
        TwoStage { end_model: EndModel::MultilayerPerceptron(perceptron), ..TwoStage::default() }
    }

    #[test]
    fn the_second_stage_beats_the_first() {
        for n_classes in [2, 3] {
            let planted = PlantedGaussian { n_rows: 1500, n_classes, ..PlantedGaussian::default() };
            let planted = planted.generate().unwrap();
            let majority = MajorityVote::default().fit(&planted.signals).unwrap();
            let votes = majority.predict_proba(&planted.signals).unwrap();
            let first = planted.truth.accuracy(&votes.argmax());
            let accuracy = |two_stage: TwoStage| {
                let fitted = two_stage.fit_labeler(&planted.features, &planted.signals, &majority);
                let found = fitted.unwrap().predict_proba(&planted.features).unwrap().argmax();
                planted.truth.accuracy(&found)
            };
            let lowest = accuracy(small());
            assert!(lowest > first + 0.08, "{lowest} after {first}");
            let random = accuracy(TwoStage { ties: Ties::Random, ..small() });
            let soft = accuracy(TwoStage { labels: StageLabels::Soft, ..small() });
            for second in [random, soft] {
                assert!(second > first + 0.1, "{second} after {first}");
                assert!(second > planted.best_accuracy - 0.06, "{second}");
            }
        }
    }

    #[test]
    fn ties_go_to_the_lowest_class_or_to_any() {
        let even = SoftLabels::new(ndarray::array![[0.4, 0.2, 0.4]]).unwrap();
        let even = SoftLabels::normalized(even.values().broadcast((300, 3)).unwrap().to_owned());
        assert_eq!(small().round(&even), [0; 300]);
        let random = TwoStage { ties: Ties::Random, ..small() };
        let classes = random.round(&even);
        assert_eq!(classes, random.round(&even));
        let n_first = classes.iter().filter(|&&class| class == 0).count();
        assert!((110..190).contains(&n_first), "{n_first}");
        assert!(classes.iter().all(|&class| class != 1));
    }

    #[test]
    fn with_the_truth_as_first_stage_it_is_the_supervised_reference() {
        let planted = PlantedGaussian { n_rows: 200, ..PlantedGaussian::default() };
        let planted = planted.generate().unwrap();
        let (features, truth) = (&planted.features, &planted.truth);
        let two_stage = small();
        let labels = one_hot(truth.labels(), truth.n_classes());
        let supervised =
            SupervisedClassifier::fit_end_model(&two_stage.end_model, features, truth).unwrap();
        assert_eq!(
            two_stage.fit(features, &labels).unwrap().predict_proba(features).unwrap(),
            supervised.predict_proba(features).unwrap()
        );
    }

    #[test]
    fn a_flow_labels_the_rows_of_the_second_stage() {
        let planted = PlantedGaussian { n_rows: 60, ..PlantedGaussian::default() };
        let planted = planted.generate().unwrap();
        let bounds = Bounds::constant(0.3, &planted.signals).unwrap();
        let features = planted.features;
        let dataset = WeakDataset::new(features.clone(), planted.signals, bounds).unwrap();
        let flow = LabelFlow {
            n_steps: 1,
            d_hidden: 4,
            training: TrainConfig { max_epochs: 3, ..TrainConfig::default() },
            ..LabelFlow::default()
        };
        let flow = flow.fit(&dataset).unwrap();
        let hard = one_hot(&flow.predict(&features).unwrap(), 2);
        assert_eq!(
            small().fit_label_flow(&features, &flow).unwrap(),
            small().end_model.fit(&features, &hard).unwrap()
        );
    }

    #[test]
    fn hard_labels_round_soft_ones() {
        let planted = PlantedGaussian { n_rows: 100, ..PlantedGaussian::default() };
        let planted = planted.generate().unwrap();
        let (features, soft) = (&planted.features, &planted.posterior);
        let hard = one_hot(&soft.argmax(), 2);
        let (hard_stage, soft_stage) = (small(), TwoStage { labels: StageLabels::Soft, ..small() });
        let fitted = hard_stage.fit(features, soft).unwrap();
        assert_eq!(fitted, hard_stage.fit(features, &hard).unwrap());
        assert_eq!(fitted, soft_stage.fit(features, &hard).unwrap());
        assert_ne!(fitted, soft_stage.fit(features, soft).unwrap());
    }

    #[test]
    fn rows_without_votes_are_left_out_and_votes_of_nobody_are_an_error() {
        let features = Features::new(Array2::from_shape_fn((4, 1), |(row, _)| row as f32)).unwrap();
        let signals = |votes: [i64; 4]| {
            let votes = Array2::from_shape_fn((4, 1), |(row, _)| votes[row]);
            WeakSignals::from_votes(Votes::from_indices(votes.view(), Some(2)).unwrap()).unwrap()
        };
        let some = signals([0, 1, -1, -1]);
        let majority = MajorityVote::default().fit(&some).unwrap();
        let fitted = small().fit_labeler(&features, &some, &majority).unwrap();
        let covered = features.select_rows(&[0, 1]);
        assert_eq!(fitted, small().fit(&covered, &one_hot(&[0, 1], 2)).unwrap());
        let error = small().fit_labeler(&features, &signals([-1; 4]), &majority).unwrap_err();
        assert!(error.to_string().contains("at least one vote"), "{error}");
        let error = small().fit_labeler(&covered, &some, &majority).unwrap_err();
        assert!(error.to_string().contains("2 rows"), "{error}");
    }
}
