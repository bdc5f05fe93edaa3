#![no_main]
//! A fitted label model, and its labels.

use labelflow_data::inputs::SavedLabelModel;
use labelflow_weak::label_models::FittedLabelModel;
use labelflow_weak::votes::{Votes, WeakSignals};
use ndarray::array;

labelflow_fuzz::fuzz_target!(|text: &str| {
    if let Ok(model) = SavedLabelModel::from_json(text) {
        let votes = Votes::from_indices(array![[0, 1, -1], [1, 1, 0]].view(), None);
        let signals = votes.and_then(WeakSignals::from_votes).expect("votes");
        let _ = model.predict_proba(&signals);
    }
});
