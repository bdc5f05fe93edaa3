//! `labelflow fit`: a model from features and weak supervision.

pub(crate) mod args;
mod classification;
mod classification_parts;
mod completion;
mod evaluations;
mod origin;
mod parts;
mod regression;
mod regression_parts;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use evaluations::{Evaluations, Judge};
use labelflow::TrainConfig;
use labelflow::storage::{Checkpoint, ModelRecord, ModelTask};
use labelflow::training::{
    BatchSize, CheckpointFile, EpochEvent, Observer, Preset, Report, StopReason,
};
use labelflow_data::inputs::AbstainConvention;
use labelflow_data::parts::TableParts;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::Outcome;
use crate::inputs::bounds_setting::BoundsSetting;
use crate::inputs::completer::CHECKPOINT;
use crate::inputs::config_table::read_config;
use crate::inputs::memory_size::MemorySize;
use crate::terminal::claimed_folder::ClaimedFolder;
use crate::terminal::progress::{Progress, why_ended};
use crate::terminal::{output, time_limit};
use args::{FitArgs, ModelArgs};
use origin::{Origin, Repetition};

/// A `RUN.toml` for `fit`. Paths are relative to the file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct FitFile {
    task: Option<ModelTask>,
    features: Option<PathBuf>,
    signals: Option<PathBuf>,
    rules: Option<PathBuf>,
    range: Option<[f64; 2]>,
    shapes: Option<PathBuf>,
    scans: Option<PathBuf>,
    /// Of completion, by name.
    system: Option<String>,
    bounds: Option<BoundsSetting>,
    classes: Option<Vec<String>>,
    abstain: Option<AbstainConvention>,
    labels_for_eval: Option<PathBuf>,
    eval_every: Option<usize>,
    memory: Option<MemorySize>,
    feature_columns: Option<Vec<String>>,
    signal_columns: Option<Vec<String>>,
    out: Option<PathBuf>,
    /// Settings of the learner of the task; see [`read_config`].
    config: toml::Table,
    /// The whole file.
    #[serde(skip)]
    text: String,
}

pub(crate) fn run(args: &FitArgs) -> anyhow::Result<Outcome> {
    let repeated = args.from.as_deref().map(Repetition::read).transpose()?;
    let file = match (&repeated, &args.run) {
        (Some(repeated), _) => repeated.file(),
        (None, Some(path)) => FitFile::read(path)?,
        (None, None) => FitFile::default(),
    };
    let repeated = repeated.as_ref();
    match file.task(args)? {
        ModelTask::Classification if file.is_in_parts(args) => {
            classification_parts::run(file, args, repeated)
        }
        ModelTask::Classification => classification::run(file, args, repeated),
        ModelTask::Regression if file.is_in_parts(args) => {
            regression_parts::run(file, args, repeated)
        }
        task if file.is_in_parts(args) => {
            bail!(
                "rows in parts are for classification and regression; {task} learns from clouds in memory"
            )
        }
        ModelTask::Regression => regression::run(file, args, repeated),
        ModelTask::Completion
        | ModelTask::CodeCompletion
        | ModelTask::InversionCompletion
        | ModelTask::TransferCompletion => completion::run(file, args, repeated),
    }
}

impl FitFile {
    fn read(path: &Path) -> anyhow::Result<Self> {
        let context = || format!("reading {}", path.display());
        let text = std::fs::read_to_string(path).with_context(context)?;
        let mut file: Self = toml::from_str(&text).with_context(context)?;
        file.text = text;
        let folder = path.parent().unwrap_or(Path::new("."));
        for place in [
            &mut file.features,
            &mut file.signals,
            &mut file.rules,
            &mut file.shapes,
            &mut file.scans,
            &mut file.labels_for_eval,
            &mut file.out,
        ] {
            *place = place.take().map(|path| folder.join(path));
        }
        if let Some(BoundsSetting::Named(name)) = &mut file.bounds
            && name != "auto"
        {
            *name = folder.join(&*name).display().to_string();
        }
        Ok(file)
    }

    /// The task that is named, or that the inputs are for.
    fn task(&self, args: &FitArgs) -> anyhow::Result<ModelTask> {
        let signals = args.signals.is_some()
            || self.signals.is_some()
            || args.signal_columns.is_some()
            || self.signal_columns.is_some();
        let rules = args.rules.is_some() || self.rules.is_some();
        if signals && rules {
            bail!(
                "expected signals, for classification, or rules, for regression, found both: leave one out"
            );
        }
        let named = args.task.map(ModelTask::from).or(self.task);
        let system = args.system.is_some() || self.system.is_some();
        let shapes = args.shapes.is_some() || self.shapes.is_some() || system;
        let fitting = match (rules, shapes) {
            (true, _) => ModelTask::Regression,
            (_, true) => ModelTask::Completion,
            _ => ModelTask::Classification,
        };
        match named {
            Some(ModelTask::Regression) if signals => {
                bail!("--signals are for classification; regression learns from --rules")
            }
            Some(ModelTask::Classification) if rules => {
                bail!("--rules are for regression; classification learns from --signals")
            }
            Some(ModelTask::Classification | ModelTask::Regression) if system => {
                bail!("--system is for completion, which learns from --shapes")
            }
            named => Ok(named.unwrap_or(fitting)),
        }
    }

    /// Whether the flags or the file ask for rows in parts.
    fn is_in_parts(&self, args: &FitArgs) -> bool {
        let several = |flag: &Option<PathBuf>, file: &Option<PathBuf>| {
            flag.as_ref().or(file.as_ref()).is_some_and(|path| TableParts::is_several(path))
        };
        args.memory.or(self.memory).is_some()
            || args.feature_columns.is_some()
            || args.signal_columns.is_some()
            || self.feature_columns.is_some()
            || self.signal_columns.is_some()
            || several(&args.features, &self.features)
            || several(&args.signals, &self.signals)
    }

    /// The settings of a learner.
    fn config<C: DeserializeOwned + Default>(&self, args: &FitArgs) -> anyhow::Result<C> {
        match args.from.as_ref().or(args.run.as_ref()) {
            None => Ok(C::default()),
            Some(path) => {
                read_config(&self.text).with_context(|| format!("reading {}", path.display()))
            }
        }
    }

    fn eval_every(&self, args: &FitArgs) -> Option<usize> {
        args.eval_every.or(self.eval_every)
    }

    fn out(&self, args: &FitArgs) -> anyhow::Result<PathBuf> {
        // Beside the model that is repeated, which stays: it may turn out to be another one.
        let again = args.from.as_ref().map(|model| {
            let mut name = model.file_name().unwrap_or_default().to_owned();
            name.push("-again");
            model.with_file_name(name)
        });
        let out = args.out.clone().or(self.out.clone()).or(again);
        out.context("--out is missing: name the model folder")
    }
}

/// A path that a flag or the file must name.
fn required(flag: &Option<PathBuf>, file: &Option<PathBuf>, name: &str) -> anyhow::Result<PathBuf> {
    let path = flag.clone().or(file.clone());
    path.with_context(|| format!("--{name} is missing: name the file"))
}

/// The settings of training that have flags of their own.
fn with_flags(mut training: TrainConfig, flags: &ModelArgs, n_rows: usize) -> TrainConfig {
    if let Some(preset) = flags.preset {
        training = Preset::from(preset).training(n_rows);
    }
    training.max_epochs = flags.epochs.unwrap_or(training.max_epochs);
    if let Some(rows) = flags.batch_size {
        training.batch_size = BatchSize::Rows(rows);
    }
    training
}

/// Trains from a checkpoint, if there is one, watched by an observer.
type Fit<'a, M> = dyn Fn(Option<Checkpoint>, &mut dyn Observer) -> labelflow::Result<M> + 'a;

/// What a learner of any task is trained with: its run digest, and how it is fitted, reported on and saved.
struct Training<'a, M> {
    origin: Origin,
    /// The fit that this one repeats, if it does.
    repeated: Option<&'a Repetition>,
    digest: String,
    fit: &'a Fit<'a, M>,
    report: fn(&M) -> &Report,
    save: fn(&M, &Path, &Origin) -> labelflow::Result<()>,
    /// How the model is judged as training goes on, if there are labels.
    judge: Option<Judge<'a, M>>,
    /// The number of epochs from one evaluation to the next, if there are any.
    eval_every: Option<usize>,
}

impl<M> Training<'_, M> {
    /// Trains from the checkpoint in the folder, if there is one, and leaves the model there.
    fn run(&self, folder: &Path, args: &FitArgs) -> anyhow::Result<(M, Outcome)> {
        if let Some(repeated) = self.repeated
            && !repeated.origin.is_same_run(&self.digest)
        {
            bail!("the data or the settings are no longer those of the model to repeat");
        }
        // Before training: better to know at once that there is no place for its result.
        let _claim = ClaimedFolder::open(folder)?;
        let model = self.train_and_save(folder, args)?;
        summarize((self.report)(&model), folder)?;
        Ok((model, self.compare(folder)?))
    }

    /// Whether a repetition gave the same weights.
    fn compare(&self, folder: &Path) -> anyhow::Result<Outcome> {
        let Some(repeated) = self.repeated else {
            return Ok(Outcome::Done);
        };
        let is_same = ModelRecord::read(folder)?.weights_sha256 == repeated.record.weights_sha256;
        output::print(match is_same {
            true => "the same weights, to the last bit",
            false => "other weights than those of the model that was repeated",
        })?;
        Ok(if is_same { Outcome::Done } else { Outcome::Missed })
    }

    fn train_and_save(&self, folder: &Path, args: &FitArgs) -> anyhow::Result<M> {
        let checkpoint = folder.join(CHECKPOINT);
        let start = find_checkpoint(&checkpoint, &self.digest, args.restart)?;
        let mut evaluations = Evaluations::find(folder, self.eval_every, start.as_ref())?;
        // Evaluations before checkpoints: an epoch that is not trained again has its line.
        let mut watchers: Vec<Box<dyn Observer + '_>> = Vec::new();
        watchers.extend(evaluations.observer(self.judge.as_ref())?);
        watchers.push(Box::new(CheckpointFile {
            path: checkpoint.clone(),
            every: args.checkpoint_every,
        }));
        watchers.push(Box::new(Progress::new()));
        if let Some(minutes) = args.max_minutes {
            watchers.push(Box::new(time_limit::after_minutes(minutes)?));
        }
        if let Some(repeated) = self.repeated
            && repeated.record.stop == StopReason::TimeLimit
        {
            watchers.push(Box::new(EpochLimit(repeated.record.n_epochs)));
        }
        let mut observer = CheckpointAtEnd { watchers, path: checkpoint.clone() };
        let model = (self.fit)(start, &mut observer)?;
        drop(observer);
        let report = (self.report)(&model);
        if report.stop == StopReason::Interrupted {
            bail!(
                "interrupted after {} epochs; the same command goes on from the checkpoint in {}",
                report.history.len(),
                folder.display()
            );
        }
        (self.save)(&model, folder, &self.origin)?;
        evaluations.finish(&model, report.history.len(), self.judge.as_ref())?;
        if report.stop == StopReason::TimeLimit {
            output::note("the checkpoint stays: the same command goes on from it");
        } else {
            Checkpoint::remove(&checkpoint)?;
        }
        Ok(model)
    }
}

/// Saves the last epoch's state when one of the watchers ends training, so that nothing is lost.
struct CheckpointAtEnd<'a> {
    watchers: Vec<Box<dyn Observer + 'a>>,
    path: PathBuf,
}

impl Observer for CheckpointAtEnd<'_> {
    fn observe(&mut self, event: EpochEvent<'_>) -> labelflow::Result<ControlFlow<StopReason>> {
        let outcome = self.watchers.observe(event)?;
        if outcome.is_break() {
            (event.snapshot)().save(&self.path)?;
        }
        Ok(outcome)
    }

    fn warn(&mut self, warning: &str) {
        self.watchers.warn(warning);
    }
}

/// Ends training where that of a model ended whose time was up.
struct EpochLimit(usize);

impl Observer for EpochLimit {
    fn observe(&mut self, event: EpochEvent<'_>) -> labelflow::Result<ControlFlow<StopReason>> {
        Ok(match event.record.epoch + 1 >= self.0 {
            true => ControlFlow::Break(StopReason::TimeLimit),
            false => ControlFlow::Continue(()),
        })
    }
}

/// The checkpoint to go on from, if this run left one.
fn find_checkpoint(path: &Path, run: &str, restart: bool) -> anyhow::Result<Option<Checkpoint>> {
    if restart {
        Checkpoint::remove(path)?;
    }
    if !path.exists() {
        return Ok(None);
    }
    let checkpoint =
        Checkpoint::load(path).context("cannot go on where a run ended (--restart forgets it)")?;
    if checkpoint.run != run {
        bail!(
            "{}: a checkpoint of other settings or data; repeat that command to finish it, or --restart to forget it",
            path.display()
        );
    }
    output::note(&format!("going on after epoch {}", checkpoint.history.len()));
    Ok(Some(checkpoint))
}

fn summarize(report: &Report, folder: &Path) -> anyhow::Result<()> {
    output::print(&format!(
        "{}: trained for {} epochs ({})",
        folder.display(),
        report.history.len(),
        why_ended(report.stop)
    ))
}

#[cfg(test)]
mod tests {
    use labelflow::LabelFlowClassifier;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use labelflow_testing::damaged;

    const VALID: &str = "task = \"classification\"\nfeatures = \"a.csv\"\nsignals = \"b.csv\"\nbounds = 0.2\nclasses = [\"a\", \"b\"]\n\
        abstain = \"zero\"\nrange = [0, 1]\n[config]\nn_steps = 2\n[[config.constraints]]\nkind = \"range\"\nweight = 3.0\n";

    #[test]
    fn damaged_files_are_read_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.toml");
        let valid = [VALID.as_bytes().to_vec()];
        std::fs::write(&path, VALID).unwrap();
        let file = FitFile::read(&path).unwrap();
        read_config::<LabelFlowClassifier>(&file.text).unwrap();
        for case in 0..3000 {
            let mut rng = ChaCha8Rng::seed_from_u64(case);
            let bytes = damaged(&valid[rng.random_range(0..valid.len())], &valid, &mut rng);
            std::fs::write(&path, bytes).unwrap();
            if let Ok(file) = FitFile::read(&path) {
                let _ = read_config::<LabelFlowClassifier>(&file.text);
            }
        }
    }
}
