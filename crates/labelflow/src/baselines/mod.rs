//! Other classifiers on features: what flows are compared with.

mod adversarial_labels;
mod end_model;
mod generalized_expectation;
mod linear_classifier;
mod multilayer_perceptron;
mod network;
mod one_stage;
mod reference_classifiers;
mod scaled_perceptron;
mod two_stage;

pub use adversarial_labels::{
    AdversarialForm, AdversarialLabels, AdversaryLoss, FittedAdversarialLabels, LinearAdversary, NetworkAdversary,
    PenaltyGradient,
};
pub use end_model::{EndModel, FittedEndModel};
pub use generalized_expectation::{
    ExpectationForm, FittedGeneralizedExpectation, GeneralizedExpectation, ReferenceProportions,
};
pub use multilayer_perceptron::{FittedMultilayerPerceptron, HiddenLayer, MultilayerPerceptron, Optimizer};
pub use one_stage::{Denoise, FittedWeanf, LossesOverLabels, SelfTraining, Weanf, Weasel};
pub use reference_classifiers::{AverageClassifier, SupervisedClassifier};
pub use scaled_perceptron::ScaledPerceptron;
pub use two_stage::{StageLabels, TwoStage};
