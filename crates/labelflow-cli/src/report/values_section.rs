//! How certain predicted real values are and, where true values are known, how accurate.
//!
//! ```text
//! calibration: the share of true values below the 5 %, 50 % and 95 % quantile against 5, 50 and 95 %
//! coverage c: the root mean squared error on the c · n rows with the smallest deviation
//! ```

use labelflow::evaluation::point_metrics;
use labelflow::rows::TrueValues;
use labelflow_data::inputs::{RowNames, ValueLabels};

use super::page::Section;
use super::predictions_section::{by_descending, histogram, mean, mean_of_kept, section};
use crate::chart::{Axis, Chart, Curve, DataTable, Mark, show_number};
use crate::terminal::output::percent;

/// Bars of the histogram.
const N_BINS: usize = 20;
/// The rows that are listed.
const N_ROWS: usize = 10;
/// The most points of a scatter plot.
const MOST_POINTS: usize = 400;

pub(crate) fn values_section(
    labels: &ValueLabels,
    names: &RowNames,
    truth: Option<&TrueValues>,
) -> anyhow::Result<Section> {
    let show = |number: f64| show_number(number, None);
    let mut figures =
        vec![("rows", labels.mean.len().to_string()), ("mean standard deviation", show(mean(&labels.std)))];
    let mut charts = Vec::new();
    if let Some(truth) = truth {
        let metrics = point_metrics(&labels.mean, truth)?;
        figures.extend([
            ("root mean squared error", show(metrics.rmse)),
            ("mean absolute error", show(metrics.mae)),
            ("R²", format!("{:.3}", metrics.r2)),
            ("coverage of 90 % intervals", format!("{} %", percent(held(labels, truth)))),
        ]);
        charts.extend([calibration(labels, truth), scatter(labels, names, truth), selective_error(labels, truth)]);
    }
    charts.push(deviations(labels));
    Ok(section(figures, charts, least_certain(labels, names, truth)))
}

/// The share of true values between the quantiles of 5 and 95 %.
fn held(labels: &ValueLabels, truth: &TrueValues) -> f64 {
    let ends = labels.q05.iter().zip(&labels.q95).zip(truth.values());
    let n_held = ends.filter(|((low, high), value)| (**low..=**high).contains(*value)).count();
    n_held as f64 / truth.n_rows() as f64
}

fn calibration(labels: &ValueLabels, truth: &TrueValues) -> Chart {
    let levels = [(5.0, &labels.q05), (50.0, &labels.q50), (95.0, &labels.q95)];
    let mut marks = vec![Mark::Guide { from: [0.0, 0.0], to: [100.0, 100.0] }];
    let mut rows = Vec::new();
    for (level, quantiles) in levels {
        let below = quantiles.iter().zip(truth.values()).filter(|(quantile, value)| value <= quantile);
        let share = 100.0 * below.count() as f64 / truth.n_rows() as f64;
        let value = format!("{share:.1} % of true values are below the {level:.0} % quantile");
        marks.push(Mark::Point { at: [level, share], style: 0, value, is_quiet: false });
        rows.push(vec![format!("{level:.0}"), format!("{share:.1}")]);
    }
    let (x, y) = ("quantile, %", "true values below it, %");
    let description = "Share of true values below the 5, 50 and 95 percent quantiles. On the diagonal it is what the quantile claims.";
    let axes = [Axis::percent(x), Axis::percent(y)];
    let title = "Calibration of quantiles";
    let chart = Chart::new("predictions-calibration", title, description.to_owned(), axes);
    Chart { marks, data: DataTable::new([x, y], rows), ..chart }
}

fn scatter(labels: &ValueLabels, names: &RowNames, truth: &TrueValues) -> Chart {
    let n_rows = truth.n_rows();
    let every = n_rows.div_ceil(MOST_POINTS).max(1);
    let both: Vec<f64> = labels.mean.iter().chain(truth.values()).copied().collect();
    let (low, high) = truth.extremes();
    let mut marks = vec![Mark::Guide { from: [low, low], to: [high, high] }];
    let mut rows = Vec::new();
    for row in (0..n_rows).step_by(every) {
        let [predicted, value] = [labels.mean[row], truth.values()[row]];
        let [x, y] = [predicted, value].map(|number| show_number(number, None));
        let name = names.get(row);
        let text = format!("row {name}: predicted {x}, true {y}");
        marks.push(Mark::Point { at: [predicted, value], style: 0, value: text, is_quiet: false });
        rows.push(vec![name, x, y]);
    }
    let (x, y) = ("predicted mean", "true value");
    let description = format!("Scatter plot of {} rows. On the diagonal a prediction is exact.", rows.len());
    let axes = [Axis::of_values(x, &both), Axis::of_values(y, &both)];
    let title = "True values against predicted means";
    let chart = Chart::new("predictions-true-values", title, description, axes);
    Chart { marks, data: DataTable::new(["row", x, y], rows), ..chart }
}

fn selective_error(labels: &ValueLabels, truth: &TrueValues) -> Chart {
    let mut order = by_descending(&labels.std);
    order.reverse();
    let square = |row: usize| (labels.mean[row] - truth.values()[row]).powi(2);
    let mut points = mean_of_kept(&order, &labels.std, square);
    points.iter_mut().for_each(|[_, error]| *error = error.sqrt());
    let y = "root mean squared error";
    let curve = Curve { name: y.to_owned(), points };
    let title = "Error when the least certain rows are left out";
    Chart::of_curves("predictions-coverage", title, "rows kept, %", y, &[curve])
}

fn deviations(labels: &ValueLabels) -> Chart {
    let (low, high) =
        labels.std.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &std| (low.min(std), high.max(std)));
    let span = high - low;
    // All alike: one bar.
    let (n_bins, width) = match span > 1e-12 * high {
        true => (N_BINS, span / N_BINS as f64),
        false => (1, if high > 0.0 { high / 10.0 } else { 1.0 }),
    };
    let mut counts: Vec<(f64, usize)> = (0..n_bins).map(|bin| (low + bin as f64 * width, 0)).collect();
    for std in &labels.std {
        let bin = (((std - low) / width) as usize).min(n_bins - 1);
        counts[bin].1 += 1;
    }
    histogram("predictions-deviations", "How uncertain values are", "deviation", width, &counts)
}

fn least_certain(labels: &ValueLabels, names: &RowNames, truth: Option<&TrueValues>) -> DataTable {
    let order = by_descending(&labels.std);
    let show = |number: f64| show_number(number, None);
    let line = |&row: &usize| {
        let numbers = [labels.mean[row], labels.std[row], labels.q05[row], labels.q95[row]];
        let truth = truth.map(|truth| show(truth.values()[row]));
        std::iter::once(names.get(row)).chain(numbers.map(show)).chain(truth).collect()
    };
    let mut header: Vec<String> =
        ["row", "mean", "deviation", "5 % quantile", "95 % quantile"].map(str::to_owned).to_vec();
    header.extend(truth.map(|_| "true value".to_owned()));
    DataTable { header, rows: order.iter().take(N_ROWS).map(line).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answers() {
        let labels = ValueLabels {
            mean: vec![1.0, 2.0, 3.0, 4.0],
            std: vec![0.1, 0.4, 0.4, 0.2],
            q05: vec![0.0, 1.0, 2.0, 3.0],
            q50: vec![1.0, 2.0, 3.0, 4.0],
            q95: vec![2.0, 3.0, 4.0, 5.0],
        };
        // Below the first quantile, within, above the last, just at the median.
        let truth = TrueValues::new(vec![-1.0, 2.5, 7.0, 4.0]).unwrap();
        assert_eq!(held(&labels, &truth), 0.5);
        let rows = calibration(&labels, &truth).data.rows;
        assert_eq!(rows, [["5", "25.0"], ["50", "50.0"], ["95", "75.0"]]);
        // Errors 2, 0, then 0.5 and 4 together.
        let rows = selective_error(&labels, &truth).data.rows;
        assert_eq!(rows, [["25", "2"], ["50", "1.414"], ["100", "2.25"]]);
        let bars = deviations(&labels).data.rows;
        assert_eq!(bars.iter().map(|row| row[1].as_str()).filter(|count| *count != "0").count(), 3);
        let alike = ValueLabels { std: vec![0.3; 4], ..labels };
        assert_eq!(deviations(&alike).data.rows.len(), 1);
    }
}
