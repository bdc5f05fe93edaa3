//! Axes: from numbers to places, and the numbers that stand beside them.
//!
//! Ticks are one, two or five times a power of ten apart, as many as fit, and the axis ends at ticks. Positive numbers over three
//! orders of magnitude get an axis of logarithms.

/// Numbers beyond this are not drawn: their differences would overflow.
pub(super) const LARGEST: f64 = 1e300;
/// How many ticks there are about.
const N_TICKS: f64 = 5.0;
/// The quotient of the largest and the smallest number from which logarithms are shown.
const WIDE: f64 = 1000.0;
/// The most powers of ten below the largest number that an axis of logarithms shows.
const MOST_DECADES: i32 = 12;

/// One axis of a chart.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Axis {
    pub(crate) label: String,
    pub(super) scale: Scale,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Scale {
    /// From the lowest to the highest number, and the distance of ticks.
    Linear { low: f64, high: f64, step: f64 },
    /// From one power of ten to another. Numbers that are not positive lie at the lower end.
    Logarithmic { low: i32, high: i32 },
    /// Names, each as wide as the others.
    Names(Vec<String>),
}

impl Axis {
    fn new(label: &str, scale: Scale) -> Self {
        Self { label: label.to_owned(), scale }
    }

    /// From about the lowest number to about the highest.
    pub(crate) fn of_values(label: &str, values: &[f64]) -> Self {
        let (low, high) = extremes(values).unwrap_or((0.0, 1.0));
        Self::new(label, linear(low, high))
    }

    /// From zero to about the highest number, none of which is negative.
    pub(crate) fn from_zero(label: &str, values: &[f64]) -> Self {
        let high = extremes(values).map_or(1.0, |(_, high)| high);
        Self::new(label, linear(0.0, if high > 0.0 { high } else { 1.0 }))
    }

    /// From 0 to 100.
    pub(crate) fn percent(label: &str) -> Self {
        Self::new(label, Scale::Linear { low: 0.0, high: 100.0, step: 20.0 })
    }

    /// As [`of_values`](Self::of_values), but with logarithms where positive numbers of very different size would all look like zero.
    pub(crate) fn of_magnitudes(label: &str, values: &[f64]) -> Self {
        let positive: Vec<f64> = values.iter().copied().filter(|value| *value > 0.0).collect();
        let is_negative = values.iter().any(|value| *value < 0.0);
        match extremes(&positive) {
            Some((low, high)) if !is_negative && high / low >= WIDE => {
                let high = high.log10().ceil() as i32;
                let low = (low.log10().floor() as i32).max(high - MOST_DECADES);
                Self::new(label, Scale::Logarithmic { low, high })
            }
            _ => Self::of_values(label, values),
        }
    }

    /// One place per name.
    pub(crate) fn names(label: &str, names: Vec<String>) -> Self {
        Self::new(label, Scale::Names(names))
    }

    /// Where a number lies between the start of the axis, 0, and its end, 1.
    pub(super) fn place(&self, value: f64) -> f64 {
        let share = match &self.scale {
            Scale::Linear { low, high, .. } => (value - low) / (high - low),
            Scale::Logarithmic { .. } if value <= 0.0 => 0.0,
            Scale::Logarithmic { low, high } => (value.log10() - f64::from(*low)) / f64::from(high - low),
            Scale::Names(names) => value / names.len().max(1) as f64,
        };
        share.clamp(0.0, 1.0)
    }

    /// The numbers or names that stand beside the axis, and where.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        let numbers: Vec<(f64, String)> = match &self.scale {
            Scale::Linear { low, high, step } => {
                let n_steps = ((high - low) / step).round() as usize;
                // From whole multiples, so that no tick is 0.30000000000000004.
                let first = (low / step).round();
                let ticks = (0..=n_steps).map(|index| (first + index as f64) * step);
                ticks.map(|tick| (tick, show_number(tick, Some(*step)))).collect()
            }
            Scale::Logarithmic { low, high } => {
                let every = ((high - low) as usize).div_ceil(N_TICKS as usize).max(1);
                let ticks = (*low..=*high).step_by(every).map(|power| 10f64.powi(power));
                ticks.map(|tick| (tick, show_number(tick, None))).collect()
            }
            Scale::Names(names) => {
                let middles = (0..names.len()).map(|index| index as f64 + 0.5);
                middles.zip(names.iter().cloned()).collect()
            }
        };
        numbers.into_iter().map(|(number, text)| (self.place(number), text)).collect()
    }

    /// Whether names stand beside it.
    pub(super) fn has_names(&self) -> bool {
        matches!(self.scale, Scale::Names(_))
    }
}

/// The lowest and the highest number that can be drawn.
fn extremes(values: &[f64]) -> Option<(f64, f64)> {
    let values = values.iter().copied().filter(|value| value.abs() < LARGEST);
    // The reciprocals of what is smaller would overflow.
    let values = values.map(|value| if value.abs() * LARGEST < 1.0 { 0.0 } else { value });
    values.fold(None, |extremes, value| match extremes {
        None => Some((value, value)),
        Some((low, high)) => Some((value.min(low), value.max(high))),
    })
}

fn linear(low: f64, high: f64) -> Scale {
    let (low, high) = match high - low {
        // A single number is in the middle of an axis of its own size.
        span if span <= 1e-12 * low.abs().max(high.abs()).max(1e-300) => {
            let margin = if low == 0.0 { 1.0 } else { low.abs() / 10.0 };
            (low - margin, high + margin)
        }
        _ => (low, high),
    };
    let step = nice_step((high - low) / N_TICKS);
    Scale::Linear { low: (low / step).floor() * step, high: (high / step).ceil() * step, step }
}

/// One, two or five times a power of ten, not much less than a number.
fn nice_step(step: f64) -> f64 {
    let power = 10f64.powi(step.log10().floor() as i32);
    let times = step / power;
    let nice = [1.0, 2.0, 5.0, 10.0].into_iter().find(|nice| times <= nice * 1.001);
    nice.unwrap_or(10.0) * power
}

/// A number for people: with as many decimals as the step between its neighbours needs, or with four digits.
pub(crate) fn show_number(value: f64, step: Option<f64>) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let size = value.abs();
    let finest = step.unwrap_or(size).abs();
    let text = if size != 0.0 && !(1e-4..1e7).contains(&size.max(finest)) {
        let text = format!("{value:.2e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        format!("{}e{power}", without_zeros(digits))
    } else {
        let n_decimals = match step {
            Some(step) => -step.log10().floor(),
            None if size == 0.0 => 0.0,
            None => 3.0 - size.log10().floor(),
        };
        let text = format!("{value:.*}", n_decimals.clamp(0.0, 10.0) as usize);
        if step.is_some() { text } else { without_zeros(&text).to_owned() }
    };
    if text.trim_start_matches('-').chars().all(|sign| matches!(sign, '0' | '.')) {
        return text.trim_start_matches('-').to_owned();
    }
    text.replace('-', "−")
}

fn without_zeros(text: &str) -> &str {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<String> {
        axis.ticks().into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round_numbers() {
        for (values, expected) in [
            (vec![0.0, 1.0], vec!["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
            (vec![0.1, 0.3], vec!["0.10", "0.15", "0.20", "0.25", "0.30"]),
            (vec![-3.0, 4.0], vec!["−4", "−2", "0", "2", "4"]),
            (vec![0.0, 1999.0], vec!["0", "500", "1000", "1500", "2000"]),
            (vec![2.5e-9, 7e-9], vec!["2e−9", "3e−9", "4e−9", "5e−9", "6e−9", "7e−9"]),
        ] {
            assert_eq!(labels(&Axis::of_values("x", &values)), expected);
        }
    }

    #[test]
    fn odd_numbers_have_axes_too() {
        for values in [
            vec![],
            vec![f64::NAN],
            vec![0.0],
            vec![5.0; 3],
            vec![-1e299, 1e299],
            vec![1e-310, 2e-310],
            vec![f64::INFINITY, 1.0],
            vec![1.0, 1.0 + 1e-15],
        ] {
            for axis in
                [Axis::of_values("x", &values), Axis::from_zero("x", &values), Axis::of_magnitudes("x", &values)]
            {
                let ticks = axis.ticks();
                assert!((2..=12).contains(&ticks.len()), "{values:?}: {ticks:?}");
                assert!(ticks.iter().all(|(place, _)| (0.0..=1.0).contains(place)), "{ticks:?}");
                assert!(ticks.windows(2).all(|pair| pair[0].0 < pair[1].0), "{values:?}: {ticks:?}");
            }
        }
        assert_eq!(labels(&Axis::names("x", Vec::new())).len(), 0);
        assert_eq!(labels(&Axis::of_values("x", &[5.0])), ["4.4", "4.6", "4.8", "5.0", "5.2", "5.4", "5.6"]);
    }

    #[test]
    fn wide_ranges_are_shown_by_powers_of_ten() {
        let axis = Axis::of_magnitudes("x", &[0.0, 1e-5, 3.0]);
        assert_eq!(axis.scale, Scale::Logarithmic { low: -5, high: 1 });
        assert_eq!(labels(&axis), ["1e−5", "0.001", "0.1", "10"]);
        assert_eq!((axis.place(0.0), axis.place(10.0), axis.place(0.01)), (0.0, 1.0, 0.5));
        let negative = Axis::of_magnitudes("x", &[-1.0, 1e-5, 3.0]);
        assert!(matches!(negative.scale, Scale::Linear { .. }));
        let deep = Axis::of_magnitudes("x", &[1e-40, 1.0]);
        assert_eq!(deep.scale, Scale::Logarithmic { low: -12, high: 0 });
    }

    #[test]
    fn numbers_for_people() {
        for (value, expected) in [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-12.345_67, "−12.35"),
            (0.000_123_4, "0.0001234"),
            (1.5e-7, "1.5e−7"),
            (123_456.0, "123456"),
            (1e12, "1e12"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(show_number(value, None), expected);
        }
        assert_eq!(show_number(-1e-17, Some(0.1)), "0.0");
    }
}
