//! Rules in TOML, with the line of whatever is wrong. The form is in [`rules_file`](crate::inputs::rules::rules_file).

use std::ops::Range;
use std::path::Path;

use labelflow_weak::rows::LabelRange;
use labelflow_weak::rules::{Claim, Region, Rule, Statistic};
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Value};

use super::claim_text::{EXPECTED, parse_claim};
use super::rules_file::threshold_rules;
use crate::inputs::RowKeys;
use crate::inputs::RulesFile;
use crate::inputs::values_file::read_mask;
use crate::tables::csv_file::shown;
use crate::tables::table::Format;
use crate::{Error, Place, Result};

const REGION_KEYS: [&str; 6] = ["all", "rows", "where", "feature", "at_least", "below"];
const CLAIM_KEYS: [&str; 8] =
    ["mean", "tolerance", "mean_between", "median", "median_between", "quantile", "value", "value_between"];
/// Reads the text of the file at `path`.
pub(crate) fn parse_toml(path: &Path, text: &str, rows: Option<&RowKeys>) -> Result<RulesFile> {
    let root = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(Place::Whole, |span| place(text, span));
        Error::content(path, "TOML", error.message()).at(line)
    })?;
    let root = Table { path, text, rows, table: root.get_ref(), span: 0..0 };
    root.check_keys(&["range", "rule"])?;
    let range = match root.pair("range")? {
        None => None,
        Some((lower, upper)) => Some(LabelRange::new(lower, upper).map_err(|_| {
            let found = format!("[{lower}, {upper}]");
            root.error("range", "the lowest and the highest label, in this order", found)
        })?),
    };
    let tables = root.tables("rule", "[[rule]] tables")?.unwrap_or_default();
    let rules = tables.iter().map(Table::rules).collect::<Result<Vec<_>>>()?.concat();
    Ok(RulesFile { rules, range })
}

/// The line on which something starts.
fn place(text: &str, span: Range<usize>) -> Place {
    let before = text.as_bytes().get(..span.start).unwrap_or(text.as_bytes());
    Place::Line(before.iter().filter(|&&byte| byte == b'\n').count() as u64 + 1)
}

/// A table and its place in the file.
struct Table<'file> {
    path: &'file Path,
    text: &'file str,
    /// The rows that files of zeros and ones speak of, if they are known.
    rows: Option<&'file RowKeys>,
    table: &'file DeTable<'file>,
    span: Range<usize>,
}

impl<'file> Table<'file> {
    /// An error at the value of a key, or at the table where it has none.
    fn error(&self, key: &str, expected: impl AsRef<str>, found: impl AsRef<str>) -> Error {
        let span = self.get(key).map_or(self.span.clone(), Spanned::span);
        self.error_at(span, expected.as_ref(), found.as_ref()).in_column(key)
    }

    fn error_at(&self, span: Range<usize>, expected: &str, found: &str) -> Error {
        Error::content(self.path, expected, found).at(place(self.text, span))
    }

    fn get(&self, key: &str) -> Option<&'file Spanned<DeValue<'file>>> {
        self.table.iter().find(|(name, _)| name.get_ref() == key).map(|(_, value)| value)
    }

    fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    fn check_keys(&self, known: &[&str]) -> Result<()> {
        let unknown = self.table.keys().find(|name| !known.contains(&name.get_ref().as_ref()));
        let Some(name) = unknown else { return Ok(()) };
        let expected = format!("one of {}", known.join(", "));
        Err(self.error_at(name.span(), &expected, &format!("'{}'", name.get_ref())))
    }

    /// What a value says, if it is as expected.
    fn read<T>(
        &self,
        key: &str,
        expected: &str,
        read: impl Fn(&'file DeValue<'file>) -> Option<T>,
    ) -> Result<Option<T>> {
        let Some(value) = self.get(key).map(Spanned::get_ref) else { return Ok(None) };
        read(value).map(Some).ok_or_else(|| self.error(key, expected, describe(value)))
    }

    fn number(&self, key: &str) -> Result<Option<f64>> {
        self.read(key, "a number", number)
    }

    fn text(&self, key: &str) -> Result<Option<&'file str>> {
        self.read(key, "text in quotes", |value| value.as_str().filter(|text| !text.is_empty()))
    }

    fn pair(&self, key: &str) -> Result<Option<(f64, f64)>> {
        self.read(key, "two numbers such as [800, 1200]", |value| {
            let values = value.as_array()?.iter().map(|value| number(value.get_ref()));
            match values.collect::<Option<Vec<_>>>()?[..] {
                [lower, upper] => Some((lower, upper)),
                _ => None,
            }
        })
    }

    fn tables(&self, key: &str, expected: &str) -> Result<Option<Vec<Table<'file>>>> {
        let Some(values) = self.read(key, expected, DeValue::as_array)? else { return Ok(None) };
        let tables = values.iter().map(|value| match value.get_ref() {
            DeValue::Table(table) => Ok(Table { table, span: value.span(), ..*self }),
            other => Err(self.error(key, expected, describe(other))),
        });
        tables.collect::<Result<Vec<_>>>().map(Some)
    }

    /// One of these keys must be there, and only one.
    fn only_one_of(&self, keys: &[&'static str]) -> Result<&'static str> {
        let given = keys.iter().copied().filter(|key| self.has(key)).collect::<Vec<_>>();
        match given[..] {
            [key] => Ok(key),
            _ => {
                let found = if given.is_empty() { "none".to_owned() } else { given.join(" and ") };
                let expected = format!("one of {}", keys.join(", "));
                Err(self.error_at(self.span.clone(), &expected, &found))
            }
        }
    }

    fn rules(&self) -> Result<Vec<Rule>> {
        let name = self.text("name")?;
        if self.has("threshold") || self.has("above") {
            self.check_keys(&["name", "feature", "threshold", "above", "below"])?;
            let feature = self.required("feature", "the name of a feature", Self::text)?;
            let threshold = self.required("threshold", "a number", Self::number)?;
            let sides = [self.side("above")?, self.side("below")?];
            if sides == [None, None] {
                return Err(self.error("above", "a claim in above or below", "none"));
            }
            return Ok(threshold_rules(name, feature, threshold, sides));
        }
        self.check_keys(&[&["name"], &REGION_KEYS[..], &CLAIM_KEYS].concat())?;
        let rule = Rule::new(self.region()?, self.claim()?);
        Ok(vec![match name {
            Some(name) => rule.with_name(name),
            None => rule,
        }])
    }

    fn required<T>(&self, key: &str, expected: &str, get: fn(&Self, &str) -> Result<Option<T>>) -> Result<T> {
        get(self, key)?.ok_or_else(|| self.error(key, expected, "none"))
    }

    fn region(&self) -> Result<Region> {
        let kind = self.only_one_of(&["feature", "where", "rows", "all"])?;
        if kind != "feature"
            && let Some(key) = ["at_least", "below"].into_iter().find(|key| self.has(key))
        {
            return Err(self.error(key, "a feature beside it", format!("'{kind}'")));
        }
        match kind {
            "feature" => self.feature_region(),
            "where" => {
                let conditions = self.required("where", "a list", |table, key| {
                    table.tables(key, "a list such as [{ feature = \"hour\", at_least = 7 }]")
                })?;
                let region = |condition: &Table<'_>| {
                    condition.check_keys(&REGION_KEYS)?;
                    condition.region()
                };
                conditions.iter().map(region).collect::<Result<_>>().map(Region::AllOf)
            }
            "rows" => self.rows_region(),
            _ => match self.get("all").map(Spanned::get_ref) {
                Some(DeValue::Boolean(true)) => Ok(Region::All),
                _ => Err(self.error("all", "true", "something else")),
            },
        }
    }

    fn feature_region(&self) -> Result<Region> {
        let name = self.required("feature", "the name of a feature", Self::text)?;
        let at_least = |threshold| Region::AtLeast { feature: name.to_owned(), threshold };
        let below = |threshold| Region::Below { feature: name.to_owned(), threshold };
        match (self.number("at_least")?, self.number("below")?) {
            (Some(from), None) => Ok(at_least(from)),
            (None, Some(to)) => Ok(below(to)),
            (Some(from), Some(to)) => Ok(Region::AllOf(vec![at_least(from), below(to)])),
            (None, None) => {
                let expected = "at_least or below beside it, or a threshold with above and below";
                Err(self.error("feature", expected, "none"))
            }
        }
    }

    fn rows_region(&self) -> Result<Region> {
        let expected = "a column of 0 and 1, a file with one 0 or 1 per row, or a list of them";
        let value = self.get("rows").map(Spanned::get_ref);
        match value {
            Some(DeValue::Array(values)) => {
                let rows = values.iter().map(|value| match (value.get_ref(), number(value.get_ref())) {
                    (DeValue::Boolean(member), _) => Ok(*member),
                    (_, Some(0.0)) => Ok(false),
                    (_, Some(1.0)) => Ok(true),
                    (other, _) => Err(self.error("rows", "0 or 1", describe(other))),
                });
                rows.collect::<Result<_>>().map(Region::Rows)
            }
            // The name of a file; other texts are names of columns.
            Some(DeValue::String(name)) if Format::of_extension(Path::new(&**name)).is_ok() => {
                let mask = self.path.parent().unwrap_or(Path::new("")).join(&**name);
                read_mask(&mask, self.rows).map(Region::Rows)
            }
            // A column of 0 and 1 says more than a list of rows: it can be looked up in other tables too.
            Some(DeValue::String(name)) if !name.is_empty() => {
                Ok(Region::AtLeast { feature: name.to_string(), threshold: 0.5 })
            }
            other => Err(self.error("rows", expected, other.map_or("none".into(), describe))),
        }
    }

    /// A claim about one side of a threshold.
    fn side(&self, key: &str) -> Result<Option<Claim>> {
        if let Some(value) = self.get(key)
            && let DeValue::Table(table) = value.get_ref()
        {
            let table = Table { table, span: value.span(), ..*self };
            table.check_keys(&CLAIM_KEYS)?;
            return table.claim().map(Some);
        }
        self.read(key, EXPECTED, |value| match value {
            DeValue::String(text) => parse_claim(text),
            other => number(other).map(Claim::mean),
        })
    }

    fn claim(&self) -> Result<Claim> {
        let key = self.only_one_of(&["mean", "mean_between", "median", "median_between", "quantile"])?;
        let (statistic, exact, between) = match key {
            "quantile" => {
                let level = self.required("quantile", "a number between 0 and 1", Self::number)?;
                self.only_one_of(&["value", "value_between"])?;
                (Statistic::Quantile(level), "value", "value_between")
            }
            "mean" | "mean_between" => (Statistic::Mean, "mean", "mean_between"),
            _ => (Statistic::Quantile(0.5), "median", "median_between"),
        };
        if let Some(value) = ["value", "value_between"].into_iter().find(|value| key != "quantile" && self.has(value)) {
            return Err(self.error(value, "a quantile beside it", format!("'{key}'")));
        }
        let (lower, upper) = match (self.number(exact)?, self.pair(between)?, self.number("tolerance")?) {
            (Some(value), _, None) => (value, value),
            (Some(value), _, Some(tolerance)) => (value - tolerance, value + tolerance),
            (None, Some(between), None) => between,
            _ => return Err(self.error("tolerance", "none beside an interval", "one")),
        };
        Ok(Claim { statistic, lower, upper })
    }
}

fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str().parse().ok(),
        DeValue::Float(float) => float.as_str().parse().ok(),
        _ => None,
    }
}

fn describe(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("'{}'", shown(text)),
        DeValue::Integer(integer) => integer.as_str().to_owned(),
        DeValue::Float(float) => float.as_str().to_owned(),
        DeValue::Boolean(boolean) => boolean.to_string(),
        DeValue::Datetime(_) => "a date or time".to_owned(),
        DeValue::Array(values) => format!("a list of {}", values.len()),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

/// Rules as [`parse_toml`] reads them.
pub(crate) fn to_toml(file: &RulesFile) -> String {
    let rules = file.rules.iter().map(|rule| {
        let name = ("name", rule.name.clone().into());
        let region = region_entries(&rule.region);
        table(std::iter::once(name).chain(region).chain(claim_entries(&rule.claim)))
    });
    let rules = ("rule", rules.collect::<Vec<_>>().into());
    let range = file.range.map(|range| ("range", pair(range.lower(), range.upper())));
    table(range.into_iter().chain([rules])).to_string()
}

fn table(entries: impl IntoIterator<Item = (&'static str, Value)>) -> toml::Table {
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn pair(lower: f64, upper: f64) -> Value {
    vec![lower, upper].into()
}

fn region_entries(region: &Region) -> Vec<(&'static str, Value)> {
    let side = |feature: &str, side, threshold: f64| vec![("feature", feature.into()), (side, threshold.into())];
    match region {
        Region::All => vec![("all", true.into())],
        Region::AtLeast { feature, threshold } => side(feature, "at_least", *threshold),
        Region::Below { feature, threshold } => side(feature, "below", *threshold),
        Region::AllOf(regions) => {
            let conditions = regions.iter().map(|region| table(region_entries(region)));
            vec![("where", conditions.collect::<Vec<_>>().into())]
        }
        Region::Rows(rows) => {
            vec![("rows", rows.iter().map(|&row| i64::from(row)).collect::<Vec<_>>().into())]
        }
    }
}

fn claim_entries(claim: &Claim) -> Vec<(&'static str, Value)> {
    let is_exact = claim.lower == claim.upper;
    let value = if is_exact { claim.lower.into() } else { pair(claim.lower, claim.upper) };
    match claim.statistic {
        Statistic::Mean => vec![(if is_exact { "mean" } else { "mean_between" }, value)],
        Statistic::Quantile(level) => {
            vec![("quantile", level.into()), (if is_exact { "value" } else { "value_between" }, value)]
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::inputs::{read_rules, write_rules};

    fn parse(text: &str) -> Result<RulesFile> {
        parse_toml(Path::new("rules.toml"), text, None)
    }

    #[test]
    fn the_forms_of_the_documentation_are_read() {
        let documentation = include_str!("rules_file.rs");
        let lines = documentation.lines().skip_while(|line| !line.contains("```toml")).skip(1);
        let lines = lines.take_while(|line| !line.contains("```"));
        let text = lines.map(|line| line.trim_start_matches("//!").to_owned() + "\n");
        let file = parse(&text.collect::<String>()).unwrap();
        assert_eq!(file.range, Some(LabelRange::new(0.0, 1000.0).unwrap()));
        let shown = file.rules.iter().map(|rule| format!("{}: {}, {}", rule.name, rule.region, rule.claim));
        assert_eq!(
            shown.collect::<Vec<_>>(),
            [
                "hour >= 12: hour >= 12, mean 230",
                "hour < 12: hour < 12, mean 130 to 170",
                "rush hour: hour >= 17 and hour < 19, mean 350 to 500",
                "hour >= 7 and workingday >= 0.5: hour >= 7 and workingday >= 0.5, quantile 0.9 600",
                "all rows: all rows, quantile 0.5 140",
            ]
        );
    }

    #[test]
    fn claims_have_many_forms() {
        for (claim, expected) in [
            ("3", Claim::mean(3.0)),
            ("-2_000.5", Claim::mean(-2000.5)),
            ("'950 ± 50'", Claim::mean_between(900.0, 1000.0)),
            ("{ mean_between = [1, 2] }", Claim::mean_between(1.0, 2.0)),
            ("{ median = 4, tolerance = 1 }", Claim::quantile_between(0.5, 3.0, 5.0)),
            ("{ quantile = 0.1, value_between = [1, 2] }", Claim::quantile_between(0.1, 1.0, 2.0)),
        ] {
            let text = format!("[[rule]]\nfeature = 'x'\nthreshold = 1\nbelow = {claim}\n");
            let rules = parse(&text).unwrap().rules;
            assert_eq!(rules[0].claim, expected, "{claim}");
            assert_eq!(rules[0].name, "x < 1");
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, expected) in [
            ("rule = 3", "rules.toml, line 1, column 'rule': expected [[rule]] tables, found 3"),
            ("x = 3\n", "line 1: expected one of range, rule, found 'x'"),
            ("range = [2, 1]\n", "column 'range': expected the lowest and the highest label"),
            ("range = 5\n", "column 'range': expected two numbers"),
            ("range = [\n", "rules.toml, line"),
            ("[[rule]]\nfeature = 'x'\nlimit = 3", "line 3: expected one of name, all"),
            ("\n[[rule]]\nmean = 1\n", "line 2: expected one of feature, where, rows, all, found none"),
            ("[[rule]]\nall = true\nrows = 'x'\nmean = 1", "found rows and all"),
            ("[[rule]]\nall = false\nmean = 1", "line 2, column 'all': expected true"),
            ("[[rule]]\nall = true\nat_least = 1\nmean = 1", "line 3, column 'at_least'"),
            ("[[rule]]\nall = true\n", "expected one of mean, mean_between"),
            ("[[rule]]\nall = true\nmean = 1\nmedian = 2", "found mean and median"),
            ("[[rule]]\nall = true\nmean = 'x'", "line 3, column 'mean': expected a number, found 'x'"),
            ("[[rule]]\nall = true\nmean = 1\nvalue = 2", "column 'value': expected a quantile"),
            ("[[rule]]\nall = true\nquantile = 0.5", "expected one of value, value_between"),
            ("[[rule]]\nall = true\nmean_between = [1, 2]\ntolerance = 1", "column 'tolerance'"),
            ("[[rule]]\nfeature = 'x'\nmean = 1", "column 'feature': expected at_least or below"),
            ("[[rule]]\nfeature = 3\nthreshold = 1\nabove = 1", "line 2, column 'feature'"),
            ("[[rule]]\nfeature = 'x'\nthreshold = 1\n", "column 'above': expected a claim"),
            ("[[rule]]\nfeature = 'x'\nabove = 1\n", "column 'threshold': expected a number, found none"),
            ("[[rule]]\nfeature = 'x'\nthreshold = 1\nabove = 'high'", "line 4, column 'above'"),
            ("[[rule]]\nfeature = 'x'\nthreshold = 1\nabove = { mead = 1 }", "line 4: expected one of mean"),
            ("[[rule]]\nrows = [0, 2]\nmean = 1", "column 'rows': expected 0 or 1, found 2"),
            ("[[rule]]\nrows = 7\nmean = 1", "expected a column of 0 and 1, a file"),
            ("[[rule]]\nwhere = [{ feature = 'x', mean = 1 }]\nmean = 1", "line 2: expected one of all"),
            ("[[rule]]\nwhere = 3\nmean = 1", "line 2, column 'where': expected a list such as"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}\n{error}");
        }
    }

    #[test]
    fn rows_may_be_in_a_file_beside_the_rules() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rules.toml");
        std::fs::write(folder.path().join("mask.csv"), "member\n1\n0\n1\n").unwrap();
        std::fs::write(&path, "[[rule]]\nrows = 'mask.csv'\nmean = 3\n").unwrap();
        let rules = read_rules(&path, None).unwrap().rules;
        assert_eq!(rules[0].region, Region::Rows(vec![true, false, true]));
        std::fs::write(folder.path().join("mask.csv"), "member\n1\n0.5\n").unwrap();
        let error = read_rules(&path, None).unwrap_err().to_string();
        assert!(error.contains("mask.csv, line 3, column 'member': expected 0 or 1"), "{error}");
        std::fs::write(&path, "range = [0, 1]\n").unwrap();
        assert!(read_rules(&path, None).unwrap_err().to_string().contains("at least one rule"));
    }

    fn regions() -> impl Strategy<Value = Region> {
        let names = || "[a-z \"'\\\\\n.é]{0,5}[a-z]";
        let numbers = || -1e9f64..1e9;
        let leaf = prop_oneof![
            Just(Region::All),
            (names(), numbers()).prop_map(|(feature, threshold)| Region::AtLeast { feature, threshold }),
            (names(), numbers()).prop_map(|(feature, threshold)| Region::Below { feature, threshold }),
            proptest::collection::vec(any::<bool>(), 0..5).prop_map(Region::Rows),
        ];
        leaf.prop_recursive(2, 6, 3, |inner| proptest::collection::vec(inner, 0..3).prop_map(Region::AllOf))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn what_is_written_is_read_back(
            regions in proptest::collection::vec(regions(), 1..4),
            claims in proptest::collection::vec(
                (proptest::option::of(0.01f64..0.99), -1e6f64..1e6, prop_oneof![Just(0.0), 0.1f64..9.0]), 4),
            range in proptest::option::of((-1e6f64..0.0, 1.0f64..1e6)),
        ) {
            let rules = regions.into_iter().zip(claims).enumerate();
            let rules = rules.map(|(index, (region, (level, lower, width)))| {
                let claim = match level {
                    None => Claim::mean_between(lower, lower + width),
                    Some(level) => Claim::quantile_between(level, lower, lower + width),
                };
                Rule::new(region, claim).with_name(format!("rule \"{index}\""))
            });
            let range = range.map(|(lower, upper)| LabelRange::new(lower, upper).unwrap());
            let file = RulesFile { rules: rules.collect(), range };
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("rules.toml");
            write_rules(&path, &file).unwrap();
            prop_assert_eq!(read_rules(&path, None).unwrap(), file);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "(\\[\\[rule\\]\\]\n|[a-z_]{1,9} ?= ?[^\n]{0,9}\n|[ -~é\n]{0,9}){0,9}") {
            let _ = parse(&text);
        }
    }
}
