//! What all learners of completion share, so that comparisons and tools need not know which one they have.

use std::path::Path;

use labelflow_weak::point_clouds::PointSet;

use crate::{
    Checkpoint, CodeCompleter, CompletionDataset, CompletionOptions, DeviceKind,
    FittedCodeCompleter, FittedPointCloudCompleter, Observer, PointCloudCompleter, Report, Result,
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

    /// Several completions of a scan that lies in the frame of the shapes.
    fn complete(&self, scan: &PointSet, options: &CompletionOptions) -> Result<Vec<PointSet>>;

    /// The settings that it was trained with.
    fn config(&self) -> &Self::Learner;

    /// The course of training.
    fn report(&self) -> &Report;

    /// The same model on another device.
    fn to_device(self, device: DeviceKind) -> Result<Self>;

    /// Writes the model into a folder, replacing a model that is there.
    fn save(&self, folder: &Path) -> Result<()>;

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

            fn load(folder: &Path) -> Result<Self> {
                <$fitted>::load(folder)
            }
        }
    )+};
}

completers!(
    PointCloudCompleter => FittedPointCloudCompleter,
    CodeCompleter => FittedCodeCompleter
);
