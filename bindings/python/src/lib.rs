//! The compiled half of the Python package `labelflow`: it holds fitted models and converts arrays.
//!
//! Settings arrive as JSON, exactly as the configurations of the Rust crates are written; arrays arrive checked for
//! their type and shape. What a user sees (parameters, data frames, scikit-learn's conventions) is Python, in
//! `python/labelflow`.

// The macros of PyO3 expand to unsafe code; our own is in `shared_votes.rs` alone.
#![allow(unsafe_code)]

mod analysis;
mod arrays;
mod background;
mod cloud_completer;
mod error;
mod feature_classifier;
mod flow_classifier;
mod flow_regressor;
mod label_model;
mod observer;
mod rules;
mod shared_votes;
mod signals;
mod trained_model;

// As in the command line: training makes and drops tensors of megabytes thousands of times a second, and the system's
// allocator hands each back to the kernel.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The compiled half of labelflow. Use the package `labelflow`.
#[pyo3::pymodule]
mod _labelflow {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::{
        analysis::{
            analyze, auto_bounds, bounds_warnings, data_warnings, krippendorff_alpha, label_warnings, rows_to_relabel,
        },
        cloud_completer::{CloudCompleter, completer_preset, fit_point_cloud_completer},
        error::{ConfigError, DataError, DeviceError, FormatError, TrainingError},
        feature_classifier::{
            FeatureClassifier, end_model_preset, fit_adversarial_labels, fit_end_model, fit_generalized_expectation,
        },
        flow_classifier::{FlowClassifier, built_devices, classifier_preset, fit_label_flow, preset_training},
        flow_regressor::{FlowRegressor, fit_label_flow_regressor},
        label_model::{LabelModel, fit_label_model, label_models},
        rules::RawRules,
        signals::RawSignals,
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // This library has a standard library of its own, so the hook is that of no other code in the process.
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !labelflow::training::becomes_an_error(info) {
                usual(info);
            }
        }));
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
