//! Completers of all kinds behind one type each, for tools that learn from a name or a folder which one they have.

use std::path::Path;

use labelflow::storage::{Checkpoint, ModelFiles, ModelTask, SavedModel};
use labelflow::training::{DeviceKind, Observer, Report};
use labelflow::{Error, Result};
use serde::{Deserialize, Deserializer, Serialize};

use super::completer::CommonSettings;
use super::older_names::{as_written_by_0_1, merged};
use crate::completers::{
    CodeCompleter, Completer, CompletionDataset, CompletionLearner, FittedCompleter, KnowledgeTransfer,
    PointCloudCompleter, ShapeInversion,
};

/// Makes [`AnyCompletionLearner`] and [`AnyCompleter`] from the list of all completers.
macro_rules! completers {
    ($($(#[$doc:meta])* $kind:ident($learner:ty),)+) => {
        /// Settings of a completer of any kind; written as those of its kind.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(untagged)]
        pub enum AnyCompletionLearner {
            $($(#[$doc])* $kind($learner),)+
        }

        /// A trained completer of any kind.
        #[derive(Debug, Clone)]
        pub enum AnyCompleter {
            $($(#[$doc])* $kind(FittedCompleter<$learner>),)+
        }

        $(impl From<$learner> for AnyCompletionLearner {
            fn from(learner: $learner) -> Self {
                Self::$kind(learner)
            }
        }

        impl From<FittedCompleter<$learner>> for AnyCompleter {
            fn from(fitted: FittedCompleter<$learner>) -> Self {
                Self::$kind(fitted)
            }
        })+

        impl AnyCompletionLearner {
            /// All systems by name with their default settings, which are as published where it is not the flow.
            fn all() -> impl Iterator<Item = (&'static str, Self)> {
                let all = std::iter::empty();
                $(let all = all.chain(<$learner>::SYSTEMS.iter().map(|(name, learner)| (*name, learner().into())));)+
                all
            }

            fn task(&self) -> ModelTask {
                match self { $(Self::$kind(_) => <$learner>::TASK,)+ }
            }

            /// The system whose settings these are.
            pub fn system(&self) -> &'static str {
                match self { $(Self::$kind(one) => one.system(),)+ }
            }

            /// Whether training looks at partial clouds.
            pub fn learns_from_partials(&self) -> bool {
                match self { $(Self::$kind(_) => <$learner>::LEARNS_FROM_PARTIALS,)+ }
            }

            /// Reads settings of the same kind.
            fn read<'de, D: Deserializer<'de>>(&self, settings: D) -> std::result::Result<Self, D::Error> {
                match self { $(Self::$kind(_) => <$learner>::deserialize(settings).map(Self::$kind),)+ }
            }

            /// Small networks for small clouds, that train in seconds.
            #[must_use]
            pub fn small(self) -> Self {
                match self { $(Self::$kind(one) => CompletionLearner::small(one).into(),)+ }
            }

            /// The settings that all learners have.
            pub fn common(&mut self) -> CommonSettings<'_> {
                match self { $(Self::$kind(one) => one.common(),)+ }
            }

            /// Points of a complete cloud in training.
            pub fn n_points(&self) -> usize {
                match self { $(Self::$kind(one) => one.n_points(),)+ }
            }

            /// The settings with so many points of a complete cloud.
            pub fn with_n_points(self, n_points: usize) -> Result<Self> {
                match self { $(Self::$kind(one) => Ok(one.with_n_points(n_points)?.into()),)+ }
            }

            /// Trains on a dataset, from a checkpoint if there is one, watched by an observer.
            pub fn fit_with(
                &self,
                dataset: &CompletionDataset,
                checkpoint: Option<Checkpoint>,
                observer: &mut dyn Observer,
            ) -> Result<AnyCompleter> {
                match self {
                    $(Self::$kind(one) => Ok(one.fit_with(dataset, checkpoint, observer)?.into()),)+
                }
            }

            /// A digest of the settings and the data: two runs with the same digest end with the same weights.
            pub fn run_digest(&self, dataset: &CompletionDataset) -> String {
                match self { $(Self::$kind(one) => one.run_digest(dataset),)+ }
            }
        }

        impl AnyCompleter {
            /// The settings.
            pub fn config(&self) -> AnyCompletionLearner {
                match self { $(Self::$kind(one) => one.config.clone().into(),)+ }
            }

            /// The course of training.
            pub fn report(&self) -> &Report {
                match self { $(Self::$kind(one) => &one.report,)+ }
            }

            /// The same model on another device.
            pub fn to_device(self, device: DeviceKind) -> Result<Self> {
                match self { $(Self::$kind(one) => one.to_device(device).map(Self::$kind),)+ }
            }

            /// Writes the model into a folder, replacing a model that is there.
            pub fn save(&self, folder: &Path) -> Result<()> {
                match self { $(Self::$kind(one) => one.save(folder),)+ }
            }

            /// As [`save`](Self::save), with a table `origin` in `model.toml`: where the model came from.
            pub fn save_with_origin(&self, folder: &Path, origin: &toml::Table) -> Result<()> {
                match self { $(Self::$kind(one) => one.save_with_origin(folder, origin),)+ }
            }

            /// The model as one file in memory.
            pub fn to_bytes(&self) -> Vec<u8> {
                match self { $(Self::$kind(one) => one.to_bytes(),)+ }
            }

            fn of_files(files: ModelFiles, not_one: impl FnOnce(ModelTask) -> Error) -> Result<Self> {
                let task = files.record().task;
                $(if task == <$learner>::TASK {
                    return files.into_model().map(Self::$kind);
                })+
                Err(not_one(task))
            }
        }

        /// An [`AnyCompleter`] completes as the model in it does.
        impl std::ops::Deref for AnyCompleter {
            type Target = dyn Completer;

            fn deref(&self) -> &(dyn Completer + 'static) {
                match self { $(Self::$kind(one) => one,)+ }
            }
        }
    };
}

// A new completer is a folder beside this file, and a line here.
completers! {
    /// The label learning flow.
    Flow(PointCloudCompleter),
    /// Completion in the codes of an autoencoder.
    Codes(CodeCompleter),
    /// Completion by inversion.
    Inversion(ShapeInversion),
    /// KT-Net.
    Transfer(KnowledgeTransfer),
}

impl AnyCompletionLearner {
    /// The names of all systems.
    pub fn systems() -> Vec<&'static str> {
        Self::all().map(|(name, _)| name).collect()
    }

    /// The default settings of the system with a name: as published, where it is not the flow.
    pub fn of_system(name: &str) -> Result<Self> {
        Self::all().find(|(system, _)| *system == name).map(|(_, learner)| learner).ok_or_else(|| {
            let expected = format!("one of {}", Self::systems().join(", "));
            Error::config("system", expected, format!("'{name}'"))
        })
    }

    /// The default settings of a system whose models are for a task.
    pub fn of_task(task: ModelTask) -> Result<Self> {
        let mut learners = Self::all().map(|(_, learner)| learner);
        learners.find(|learner| learner.task() == task).ok_or_else(|| no_completer(task))
    }

    /// The settings with what a table has in their place, at any depth.
    pub fn with(&self, changes: &toml::Table) -> Result<Self> {
        let settings = toml::Table::try_from(self).expect("settings can be written as TOML");
        self.read(merged(settings, changes))
            .map_err(|error| Error::config("settings", "those of the system", error.message()))
    }

    /// The settings as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("numbers and names")
    }

    /// Settings of the same kind in JSON.
    pub fn from_json(&self, json: &str) -> serde_json::Result<Self> {
        let mut json = serde_json::Deserializer::from_str(json);
        let settings = self.read(&mut json)?;
        json.end()?;
        Ok(settings)
    }

    /// A text that changes with the settings, and with nothing else: the name of a setting is that of 0.1.
    pub fn key(&self) -> String {
        as_written_by_0_1(self)
    }
}

impl AnyCompleter {
    /// Reads a model, onto the device cpu.
    pub fn load(folder: &Path) -> Result<Self> {
        let not_one = |task| Error::format(folder, "a model that completes point clouds", format!("one for {task}"));
        Self::of_files(ModelFiles::read(folder)?, not_one)
    }

    /// The model that [`to_bytes`](Self::to_bytes) wrote, on the device cpu.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::of_files(ModelFiles::from_bytes(bytes)?, no_completer)
    }
}

fn no_completer(task: ModelTask) -> Error {
    Error::data("model", "one that completes point clouds", format!("one for {task}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_systems() {
        let systems = ["llf", "pcl2pcl", "mm-pcl2pcl", "mm-pcl2pcl-im", "shape-inversion", "kt-net"];
        assert_eq!(AnyCompletionLearner::systems(), systems);
        for system in systems {
            let learner = AnyCompletionLearner::of_system(system).unwrap();
            assert_eq!(learner.system(), system);
            assert_eq!(learner.from_json(&learner.to_json()).unwrap(), learner);
        }
        let error = AnyCompletionLearner::of_system("pcl").unwrap_err().to_string();
        assert!(error.contains("mm-pcl2pcl-im") && error.contains("'pcl'"), "{error}");
    }

    #[test]
    fn default_settings_are_changed_where_a_table_says() {
        let base = AnyCompletionLearner::of_system("mm-pcl2pcl").unwrap();
        let with = |changes: &str| base.with(&changes.parse().unwrap());
        let AnyCompletionLearner::Codes(changed) = with("d_noise = 3\nplayers.max_epochs = 5").unwrap() else {
            panic!("codes");
        };
        assert_eq!((changed.d_noise, changed.players.max_epochs), (3, 5));
        assert_eq!((changed.players.batch_size, changed.recovery_weight), (50, 7.5));
        let AnyCompletionLearner::Codes(older) = with("players.decay = 0.5\nplayers.beta_2 = 0.9").unwrap() else {
            panic!("codes");
        };
        assert_eq!((older.players.learning_rate_decay, older.players.betas), (0.5, [0.5, 0.9]));
        assert!(with("players.final_rate = 0.1\nplayers.learning_rate_floor = 0.2").is_err());
        assert!(with("no_such = 1").is_err());
        assert!(with("players = 1").is_err());
    }
}
