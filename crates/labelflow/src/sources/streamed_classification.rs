//! A classifier from rows in parts: what the first pass counts, and what must hold of the rows of a window.

use labelflow_weak::labelers::Bounds;
use labelflow_weak::rows::Features;

use super::row_source::RowLayout;
use super::signal_totals::SignalTotals;
use super::streamed_fit::{PartLearner, PartedRows, Start};
use super::window_plan::{RowCosts, WindowPlan};
use crate::constraints::Whole;
use crate::learners::{Certainty, FittedLabelFlowClassifier, LabelFlowClassifier};
use crate::sources::{RowSignals, RowSource, SignalForm, StreamedFit};
use crate::training::Objective;
use crate::training::train::bytes_per_row;
use crate::{Error, Result};

impl LabelFlowClassifier {
    /// Reads all rows of a source once, and decides how many of them are in memory at a time so that training takes at most `memory`
    /// bytes beside what reading takes.
    ///
    /// If all rows fit, training is that of [`fit`](Self::fit), to the last bit. The rows of a step are as many as
    /// [`BatchSize::Rows`](crate::training::BatchSize::Rows) says or, with [`BatchSize::Auto`](crate::training::BatchSize::Auto), as many as fit into a third of the
    /// memory. Another memory may mean other windows, and so another order of rows.
    pub fn prepare_streamed<'a>(
        &self,
        source: &'a dyn RowSource,
        bounds: Bounds,
        memory: u64,
    ) -> Result<StreamedFit<'a, FittedLabelFlowClassifier>> {
        self.check_settings()?;
        let layout = RowLayout::of(source);
        let RowLayout { n_signals, n_classes, .. } = layout;
        if source.n_rows() < 2 {
            return Err(Error::data("features", "at least 2 rows to train on", source.n_rows()));
        }
        if bounds.values().dim() != (n_signals, n_classes) {
            let expected = format!("bounds of {n_signals} labelers and {n_classes} classes");
            return Err(Error::data("bounds", expected, format!("{:?}", bounds.values().dim())));
        }
        if layout.form == SignalForm::None {
            return Err(Error::data("signals", "votes or probabilities", "none"));
        }
        let plan = self.window_plan(source.n_rows(), &layout, memory)?;
        let mut signals = SignalTotals::new(n_signals, n_classes);
        let mut groups = Whole::groups_of(&self.constraints, source.feature_names())?;
        let settings = toml::to_string(self).expect("settings can be written as TOML");
        let of_bounds: Vec<f64> = bounds.values().iter().copied().collect();
        let settings = format!("{settings}{of_bounds:?}");
        let mut visit = |features: &Features, of_rows: &RowSignals| {
            signals.add(of_rows);
            groups.iter_mut().for_each(|group| group.add(features.values()));
            Ok(())
        };
        let rows = PartedRows::prepare(source, plan, self.scaling, &settings, &mut visit)?;
        let n_uncovered = signals.n_uncovered;
        if n_uncovered == source.n_rows() {
            return Err(Error::data("signals", "at least one vote", "abstentions only"));
        }
        let whole = Whole { n_rows: source.n_rows(), signals, bounds, groups };
        let config = self.clone();
        let fit = Box::new(move |rows: &PartedRows<'a>, start: Start<'_>| {
            let (names, classes) = (rows.source.feature_names(), rows.source.classes());
            let device = config.device.open()?.autodiff();
            let objective = |features: &Features, signals: &RowSignals| {
                let penalties = config.constraints.iter().enumerate().map(|(index, constraint)| {
                    constraint.build_part(index, features, signals, &whole, &device)
                });
                Ok(Objective {
                    likelihood_weight: config.likelihood_weight,
                    final_likelihood_weight: config.final_likelihood_weight,
                    penalties: penalties.collect::<Result<_>>()?,
                })
            };
            let flow = config.flow_config(names.len(), classes.len()).init(config.seed, &device);
            let learner = PartLearner {
                d_labels: classes.len(),
                seed: config.seed,
                weight_decay: 0.0,
                training: &config.training,
                device: device.clone(),
                objective: &objective,
            };
            let trained = rows.train(flow, &learner, start)?;
            Ok(FittedLabelFlowClassifier {
                config: config.clone(),
                flow: trained.flow,
                scaler: trained.scaler,
                feature_names: names.to_vec(),
                classes: classes.to_vec(),
                certainty: Certainty::default(),
                report: trained.report,
            })
        });
        Ok(StreamedFit { rows, n_uncovered, fit })
    }

    fn window_plan(&self, n_rows: u64, layout: &RowLayout, memory: u64) -> Result<WindowPlan> {
        let device = self.device.open()?;
        let flow = self.flow_config(layout.d_features, layout.n_classes).init(0, &device);
        let costs = RowCosts {
            step: bytes_per_row(&flow, &device) as u64,
            // Slopes of error bounds.
            constraints: 8 * (layout.n_signals * layout.n_classes) as u64,
            d_labels: layout.n_classes as u64,
        };
        WindowPlan::new(n_rows, layout, costs, self.training.batch_size, memory)
    }
}
