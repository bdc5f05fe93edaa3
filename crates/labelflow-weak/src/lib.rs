//! Weak supervision without neural networks: what is known of the labels, and what follows from it alone.
//!
//! | type | holds |
//! |---|---|
//! | [`Features`] | the input table, `[n_rows, d_features]`, finite, named columns |
//! | [`WeakSignals`] | votes or probabilities of several labelers, any of which may abstain |
//! | [`Bounds`] | how often each labeler may err, `[n_signals, n_classes]` |
//! | [`LabelerErrors`] | how often each labeler's votes are wrong, `[n_signals, n_classes]` |
//! | [`WeakDataset`] | features, signals and bounds: all that training may see |
//! | [`Truth`] | true classes; only evaluation accepts it |
//! | [`SoftLabels`] | probabilities, `[n_rows, n_classes]`, each row on the simplex |
//!
//! Real-valued labels are known through rules about their means:
//!
//! | type | holds |
//! |---|---|
//! | [`Rule`] | a [`Claim`] about the labels of the rows in a [`Region`], in the label's own units |
//! | [`LabelRange`] | the lowest and the highest value that a label can have |
//! | [`RuleDataset`] | features, rules that can hold together, and the range: all that training may see |
//! | [`TrueValues`] | true labels; only evaluation and supervised references accept it |
//!
//! [`AverageRules`] averages what rules say of a row; [`LinearRegression`] is the supervised reference.
//!
//! Label models turn signals into soft labels without looking at features:
//!
//! | label model | idea | `fit` takes |
//! |---|---|---|
//! | [`MajorityVote`] | every labeler counts the same | signals |
//! | [`AverageSignals`] | the mean of the probabilities that labelers give | signals |
//! | [`DawidSkene`] | each labeler has a confusion matrix | signals |
//! | [`DataProgramming`] | each labeler is right with one probability of its own | signals |
//! | [`FlyingSquid`] | accuracies from triplets of labelers, in closed form | signals |
//! | [`MinimaxEntropy`] | labelers have confusion matrices, and so have rows | signals |
//! | [`MeTaL`] | accuracies from how often votes occur together; labelers may depend on each other | signals |
//! | [`SnorkelLabelModel`] | the same without dependencies, as Snorkel does it | signals |
//! | [`PerformanceGuaranteedVote`] | majority vote of those labelers whose worst case is best | signals, [`LabelerErrors`] |
//! | [`AdversarialMulticlass`] | the mixture of labelers whose worst case is best | signals, [`LabelerErrors`] |
//! | [`ConstrainedLabels`] | labels under which labelers err as often as their bounds say | signals, [`Bounds`] |
//!
//! Those that need nothing but signals are a [`LabelModel`]; fitted, all of them are a [`Labeler`]. Those that must know
//! how common each class is take a [`ClassBalance`]. [`SoftLabels::classes`] turns soft labels into classes, with a choice
//! of what [`Ties`] become. [`AnyLabelModel`] is any label model by name, [`label_warnings`] says what speaks against the
//! labels of one.
//!
//! All label models learn from [`CountedVotes`], distinct rows of votes with counts, which may come from several files or
//! machines: [`LabelModel::fit_counts`] is the fit to the rows that were counted. [`VoteCounter`] counts rows as they come,
//! [`VoteTally`] adds up what is told of votes and labels part by part.
//!
//! [`Bounds::auto`] estimates bounds from agreement between labelers, [`analyze`] describes what each labeler does,
//! [`labeler_pairs`] what each two do together, and [`LogisticRegression`] with [`StandardScaler`] makes weak labelers out
//! of features.
//!
//! [`point_clouds`] holds clouds of points, shapes made of parts, and the measures of completion.
//!
//! Other methods may build on [`RowChunks`] (sums over rows in parallel), [`Lbfgs`], [`normalize_logs`] and
//! [`project_onto_simplex`].

mod adversarial_multiclass;
mod any_label_model;
mod assignment;
mod auto_bounds;
mod average_rules;
mod average_signals;
mod bounds;
mod calibration;
mod cholesky;
mod class_balance;
mod column_moments;
mod constrained_labels;
mod counted_votes;
mod data_programming;
mod dataset;
mod dawid_skene;
mod error;
mod explained_overlaps;
mod features;
mod flying_squid;
mod label_model;
mod label_range;
mod label_warnings;
mod labeler_cliques;
mod labeler_errors;
mod labeler_pairs;
mod lbfgs;
mod learning_rate;
mod linear_program;
mod linear_regression;
mod logistic_regression;
mod majority_vote;
mod masked_factorization;
mod metal;
mod minimax_entropy;
mod one_coin;
mod overlap_fit;
mod overlaps;
mod performance_guaranteed_vote;
#[cfg(test)]
mod planted;
pub mod point_clouds;
mod range_scaler;
mod row_chunks;
mod rule;
mod rule_contradictions;
mod rule_dataset;
mod rule_tally;
mod scramble;
mod signal_analysis;
mod signals;
mod simplex_projection;
mod snorkel_label_model;
mod soft_labels;
mod softmax;
mod standard_scaler;
mod stop_reason;
mod ties;
mod true_values;
mod truth;
mod vectors;
mod vote_counter;
mod vote_patterns;
mod vote_rates;
mod vote_tally;
mod votes;

pub use adversarial_multiclass::{AdversarialMulticlass, FittedAdversarialMulticlass};
pub use any_label_model::{AnyLabelModel, FittedLabelModel, KnownOfLabelers};
pub use auto_bounds::AutoBounds;
pub use average_rules::{AverageRules, FittedAverageRules};
pub use average_signals::{AverageSignals, FittedAverageSignals};
pub use bounds::Bounds;
pub use calibration::{
    Calibration, CalibrationMethod, ConformalSets, Isotonic, SetMetrics, Temperature,
};
pub use class_balance::ClassBalance;
pub use column_moments::ColumnMoments;
pub use constrained_labels::{ConstrainedLabels, FittedConstrainedLabels};
pub use counted_votes::CountedVotes;
pub use data_programming::{Coverage, DataProgramming, FittedDataProgramming};
pub use dataset::WeakDataset;
pub use dawid_skene::{Abstentions, DawidSkene, FittedDawidSkene};
pub use error::{Error, Result};
pub use features::Features;
pub use flying_squid::{
    FittedFlyingSquid, FlyingSquid, NegativeProbabilities, OneVersusRest, Triplets,
};
pub use label_model::{LabelModel, Labeler};
pub use label_range::LabelRange;
pub use label_warnings::{LabelWarning, label_warnings};
pub use labeler_errors::LabelerErrors;
pub use labeler_pairs::{LabelerPair, labeler_pairs, labeler_pairs_of_counts};
pub use lbfgs::{Lbfgs, Minimum};
pub use learning_rate::LearningRateSchedule;
pub use linear_regression::{FittedLinearRegression, LinearRegression};
pub use logistic_regression::{FittedLogisticRegression, LogisticRegression};
pub use majority_vote::{FittedMajorityVote, MajorityVote, Share};
pub use metal::{FittedMeTaL, MeTaL};
pub use minimax_entropy::{FittedMinimaxEntropy, MinimaxEntropy};
pub use performance_guaranteed_vote::{
    FittedPerformanceGuaranteedVote, GuaranteedSubset, PerformanceGuaranteedVote, VoteStatistics,
};
pub use range_scaler::RangeScaler;
pub use row_chunks::RowChunks;
pub use rule::{Claim, Region, Rule, Statistic};
pub use rule_dataset::{RuleDataset, RuleGroup, RuleWarning};
pub use rule_tally::{CheckedRules, CountedRule, RuleTally};
pub use signal_analysis::{LabelerSummary, analyze};
pub use signals::{SignalValues, WeakSignals};
pub use simplex_projection::project_onto_simplex;
pub use snorkel_label_model::{FittedSnorkelLabelModel, Precision, SnorkelLabelModel};
pub use soft_labels::SoftLabels;
pub use softmax::normalize_logs;
pub use standard_scaler::StandardScaler;
pub use stop_reason::StopReason;
pub use ties::Ties;
pub use true_values::TrueValues;
pub use truth::Truth;
pub use vote_counter::VoteCounter;
pub use vote_tally::VoteTally;
pub use votes::{ABSTAIN, Votes};
