//! Training on rows that need not be in memory.
//!
//! If all rows fit, they are read once, and training is that of rows in memory. If not, rows are [dealt out](crate::sources::dealt_rows) at
//! random to blocks on disk, once. Every epoch puts windows together from blocks anew, each as many rows as the memory holds, and visits the
//! rows of each window in random batches. (Windows of neighbouring rows would be told apart by the weights where rows are in an
//! order, and windows that stay the same would be learned.) Statistics over all rows are those of [`Batch`](crate::training::Batch), with all that is
//! outside the window as one sum for each block:
//!
//! ```text
//! total = Σ_{other blocks} F_b + Σ_{window} f(stale) − Σ_batch f(stale) + Σ_batch f(fresh),   F_b = Σ_{block} f when last visited
//! ```
//!
//! where the stale labels are those that the flow gives when the window is read. So nothing is kept of a row between two epochs.

use std::path::Path;

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use labelflow_files::Sha256;
use labelflow_flow::{Bijection, Flow};
use labelflow_weak::linear::ColumnMoments;
use labelflow_weak::rows::Features;

use super::dealt_rows::DealtRows;
use super::row_source::{RowLayout, read_all};
use super::window_pass::WindowPass;
use super::window_plan::WindowPlan;
use crate::learners::Scaling;
use crate::learners::row_samples::to_tensor;
use crate::learners::scaling::{Scaler, scale};
use crate::sources::{RowSignals, RowSource, SourceRows};
use crate::storage::Checkpoint;
use crate::training::epochs::Course;
use crate::training::stream;
use crate::training::train::{Task, train};
use crate::training::{BatchSize, Objective, Observer, Report, TrainConfig};
use crate::{Error, Result};

/// Trains on rows that were looked at before.
type Fit<'a, M> = dyn Fn(&PartedRows<'a>, Start<'_>) -> Result<M> + 'a;

/// A fit to rows of a source, of which a first pass has told what scaling and constraints must know.
pub struct StreamedFit<'a, M> {
    pub(crate) rows: PartedRows<'a>,
    pub(crate) n_uncovered: u64,
    pub(crate) fit: Box<Fit<'a, M>>,
}

/// Where training starts, and who watches it.
pub(crate) struct Start<'a> {
    /// For rows that do not fit in memory.
    folder: &'a Path,
    checkpoint: Option<Checkpoint>,
    observer: &'a mut dyn Observer,
}

impl<M> StreamedFit<'_, M> {
    /// A digest of the settings, the memory and the data: two runs with the same digest end with the same weights.
    pub fn digest(&self) -> &str {
        &self.rows.digest
    }

    /// Number of rows of which no labeler or rule speaks.
    pub fn n_uncovered(&self) -> u64 {
        self.n_uncovered
    }

    /// Number of windows: parts of the rows that are in memory one after the other in each epoch. One means that all rows are.
    pub fn n_windows(&self) -> usize {
        self.rows.plan.n_windows
    }

    /// The most rows of a step.
    pub fn batch_rows(&self) -> usize {
        self.rows.plan.batch_rows
    }

    /// The bytes that rows in random order take on disk while training lasts: none if there is one window.
    pub fn disk_bytes(&self) -> u64 {
        match self.rows.plan.n_windows {
            1 => 0,
            _ => self.rows.source.n_rows() * self.rows.layout.bytes() as u64,
        }
    }

    /// Trains, from a checkpoint if there is one, watched by an observer.
    ///
    /// Rows that do not fit in memory are written to a file in `folder` that has no name, and is gone when training ends or the process
    /// does.
    pub fn fit(
        &self,
        folder: &Path,
        checkpoint: Option<Checkpoint>,
        observer: &mut dyn Observer,
    ) -> Result<M> {
        if checkpoint.as_ref().is_some_and(|checkpoint| checkpoint.run != self.rows.digest) {
            let found = "one of other settings, memory or data";
            return Err(Error::data("checkpoint", "one of this run", found));
        }
        (self.fit)(&self.rows, Start { folder, checkpoint, observer })
    }
}

/// Rows of a source after the first pass.
pub(crate) struct PartedRows<'a> {
    pub(crate) source: &'a dyn RowSource,
    layout: RowLayout,
    plan: WindowPlan,
    scaling: Scaling,
    moments: ColumnMoments,
    digest: String,
}

/// What a learner brings to training.
pub(crate) struct PartLearner<'a> {
    pub(crate) d_labels: usize,
    pub(crate) seed: u64,
    pub(crate) weight_decay: f64,
    pub(crate) training: &'a TrainConfig,
    /// With gradients.
    pub(crate) device: Device,
    /// What must hold of all rows, as far as it is about these.
    pub(crate) objective: &'a dyn Fn(&Features, &RowSignals) -> Result<Objective>,
}

/// What training ended with.
pub(crate) struct Trained<B: Bijection> {
    /// Without gradients.
    pub(crate) flow: Flow<B>,
    pub(crate) scaler: Option<Scaler>,
    pub(crate) report: Report,
}

impl<'a> PartedRows<'a> {
    /// Visits all rows once. `settings` are those that decide the course of training.
    pub(crate) fn prepare(
        source: &'a dyn RowSource,
        plan: WindowPlan,
        scaling: Scaling,
        settings: &str,
        visit: &mut dyn FnMut(&Features, &RowSignals) -> Result<()>,
    ) -> Result<Self> {
        let layout = RowLayout::of(source);
        let mut hash = Sha256::default();
        hash.update(settings);
        hash.update(format!("{plan:?} {layout:?}"));
        let mut moments = ColumnMoments::default();
        source.visit(&mut |rows| {
            let n_rows = layout.check(&rows)?;
            let mut bytes = Vec::with_capacity(n_rows * layout.bytes());
            (0..n_rows).for_each(|row| layout.write(&rows, row, &mut bytes));
            hash.update(&bytes);
            drop(bytes);
            moments.push(rows.features.view())?;
            let features = Features::with_names(rows.features, source.feature_names().to_vec())?;
            visit(&features, &rows.signals)
        })?;
        if moments.n_rows() != source.n_rows() {
            let expected = format!("{} rows", source.n_rows());
            return Err(Error::data("features", expected, moments.n_rows()));
        }
        let digest = hash.hex();
        Ok(Self { source, layout, plan, scaling, moments, digest })
    }

    /// Trains a flow.
    pub(crate) fn train<B: Bijection>(
        &self,
        flow: Flow<B>,
        learner: &PartLearner<'_>,
        start: Start<'_>,
    ) -> Result<Trained<B>> {
        let trained = match self.plan.n_windows {
            1 => self.train_in_memory(flow, learner, start),
            _ => self.train_by_windows(flow, learner, start),
        };
        labelflow_flow::release_buffers();
        trained
    }

    fn train_in_memory<B: Bijection>(
        &self,
        flow: Flow<B>,
        learner: &PartLearner<'_>,
        start: Start<'_>,
    ) -> Result<Trained<B>> {
        let rows = read_all(self.source)?;
        let features = Features::with_names(rows.features, self.source.feature_names().to_vec())?;
        let scaler = self.scaling.fit(&features)?;
        let objective = (learner.objective)(&features, &rows.signals)?;
        let scaled = scale(scaler.as_ref(), features.values())?;
        drop((features, rows.signals));
        let task = Task {
            objective: &objective,
            features: to_tensor(scaled.view(), &learner.device),
            d_labels: learner.d_labels,
            weight_decay: learner.weight_decay,
            seed: learner.seed,
            run: self.digest.clone(),
        };
        drop(scaled);
        let batch_size = BatchSize::Rows(self.plan.batch_rows);
        let training = TrainConfig { batch_size, ..learner.training.clone() };
        let (flow, report) = train(flow, &task, &training, start.checkpoint, start.observer)?;
        Ok(Trained { flow: flow.valid(), scaler, report })
    }

    fn train_by_windows<B: Bijection>(
        &self,
        flow: Flow<B>,
        learner: &PartLearner<'_>,
        start: Start<'_>,
    ) -> Result<Trained<B>> {
        let scaler = match self.scaling {
            Scaling::Standardize => Some(Scaler::Standard(self.moments.standard_scaler()?)),
            Scaling::Range => Some(Scaler::Range(self.moments.range_scaler()?)),
            Scaling::None => None,
        };
        let plan = &self.plan;
        let rng = &mut stream(learner.seed, "blocks", 0);
        let (n_blocks, chunk_rows) = (plan.n_blocks(), plan.chunk_rows);
        let dealt = DealtRows::deal(self.source, n_blocks, chunk_rows, rng, start.folder)?;
        let load = |rows: SourceRows| -> Result<(Tensor<2>, Objective)> {
            let names = self.source.feature_names().to_vec();
            let features = Features::with_names(rows.features, names)?;
            let objective = (learner.objective)(&features, &rows.signals)?;
            let scaled = scale(scaler.as_ref(), features.values())?;
            drop(features);
            Ok((to_tensor(scaled.view(), &learner.device), objective))
        };
        let mut pass = WindowPass {
            rows: &dealt,
            plan,
            load: &load,
            learner,
            n_rows: self.source.n_rows(),
            terms: Vec::new(),
            totals: Vec::new(),
        };
        let course = match start.checkpoint {
            None => Course::start(flow, learner.training, &learner.device),
            Some(checkpoint) => {
                pass.totals = WindowPass::totals_of(&checkpoint, n_blocks)?;
                Course::resume(flow, &checkpoint, learner.training, &learner.device)?
            }
        };
        let (flow, report) =
            course.run(&mut pass, &self.digest, learner.training, start.observer)?;
        Ok(Trained { flow: pass.settle(&flow)?, scaler, report })
    }
}
