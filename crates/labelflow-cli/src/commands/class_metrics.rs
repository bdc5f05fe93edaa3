//! Metrics of classification with the names of the classes.

use labelflow::evaluation::ClassificationMetrics;
use serde::Serialize;

use super::eval::{Metrics, shown};
use crate::inputs::evaluation_file::Scores;
use crate::terminal::output::{self, percent};

/// Of more classes the rows by true and predicted class are not printed.
const MOST_PRINTED: usize = 12;

/// How good predictions of classes with these names are.
#[derive(Debug, Serialize)]
pub(crate) struct ClassMetrics {
    #[serde(flatten)]
    pub(crate) metrics: ClassificationMetrics,
    class_names: Vec<String>,
}

impl ClassMetrics {
    pub(crate) fn new(metrics: ClassificationMetrics, class_names: &[String]) -> Self {
        Self { metrics, class_names: class_names.to_vec() }
    }

    /// A line per class.
    fn by_class(&self) -> String {
        let shown = |share: Option<f64>| share.map_or_else(String::new, percent);
        let rows = self.class_names.iter().zip(&self.metrics.classes).map(|(name, class)| {
            let [n_true, n_predicted] = [class.n_true, class.n_predicted].map(|n| n.to_string());
            [name.clone(), n_true, n_predicted, shown(class.precision), shown(class.recall), shown(class.f1)]
        });
        output::table(["class", "rows", "predicted", "precision %", "recall %", "F1 %"], rows)
    }

    /// Rows by true class, a line each, and predicted class, a column each.
    fn confusion(&self) -> String {
        let header = std::iter::once("true \\ predicted".to_owned()).chain(self.class_names.clone()).collect();
        let row = |(name, counts): (&String, &Vec<usize>)| {
            std::iter::once(name.clone()).chain(counts.iter().map(usize::to_string)).collect()
        };
        output::table_of(header, self.class_names.iter().zip(&self.metrics.confusion).map(row).collect())
    }
}

impl Metrics for ClassMetrics {
    fn scores(&self) -> Scores {
        Scores::Classification { accuracy: self.metrics.accuracy, ece: self.metrics.ece }
    }

    fn print(&self) -> anyhow::Result<()> {
        let metrics = &self.metrics;
        let surest = metrics.surest.iter().map(|surest| {
            let name = format!("accuracy % of the surest {:.0} % of rows", surest.share * 100.0);
            [name, percent(surest.accuracy)]
        });
        let [accuracy, others @ ..] = shown(metrics);
        let [low, high] = metrics.accuracy_interval.map(percent);
        let first = [
            ["rows".to_owned(), metrics.n_rows.to_string()],
            accuracy,
            ["its 95 % confidence interval".to_owned(), format!("{low} to {high}")],
            ["macro F1 %".to_owned(), percent(metrics.macro_f1)],
        ];
        let rows = first.into_iter().chain(others).chain(surest);
        output::print(&output::table(["metric", "value"], rows))?;
        output::print(&self.by_class())?;
        if self.class_names.len() <= MOST_PRINTED {
            output::print(&self.confusion())?;
        }
        Ok(())
    }
}
