//! Experiment files: one per dataset, with the systems to compare and what is expected of them.
//!
//! ```toml
//! table = "table1"
//! set = "breast-cancer"
//! seeds = [0, 10, 100, 123, 1234]
//!
//! [systems.llf]
//! paper = 96.8
//! at_least = 93.7
//!
//! [systems.mv]
//! ```

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use labelflow::training::DeviceKind;
use labelflow::{LabelFlowClassifier, LabelFlowRegressor};
use labelflow_clouds::completers::PointCloudCompleter;
use labelflow_clouds::shapes::ShapeSet;
use labelflow_data::catalog::{LoadOptions, SetKind, find};
use labelflow_data::tables::read_text;
use serde::{Deserialize, Serialize};

use super::metric::Metric;
use super::systems::SystemTables;
use crate::inputs::config_table::read_config;

/// One experiment file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunFile {
    /// The table that it belongs to.
    pub(crate) table: String,
    /// The dataset, by its name in the catalog.
    pub(crate) set: String,
    /// One run for each.
    pub(crate) seeds: Vec<u64>,
    /// What classifiers are judged by. Default: accuracy.
    #[serde(default)]
    pub(crate) metrics: Vec<Metric>,
    /// Choices in loading the dataset.
    #[serde(default)]
    pub(crate) data: LoadOptions,
    /// Settings of the flows; see [`FlowSettings`].
    #[serde(default)]
    #[allow(dead_code, reason = "a key that the file may have; it is read by read_config")]
    config: toml::Table,
    /// What other systems of completion have otherwise than as published.
    #[serde(default)]
    codes: toml::Table,
    #[serde(default)]
    inversion: toml::Table,
    #[serde(default)]
    transfer: toml::Table,
    /// The whole file.
    #[serde(skip)]
    text: String,
    /// What is compared.
    pub(crate) systems: BTreeMap<String, Expectation>,
}

/// Settings of a flow for the task that the dataset is made for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FlowSettings {
    Classifier(LabelFlowClassifier),
    Regressor(LabelFlowRegressor),
    Completer(PointCloudCompleter),
    /// Votes without features are for label models.
    None,
}

/// What is known beforehand of a system: its accuracy in percent, its root mean squared error, or several metrics.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Expectation {
    /// The paper's mean.
    pub(crate) paper: Option<f64>,
    /// The paper's deviation.
    pub(crate) paper_std: Option<f64>,
    /// Of an independent program.
    pub(crate) independent: Option<f64>,
    /// A lower mean is a miss.
    pub(crate) at_least: Option<f64>,
    /// A higher mean is a miss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) at_most: Option<f64>,
    /// Of runs that have several metrics: what is known of each.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) metrics: BTreeMap<Metric, Expectation>,
}

impl Expectation {
    /// What is known of one metric.
    pub(crate) fn of(&self, metric: Metric) -> Self {
        match self.metrics.is_empty() {
            true => self.clone(),
            false => self.metrics.get(&metric).cloned().unwrap_or_default(),
        }
    }
}

impl FlowSettings {
    /// The settings of one run; what flags say takes the place of what the file says. Epochs of completion are those of each system.
    pub(crate) fn of_run(mut self, run_seed: u64, epochs: Option<usize>, run_device: Option<DeviceKind>) -> Self {
        let (seed, device) = match &mut self {
            Self::None => return self,
            Self::Classifier(LabelFlowClassifier { seed, device, training, .. })
            | Self::Regressor(LabelFlowRegressor { seed, device, training, .. }) => {
                training.max_epochs = epochs.unwrap_or(training.max_epochs);
                (seed, device)
            }
            Self::Completer(PointCloudCompleter { seed, device, .. }) => (seed, device),
        };
        *seed = run_seed;
        *device = run_device.unwrap_or(*device);
        self
    }
}

impl RunFile {
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let reading = || format!("reading {}", path.display());
        let text = read_text(path)?;
        Ok(Self { text: text.clone(), ..toml::from_str(&text).with_context(reading)? })
    }

    /// What other systems of completion have otherwise than as published.
    pub(crate) fn system_tables(&self) -> SystemTables {
        SystemTables { codes: self.codes.clone(), inversion: self.inversion.clone(), transfer: self.transfer.clone() }
    }

    pub(crate) fn flow_settings(&self) -> anyhow::Result<FlowSettings> {
        if ShapeSet::from_name(&self.set).is_some() {
            return Ok(FlowSettings::Completer(read_config(&self.text)?));
        }
        Ok(match find(&self.set)?.kind() {
            SetKind::Values => FlowSettings::Regressor(read_config(&self.text)?),
            SetKind::Classes => FlowSettings::Classifier(read_config(&self.text)?),
            SetKind::Votes => FlowSettings::None,
        })
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use labelflow_testing::damaged;

    const VALID: [&str; 3] = [
        "table = \"t\"\nset = \"digits-planted\"\nseeds = [0, 1]\n[systems.mv]\npaper = 75.0\n[systems.llf]\nat_least = 1.5\n\
         [config]\nn_steps = 2\nd_hidden = 8\n[config.training]\nmax_epochs = 3\n",
        "table = \"t\"\nset = \"air-quality\"\nseeds = [3]\n[systems.llf]\n[config]\nweight_decay = 0.5\n",
        "table = \"t\"\nset = \"chairs\"\nseeds = [0]\n[systems.oracle]\n[data]\nn_train_shapes = 4\n[config]\nd_latent = 4\n",
    ];

    #[test]
    fn damaged_files_are_read_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.toml");
        let valid = VALID.map(|text| text.as_bytes().to_vec());
        for bytes in &valid {
            std::fs::write(&path, bytes).unwrap();
            RunFile::read(&path).unwrap().flow_settings().unwrap();
        }
        for case in 0..3000 {
            let mut rng = ChaCha8Rng::seed_from_u64(case);
            let bytes = damaged(&valid[rng.random_range(0..valid.len())], &valid, &mut rng);
            std::fs::write(&path, bytes).unwrap();
            let _ = RunFile::read(&path).and_then(|file| file.flow_settings());
        }
    }
}
