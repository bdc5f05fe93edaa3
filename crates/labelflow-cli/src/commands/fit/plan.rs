//! What `fit` is told, by flags and a `RUN.toml` together.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use labelflow::TrainConfig;
use labelflow::storage::ModelTask;
use labelflow::training::{BatchSize, DeviceKind, Preset};
use labelflow_data::inputs::AbstainConvention;
use labelflow_data::parts::TableParts;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::args::{FitArgs, TaskName};
use super::origin::Repetition;
use crate::inputs::bounds_setting::BoundsSetting;
use crate::inputs::config_table::read_config;
use crate::inputs::memory_size::MemorySize;

const CLASSES: &[TaskName] = &[TaskName::Classification];
const VALUES: &[TaskName] = &[TaskName::Regression];
const TABLES: &[TaskName] = &[TaskName::Classification, TaskName::Regression];
const CLOUDS: &[TaskName] = &[TaskName::Completion];

/// What both a flag and a key of a `RUN.toml` can say.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct FitSettings {
    pub(super) task: Option<ModelTask>,
    pub(super) features: Option<PathBuf>,
    pub(super) signals: Option<PathBuf>,
    pub(super) rules: Option<PathBuf>,
    pub(super) range: Option<[f64; 2]>,
    pub(super) shapes: Option<PathBuf>,
    pub(super) scans: Option<PathBuf>,
    /// Of completion, by name.
    pub(super) system: Option<String>,
    pub(super) bounds: Option<BoundsSetting>,
    pub(super) classes: Option<Vec<String>>,
    pub(super) abstain: Option<AbstainConvention>,
    pub(super) labels_for_eval: Option<PathBuf>,
    pub(super) eval_every: Option<usize>,
    pub(super) memory: Option<MemorySize>,
    pub(super) feature_columns: Option<Vec<String>>,
    pub(super) signal_columns: Option<Vec<String>>,
    pub(super) out: Option<PathBuf>,
    /// Settings of the learner of the task, of the file alone; see [`read_config`].
    pub(super) config: toml::Table,
}

impl FitSettings {
    /// Reads a file, and returns its text too. Paths are relative to the file.
    fn read(path: &Path) -> anyhow::Result<(Self, String)> {
        let context = || format!("reading {}", path.display());
        let text = std::fs::read_to_string(path).with_context(context)?;
        let mut file: Self = toml::from_str(&text).with_context(context)?;
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
        Ok((file, text))
    }

    fn of_flags(args: &FitArgs) -> Self {
        Self {
            task: args.task.map(Into::into),
            features: args.features.clone(),
            signals: args.signals.clone(),
            rules: args.rules.clone(),
            range: args.range.as_ref().map(|range| [range[0], range[1]]),
            shapes: args.shapes.clone(),
            scans: args.scans.clone(),
            system: args.system.clone(),
            bounds: args.bounds.as_deref().map(BoundsSetting::parse),
            classes: args.classes.clone(),
            abstain: args.abstain.map(Into::into),
            labels_for_eval: args.labels_for_eval.clone(),
            eval_every: args.eval_every,
            memory: args.memory,
            feature_columns: args.feature_columns.clone(),
            signal_columns: args.signal_columns.clone(),
            out: args.out.clone(),
            config: toml::Table::new(),
        }
    }

    /// These of flags, and where there are none those of a file.
    fn or(self, file: Self) -> Self {
        Self {
            task: self.task.or(file.task),
            features: self.features.or(file.features),
            signals: self.signals.or(file.signals),
            rules: self.rules.or(file.rules),
            range: self.range.or(file.range),
            shapes: self.shapes.or(file.shapes),
            scans: self.scans.or(file.scans),
            system: self.system.or(file.system),
            bounds: self.bounds.or(file.bounds),
            classes: self.classes.or(file.classes),
            abstain: self.abstain.or(file.abstain),
            labels_for_eval: self.labels_for_eval.or(file.labels_for_eval),
            eval_every: self.eval_every.or(file.eval_every),
            memory: self.memory.or(file.memory),
            feature_columns: self.feature_columns.or(file.feature_columns),
            signal_columns: self.signal_columns.or(file.signal_columns),
            out: self.out.or(file.out),
            config: file.config,
        }
    }

    /// The task that is named, or that the inputs are for.
    fn task(&self) -> anyhow::Result<ModelTask> {
        if self.rules.is_some() && (self.signals.is_some() || self.signal_columns.is_some()) {
            bail!(
                "expected signals, for classification, or rules, for regression, found both: leave one out"
            );
        }
        Ok(match self.task {
            Some(task) => task,
            None if self.rules.is_some() => ModelTask::Regression,
            None if self.shapes.is_some() || self.system.is_some() => ModelTask::Completion,
            None => ModelTask::Classification,
        })
    }

    /// The keys that are for some tasks only: whether they are given, and the tasks.
    fn given(&self) -> impl Iterator<Item = (&'static str, bool, &'static [TaskName])> + use<> {
        let given = [
            ("features", self.features.is_some(), TABLES),
            ("signals", self.signals.is_some(), CLASSES),
            ("rules", self.rules.is_some(), VALUES),
            ("range", self.range.is_some(), VALUES),
            ("shapes", self.shapes.is_some(), CLOUDS),
            ("scans", self.scans.is_some(), CLOUDS),
            ("system", self.system.is_some(), CLOUDS),
            ("bounds", self.bounds.is_some(), CLASSES),
            ("classes", self.classes.is_some(), CLASSES),
            ("abstain", self.abstain.is_some(), CLASSES),
            ("labels_for_eval", self.labels_for_eval.is_some(), TABLES),
            ("eval_every", self.eval_every.is_some(), TABLES),
            ("memory", self.memory.is_some(), TABLES),
            ("feature_columns", self.feature_columns.is_some(), TABLES),
            ("signal_columns", self.signal_columns.is_some(), CLASSES),
        ];
        given.into_iter()
    }

    /// The bounds, estimated where nothing is said.
    pub(super) fn bounds(&self) -> BoundsSetting {
        self.bounds.clone().unwrap_or(BoundsSetting::Named("auto".to_owned()))
    }

    /// Whether rows are read in parts.
    pub(super) fn is_in_parts(&self) -> bool {
        let several =
            |path: &Option<PathBuf>| path.as_ref().is_some_and(|path| TableParts::is_several(path));
        self.memory.is_some()
            || self.feature_columns.is_some()
            || self.signal_columns.is_some()
            || several(&self.features)
            || several(&self.signals)
    }

    /// What rows in parts may take.
    pub(super) fn memory(&self) -> MemorySize {
        self.memory.unwrap_or(MemorySize::DEFAULT)
    }
}

/// All that a fit is told.
pub(super) struct FitPlan<'a> {
    /// What only flags can say.
    pub(super) args: &'a FitArgs,
    pub(super) task: ModelTask,
    /// A flag wins over the file.
    pub(super) settings: FitSettings,
    /// The folder of the model.
    pub(super) out: PathBuf,
    /// The fit that this one repeats, if it does.
    pub(super) repeated: Option<Repetition>,
    /// The settings of the learner: where they were read, and the text of the file.
    config: Option<(&'a Path, String)>,
}

impl<'a> FitPlan<'a> {
    pub(super) fn new(args: &'a FitArgs) -> anyhow::Result<Self> {
        let repeated = args.from.as_deref().map(Repetition::read).transpose()?;
        let (file, config) = match (&repeated, args.from.as_deref(), args.run.as_deref()) {
            (Some(repeated), Some(model), _) => {
                (repeated.settings(), Some((model, repeated.record.config_toml())))
            }
            (_, _, Some(path)) => {
                let (file, text) = FitSettings::read(path)?;
                (file, Some((path, text)))
            }
            _ => (FitSettings::default(), None),
        };
        let file_name = args.run.as_deref().unwrap_or(Path::new("RUN.toml")).display().to_string();
        let (flags, in_file) = (FitSettings::of_flags(args), file.given());
        let in_flags = flags.given().chain([
            ("samples", args.model.samples.is_some(), CLASSES),
            ("spread_first", args.model.spread_first, CLASSES),
        ]);
        let in_flags = in_flags
            .map(|(key, given, tasks)| (format!("--{}", key.replace('_', "-")), given, tasks));
        let in_file =
            in_file.map(|(key, given, tasks)| (format!("{file_name}, key '{key}'"), given, tasks));
        let given: Vec<_> = in_flags.chain(in_file).filter(|(_, given, _)| *given).collect();
        let settings = flags.or(file);
        let task = settings.task()?;
        let name = TaskName::of(task);
        if let Some((place, _, tasks)) = given.iter().find(|(_, _, tasks)| !tasks.contains(&name)) {
            let tasks: Vec<String> =
                tasks.iter().map(|&task| ModelTask::from(task).to_string()).collect();
            bail!(
                "{place} is for {}; this fit is for {}: leave it out",
                tasks.join(" and "),
                ModelTask::from(name)
            );
        }
        // Beside the model that is repeated, which stays: it may turn out to be another one.
        let again = args.from.as_ref().map(|model| {
            let mut name = model.file_name().unwrap_or_default().to_owned();
            name.push("-again");
            model.with_file_name(name)
        });
        let out = settings.out.clone().or(again);
        let out = out.context("--out is missing: name the model folder")?;
        Ok(Self { args, task, settings, out, repeated, config })
    }

    /// The settings of a learner, without those that flags change.
    pub(super) fn config<C: DeserializeOwned + Default>(&self) -> anyhow::Result<C> {
        match &self.config {
            None => Ok(C::default()),
            Some((path, text)) => {
                read_config(text).with_context(|| format!("reading {}", path.display()))
            }
        }
    }

    /// Changes the settings that flows of all tasks have to what flags say.
    pub(super) fn override_shared(&self, n_rows: u64, settings: SharedSettings<'_>) {
        let flags = &self.args.model;
        let SharedSettings { seed, training, likelihood_weight, device } = settings;
        *seed = flags.seed.unwrap_or(*seed);
        *likelihood_weight = flags.likelihood_weight.unwrap_or(*likelihood_weight);
        *device = flags.device.map_or(*device, Into::into);
        if let Some(preset) = flags.preset {
            *training =
                Preset::from(preset).training(usize::try_from(n_rows).unwrap_or(usize::MAX));
        }
        training.max_epochs = flags.epochs.unwrap_or(training.max_epochs);
        training.batch_size = flags.batch_size.map_or(training.batch_size, BatchSize::Rows);
    }
}

/// The settings of the learner that have flags, whatever the task.
pub(super) struct SharedSettings<'a> {
    pub(super) seed: &'a mut u64,
    pub(super) training: &'a mut TrainConfig,
    pub(super) likelihood_weight: &'a mut f64,
    pub(super) device: &'a mut DeviceKind,
}

/// A file that must be named.
pub(super) fn required<'p>(path: &'p Option<PathBuf>, flag: &str) -> anyhow::Result<&'p Path> {
    path.as_deref().with_context(|| format!("--{flag} is missing: name the file"))
}

#[cfg(test)]
mod tests {
    use labelflow::LabelFlowClassifier;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::inputs::config_table::read_config;
    use labelflow_testing::damaged;

    const VALID: &str = "task = \"classification\"\nfeatures = \"a.csv\"\nsignals = \"b.csv\"\nbounds = 0.2\nclasses = [\"a\", \"b\"]\n\
        abstain = \"zero\"\nrange = [0, 1]\n[config]\nn_steps = 2\n[[config.constraints]]\nkind = \"range\"\nweight = 3.0\n";

    #[test]
    fn damaged_files_are_read_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.toml");
        let valid = [VALID.as_bytes().to_vec()];
        std::fs::write(&path, VALID).unwrap();
        let (_, text) = FitSettings::read(&path).unwrap();
        read_config::<LabelFlowClassifier>(&text).unwrap();
        for case in 0..3000 {
            let mut rng = ChaCha8Rng::seed_from_u64(case);
            let bytes = damaged(&valid[rng.random_range(0..valid.len())], &valid, &mut rng);
            std::fs::write(&path, bytes).unwrap();
            if let Ok((_, text)) = FitSettings::read(&path) {
                let _ = read_config::<LabelFlowClassifier>(&text);
            }
        }
    }
}
