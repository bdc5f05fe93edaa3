//! Rules about means in files: TOML, or a table with a rule a line.
//!
//! ```toml
//! range = [0, 1000]                     # the lowest and the highest label, if known
//!
//! [[rule]]                              # both sides of a threshold
//! feature = "hour"
//! threshold = 12
//! above = 230                           # the mean where hour is at least 12
//! below = { mean = 150, tolerance = 20 }
//!
//! [[rule]]                              # one region
//! name = "rush hour"
//! feature = "hour"
//! at_least = 17
//! below = 19
//! mean_between = [350, 500]
//!
//! [[rule]]                              # several conditions at once
//! where = [{ feature = "hour", at_least = 7 }, { rows = "workingday" }]
//! quantile = 0.9
//! value = 600
//!
//! [[rule]]
//! all = true
//! median = 140
//! ```
//!
//! A claim is a number, which is a mean; or text such as `"800 to 1200"` or `"950 +- 50"`; or a table with `mean` or `median`
//! and perhaps a `tolerance`, or `mean_between` or `median_between`, or `quantile` with `value` or `value_between`. `rows` is a
//! column of the features that holds 0 and 1, or a file with one 0 or 1 per row, beside the file of rules, or a list of them.
//!
//! A table has the columns `feature`, `threshold`, `above`, `below` and perhaps `name`; one of `above` and `below` may be empty.

use std::io::Write;
use std::path::Path;

use labelflow_weak::rows::LabelRange;
use labelflow_weak::rules::{Claim, Region, Rule};

use super::claim_text::{EXPECTED, parse_claim};
use super::rules_toml::{parse_toml, to_toml};
use crate::inputs::RowKeys;
use crate::tables::csv_file::{read_header, shown, visit_rows};
use crate::tables::table::Format;
use crate::tables::{open_input, read_text};
use crate::{Error, Place, Result, ensure, write_atomically};

const FEATURE: &str = "feature";
const THRESHOLD: &str = "threshold";
const ABOVE: &str = "above";
const BELOW: &str = "below";
const NAME: &str = "name";
const HEADER: &str = "the columns feature, threshold, above, below and perhaps name";

/// What a file of rules holds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RulesFile {
    /// The rules, in the order of the file.
    pub rules: Vec<Rule>,
    /// The range of the labels, if the file says so.
    pub range: Option<LabelRange>,
}

/// Reads rules: toml, csv or tsv, as the extension says; without one, as in a pipe, toml if the first line is one of toml. `rows` are
/// those that the rules are about, if they are known: files with one 0 or 1 per row are matched to them.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("rules.csv");
/// std::fs::write(&path, "feature,threshold,above,below\nbmi,25,190 +- 20,120\n")?;
/// let file = labelflow_data::inputs::read_rules(&path, None)?;
/// assert_eq!(file.rules[1].name, "bmi < 25");
/// assert_eq!(file.rules[0].claim.upper, 210.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_rules(path: &Path, rows: Option<&RowKeys>) -> Result<RulesFile> {
    let _file = open_input(path)?;
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    let is_toml = match extension.as_deref() {
        Some(extension @ ("toml" | "csv" | "tsv")) => extension == "toml",
        None => is_toml(&read_text(path)?),
        Some(other) => {
            return Err(Error::content(path, "one of the extensions toml, csv, tsv", format!("'{other}'")));
        }
    };
    let file = match is_toml {
        true => parse_toml(path, &read_text(path)?, rows)?,
        false => match Format::of_input(path)? {
            (Format::Separated(separator), _) => RulesFile { rules: read_table(path, separator)?, range: None },
            _ => return Err(Error::content(path, "rules as toml, csv or tsv", "another format")),
        },
    };
    ensure(!file.rules.is_empty(), || Error::content(path, "at least one rule", "none"))?;
    Ok(file)
}

/// Writes rules as TOML, atomically. What is written is read back as it was.
pub fn write_rules(path: &Path, file: &RulesFile) -> Result<()> {
    let text = to_toml(file);
    write_atomically(path, |writer| writer.write_all(text.as_bytes()))
}

/// Whether a text is no table with a header: a header has no comments, brackets or values.
fn is_toml(text: &str) -> bool {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    first.starts_with(['#', '[']) || first.contains('=')
}

fn read_table(path: &Path, separator: u8) -> Result<Vec<Rule>> {
    let columns = read_header(path, separator)?;
    let has = |name: &str| columns.iter().any(|column| column == name);
    let is_known = columns.iter().all(|name| [FEATURE, THRESHOLD, ABOVE, BELOW, NAME].contains(&name.as_str()));
    let is_good = is_known && has(FEATURE) && has(THRESHOLD) && (has(ABOVE) || has(BELOW));
    let refuse = || Error::content(path, HEADER, shown(&columns.join(", "))).at(Place::Line(1));
    ensure(is_good, refuse)?;
    let mut rules = Vec::new();
    visit_rows(path, separator, columns.len(), |record| {
        let cell = |name: &str| {
            let column = columns.iter().position(|column| column == name);
            column.map_or("", |column| record[column].trim())
        };
        rules.extend(parse_line(path, cell)?);
        Ok(())
    })?;
    Ok(rules)
}

/// The rules of a line: one a side that has a claim.
fn parse_line<'cell>(path: &Path, cell: impl Fn(&str) -> &'cell str) -> Result<Vec<Rule>> {
    let error = |column: &str, expected: &str| {
        let found = match cell(column) {
            "" => "none".to_owned(),
            text => format!("'{}'", shown(text)),
        };
        Error::content(path, expected, found).in_column(column)
    };
    let feature = cell(FEATURE);
    ensure(!feature.is_empty(), || error(FEATURE, "the name of a feature"))?;
    let threshold = cell(THRESHOLD).parse().ok().filter(|threshold: &f64| threshold.is_finite());
    let threshold = threshold.ok_or_else(|| error(THRESHOLD, "a number"))?;
    let claim = |column: &str| match cell(column) {
        "" => Ok(None),
        text => parse_claim(text).map(Some).ok_or_else(|| error(column, EXPECTED)),
    };
    let sides = [claim(ABOVE)?, claim(BELOW)?];
    ensure(sides != [None, None], || error(ABOVE, "a claim about the rows above or below the threshold"))?;
    let name = Some(cell(NAME)).filter(|name| !name.is_empty());
    Ok(threshold_rules(name, feature, threshold, sides))
}

/// Rules about the two sides of a threshold, those that have a claim.
pub(crate) fn threshold_rules(
    name: Option<&str>,
    feature: &str,
    threshold: f64,
    [above, below]: [Option<Claim>; 2],
) -> Vec<Rule> {
    let has_both = above.is_some() && below.is_some();
    let feature = feature.to_owned();
    let at_least = Region::AtLeast { feature: feature.clone(), threshold };
    let sides = [(ABOVE, at_least, above), (BELOW, Region::Below { feature, threshold }, below)];
    let rules = sides.into_iter().filter_map(|(side, region, claim)| {
        let rule = Rule::new(region, claim?);
        Some(match name {
            None => rule,
            Some(name) if has_both => rule.with_name(format!("{name} ({side})")),
            Some(name) => rule.with_name(name),
        })
    });
    rules.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, text: &str) -> Result<RulesFile> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        read_rules(&path, None)
    }

    #[test]
    fn tables_have_a_rule_for_each_claim() {
        let text = "name,below,feature,threshold,above\n\
                    warm,10 to 20,temp,15.5,30\n\
                    ,,wind,3,5 +- 1\n\
                    calm,7,wind,1,\n";
        let rules = read("r.csv", text).unwrap().rules;
        let names = rules.iter().map(|rule| rule.name.as_str()).collect::<Vec<_>>();
        assert_eq!(names, ["warm (above)", "warm (below)", "wind >= 3", "calm"]);
        assert_eq!(rules[1].claim, Claim::mean_between(10.0, 20.0));
        assert_eq!(rules[3].region.to_string(), "wind < 1");
        let tabs = read("r.tsv", "feature\tthreshold\tabove\nx\t1\tmedian 2\n").unwrap().rules;
        assert_eq!(tabs[0].claim, Claim::quantile(0.5, 2.0));
    }

    #[test]
    fn bad_tables_are_named() {
        let header = "feature,threshold,above,below\n";
        for (text, expected) in [
            ("feature,limit,above\n", "line 1: expected the columns feature, threshold"),
            ("feature,feature,threshold,above\n", "line 1"),
            (&*format!("{header}x,1,2,3\n,1,2,3\n"), "line 3, column 'feature': expected the name"),
            (&*format!("{header}x,high,2,3\n"), "column 'threshold': expected a number, found 'high'"),
            (&*format!("{header}x,1,about 2,3\n"), "line 2, column 'above': expected a number, or"),
            (&*format!("{header}x,1,,\n"), "column 'above': expected a claim about the rows"),
            (&*format!("{header}x,1,2\n"), "line 2: expected 4 fields"),
            (header, "expected at least one rule, found none"),
            ("", "expected a header line with column names, found an empty file"),
        ] {
            let error = read("r.csv", text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let error = read("r.json", "{}").unwrap_err().to_string();
        assert!(error.contains("toml, csv, tsv"), "{error}");
        for text in ["\n# of shops\n[[rule]]\nall = true\nmean = 1\n", "feature\tthreshold\tabove\nx\t1\t2\n"] {
            assert_eq!(read("rules", text).unwrap().rules.len(), 1, "{text}");
        }
    }
}
