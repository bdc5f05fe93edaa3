//! Rows to train on: in memory, or of a source, in as many windows as the memory asks for.
//!
//! Rows in memory are one window. If all rows of a source fit, they are read once, and are one window too. If not, rows are [dealt out](crate::sources::dealt_rows) at
//! random to blocks on disk, once. Every epoch puts windows together from blocks anew, each as many rows as the memory holds, and visits the
//! rows of each window in random batches. (Windows of neighbouring rows would be told apart by the weights where rows are in an
//! order, and windows that stay the same would be learned.) A [pass](crate::training::window_pass) is the same over one window and over
//! several.

use std::borrow::Cow;
use std::cell::LazyCell;
use std::path::Path;
use std::rc::Rc;

use burn::tensor::Device;
use labelflow_files::Sha256;
use labelflow_flow::{Bijection, Flow};
use labelflow_weak::linear::ColumnMoments;
use labelflow_weak::rows::{Features, is_single};
use labelflow_weak::votes::WeakSignals;
use labelflow_weak::warnings::{FeatureTally, FeatureWarning};
use ndarray::{Array2, Axis};

use crate::learners::{FeatureMap, FlowLearner, FlowSettings, to_tensor};
use crate::sources::{DealtRows, RowBytes, RowLayout, RowSignals, RowSource, SourceRows, WindowPlan, read_all};
use crate::training::{Objective, Report, Start, Task, Window, Windows, bytes_per_row, stream, train};
use crate::{Error, Result};

/// Rows that were looked at.
pub(crate) struct FitRows<'a> {
    pub(crate) feature_names: &'a [String],
    /// Of the settings and the rows, computed when it is asked for.
    pub(crate) digest: LazyCell<String, Box<dyn FnOnce() -> String + 'a>>,
    /// What looks wrong in the features.
    pub(crate) warnings: Vec<FeatureWarning>,
    place: Place<'a>,
}

/// Where rows are.
enum Place<'a> {
    Memory(Cow<'a, Features>),
    Source(PartedRows<'a>),
}

/// What a fit to rows of a source needs beside settings.
pub(crate) struct Demands {
    /// Bytes that training may take beside what reading takes.
    pub(crate) memory: u64,
    pub(crate) d_labels: usize,
    /// Bytes of what constraints keep of a row, twice over.
    pub(crate) constraint_bytes: u64,
    /// What else decides the course of training.
    pub(crate) beside_settings: String,
}

impl<'a> FitRows<'a> {
    /// Rows in memory, of which a fit sees `seen`; `hash_labels` adds all that it sees of them beside their features.
    pub(crate) fn in_memory<L: FlowLearner + 'a>(
        learner: &L,
        features: &'a Features,
        seen: Cow<'a, Features>,
        signals: Option<&WeakSignals>,
        hash_labels: impl FnOnce(&mut Sha256) + 'a,
    ) -> Result<Self> {
        learner.check_settings()?;
        check_enough(seen.n_rows() as u64)?;
        let settings = as_text(learner);
        let digest: Box<dyn FnOnce() -> String + 'a> = Box::new(move || {
            let mut hash = Sha256::default();
            hash.update(settings);
            hash_numbers(&mut hash, features.values());
            hash_labels(&mut hash);
            hash.hex()
        });
        let mut tally = FeatureTally::new(features.names(), signals.map_or(&[], WeakSignals::labelers));
        tally.add(features.values(), signals.map(WeakSignals::view))?;
        let (warnings, place) = (tally.warnings(), Place::Memory(seen));
        Ok(Self { feature_names: features.names(), digest: LazyCell::new(digest), warnings, place })
    }

    /// Visits all rows of a source once, after deciding how many of them are in memory at a time.
    pub(crate) fn of_source<L: FlowLearner>(
        learner: &L,
        source: &'a dyn RowSource,
        demands: &Demands,
        visit: &mut dyn FnMut(&Features, &RowSignals) -> Result<()>,
    ) -> Result<Self> {
        learner.check_settings()?;
        check_enough(source.n_rows())?;
        let layout = RowLayout::of(source);
        let FlowSettings { training, device, .. } = learner.settings();
        let device = device.open()?;
        let flow = learner.init_flow(layout.d_features, demands.d_labels, &device);
        let step_bytes = bytes_per_row(&flow, &device) as u64;
        let plan = WindowPlan::new(source.n_rows(), &layout, step_bytes, training.batch_size, demands)?;
        let mut hash = Sha256::default();
        hash.update(as_text(learner) + &demands.beside_settings);
        hash.update(format!("{plan:?} {layout:?}"));
        let mut tally = FeatureTally::new(source.feature_names(), source.labelers());
        let mut is_single = true;
        source.visit(&mut |rows| {
            layout.check(&rows)?;
            is_single &= hash_rows(&mut hash, &rows);
            tally.add(rows.features.view(), rows.signals.view(layout.n_classes))?;
            let features = Features::with_names(rows.features, source.feature_names().to_vec())?;
            visit(&features, &rows.signals)
        })?;
        let moments = tally.moments().clone();
        if moments.n_rows() != source.n_rows() {
            let expected = format!("{} rows", source.n_rows());
            return Err(Error::data("features", expected, moments.n_rows()));
        }
        let form = RowBytes { layout, is_single };
        let place = Place::Source(PartedRows { source, form, plan, moments });
        let digest = LazyCell::new(Box::new(|| hash.hex()) as Box<_>);
        Ok(Self { feature_names: source.feature_names(), digest, warnings: tally.warnings(), place })
    }

    /// The rows of a source.
    pub(crate) fn parts(&self) -> Option<&PartedRows<'a>> {
        match &self.place {
            Place::Memory(_) => None,
            Place::Source(parts) => Some(parts),
        }
    }

    /// Trains a flow on all rows, of which those that do not fit in memory are in a file in this folder meanwhile; `init` makes one of so
    /// many features. The flow that is returned is without gradients.
    pub(crate) fn train<B: Bijection>(
        &self,
        init: impl FnOnce(usize) -> Flow<B>,
        learner: &RowLearner<'_>,
        folder: &Path,
        start: Start<'_>,
    ) -> Result<(Flow<B>, FeatureMap, Report)> {
        let RowLearner { d_labels, settings, device, .. } = learner;
        let (map, windows) = self.windows(learner, folder)?;
        let flow = init(map.width(self.feature_names.len()));
        let (n_rows, batch_rows) = match &self.place {
            Place::Source(parts) => (parts.source.n_rows(), parts.plan.batch_rows),
            Place::Memory(features) => {
                let (n_rows, row_bytes) = (features.n_rows(), bytes_per_row(&flow, &device.clone().inner()));
                (n_rows as u64, settings.training.batch_rows(n_rows, row_bytes))
            }
        };
        let (d_labels, settings, device) = (*d_labels, *settings, device.clone());
        let (flow, report) = train(flow, &Task { windows, n_rows, batch_rows, d_labels, settings, device }, start)?;
        Ok((flow, map, report))
    }

    /// The windows of the rows, and what is done to their features.
    fn windows<'w>(&'w self, learner: &'w RowLearner<'w>, folder: &Path) -> Result<(FeatureMap, Windows<'w>)> {
        let FlowSettings { seed, scaling, .. } = learner.settings;
        let named = |features: Array2<f64>| Features::with_names(features, self.feature_names.to_vec()).map(Cow::Owned);
        let (features, signals) = match &self.place {
            Place::Memory(features) => (Cow::Borrowed(&**features), RowSignals::None),
            Place::Source(parts) if parts.plan.n_windows == 1 => {
                let SourceRows { features, signals } = read_all(parts.source)?;
                (named(features)?, signals)
            }
            Place::Source(PartedRows { source, form, plan, moments }) => {
                let map = FeatureMap::Scaler(scaling.of(moments)?);
                let rng = &mut stream(seed, "blocks", 0);
                let rows = DealtRows::deal(*source, *form, plan.n_blocks(), plan.chunk_rows, rng, folder)?;
                let of_windows = map.clone();
                let load = move |rows: SourceRows| learner.window(named(rows.features)?, rows.signals, &of_windows);
                return Ok((map, Windows::Dealt { rows, plan, load: Box::new(load) }));
            }
        };
        let map = scaling.map(&features, seed)?;
        let window = learner.window(features, signals, &map)?;
        Ok((map, Windows::Kept(Rc::new(window))))
    }
}

fn check_enough(n_rows: u64) -> Result<()> {
    match n_rows {
        0 | 1 => Err(Error::data("features", "at least 2 rows to train on", n_rows)),
        _ => Ok(()),
    }
}

/// Adds numbers to a digest, in single precision where that holds them, and says whether it holds all.
fn hash_numbers<'a>(hash: &mut Sha256, numbers: impl IntoIterator<Item = &'a f64>) -> bool {
    let mut are_single = true;
    for &number in numbers {
        match is_single(number) {
            true => hash.update((number as f32).to_le_bytes()),
            false => {
                are_single = false;
                hash.update(number.to_le_bytes());
            }
        }
    }
    are_single
}

/// Adds rows to a digest, and says whether single precision holds all features.
fn hash_rows(hash: &mut Sha256, rows: &SourceRows) -> bool {
    let mut are_single = true;
    for (row, features) in rows.features.axis_iter(Axis(0)).enumerate() {
        are_single &= hash_numbers(hash, features);
        match &rows.signals {
            RowSignals::None => {}
            RowSignals::Votes(votes) => votes.row(row).iter().for_each(|vote| hash.update([*vote])),
            RowSignals::Probabilities(p) => {
                p.index_axis(Axis(0), row).iter().for_each(|p| hash.update(p.to_le_bytes()));
            }
        }
    }
    are_single
}

fn as_text(learner: &impl FlowLearner) -> String {
    toml::to_string(learner).expect("settings can be written as TOML")
}

/// Rows of a source after the first pass.
pub(crate) struct PartedRows<'a> {
    source: &'a dyn RowSource,
    form: RowBytes,
    pub(crate) plan: WindowPlan,
    moments: ColumnMoments,
}

/// What a learner brings to training.
pub(crate) struct RowLearner<'a> {
    pub(crate) d_labels: usize,
    pub(crate) settings: FlowSettings<'a>,
    /// With gradients.
    pub(crate) device: Device,
    /// What must hold of all rows, as far as it is about these.
    pub(crate) objective: &'a dyn Fn(&Features, &RowSignals) -> Result<Objective>,
}

impl RowLearner<'_> {
    /// Rows as training sees them.
    fn window(&self, features: Cow<'_, Features>, signals: RowSignals, map: &FeatureMap) -> Result<Window> {
        let objective = (self.objective)(&features, &signals)?;
        let scaled = map.apply(&features)?;
        drop((features, signals));
        Ok(Window { features: to_tensor(scaled.view(), &self.device), objective, blocks: Vec::new() })
    }
}

impl PartedRows<'_> {
    /// The bytes that rows in random order take on disk: none if there is one window.
    pub(crate) fn disk_bytes(&self) -> u64 {
        match self.plan.n_windows {
            1 => 0,
            _ => self.source.n_rows() * self.form.len() as u64,
        }
    }
}
