//! SMS spam with 73 rules: regular expressions that vote ham or spam where they match.
//!
//! The three files are the three parts: rules vote on all of them, and the labelled validation messages are the
//! simulation rows. A rule that speaks on few of them has an uncertain error rate, so bounds are smoothed.

use std::path::Path;

use labelflow_weak::rows::Truth;
use labelflow_weak::votes::ABSTAIN;
use ndarray::Array2;
use regex::Regex;

use crate::catalog::catalog_entry::Source;
use crate::catalog::sets::labelled_texts::{LabelledTexts, smoothed_bounds};
use crate::catalog::{EvaluatedRows, WeakProblem};
use crate::inputs::vote_cells::named_votes;
use crate::tables::csv_file::shown;
use crate::texts::HashedWords;
use crate::{Error, Place, Result};

const D_FEATURES: usize = 512;
const CLASSES: [&str; 2] = ["ham", "spam"];

pub(crate) fn load(source: &Source<'_>) -> Result<WeakProblem> {
    let rules = read_rules(&source.paths[0])?;
    let part = |file: usize| read_part(&source.paths[file], &rules);
    let (train, simulation, test) = (part(1)?, part(2)?, part(3)?);
    WeakProblem::measured(train, simulation, test, source.options.bounds, smoothed_bounds)
}

/// A regular expression and the class it votes for.
struct Rule {
    class: u8,
    pattern: Regex,
}

/// Each line: the class, the expression and an example, separated by tabs.
fn read_rules(path: &Path) -> Result<Vec<Rule>> {
    let text = std::fs::read_to_string(path).map_err(|source| Error::read(path, source))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty());
    lines
        .map(|(index, line)| {
            let rule = parse_rule(path, line);
            rule.map_err(|error| error.at(Place::Line(index as u64 + 1)))
        })
        .collect()
}

fn parse_rule(path: &Path, line: &str) -> Result<Rule> {
    let mut fields = line.split('\t');
    let class = class_of(path, fields.next().unwrap_or_default())?;
    let pattern = fields.next().ok_or_else(|| Error::content(path, "a class, a tab and an expression", shown(line)))?;
    let pattern = Regex::new(pattern).map_err(|error| Error::content(path, "a regular expression", error))?;
    Ok(Rule { class: class as u8, pattern })
}

fn class_of(path: &Path, name: &str) -> Result<usize> {
    CLASSES.iter().position(|class| *class == name).ok_or_else(|| Error::cell(path, "ham or spam", name))
}

/// Features, votes and classes of the messages in one file, whose columns are the class and the text.
fn read_part(path: &Path, rules: &[Rule]) -> Result<EvaluatedRows> {
    let LabelledTexts { raw, labels } = LabelledTexts::read(path, class_of)?;
    let texts: Vec<String> = raw.iter().map(|text| text.to_lowercase()).collect();
    let truth = Truth::new(labels, 2).map_err(Error::in_file(path))?;
    let votes = Array2::from_shape_fn((texts.len(), rules.len()), |(row, signal)| {
        let rule = &rules[signal];
        if rule.pattern.is_match(&texts[row]) { rule.class } else { ABSTAIN }
    });
    let labelers = (0..rules.len()).map(|rule| format!("rule{rule}")).collect::<Vec<_>>();
    let signals = named_votes(votes, &CLASSES.map(str::to_owned), Some(&labelers)).map_err(Error::in_file(path))?;
    let features = HashedWords { d_features: D_FEATURES }.transform(&texts)?;
    Ok(EvaluatedRows { features, signals, truth })
}
