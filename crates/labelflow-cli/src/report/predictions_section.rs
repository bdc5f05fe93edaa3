//! How certain predicted classes are and, where true labels are known, how accurate.
//!
//! ```text
//! certainty = the probability of the predicted class
//! reliability: of the rows in a bin of certainty, the share that is right against the mean certainty
//! coverage c: the accuracy on the c · n most certain rows
//! ```

use labelflow::evaluation::classification_metrics;
use labelflow::rows::Truth;
use labelflow_data::inputs::ClassPredictions;

use super::page::{Block, PageTable, Section};
use crate::chart::{Axis, Chart, Curve, DataTable, Key, Mark, Symbol, evenly_chosen, show_number};
use crate::terminal::output::percent;

/// Bins of certainty.
const N_BINS: usize = 10;
/// The most places at which the band around a curve has corners.
const MOST_BAND: usize = 100;
/// The rows that are listed.
const N_ROWS: usize = 10;

pub(crate) fn predictions_section(predictions: &ClassPredictions, truth: Option<&Truth>) -> anyhow::Result<Section> {
    let rows = Rows::new(predictions);
    let mut figures = vec![
        ("rows", rows.certainty.len().to_string()),
        ("classes", predictions.classes.len().to_string()),
        ("mean certainty", format!("{} %", percent(mean(&rows.certainty)))),
    ];
    let mut charts = vec![rows.histogram()];
    if let Some(truth) = truth {
        let metrics = classification_metrics(&predictions.labels, truth)?;
        figures.extend([
            ("accuracy", format!("{} %", percent(metrics.accuracy))),
            ("expected calibration error", format!("{} %", percent(metrics.ece))),
            ("Brier score", format!("{:.4}", metrics.brier)),
            ("log loss", format!("{:.4}", metrics.log_loss)),
        ]);
        let is_right = rows.are_right(truth);
        charts.insert(0, rows.reliability(&is_right));
        charts.push(rows.selective_accuracy(&is_right));
    }
    Ok(section(figures, charts, least_certain(predictions, &rows, truth)))
}

/// The section of predictions of any kind.
pub(super) fn section(figures: Vec<(&'static str, String)>, charts: Vec<Chart>, least_certain: DataTable) -> Section {
    let title = "Least certain rows";
    let blocks = vec![
        Block::Figures(figures),
        Block::Charts(charts),
        Block::Heading(title.to_owned()),
        Block::Table(PageTable::new(title, least_certain)),
    ];
    Section { name: "predictions", title: "Predictions", blocks }
}

/// A mean over the rows kept, for each share of rows that can be kept; `order` starts with the most certain one. Rows of the same
/// certainty are kept or left out together.
pub(super) fn mean_of_kept(order: &[usize], certainty: &[f64], value: impl Fn(usize) -> f64) -> Vec<[f64; 2]> {
    let mut total = 0.0;
    let mut points = Vec::new();
    for (index, &row) in order.iter().enumerate() {
        total += value(row);
        let next = order.get(index + 1).map(|&next| certainty[next]);
        if next != Some(certainty[row]) {
            let n_kept = (index + 1) as f64;
            points.push([100.0 * n_kept / order.len() as f64, total / n_kept]);
        }
    }
    points
}

/// What is known of each row.
struct Rows {
    predicted: Vec<usize>,
    certainty: Vec<f64>,
}

impl Rows {
    fn new(predictions: &ClassPredictions) -> Self {
        let predicted = predictions.labels.argmax();
        let values = predictions.labels.values();
        let certainty = predicted.iter().enumerate().map(|(row, &class)| values[[row, class]]).collect();
        Self { predicted, certainty }
    }

    /// Whether the label of each row is the true one.
    fn are_right(&self, truth: &Truth) -> Vec<bool> {
        self.predicted.iter().zip(truth.labels()).map(|(guess, class)| guess == class).collect()
    }

    /// The rows of each bin; bins are open below and closed above.
    fn bins(&self) -> Vec<Vec<usize>> {
        let mut bins = vec![Vec::new(); N_BINS];
        for (row, certainty) in self.certainty.iter().enumerate() {
            bins[((certainty * N_BINS as f64).ceil() as usize).clamp(1, N_BINS) - 1].push(row);
        }
        bins
    }

    fn histogram(&self) -> Chart {
        let counts: Vec<(f64, usize)> =
            self.bins().iter().enumerate().map(|(bin, rows)| (bin as f64 * 10.0, rows.len())).collect();
        histogram("predictions-certainty", "How certain labels are", "certainty, %", 10.0, &counts)
    }

    fn reliability(&self, is_right: &[bool]) -> Chart {
        let mut marks = Vec::new();
        let mut rows = Vec::new();
        for (bin, members) in self.bins().iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
            let n_rows = members.len() as f64;
            let n_right = members.iter().filter(|&&row| is_right[row]).count();
            let accuracy = 100.0 * n_right as f64 / n_rows;
            let certainty = 100.0 * members.iter().map(|&row| self.certainty[row]).sum::<f64>() / n_rows;
            let value = format!("certainty {certainty:.1} %: accuracy {accuracy:.1} %, {} rows", members.len());
            let left = bin as f64 * 10.0;
            marks.push(Mark::Bar { x: [left + 0.6, left + 9.4], y: [0.0, accuracy], style: 0, value: value.clone() });
            marks.push(Mark::Point { at: [certainty, accuracy], style: 1, value, is_quiet: false });
            rows.push(vec![
                format!("{left:.0} to {:.0}", left + 10.0),
                members.len().to_string(),
                format!("{certainty:.1}"),
                format!("{accuracy:.1}"),
            ]);
        }
        marks.push(Mark::Guide { from: [0.0, 0.0], to: [100.0, 100.0] });
        let description = "Reliability diagram: for each bin of certainty, the accuracy against the mean \
                           certainty. On the diagonal both are equal.";
        let axes = [Axis::percent("certainty, %"), Axis::percent("accuracy, %")];
        let name = "predictions-reliability";
        Chart {
            marks,
            legend: vec![
                Key::new("accuracy in each bin", 0, Symbol::Bar),
                Key::new("at the mean certainty", 1, Symbol::Point),
            ],
            data: DataTable::new(["certainty, %", "rows", "mean certainty, %", "accuracy, %"], rows),
            ..Chart::new(name, "Reliability", description.to_owned(), axes)
        }
    }

    fn selective_accuracy(&self, is_right: &[bool]) -> Chart {
        let order = by_descending(&self.certainty);
        let percent_right = |row: usize| if is_right[row] { 100.0 } else { 0.0 };
        let points = mean_of_kept(&order, &self.certainty, percent_right);
        let band = |[kept, accuracy]: [f64; 2]| {
            let [low, high] = wilson(accuracy / 100.0, kept / 100.0 * order.len() as f64);
            ([kept, 100.0 * low], [kept, 100.0 * high])
        };
        let (low, high): (Vec<_>, Vec<_>) = evenly_chosen(&points, MOST_BAND).into_iter().map(band).unzip();
        let band: Vec<[f64; 2]> = low.into_iter().chain(high.into_iter().rev()).collect();
        let heights: Vec<f64> = band.iter().map(|place| place[1]).collect();
        let curve = Curve { name: "accuracy".to_owned(), points };
        let title = "Accuracy when the least certain rows are left out";
        let (x, y) = ("rows kept, %", "accuracy, %");
        let mut chart = Chart::of_curves("predictions-coverage", title, x, y, &[curve]);
        chart.x = Axis::percent(x);
        chart.y = Axis::of_values(y, &heights);
        chart.description += " The band is a 95 percent interval.";
        chart.marks.insert(0, Mark::Area { points: band, style: 0 });
        chart
    }
}

/// Wilson's interval: where a share lies with 95 % certainty when it was found in so many rows.
fn wilson(share: f64, n_rows: f64) -> [f64; 2] {
    const Z: f64 = 1.959_964;
    let scale = 1.0 + Z * Z / n_rows;
    let middle = (share + Z * Z / (2.0 * n_rows)) / scale;
    let half = Z * (share * (1.0 - share) / n_rows + Z * Z / (4.0 * n_rows * n_rows)).sqrt() / scale;
    [(middle - half).max(0.0), (middle + half).min(1.0)]
}

/// Rows by falling numbers, those with the same in their order.
pub(super) fn by_descending(numbers: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by(|&a, &b| numbers[b].total_cmp(&numbers[a]).then(a.cmp(&b)));
    order
}

/// Bars over bins of equal width: where each starts, and its rows.
pub(super) fn histogram(name: &str, title: &str, unit: &str, width: f64, counts: &[(f64, usize)]) -> Chart {
    let gap = 0.04 * width;
    let range = |start: f64| format!("{} to {}", show_number(start, None), show_number(start + width, None));
    let bar = |&(start, count): &(f64, usize)| Mark::Bar {
        x: [start + gap, start + width - gap],
        y: [0.0, count as f64],
        style: 0,
        value: format!("{unit} {}: {count} rows", range(start)),
    };
    let ends: Vec<f64> = counts.iter().flat_map(|&(start, _)| [start, start + width]).collect();
    let heights: Vec<f64> = counts.iter().map(|&(_, count)| count as f64).collect();
    let largest = counts.iter().max_by_key(|(_, count)| *count);
    let largest =
        largest.map_or_else(String::new, |&(start, count)| format!(" Most rows, {count}, are from {}.", range(start)));
    let rows = counts.iter().map(|&(start, count)| vec![range(start), count.to_string()]);
    let axes = [Axis::of_values(unit, &ends), Axis::from_zero("rows", &heights)];
    Chart {
        marks: counts.iter().map(bar).collect(),
        data: DataTable::new([unit, "rows"], rows.collect()),
        ..Chart::new(name, title, format!("Histogram of rows by {unit}.{largest}"), axes)
    }
}

pub(super) fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len().max(1) as f64
}

fn least_certain(predictions: &ClassPredictions, rows: &Rows, truth: Option<&Truth>) -> DataTable {
    let doubt: Vec<f64> = rows.certainty.iter().map(|certainty| 1.0 - certainty).collect();
    let mut order = by_descending(&doubt);
    order.truncate(N_ROWS);
    let classes = &predictions.classes;
    let values = predictions.labels.values();
    let line = |&row: &usize| {
        let p = values.row(row);
        let others = (0..classes.len()).filter(|&class| class != rows.predicted[row]);
        let second = others.max_by(|&a, &b| p[a].total_cmp(&p[b])).unwrap_or(rows.predicted[row]);
        let mut cells = vec![
            predictions.keys.names().get(row),
            classes[rows.predicted[row]].clone(),
            percent(rows.certainty[row]),
            classes[second].clone(),
            percent(p[second]),
        ];
        cells.extend(truth.map(|truth| classes[truth.labels()[row]].clone()));
        cells
    };
    let mut header: Vec<String> =
        ["row", "label", "certainty %", "next label", "its probability %"].map(str::to_owned).to_vec();
    header.extend(truth.map(|_| "true label".to_owned()));
    DataTable { header, rows: order.iter().map(line).collect() }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use labelflow::rows::SoftLabels;
    use labelflow_data::inputs::RowKeys;
    use ndarray::Array2;

    use super::*;

    /// Rows of two classes with these probabilities of the first.
    fn predictions(p: &[f64]) -> ClassPredictions {
        let values = Array2::from_shape_fn((p.len(), 2), |(row, class)| if class == 0 { p[row] } else { 1.0 - p[row] });
        ClassPredictions {
            labels: SoftLabels::new(values).unwrap(),
            classes: vec!["a".to_owned(), "b".to_owned()],
            keys: RowKeys::by_place(Path::new("labels.csv"), p.len()),
        }
    }

    #[test]
    fn known_answers() {
        // Certainty 0.9, 0.9, 0.6, 0.8; the second and the third row are wrong.
        let predictions = predictions(&[0.9, 0.9, 0.4, 0.2]);
        let truth = Truth::new(vec![0, 1, 0, 1], 2).unwrap();
        let rows = Rows::new(&predictions);
        let is_right = rows.are_right(&truth);
        assert_eq!(is_right, [true, false, false, true]);
        let reliability = rows.reliability(&is_right).data.rows;
        assert_eq!(
            reliability,
            [["50 to 60", "1", "60.0", "0.0"], ["70 to 80", "1", "80.0", "100.0"], ["80 to 90", "2", "90.0", "50.0"],]
        );
        // The two rows of certainty 0.9 are kept together.
        let kept = rows.selective_accuracy(&is_right).data.rows;
        assert_eq!(kept, [["50", "50"], ["75", "66.67"], ["100", "50"]]);
        let table = least_certain(&predictions, &rows, Some(&truth));
        let order: Vec<&str> = table.rows.iter().map(|row| row[0].as_str()).collect();
        assert_eq!(order, ["2", "3", "0", "1"]);
        assert_eq!(table.rows[0], ["2", "b", "60.0", "a", "40.0", "a"]);
    }

    #[test]
    fn intervals_of_shares() {
        // Known values: 8 of 10, and none of 20.
        for (share, n_rows, expected) in [(0.8, 10.0, [0.490, 0.943]), (0.0, 20.0, [0.0, 0.161])] {
            let found = wilson(share, n_rows);
            assert!((0..2).all(|end| (found[end] - expected[end]).abs() < 1e-3), "{found:?}");
        }
    }
}
