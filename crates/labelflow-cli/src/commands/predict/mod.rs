//! `labelflow predict`: labels for new rows, in memory or part by part.

pub(crate) mod args;
mod rows;

use std::borrow::Cow;
use std::path::Path;

use anyhow::{Context, bail, ensure};
use labelflow::learners::{FittedLabelFlowClassifier, FittedLabelFlowRegressor, PartDistribution, ValueDistribution};
use labelflow::rows::SoftLabels;
use labelflow::storage::{ModelFiles, ModelRecord, ModelTask};
use labelflow::{Features, WeakSignals};
use labelflow_data::inputs::{
    LabelColumns, LabelRows, RowNames, SignalsOptions, ValueLabels, read_signals, write_labels,
    write_labels_as_they_come, write_value_labels, write_value_labels_as_they_come,
};
use labelflow_data::parts::{BadRows, FeatureRows, VoteParts, VoteStream};
use ndarray::Array2;

use crate::flags::DeviceName;
use crate::inputs::new_rows::NewRows;
use crate::terminal::output;
use args::PredictArgs;
use rows::{PredictRows, RowCounts};

/// A model of any task.
pub(crate) enum Model {
    Classifier(FittedLabelFlowClassifier),
    Regressor(FittedLabelFlowRegressor),
}

pub(crate) fn run(args: &PredictArgs) -> anyhow::Result<()> {
    let counts = match Model::load(&args.model, args.device)?.0 {
        Model::Classifier(model) => classify(model, args)?,
        Model::Regressor(model) => regress(&model, args)?,
    };
    if let Some(first) = &counts.first_bad {
        let done = match args.bad_rows() {
            BadRows::Abstain => "have no label",
            _ => "are left out",
        };
        output::note(&format!("{} of {} rows {done}; the first: {first}", counts.n_bad, counts.n_rows));
    }
    output::note(&format!("{} rows labelled in {}", counts.n_labelled, output::place(&args.out)));
    Ok(())
}

fn classify(mut model: FittedLabelFlowClassifier, args: &PredictArgs) -> anyhow::Result<RowCounts> {
    if let Some(samples) = args.samples {
        model = model.with_samples(samples)?;
    }
    let (place, classes) = (|| format!("{}", args.features.display()), model.classes());
    let rows = PredictRows::open(&model, args)?;
    let votes = match &args.signals {
        None => None,
        Some(path) => Some(Votes::read(path, classes, &rows, args)?),
    };
    let n_votes = votes.as_ref().map_or(0, Votes::n_columns);
    let batch_rows = rows.batch_rows(n_votes, model.bytes_per_row(), model.rows_at_once(), args)?;
    let (n_rows, in_memory, key) = (rows.n_rows(), rows.are_in_memory(), rows.key_head());
    let mut n_overruled = 0;
    let mut seen = NewRows::new(&args.features, model.feature_names());
    let label = |push: &mut dyn FnMut(LabelRows<'_>) -> labelflow_data::Result<()>| {
        let mut reader = votes.as_ref().map(|votes| votes.reader(n_rows));
        rows.visit(batch_rows, args, |rows, names, counts| {
            let signals = reader.as_mut().map(|reader| reader(rows.n_rows)).transpose()?;
            let labelled = Labelled::of(&model, rows, names, signals.as_deref()).with_context(place)?;
            counts.add_lost(rows, &labelled.lost);
            if output::is_strict() && counts.n_lost > 0 {
                // Before labels are written.
                warn_of_lost(&args.features, counts.n_lost, counts.first_lost, n_rows);
                output::refuse_warnings()?;
            }
            if counts.n_lost > 0 && counts.n_lost + counts.n_bad == n_rows {
                return Err(FittedLabelFlowClassifier::all_rows_lost()).with_context(place);
            }
            counts.look_at(rows, &mut seen)?;
            let labelled = match args.bad_rows() {
                BadRows::Abstain => labelled.with_bad(rows, names, classes.len()),
                _ => labelled,
            };
            let shares = labelled.agreement.iter().flatten().flatten();
            n_overruled += shares.filter(|share| **share < 0.5).count();
            let Some(labels) = &labelled.labels else { return Ok(()) };
            counts.n_labelled += labels.n_rows() as u64;
            let rows = labelled.rows.as_ref();
            let chosen = labelled.has_label.as_ref().map(|has_label| chosen(labels, has_label));
            let chosen = chosen.as_deref();
            let (agreement, sets) = (labelled.agreement.as_deref(), labelled.sets.as_deref());
            Ok(push(LabelRows { labels, rows, chosen, agreement, sets, n_votes: None })?)
        })
    };
    let (sets, agreement) = (model.certainty().sets.is_some(), votes.is_some());
    let columns = LabelColumns { key, sets, agreement, n_votes: false };
    let counts = match in_memory {
        true => label(&mut |rows| write_labels(&args.out, &columns.key, rows, classes)),
        false => write_labels_as_they_come(&args.out, classes, &columns, label),
    }?;
    warn_of_lost(&args.features, counts.n_lost, counts.first_lost, n_rows);
    if votes.is_some() {
        output::note(&format!(
            "{n_overruled} of {} rows have a label that most of their labelers did not vote for",
            counts.n_labelled
        ));
    }
    Ok(counts)
}

/// Warns that nothing is known of some rows, if there are any.
pub(crate) fn warn_of_lost(features: &Path, n_lost: u64, first: Option<u64>, n_rows: u64) {
    if let Some(first) = first {
        let text = format!(
            "{n_lost} of {n_rows} rows, the first of them row {first}, are so far from the training rows that nothing is known of them; \
             their classes are equally probable"
        );
        output::warn_text(features.display(), "lost-rows", &text);
    }
}

/// The votes of the rows to label.
enum Votes {
    Memory(WeakSignals),
    Parts(Box<VoteStream>),
}

/// Gives the votes of the next rows.
type NextVotes<'a> = Box<dyn FnMut(usize) -> labelflow_data::Result<Cow<'a, WeakSignals>> + 'a>;

impl Votes {
    fn read(path: &Path, classes: &[String], rows: &PredictRows, args: &PredictArgs) -> anyhow::Result<Self> {
        let options = SignalsOptions { classes: classes.to_vec(), key: args.key.column(), ..Default::default() };
        let features = match rows {
            PredictRows::Memory(features) => {
                return Ok(Self::Memory(read_signals(path, &options)?.in_order_of(&features.keys)?));
            }
            PredictRows::Parts(features) => features,
        };
        let parts = VoteParts::open(path, &options.key)?;
        output::warn_if_any(path, "row-order", parts.table().check_same_rows(features.table())?);
        output::refuse_warnings()?;
        // Their meaning is all that is needed, not their patterns.
        Ok(Self::Parts(Box::new(VoteStream::read(parts, &options, |_, _| 0)?)))
    }

    fn n_columns(&self) -> usize {
        match self {
            Self::Memory(signals) => signals.n_signals(),
            Self::Parts(votes) => votes.parts().labelers().len(),
        }
    }

    fn reader(&self, n_rows: u64) -> NextVotes<'_> {
        match self {
            // There is one part.
            Self::Memory(signals) => Box::new(|_| Ok(Cow::Borrowed(signals))),
            Self::Parts(votes) => {
                let mut reader = votes.reader(0..n_rows);
                Box::new(move |n_rows| Ok(Cow::Owned(reader.next_signals(n_rows)?)))
            }
        }
    }
}

/// Of each row, the share of its labelers whose most probable class is the label; none where all abstain.
pub(super) fn agreement(signals: &WeakSignals, labels: &SoftLabels) -> Vec<Option<f64>> {
    let predicted = labels.argmax();
    let of_row = |(row, &label): (usize, &usize)| {
        let (mut votes, mut agreeing) = (0.0, 0.0);
        for signal in 0..signals.n_signals() {
            let Some(own) = signals.probability(row, signal, label) else { continue };
            let is_largest = (0..signals.n_classes())
                .filter_map(|class| signals.probability(row, signal, class))
                .all(|other| other <= own);
            votes += 1.0;
            agreeing += f64::from(u8::from(is_largest));
        }
        (votes > 0.0).then(|| agreeing / votes)
    };
    predicted.iter().enumerate().map(of_row).collect()
}

/// The labels of some rows.
#[derive(Default)]
struct Labelled {
    /// Their names.
    rows: Option<RowNames>,
    /// Nothing if there is none.
    labels: Option<SoftLabels>,
    has_label: Option<Vec<bool>>,
    sets: Option<Vec<Vec<usize>>>,
    agreement: Option<Vec<Option<f64>>>,
    /// Good rows of which nothing is known.
    lost: Vec<usize>,
}

/// The most probable class of each row that has a label.
fn chosen(labels: &SoftLabels, has_label: &[bool]) -> Vec<Option<usize>> {
    labels.argmax().into_iter().zip(has_label).map(|(class, &has_label)| has_label.then_some(class)).collect()
}

impl Labelled {
    fn of(
        model: &FittedLabelFlowClassifier,
        rows: &FeatureRows,
        names: &RowNames,
        signals: Option<&WeakSignals>,
    ) -> anyhow::Result<Self> {
        let Some(features) = &rows.features else { return Ok(Self::default()) };
        let part = model.predict_part(features)?;
        let agreement = signals.map(|signals| match rows.good.len() == rows.n_rows {
            true => agreement(signals, &part.labels),
            false => agreement(&signals.select_rows(&rows.good), &part.labels),
        });
        Ok(Self {
            rows: Some(rows.good_names(names)),
            labels: Some(part.labels),
            has_label: None,
            sets: part.sets,
            agreement,
            lost: part.lost,
        })
    }

    /// With bad rows in their places: no label, equally probable classes, all of them possible.
    fn with_bad(self, rows: &FeatureRows, names: &RowNames, n_classes: usize) -> Self {
        if rows.good.len() == rows.n_rows {
            return self;
        }
        let mut p = Array2::from_elem((rows.n_rows, n_classes), 1.0 / n_classes as f64);
        if let Some(labels) = &self.labels {
            rows.good.iter().zip(labels.values().rows()).for_each(|(&row, good)| p.row_mut(row).assign(&good));
        }
        let (n_rows, good) = (rows.n_rows, rows.good.as_slice());
        Self {
            rows: Some(names.clone()),
            labels: Some(SoftLabels::new(p).expect("rows that sum to one")),
            has_label: Some(placed(vec![true; good.len()], good, false, n_rows)),
            sets: Some(placed(self.sets.unwrap_or_default(), good, (0..n_classes).collect(), n_rows)),
            agreement: Some(placed(self.agreement.unwrap_or_default(), good, None, n_rows)),
            lost: self.lost,
        }
    }
}

/// The values of these rows among all rows; the others have the one for none.
fn placed<T: Clone>(values: Vec<T>, rows: &[usize], none: T, n_rows: usize) -> Vec<T> {
    let mut placed = vec![none; n_rows];
    for (value, &row) in values.into_iter().zip(rows) {
        placed[row] = value;
    }
    placed
}

fn regress(model: &FittedLabelFlowRegressor, args: &PredictArgs) -> anyhow::Result<RowCounts> {
    ensure!(
        args.samples.is_none(),
        "--samples is for classification: the distributions of this model are known without samples"
    );
    if args.signals.is_some() {
        bail!("--signals is for classification: this model was trained on rules");
    }
    let place = || format!("{}", args.features.display());
    let rows = PredictRows::open(model, args)?;
    let batch_rows = rows.batch_rows(0, model.bytes_per_row(), model.rows_at_once(), args)?;
    let (in_memory, key) = (rows.are_in_memory(), rows.key_head());
    let mut seen = NewRows::new(&args.features, model.feature_names());
    let label = |push: &mut dyn FnMut(&RowNames, &ValueLabels) -> labelflow_data::Result<()>| {
        rows.visit(batch_rows, args, |rows, names, counts| {
            let (good, labels, lost) = match &rows.features {
                None => Default::default(),
                Some(features) => values_of(model, features, rows).with_context(place)?,
            };
            counts.add_lost(rows, &lost);
            if let (Some(&first), BadRows::Fail) = (lost.first(), args.bad_rows()) {
                let row = rows.first_row + rows.good[first] as u64;
                return Err(FittedLabelFlowRegressor::row_lost(row)).with_context(place);
            }
            counts.look_at(rows, &mut seen)?;
            let (names, labels) = match args.bad_rows() {
                BadRows::Abstain => (names.clone(), in_places(labels, &good, rows.n_rows)),
                _ => (names.select(&good), labels),
            };
            counts.n_labelled += names.n_rows() as u64;
            Ok(push(&names, &labels)?)
        })
    };
    let mut counts = match in_memory {
        true => label(&mut |names, labels| write_value_labels(&args.out, &key, names, labels)),
        false => write_value_labels_as_they_come(&args.out, &key, label),
    }?;
    // A row on which the flow overflows is as bad as one with a feature that is missing.
    if let Some(first) = counts.first_lost {
        counts.n_bad += counts.n_lost;
        let lost = FittedLabelFlowRegressor::row_lost(first).to_string();
        counts.first_bad = counts.first_bad.take().or(Some(lost));
    }
    Ok(counts)
}

/// The rows that can be labelled, counted from the first, their labels, and which of the good ones cannot.
fn values_of(
    model: &FittedLabelFlowRegressor,
    features: &Features,
    rows: &FeatureRows,
) -> anyhow::Result<(Vec<usize>, ValueLabels, Vec<usize>)> {
    let PartDistribution { labels, lost } = model.predict_part(features)?;
    let mut labels = value_labels(&labels)?;
    let mut known = rows.good.clone();
    for &lost in lost.iter().rev() {
        known.remove(lost);
        for column in columns(&mut labels) {
            column.remove(lost);
        }
    }
    Ok((known, labels, lost))
}

fn columns(labels: &mut ValueLabels) -> [&mut Vec<f64>; 5] {
    let ValueLabels { mean, std, q05, q50, q95 } = labels;
    [mean, std, q05, q50, q95]
}

/// The labels of these rows among all rows, which otherwise have none.
fn in_places(mut labels: ValueLabels, known: &[usize], n_rows: usize) -> ValueLabels {
    for column in columns(&mut labels) {
        *column = placed(std::mem::take(column), known, f64::NAN, n_rows);
    }
    labels
}

impl Model {
    /// The model, and what is recorded of it.
    pub(crate) fn load(folder: &Path, device: DeviceName) -> anyhow::Result<(Self, ModelRecord)> {
        let load = || {
            let files = ModelFiles::read(folder)?;
            let record = files.record().clone();
            let model = match record.task {
                ModelTask::Classification => {
                    Self::Classifier(files.into_model::<FittedLabelFlowClassifier>()?.to_device(device.into())?)
                }
                ModelTask::Regression => {
                    Self::Regressor(files.into_model::<FittedLabelFlowRegressor>()?.to_device(device.into())?)
                }
                task => bail!(
                    "expected a model for classification or regression, found one for {task}; `labelflow complete` takes \
                     those for completion"
                ),
            };
            Ok((model, record))
        };
        load().with_context(|| format!("loading the model {}", folder.display()))
    }
}

/// What is written of them.
pub(crate) fn value_labels(labels: &ValueDistribution) -> anyhow::Result<ValueLabels> {
    Ok(ValueLabels {
        mean: labels.mean(),
        std: labels.std(),
        q05: labels.quantile(0.05)?,
        q50: labels.quantile(0.5)?,
        q95: labels.quantile(0.95)?,
    })
}
