//! The label models, one file each, and the registry of them.
//!
//! A line below is all that there is beside the file: names, settings in files, `labelflow label`, `labelflow run`, the
//! Python package, the laws of `tests/laws.rs` and the test of the docs' table read this list.

use super::any_label_model::label_models;

label_models! {
    majority_vote: MajorityVote = "majority-vote";
    auto: AutoLabelModel = "auto";
    hyper: HyperLabelModel = "hyper";
    average_signals: AverageSignals = "average";
    dawid_skene: DawidSkene = "dawid-skene";
    data_programming: DataProgramming = "data-programming";
    flying_squid: FlyingSquid = "flying-squid";
    glad: Glad = "glad";
    mace: Mace = "mace";
    minimax_entropy: MinimaxEntropy = "minimax-entropy";
    metal: MeTaL = "metal";
    snorkel_label_model: SnorkelLabelModel = "snorkel";
    performance_guaranteed_vote: PerformanceGuaranteedVote = "performance-guaranteed-vote";
    adversarial_multiclass: AdversarialMulticlass = "adversarial-multiclass";
    constrained_labels: ConstrainedLabels = "constrained-labels";
}
