//! A pass over rows that are read window by window; [`streamed_fit`](crate::streamed_fit) says how.

use std::ops::Range;

use burn::module::Module;
use burn::tensor::{Tensor, TensorData};
use labelflow_flow::{Bijection, Flow, Mode, State, StatisticsRecorder};

use crate::adam::Adam;
use crate::batch::{Rows, Tracker};
use crate::epochs::{Pass, settle_batch};
use crate::stream::stream;
use crate::train::{StepInput, StepNumbers, batches, draw_noise, select_noise, step};
use crate::{Checkpoint, Error, Objective, Result, TrainConfig};

/// The statistics of blocks in a checkpoint: this and a number, a tensor `[n_blocks, n_statistics]` each.
const TRACKED_TOTALS: &str = "tracked_totals.";

/// Rows in memory.
pub(crate) struct Window {
    /// `[n_rows, d_features]`
    pub(crate) features: Tensor<2>,
    /// What must hold of all rows, as far as it is about these.
    pub(crate) objective: Objective,
    /// Its blocks, each with its rows in the window.
    pub(crate) blocks: Vec<(usize, Range<usize>)>,
}

impl Window {
    fn n_rows(&self) -> usize {
        self.features.dims()[0]
    }
}

/// What each constraint adds up over some rows.
type Totals = Vec<Vec<f32>>;

/// Reads windows and trains on them.
pub(crate) struct WindowPass<'a> {
    /// Reads blocks.
    pub(crate) load: &'a dyn Fn(&[usize]) -> Result<Window>,
    /// The blocks of each window; dealt out anew for every number.
    pub(crate) deal: &'a dyn Fn(u64) -> Vec<Vec<usize>>,
    /// The only window, once it was read.
    pub(crate) kept: Option<Window>,
    pub(crate) n_windows: usize,
    pub(crate) n_blocks: usize,
    /// Number of rows of all windows.
    pub(crate) n_rows: u64,
    pub(crate) batch_rows: usize,
    pub(crate) d_labels: usize,
    pub(crate) seed: u64,
    pub(crate) training: &'a TrainConfig,
    /// The names of the objective's terms.
    pub(crate) terms: Vec<String>,
    /// Of each block when it was last visited; none before the first epoch.
    pub(crate) totals: Vec<Totals>,
}

impl<B: Bijection> Pass<B> for WindowPass<'_> {
    fn run(
        &mut self,
        mut flow: Flow<B>,
        adam: &mut Adam,
        epoch: usize,
    ) -> Result<(Flow<B>, Vec<StepNumbers>)> {
        if self.totals.is_empty() {
            self.first_totals(&flow)?;
        }
        let mut steps = Vec::new();
        for (index, blocks) in (self.deal)(epoch as u64 + 1).iter().enumerate() {
            let window = self.take(blocks)?;
            flow = self.visit(flow, adam, epoch, index, &window, &mut steps)?;
            self.put_back(window);
        }
        Ok((flow, steps))
    }

    fn memory(&self) -> State {
        let n_slots = self.totals.first().map_or(0, Vec::len);
        let of_slot = |slot: usize| {
            let sums: Vec<f32> =
                self.totals.iter().flat_map(|block| &block[slot]).copied().collect();
            let n_blocks = self.totals.len();
            let n_statistics = sums.len() / n_blocks;
            let sums = TensorData::new(sums, [n_blocks, n_statistics]);
            (format!("{TRACKED_TOTALS}{slot}"), sums)
        };
        (0..n_slots).map(of_slot).collect()
    }

    fn terms(&self) -> Vec<String> {
        self.terms.clone()
    }
}

impl WindowPass<'_> {
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

    fn take(&mut self, blocks: &[usize]) -> Result<Window> {
        let window = match self.kept.take() {
            Some(window) => window,
            None => (self.load)(blocks)?,
        };
        self.terms = window.objective.terms();
        Ok(window)
    }

    /// One window need not be read again.
    fn put_back(&mut self, window: Window) {
        if self.n_windows == 1 {
            self.kept = Some(window);
        }
    }

    fn batches(&self, window: &Window, visit: u64) -> Vec<Vec<i64>> {
        let n_rows = window.n_rows();
        // Batch statistics need two rows.
        let n_batches = n_rows.div_ceil(self.batch_rows).clamp(1, (n_rows / 2).max(1));
        batches(self.seed, visit, n_rows, n_batches)
    }

    fn visit<B: Bijection>(
        &mut self,
        mut flow: Flow<B>,
        adam: &mut Adam,
        epoch: usize,
        index: usize,
        window: &Window,
        steps: &mut Vec<StepNumbers>,
    ) -> Result<Flow<B>> {
        let device = window.features.device();
        let visit = (epoch * self.n_windows + index) as u64;
        let noise = draw_noise(
            stream(self.seed, "noise of windows", visit),
            window.n_rows(),
            self.d_labels,
        );
        let batches = self.batches(window, visit);
        let labels = match batches.len() {
            // All rows of the window are in the batch: no stale label is ever looked at.
            1 => {
                Tensor::full([window.n_rows(), self.d_labels], 1.0 / self.d_labels as f64, &device)
            }
            _ => self.labels_now(&flow, window, &noise, &batches),
        };
        let outside = self.outside(window).into_iter().map(|sums| {
            let n_statistics = sums.len();
            Tensor::from_data(TensorData::new(sums, [n_statistics]), &device)
        });
        let tracker = Tracker::of_window(labels, outside.collect(), self.n_rows);
        for indices in &batches {
            let batch = tracker.batch(indices);
            let features = batch.rows().select(&window.features, 0);
            let noise = select_noise(&noise, indices, self.d_labels);
            let noise = Tensor::from_data(noise, &device);
            let input = StepInput { features, noise, batch: &batch };
            let (next, labels, numbers) =
                step(flow, adam, &window.objective, input, self.training, epoch)?;
            flow = next;
            tracker.remember(&batch, labels);
            steps.push(numbers);
        }
        self.remember(window, tracker.labels());
        Ok(flow)
    }

    /// The sums over all blocks outside a window.
    fn outside(&self, window: &Window) -> Totals {
        let is_inside = |block: usize| window.blocks.iter().any(|(inside, _)| *inside == block);
        let others: Vec<&Totals> = (0..self.totals.len())
            .filter(|&block| !is_inside(block))
            .map(|block| &self.totals[block])
            .collect();
        let sum = |slot: usize, statistic: usize| {
            others.iter().map(|totals| f64::from(totals[slot][statistic])).sum::<f64>() as f32
        };
        let slots = self.totals[0].iter().enumerate();
        slots.map(|(slot, sums)| (0..sums.len()).map(|s| sum(slot, s)).collect()).collect()
    }

    /// Keeps the statistics of a window's blocks under these labels.
    fn remember(&mut self, window: &Window, labels: Tensor<2>) {
        for (block, rows) in &window.blocks {
            self.totals[*block] = totals(&window.objective, labels.clone(), rows.clone());
        }
    }

    /// The labels that a flow gives all rows of a window, `[n_rows, d_labels]`.
    fn labels_now<B: Bijection>(
        &self,
        flow: &Flow<B>,
        window: &Window,
        noise: &[f32],
        batches: &[Vec<i64>],
    ) -> Tensor<2> {
        let device = window.features.device();
        let (flow, features) = (flow.valid(), window.features.clone().inner());
        let mut labels = vec![0f32; window.n_rows() * self.d_labels];
        for indices in batches {
            let noise = select_noise(noise, indices, self.d_labels);
            let noise = Tensor::from_data(noise, &features.device());
            let rows = Rows::of(indices, &features.device()).select(&features, 0);
            let recorder = StatisticsRecorder::default();
            let of_batch = flow.sample(noise, rows, Mode::Train(&recorder)).into_data();
            for (position, label) in of_batch.iter::<f32>().enumerate() {
                let row = indices[position / self.d_labels] as usize;
                labels[row * self.d_labels + position % self.d_labels] = label;
            }
        }
        Tensor::from_data(TensorData::new(labels, [window.n_rows(), self.d_labels]), &device)
    }

    /// What is added up over each block before the first step.
    fn first_totals<B: Bijection>(&mut self, flow: &Flow<B>) -> Result<()> {
        self.totals = vec![Vec::new(); self.n_blocks];
        for (index, blocks) in (self.deal)(0).iter().enumerate() {
            let window = self.take(blocks)?;
            let rng = stream(self.seed, "noise before training", index as u64);
            let noise = draw_noise(rng, window.n_rows(), self.d_labels);
            let labels =
                self.labels_now(flow, &window, &noise, &self.batches(&window, index as u64));
            self.remember(&window, labels);
            self.put_back(window);
        }
        Ok(())
    }

    /// A flow without gradients, with running statistics of all rows under the final weights.
    pub(crate) fn settle<B: Bijection>(&mut self, flow: &Flow<B>) -> Result<Flow<B>> {
        let mut flow = flow.valid();
        let mut n_batches = 0;
        for (index, blocks) in (self.deal)(0).iter().enumerate() {
            let window = self.take(blocks)?;
            let features = window.features.clone().inner();
            let device = features.device();
            let rng = stream(self.seed, "statistics", index as u64);
            let noise = draw_noise(rng, window.n_rows(), self.d_labels);
            for rows in self.batches(&window, index as u64) {
                let noise = Tensor::from_data(select_noise(&noise, &rows, self.d_labels), &device);
                let features = Rows::of(&rows, &device).select(&features, 0);
                flow = settle_batch(flow, features, noise, n_batches);
                n_batches += 1;
            }
            self.put_back(window);
        }
        Ok(flow)
    }
}

/// What the constraints add up over some rows of a window, all of whose labels are given.
fn totals(objective: &Objective, labels: Tensor<2>, rows: Range<usize>) -> Totals {
    let indices: Vec<i64> = rows.map(|row| row as i64).collect();
    let tracker = Tracker::from_labels(labels.clone());
    let alone = tracker.alone(&indices);
    let labels = alone.rows().select(&labels, 0);
    for penalty in &objective.penalties {
        penalty.violation(&labels, &alone);
    }
    tracker.totals().into_iter().map(|sums| sums.into_data().iter::<f32>().collect()).collect()
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;
    use labelflow_weak::{Bounds, Features, Votes, WeakDataset, WeakSignals};
    use ndarray::Array2;

    use super::*;
    use crate::constraints::Whole;
    use crate::vote_totals::VoteTotals;
    use crate::{Batch, ConstraintConfig};

    const N_ROWS: usize = 12;

    fn labels(rows: &[usize], shift: f32, device: &Device) -> Tensor<2> {
        let label =
            |row: &usize| [((row * 5) % 7) as f32 / 7.0 + shift, ((row * 3) % 5) as f32 / 5.0];
        let values: Vec<f32> = rows.iter().flat_map(label).collect();
        Tensor::from_data(TensorData::new(values, [rows.len(), 2]), device)
    }

    fn numbers(tensor: Tensor<1>) -> Vec<f32> {
        tensor.into_data().iter::<f32>().collect()
    }

    /// A batch of a window sees the statistics of all rows: those of its own labels, of its window and of other windows.
    #[test]
    fn a_window_sees_the_statistics_of_all_rows() {
        let device = Device::flex();
        let vote = |row: usize, signal: usize| ((row * 7 + signal * 5) % 3) as i64 - 1;
        let votes = Array2::from_shape_fn((N_ROWS, 3), |(row, signal)| vote(row, signal));
        let signals =
            WeakSignals::from_votes(Votes::from_indices(votes.view(), Some(2)).unwrap()).unwrap();
        let bounds = Bounds::constant(0.1, &signals).unwrap();
        let features = Array2::from_shape_fn((N_ROWS, 1), |(row, _)| (row % 4) as f32);
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
        let mut totals_of_votes = VoteTotals::new(3, 2);
        totals_of_votes.add(signals.votes().as_slice());
        let mut groups = Whole::groups_of(&constraints, features.names()).unwrap();
        groups.iter_mut().for_each(|group| group.add(features.values()));
        let n_rows = N_ROWS as u64;
        let whole = Whole { n_rows, votes: totals_of_votes, bounds: bounds.clone(), groups };
        let objective = |rows: &[usize]| {
            let part = features.select_rows(rows);
            let votes = signals.select_rows(rows);
            let penalties = constraints.iter().enumerate().map(|(index, constraint)| {
                constraint.build_part(index, &part, votes.votes().as_slice(), &whole, &device)
            });
            Objective {
                likelihood_weight: 1.0,
                final_likelihood_weight: None,
                penalties: penalties.collect::<Result<_>>().unwrap(),
            }
        };
        let (window, others): (Vec<usize>, Vec<usize>) = (0..N_ROWS).partition(|row| row % 3 > 0);
        let outside = totals(&objective(&others), labels(&others, 0.0, &device), 0..others.len());
        let outside = outside.into_iter().map(|sums| {
            let n_statistics = sums.len();
            Tensor::from_data(TensorData::new(sums, [n_statistics]), &device)
        });
        let stale = labels(&window, 0.0, &device);
        let tracker = Tracker::of_window(stale, outside.collect(), n_rows);
        // Rows 1, 4 and 6 of the window are fresh.
        let fresh = [1, 4, 6].map(|place: usize| window[place]);
        let batch = tracker.batch(&[1, 4, 6]);
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
