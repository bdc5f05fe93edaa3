//! Files and datasets of weak supervision: what is on disk or in the catalog, as the types of [`labelflow_weak`].
//!
//! | to | use |
//! |---|---|
//! | read csv, tsv, parquet, npy or npz | [`read_features`], [`read_signals`], [`read_bounds`], [`read_labels`], [`read_values`] |
//! | write them | [`write_features`], [`write_signals`], [`write_labels`], [`write_value_labels`], [`write_columns`] |
//! | read and write rules about means | [`read_rules`], [`write_rules`] |
//! | write any file whole or not at all | [`write_atomically`] |
//! | load a real dataset by name | [`catalog()`], [`find`], [`load`], [`load_rules`], [`check`], [`fetch`] |
//! | have real data without files | [`embedded`] |
//! | make a weak-supervision problem of a labelled table | [`simulate`], [`Split`], [`planted_votes_for`] |
//! | make rules out of one with real-valued labels | [`simulate_rules`], [`measure_rules`] |
//! | make one whose best answer is known | [`PlantedVotes`], [`PlantedGaussian`], [`PlantedRegression`] |
//! | turn text into features | [`HashedWords`], [`clean_text`], [`WordVectors`] |
//! | let keywords vote on text | [`read_texts`], [`KeywordLabelers`] |
//! | read votes as crowds and benchmarks store them | [`read_task_votes`], [`read_wrench`], [`AbstainConvention`] |
//! | read votes larger than memory, count them, label them | [`VoteStream`], [`write_labels_as_they_come`] |
//! | read and write counted votes | [`read_counts`], [`write_counts`] |
//! | write the labels of a crowd's tasks | [`write_task_labels`] |
//! | read and write point clouds and meshes | [`read_cloud`], [`write_cloud`], [`sample_surface`] |
//! | show clouds as a picture or a page | [`write_contact_sheet`], [`write_cloud_page`], [`CompletedScan`] |
//! | load shapes made of parts | [`read_partnet`], [`read_partnet_arrays`] |
//! | make such shapes | [`furniture`] |
//! | load shapes to train and to test completion on | [`ShapeSet`] |
//! | read other formats | [`read_arff`], [`read_idx`], [`XlsSheet`] |
//!
//! ```
//! use labelflow_data::{SignalsOptions, read_signals};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("votes.csv");
//! std::fs::write(&path, "rule_a,rule_b\nspam,\nham,spam\n")?;
//! let signals = read_signals(&path, &SignalsOptions::default())?;
//! assert_eq!(signals.classes(), ["ham", "spam"]);
//! assert_eq!(signals.vote(0, 1), None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod abstain_convention;
mod arff;
mod atomic_file;
mod bounds_file;
mod catalog;
mod cell_codes;
mod cells;
mod checked_pages;
mod checksum;
mod claim_text;
mod clean_text;
mod cloud_content;
mod cloud_file;
mod cloud_page;
mod cloud_picture;
mod cloud_tile;
mod columns;
mod completed_scan;
mod compound_file;
mod counts_file;
mod csv_file;
pub mod embedded;
mod error;
mod feature_stream;
mod features_file;
mod fetch;
mod foreign_decoder;
pub mod furniture;
mod gunzip;
mod hashed_words;
mod idx;
mod keyword_labelers;
mod label_stream;
mod labels_file;
#[cfg(feature = "las")]
mod las_file;
mod lzf;
mod npy_file;
mod number_lines;
mod obj_file;
mod off_file;
mod packed_text;
mod page_header;
mod parquet_file;
mod part_tree;
mod partnet_arrays;
mod partnet_folder;
mod pcd_file;
mod planted_parts;
mod planted_regression;
mod ply_file;
mod point_lines_file;
mod predictions_file;
mod probability_stream;
mod row_reader;
mod rule_problem;
mod rules_file;
mod rules_toml;
mod scalar_type;
mod sets;
mod shape_problem;
mod signals_file;
mod simulated;
mod split;
mod stl_file;
mod stream;
mod stroke_font;
mod surface_sampling;
mod synthetic;
mod table;
mod table_parts;
mod table_stream;
mod task_votes_file;
mod texts_file;
mod value_stream;
mod values_file;
mod vote_parts;
mod vote_stream;
mod word_vectors;
mod wrench_folder;
mod xls;

pub use abstain_convention::{AbstainConvention, convention_doubt};
pub use arff::{ArffTable, Missing, read_arff};
pub use atomic_file::{AtomicWriter, write_atomically};
pub use bounds_file::read_bounds;
pub use catalog::{
    CatalogEntry, CatalogFile, CheckReport, Counts, FileCheck, FileState, LoadOptions, catalog,
    check, find, load, load_rules,
};
pub use checksum::Checksum;
pub use clean_text::clean_text;
pub use cloud_file::{CloudOptions, read_cloud, read_cloud_with, read_clouds, write_cloud};
pub use cloud_page::write_cloud_page;
pub use cloud_picture::write_contact_sheet;
pub use columns::{Column, ColumnValues, write_columns};
pub use completed_scan::CompletedScan;
pub use counts_file::{PatternTable, read_counts, write_counts};
pub use error::{Error, Place, Result};
pub use feature_stream::{BadRows, FeatureParts, FeatureReader, FeatureRows};
pub use features_file::{read_features, write_features};
pub use fetch::fetch;
pub use hashed_words::HashedWords;
pub use idx::{IdxArray, read_idx};
pub use keyword_labelers::{KeywordLabeler, KeywordLabelers};
pub use label_stream::{
    LabelColumns, LabelRows, LabelStream, write_labels_as_they_come, write_labels_with_as_they_come,
};
pub use labels_file::{
    LabelExtras, read_labels, write_labels, write_labels_with, write_task_labels,
};
pub use part_tree::PartTree;
pub use partnet_arrays::{ArrayParts, PartNetArrays, read_partnet_arrays};
pub use partnet_folder::{
    DroppedShape, PartNetOptions, PartNetShapes, read_partnet, read_partnet_shape,
    read_partnet_split,
};
pub use pcd_file::{PcdEncoding, write_pcd};
pub use planted_regression::{PlantedFunction, PlantedRegression, PlantedRegressionProblem};
pub use ply_file::{PlyEncoding, write_ply};
pub use predictions_file::{ClassPredictions, Predictions, read_predictions};
pub use probability_stream::{ProbabilityReader, ProbabilityStream};
pub use rule_problem::{RuleProblem, ValueTable, measure_rules, simulate_rules};
pub use rules_file::{RulesFile, read_rules, write_rules};
pub use shape_problem::{ShapeProblem, ShapeSet};
pub use signals_file::{SignalsKind, SignalsOptions, read_signals, write_signals};
pub use simulated::{BoundsFrom, EvaluatedRows, LabelledTable, WeakProblem, simulate};
pub use split::Split;
pub use stroke_font::{StrokeLetter, stroke_letter};
pub use surface_sampling::sample_surface;
pub use synthetic::{
    PlantedGaussian, PlantedGaussianProblem, PlantedVotes, PlantedVotesProblem, planted_votes_for,
};
pub use table_parts::TableParts;
pub use task_votes_file::{
    DuplicateVotes, TaskVotes, TaskVotesOptions, read_task_truth, read_task_votes,
};
pub use texts_file::read_texts;
pub use value_stream::{ValueStream, write_value_labels_as_they_come};
pub use values_file::{ValueLabels, read_values, write_value_labels};
pub use vote_parts::VoteParts;
pub use vote_stream::{StreamedPatterns, VoteReader, VoteStream};
pub use word_vectors::{AveragedDocuments, WordVectors};
pub use wrench_folder::{WrenchFolder, WrenchRows, read_wrench};
pub use xls::XlsSheet;

/// The folder with the real datasets, or nothing and a loud line when it is not named.
#[cfg(test)]
#[allow(clippy::print_stderr)]
pub(crate) fn data_dir_for_tests() -> Option<std::path::PathBuf> {
    let dir = std::env::var_os("LABELFLOW_DATA").map(Into::into);
    if dir.is_none() {
        eprintln!("SKIPPED: set LABELFLOW_DATA to the folder with the real datasets");
    }
    dir
}
