//! What all learners of completion share, so that comparisons and tools need not know which one they have.

use std::path::Path;

use labelflow_weak::point_clouds::{Normalization, PointCloud, PointSet};

use super::frame_search::frame_of;
use crate::{
    Checkpoint, CodeCompleter, CompletionDataset, CompletionOptions, DeviceKind,
    FittedCodeCompleter, FittedKnowledgeTransfer, FittedPointCloudCompleter, FittedShapeInversion,
    KnowledgeTransfer, Observer, PointCloudCompleter, Report, Result, ScanFrame, ShapeInversion,
};

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

/// Both traits by the methods of the types themselves.
macro_rules! completers {
    ($($learner:ty => $fitted:ty),+) => {$(
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
                self.save(folder)
            }

            fn save_with_origin(&self, folder: &Path, origin: &toml::Table) -> Result<()> {
                self.save_with_origin(folder, origin)
            }

            fn load(folder: &Path) -> Result<Self> {
                <$fitted>::load(folder)
            }
        }
    )+};
}

completers!(
    PointCloudCompleter => FittedPointCloudCompleter,
    CodeCompleter => FittedCodeCompleter,
    ShapeInversion => FittedShapeInversion,
    KnowledgeTransfer => FittedKnowledgeTransfer
);
