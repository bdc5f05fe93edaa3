//! Claims as people write them in a cell: `950`, `800 to 1200`, `950 ± 50`, `median 900`.

use labelflow_weak::rules::{Claim, Statistic};

/// What [`parse_claim`] understands, for messages.
pub(crate) const EXPECTED: &str = "a number, or text such as '800 to 1200' or '950 +- 50'";

/// The claim in a text; nothing where it says something else.
pub(crate) fn parse_claim(text: &str) -> Option<Claim> {
    let text = text.trim();
    let (statistic, text) = match text.split_once(char::is_whitespace) {
        Some(("mean", rest)) => (Statistic::Mean, rest),
        Some(("median", rest)) => (Statistic::Quantile(0.5), rest),
        _ => (Statistic::Mean, text),
    };
    let (lower, upper) = parse_interval(text)?;
    Some(Claim { statistic, lower, upper })
}

fn parse_interval(text: &str) -> Option<(f64, f64)> {
    if let Some(value) = parse(text) {
        return Some((value, value));
    }
    if let Some((lower, upper)) = text.split_once(" to ") {
        return Some((parse(lower)?, parse(upper)?));
    }
    let (value, tolerance) = ["+-", "+/-", "±"].iter().find_map(|sign| text.split_once(sign))?;
    let (value, tolerance) = (parse(value)?, parse(tolerance)?);
    Some((value - tolerance, value + tolerance))
}

fn parse(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|value: &f64| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_write_claims_in_many_ways() {
        for (text, claim) in [
            ("950", Claim::mean(950.0)),
            (" -2.5e1 ", Claim::mean(-25.0)),
            ("mean 3", Claim::mean(3.0)),
            ("800 to 1200", Claim::mean_between(800.0, 1200.0)),
            ("-3 to -1", Claim::mean_between(-3.0, -1.0)),
            ("950 +- 50", Claim::mean_between(900.0, 1000.0)),
            ("950+/-50", Claim::mean_between(900.0, 1000.0)),
            ("950 ± 50", Claim::mean_between(900.0, 1000.0)),
            ("median 40", Claim::quantile(0.5, 40.0)),
            ("median 30 to 40", Claim::quantile_between(0.5, 30.0, 40.0)),
        ] {
            assert_eq!(parse_claim(text), Some(claim), "{text}");
        }
        for text in ["", "high", "1 to", "to 2", "1 +- x", "nan", "inf", "1 2", "1,5", "mean"] {
            assert_eq!(parse_claim(text), None, "{text}");
        }
    }
}
