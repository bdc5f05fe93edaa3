//! Small charts, defined once as axes and marks and drawn by two writers.
//!
//! ```text
//! Chart (axes, marks in the data's units) ──► Drawing (shapes in pixels) ──► SVG, on a page or as a file
//!                                                                      └──► PNG
//! ```
//!
//! Numbers that are not finite are left out; a chart with none left says that there is nothing to show.

mod axis;
mod drawing;
mod layout;
mod palette;
mod png;
mod svg;

pub(crate) use axis::{Axis, show_number};
pub(crate) use palette::Palette;
pub(crate) use png::write_png;
pub(crate) use svg::{SvgPlace, printable, svg};

/// The height of charts, which are wider than high, unless there is a reason for another.
const USUAL_HEIGHT: f64 = 200.0;
/// The most points that a curve is drawn with.
const MOST_POINTS: usize = 400;
/// The most points of a curve whose values can be asked for, and rows of its table.
const MOST_VALUES: usize = 40;

/// One chart.
#[derive(Debug, Clone)]
pub(crate) struct Chart {
    /// For files and references; small letters, digits and hyphens.
    pub(crate) name: String,
    pub(crate) title: String,
    /// What it shows, for those who do not see it.
    pub(crate) description: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    /// How high the marks are, in pixels.
    pub(crate) height: f64,
    pub(crate) marks: Vec<Mark>,
    pub(crate) legend: Vec<Key>,
    /// The same numbers as a table.
    pub(crate) data: DataTable,
}

/// What stands for data. Places are in the units of the axes; on an axis of names the first name is from 0 to 1.
#[derive(Debug, Clone)]
pub(crate) enum Mark {
    /// Points joined by a line.
    Line { points: Vec<[f64; 2]>, style: usize },
    /// A faint line to compare with.
    Guide { from: [f64; 2], to: [f64; 2] },
    /// A tinted surface between points.
    Area { points: Vec<[f64; 2]>, style: usize },
    /// A rectangle.
    Bar { x: [f64; 2], y: [f64; 2], style: usize, value: String },
    /// A sign at a place. A quiet one is seen only when its value is asked for.
    Point { at: [f64; 2], style: usize, value: String, is_quiet: bool },
    /// A field of a heat map: the larger its share, the stronger its colour.
    Cell { column: usize, row: usize, share: f64, text: String, value: String },
}

/// A line of the legend.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Key {
    pub(crate) text: String,
    pub(crate) style: usize,
    pub(crate) symbol: Symbol,
}

/// What the legend shows beside a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Symbol {
    Line,
    Point,
    Bar,
}

/// A table with a line of names above it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct DataTable {
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

/// A curve of one of several series.
#[derive(Debug, Clone)]
pub(crate) struct Curve {
    pub(crate) name: String,
    pub(crate) points: Vec<[f64; 2]>,
}

impl Key {
    pub(crate) fn new(text: impl Into<String>, style: usize, symbol: Symbol) -> Self {
        Self { text: text.into(), style, symbol }
    }
}

impl DataTable {
    pub(crate) fn new<const N: usize>(header: [&str; N], rows: Vec<Vec<String>>) -> Self {
        Self { header: header.map(str::to_owned).to_vec(), rows }
    }
}

impl Chart {
    /// Two axes of the usual size, and nothing between them.
    pub(crate) fn new(name: &str, title: &str, description: String, [x, y]: [Axis; 2]) -> Self {
        Self {
            name: name.to_owned(),
            title: title.to_owned(),
            description,
            x,
            y,
            height: USUAL_HEIGHT,
            marks: Vec::new(),
            legend: Vec::new(),
            data: DataTable::default(),
        }
    }

    /// Curves over one quantity, each with a colour and a dash pattern of its own.
    pub(crate) fn of_curves(name: &str, title: &str, x: &str, y: &str, curves: &[Curve]) -> Self {
        let finite: Vec<Curve> = curves.iter().map(Curve::finite).collect();
        let coordinates = |axis: usize| {
            let places = finite.iter().flat_map(|curve| &curve.points);
            places.map(move |place| place[axis]).collect::<Vec<f64>>()
        };
        let axes = [Axis::of_values(x, &coordinates(0)), Axis::of_magnitudes(y, &coordinates(1))];
        let mut chart = Self::new(name, title, describe_curves(y, x, &finite), axes);
        chart.data = DataTable::new([x, y], Vec::new());
        let several = finite.len() > 1;
        if several {
            chart.data.header.insert(0, "series".to_owned());
        }
        for (style, curve) in finite.iter().enumerate() {
            chart.marks.push(Mark::Line { points: thinned(&curve.points, MOST_POINTS), style });
            for at in evenly_chosen(&curve.points, MOST_VALUES) {
                let numbers = at.map(|number| show_number(number, None));
                let series = if several { format!("{}, ", curve.name) } else { String::new() };
                let value = format!("{series}{x} {}: {y} {}", numbers[0], numbers[1]);
                chart.marks.push(Mark::Point { at, style, value, is_quiet: true });
                let row = several.then(|| curve.name.clone()).into_iter().chain(numbers);
                chart.data.rows.push(row.collect());
            }
            if several {
                chart.legend.push(Key::new(&curve.name, style, Symbol::Line));
            }
        }
        chart
    }

    /// Whether there is nothing but axes.
    pub(crate) fn is_empty(&self) -> bool {
        self.marks.iter().all(|mark| match mark {
            Mark::Line { points, .. } | Mark::Area { points, .. } => points.is_empty(),
            Mark::Guide { .. } => true,
            Mark::Bar { .. } | Mark::Point { .. } | Mark::Cell { .. } => false,
        })
    }
}

impl Curve {
    /// The points that can be drawn.
    fn finite(&self) -> Self {
        let drawable = |place: &&[f64; 2]| place.iter().all(|number| number.abs() < axis::LARGEST);
        Self { name: self.name.clone(), points: self.points.iter().filter(drawable).copied().collect() }
    }
}

fn describe_curves(y: &str, x: &str, curves: &[Curve]) -> String {
    let of_curve = |curve: &Curve| match (curve.points.first(), curve.points.last()) {
        (Some(first), Some(last)) => {
            let [from, to] = [first, last].map(|place| show_number(place[1], None));
            format!("{}: from {from} to {to}", curve.name)
        }
        _ => format!("{}: nothing to show", curve.name),
    };
    let curves: Vec<String> = curves.iter().map(of_curve).collect();
    format!("Line chart of {y} over {x}. {}.", curves.join("; "))
}

/// The lowest and the highest of each of several stretches, in their order: fewer points with the same outline.
fn thinned(points: &[[f64; 2]], most: usize) -> Vec<[f64; 2]> {
    if points.len() <= most {
        return points.to_vec();
    }
    let stretch = points.len().div_ceil(most / 2);
    let extremes = |stretch: &[[f64; 2]]| {
        let by_height = |a: &usize, b: &usize| stretch[*a][1].total_cmp(&stretch[*b][1]);
        let lowest = (0..stretch.len()).min_by(by_height).unwrap_or(0);
        let highest = (0..stretch.len()).max_by(by_height).unwrap_or(0);
        [stretch[lowest.min(highest)], stretch[lowest.max(highest)]]
    };
    let mut thinned: Vec<[f64; 2]> = points.chunks(stretch).flat_map(extremes).collect();
    thinned.dedup();
    thinned
}

/// At most so many of the points, evenly chosen, with the first and the last.
pub(crate) fn evenly_chosen(points: &[[f64; 2]], most: usize) -> Vec<[f64; 2]> {
    if points.len() <= most {
        return points.to_vec();
    }
    (0..most).map(|index| points[index * (points.len() - 1) / (most - 1)]).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn curve(name: &str, points: impl IntoIterator<Item = [f64; 2]>) -> Curve {
        Curve { name: name.to_owned(), points: points.into_iter().collect() }
    }

    #[test]
    fn long_curves_keep_their_outline() {
        let wave = |index: usize| [index as f64, (index as f64).sin()];
        let points: Vec<[f64; 2]> = (0..10_000).map(wave).collect();
        let thinned = thinned(&points, 400);
        assert!(thinned.len() <= 400 && thinned.len() > 300, "{}", thinned.len());
        assert!(thinned.windows(2).all(|pair| pair[0][0] < pair[1][0]));
        let highest = thinned.iter().map(|place| place[1]).fold(0.0, f64::max);
        assert!(highest > 0.999);
        let some = evenly_chosen(&points, 40);
        assert_eq!((some.len(), some[0], some[39]), (40, points[0], points[9999]));
    }

    #[test]
    fn curves_of_nothing_and_of_what_is_no_number() {
        let chart = Chart::of_curves("a", "A", "epoch", "loss", &[curve("m", [])]);
        assert!(chart.is_empty());
        let odd = [[0.0, f64::NAN], [1.0, f64::INFINITY], [2.0, 5.0], [3.0, 1e308]];
        let chart = Chart::of_curves("a", "A", "epoch", "loss", &[curve("m", odd)]);
        assert!(!chart.is_empty());
        assert_eq!(chart.data.rows, [["2", "5"]]);
    }

    #[test]
    fn several_curves_have_a_legend() {
        let curves = ["a", "b"].map(|name| curve(name, [[0.0, 1.0], [1.0, 2.0]]));
        let chart = Chart::of_curves("c", "C", "epoch", "loss", &curves);
        assert_eq!(chart.legend.len(), 2);
        assert_eq!(chart.data.header, ["series", "epoch", "loss"]);
        assert_eq!(chart.data.rows[2], ["b", "0", "1"]);
        assert!(chart.description.contains("b: from 1 to 2"), "{}", chart.description);
    }
}
