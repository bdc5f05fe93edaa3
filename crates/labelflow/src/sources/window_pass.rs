//! A pass over rows that are read window by window; [`fit_rows`](crate::sources::fit_rows) says how.

use std::ops::Range;

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use labelflow_flow::{Bijection, Flow, Mode, StatisticsRecorder};

use super::dealt_rows::DealtRows;
use super::window_plan::{WindowPlan, places};
use crate::sources::{PartLearner, SourceRows};
use crate::storage::Checkpoint;
use crate::training::{
    Course, Objective, Rows, StepNumbers, Task, Tracker, Trainee, TrainingState, batches, draw_noise, no_labels,
    select_noise, settle_batches, stream,
};
use crate::{Error, Result};

/// The statistics of blocks in a checkpoint: this and a number, a tensor `[n_blocks, n_statistics]` each.
const TRACKED_TOTALS: &str = "tracked_totals.";

/// Rows in memory.
struct Window {
    /// `[n_rows, d_features]`
    features: Tensor<2>,
    /// What must hold of all rows, as far as it is about these.
    objective: Objective,
    /// Its blocks, each with its rows in the window.
    blocks: Vec<(usize, Range<usize>)>,
}

impl Window {
    fn n_rows(&self) -> usize {
        self.features.dims()[0]
    }
}

/// What each constraint adds up over some rows.
type Totals = Vec<Vec<f32>>;

/// Reads windows and trains on them.
pub(crate) struct WindowPass<'a, B: Bijection> {
    pub(crate) course: Course<B>,
    pub(crate) rows: &'a DealtRows,
    pub(crate) plan: &'a WindowPlan,
    /// Scaled features of rows, and what must hold of them.
    pub(crate) load: &'a dyn Fn(SourceRows) -> Result<(Tensor<2>, Objective)>,
    pub(crate) learner: &'a PartLearner<'a>,
    /// Number of rows of all windows.
    pub(crate) n_rows: u64,
    /// The names of the objective's terms.
    pub(crate) terms: Vec<String>,
    /// Of each block when it was last visited; none before the first epoch.
    pub(crate) totals: Vec<Totals>,
}

impl<B: Bijection> Trainee for WindowPass<'_, B> {
    fn epoch(&mut self, epoch: usize) -> Result<Vec<StepNumbers>> {
        if self.totals.is_empty() {
            self.first_totals()?;
        }
        let mut steps = Vec::new();
        // Added up anew, so that rounding errors do not pile up and a resumed run sees the same numbers.
        let mut sums = RunningSums::of(&self.totals);
        let windows = self.plan.windows(self.learner.settings.seed, epoch as u64 + 1);
        for (index, blocks) in windows.iter().enumerate() {
            let window = self.read(blocks)?;
            blocks.iter().for_each(|&block| sums.add(&self.totals[block], -1.0));
            let visit = epoch * windows.len() + index;
            steps.extend(self.visit(epoch, visit, &window, &sums)?);
            blocks.iter().for_each(|&block| sums.add(&self.totals[block], 1.0));
        }
        Ok(steps)
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
        self.course.state((0..n_slots).map(of_slot).collect())
    }

    fn terms(&self) -> Vec<String> {
        self.terms.clone()
    }
}

impl<B: Bijection> WindowPass<'_, B> {
    fn read(&mut self, blocks: &[usize]) -> Result<Window> {
        let (features, objective) = (self.load)(self.rows.read(blocks)?)?;
        self.terms = objective.terms();
        let blocks = places(blocks, |block| self.rows.n_rows_of(block));
        Ok(Window { features, objective, blocks })
    }

    fn batches(&self, window: &Window, visit: u64) -> Vec<Vec<i64>> {
        let n_rows = window.n_rows();
        // Batch statistics need two rows.
        let n_batches = n_rows.div_ceil(self.plan.batch_rows).clamp(1, (n_rows / 2).max(1));
        batches(self.learner.settings.seed, visit, n_rows, n_batches)
    }

    /// Trains on the rows of a window; `outside` are the sums over all other blocks.
    fn visit(
        &mut self,
        epoch: usize,
        visit: usize,
        window: &Window,
        outside: &RunningSums,
    ) -> Result<Vec<StepNumbers>> {
        let device = window.features.device();
        let PartLearner { d_labels, settings, .. } = *self.learner;
        let rng = stream(settings.seed, "noise of windows", visit as u64);
        let noise = draw_noise(rng, window.n_rows(), d_labels);
        let batches = self.batches(window, visit as u64);
        let labels = match batches.len() {
            // All rows of the window are in the batch: no stale label is ever looked at.
            1 => no_labels(window.n_rows(), d_labels, &device),
            _ => self.labels_now(window, &noise, &batches),
        };
        let tracker = Tracker::of_window(labels, outside.tensors(&device), self.n_rows);
        let task = Task { objective: &window.objective, features: window.features.clone(), d_labels, settings };
        let steps = task.visit(&mut self.course, epoch, &noise, Some(&tracker), &batches)?;
        self.remember(window, tracker.labels());
        Ok(steps)
    }

    /// Keeps the statistics of a window's blocks under these labels.
    fn remember(&mut self, window: &Window, labels: Tensor<2>) {
        for (block, rows) in &window.blocks {
            self.totals[*block] = totals(&window.objective, labels.clone(), rows.clone());
        }
    }

    /// The labels that the flow gives all rows of a window, `[n_rows, d_labels]`.
    fn labels_now(&self, window: &Window, noise: &[f32], batches: &[Vec<i64>]) -> Tensor<2> {
        let (n_rows, d_labels) = (window.n_rows(), self.learner.d_labels);
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
        let d_labels = self.learner.d_labels;
        self.totals = vec![Vec::new(); self.plan.n_blocks()];
        for blocks in self.plan.windows(self.learner.settings.seed, 0) {
            let window = self.read(&blocks)?;
            let labels = no_labels(window.n_rows(), d_labels, &window.features.device());
            self.remember(&window, labels);
        }
        Ok(())
    }

    /// A flow without gradients, with running statistics of all rows under the final weights.
    pub(crate) fn settle(&mut self) -> Result<Flow<B>> {
        let mut flow = self.course.flow().valid();
        let mut n_batches = 0;
        for (index, blocks) in self.plan.windows(self.learner.settings.seed, 0).iter().enumerate() {
            let window = self.read(blocks)?;
            let rng = stream(self.learner.settings.seed, "statistics", index as u64);
            let noise = draw_noise(rng, window.n_rows(), self.learner.d_labels);
            let batches = self.batches(&window, index as u64);
            flow = settle_batches(flow, &window.features, &noise, &batches, n_batches);
            n_batches += batches.len();
        }
        Ok(flow)
    }
}

/// The statistics of blocks that a checkpoint keeps.
pub(crate) fn totals_of(checkpoint: &Checkpoint, n_blocks: usize) -> Result<Vec<Totals>> {
    let mut totals = vec![Vec::new(); n_blocks];
    for slot in 0.. {
        let Some(sums) = checkpoint.memory.get(&format!("{TRACKED_TOTALS}{slot}")) else {
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
    use crate::training::Batch;

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
