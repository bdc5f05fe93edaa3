//! A regression from rows in parts: what the first pass counts, and what must hold of the rows of a window.

use labelflow_weak::rows::{Features, LabelRange};
use labelflow_weak::rules::{CheckedRules, Rule, RuleTally, RuleWarning};

use super::row_source::RowLayout;
use super::streamed_fit::{PartLearner, PartedRows, Start};
use super::window_plan::{RowCosts, WindowPlan};
use crate::constraints::RulePart;
use crate::learners::{FittedLabelFlowRegressor, LabelFlowRegressor};
use crate::sources::{RowSignals, RowSource, SignalForm, StreamedFit};
use crate::training::train::bytes_per_row;
use crate::{Error, Result};

/// A fit to rows of a source, and what is to be said of its rules.
pub type StreamedRegression<'a> = (StreamedFit<'a, FittedLabelFlowRegressor>, Vec<RuleWarning>);

impl LabelFlowRegressor {
    /// Reads all rows of a source once, checks the rules as [`RuleDataset::new`](labelflow_weak::rules::RuleDataset::new) does, and decides
    /// how many rows are in memory at a time so that training takes at most `memory` bytes beside what reading takes.
    ///
    /// If all rows fit, training is that of [`fit`](Self::fit), to the last bit. Rules must be about features: none about given rows.
    pub fn prepare_streamed<'a>(
        &self,
        source: &'a dyn RowSource,
        rules: Vec<Rule>,
        range: Option<LabelRange>,
        memory: u64,
    ) -> Result<StreamedRegression<'a>> {
        self.check_settings()?;
        let layout = RowLayout::of(source);
        if source.n_rows() < 2 {
            return Err(Error::data("features", "at least 2 rows to train on", source.n_rows()));
        }
        if layout.form != SignalForm::None {
            return Err(Error::data("rows", "features alone, of which rules speak", "signals"));
        }
        if let Some(rule) = rules.iter().find(|rule| !rule.region.is_general()) {
            let expected = "a region of features, for rows that are read in parts";
            return Err(Error::data(format!("rule '{}'", rule.name), expected, &rule.region));
        }
        let plan = self.window_plan(source.n_rows(), &layout, rules.len(), memory)?;
        let settings = toml::to_string(self).expect("settings can be written as TOML");
        let settings = format!("{settings}{range:?}{rules:?}");
        let mut tally = RuleTally::new(rules)?;
        let mut visit = |features: &Features, _: &RowSignals| {
            tally.add(features)?;
            Ok(())
        };
        let rows = PartedRows::prepare(source, plan, self.scaling, &settings, &mut visit)?;
        let CheckedRules { range, rules, warnings, n_uncovered } = tally.finish(range)?;
        let config = self.clone();
        let fit = Box::new(move |rows: &PartedRows<'a>, start: Start<'_>| {
            let names = rows.source.feature_names();
            let device = config.device.open()?.autodiff();
            let objective = |features: &Features, _: &RowSignals| {
                let members = rules.iter().map(|counted| counted.rule.region.members(features));
                let members = members.collect::<Result<Vec<_>, _>>()?;
                let parts = rules.iter().zip(&members).map(|(counted, members)| RulePart {
                    claim: counted.rule.claim,
                    members,
                    n_members: counted.n_members,
                });
                config.objective(Vec::new(), &parts.collect::<Vec<_>>(), range, &device)
            };
            let flow = config.flow_config(names.len()).init(config.seed, &device);
            let learner = PartLearner {
                d_labels: 1,
                seed: config.seed,
                weight_decay: config.weight_decay,
                training: &config.training,
                device: device.clone(),
                objective: &objective,
            };
            let trained = rows.train(flow, &learner, start)?;
            Ok(FittedLabelFlowRegressor {
                config: config.clone(),
                flow: trained.flow,
                scaler: trained.scaler,
                feature_names: names.to_vec(),
                range,
                report: trained.report,
            })
        });
        Ok((StreamedFit { rows, n_uncovered, fit }, warnings))
    }

    fn window_plan(
        &self,
        n_rows: u64,
        layout: &RowLayout,
        n_rules: usize,
        memory: u64,
    ) -> Result<WindowPlan> {
        let device = self.device.open()?;
        let flow = self.flow_config(layout.d_features).init(0, &device);
        let costs = RowCosts {
            step: bytes_per_row(&flow, &device) as u64,
            // Members of groups, and shares of rows in their means, three times over.
            constraints: 14 * n_rules as u64,
            d_labels: 1,
        };
        WindowPlan::new(n_rows, layout, costs, self.training.batch_size, memory)
    }
}
