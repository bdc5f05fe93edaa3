#![no_main]
//! A model as one file, of any task. (A folder holds the same, with a hash that no fuzzer would guess.)

use labelflow::SavedModel;
use labelflow::learners::{FittedLabelFlowClassifier, FittedLabelFlowRegressor};
use labelflow_clouds::completers::AnyCompleter;

labelflow_fuzz::fuzz_target!(|bytes: &[u8]| {
    let _ = FittedLabelFlowClassifier::from_bytes(bytes);
    let _ = FittedLabelFlowRegressor::from_bytes(bytes);
    let _ = AnyCompleter::from_bytes(bytes);
});
