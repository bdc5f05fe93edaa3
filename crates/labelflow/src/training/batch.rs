//! The rows of one training step, and statistics over all rows.
//!
//! With the full batch, a statistic over all rows (a labeler's mean error, a group's mean) is a sum over the batch. With mini-batches
//! it is tracked: the labels that each row had when it was last visited stand in for the rows that are not in the batch,
//!
//! ```text
//! total = Σ_all f(stale) − Σ_batch f(stale) + Σ_batch f(fresh)
//! ```
//!
//! and the gradient, which only the fresh part has, is scaled by n_rows / n_batch so that it estimates that of the full batch.

use std::cell::{Cell, RefCell};

use burn::tensor::{Device, Int, Tensor};

use crate::training::Objective;

/// Which rows of the data a tensor's rows are.
#[derive(Debug, Clone)]
pub struct Rows {
    /// Their indices; none for all rows, in order.
    indices: Option<Tensor<1, Int>>,
}

impl Rows {
    const ALL: Self = Self { indices: None };

    /// The rows with these indices.
    pub(crate) fn of(indices: &[i64], device: &Device) -> Self {
        Self::at(Tensor::from_data(indices, device))
    }

    /// The rows with these indices, which the device knows.
    pub(crate) fn at(indices: Tensor<1, Int>) -> Self {
        Self { indices: Some(indices) }
    }

    /// The part of `tensor`, whose dimension `dim` runs over all rows, that belongs to these rows.
    pub fn select<const D: usize>(&self, tensor: &Tensor<D>, dim: usize) -> Tensor<D> {
        match &self.indices {
            None => tensor.clone(),
            Some(indices) => tensor.clone().select(dim, indices.clone()),
        }
    }
}

/// The rows of one training step.
#[derive(Debug)]
pub struct Batch<'a> {
    rows: Rows,
    tracking: Option<Tracking<'a>>,
    /// The columns that hold the labels of the flow that is looked at, of several side by side: the first and how many.
    columns: Cell<Option<[usize; 2]>>,
}

#[derive(Debug)]
struct Tracking<'a> {
    tracker: &'a Tracker,
    stale: Tensor<2>,
    /// n_rows / n_batch
    scale: f64,
    next_slot: Cell<usize>,
    /// Whether statistics are those of these rows, not of all.
    is_alone: bool,
}

impl Batch<'_> {
    /// All rows at once.
    pub fn full() -> Self {
        Self { rows: Rows::ALL, tracking: None, columns: Cell::new(None) }
    }

    /// The rows of the batch.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// From here on, statistics are those of the flow whose labels are these columns.
    pub(crate) fn look_at(&self, columns: [usize; 2]) {
        self.columns.set(Some(columns));
    }

    /// A sum over all rows of the data, of which `labels` are those of the batch.
    ///
    /// `sums` adds something up over the rows it is given; it is called with the batch, and, when training by mini-batches, with stale
    /// labels of other rows.
    pub fn total(&self, labels: &Tensor<2>, sums: impl Fn(&Tensor<2>, &Rows) -> Tensor<1>) -> Tensor<1> {
        let fresh = sums(labels, &self.rows);
        let Some(tracking) = &self.tracking else {
            return fresh;
        };
        let slot = tracking.next_slot.replace(tracking.next_slot.get() + 1);
        if tracking.is_alone {
            tracking.tracker.set(slot, fresh.clone().detach());
            return fresh;
        }
        let of_all = |labels: &Tensor<2>, rows: &Rows| match self.columns.get() {
            None => sums(labels, rows),
            Some([start, len]) => sums(&labels.clone().narrow(1, start, len), rows),
        };
        let stale = of_all(&tracking.stale, &self.rows);
        let total = tracking.tracker.total(slot, of_all) - stale + fresh.clone().detach();
        tracking.tracker.set(slot, total.clone());
        total + (fresh.clone() - fresh.detach()) * tracking.scale
    }
}

/// Labels that say nothing, `[n_rows, d_labels]`.
pub(crate) fn no_labels(n_rows: usize, d_labels: usize, device: &Device) -> Tensor<2> {
    Tensor::full([n_rows, d_labels], 1.0 / d_labels as f64, device)
}

/// What training by mini-batches remembers between batches.
#[derive(Debug)]
pub(crate) struct Tracker {
    /// The labels that each row had when last visited, `[n_rows, d_labels]`.
    labels: RefCell<Tensor<2>>,
    /// One statistic for each call of [`Batch::total`] in a step.
    totals: RefCell<Vec<Tensor<1>>>,
    /// What each statistic has from rows that are not among the labels; none when all rows are.
    outside: Vec<Tensor<1>>,
    /// Number of all rows.
    n_rows: u64,
}

impl Tracker {
    /// The labels of all rows.
    pub(crate) fn from_labels(labels: Tensor<2>) -> Self {
        let n_rows = labels.dims()[0] as u64;
        Self::of_window(labels, Vec::new(), n_rows)
    }

    /// The labels of some of `n_rows` rows, and what the others add to each statistic.
    pub(crate) fn of_window(labels: Tensor<2>, outside: Vec<Tensor<1>>, n_rows: u64) -> Self {
        Self { labels: RefCell::new(labels), totals: RefCell::default(), outside, n_rows }
    }

    /// The labels of all rows, and the statistics that the last step left.
    pub(crate) fn from_step(labels: Tensor<2>, totals: Vec<Tensor<1>>) -> Self {
        Self { totals: RefCell::new(totals), ..Self::from_labels(labels) }
    }

    /// The statistics of the last step.
    pub(crate) fn totals(&self) -> Vec<Tensor<1>> {
        self.totals.borrow().clone()
    }

    /// Recomputes all totals, so that rounding errors do not pile up and a resumed run sees the same numbers.
    pub(crate) fn start_epoch(&self) {
        self.totals.borrow_mut().clear();
    }

    /// The totals of an epoch's start, computed before its first step.
    pub(crate) fn count(&self, objective: &Objective) -> Vec<Tensor<1>> {
        self.start_epoch();
        let labels = self.labels();
        let log_prob = Tensor::zeros([labels.dims()[0]], &labels.device());
        objective.evaluate(&labels, log_prob, &self.alone(Rows::ALL), 0.0);
        self.totals()
    }

    /// The batch of these rows.
    pub(crate) fn batch(&self, rows: Rows) -> Batch<'_> {
        self.batch_of(rows, false)
    }

    /// The batch of these rows, whose statistics are theirs alone.
    pub(crate) fn alone(&self, rows: Rows) -> Batch<'_> {
        self.batch_of(rows, true)
    }

    fn batch_of(&self, rows: Rows, is_alone: bool) -> Batch<'_> {
        let stale = rows.select(&self.labels.borrow(), 0);
        Batch {
            tracking: Some(Tracking {
                tracker: self,
                scale: self.n_rows as f64 / stale.dims()[0] as f64,
                stale,
                next_slot: Cell::new(0),
                is_alone,
            }),
            rows,
            columns: Cell::new(None),
        }
    }

    /// Remembers the labels of a batch.
    pub(crate) fn remember(&self, batch: &Batch<'_>, labels: Tensor<2>) {
        let (Some(rows), Some(tracking)) = (&batch.rows.indices, &batch.tracking) else {
            return;
        };
        // Adding the change is burn's way to assign selected rows.
        let change = labels.detach() - tracking.stale.clone();
        let all = self.labels.borrow().clone();
        *self.labels.borrow_mut() = all.select_assign(0, rows.clone(), change, burn::tensor::IndexingUpdateOp::Add);
    }

    pub(crate) fn labels(&self) -> Tensor<2> {
        self.labels.borrow().clone()
    }

    fn total(&self, slot: usize, sums: impl Fn(&Tensor<2>, &Rows) -> Tensor<1>) -> Tensor<1> {
        let known = self.totals.borrow().get(slot).cloned();
        known.unwrap_or_else(|| {
            let inside = sums(&self.labels.borrow(), &Rows::ALL);
            match self.outside.get(slot) {
                None => inside,
                Some(outside) => outside.clone() + inside,
            }
        })
    }

    fn set(&self, slot: usize, total: Tensor<1>) {
        let mut totals = self.totals.borrow_mut();
        match totals.get_mut(slot) {
            Some(known) => *known = total,
            None => totals.push(total),
        }
    }
}
