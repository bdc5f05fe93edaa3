//! The labelers: coverage, overlaps and conflicts, estimated and true accuracy, and the rows on which they disagree most.

use labelflow::WeakSignals;
use labelflow::labelers::{LabelerPair, krippendorff_alpha, labeler_pairs};
use labelflow::rows::Truth;
use labelflow_data::inputs::RowNames;

use super::page::{Block, PageTable, Section};
use crate::chart::{Axis, Chart, DataTable, Key, Mark, Symbol};
use crate::inputs::labeler_report::LabelerReport;
use crate::terminal::output::percent;

/// The most labelers in a chart: those with the most votes.
const MOST_LABELERS: usize = 40;
/// The rows that are listed.
const N_ROWS: usize = 10;
/// The labelers whose confusion matrices are listed.
const N_CONFUSIONS: usize = 10;
/// A confusion matrix of more classes is too wide to read.
const MOST_CLASSES: usize = 12;

/// What the section is made of.
pub(crate) struct SignalsReport<'a> {
    pub(crate) signals: &'a WeakSignals,
    pub(crate) labelers: &'a [LabelerReport],
    /// The label model that estimated the accuracies.
    pub(crate) model: &'a str,
    pub(crate) truth: Option<&'a Truth>,
    pub(crate) names: &'a RowNames,
}

pub(crate) fn signals_section(report: &SignalsReport<'_>) -> Section {
    let signals = report.signals;
    let chosen = most_active(report.labelers);
    let mut blocks = vec![Block::Figures(vec![
        ("rows", signals.n_rows().to_string()),
        ("rows without a vote", signals.n_uncovered().to_string()),
        ("labelers", signals.n_signals().to_string()),
        ("classes", signals.n_classes().to_string()),
        (
            "Krippendorff's alpha",
            krippendorff_alpha(signals).map_or_else(|| "–".to_owned(), |alpha| format!("{alpha:.3}")),
        ),
    ])];
    if chosen.len() < signals.n_signals() {
        let text = format!("The charts show the {} labelers with the most votes.", chosen.len());
        blocks.push(Block::Text(text));
    }
    let pairs = Pairs::new(signals, &chosen);
    blocks.push(Block::Charts(vec![
        shares_chart(report, &chosen),
        accuracy_chart(report, &chosen),
        pairs.chart(
            "signals-overlaps",
            "Overlaps: rows on which both vote",
            "Heat map of the share of rows on which both of two labelers vote; on the diagonal the share on which one votes",
            |both, _| both,
        ),
        pairs.chart(
            "signals-conflicts",
            "Conflicts: rows on which two vote differently",
            "Heat map of the share of rows on which two labelers vote for different classes",
            |_, differ| differ,
        ),
    ]));
    blocks.push(Block::Heading("Rows with the strongest conflict".to_owned()));
    blocks.push(match conflict_table(report) {
        Some(table) => Block::Table(table),
        None => Block::Text("No two labelers vote differently on any row.".to_owned()),
    });
    if let Some(table) = confusion_table(report) {
        blocks.push(Block::Heading("What labelers vote for".to_owned()));
        let text = "Votes of the labelers with the most votes on rows of each class, as expected under the labels of the label model.";
        blocks.push(Block::Text(text.to_owned()));
        blocks.push(Block::Table(table));
    }
    Section { name: "signals", title: "Signals", blocks }
}

/// The labelers with the most votes, in their own order.
fn most_active(labelers: &[LabelerReport]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..labelers.len()).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(labelers[index].summary.n_votes));
    order.truncate(MOST_LABELERS);
    order.sort_unstable();
    order
}

fn shares_chart(report: &SignalsReport<'_>, chosen: &[usize]) -> Chart {
    const SHARES: [&str; 3] = ["coverage", "overlaps", "conflicts"];
    let mut marks = Vec::new();
    let mut rows = Vec::new();
    for (place, &index) in chosen.iter().enumerate() {
        let summary = &report.labelers[index].summary;
        let shares = [summary.coverage, summary.overlaps, summary.conflicts];
        for (style, (share, what)) in shares.iter().zip(SHARES).enumerate() {
            let top = place as f64 + 0.14 + 0.24 * style as f64;
            let value = format!("{}: {what} {} %", summary.name, percent(*share));
            marks.push(Mark::Bar { x: [0.0, 100.0 * share], y: [top, top + 0.22], style, value });
        }
        let cells = shares.map(percent);
        rows.push(std::iter::once(summary.name.clone()).chain(cells).collect());
    }
    let key = |(style, text): (usize, &str)| Key::new(text, style, Symbol::Bar);
    let description = "Bar chart of the shares of all rows on which each labeler votes, votes with another one, and votes against \
                       another one.";
    let axes = [Axis::percent("share of all rows, %"), Axis::names("", names(report, chosen))];
    let title = "Coverage, overlaps and conflicts";
    Chart {
        height: height(chosen.len()),
        marks,
        legend: SHARES.into_iter().enumerate().map(key).collect(),
        data: DataTable::new(["labeler", "coverage %", "overlaps %", "conflicts %"], rows),
        ..Chart::new("signals-coverage", title, description.to_owned(), axes)
    }
}

/// Less room for each of many labelers.
fn height(n_labelers: usize) -> f64 {
    let room = if n_labelers > 12 { 24.0 } else { 36.0 };
    (n_labelers as f64 * room).max(60.0)
}

fn names(report: &SignalsReport<'_>, chosen: &[usize]) -> Vec<String> {
    chosen.iter().map(|&index| report.labelers[index].summary.name.clone()).collect()
}

fn accuracy_chart(report: &SignalsReport<'_>, chosen: &[usize]) -> Chart {
    let mut marks = Vec::new();
    let mut rows = Vec::new();
    // The axis shows at least from chance to certainty.
    let mut shares = vec![100.0 / report.signals.n_classes() as f64, 100.0];
    for (place, &index) in chosen.iter().enumerate() {
        let labeler = &report.labelers[index];
        let name = &labeler.summary.name;
        let y = place as f64 + 0.5;
        let (estimated, found) = (labeler.learned_accuracy, labeler.summary.accuracy);
        if let (Some(estimated), Some(found)) = (estimated, found) {
            let [from, to] = [estimated, found].map(|share| [100.0 * share, y]);
            marks.push(Mark::Guide { from, to });
        }
        for (style, what, share) in [(0, "estimated", estimated), (1, "true", found)] {
            let Some(share) = share else { continue };
            shares.push(100.0 * share);
            let value = format!("{name}: {what} accuracy {} %", percent(share));
            marks.push(Mark::Point { at: [100.0 * share, y], style, value, is_quiet: false });
        }
        let cells = [estimated, found].map(|share| share.map_or_else(|| "–".to_owned(), percent));
        rows.push(std::iter::once(name.clone()).chain(cells).collect());
    }
    let mut legend = vec![Key::new(format!("estimated by {}", report.model), 0, Symbol::Point)];
    legend.extend(report.truth.map(|_| Key::new("by true labels", 1, Symbol::Point)));
    let description = "Dot chart of the share of each labeler's votes that is right, as estimated from votes alone and, where true \
                       labels are known, by them.";
    let axes = [Axis::of_values("right votes, %", &shares), Axis::names("", names(report, chosen))];
    let title = "Accuracy of each labeler";
    Chart {
        height: height(chosen.len()),
        marks,
        legend,
        data: DataTable::new(["labeler", "estimated %", "by true labels %"], rows),
        ..Chart::new("signals-accuracy", title, description.to_owned(), axes)
    }
}

/// What each two labelers do together, as shares of all rows.
struct Pairs {
    names: Vec<String>,
    /// Rows on which both vote, and on which they differ, by both labelers.
    shares: Vec<Vec<(f64, f64)>>,
}

impl Pairs {
    fn new(signals: &WeakSignals, chosen: &[usize]) -> Self {
        let n_signals = signals.n_signals();
        let n_rows = signals.n_rows() as f64;
        let mut shares = vec![vec![(0.0, 0.0); n_signals]; n_signals];
        let votes = signals.votes();
        for (index, shares) in shares.iter_mut().enumerate() {
            let n_votes = (0..signals.n_rows()).filter(|&row| votes.get(row, index).is_some());
            shares[index].0 = n_votes.count() as f64 / n_rows;
        }
        let places = (0..n_signals).flat_map(|a| (a + 1..n_signals).map(move |b| (a, b)));
        for ((a, b), pair) in places.zip(labeler_pairs(signals)) {
            let LabelerPair { n_both, agreement, .. } = pair;
            let both = n_both as f64 / n_rows;
            let share = (both, both * (1.0 - agreement.unwrap_or(1.0)));
            (shares[a][b], shares[b][a]) = (share, share);
        }
        let names = chosen.iter().map(|&index| signals.labelers()[index].clone()).collect();
        let row = |&a: &usize| chosen.iter().map(|&b| shares[a][b]).collect();
        Self { names, shares: chosen.iter().map(row).collect() }
    }

    fn chart(&self, name: &str, title: &str, description: &str, which: impl Fn(f64, f64) -> f64) -> Chart {
        let mut marks = Vec::new();
        let mut rows = Vec::new();
        let strongest = self.shares.iter().flatten().map(|&(both, differ)| which(both, differ));
        let strongest = strongest.fold(0.0, f64::max).max(1e-9);
        for (row, (first, shares)) in self.names.iter().zip(&self.shares).enumerate() {
            let mut cells = vec![first.clone()];
            for (column, (second, &(both, differ))) in self.names.iter().zip(shares).enumerate() {
                let share = which(both, differ);
                let text = percent(share);
                let value = format!("{first} and {second}: {text} % of rows");
                cells.push(text.clone());
                // The strongest field has the full colour.
                let share = share / strongest;
                marks.push(Mark::Cell { column, row, share, text, value });
            }
            rows.push(cells);
        }
        let header = std::iter::once("% of rows".to_owned()).chain(self.names.iter().cloned());
        let axes = [Axis::names("", self.names.clone()), Axis::names("", self.names.clone())];
        Chart {
            height: (self.names.len() as f64 * 36.0).clamp(60.0, 320.0),
            marks,
            data: DataTable { header: header.collect(), rows },
            ..Chart::new(name, &format!("{title}, %"), format!("{description}."), axes)
        }
    }
}

/// The rows in which the most pairs of labelers contradict each other; none where there is no contradiction.
fn conflict_table(report: &SignalsReport<'_>) -> Option<PageTable> {
    let signals = report.signals;
    let votes = signals.votes();
    let contradictions = |row: usize| {
        let mut counts = vec![0; signals.n_classes()];
        (0..signals.n_signals()).filter_map(|s| votes.get(row, s)).for_each(|c| counts[c] += 1);
        let n_votes: usize = counts.iter().sum();
        let n_same: usize = counts.iter().map(|count| count * count).sum();
        // Pairs of labelers with different votes: (n² − Σ n_c²) / 2.
        ((n_votes * n_votes - n_same) / 2, row)
    };
    let rows = (0..signals.n_rows()).map(contradictions);
    let mut strongest: Vec<(usize, usize)> = rows.filter(|(n_contradictions, _)| *n_contradictions > 0).collect();
    if strongest.is_empty() {
        return None;
    }
    strongest.sort_by_key(|&(n_contradictions, row)| (std::cmp::Reverse(n_contradictions), row));
    strongest.truncate(N_ROWS);
    let mut header = vec!["row".to_owned(), "contradictions".to_owned()];
    header.extend(signals.classes().iter().map(|class| format!("votes for {class}")));
    header.extend(report.truth.map(|_| "true label".to_owned()));
    let line = |&(n_contradictions, row): &(usize, usize)| {
        let mut cells = vec![report.names.get(row), n_contradictions.to_string()];
        cells.extend((0..signals.n_classes()).map(|class| voters(signals, row, class)));
        cells.extend(report.truth.map(|truth| signals.classes()[truth.labels()[row]].clone()));
        cells
    };
    let rows = strongest.iter().map(line).collect();
    Some(PageTable::new("Rows with the strongest conflict", DataTable { header, rows }))
}

/// The confusion matrices of the labelers with the most votes, in percent of their votes on rows of a class; nothing where classes are many.
fn confusion_table(report: &SignalsReport<'_>) -> Option<PageTable> {
    let classes = report.signals.classes();
    if classes.len() > MOST_CLASSES {
        return None;
    }
    let mut labelers: Vec<&LabelerReport> =
        report.labelers.iter().filter(|labeler| labeler.summary.n_votes > 0).collect();
    labelers.sort_by_key(|labeler| std::cmp::Reverse(labeler.summary.n_votes));
    labelers.truncate(N_CONFUSIONS);
    let mut header = vec!["labeler".to_owned(), "votes".to_owned(), "class".to_owned()];
    header.extend(classes.iter().map(|class| format!("votes for {class} %")));
    let mut rows = Vec::new();
    for labeler in labelers {
        for (class, votes) in classes.iter().zip(labeler.confusion.as_ref()?) {
            let n_votes: f64 = votes.iter().sum();
            let share = |votes: &f64| if n_votes > 0.0 { percent(votes / n_votes) } else { "–".to_owned() };
            let mut cells = vec![labeler.summary.name.clone(), format!("{n_votes:.1}"), class.clone()];
            cells.extend(votes.iter().map(share));
            rows.push(cells);
        }
    }
    Some(PageTable::new("What labelers vote for on rows of each class", DataTable { header, rows }))
}

/// Who votes for a class: a few names, or how many they are.
fn voters(signals: &WeakSignals, row: usize, class: usize) -> String {
    const MOST: usize = 4;
    let votes = signals.votes();
    let voters: Vec<&str> = (0..signals.n_signals())
        .filter(|&signal| votes.get(row, signal) == Some(class))
        .map(|signal| signals.labelers()[signal].as_str())
        .collect();
    match voters.len() {
        0 => "–".to_owned(),
        1..=MOST => voters.join(", "),
        n_voters => format!("{n_voters} labelers"),
    }
}

#[cfg(test)]
mod tests {
    use labelflow::Votes;
    use labelflow::rows::SoftLabels;
    use labelflow::votes::VoteTally;
    use ndarray::{Array2, array};

    use super::*;

    fn signals() -> WeakSignals {
        let votes = array![[0, 0, -1], [0, 1, 1], [1, -1, -1], [0, 1, 2]];
        WeakSignals::from_votes(Votes::from_indices(votes.view(), None).unwrap()).unwrap()
    }

    #[test]
    fn overlaps_and_conflicts_are_shares_of_all_rows() {
        let pairs = Pairs::new(&signals(), &[0, 1, 2]);
        let both: Vec<Vec<f64>> = pairs.shares.iter().map(|row| row.iter().map(|share| share.0).collect()).collect();
        assert_eq!(both, [[1.0, 0.75, 0.5], [0.75, 0.75, 0.5], [0.5, 0.5, 0.5]]);
        let differ: Vec<f64> = pairs.shares[0].iter().map(|share| share.1).collect();
        assert_eq!(differ, [0.0, 0.5, 0.5]);
    }

    #[test]
    fn rows_with_the_most_contradictions_come_first() {
        let signals = signals();
        let soft = SoftLabels::normalized(Array2::ones((4, 3)));
        let truth = Truth::new(vec![0, 1, 1, 2], 3).unwrap();
        let mut tally = VoteTally::new(&signals);
        tally.add(&signals, &[], &soft, Some(&truth)).unwrap();
        let labelers = LabelerReport::with_confusions(&tally);
        let report = SignalsReport {
            signals: &signals,
            labelers: &labelers,
            model: "majority-vote",
            truth: Some(&truth),
            names: &RowNames::Place(0..4),
        };
        let table = conflict_table(&report).unwrap();
        let rows: Vec<Vec<&str>> =
            table.rows.iter().map(|row| row.iter().map(|cell| cell.text.as_str()).collect()).collect();
        let [first, second, third] = [0, 1, 2].map(|index| signals.labelers()[index].as_str());
        let both = format!("{second}, {third}");
        assert_eq!(rows, [vec!["3", "3", first, second, third, "2"], vec!["1", "2", first, &both, "–", "1"]]);
        // The first votes for class 0 on three of four rows, each of which may be of any class.
        let confusions = confusion_table(&report).unwrap();
        let cells: Vec<&str> = confusions.rows[0].iter().map(|cell| cell.text.as_str()).collect();
        assert_eq!(cells, [first, "1.3", "0", "75.0", "25.0", "0.0"]);
        let accuracies = accuracy_chart(&report, &[0, 1, 2]).data.rows;
        assert_eq!(accuracies[0][1..], ["33.3", "50.0"]);
    }
}
