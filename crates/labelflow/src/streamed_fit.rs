//! Training on rows that need not be in memory.
//!
//! Rows are read in blocks, which are dealt out to windows anew for every epoch; a window is as many rows as the memory holds. An epoch
//! visits the windows, and the rows of each in batches of random rows. (Windows that stay the same would be batches that stay the
//! same where they are no larger, and then weights learn what is special of each.) Statistics over all rows are those of
//! [`Batch`](crate::Batch), with all that is outside the window as one sum for each block:
//!
//! ```text
//! total = Σ_{other blocks} F_b + Σ_{window} f(stale) − Σ_batch f(stale) + Σ_batch f(fresh),   F_b = Σ_{block} f when last visited
//! ```
//!
//! where the stale labels are those that the flow gives when the window is read. So nothing is kept of a row between two epochs.

use std::ops::Range;

use labelflow_weak::{Bounds, ColumnMoments, Features};
use ndarray::Array2;
use rand::seq::SliceRandom;
use sha2::{Digest, Sha256};

use crate::constraints::Whole;
use crate::epochs::Course;
use crate::label_flow_classifier::Certainty;
use crate::row_samples::to_tensor;
use crate::scaling::{Scaler, scale};
use crate::stream::stream;
use crate::train::bytes_per_row;
use crate::vote_totals::VoteTotals;
use crate::window_pass::{Window, WindowPass};
use crate::{
    BatchSize, Checkpoint, Error, FittedLabelFlowClassifier, LabelFlowClassifier, Objective,
    Observer, Result, RowSource, Scaling,
};

/// A window has at least this many blocks, so that it is a mixture of rows from many places: where rows are in some order, windows that
/// differ teach the weights to tell them apart.
const BLOCKS_PER_WINDOW: u64 = 32;
/// What activations may take of the memory when the rows of a step are not given.
const SHARE_OF_BATCH: u64 = 3;
/// Fewer rows of a step than this make batch statistics that say little.
const LEAST_BATCH_ROWS: u64 = 256;
/// More activations than this gain nothing.
const MOST_BATCH_BYTES: u64 = 1 << 30;

/// A fit to rows of a source, of which a first pass has told what scaling and constraints must know.
pub struct StreamedFit<'a> {
    config: LabelFlowClassifier,
    source: &'a dyn RowSource,
    scaler: Option<Scaler>,
    whole: Whole,
    batch_rows: usize,
    blocks: Vec<Range<u64>>,
    n_windows: usize,
    digest: String,
}

impl LabelFlowClassifier {
    /// Reads all rows of a source once, and decides how they are dealt out so that training takes at most `memory` bytes beside what
    /// reading takes.
    ///
    /// The rows of a step are as many as [`BatchSize::Rows`] says or, with [`BatchSize::Auto`], as many as fit into a third of the memory.
    /// Another memory means other windows, and so another order of rows.
    pub fn prepare_streamed<'a>(
        &self,
        source: &'a dyn RowSource,
        bounds: Bounds,
        memory: u64,
    ) -> Result<StreamedFit<'a>> {
        self.check_settings()?;
        if source.n_rows() < 2 {
            return Err(Error::data("features", "at least 2 rows to train on", source.n_rows()));
        }
        let (n_signals, n_classes) = (source.labelers().len(), source.classes().len());
        if bounds.values().dim() != (n_signals, n_classes) {
            let expected = format!("bounds of {n_signals} labelers and {n_classes} classes");
            return Err(Error::data("bounds", expected, format!("{:?}", bounds.values().dim())));
        }
        let (batch_rows, window_rows) = self.rows_for(source, memory)?;
        let (blocks, n_windows) = blocks_and_windows(source, window_rows);
        let mut hash = Sha256::new();
        hash.update(toml::to_string(self).expect("settings can be written as TOML"));
        hash.update(format!("batches of {batch_rows} rows, {n_windows} windows of {blocks:?}"));
        let mut moments = ColumnMoments::default();
        let mut votes = VoteTotals::new(n_signals, n_classes);
        let mut groups = Whole::groups_of(&self.constraints, source.feature_names())?;
        source.visit(&mut |rows| {
            moments.push(rows.features.view())?;
            let features = rows.features.iter().flat_map(|value| value.to_le_bytes());
            hash.update(features.collect::<Vec<u8>>());
            let of_rows: Vec<u8> = rows.votes.iter().copied().collect();
            hash.update(&of_rows);
            votes.add(&of_rows);
            groups.iter_mut().for_each(|group| group.add(rows.features.view()));
            Ok(())
        })?;
        if moments.n_rows() != source.n_rows() {
            let expected = format!("{} rows", source.n_rows());
            return Err(Error::data("features", expected, moments.n_rows()));
        }
        if votes.n_uncovered == source.n_rows() {
            return Err(Error::data("signals", "at least one vote", "abstentions only"));
        }
        bounds.values().iter().for_each(|bound| hash.update(bound.to_le_bytes()));
        let scaler = match self.scaling {
            Scaling::Standardize => Some(Scaler::Standard(moments.standard_scaler()?)),
            Scaling::Range => Some(Scaler::Range(moments.range_scaler()?)),
            Scaling::None => None,
        };
        Ok(StreamedFit {
            config: self.clone(),
            source,
            scaler,
            whole: Whole { n_rows: source.n_rows(), votes, bounds, groups },
            batch_rows,
            blocks,
            n_windows,
            digest: hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect(),
        })
    }

    /// The rows of a batch and of a window.
    fn rows_for(&self, source: &dyn RowSource, memory: u64) -> Result<(usize, u64)> {
        let device = self.device.open()?;
        let (d_features, n_signals) =
            (source.feature_names().len() as u64, source.labelers().len() as u64);
        let n_classes = source.classes().len() as u64;
        let flow = self.flow_config(d_features as usize, n_classes as usize).init(0, &device);
        let of_step = bytes_per_row(&flow, &device) as u64;
        // Features as they are read, scaled, and as a tensor; votes; slopes of error bounds, twice; labels and noise in several forms.
        let of_row = 12 * d_features + n_signals + 8 * n_signals * n_classes + 48 * n_classes + 32;
        let most = source.n_rows();
        let rows = match self.training.batch_size {
            BatchSize::Rows(rows) => rows as u64,
            BatchSize::Auto => {
                let bytes = (memory / SHARE_OF_BATCH).min(MOST_BATCH_BYTES);
                (bytes / of_step).max(LEAST_BATCH_ROWS)
            }
            BatchSize::Full => {
                let expected = "auto or a number of rows, for rows that are read in parts";
                return Err(Error::config("batch_size", expected, "full"));
            }
        };
        let rows = rows.clamp(2, most);
        let window_rows = memory.saturating_sub(rows * of_step) / of_row;
        if window_rows < rows {
            let needed = rows * (of_step + of_row) / 1_000_000 + 1;
            let expected =
                format!("{needed} MB beside what reading takes, for batches of {rows} rows");
            return Err(Error::config("memory", expected, format!("{} MB", memory / 1_000_000)));
        }
        // Whole batches: a rest would make a step more of each window, and training would travel farther than planned.
        let window_rows = if window_rows < most { window_rows - window_rows % rows } else { most };
        Ok((rows as usize, window_rows))
    }
}

/// Blocks, and the fewest windows of at most `window_rows` rows that are sure to hold them however they are dealt out.
fn blocks_and_windows(source: &dyn RowSource, window_rows: u64) -> (Vec<Range<u64>>, usize) {
    let n_rows = source.n_rows();
    if window_rows >= n_rows {
        return (source.blocks(n_rows), 1);
    }
    let block_rows = (window_rows / BLOCKS_PER_WINDOW).max(1);
    let n_windows = n_rows.div_ceil((window_rows - block_rows).max(1)).min(n_rows / 2).max(1);
    (source.blocks(block_rows), n_windows as usize)
}

impl StreamedFit<'_> {
    /// A digest of the settings, the memory and the data: two runs with the same digest end with the same weights.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Number of rows on which nobody votes.
    pub fn n_uncovered(&self) -> u64 {
        self.whole.votes.n_uncovered
    }

    /// Number of windows: how many times a part of the rows is read in an epoch. One is read once for all epochs.
    pub fn n_windows(&self) -> usize {
        self.n_windows
    }

    /// The blocks of each window: each in random order to the window that has the fewest rows so far.
    fn deal(&self, number: u64) -> Vec<Vec<usize>> {
        let mut blocks: Vec<usize> = (0..self.blocks.len()).collect();
        if self.n_windows == 1 {
            return vec![blocks];
        }
        blocks.shuffle(&mut stream(self.config.seed, "windows", number));
        let mut windows = vec![(0, Vec::new()); self.n_windows];
        for block in blocks {
            let smallest = windows.iter_mut().min_by_key(|(rows, _)| *rows);
            let (rows, window) = smallest.expect("at least one window");
            *rows += self.blocks[block].end - self.blocks[block].start;
            window.push(block);
        }
        // Batch statistics need two rows.
        let (windows, small): (Vec<_>, Vec<_>) =
            windows.into_iter().partition(|(rows, _)| *rows >= 2);
        let mut windows: Vec<_> = windows.into_iter().map(|(_, window)| window).collect();
        if let Some(first) = windows.first_mut() {
            first.extend(small.into_iter().flat_map(|(_, window)| window));
        }
        windows
    }

    /// The most rows of a step.
    pub fn batch_rows(&self) -> usize {
        self.batch_rows
    }

    /// Trains, from a checkpoint if there is one, watched by an observer.
    pub fn fit(
        &self,
        checkpoint: Option<Checkpoint>,
        observer: &mut dyn Observer,
    ) -> Result<FittedLabelFlowClassifier> {
        if checkpoint.as_ref().is_some_and(|checkpoint| checkpoint.run != self.digest) {
            let found = "one of other settings, memory or data";
            return Err(Error::data("checkpoint", "one of this run", found));
        }
        let config = &self.config;
        let device = config.device.open()?.autodiff();
        let (names, classes) = (self.source.feature_names(), self.source.classes());
        let flow = config.flow_config(names.len(), classes.len()).init(config.seed, &device);
        let load = |blocks: &[usize]| self.load(blocks);
        let deal = |number: u64| self.deal(number);
        let mut pass = WindowPass {
            load: &load,
            deal: &deal,
            kept: None,
            n_windows: self.n_windows,
            n_blocks: self.blocks.len(),
            n_rows: self.source.n_rows(),
            batch_rows: self.batch_rows,
            d_labels: classes.len(),
            seed: config.seed,
            training: &config.training,
            terms: Vec::new(),
            totals: Vec::new(),
        };
        let course = match checkpoint {
            None => Course::start(flow, &device),
            Some(checkpoint) => {
                pass.totals = WindowPass::totals_of(&checkpoint, self.blocks.len())?;
                Course::resume(flow, &checkpoint, &device)?
            }
        };
        let (flow, report) = course.run(&mut pass, &self.digest, &config.training, observer)?;
        let flow = pass.settle(&flow)?;
        labelflow_flow::release_buffers();
        Ok(FittedLabelFlowClassifier {
            config: config.clone(),
            flow,
            scaler: self.scaler.clone(),
            feature_names: names.to_vec(),
            classes: classes.to_vec(),
            certainty: Certainty::default(),
            report,
        })
    }

    /// Reads blocks as a window.
    fn load(&self, blocks: &[usize]) -> Result<Window> {
        let device = self.config.device.open()?.autodiff();
        let n_rows_of = |block: usize| (self.blocks[block].end - self.blocks[block].start) as usize;
        let n_rows: usize = blocks.iter().map(|&block| n_rows_of(block)).sum();
        let names = self.source.feature_names();
        let n_signals = self.source.labelers().len();
        let mut features = Vec::with_capacity(n_rows * names.len());
        let mut votes = Vec::with_capacity(n_rows * n_signals);
        let mut places = Vec::with_capacity(blocks.len());
        let mut start = 0;
        for &block in blocks {
            let rows = self.source.read(self.blocks[block].clone())?;
            features.extend(rows.features);
            votes.extend(rows.votes);
            places.push((block, start..start + n_rows_of(block)));
            start += n_rows_of(block);
        }
        let shape = (n_rows, names.len());
        let features = Array2::from_shape_vec(shape, features)
            .map_err(|error| Error::data("features", format!("{n_rows} rows"), error))?;
        let features = Features::with_names(features, names.to_vec())?;
        let mut objective = Objective {
            likelihood_weight: self.config.likelihood_weight,
            final_likelihood_weight: self.config.final_likelihood_weight,
            penalties: Vec::new(),
        };
        for (index, constraint) in self.config.constraints.iter().enumerate() {
            let penalty = constraint.build_part(index, &features, &votes, &self.whole, &device)?;
            objective.penalties.push(penalty);
        }
        let scaled = scale(self.scaler.as_ref(), features.values())?;
        drop(features);
        Ok(Window { features: to_tensor(scaled.view(), &device), objective, blocks: places })
    }
}
