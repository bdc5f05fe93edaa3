//! How the learners are saved.

use labelflow_flow::Flow;
use labelflow_weak::linear::Projection;

use crate::learners::{FeatureMap, FittedFlow, FlowLearner, FlowSettings, Scaler};
use crate::storage::model_files::MODEL;
use crate::storage::{Manifest, ModelTask, SavedModel, n_hidden_weights};
use crate::training::{DeviceKind, Report};
use crate::{Error, Result};

impl<L: FlowLearner> SavedModel for FittedFlow<L> {
    const TASK: ModelTask = L::TASK;
    type Labels = L::Labels;
    type Config = L;
    type Network = Flow<L::Bijection>;

    fn network(&self) -> &Self::Network {
        &self.flow
    }

    fn report(&self) -> &Report {
        &self.report
    }

    fn config(&self) -> &L {
        &self.config
    }

    fn features(&self) -> Vec<String> {
        self.feature_names.clone()
    }

    fn labels(&self) -> L::Labels {
        self.labels.clone()
    }

    fn scaler(&self) -> Option<Scaler> {
        self.feature_map.scaler().cloned()
    }

    fn projection(&self) -> Option<&Projection> {
        self.feature_map.projection()
    }

    fn n_weights_at_least(manifest: &Manifest<L::Labels, L>) -> Option<usize> {
        let FlowSettings { n_steps, d_hidden, n_members, .. } = manifest.config.settings();
        // A merge has half of the labels.
        let d_seen = manifest.d_seen() + manifest.config.d_labels(&manifest.labels) / n_members.max(1) / 2;
        n_hidden_weights(n_steps.checked_mul(n_members)?, d_hidden, d_seen)
    }

    fn empty_network(manifest: &Manifest<L::Labels, L>) -> Result<Self::Network> {
        manifest.config.check_settings()?;
        if manifest.features.is_empty() {
            return Err(Error::data(MODEL, "at least one feature", "none"));
        }
        L::check_labels(&manifest.labels)?;
        if let Some(projection) = &manifest.projection
            && projection.d_features() != manifest.features.len()
        {
            let expected = format!("a projection of {} columns", manifest.features.len());
            return Err(Error::data(MODEL, expected, format!("one of {}", projection.d_features())));
        }
        let d_labels = manifest.config.d_labels(&manifest.labels);
        Ok(manifest.config.init_flow(manifest.d_seen(), d_labels, &DeviceKind::Cpu.open()?))
    }

    fn assemble(manifest: Manifest<L::Labels, L>, flow: Self::Network, report: Report) -> Self {
        Self {
            config: manifest.config.with_device(DeviceKind::Cpu),
            flow,
            feature_map: match manifest.projection {
                Some(projection) => FeatureMap::Projection(projection),
                None => FeatureMap::Scaler(manifest.scaler),
            },
            feature_names: manifest.features,
            labels: manifest.labels,
            report,
        }
    }
}
