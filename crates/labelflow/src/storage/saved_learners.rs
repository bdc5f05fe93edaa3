//! How the two learners are saved.

use labelflow_flow::Flow;
use labelflow_weak::rows::LabelRange;
use serde::{Deserialize, Serialize};

use crate::learners::scaling::Scaler;
use crate::learners::{
    Certainty, FittedLabelFlowClassifier, FittedLabelFlowRegressor, LabelFlowClassifier,
    LabelFlowRegressor,
};
use crate::storage::saved_model::{MODEL, Manifest, ModelTask, SavedModel, n_hidden_weights};
use crate::training::{DeviceKind, Report};
use crate::{Error, Result};

/// What the labels of classification are.
#[derive(Serialize, Deserialize)]
pub struct Classes {
    classes: Vec<String>,
    #[serde(default, skip_serializing_if = "Certainty::is_empty")]
    certainty: Certainty,
}

impl SavedModel for FittedLabelFlowClassifier {
    const TASK: ModelTask = ModelTask::Classification;
    type Labels = Classes;
    type Config = LabelFlowClassifier;
    type Network = Flow<labelflow_flow::Coupling>;

    fn network(&self) -> &Self::Network {
        &self.flow
    }

    fn report(&self) -> &Report {
        &self.report
    }

    fn config(&self) -> &LabelFlowClassifier {
        &self.config
    }

    fn features(&self) -> Vec<String> {
        self.feature_names.clone()
    }

    fn labels(&self) -> Classes {
        Classes { classes: self.classes.clone(), certainty: self.certainty.clone() }
    }

    fn scaler(&self) -> Option<Scaler> {
        self.scaler.clone()
    }

    fn n_weights_at_least(manifest: &Manifest<Classes, LabelFlowClassifier>) -> Option<usize> {
        let config = &manifest.config;
        // A merge has half of the labels.
        let d_seen = manifest.features.len() + manifest.labels.classes.len() / 2;
        n_hidden_weights(config.n_steps, config.d_hidden, d_seen)
    }

    fn empty_network(manifest: &Manifest<Classes, LabelFlowClassifier>) -> Result<Self::Network> {
        manifest.config.check_settings()?;
        let n_classes = manifest.labels.classes.len();
        if manifest.features.is_empty() || n_classes < 2 {
            let found = format!("{} features and {n_classes} classes", manifest.features.len());
            return Err(Error::data(MODEL, "at least one feature and two classes", found));
        }
        if let Some(calibration) = &manifest.labels.certainty.calibration {
            calibration.check(n_classes)?;
        }
        let shape = manifest.config.flow_config(manifest.features.len(), n_classes);
        Ok(shape.init(0, &DeviceKind::Cpu.open()?))
    }

    fn assemble(
        manifest: Manifest<Classes, LabelFlowClassifier>,
        flow: Self::Network,
        report: Report,
    ) -> Self {
        Self {
            config: LabelFlowClassifier { device: DeviceKind::Cpu, ..manifest.config },
            flow,
            scaler: manifest.scaler,
            feature_names: manifest.features,
            classes: manifest.labels.classes,
            certainty: manifest.labels.certainty,
            report,
        }
    }
}

/// What the labels of regression are.
#[derive(Serialize, Deserialize)]
pub struct Values {
    range: LabelRange,
}

impl SavedModel for FittedLabelFlowRegressor {
    const TASK: ModelTask = ModelTask::Regression;
    type Labels = Values;
    type Config = LabelFlowRegressor;
    type Network = Flow<labelflow_flow::AffineMap>;

    fn network(&self) -> &Self::Network {
        &self.flow
    }

    fn report(&self) -> &Report {
        &self.report
    }

    fn config(&self) -> &LabelFlowRegressor {
        &self.config
    }

    fn features(&self) -> Vec<String> {
        self.feature_names.clone()
    }

    fn labels(&self) -> Values {
        Values { range: self.range }
    }

    fn scaler(&self) -> Option<Scaler> {
        self.scaler.clone()
    }

    fn n_weights_at_least(manifest: &Manifest<Values, LabelFlowRegressor>) -> Option<usize> {
        let config = &manifest.config;
        n_hidden_weights(config.n_steps, config.d_hidden, manifest.features.len())
    }

    fn empty_network(manifest: &Manifest<Values, LabelFlowRegressor>) -> Result<Self::Network> {
        manifest.config.check_settings()?;
        if manifest.features.is_empty() {
            return Err(Error::data(MODEL, "at least one feature", "none"));
        }
        let shape = manifest.config.flow_config(manifest.features.len());
        Ok(shape.init(0, &DeviceKind::Cpu.open()?))
    }

    fn assemble(
        manifest: Manifest<Values, LabelFlowRegressor>,
        flow: Self::Network,
        report: Report,
    ) -> Self {
        Self {
            config: LabelFlowRegressor { device: DeviceKind::Cpu, ..manifest.config },
            flow,
            scaler: manifest.scaler,
            feature_names: manifest.features,
            range: manifest.labels.range,
            report,
        }
    }
}
