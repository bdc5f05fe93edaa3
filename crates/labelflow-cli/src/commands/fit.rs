//! `labelflow fit`: a model from features and weak signals.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use labelflow::weak::{Truth, WeakDataset};
use labelflow::{
    BatchSize, Checkpoint, CheckpointFile, EpochEvent, FittedLabelFlowClassifier,
    LabelFlowClassifier, Observer, Preset, StopReason, classification_metrics,
};
use labelflow_data::{
    AbstainConvention, SignalsOptions, convention_doubt, read_features, read_labels, read_signals,
};
use serde::Deserialize;

use crate::Outcome;
use crate::args::{FitArgs, ModelArgs};
use crate::bounds_setting::BoundsSetting;
use crate::commands::eval::print_metrics;
use crate::progress::Progress;
use crate::{interrupt, output};

const CHECKPOINT: &str = "checkpoint.safetensors";

/// A `RUN.toml` for `fit`. Paths are relative to the file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct FitFile {
    features: Option<PathBuf>,
    signals: Option<PathBuf>,
    bounds: Option<BoundsSetting>,
    classes: Option<Vec<String>>,
    abstain: Option<AbstainConvention>,
    labels_for_eval: Option<PathBuf>,
    out: Option<PathBuf>,
    config: LabelFlowClassifier,
}

/// All settings of a fit, from the file and the flags.
struct Settings {
    features: PathBuf,
    signals: PathBuf,
    bounds: BoundsSetting,
    classes: Vec<String>,
    abstain: AbstainConvention,
    labels_for_eval: Option<PathBuf>,
    out: PathBuf,
    config: LabelFlowClassifier,
}

pub(crate) fn run(args: &FitArgs) -> anyhow::Result<Outcome> {
    let mut settings = Settings::gather(args)?;
    let dataset = settings.dataset()?;
    settings.config = with_flags(settings.config, &args.model, dataset.n_rows());
    let truth = settings.truth(&dataset)?;
    let folder = &settings.out;
    let is_new = !folder.exists();
    // Before training: better to know at once that there is no place for its result.
    std::fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    let model = settings.train_and_save(&dataset, args).inspect_err(|_| {
        if is_new {
            // Only an empty folder can be removed: a checkpoint stays.
            let _ = std::fs::remove_dir(folder);
        }
    })?;
    summarize(&model, folder)?;
    if let Some(truth) = truth {
        let labels = model.predict_proba(dataset.features())?;
        print_metrics(&classification_metrics(&labels, &truth)?)?;
    }
    Ok(Outcome::Done)
}

/// Saves the last epoch's state when Ctrl-C ends training, so that nothing is lost. Stands behind [`Progress`], which ends it: what that one
/// has seen, this one sees too.
struct CheckpointOnInterrupt(PathBuf);

impl Observer for CheckpointOnInterrupt {
    fn observe(&mut self, event: EpochEvent<'_>) -> labelflow::Result<ControlFlow<()>> {
        if !interrupt::requested() {
            return Ok(ControlFlow::Continue(()));
        }
        (event.snapshot)().save(&self.0)?;
        Ok(ControlFlow::Break(()))
    }
}

impl Settings {
    fn gather(args: &FitArgs) -> anyhow::Result<Self> {
        let file = match &args.run {
            Some(path) => FitFile::read(path)?,
            None => FitFile::default(),
        };
        let required = |flag: &Option<PathBuf>, file: Option<PathBuf>, name: &str| {
            flag.clone().or(file).with_context(|| format!("--{name} is missing: name the file"))
        };
        let named = args.bounds.as_deref().map(BoundsSetting::parse);
        Ok(Self {
            features: required(&args.features, file.features, "features")?,
            signals: required(&args.signals, file.signals, "signals")?,
            bounds: named.or(file.bounds).unwrap_or(BoundsSetting::Named("auto".to_owned())),
            classes: args.classes.clone().or(file.classes).unwrap_or_default(),
            abstain: args.abstain.map(Into::into).or(file.abstain).unwrap_or_default(),
            labels_for_eval: args.labels_for_eval.clone().or(file.labels_for_eval),
            out: args
                .out
                .clone()
                .or(file.out)
                .context("--out is missing: name the model folder")?,
            config: file.config,
        })
    }

    fn train_and_save(
        &self,
        dataset: &WeakDataset,
        args: &FitArgs,
    ) -> anyhow::Result<FittedLabelFlowClassifier> {
        let folder = &self.out;
        let checkpoint = folder.join(CHECKPOINT);
        let start = find_checkpoint(&checkpoint, &self.config.run_digest(dataset), args.restart)?;
        let mut observer: Vec<Box<dyn Observer>> = vec![
            Box::new(CheckpointFile { path: checkpoint.clone(), every: args.checkpoint_every }),
            Box::new(Progress::new()),
            Box::new(CheckpointOnInterrupt(checkpoint.clone())),
        ];
        let model = self.config.fit_with(dataset, Vec::new(), start, &mut observer)?;
        drop(observer);
        if model.report().stop == StopReason::Interrupted {
            bail!(
                "interrupted after {} epochs; the same command goes on from the checkpoint in {}",
                model.report().history.len(),
                folder.display()
            );
        }
        model.save(folder)?;
        remove(&checkpoint)?;
        Ok(model)
    }

    fn truth(&self, dataset: &WeakDataset) -> anyhow::Result<Option<Truth>> {
        let Some(path) = &self.labels_for_eval else {
            return Ok(None);
        };
        let truth = read_labels(path, dataset.signals().classes())?;
        if truth.n_rows() != dataset.n_rows() {
            bail!(
                "{}: expected {} rows, as many as {} has, found {}",
                path.display(),
                dataset.n_rows(),
                self.features.display(),
                truth.n_rows()
            );
        }
        Ok(Some(truth))
    }

    fn dataset(&self) -> anyhow::Result<WeakDataset> {
        let features = read_features(&self.features)?;
        let options = SignalsOptions {
            classes: self.classes.clone(),
            abstain: self.abstain,
            ..Default::default()
        };
        let signals = read_signals(&self.signals, &options)?;
        if let Some(doubt) = convention_doubt(&signals) {
            output::note(&format!("{}: {doubt}", self.signals.display()));
        }
        let uncovered = signals.n_uncovered();
        if uncovered > 0 {
            output::note(&format!(
                "{uncovered} of {} rows have no vote: their features are used, their labels are free",
                signals.n_rows()
            ));
        }
        let bounds = self.bounds.resolve(&signals)?;
        WeakDataset::new(features, signals, bounds)
            .with_context(|| format!("{}, {}", self.features.display(), self.signals.display()))
    }
}

impl FitFile {
    fn read(path: &Path) -> anyhow::Result<Self> {
        let context = || format!("reading {}", path.display());
        let text = std::fs::read_to_string(path).with_context(context)?;
        let mut file: Self = toml::from_str(&text).with_context(context)?;
        let folder = path.parent().unwrap_or(Path::new("."));
        for place in
            [&mut file.features, &mut file.signals, &mut file.labels_for_eval, &mut file.out]
        {
            *place = place.take().map(|path| folder.join(path));
        }
        if let Some(BoundsSetting::Named(name)) = &mut file.bounds
            && name != "auto"
        {
            *name = folder.join(&*name).display().to_string();
        }
        Ok(file)
    }
}

fn with_flags(
    mut config: LabelFlowClassifier,
    flags: &ModelArgs,
    n_rows: usize,
) -> LabelFlowClassifier {
    config.seed = flags.seed.unwrap_or(config.seed);
    if let Some(preset) = flags.preset {
        config.training = Preset::from(preset).training(n_rows);
    }
    config.training.max_epochs = flags.epochs.unwrap_or(config.training.max_epochs);
    config.likelihood_weight = flags.likelihood_weight.unwrap_or(config.likelihood_weight);
    config.n_samples = flags.samples.unwrap_or(config.n_samples);
    config.device = flags.device.map_or(config.device, Into::into);
    if let Some(rows) = flags.batch_size {
        config.training.batch_size = BatchSize::Rows(rows);
    }
    config
}

/// The checkpoint to go on from, if this run left one.
fn find_checkpoint(path: &Path, run: &str, restart: bool) -> anyhow::Result<Option<Checkpoint>> {
    if restart {
        remove(path)?;
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

fn remove(path: &Path) -> anyhow::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("removing {}", path.display()))
        }
        _ => Ok(()),
    }
}

fn summarize(model: &FittedLabelFlowClassifier, folder: &Path) -> anyhow::Result<()> {
    let report = model.report();
    let why = match report.stop {
        StopReason::Converged => "the loss settled",
        StopReason::MaxEpochs => "no epochs left",
        StopReason::Interrupted => "interrupted",
    };
    output::print(&format!(
        "{}: trained for {} epochs ({why})",
        folder.display(),
        report.history.len()
    ))
}
