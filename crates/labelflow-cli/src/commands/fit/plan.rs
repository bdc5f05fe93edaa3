//! What `fit` is told, by flags and a `RUN.toml` together.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use labelflow::TrainConfig;
use labelflow::storage::ModelTask;
use labelflow::training::{BatchSize, DeviceKind, Preset};
use labelflow::weak::warnings::DataWarning;
use labelflow_data::inputs::{KeyColumn, Keyed, RowKeys, Rows};
use labelflow_data::parts::TableParts;
use labelflow_data::tables::read_text;
use serde::de::DeserializeOwned;

use super::args::{FitArgs, FitSettings, PresetName};
use super::origin::Repetition;
use crate::inputs::bounds_setting::BoundsSetting;
use crate::inputs::config_table::read_config;
use crate::inputs::memory_size::MemorySize;
use crate::terminal::output;
use crate::terminal::places::Places;

const CLASSES: &[ModelTask] = &[ModelTask::Classification];
const VALUES: &[ModelTask] = &[ModelTask::Regression];
const TABLES: &[ModelTask] = &[ModelTask::Classification, ModelTask::Regression];
const CLOUDS: &[ModelTask] = &[ModelTask::Completion];
const ALL: &[ModelTask] = &[ModelTask::Classification, ModelTask::Regression, ModelTask::Completion];

/// Settings that are there or not, and the tasks that they are for.
macro_rules! optional_settings {
    ($($key:ident for $tasks:expr,)+) => {
        impl FitSettings {
            /// These of flags, and where there are none those of a file.
            fn or(self, file: Self) -> Self {
                Self { $($key: self.$key.or(file.$key),)+ data: self.data, config: file.config }
            }

            /// The keys: whether they are given, and the tasks.
            fn given(&self) -> Vec<(&'static str, bool, &'static [ModelTask])> {
                vec![$((stringify!($key), self.$key.is_some(), $tasks),)+]
            }
        }
    };
}

optional_settings! {
    features for TABLES,
    signals for CLASSES,
    rules for VALUES,
    range for VALUES,
    shapes for CLOUDS,
    scans for CLOUDS,
    system for CLOUDS,
    bounds for CLASSES,
    classes for CLASSES,
    abstain for CLASSES,
    labels_for_eval for TABLES,
    eval_every for TABLES,
    memory for TABLES,
    feature_columns for TABLES,
    signal_columns for CLASSES,
    key for TABLES,
    task for ALL,
    out for ALL,
}

impl FitSettings {
    /// Reads a file, and returns its text too. Paths are relative to the file.
    fn read(path: &Path) -> anyhow::Result<(Self, String)> {
        let context = || format!("reading {}", path.display());
        let text = read_text(path)?;
        let mut file: Self = toml::from_str(&text).with_context(context)?;
        let folder = path.parent().unwrap_or(Path::new("."));
        file.out = file.out.map(|path| folder.join(path));
        for (_, place) in file.places() {
            *place = place.take().map(|path| folder.join(path));
        }
        if let Some(name) = file.bounds.as_mut().and_then(BoundsSetting::file) {
            *name = folder.join(&*name).display().to_string();
        }
        Ok((file, text))
    }

    /// The task that is named, or that the inputs are for.
    fn task(&self) -> anyhow::Result<ModelTask> {
        if self.rules.is_some() && (self.signals.is_some() || self.signal_columns.is_some()) {
            bail!("expected signals, for classification, or rules, for regression, found both: leave one out");
        }
        Ok(match self.task {
            Some(task) => task,
            None if self.rules.is_some() => ModelTask::Regression,
            None if self.shapes.is_some() || self.system.is_some() => ModelTask::Completion,
            None => ModelTask::Classification,
        })
    }

    /// Where files and folders that are read are named, but for bounds, which need not be a file.
    pub(super) fn places(&mut self) -> [(&'static str, &mut Option<PathBuf>); 6] {
        [
            ("features", &mut self.features),
            ("signals", &mut self.signals),
            ("rules", &mut self.rules),
            ("shapes", &mut self.shapes),
            ("scans", &mut self.scans),
            ("labels-for-eval", &mut self.labels_for_eval),
        ]
    }

    /// The files and folders that are read, by the flags that name them.
    pub(super) fn inputs(&self) -> Vec<(&'static str, PathBuf)> {
        let mut named = self.clone();
        let bounds = named.bounds.as_mut().and_then(BoundsSetting::file).map(|file| PathBuf::from(&*file));
        let inputs = named.places().into_iter().filter_map(|(flag, place)| Some((flag, place.take()?)));
        inputs.chain(bounds.map(|path| ("bounds", path))).collect()
    }

    /// What is said of the data beside their places.
    pub(super) fn of_data(&self) -> Self {
        let Self { bounds, classes, abstain, range, memory, feature_columns, signal_columns, key, .. } = self.clone();
        Self { bounds, classes, abstain, range, memory, feature_columns, signal_columns, key, ..Self::default() }
    }

    /// The bounds, estimated where nothing is said.
    pub(super) fn bounds(&self) -> BoundsSetting {
        self.bounds.clone().unwrap_or_default()
    }

    /// Whether rows are read in parts.
    pub(super) fn is_in_parts(&self) -> bool {
        let several = |path: &Option<PathBuf>| path.as_ref().is_some_and(|path| TableParts::is_several(path));
        self.memory.is_some()
            || self.feature_columns.is_some()
            || self.signal_columns.is_some()
            || several(&self.features)
            || several(&self.signals)
    }

    /// The column that names rows.
    pub(super) fn key_column(&self) -> KeyColumn {
        KeyColumn::of(self.key.as_deref())
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
            (Some(repeated), Some(model), _) => (repeated.settings(), Some((model, repeated.record.config_toml()))),
            (_, _, Some(path)) => {
                let (file, text) = FitSettings::read(path)?;
                (file, Some((path, text)))
            }
            _ => (FitSettings::default(), None),
        };
        let file_name = args.run.as_deref().unwrap_or(Path::new("RUN.toml")).display().to_string();
        let flags = args.settings.clone();
        let in_flags = flags.given().into_iter().chain([
            ("samples", args.model.samples.is_some(), CLASSES),
            ("spread_first", args.model.spread_first, CLASSES),
        ]);
        let in_flags = in_flags.map(|(key, given, tasks)| (format!("--{}", key.replace('_', "-")), given, tasks));
        let in_file = file.given().into_iter();
        let in_file = in_file.map(|(key, given, tasks)| (format!("{file_name}, key '{key}'"), given, tasks));
        let given: Vec<_> = in_flags.chain(in_file).filter(|(_, given, _)| *given).collect();
        let settings = flags.or(file);
        let task = settings.task()?;
        let kind = if task.is_completion() { ModelTask::Completion } else { task };
        if let Some((place, _, tasks)) = given.iter().find(|(_, _, tasks)| !tasks.contains(&kind)) {
            let tasks = tasks.iter().map(ModelTask::to_string).collect::<Vec<_>>().join(" and ");
            bail!("{place} is for {tasks}; this fit is for {kind}: leave it out");
        }
        if let (Some(PresetName::Ensemble), true) = (args.model.preset, kind != ModelTask::Classification) {
            bail!("--preset ensemble is for classification; this fit is for {kind}: expected paper or fast");
        }
        // Beside the model that is repeated, which stays: it may turn out to be another one.
        let again = args.from.as_ref().map(|model| {
            let mut name = model.file_name().unwrap_or_default().to_owned();
            name.push("-again");
            model.with_file_name(name)
        });
        let out = settings.out.clone().or(again);
        let out = out.context("--out is missing: name the model folder")?;
        // A RUN.toml names places too, and so does the model that is repeated.
        let mut places = Places::default();
        settings.inputs().into_iter().for_each(|(flag, path)| places.add_read(&format!("--{flag}"), path));
        args.run.iter().for_each(|run| places.add_read("RUN.toml", run.clone()));
        args.from.iter().for_each(|model| places.add_read("--from", model.clone()));
        places.add_written("--out", out.clone(), true);
        places.check()?;
        Ok(Self { args, task, settings, out, repeated, config })
    }

    /// The settings of a learner, without those that flags change.
    pub(super) fn config<C: DeserializeOwned + Default>(&self) -> anyhow::Result<C> {
        match &self.config {
            None => Ok(C::default()),
            Some((path, text)) => read_config(text).with_context(|| format!("reading {}", path.display())),
        }
    }

    /// Whether the settings of the learner come from a file, or from the model that is repeated.
    pub(super) fn has_own_config(&self) -> bool {
        self.repeated.is_some() || !self.settings.config.is_empty()
    }

    /// The true labels to evaluate by, if any are named: those of the rows.
    pub(super) fn truth<T: Rows>(
        &self,
        rows: &RowKeys,
        read: impl FnOnce(&Path, &KeyColumn) -> labelflow_data::Result<Keyed<T>>,
    ) -> anyhow::Result<Option<T>> {
        let Some(path) = &self.settings.labels_for_eval else { return Ok(None) };
        Ok(Some(read(path, &self.settings.key_column())?.in_order_of(rows)?))
    }

    /// Warns of what looks wrong in the data.
    pub(super) fn warn(&self, warning: &DataWarning) {
        let FitSettings { features, signals, rules, .. } = &self.settings;
        let file = match warning {
            DataWarning::Labelers(_) => signals.as_ref().or(features.as_ref()),
            DataWarning::Rules(_) => rules.as_ref(),
            _ => features.as_ref(),
        };
        output::warn(file.map_or_else(String::new, |file| file.display().to_string()), warning);
    }

    /// Changes the settings that flows of all tasks have to what flags say.
    pub(super) fn override_shared(
        &self,
        n_rows: u64,
        (seed, training, likelihood_weight, device): (&mut u64, &mut TrainConfig, &mut f64, &mut DeviceKind),
    ) {
        let flags = &self.args.model;
        *seed = flags.seed.unwrap_or(*seed);
        *likelihood_weight = flags.likelihood_weight.unwrap_or(*likelihood_weight);
        *device = flags.device.map_or(*device, Into::into);
        if let Some(preset) = flags.preset {
            *training = Preset::from(preset).training(usize::try_from(n_rows).unwrap_or(usize::MAX));
        }
        training.max_epochs = flags.epochs.unwrap_or(training.max_epochs);
        training.batch_size = flags.batch_size.map_or(training.batch_size, BatchSize::Rows);
    }
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
