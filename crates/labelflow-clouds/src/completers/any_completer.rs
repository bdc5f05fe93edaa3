//! Completers of all kinds behind one type each, for tools that learn from a name or a folder which one they have.

use std::path::Path;

use labelflow::storage::{Checkpoint, ModelTask, SavedModel};
use labelflow::training::{DeviceKind, Observer, Report};
use labelflow::{Error, Result};

use super::completion_method::changed;
use crate::completers::{
    CodeCompleter, Completer, CompletionDataset, CompletionLearner, CompletionMethod,
    CompletionOptions, FittedCodeCompleter, FittedKnowledgeTransfer, FittedPointCloudCompleter,
    FittedShapeInversion, KnowledgeTransfer, PointCloudCompleter, ShapeInversion,
};
use crate::geometry::PointSet;

/// Settings of a completer of any kind.
#[derive(Debug, Clone, PartialEq)]
pub enum AnyCompletionLearner {
    /// Of a flow.
    Flow(PointCloudCompleter),
    /// Of completion by codes.
    Codes(CodeCompleter),
    /// Of completion by inversion.
    Inversion(ShapeInversion),
    /// Of KT-Net.
    Transfer(KnowledgeTransfer),
}

/// A trained completer of any kind, with its settings.
#[derive(Debug, Clone)]
pub struct AnyCompleter {
    config: AnyCompletionLearner,
    fitted: Fitted,
}

/// Does the same with whichever kind it is.
macro_rules! with_any {
    ($any:expr, $kinds:ident, $one:pat => $do:expr) => {
        match $any {
            $kinds::Flow($one) => $do,
            $kinds::Codes($one) => $do,
            $kinds::Inversion($one) => $do,
            $kinds::Transfer($one) => $do,
        }
    };
}

/// Conversions of each kind, and its fitted model.
macro_rules! kinds {
    ($($kind:ident: $learner:ty => $fitted:ty),+) => {
        $(impl From<$learner> for AnyCompletionLearner {
            fn from(learner: $learner) -> Self {
                Self::$kind(learner)
            }
        }

        impl From<$fitted> for AnyCompleter {
            fn from(fitted: $fitted) -> Self {
                let config = AnyCompletionLearner::$kind(fitted.config().clone());
                Self { config, fitted: Fitted::$kind(fitted) }
            }
        })+

        #[derive(Debug, Clone)]
        enum Fitted {
            $($kind($fitted)),+
        }
    };
}

kinds!(
    Flow: PointCloudCompleter => FittedPointCloudCompleter,
    Codes: CodeCompleter => FittedCodeCompleter,
    Inversion: ShapeInversion => FittedShapeInversion,
    Transfer: KnowledgeTransfer => FittedKnowledgeTransfer
);

impl AnyCompletionLearner {
    /// The system whose settings these are.
    pub fn method(&self) -> CompletionMethod {
        match self {
            Self::Flow(_) => CompletionMethod::Llf,
            Self::Codes(codes) if codes.d_noise == 0 => CompletionMethod::Pcl2Pcl,
            Self::Codes(codes) if codes.joint_reader => CompletionMethod::MmPcl2PclIm,
            Self::Codes(_) => CompletionMethod::MmPcl2Pcl,
            Self::Inversion(_) => CompletionMethod::ShapeInversion,
            Self::Transfer(_) => CompletionMethod::KtNet,
        }
    }

    /// The settings with what a table has in their place, at any depth.
    pub fn with(&self, changes: &toml::Table) -> Result<Self> {
        with_any!(self, Self, one => Ok(changed(one, changes)?.into()))
    }

    /// The settings in the text of a TOML table, of a model for this task.
    pub fn from_toml(task: ModelTask, text: &str) -> Result<Self> {
        let read = |error: toml::de::Error| {
            Error::config("settings", format!("those of a model for {task}"), error.message())
        };
        match task {
            ModelTask::Completion => {
                toml::from_str::<PointCloudCompleter>(text).map(Into::into).map_err(read)
            }
            ModelTask::CodeCompletion => {
                toml::from_str::<CodeCompleter>(text).map(Into::into).map_err(read)
            }
            ModelTask::InversionCompletion => {
                toml::from_str::<ShapeInversion>(text).map(Into::into).map_err(read)
            }
            ModelTask::TransferCompletion => {
                toml::from_str::<KnowledgeTransfer>(text).map(Into::into).map_err(read)
            }
            ModelTask::Classification | ModelTask::Regression => Err(no_completer(task)),
        }
    }

    /// The settings as the text of a TOML table.
    pub fn to_toml(&self) -> String {
        with_any!(self, Self, one => toml::to_string(one)).expect("settings can be written as TOML")
    }

    /// The settings as JSON.
    pub fn to_json(&self) -> String {
        with_any!(self, Self, one => serde_json::to_string(one)).expect("numbers and names")
    }

    /// The settings of a system in JSON.
    pub fn from_json(method: CompletionMethod, json: &str) -> serde_json::Result<Self> {
        match method.learner() {
            Self::Flow(_) => serde_json::from_str::<PointCloudCompleter>(json).map(Into::into),
            Self::Codes(_) => serde_json::from_str::<CodeCompleter>(json).map(Into::into),
            Self::Inversion(_) => serde_json::from_str::<ShapeInversion>(json).map(Into::into),
            Self::Transfer(_) => serde_json::from_str::<KnowledgeTransfer>(json).map(Into::into),
        }
    }

    /// Small networks for small clouds, that train in seconds.
    #[must_use]
    pub fn small(self) -> Self {
        match self {
            Self::Flow(_) => PointCloudCompleter::small().into(),
            Self::Codes(codes) => codes.small().into(),
            Self::Inversion(inversion) => inversion.small().into(),
            Self::Transfer(transfer) => transfer.small().into(),
        }
    }

    /// Where all randomness comes from.
    pub fn seed(&self) -> u64 {
        with_any!(self, Self, one => one.seed)
    }

    /// With another seed.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        with_any!(&mut self, Self, one => one.seed = seed);
        self
    }

    /// Points of a complete cloud in training.
    pub fn n_points(&self) -> usize {
        match self {
            Self::Flow(flow) => flow.n_points,
            Self::Codes(codes) => codes.n_points,
            Self::Inversion(inversion) => inversion.n_points(),
            Self::Transfer(transfer) => transfer.n_points,
        }
    }

    /// Points of a partial cloud.
    pub fn n_partial_points(&self) -> usize {
        with_any!(self, Self, one => one.n_partial_points)
    }

    /// With so many points of complete and of partial clouds.
    pub fn with_points(mut self, n_points: usize, n_partial_points: usize) -> Result<Self> {
        with_any!(&mut self, Self, one => one.n_partial_points = n_partial_points);
        match &mut self {
            Self::Flow(flow) => flow.n_points = n_points,
            Self::Codes(codes) => codes.n_points = n_points,
            Self::Transfer(transfer) => transfer.n_points = n_points,
            Self::Inversion(inversion) => {
                return Ok(inversion.clone().with_n_points(n_points)?.into());
            }
        }
        Ok(self)
    }

    /// With so many epochs of every stage.
    #[must_use]
    pub fn with_epochs(mut self, max_epochs: usize) -> Self {
        match &mut self {
            Self::Flow(flow) => flow.training.max_epochs = max_epochs,
            Self::Codes(codes) => {
                codes.stages_mut().into_iter().for_each(|stage| stage.max_epochs = max_epochs);
            }
            Self::Inversion(inversion) => inversion.training.max_epochs = max_epochs,
            Self::Transfer(transfer) => transfer.training.max_epochs = max_epochs,
        }
        self
    }

    /// With so many clouds in the steps of every stage.
    #[must_use]
    pub fn with_batch_size(mut self, batch_size: usize) -> Self {
        match &mut self {
            Self::Flow(flow) => flow.training.batch_size = batch_size,
            Self::Codes(codes) => {
                codes.stages_mut().into_iter().for_each(|stage| stage.batch_size = batch_size);
            }
            Self::Inversion(inversion) => inversion.training.batch_size = batch_size,
            Self::Transfer(transfer) => transfer.training.batch_size = batch_size,
        }
        self
    }
}

impl AnyCompleter {
    /// The model as one file in memory.
    pub fn to_bytes(&self) -> Vec<u8> {
        with_any!(&self.fitted, Fitted, model => model.to_bytes())
    }

    /// The model that [`to_bytes`](Self::to_bytes) wrote, on the device cpu.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        match ModelTask::of_bytes(bytes)? {
            ModelTask::Completion => Ok(FittedPointCloudCompleter::from_bytes(bytes)?.into()),
            ModelTask::CodeCompletion => Ok(FittedCodeCompleter::from_bytes(bytes)?.into()),
            ModelTask::InversionCompletion => Ok(FittedShapeInversion::from_bytes(bytes)?.into()),
            ModelTask::TransferCompletion => Ok(FittedKnowledgeTransfer::from_bytes(bytes)?.into()),
            task @ (ModelTask::Classification | ModelTask::Regression) => Err(no_completer(task)),
        }
    }
}

fn no_completer(task: ModelTask) -> Error {
    Error::data("model", "one that completes point clouds", format!("one for {task}"))
}

impl CompletionLearner for AnyCompletionLearner {
    type Fitted = AnyCompleter;

    fn fit_with(
        &self,
        dataset: &CompletionDataset,
        checkpoint: Option<Checkpoint>,
        observer: &mut dyn Observer,
    ) -> Result<AnyCompleter> {
        with_any!(self, Self, one => Ok(one.fit_with(dataset, checkpoint, observer)?.into()))
    }

    fn run_digest(&self, dataset: &CompletionDataset) -> String {
        with_any!(self, Self, one => one.run_digest(dataset))
    }

    fn device(&self) -> DeviceKind {
        with_any!(self, Self, one => one.device)
    }

    fn with_device(mut self, device: DeviceKind) -> Self {
        with_any!(&mut self, Self, one => one.device = device);
        self
    }
}

impl Completer for AnyCompleter {
    type Learner = AnyCompletionLearner;

    fn complete(&self, scan: &PointSet, options: &CompletionOptions) -> Result<Vec<PointSet>> {
        with_any!(&self.fitted, Fitted, model => model.complete(scan, options))
    }

    fn complete_all(
        &self,
        scans: &[PointSet],
        options: &CompletionOptions,
    ) -> Result<Vec<Vec<PointSet>>> {
        with_any!(&self.fitted, Fitted, model => model.complete_all(scans, options))
    }

    fn is_deterministic(&self) -> bool {
        with_any!(&self.fitted, Fitted, model => model.is_deterministic())
    }

    fn scores(&self, clouds: &[PointSet]) -> Result<Vec<f64>> {
        with_any!(&self.fitted, Fitted, model => model.scores(clouds))
    }

    fn one_each(&self, scans: &[PointSet], seed: u64) -> Result<Vec<PointSet>> {
        with_any!(&self.fitted, Fitted, model => model.one_each(scans, seed))
    }

    fn n_partial_points(&self) -> usize {
        self.config.n_partial_points()
    }

    fn config(&self) -> &AnyCompletionLearner {
        &self.config
    }

    fn report(&self) -> &Report {
        with_any!(&self.fitted, Fitted, model => model.report())
    }

    fn to_device(self, device: DeviceKind) -> Result<Self> {
        with_any!(self.fitted, Fitted, model => Ok(model.to_device(device)?.into()))
    }

    fn save(&self, folder: &Path) -> Result<()> {
        with_any!(&self.fitted, Fitted, model => Completer::save(model, folder))
    }

    fn save_with_origin(&self, folder: &Path, origin: &toml::Table) -> Result<()> {
        with_any!(&self.fitted, Fitted, model => Completer::save_with_origin(model, folder, origin))
    }

    fn load(folder: &Path) -> Result<Self> {
        match ModelTask::of_folder(folder)? {
            ModelTask::Completion => {
                Ok(<FittedPointCloudCompleter as SavedModel>::load(folder)?.into())
            }
            ModelTask::CodeCompletion => {
                Ok(<FittedCodeCompleter as SavedModel>::load(folder)?.into())
            }
            ModelTask::InversionCompletion => {
                Ok(<FittedShapeInversion as SavedModel>::load(folder)?.into())
            }
            ModelTask::TransferCompletion => {
                Ok(<FittedKnowledgeTransfer as SavedModel>::load(folder)?.into())
            }
            task @ (ModelTask::Classification | ModelTask::Regression) => {
                let found = format!("one for {task}");
                Err(Error::format(folder, "a model that completes point clouds", found))
            }
        }
    }
}
