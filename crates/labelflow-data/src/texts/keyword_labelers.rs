//! Labelers that vote for a class where a text contains one of their keywords.
//!
//! ```text
//! vote of labeler j on a text = class[j]   if any of its keywords is a part of the text in lower case
//!                               abstain    otherwise
//! ```
//!
//! A part, not a word: `no` fires on "know", `fun` on "funny". That is the rule of the published keyword lists.

use std::path::Path;

use labelflow_weak::votes::{ABSTAIN, WeakSignals};
use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::inputs::vote_cells::named_votes;
use crate::tables::read_text;
use crate::{Error, Result, ensure};

/// Keyword labelers for the same classes.
///
/// In TOML:
///
/// ```
/// use labelflow_data::texts::KeywordLabelers;
///
/// let labelers = KeywordLabelers::from_toml(r#"
///     classes = ["negative", "positive"]
///
///     [[labelers]]
///     class = "positive"
///     keywords = ["good", "great"]
///
///     [[labelers]]
///     name = "complaints"
///     class = "negative"
///     keywords = ["refund", "never again"]
/// "#)?;
/// let signals = labelers.vote(&["A GREAT evening", "Great, but never again.", "Fine"])?;
/// assert_eq!(signals.labelers(), ["good great", "complaints"]);
/// assert_eq!(signals.vote(1, 0), Some(1));
/// assert_eq!(signals.vote(1, 1), Some(0));
/// assert!(!signals.is_covered(2));
/// # Ok::<(), labelflow_data::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeywordLabelers {
    /// The names of the classes, in order.
    pub classes: Vec<String>,
    /// The labelers, in order.
    pub labelers: Vec<KeywordLabeler>,
}

/// A group of keywords that speak for one class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeywordLabeler {
    /// Its name. Default: its keywords, separated by spaces.
    #[serde(default)]
    pub name: Option<String>,
    /// The name of the class it votes for.
    pub class: String,
    /// What it looks for. Capitals do not matter; spaces do.
    pub keywords: Vec<String>,
}

impl KeywordLabelers {
    /// The fourteen labelers of SST-2: seven positive groups, then seven negative ones.
    pub fn sst2() -> Self {
        Self::embedded(include_str!("../../data/keywords/sst2.toml"))
    }

    /// The fourteen labelers of Yelp, which differ from those of SST-2 in one group.
    pub fn yelp() -> Self {
        Self::embedded(include_str!("../../data/keywords/yelp.toml"))
    }

    /// The ten labelers of IMDB, one word each: five positive, then five negative.
    pub fn imdb() -> Self {
        Self::embedded(include_str!("../../data/keywords/imdb.toml"))
    }

    fn embedded(text: &str) -> Self {
        Self::from_toml(text).expect("the embedded labelers are good")
    }

    /// Reads labelers from TOML.
    pub fn from_toml(text: &str) -> Result<Self> {
        let labelers: Self = toml::from_str(text)
            .map_err(|error| Error::config("keyword labelers", "classes and [[labelers]]", error.message()))?;
        labelers.check()?;
        Ok(labelers)
    }

    /// Reads labelers from a TOML file.
    pub fn read(path: &Path) -> Result<Self> {
        Self::from_toml(&read_text(path)?).map_err(|error| match error {
            Error::Data(labelflow_weak::Error::Config { setting, expected, found, .. }) => {
                Error::content(path, format!("{setting} with {expected}"), found)
            }
            other => other,
        })
    }

    /// Checks that every labeler has keywords and a class, and that names differ.
    pub fn check(&self) -> Result<()> {
        self.voters().map(|_| ())
    }

    /// The votes on these texts, one row each.
    pub fn vote(&self, texts: &[impl AsRef<str>]) -> Result<WeakSignals> {
        let voters = self.voters()?;
        let mut votes = Array2::from_elem((texts.len(), voters.len()), ABSTAIN);
        for (text, mut row) in texts.iter().zip(votes.rows_mut()) {
            let text = text.as_ref().to_lowercase();
            for (voter, vote) in voters.iter().zip(row.iter_mut()) {
                if voter.keywords.iter().any(|keyword| text.contains(keyword.as_str())) {
                    *vote = voter.class;
                }
            }
        }
        Ok(named_votes(votes, &self.classes, Some(&self.names()))?)
    }

    fn names(&self) -> Vec<String> {
        self.labelers.iter().map(KeywordLabeler::shown_name).collect()
    }

    /// Every labeler ready to vote.
    fn voters(&self) -> Result<Vec<Voter>> {
        let refuse = || Error::config("classes", format!("2 to {ABSTAIN} names"), self.classes.len());
        ensure((2..=usize::from(ABSTAIN)).contains(&self.classes.len()), refuse)?;
        check_distinct("classes", &self.classes)?;
        ensure(!self.labelers.is_empty(), || Error::config("labelers", "at least one", "none"))?;
        check_distinct("labelers", &self.names())?;
        self.labelers.iter().map(|labeler| labeler.voter(&self.classes)).collect()
    }
}

/// A labeler with keywords in lower case and the index of its class.
struct Voter {
    class: u8,
    keywords: Vec<String>,
}

impl KeywordLabeler {
    fn shown_name(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.keywords.join(" "))
    }

    fn voter(&self, classes: &[String]) -> Result<Voter> {
        let setting = format!("labelers, '{}'", self.shown_name());
        let class = classes.iter().position(|class| *class == self.class).ok_or_else(|| {
            let expected = format!("a class among {}", classes.join(", "));
            Error::config(&setting, expected, format!("'{}'", self.class))
        })?;
        ensure(!self.keywords.is_empty(), || Error::config(&setting, "at least one keyword", "none"))?;
        // An empty keyword is a part of every text.
        let refuse = || Error::config(setting, "keywords with letters", "an empty one");
        ensure(!self.keywords.iter().any(|keyword| keyword.trim().is_empty()), refuse)?;
        let keywords = self.keywords.iter().map(|keyword| keyword.to_lowercase()).collect();
        Ok(Voter { class: class as u8, keywords })
    }
}

fn check_distinct(setting: &str, names: &[String]) -> Result<()> {
    let mut known = std::collections::HashSet::new();
    names.iter().try_for_each(|name| {
        ensure(known.insert(name), || Error::config(setting, "names that differ", format!("'{name}' twice")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keyword_is_a_part_of_the_text_in_lower_case() {
        let labelers = KeywordLabelers::sst2();
        let signals = labelers.vote(&["I KNOW it is funny", "Zzz"]).unwrap();
        let votes = (0..14).map(|signal| signals.vote(0, signal)).collect::<Vec<_>>();
        let mut expected = vec![None; 14];
        expected[4] = Some(1); // fun
        expected[11] = Some(0); // no in know
        assert_eq!(votes, expected);
        assert!(!signals.is_covered(1));
        assert_eq!(signals.classes(), ["negative", "positive"]);
    }

    #[test]
    fn the_built_in_lists_are_those_published() {
        let polarities = |labelers: &KeywordLabelers| {
            labelers.labelers.iter().map(|labeler| labeler.class.clone()).collect::<Vec<_>>()
        };
        for (labelers, n_each) in
            [(KeywordLabelers::sst2(), 7), (KeywordLabelers::yelp(), 7), (KeywordLabelers::imdb(), 5)]
        {
            labelers.check().unwrap();
            let expected = [vec!["positive"; n_each], vec!["negative"; n_each]].concat();
            assert_eq!(polarities(&labelers), expected);
        }
        let (sst2, yelp) = (KeywordLabelers::sst2(), KeywordLabelers::yelp());
        let differing = (0..14).filter(|&signal| sst2.labelers[signal] != yelp.labelers[signal]);
        assert_eq!(differing.collect::<Vec<_>>(), [11]);
    }

    #[test]
    fn labelers_read_as_written() {
        let text = toml::to_string(&KeywordLabelers::imdb()).unwrap();
        assert_eq!(KeywordLabelers::from_toml(&text).unwrap(), KeywordLabelers::imdb());
    }

    #[test]
    fn bad_lists_are_named() {
        let classes = "classes = [\"a\", \"b\"]\n";
        let labeler = |rest: &str| format!("{classes}[[labelers]]\n{rest}");
        for (text, expected) in [
            ("classes = [".to_owned(), "keyword labelers"),
            (classes.to_owned(), "labelers"),
            (format!("{classes}labelers = []"), "at least one"),
            (labeler("class = \"c\"\nkeywords = [\"x\"]"), "a class among a, b, found 'c'"),
            (labeler("class = \"a\"\nkeywords = []"), "at least one keyword"),
            (labeler("class = \"a\"\nkeywords = [\" \"]"), "an empty one"),
            (labeler("class = \"a\"\nkeywords = [1]"), "keyword labelers"),
            (labeler("class = \"a\"\nkeyword = [\"x\"]"), "keyword"),
            (
                labeler("class = \"a\"\nkeywords = [\"x\"]\n[[labelers]]\nclass = \"b\"\nkeywords = [\"x\"]"),
                "'x' twice",
            ),
            ("classes = [\"a\"]\nlabelers = []".to_owned(), "2 to 255 names, found 1"),
            ("classes = [\"a\", \"a\"]\nlabelers = []".to_owned(), "'a' twice"),
        ] {
            let error = KeywordLabelers::from_toml(&text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("keywords.toml");
            std::fs::write(&path, &text).unwrap();
            let error = KeywordLabelers::read(&path).unwrap_err().to_string();
            assert!(error.contains("keywords.toml"), "{error}");
        }
        assert!(KeywordLabelers::sst2().vote(&[""; 0]).is_err());
    }
}
