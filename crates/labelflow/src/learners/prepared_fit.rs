//! A fit that has its data and has not begun: all rows were looked at once, or are in memory.

use std::cell::RefCell;
use std::path::Path;

use burn::tensor::Device;
use labelflow_flow::release_buffers;
use labelflow_weak::rows::Features;
use labelflow_weak::warnings::DataWarning;

use crate::constraints::Penalty;
use crate::learners::{FittedFlow, FlowLearner, FlowSettings};
use crate::sources::{FitRows, RowLearner, RowSignals};
use crate::storage::Checkpoint;
use crate::training::{Objective, Observer, Start, TrainConfig};
use crate::{Error, Result};

/// What must hold of all rows, as far as it is about these, on a device.
type BuildObjective<'a> = dyn Fn(&Features, &RowSignals, &Device) -> Result<Objective> + 'a;

/// Options of a fit; by default there is nothing beside the data.
///
/// ```no_run
/// # let (config, dataset) = (labelflow::LabelFlowClassifier::default(), None::<labelflow::WeakDataset>.unwrap());
/// use labelflow::learners::FitOptions;
/// use labelflow::training::TimeLimit;
///
/// let mut limit = TimeLimit::after(std::time::Duration::from_secs(60));
/// let model = config.fit_with(&dataset, FitOptions { observer: Some(&mut limit), ..FitOptions::default() })?;
/// # Ok::<(), labelflow::Error>(())
/// ```
#[derive(Default)]
pub struct FitOptions<'a> {
    /// Constraints of the user's own, beside those of the settings; rows in memory only.
    pub constraints: Vec<Penalty>,
    /// Where training goes on. Default: it starts anew.
    pub checkpoint: Option<Checkpoint>,
    /// Who watches training. Default: nobody.
    pub observer: Option<&'a mut dyn Observer>,
    /// Where rows that do not fit in memory are kept in random order while training lasts, in a file that has no name. Default: the
    /// system's folder for temporary files.
    pub folder: Option<&'a Path>,
}

/// A fit to rows in memory, or to rows of a source of which a first pass has told what scaling and constraints must know.
pub struct PreparedFit<'a, L: FlowLearner> {
    learner: L,
    rows: FitRows<'a>,
    labels: L::Labels,
    n_uncovered: u64,
    warnings: Vec<DataWarning>,
    objective: Box<BuildObjective<'a>>,
}

impl<'a, L: FlowLearner> PreparedFit<'a, L> {
    pub(crate) fn new(
        learner: &L,
        rows: FitRows<'a>,
        labels: L::Labels,
        n_uncovered: u64,
        beside_features: impl IntoIterator<Item = DataWarning>,
        objective: impl Fn(&Features, &RowSignals, &Device) -> Result<Objective> + 'a,
    ) -> Self {
        let (learner, objective) = (learner.clone(), Box::new(objective));
        let mut warnings: Vec<DataWarning> = rows.warnings.iter().cloned().map(DataWarning::Features).collect();
        warnings.extend(beside_features);
        Self { learner, rows, labels, n_uncovered, warnings, objective }
    }

    /// A digest of the settings and the data, and of the memory if rows are read in parts: two runs with the same digest end with the
    /// same weights. Rows in memory are hashed when it is first asked for.
    pub fn digest(&self) -> &str {
        &self.rows.digest
    }

    /// Number of rows of which no labeler or rule speaks.
    pub fn n_uncovered(&self) -> u64 {
        self.n_uncovered
    }

    /// What looks wrong in the data; the fit goes on all the same.
    pub fn warnings(&self) -> &[DataWarning] {
        &self.warnings
    }

    /// Number of windows: parts of the rows that are in memory one after the other in each epoch. One means that all rows are.
    pub fn n_windows(&self) -> usize {
        self.rows.parts().map_or(1, |parts| parts.plan.n_windows)
    }

    /// The most rows of a step; none where that is decided once training begins.
    pub fn batch_rows(&self) -> Option<usize> {
        self.rows.parts().map(|parts| parts.plan.batch_rows)
    }

    /// The bytes that rows in random order take on disk while training lasts: none if there is one window.
    pub fn disk_bytes(&self) -> u64 {
        self.rows.parts().map_or(0, |parts| parts.disk_bytes())
    }

    /// Trains.
    pub fn fit(&self, options: FitOptions<'_>) -> Result<FittedFlow<L>> {
        if let (false, Some(_)) = (options.constraints.is_empty(), self.rows.parts()) {
            let expected = "none beside those of the settings, for rows that are read in parts";
            return Err(Error::config("constraints", expected, options.constraints.len()));
        }
        let own: String = options.constraints.iter().map(|own| format!("+{own:?}")).collect();
        let run = || format!("{}{own}", self.digest());
        check_belongs(options.checkpoint.as_ref().is_none_or(|from| from.run == run()))?;
        self.train(self.learner.settings().training, &run, options)
    }

    /// The model as it was when a checkpoint of this run was made: what training would have ended with then.
    pub fn at_checkpoint(&self, checkpoint: Checkpoint) -> Result<FittedFlow<L>> {
        // The user's own constraints do not matter.
        check_belongs(checkpoint.run.starts_with(self.digest()))?;
        let training = self.learner.settings().training.ending_at(&checkpoint);
        let run = checkpoint.run.clone();
        let options = FitOptions { checkpoint: Some(checkpoint), ..FitOptions::default() };
        self.train(&training, &|| run.clone(), options)
    }

    fn train(
        &self,
        training: &TrainConfig,
        run: &dyn Fn() -> String,
        options: FitOptions<'_>,
    ) -> Result<FittedFlow<L>> {
        let settings = FlowSettings { training, ..self.learner.settings() };
        let device = settings.device.open()?.autodiff();
        let (names, d_labels) = (self.rows.feature_names, self.learner.d_labels(&self.labels));
        let init = |d_features: usize| self.learner.init_flow(d_features, d_labels, &device);
        let FitOptions { constraints, checkpoint, observer, folder } = options;
        let mut silent = ();
        let observer: &mut dyn Observer = match observer {
            Some(observer) => observer,
            None => &mut silent,
        };
        let start = Start { run, checkpoint, observer };
        let own = RefCell::new(constraints);
        let objective = |features: &Features, signals: &RowSignals| {
            let mut objective = (self.objective)(features, signals, &device)?;
            // There are none of rows in parts, and rows in memory are looked at once.
            objective.penalties.splice(0..0, own.take());
            Ok(objective)
        };
        let learner = RowLearner { d_labels, settings, device: device.clone(), objective: &objective };
        let folder = folder.map_or_else(std::env::temp_dir, Path::to_owned);
        let (flow, feature_map, report) = self.rows.train(init, &learner, &folder, start)?;
        release_buffers();
        Ok(FittedFlow {
            config: self.learner.clone(),
            flow,
            feature_map,
            feature_names: names.to_vec(),
            labels: self.labels.clone(),
            report,
        })
    }
}

/// What a run is, with the user's own constraints; an error when a checkpoint is not of it.
pub fn check_run(digest: String, constraints: &[Penalty], checkpoint: Option<&Checkpoint>) -> Result<String> {
    let own = constraints.iter().map(|penalty| format!("+{penalty:?}"));
    let run = digest + &own.collect::<String>();
    check_belongs(checkpoint.is_none_or(|checkpoint| checkpoint.run == run))?;
    Ok(run)
}

fn check_belongs(is_of_this_run: bool) -> Result<()> {
    match is_of_this_run {
        true => Ok(()),
        false => Err(Error::data("checkpoint", "one of this run", "one of other settings or data")),
    }
}
