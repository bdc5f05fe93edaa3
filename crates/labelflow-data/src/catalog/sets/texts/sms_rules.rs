//! SMS spam with 73 rules: regular expressions that vote ham or spam where they match.
//!
//! The three files are the three parts: rules vote on all of them, and the labelled validation messages are the
//! simulation rows. A rule that speaks on few of them has an uncertain error rate, so bounds are smoothed:
//!
//! ```text
//! bound[j] = (errors of rule j + 1) / (votes of rule j + 2)
//! ```

use std::path::Path;

use labelflow_weak::labelers::Bounds;
use labelflow_weak::rows::Truth;
use labelflow_weak::votes::ABSTAIN;
use ndarray::Array2;
use regex::Regex;

use crate::catalog::sets::labelled_texts::LabelledTexts;
use crate::catalog::sets::{CatalogEntry, CatalogFile, Counts, Loader};
use crate::catalog::{EvaluatedRows, LoadOptions, WeakProblem};
use crate::inputs::vote_cells::named_votes;
use crate::tables::csv_file::shown;
use crate::texts::HashedWords;
use crate::{Error, Place, Result};

pub(crate) const ENTRY: CatalogEntry = CatalogEntry {
    name: "sms-rules",
    title: "SMS Spam Collection with 73 rules",
    files: &[
        CatalogFile::new(
            "votes/sms-rules/rule.txt",
            "https://raw.githubusercontent.com/awasthiabhijeet/Learning-From-Rules/master/data/SMS/rule.txt",
            "2dad40fd3caf91e69968ef702e437b31b969f6c2eb52b63849cd4fc65291e17c",
            11_390,
        ),
        CatalogFile::new(
            "votes/sms-rules/train.csv",
            "https://raw.githubusercontent.com/awasthiabhijeet/Learning-From-Rules/master/data/SMS/train.csv",
            "ea4a8e46199dfeb199d6d55f6c0b6e209905a55c5b8b86308f9097763ed431ac",
            390_499,
        ),
        CatalogFile::new(
            "votes/sms-rules/valid.csv",
            "https://raw.githubusercontent.com/awasthiabhijeet/Learning-From-Rules/master/data/SMS/valid.csv",
            "afbde3e1d58f01de389aa5a5f14c215832465aac62f77a79832eb1b7cec5272b",
            44_098,
        ),
        CatalogFile::new(
            "votes/sms-rules/test.csv",
            "https://raw.githubusercontent.com/awasthiabhijeet/Learning-From-Rules/master/data/SMS/test.csv",
            "86df6eddd6bb1d60be73f8f077b6e798470013ad02096328c53508ee8d40981e",
            42_506,
        ),
    ],
    licence: "rules: Apache-2.0; messages: CC BY 4.0 (UCI Machine Learning Repository)",
    citation: "A. Awasthi, S. Ghosh, R. Goyal, S. Sarawagi (2020), https://arxiv.org/abs/2004.06025; \
               T. Almeida, J. Hidalgo (2011), https://doi.org/10.24432/C5CC84",
    counts: Counts { n_rows: 5502, d_features: D_FEATURES, n_classes: 2 },
    load: Loader::Classes(load),
};

const D_FEATURES: usize = 512;
const CLASSES: [&str; 2] = ["ham", "spam"];

fn load(dir: &Path, _seed: u64, options: &LoadOptions) -> Result<WeakProblem> {
    let folder = dir.join("votes/sms-rules");
    let rules = read_rules(&folder.join("rule.txt"))?;
    let part = |name: &str| read_part(&folder.join(name), &rules);
    let (train, simulation, test) = (part("train.csv")?, part("valid.csv")?, part("test.csv")?);
    WeakProblem::measured(train, simulation, test, options.bounds, smoothed_bounds)
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

fn smoothed_bounds(EvaluatedRows { signals, truth, .. }: &EvaluatedRows) -> Result<Bounds> {
    let bounds = (0..signals.n_signals()).map(|signal| {
        let votes = (0..signals.n_rows()).filter_map(|row| Some((signals.vote(row, signal)?, truth.labels()[row])));
        let (n_votes, n_errors) = votes.fold((0.0, 0.0), |(n_votes, n_errors), (vote, label)| {
            (n_votes + 1.0, n_errors + f64::from(u8::from(vote != label)))
        });
        (n_errors + 1.0) / (n_votes + 2.0)
    });
    Ok(Bounds::per_signal(&bounds.collect::<Vec<_>>(), 2)?)
}
