//! Rules about real-valued labels as Python sees them.

use std::sync::Arc;

use labelflow::rows::LabelRange;
use labelflow::rules::{Claim, Region, Rule, RuleDataset};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use serde::Deserialize;

use crate::background;
use crate::error::{exception, settings};
use crate::flow_classifier::table;

/// Features and rules about the labels of their rows, checked for contradictions.
#[pyclass(frozen, module = "labelflow._labelflow")]
#[derive(Debug, Clone)]
pub(crate) struct RawRules(pub(crate) Arc<RuleDataset>);

/// A rule that is named after its region unless it has a name of its own.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenRule {
    name: Option<String>,
    region: Region,
    claim: Claim,
}

impl From<GivenRule> for Rule {
    fn from(GivenRule { name, region, claim }: GivenRule) -> Self {
        let rule = Self::new(region, claim);
        match name {
            Some(name) => rule.with_name(name),
            None => rule,
        }
    }
}

#[pymethods]
impl RawRules {
    /// From features, a JSON list of rules, and the ends of the label range if they are known.
    #[new]
    #[pyo3(signature = (features, feature_names, rules, label_range=None, n_jobs=None))]
    fn new(
        py: Python<'_>,
        features: PyReadonlyArray2<'_, f32>,
        feature_names: Option<Vec<String>>,
        rules: &str,
        label_range: Option<(f64, f64)>,
        n_jobs: Option<usize>,
    ) -> PyResult<Self> {
        let features = table(&features, feature_names)?;
        let rules: Vec<GivenRule> = settings("rules", rules)?;
        let rules: Vec<Rule> = rules.into_iter().map(Rule::from).collect();
        let range = label_range.map(|(lower, upper)| LabelRange::new(lower, upper)).transpose();
        let range = range.map_err(exception)?;
        let dataset =
            background::run(py, n_jobs, move |_| Ok(RuleDataset::new(features, rules, range)?))?;
        Ok(Self(Arc::new(dataset)))
    }

    /// What the user should know of the rules.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.warnings().iter().map(ToString::to_string).collect()
    }
}
