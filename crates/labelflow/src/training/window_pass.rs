//! A pass over all rows, window after window. Rows in memory are one window.
//!
//! Statistics over all rows are those of [`Batch`](crate::training::Batch), with all that is outside the window as one sum for each block:
//!
//! ```text
//! total = Σ_{other blocks} F_b + Σ_{window} f(stale) − Σ_batch f(stale) + Σ_batch f(fresh),   F_b = Σ_{block} f when last visited
//! ```
//!
//! One window has no other blocks, and keeps the labels that each row had when it was last visited; several give their rows the labels of
//! the flow when they are read, so that nothing is kept of a row between two epochs.

use std::ops::Range;
use std::rc::Rc;

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use labelflow_flow::{Bijection, Flow, Mode, State, StatisticsRecorder, absorb, records};

use super::stream;
use super::train::{batches, draw_noise, select_noise};
use crate::learners::FlowSettings;
use crate::sources::{DealtRows, SourceRows, WindowPlan, places};
use crate::storage::Checkpoint;
use crate::training::{
    Batch, Course, EpochRecord, Objective, Report, Rows, Start, StepInput, StepNumbers, Tracker, Trainee,
    TrainingState, no_labels, recorded_training, run_epochs, shrink_weights, step,
};
use crate::{Error, Result};

/// The labels of the rows of one window in a checkpoint.
pub(crate) const TRACKED_LABELS: &str = "tracked_labels";
/// The statistics of blocks in a checkpoint: this and a number, a tensor `[n_blocks, n_statistics]` each.
const TRACKED_TOTALS: &str = "tracked_totals.";

/// Rows in memory.
#[derive(Debug)]
pub(crate) struct Window {
    /// `[n_rows, d_features]`
    pub(crate) features: Tensor<2>,
    /// What must hold of all rows, as far as it is about these.
    pub(crate) objective: Objective,
    /// Its blocks, each with its rows in the window; none where all rows are one window.
    pub(crate) blocks: Vec<(usize, Range<usize>)>,
}

impl Window {
    pub(crate) fn n_rows(&self) -> usize {
        self.features.dims()[0]
    }

    /// One step for each batch. The noise is `[n_rows, d_labels]`, row after row; the tracker is what stands in for rows outside a batch,
    /// none if all rows are in one.
    fn visit<B: Bijection>(
        &self,
        course: &mut Course<B>,
        epoch: usize,
        settings: FlowSettings<'_>,
        noise: &[f32],
        tracker: Option<&Tracker>,
        batches: &[Vec<i64>],
    ) -> Result<Vec<StepNumbers>> {
        let (device, d_labels) = (self.features.device(), noise.len() / self.n_rows());
        let FlowSettings { training, weight_decay, .. } = settings;
        let mut steps = Vec::with_capacity(batches.len());
        for indices in batches {
            let batch = tracker.map_or_else(Batch::full, |tracker| tracker.batch(Rows::of(indices, &device)));
            let features = batch.rows().select(&self.features, 0);
            let noise = select_noise(noise, indices, d_labels);
            let input = StepInput { features, noise: Tensor::from_data(noise, &device), batch: &batch };
            let (next, labels, numbers) =
                step(course.take_flow(), &mut course.adam, &self.objective, input, training, epoch)?;
            course.flow = Some(match weight_decay > 0.0 {
                true => shrink_weights(next, 1.0 - training.weight_decay(epoch, weight_decay)),
                false => next,
            });
            if let Some(tracker) = tracker {
                tracker.remember(&batch, labels);
            }
            steps.push(numbers);
        }
        Ok(steps)
    }
}

/// Where windows come from.
pub(crate) enum Windows<'a> {
    /// All rows are one, which stays in memory.
    Kept(Rc<Window>),
    /// They are put together from blocks of rows on disk, in every epoch anew.
    Dealt { rows: DealtRows, plan: &'a WindowPlan, load: Box<dyn Fn(SourceRows) -> Result<Window> + 'a> },
}

impl Windows<'_> {
    /// The blocks that the pass of this number puts together, window after window.
    fn blocks(&self, seed: u64, number: u64) -> Vec<Vec<usize>> {
        match self {
            Self::Kept(_) => vec![Vec::new()],
            Self::Dealt { plan, .. } => plan.windows(seed, number),
        }
    }

    fn n_blocks(&self) -> usize {
        match self {
            Self::Kept(_) => 0,
            Self::Dealt { plan, .. } => plan.n_blocks(),
        }
    }

    fn read(&self, blocks: &[usize]) -> Result<Rc<Window>> {
        match self {
            Self::Kept(window) => Ok(Rc::clone(window)),
            Self::Dealt { rows, load, .. } => {
                let blocks_in_window = places(blocks, |block| rows.n_rows_of(block));
                Ok(Rc::new(Window { blocks: blocks_in_window, ..load(rows.read(blocks)?)? }))
            }
        }
    }

    /// What the noise of training is drawn for.
    fn purpose_of_noise(&self) -> &'static str {
        match self {
            Self::Kept(_) => "noise",
            Self::Dealt { .. } => "noise of windows",
        }
    }
}

/// Rows to train on, and what is made of them.
pub(crate) struct Task<'a> {
    pub(crate) windows: Windows<'a>,
    /// Number of rows of all windows.
    pub(crate) n_rows: u64,
    /// The most rows of a step.
    pub(crate) batch_rows: usize,
    /// Width of the labels.
    pub(crate) d_labels: usize,
    pub(crate) settings: FlowSettings<'a>,
    /// With gradients.
    pub(crate) device: Device,
}

impl Task<'_> {
    fn n_batches(&self, window: &Window) -> usize {
        let n_rows = window.n_rows();
        // Batch statistics need two rows.
        n_rows.div_ceil(self.batch_rows).clamp(1, (n_rows / 2).max(1))
    }

    /// The rows of the batches of a window, for a visit of this number.
    pub(crate) fn batches(&self, window: &Window, visit: u64) -> Vec<Vec<i64>> {
        batches(self.settings.seed, visit, window.n_rows(), self.n_batches(window))
    }

    /// One draw for every row of a window, for a visit of this number, the same whatever the batches.
    pub(crate) fn noise(&self, window: &Window, visit: u64) -> Vec<f32> {
        self.noise_for(self.windows.purpose_of_noise(), window, visit)
    }

    fn noise_for(&self, purpose: &str, window: &Window, number: u64) -> Vec<f32> {
        draw_noise(stream(self.settings.seed, purpose, number), window.n_rows(), self.d_labels)
    }

    /// A flow without gradients, with running statistics of all rows under its weights.
    ///
    /// With small batches the running ones are an average over the last ten or so, taken while the weights still moved. Nothing takes
    /// gradients here, and what they need would pile up from batch to batch.
    fn settle<B: Bijection>(&self, flow: Flow<B>) -> Result<Flow<B>> {
        let mut flow = flow.valid();
        let mut n_batches = 0u32;
        for (index, blocks) in self.windows.blocks(self.settings.seed, 0).iter().enumerate() {
            let window = self.windows.read(blocks)?;
            let features = window.features.clone().inner();
            let noise = self.noise_for("statistics", &window, index as u64);
            for rows in self.batches(&window, index as u64) {
                let noise = Tensor::from_data(select_noise(&noise, &rows, self.d_labels), &features.device());
                let features = Rows::of(&rows, &features.device()).select(&features, 0);
                let recorder = StatisticsRecorder::default();
                flow.sample_with_log_prob(noise, features, Mode::Train(&recorder));
                n_batches += 1;
                flow = absorb(flow, recorder, 1.0 / f64::from(n_batches));
            }
        }
        Ok(flow)
    }
}

/// What each constraint adds up over some rows.
type Totals = Vec<Vec<f32>>;

/// Trains on all rows, window after window.
pub(crate) struct WindowPass<'a, B: Bijection> {
    pub(crate) task: &'a Task<'a>,
    pub(crate) course: Course<B>,
    /// The names of the objective's terms.
    /// Of one window with several batches: the labels that each row had when it was last visited.
    pub(crate) labels: Option<Tensor<2>>,
    /// Of each block when it was last visited; none before the first epoch.
    totals: Vec<Totals>,
}

/// Trains a flow on all rows; the flow that is returned is without gradients.
pub(crate) fn train<B: Bijection>(flow: Flow<B>, task: &Task<'_>, start: Start<'_>) -> Result<(Flow<B>, Report)> {
    let Start { run, checkpoint, observer } = start;
    let mut pass = WindowPass::new(flow, task, checkpoint)?;
    let (flow, report) = match &task.windows {
        Windows::Kept(window) if records(&task.device) => recorded_training::train(&mut pass, window, run, observer)?,
        _ => {
            let history = std::mem::take(&mut pass.course.history);
            let report = run_epochs(&mut pass, history, run, task.settings.training, observer)?;
            (pass.course.take_flow(), report)
        }
    };
    let has_one_batch = pass.labels.is_none() && task.windows.n_blocks() == 0;
    Ok((if has_one_batch { flow.valid() } else { task.settle(flow)? }, report))
}

impl<B: Bijection> Trainee for WindowPass<'_, B> {
    fn epoch(&mut self, epoch: usize) -> Result<EpochRecord> {
        let task = self.task;
        if self.totals.len() < task.windows.n_blocks() {
            self.first_totals()?;
        }
        let (mut steps, mut terms) = (Vec::new(), Vec::new());
        // Added up anew, so that rounding errors do not pile up and a resumed run sees the same numbers.
        let mut sums = RunningSums::of(&self.totals);
        let windows = task.windows.blocks(task.settings.seed, epoch as u64 + 1);
        for (index, blocks) in windows.iter().enumerate() {
            let window = task.windows.read(blocks)?;
            terms = window.objective.terms();
            blocks.iter().for_each(|&block| sums.add(&self.totals[block], -1.0));
            let visit = epoch * windows.len() + index;
            steps.extend(self.visit(epoch, visit as u64, &window, &sums)?);
            blocks.iter().for_each(|&block| sums.add(&self.totals[block], 1.0));
        }
        Ok(EpochRecord::of_steps(epoch, &steps, &terms, task.settings.training.learning_rate(epoch)))
    }

    fn state(&self) -> TrainingState {
        let n_slots = self.totals.first().map_or(0, Vec::len);
        let of_slot = |slot: usize| {
            let sums: Vec<f32> = self.totals.iter().flat_map(|block| &block[slot]).copied().collect();
            let n_blocks = self.totals.len();
            let n_statistics = sums.len() / n_blocks;
            let sums = TensorData::new(sums, [n_blocks, n_statistics]);
            (format!("{TRACKED_TOTALS}{slot}"), sums)
        };
        let labels = self.labels.iter().map(|labels| (TRACKED_LABELS.to_owned(), labels.to_data()));
        self.course.state(labels.chain((0..n_slots).map(of_slot)).collect())
    }

    fn has_converged(&self, history: &[EpochRecord]) -> bool {
        self.task.settings.training.has_converged(history)
    }
}

impl<'a, B: Bijection> WindowPass<'a, B> {
    /// From the start, or from a checkpoint.
    pub(crate) fn new(flow: Flow<B>, task: &'a Task<'a>, checkpoint: Option<Checkpoint>) -> Result<Self> {
        let memory = checkpoint.as_ref().map(|checkpoint| &checkpoint.memory);
        let labels = match &task.windows {
            Windows::Kept(window) if task.n_batches(window) > 1 => Some(labels_of(memory, window, task.d_labels)?),
            _ => None,
        };
        let totals = memory.map_or_else(|| Ok(Vec::new()), |memory| totals_of(memory, task.windows.n_blocks()))?;
        let course = Course::new(flow, checkpoint, task.settings.training, &task.device)?;
        Ok(Self { task, course, labels, totals })
    }

    /// Trains on the rows of a window; `outside` are the sums over all other blocks.
    fn visit(&mut self, epoch: usize, visit: u64, window: &Window, outside: &RunningSums) -> Result<Vec<StepNumbers>> {
        let Task { d_labels, settings, n_rows, .. } = *self.task;
        let (noise, batches) = (self.task.noise(window, visit), self.task.batches(window, visit));
        let device = window.features.device();
        let tracker = match (&self.labels, batches.len()) {
            // All rows are in the batch.
            (None, 1) if window.blocks.is_empty() => None,
            (Some(labels), _) => Some(labels.clone()),
            // All rows of the window are in the batch: no stale label is ever looked at.
            (None, 1) => Some(no_labels(window.n_rows(), d_labels, &device)),
            (None, _) => Some(self.labels_now(window, &noise, &batches)),
        };
        let tracker = tracker.map(|labels| Tracker::of_window(labels, outside.tensors(&device), n_rows));
        let steps = window.visit(&mut self.course, epoch, settings, &noise, tracker.as_ref(), &batches)?;
        if let Some(tracker) = tracker {
            self.remember(window, tracker.labels());
        }
        Ok(steps)
    }

    /// Keeps the labels of a window, or the statistics of its blocks under these labels.
    fn remember(&mut self, window: &Window, labels: Tensor<2>) {
        for (block, rows) in &window.blocks {
            self.totals[*block] = totals(&window.objective, labels.clone(), rows.clone());
        }
        if let Some(kept) = &mut self.labels {
            *kept = labels;
        }
    }

    /// The labels that the flow gives all rows of a window, `[n_rows, d_labels]`.
    fn labels_now(&self, window: &Window, noise: &[f32], batches: &[Vec<i64>]) -> Tensor<2> {
        let (n_rows, d_labels) = (window.n_rows(), self.task.d_labels);
        let (flow, features) = (self.course.flow().valid(), window.features.clone().inner());
        let device = features.device();
        let mut labels = vec![0f32; n_rows * d_labels];
        for indices in batches {
            let noise = Tensor::from_data(select_noise(noise, indices, d_labels), &device);
            let rows = Rows::of(indices, &device).select(&features, 0);
            let of_batch = flow.sample(noise, rows, Mode::Train(&StatisticsRecorder::default())).into_data();
            for (position, label) in of_batch.iter::<f32>().enumerate() {
                labels[indices[position / d_labels] as usize * d_labels + position % d_labels] = label;
            }
        }
        Tensor::from_data(TensorData::new(labels, [n_rows, d_labels]), &window.features.device())
    }

    /// What is added up over each block before the first step: of labels that say nothing, as for rows in memory.
    fn first_totals(&mut self) -> Result<()> {
        let Task { windows, settings, d_labels, .. } = self.task;
        self.totals = vec![Vec::new(); windows.n_blocks()];
        for blocks in windows.blocks(settings.seed, 0) {
            let window = windows.read(&blocks)?;
            let labels = no_labels(window.n_rows(), *d_labels, &window.features.device());
            self.remember(&window, labels);
        }
        Ok(())
    }
}

/// The labels of a window's rows that a checkpoint keeps, or those that say nothing.
fn labels_of(memory: Option<&State>, window: &Window, d_labels: usize) -> Result<Tensor<2>> {
    let (n_rows, device) = (window.n_rows(), window.features.device());
    match memory.and_then(|memory| memory.get(TRACKED_LABELS)) {
        None => Ok(no_labels(n_rows, d_labels, &device)),
        Some(labels) if labels.shape().to_vec() == [n_rows, d_labels] => Ok(Tensor::from_data(labels.clone(), &device)),
        Some(labels) => {
            let found = format!("labels of the shape {:?}", labels.shape().to_vec());
            Err(Error::data("checkpoint", format!("{:?} labels", [n_rows, d_labels]), found))
        }
    }
}

/// The statistics of blocks that a checkpoint keeps.
fn totals_of(memory: &State, n_blocks: usize) -> Result<Vec<Totals>> {
    let mut totals = vec![Vec::new(); n_blocks];
    for slot in 0.. {
        let Some(sums) = memory.get(&format!("{TRACKED_TOTALS}{slot}")) else {
            break;
        };
        let shape = sums.shape().to_vec();
        if shape.len() != 2 || shape[0] != n_blocks || shape[1] == 0 {
            let expected = format!("statistics of {n_blocks} blocks");
            return Err(Error::data("checkpoint", expected, format!("the shape {shape:?}")));
        }
        let sums: Vec<f32> = sums.iter::<f32>().collect();
        for (block, sums) in totals.iter_mut().zip(sums.chunks_exact(shape[1])) {
            block.push(sums.to_vec());
        }
    }
    Ok(totals)
}

/// Sums of what constraints add up over some of the blocks.
struct RunningSums(Vec<Vec<f64>>);

impl RunningSums {
    /// Over all of these blocks.
    fn of(blocks: &[Totals]) -> Self {
        let zeros = |slot: &Vec<f32>| vec![0.0; slot.len()];
        let mut sums = Self(blocks.first().map_or(Vec::new(), |b| b.iter().map(zeros).collect()));
        blocks.iter().for_each(|block| sums.add(block, 1.0));
        sums
    }

    /// Adds a block, or takes it away.
    fn add(&mut self, block: &Totals, sign: f64) {
        for (sums, slot) in self.0.iter_mut().zip(block) {
            sums.iter_mut().zip(slot).for_each(|(sum, &more)| *sum += sign * f64::from(more));
        }
    }

    /// One tensor for each constraint.
    fn tensors(&self, device: &Device) -> Vec<Tensor<1>> {
        let tensor = |sums: &Vec<f64>| {
            let values: Vec<f32> = sums.iter().map(|&sum| sum as f32).collect();
            Tensor::from_data(TensorData::new(values, [sums.len()]), device)
        };
        self.0.iter().map(tensor).collect()
    }
}

/// What the constraints add up over some rows of a window, all of whose labels are given.
fn totals(objective: &Objective, labels: Tensor<2>, rows: Range<usize>) -> Totals {
    let indices: Vec<i64> = rows.map(|row| row as i64).collect();
    let tracker = Tracker::from_labels(labels.clone());
    let alone = tracker.alone(Rows::of(&indices, &labels.device()));
    let labels = alone.rows().select(&labels, 0);
    for penalty in &objective.penalties {
        penalty.violation(&labels, &alone);
    }
    tracker.totals().into_iter().map(|sums| sums.into_data().iter::<f32>().collect()).collect()
}

#[cfg(test)]
mod tests {
    use labelflow_weak::labelers::Bounds;
    use labelflow_weak::rows::{Features, WeakDataset};
    use labelflow_weak::votes::{Votes, WeakSignals};
    use ndarray::Array2;

    use super::*;
    use crate::constraints::ConstraintConfig;
    use crate::constraints::{SignalTotals, Whole};
    use crate::sources::RowSignals;

    const N_ROWS: usize = 12;

    fn labels(rows: &[usize], shift: f32, device: &Device) -> Tensor<2> {
        let label = |row: &usize| [((row * 5) % 7) as f32 / 7.0 + shift, ((row * 3) % 5) as f32 / 5.0];
        let values: Vec<f32> = rows.iter().flat_map(label).collect();
        Tensor::from_data(TensorData::new(values, [rows.len(), 2]), device)
    }

    fn numbers(tensor: Tensor<1>) -> Vec<f32> {
        tensor.into_data().iter::<f32>().collect()
    }

    #[test]
    fn all_less_a_window_are_the_others() {
        let block = |index: usize| vec![vec![0.1 * index as f32, 1.0], vec![-3.0 * index as f32]];
        let blocks: Vec<Totals> = (0..7).map(block).collect();
        let mut sums = RunningSums::of(&blocks);
        [2, 5].iter().for_each(|&inside| sums.add(&blocks[inside], -1.0));
        let others: Vec<Totals> = [0, 1, 3, 4, 6].map(block).to_vec();
        let device = Device::flex();
        let found: Vec<Vec<f32>> = sums.tensors(&device).into_iter().map(numbers).collect();
        let expected = RunningSums::of(&others).tensors(&device).into_iter().map(numbers);
        assert_eq!(found, expected.collect::<Vec<_>>());
    }

    /// A batch of a window sees the statistics of all rows: those of its own labels, of its window and of other windows.
    #[test]
    fn a_window_sees_the_statistics_of_all_rows() {
        let device = Device::flex();
        let vote = |row: usize, signal: usize| ((row * 7 + signal * 5) % 3) as i64 - 1;
        let votes = Array2::from_shape_fn((N_ROWS, 3), |(row, signal)| vote(row, signal));
        let signals = WeakSignals::from_votes(Votes::from_indices(votes.view(), Some(2)).unwrap()).unwrap();
        let bounds = Bounds::constant(0.1, &signals).unwrap();
        let features = Array2::from_shape_fn((N_ROWS, 1), |(row, _)| (row % 4) as f64);
        let features = Features::new(features).unwrap();
        let constraints = [
            ConstraintConfig::ErrorBound { weight: 1.0 },
            ConstraintConfig::ClassBalance { weight: 1.0, shares: vec![0.3, 0.7] },
            ConstraintConfig::GroupMean {
                weight: 1.0,
                feature: "x0".to_owned(),
                threshold: 2.0,
                class: 1,
                above: 0.9,
                below: 0.2,
            },
        ];
        let mut totals_of_votes = SignalTotals::new(3, 2);
        totals_of_votes.add(signals.view());
        let mut groups = Whole::groups_of(&constraints, features.names()).unwrap();
        groups.iter_mut().flatten().for_each(|group| group.add(features.values()));
        let n_rows = N_ROWS as u64;
        let whole = Whole { n_rows, signals: totals_of_votes, bounds: bounds.clone(), groups };
        let objective = |rows: &[usize]| {
            let part = features.select_rows(rows);
            let votes = RowSignals::Votes(signals.select_rows(rows).votes().bytes().to_owned());
            let penalties = constraints
                .iter()
                .enumerate()
                .map(|(index, constraint)| constraint.build_part(index, &part, &votes, &whole, &device));
            Objective {
                n_members: 1,
                likelihood_weight: 1.0,
                final_likelihood_weight: None,
                penalties: penalties.collect::<Result<_>>().unwrap(),
            }
        };
        let (window, others): (Vec<usize>, Vec<usize>) = (0..N_ROWS).partition(|row| row % 3 > 0);
        let outside = totals(&objective(&others), labels(&others, 0.0, &device), 0..others.len());
        let outside = RunningSums::of(&[outside]).tensors(&device);
        let stale = labels(&window, 0.0, &device);
        let tracker = Tracker::of_window(stale, outside, n_rows);
        // Rows 1, 4 and 6 of the window are fresh.
        let fresh = [1, 4, 6].map(|place: usize| window[place]);
        let batch = tracker.batch(Rows::of(&[1, 4, 6], &device));
        let of_window = objective(&window);

        let dataset = WeakDataset::new(features.clone(), signals.clone(), bounds).unwrap();
        let shift = |row: usize| if fresh.contains(&row) { 0.25 } else { 0.0 };
        let all = (0..N_ROWS).map(|row| labels(&[row], shift(row), &device)).collect();
        let all = Tensor::cat(all, 0);
        for (constraint, penalty) in constraints.iter().zip(&of_window.penalties) {
            let expected = constraint.build(&dataset, &device).unwrap();
            let expected = numbers(expected.violation(&all, &Batch::full()));
            let found = numbers(penalty.violation(&labels(&fresh, 0.25, &device), &batch));
            assert!((found[0] - expected[0]).abs() < 1e-6, "{found:?} and {expected:?}");
        }
    }
}
