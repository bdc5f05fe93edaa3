//! What predicts classes from features.

use labelflow_weak::linear::FittedLogisticRegression;
use labelflow_weak::rows::{Features, SoftLabels};

use crate::Result;

/// A fitted model that predicts classes from features: the label learning flow and all [baselines](crate::baselines).
pub trait Classifier {
    /// The probability of each class for each row, `[n_rows, n_classes]`. Columns are found by name where the model was trained on named ones and
    /// these have names too, by place otherwise.
    fn predict_proba(&self, features: &Features) -> Result<SoftLabels>;

    /// The most probable class of each row.
    fn predict(&self, features: &Features) -> Result<Vec<usize>> {
        Ok(self.predict_proba(features)?.argmax())
    }

    /// The number of features that it was trained on.
    fn d_features(&self) -> usize;

    /// The number of classes.
    fn n_classes(&self) -> usize;
}

/// Makes a type with a method `predict_proba` of its own a [`Classifier`].
macro_rules! impl_classifier {
    ($type:ty, |$model:ident| $d_features:expr, $n_classes:expr) => {
        impl $crate::learners::Classifier for $type {
            fn predict_proba(&self, features: &Features) -> $crate::Result<SoftLabels> {
                <$type>::predict_proba(self, features)
            }

            fn d_features(&self) -> usize {
                let $model = self;
                $d_features
            }

            fn n_classes(&self) -> usize {
                let $model = self;
                $n_classes
            }
        }
    };
}
pub(crate) use impl_classifier;

impl Classifier for FittedLogisticRegression {
    fn predict_proba(&self, features: &Features) -> Result<SoftLabels> {
        Ok(self.predict_features(features)?)
    }

    fn d_features(&self) -> usize {
        self.d_features()
    }

    fn n_classes(&self) -> usize {
        self.n_classes()
    }
}

#[cfg(test)]
mod tests {
    use labelflow_data::synthetic::PlantedGaussian;
    use labelflow_weak::labelers::Bounds;
    use labelflow_weak::linear::LogisticRegression;
    use labelflow_weak::rows::{Truth, WeakDataset};
    use ndarray::{Array2, Axis, concatenate, s};
    use serde::Serialize;
    use serde::de::DeserializeOwned;
    use serde_json::Value;

    use super::*;
    use crate::baselines::{
        AdversarialForm, AdversarialLabels, AverageClassifier, Denoise, EndModel, GeneralizedExpectation, HiddenLayer,
        LinearAdversary, LossesOverLabels, MultilayerPerceptron, NetworkAdversary, ReferenceProportions, SelfTraining,
        SupervisedClassifier, TwoStage, Weanf, Weasel,
    };
    use crate::learners::{LabelFlowClassifier, Scaling};
    use crate::training::TrainConfig;

    /// A classifier and, of one that is saved as JSON, the same without the names of its features, as earlier versions saved it.
    type Fitted = (&'static str, Box<dyn Classifier>, Option<Box<dyn Classifier>>);

    fn saved<C: Classifier + Serialize + DeserializeOwned + 'static>(name: &'static str, fitted: C) -> Fitted {
        fn forget_names(value: &mut Value) {
            if let Value::Object(fields) = value {
                fields.remove("feature_names");
                fields.values_mut().for_each(forget_names);
            }
        }
        let mut json = serde_json::to_value(&fitted).unwrap();
        let read: C = serde_json::from_value(json.clone()).unwrap();
        forget_names(&mut json);
        let nameless: C = serde_json::from_value(json).unwrap();
        (name, Box::new(read), Some(Box::new(nameless)))
    }

    /// One of each implementation, in each of its forms.
    fn all(dataset: &WeakDataset, truth: &Truth) -> Vec<Fitted> {
        let (features, signals) = (dataset.features(), dataset.signals());
        let labels = EndModel::preset("logistic-regression").unwrap().fit(features, &truth_as_labels(truth)).unwrap();
        let labels = labels.predict_proba(features).unwrap();
        let perceptron = MultilayerPerceptron {
            hidden: vec![HiddenLayer { width: 4, dropout: 0.0 }],
            n_epochs: 2,
            ..MultilayerPerceptron::default()
        };
        let adversarial = |form, scaling| {
            let settings = AdversarialLabels {
                form,
                scaling,
                linear: LinearAdversary { max_iterations: 20, ..LinearAdversary::default() },
                network: NetworkAdversary { perceptron: perceptron.clone(), ..NetworkAdversary::default() },
            };
            settings.fit(dataset).unwrap()
        };
        let flow = LabelFlowClassifier {
            n_steps: 1,
            d_hidden: 4,
            training: TrainConfig { max_epochs: 2, ..TrainConfig::default() },
            ..LabelFlowClassifier::default()
        };
        let reference = ReferenceProportions::measured(signals, truth).unwrap();
        let expectation = GeneralizedExpectation::default().fit(features, signals, &reference).unwrap();
        let regression = LogisticRegression::default().fit_features(features, truth.labels(), 2).unwrap();
        let stages = TwoStage { end_model: EndModel::MultilayerPerceptron(perceptron.clone()), ..TwoStage::default() };
        let one_stage = || perceptron.clone();
        let weasel = Weasel { perceptron: one_stage(), ..Weasel::default() };
        let losses = LossesOverLabels { perceptron: one_stage(), ..LossesOverLabels::default() };
        let denoise = Denoise { perceptron: one_stage(), ..Denoise::default() };
        let self_training = SelfTraining { perceptron: one_stage(), ..SelfTraining::default() };
        let weanf = Weanf { n_axes: 2, n_epochs: 2, ..Weanf::default() };
        let (linear, network) = (AdversarialForm::Linear, AdversarialForm::Network);
        vec![
            ("flow", Box::new(flow.fit(dataset).unwrap()), None),
            saved("linear adversarial", adversarial(linear, Scaling::Standardize)),
            saved("adversarial network", adversarial(network, Scaling::Standardize)),
            saved("adversarial network without scaling", adversarial(network, Scaling::None)),
            saved("generalized expectation", expectation),
            saved("perceptron", perceptron.fit(features, &labels).unwrap()),
            saved("logistic regression", regression),
            saved("weasel", weasel.fit(features, signals).unwrap()),
            saved("losses over labels", losses.fit(features, signals).unwrap()),
            saved("denoise", denoise.fit(features, signals).unwrap()),
            saved("self-training", self_training.fit(features, signals).unwrap()),
            ("weanf", Box::new(weanf.fit(features, signals).unwrap()), None),
            saved("two stages", stages.fit(features, &labels).unwrap()),
            ("average", Box::new(AverageClassifier::fit(dataset).unwrap()), None),
            ("supervised", Box::new(SupervisedClassifier::fit(features, truth).unwrap()), None),
        ]
    }

    fn truth_as_labels(truth: &Truth) -> SoftLabels {
        let one_hot = |(row, class): (usize, usize)| f64::from(u8::from(truth.labels()[row] == class));
        SoftLabels::new(Array2::from_shape_fn((truth.labels().len(), truth.n_classes()), one_hot)).unwrap()
    }

    #[test]
    fn every_classifier_finds_columns_by_name() {
        let planted = PlantedGaussian { n_rows: 60, coverage: (1.0, 1.0), ..PlantedGaussian::default() };
        let planted = planted.generate().unwrap();
        let bounds = Bounds::constant(0.3, &planted.signals).unwrap();
        let values = planted.features.values().to_owned();
        let names: Vec<String> = (0..values.ncols()).map(|column| format!("f{column}")).collect();
        let named = Features::with_names(values.clone(), names.clone()).unwrap();
        let reversed_values = values.slice(s![.., ..;-1]).to_owned();
        let reversed_names: Vec<String> = names.iter().rev().cloned().collect();
        let reversed = Features::with_names(reversed_values.clone(), reversed_names.clone()).unwrap();
        let more = concatenate![Axis(1), values.slice(s![.., ..1]), reversed_values];
        let more_names = [vec!["another".to_owned()], reversed_names].concat();
        let more = Features::with_names(more, more_names).unwrap();
        let (nameless, reversed_nameless) = (Features::new(values).unwrap(), Features::new(reversed_values).unwrap());
        let others = named.values().to_owned();
        let others = Features::with_names(others, names.iter().map(|name| format!("{name}!")).collect()).unwrap();
        let narrow = Features::new(Array2::<f64>::zeros((1, 1))).unwrap();

        let dataset = WeakDataset::new(named.clone(), planted.signals.clone(), bounds.clone()).unwrap();
        for (name, classifier, earlier) in all(&dataset, &planted.truth) {
            let p = |features: &Features| classifier.predict_proba(features);
            let expected = p(&named).unwrap();
            for same in [&reversed, &more, &nameless] {
                assert_eq!(p(same).unwrap(), expected, "{name}");
            }
            let by_place = p(&reversed_nameless).unwrap();
            assert_ne!(by_place, expected, "{name}");
            let error = p(&others).unwrap_err().to_string();
            assert!(error.contains("expected a column 'f0'"), "{name}: {error}");
            let error = p(&narrow).unwrap_err().to_string();
            assert!(error.contains("columns, as the model was trained on, found 1 columns"), "{name}: {error}");
            if let Some(earlier) = earlier {
                assert_eq!(earlier.predict_proba(&named).unwrap(), expected, "{name}");
                assert_eq!(earlier.predict_proba(&reversed).unwrap(), by_place, "{name}");
            }
        }
        // A classifier of columns without names takes those of any name by place.
        let dataset = WeakDataset::new(nameless, planted.signals, bounds).unwrap();
        for (name, classifier, _) in all(&dataset, &planted.truth).into_iter().skip(1) {
            let p = |features: &Features| classifier.predict_proba(features).unwrap();
            assert_eq!(p(&others), p(&named), "{name}");
        }
    }
}
