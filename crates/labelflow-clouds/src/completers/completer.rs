//! What all learners of completion share, so that comparisons and tools need not know which one they have.

use std::path::Path;

use burn::module::Module;
use labelflow::Result;
use labelflow::learners::check_run;
use labelflow::storage::{Checkpoint, SavedModel};
use labelflow::training::{DeviceKind, Observer, Report};

use super::codes::code_training::train_codes;
use super::flow::completion_stage::train_completion;
use super::frame_search::frame_of;
use super::inversion::inversion_training::train_tree;
use super::transfer::transfer_training::train_transfer;
use crate::completers::{
    CodeCompleter, CompletionDataset, CompletionOptions, FittedCodeCompleter,
    FittedKnowledgeTransfer, FittedPointCloudCompleter, FittedShapeInversion, KnowledgeTransfer,
    PointCloudCompleter, ScanFrame, ShapeInversion,
};
use crate::geometry::{Normalization, PointCloud, PointSet};

/// Settings from which a [`Completer`] is trained.
pub trait CompletionLearner: Clone + PartialEq {
    /// What training gives.
    type Fitted: Completer<Learner = Self>;

    /// Trains on a dataset, from a checkpoint if there is one, watched by an observer.
    fn fit_with(
        &self,
        dataset: &CompletionDataset,
        checkpoint: Option<Checkpoint>,
        observer: &mut dyn Observer,
    ) -> Result<Self::Fitted>;

    /// A digest of the settings and the data: two runs with the same digest end with the same weights.
    fn run_digest(&self, dataset: &CompletionDataset) -> String;

    /// Where to compute.
    fn device(&self) -> DeviceKind;

    /// The same settings for another device.
    #[must_use]
    fn with_device(self, device: DeviceKind) -> Self;
}

/// A trained model that completes scans.
pub trait Completer: Sized {
    /// What it was trained by.
    type Learner;

    /// Several completions of a scan that lies in the frame of the shapes; a single one of those that [know no
    /// other](Self::is_deterministic).
    fn complete(&self, scan: &PointSet, options: &CompletionOptions) -> Result<Vec<PointSet>>;

    /// The completions of each of several scans, together where that is quicker.
    fn complete_all(
        &self,
        scans: &[PointSet],
        options: &CompletionOptions,
    ) -> Result<Vec<Vec<PointSet>>>;

    /// Whether it knows a single completion of a scan, however many are asked for.
    fn is_deterministic(&self) -> bool;

    /// How much each cloud looks like a complete shape: about 1 when it does, about 0 when it does not. All have as many points.
    fn scores(&self, clouds: &[PointSet]) -> Result<Vec<f64>>;

    /// A quick completion of each of several scans, all with the same noise: what a search for frames compares.
    fn one_each(&self, scans: &[PointSet], seed: u64) -> Result<Vec<PointSet>>;

    /// Points of a partial cloud in training.
    fn n_partial_points(&self) -> usize;

    /// The frame in which a scan is completed.
    fn frame_of(&self, scan: &PointCloud, frame: &ScanFrame) -> Result<Normalization> {
        frame_of(self, scan, frame)
    }

    /// The settings that it was trained with.
    fn config(&self) -> &Self::Learner;

    /// The course of training.
    fn report(&self) -> &Report;

    /// The same model on another device.
    fn to_device(self, device: DeviceKind) -> Result<Self>;

    /// Writes the model into a folder, replacing a model that is there.
    fn save(&self, folder: &Path) -> Result<()>;

    /// As [`save`](Self::save), with a table `origin` in `model.toml`: what is to be remembered of where the model came from.
    fn save_with_origin(&self, folder: &Path, origin: &toml::Table) -> Result<()>;

    /// Reads a model, onto the device cpu.
    fn load(folder: &Path) -> Result<Self>;
}

/// What all four learners and their models have alike: training, settings, devices, and both traits.
///
/// A learner has `check_settings`, and its model `scores`, `is_deterministic` and `one_each`. Models that complete `each` scan by itself have
/// `complete`, those that complete several `together` have `complete_all`; the other one of the two is made here.
macro_rules! completers {
    ($($learner:ident, $kind:literal => $fitted:ident { $networks:ident } $how:ident by $train:path;)+) => {$(
        impl $learner {
            /// Trains on a dataset.
            pub fn fit(&self, dataset: &CompletionDataset) -> Result<$fitted> {
                self.fit_with(dataset, None, &mut ())
            }

            /// Trains on a dataset, from a checkpoint of any epoch if there is one, watched by an observer. Epochs are counted through
            /// all stages.
            pub fn fit_with(
                &self,
                dataset: &CompletionDataset,
                checkpoint: Option<Checkpoint>,
                observer: &mut dyn Observer,
            ) -> Result<$fitted> {
                self.check_settings()?;
                let run = check_run(self.run_digest(dataset), &[], checkpoint.as_ref())?;
                let ($networks, report) = $train(self, dataset, &run, checkpoint, observer)?;
                Ok($fitted { config: self.clone(), $networks, report })
            }

            /// A digest of the settings and the data: two runs with the same digest end with the same weights.
            pub fn run_digest(&self, dataset: &CompletionDataset) -> String {
                dataset.run_digest($kind, self)
            }
        }

        impl $fitted {
            completers!($how);

            /// The settings that it was trained with.
            pub fn config(&self) -> &$learner {
                &self.config
            }

            /// The course of training, through all stages.
            pub fn report(&self) -> &Report {
                &self.report
            }

            /// The same model on another device.
            pub fn to_device(mut self, device: DeviceKind) -> Result<Self> {
                self.$networks = self.$networks.fork(&device.open()?);
                self.config.device = device;
                Ok(self)
            }
        }

        impl CompletionLearner for $learner {
            type Fitted = $fitted;

            fn fit_with(
                &self,
                dataset: &CompletionDataset,
                checkpoint: Option<Checkpoint>,
                observer: &mut dyn Observer,
            ) -> Result<$fitted> {
                self.fit_with(dataset, checkpoint, observer)
            }

            fn run_digest(&self, dataset: &CompletionDataset) -> String {
                self.run_digest(dataset)
            }

            fn device(&self) -> DeviceKind {
                self.device
            }

            fn with_device(self, device: DeviceKind) -> Self {
                Self { device, ..self }
            }
        }

        impl Completer for $fitted {
            type Learner = $learner;

            fn complete(
                &self,
                scan: &PointSet,
                options: &CompletionOptions,
            ) -> Result<Vec<PointSet>> {
                self.complete(scan, options)
            }

            fn complete_all(
                &self,
                scans: &[PointSet],
                options: &CompletionOptions,
            ) -> Result<Vec<Vec<PointSet>>> {
                self.complete_all(scans, options)
            }

            fn is_deterministic(&self) -> bool {
                self.is_deterministic()
            }

            fn scores(&self, clouds: &[PointSet]) -> Result<Vec<f64>> {
                self.scores(clouds)
            }

            fn one_each(&self, scans: &[PointSet], seed: u64) -> Result<Vec<PointSet>> {
                self.one_each(scans, seed)
            }

            fn n_partial_points(&self) -> usize {
                self.config.n_partial_points
            }

            fn config(&self) -> &$learner {
                self.config()
            }

            fn report(&self) -> &Report {
                self.report()
            }

            fn to_device(self, device: DeviceKind) -> Result<Self> {
                self.to_device(device)
            }

            fn save(&self, folder: &Path) -> Result<()> {
                SavedModel::save(self, folder)
            }

            fn save_with_origin(&self, folder: &Path, origin: &toml::Table) -> Result<()> {
                SavedModel::save_with_origin(self, folder, origin)
            }

            fn load(folder: &Path) -> Result<Self> {
                <$fitted as SavedModel>::load(folder)
            }
        }
    )+};
    (each) => {
        /// The completions of each of several scans that lie in the frame of the shapes.
        pub fn complete_all(
            &self,
            scans: &[PointSet],
            options: &CompletionOptions,
        ) -> Result<Vec<Vec<PointSet>>> {
            scans.iter().map(|scan| self.complete(scan, options)).collect()
        }
    };
    (together) => {
        /// The completions of a scan that lies in the frame of the shapes.
        pub fn complete(
            &self,
            scan: &PointSet,
            options: &CompletionOptions,
        ) -> Result<Vec<PointSet>> {
            Ok(self.complete_all(std::slice::from_ref(scan), options)?.remove(0))
        }
    };
}

completers!(
    PointCloudCompleter, "" => FittedPointCloudCompleter { players } each by train_completion;
    CodeCompleter, "code completer" => FittedCodeCompleter { network } each by train_codes;
    ShapeInversion, "shape inversion" => FittedShapeInversion { players } together by train_tree;
    KnowledgeTransfer, "knowledge transfer" => FittedKnowledgeTransfer { players } together by train_transfer;
);
