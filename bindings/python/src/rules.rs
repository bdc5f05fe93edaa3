//! Rules about real-valued labels as Python sees them.

use std::sync::Arc;

use labelflow::rows::LabelRange;
use labelflow::rules::{Claim, Region, Rule, RuleDataset};
use pyo3::prelude::*;

use crate::arrays::{Numbers, table};
use crate::background;
use crate::error::{exception, settings};

/// Features and rules about the labels of their rows, checked for contradictions.
#[pyclass(frozen, module = "labelflow._labelflow")]
#[derive(Debug, Clone)]
pub(crate) struct RawRules(pub(crate) Arc<RuleDataset>);

#[pymethods]
impl RawRules {
    /// From features, a JSON list of the names (or null), regions and claims of rules, and the ends of the label range if they are known.
    #[new]
    fn new(
        features: Numbers,
        feature_names: Option<Vec<String>>,
        rules: &str,
        label_range: Option<(f64, f64)>,
        n_jobs: Option<usize>,
    ) -> PyResult<Self> {
        let features = table(features, feature_names)?;
        let rules: Vec<(Option<String>, Region, Claim)> = settings("rules", rules)?;
        let rules = rules.into_iter().map(|(name, region, claim)| match name {
            Some(name) => Rule { name, region, claim },
            None => Rule::new(region, claim),
        });
        let rules: Vec<Rule> = rules.collect();
        let range = label_range.map(|(lower, upper)| LabelRange::new(lower, upper)).transpose();
        let range = range.map_err(exception)?;
        let dataset = background::run(n_jobs, move |_| Ok(RuleDataset::new(features, rules, range)?))?;
        Ok(Self(Arc::new(dataset)))
    }

    /// What the user should know of the rules.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.warnings().iter().map(ToString::to_string).collect()
    }
}
