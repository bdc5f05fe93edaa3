//! Trains a model of any task in its folder: from the checkpoint there, watched, evaluated as it goes on, saved and compared.

use std::ops::ControlFlow;
use std::path::Path;

use anyhow::{Context, bail, ensure};
use labelflow::learners::{FitOptions, FittedFlow, FlowLearner, PreparedFit};
use labelflow::storage::{Checkpoint, ModelRecord, SavedModel};
use labelflow::training::{CheckpointFile, EpochEvent, Observer, Report, StopReason};

use serde::Serialize;

use super::evaluations::{Evaluations, Judge};
use super::origin::Origin;
use super::plan::FitPlan;
use crate::Outcome;
use crate::commands::eval::Metrics;
use crate::inputs::completer::{CHECKPOINT, WithCheckpoints};
use crate::inputs::memory_size::MemorySize;
use crate::terminal::progress::{Progress, why_ended};
use crate::terminal::{output, time_limit};

/// Trains a flow on the rows of a table, in memory or in parts.
///
/// `metrics` tell how good a model is, where there are true labels; `uncovered` is what becomes of
/// rows that no labeler or rule is about.
pub(super) fn train_flow<L: FlowLearner, M: Metrics>(
    plan: &FitPlan<'_>,
    fit: &PreparedFit<'_, L>,
    n_rows: u64,
    uncovered: &str,
    metrics: Option<impl Fn(&FittedFlow<L>) -> labelflow::Result<M>>,
) -> anyhow::Result<Outcome> {
    for warning in fit.warnings() {
        plan.warn(warning);
    }
    if fit.n_uncovered() > 0 {
        output::note(&format!("{} of {n_rows} rows {uncovered}", fit.n_uncovered()));
    }
    if let Some(batch_rows) = fit.batch_rows() {
        output::note(&match fit.n_windows() {
            1 => format!("{n_rows} rows in memory, steps of at most {batch_rows} rows"),
            n_windows => format!(
                "{n_rows} rows in {n_windows} windows, steps of at most {batch_rows} rows; rows in random order take {} of disk in the \
                 model folder while it is trained",
                MemorySize(fit.disk_bytes())
            ),
        });
    }
    let model_at = |checkpoint| fit.at_checkpoint(checkpoint);
    let metrics = metrics.as_ref();
    let scores = metrics.map(|metrics| |model: &_| Ok(metrics(model)?.scores()));
    let training = Training {
        digest: fit.digest().to_owned(),
        fit: &|checkpoint, observer| {
            fit.fit(FitOptions {
                checkpoint,
                observer: Some(observer),
                folder: Some(&plan.out),
                ..FitOptions::default()
            })
        },
        report: FittedFlow::report,
        save: |model, folder, origin| model.save_with_origin(folder, origin),
        judge: scores.as_ref().map(|scores| Judge { model_at: &model_at, scores }),
    };
    let (model, outcome) = training.run(plan)?;
    if let Some(metrics) = metrics {
        let metrics = metrics(&model)?;
        if plan.args.json.as_deref() != Some(Path::new("-")) {
            metrics.print()?;
        }
    }
    Ok(outcome)
}

/// What machines read.
#[derive(Serialize)]
struct Trained<'a> {
    model: &'a Path,
    n_epochs: usize,
    stop: StopReason,
    warnings: Vec<output::Warning>,
}

/// Trains from a checkpoint, if there is one, watched by an observer.
type Fit<'a, M> = dyn Fn(Option<Checkpoint>, &mut dyn Observer) -> labelflow::Result<M> + 'a;

/// What a learner of any task is trained with: its run digest, and how it is fitted, reported on and saved.
pub(super) struct Training<'a, M> {
    pub(super) digest: String,
    pub(super) fit: &'a Fit<'a, M>,
    pub(super) report: fn(&M) -> &Report,
    pub(super) save: fn(&M, &Path, &toml::Table) -> labelflow::Result<()>,
    /// How the model is judged as training goes on, if there are labels.
    pub(super) judge: Option<Judge<'a, M>>,
}

impl<M> Training<'_, M> {
    /// Trains from the checkpoint in the folder of the model, if there is one, and leaves the model there.
    pub(super) fn run(&self, plan: &FitPlan<'_>) -> anyhow::Result<(M, Outcome)> {
        if let Some(repeated) = &plan.repeated
            && !repeated.origin.is_same_run(&self.digest)
        {
            bail!("the data or the settings are no longer those of the model to repeat");
        }
        output::refuse_warnings()?;
        let origin = toml::Table::try_from(Origin::of(plan, &self.digest)?);
        let (origin, folder) = (origin.expect("an origin can be written as TOML"), &plan.out);
        let model = self.train_and_save(plan, &origin)?;
        let report = (self.report)(&model);
        let json = plan.args.json.as_deref();
        let n_epochs = report.history.len();
        let trained = Trained { model: folder, n_epochs, stop: report.stop, warnings: output::warnings() };
        output::show(json, &trained, || {
            output::print(&format!("{}: trained for {n_epochs} epochs ({})", folder.display(), why_ended(report.stop)))
        })?;
        let Some(repeated) = &plan.repeated else { return Ok((model, Outcome::Done)) };
        let is_same = ModelRecord::read(folder)?.weights_sha256 == repeated.record.weights_sha256;
        let text = match is_same {
            true => "the same weights, to the last bit",
            false => "other weights than those of the model that was repeated",
        };
        output::print_beside(json, text)?;
        Ok((model, if is_same { Outcome::Done } else { Outcome::Missed }))
    }

    fn train_and_save(&self, plan: &FitPlan<'_>, origin: &toml::Table) -> anyhow::Result<M> {
        let (args, folder) = (plan.args, &plan.out);
        let checkpoint = folder.join(CHECKPOINT);
        let start = find_checkpoint(&checkpoint, &self.digest, args.restart)?;
        let mut evaluations = Evaluations::find(folder, plan.settings.eval_every, start.as_ref())?;
        let mut watchers: Vec<Box<dyn Observer + '_>> = Vec::new();
        watchers.extend(evaluations.observer(self.judge.as_ref())?);
        watchers.push(Box::new(Progress::new()));
        if let Some(minutes) = args.max_minutes {
            watchers.push(Box::new(time_limit::after_minutes(minutes)?));
        }
        if let Some(repeated) = &plan.repeated
            && repeated.record.stop == StopReason::TimeLimit
        {
            watchers.push(Box::new(EpochLimit(repeated.record.n_epochs)));
        }
        // Evaluations before checkpoints: an epoch that is not trained again has its line.
        let file = CheckpointFile { path: checkpoint.clone(), every: args.checkpoint_every };
        let model = (self.fit)(start, &mut WithCheckpoints { watched: &mut watchers, file })?;
        drop(watchers);
        let report = (self.report)(&model);
        ensure!(
            report.stop != StopReason::Interrupted,
            "interrupted after {} epochs; the same command goes on from the checkpoint in {}",
            report.history.len(),
            folder.display()
        );
        (self.save)(&model, folder, origin)?;
        evaluations.finish(&model, report.history.len(), self.judge.as_ref())?;
        if report.stop == StopReason::TimeLimit {
            output::note("the checkpoint stays: the same command goes on from it");
        } else {
            Checkpoint::remove(&checkpoint)?;
        }
        Ok(model)
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
    let checkpoint = Checkpoint::load(path).context("cannot go on where a run ended (--restart forgets it)")?;
    ensure!(
        checkpoint.run == run,
        "{}: a checkpoint of other settings or data; repeat that command to finish it, or --restart to forget it",
        path.display()
    );
    output::note(&format!("going on after epoch {}", checkpoint.history.len()));
    Ok(Some(checkpoint))
}
