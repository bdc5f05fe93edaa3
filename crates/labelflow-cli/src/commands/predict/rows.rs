//! The rows to label: those of a file as one part, or those of parquet files part by part.

use labelflow::Features;
use labelflow::learners::{FittedFlow, FlowLearner};
use labelflow_data::inputs::{KeyHead, Keyed, RowNames, read_features};
use labelflow_data::parts::{FeatureParts, FeatureRows, TableParts};

use super::args::PredictArgs;
use crate::inputs::memory_size::MemorySize;
use crate::inputs::new_rows::NewRows;
use crate::terminal::output;

/// Fewer rows at a time than this are not worth their trouble.
const LEAST_ROWS: u64 = 64;

pub(super) enum PredictRows {
    Memory(Keyed<Features>),
    Parts(FeatureParts),
}

/// What is said at the end.
#[derive(Default)]
pub(super) struct RowCounts {
    pub(super) n_rows: u64,
    pub(super) n_labelled: u64,
    pub(super) n_bad: u64,
    /// What is wrong with the first bad row.
    pub(super) first_bad: Option<String>,
    /// Rows on which the flow overflows.
    pub(super) n_lost: u64,
    pub(super) first_lost: Option<u64>,
}

impl RowCounts {
    pub(super) fn add_lost(&mut self, rows: &FeatureRows, lost: &[usize]) {
        self.n_lost += lost.len() as u64;
        if let (None, Some(&first)) = (self.first_lost, lost.first()) {
            self.first_lost = Some(rows.first_row + rows.good[first] as u64);
        }
    }

    /// Looks at the features of the next rows; after the last ones, warns of what looks wrong in all, before their labels are written.
    pub(super) fn look_at(&self, rows: &FeatureRows, seen: &mut NewRows<'_>) -> anyhow::Result<()> {
        if let Some(features) = &rows.features {
            seen.add(features)?;
        }
        if rows.first_row + rows.n_rows as u64 == self.n_rows {
            seen.warn(self.n_bad);
            output::refuse_warnings()?;
        }
        Ok(())
    }
}

impl PredictRows {
    /// The columns that the model was trained on.
    pub(super) fn open<L: FlowLearner>(model: &FittedFlow<L>, args: &PredictArgs) -> anyhow::Result<Self> {
        let (path, key) = (&args.features, args.key.column().beside(model.feature_names()));
        if args.memory.is_some() || args.bad_rows.is_some() || TableParts::is_several(path) {
            let parts = FeatureParts::arranged(TableParts::open(path, &key)?, model.feature_names())?;
            return Ok(Self::Parts(parts));
        }
        Ok(Self::Memory(read_features(path, &key)?))
    }

    /// What the column of their names is called.
    pub(super) fn key_head(&self) -> KeyHead {
        match self {
            Self::Memory(features) => features.keys.head(),
            Self::Parts(parts) => parts.table().key_head(),
        }
    }

    pub(super) fn are_in_memory(&self) -> bool {
        matches!(self, Self::Memory(_))
    }

    pub(super) fn n_rows(&self) -> u64 {
        match self {
            Self::Memory(features) => features.value.n_rows() as u64,
            Self::Parts(parts) => parts.n_rows(),
        }
    }

    /// As many rows at a time as the model likes and the memory allows, where so many columns are read beside features.
    pub(super) fn batch_rows(
        &self,
        n_other_columns: usize,
        bytes_per_row: usize,
        at_once: usize,
        args: &PredictArgs,
    ) -> anyhow::Result<usize> {
        let Self::Parts(parts) = self else { return Ok(at_once) };
        let memory = args.memory.unwrap_or(MemorySize::DEFAULT);
        let (n_columns, bytes) = (parts.names().len() + n_other_columns, bytes_per_row as u64);
        let left = memory.left_to_work(n_columns, LEAST_ROWS * bytes)?;
        Ok((left / bytes).min(at_once as u64) as usize)
    }

    /// Visits all rows in order: at once, or no more than `batch_rows` at a time.
    pub(super) fn visit(
        self,
        batch_rows: usize,
        args: &PredictArgs,
        mut visit: impl FnMut(&FeatureRows, &RowNames, &mut RowCounts) -> anyhow::Result<()>,
    ) -> anyhow::Result<RowCounts> {
        let mut counts = RowCounts { n_rows: self.n_rows(), ..RowCounts::default() };
        match self {
            Self::Memory(Keyed { value, keys }) => {
                let n_rows = value.n_rows();
                let (good, features) = ((0..n_rows).collect(), Some(value));
                visit(&FeatureRows { first_row: 0, n_rows, good, features }, keys.names(), &mut counts)?;
            }
            Self::Parts(parts) => {
                let mut reader = parts.reader(0..counts.n_rows, batch_rows, args.bad_rows());
                let mut names = parts.table().names();
                while let Some(rows) = reader.next_rows()? {
                    counts.n_bad = reader.n_bad();
                    visit(&rows, &names.next_rows(rows.n_rows)?, &mut counts)?;
                }
                counts.first_bad = reader.first_bad().map(ToString::to_string);
            }
        }
        Ok(counts)
    }
}
