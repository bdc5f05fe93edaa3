//! What the label learning flows of all tasks share: settings, their checks, and what a fitted one can do.

use std::borrow::Cow;
use std::fmt::Debug;

use burn::module::Module;
use burn::tensor::Device;
use labelflow_flow::{Bijection, Flow};
use labelflow_weak::rows::Features;
use labelflow_weak::settings::{check_at_least_one, check_cells};
use ndarray::{Array2, Array3};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::learners::{FeatureMap, Scaling, rows_at_once, sample_rows};
use crate::storage::ModelTask;
use crate::training::{DeviceKind, Report, TrainConfig};
use crate::{Error, Result};

/// A label learning flow of one task: what it does differently from those of other tasks.
pub trait FlowLearner: Clone + Debug + Serialize + DeserializeOwned {
    /// The task.
    const TASK: ModelTask;
    /// The maps of the flow.
    type Bijection: Bijection;
    /// What the labels are, as a saved model keeps it.
    type Labels: Clone + Debug + Serialize + DeserializeOwned;

    /// The settings that all tasks have.
    fn settings(&self) -> FlowSettings<'_>;

    /// Checks the settings that only this task has.
    fn check_own(&self) -> Result<()>;

    /// The same settings on another device.
    #[must_use]
    fn with_device(self, device: DeviceKind) -> Self;

    /// Width of the flow's labels: of all flows, where several stand side by side.
    fn d_labels(&self, labels: &Self::Labels) -> usize;

    /// Checks what a saved model says of the labels.
    fn check_labels(_: &Self::Labels) -> Result<()> {
        Ok(())
    }

    /// A flow with its first weights.
    fn init_flow(&self, d_features: usize, d_labels: usize, device: &Device) -> Flow<Self::Bijection>;

    /// Checks all that can be checked without data.
    fn check_settings(&self) -> Result<()> {
        let settings = self.settings();
        check_at_least_one(&[("n_steps", settings.n_steps), ("d_hidden", settings.d_hidden)])?;
        check_cells("d_hidden", settings.d_hidden, settings.d_hidden)?;
        check_cells(
            "n_steps",
            settings.n_steps,
            settings.n_members.saturating_mul(settings.d_hidden * settings.d_hidden),
        )?;
        if !settings.likelihood_weight.is_finite() {
            let weight = settings.likelihood_weight;
            return Err(Error::config("likelihood_weight", "a finite number", weight));
        }
        settings.training.check()?;
        self.check_own()
    }
}

/// The settings that the flows of all tasks have.
#[derive(Debug, Clone, Copy)]
pub struct FlowSettings<'a> {
    /// Where all randomness comes from.
    pub seed: u64,
    /// Maps one after another.
    pub n_steps: usize,
    /// Width of all hidden layers.
    pub d_hidden: usize,
    /// Flows side by side.
    pub n_members: usize,
    /// The weight of the likelihood term at the start.
    pub likelihood_weight: f64,
    /// After every step, weights shrink by this share of the step size.
    pub weight_decay: f64,
    /// Where to compute.
    pub device: DeviceKind,
    /// What is done to the features before anything else.
    pub scaling: Scaling,
    /// How training proceeds.
    pub training: &'a TrainConfig,
}

/// A trained label learning flow: p(y|x).
#[derive(Debug, Clone)]
pub struct FittedFlow<L: FlowLearner> {
    pub(crate) config: L,
    pub(crate) flow: Flow<L::Bijection>,
    pub(crate) feature_map: FeatureMap,
    pub(crate) feature_names: Vec<String>,
    pub(crate) labels: L::Labels,
    pub(crate) report: Report,
}

impl<L: FlowLearner> FittedFlow<L> {
    /// The settings it was trained with.
    pub fn config(&self) -> &L {
        &self.config
    }

    /// The course of training.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Names of the features.
    pub fn feature_names(&self) -> &[String] {
        &self.feature_names
    }

    /// The density itself; of real-valued labels on the scale where their range is [0, 1].
    pub fn flow(&self) -> &Flow<L::Bijection> {
        &self.flow
    }

    /// The same model on another device.
    pub fn to_device(mut self, device: DeviceKind) -> Result<Self> {
        self.flow = self.flow.fork(&device.open()?);
        self.config = self.config.with_device(device);
        Ok(self)
    }

    /// The columns that the model was trained on, in its order: by name, or by place where the columns have no names of their own.
    fn arranged<'f>(&self, features: &'f Features) -> Result<Cow<'f, Features>> {
        Ok(features.arranged(&self.feature_names, self.feature_names.len())?)
    }

    /// As many rows as are predicted at once when there are enough: fewer take less memory, more take no less time.
    pub fn rows_at_once(&self) -> usize {
        rows_at_once(&self.flow)
    }

    /// Features as the flow sees them.
    pub(crate) fn scaled(&self, features: &Features) -> Result<Array2<f32>> {
        self.feature_map.apply(&*self.arranged(features)?)
    }

    /// Labels drawn from p(y|x), `[n_samples, n_rows, d_labels]`, as the flow gives them.
    pub(crate) fn draw(&self, features: &Features, shape: [usize; 2]) -> Result<Array3<f32>> {
        let features = self.arranged(features)?;
        let scaled = self.scaled(&features)?;
        let FlowSettings { seed, device, .. } = self.config.settings();
        Ok(sample_rows(&self.flow, &features, &scaled, shape, seed, &device.open()?))
    }

    /// What a row takes as the flow's condition with an intermediate result, and as cells, as an array, scaled and as a tensor.
    pub(crate) fn condition_bytes(&self) -> usize {
        let [n_networks, d_hidden, _] = self.flow.bank.second.weight.dims();
        2 * n_networks * d_hidden * size_of::<f32>() + self.feature_names.len() * (3 * 8 + 2 * 4)
    }
}
