//! Other classifiers on features: what flows are compared with.

mod adversarial_labels;
mod average_classifier;
mod end_model;
mod generalized_expectation;
mod linear_classifier;
mod multilayer_perceptron;
mod supervised_classifier;
mod two_stage;

pub use adversarial_labels::{
    AdversarialForm, AdversarialLabels, AdversaryLoss, FittedAdversarialLabels, LinearAdversary,
    NetworkAdversary, PenaltyGradient,
};
pub use average_classifier::AverageClassifier;
pub use end_model::{EndModel, FittedEndModel};
pub use generalized_expectation::{
    ExpectationForm, FittedGeneralizedExpectation, GeneralizedExpectation, ReferenceProportions,
};
pub use multilayer_perceptron::{
    FittedMultilayerPerceptron, HiddenLayer, MultilayerPerceptron, Optimizer,
};
pub use supervised_classifier::SupervisedClassifier;
pub use two_stage::{StageLabels, TwoStage};
