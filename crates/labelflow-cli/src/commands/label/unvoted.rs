//! Rows that nobody voted on: what `label` writes for them.

use std::convert::Infallible;
use std::str::FromStr;

use anyhow::Context;
use labelflow::WeakSignals;

/// The label of rows without a vote, by the flag `--unvoted`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Unvoted {
    /// An empty cell.
    #[default]
    Empty,
    /// The most probable class by the label model, which for such a row is the most common one.
    Balance,
    /// The class with the most votes.
    Majority,
    /// This class.
    Class(String),
}

impl FromStr for Unvoted {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "empty" => Self::Empty,
            "balance" => Self::Balance,
            "majority" => Self::Majority,
            class => Self::Class(class.to_owned()),
        })
    }
}

impl Unvoted {
    /// The choice for votes of these classes. `vote_shares` are the shares of all votes, which are asked for where they are needed.
    pub(crate) fn rule(
        &self,
        classes: &[String],
        vote_shares: impl FnOnce() -> anyhow::Result<Vec<f64>>,
    ) -> anyhow::Result<UnvotedRule> {
        Ok(match self {
            Self::Empty => UnvotedRule::Label(None),
            Self::Balance => UnvotedRule::MostProbable,
            Self::Majority => {
                let shares = vote_shares()?;
                let most = shares.iter().copied().fold(0.0, f64::max);
                UnvotedRule::Label(shares.iter().position(|&share| share == most))
            }
            Self::Class(name) => {
                let class = classes.iter().position(|class| class == name).with_context(|| {
                    format!(
                        "unvoted: expected empty, balance, majority or one of {}, found '{name}'",
                        classes.join(", ")
                    )
                })?;
                UnvotedRule::Label(Some(class))
            }
        })
    }
}

/// What becomes of a row without a vote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnvotedRule {
    /// It gets this label, or none.
    Label(Option<usize>),
    /// It gets its most probable class.
    MostProbable,
}

impl UnvotedRule {
    /// The label of each row, most probably of these classes, and how many labelers voted on it.
    pub(crate) fn apply(self, signals: &WeakSignals, classes: Vec<usize>) -> (Vec<Option<usize>>, Vec<i64>) {
        let n_votes: Vec<i64> = signals.n_votes_of_rows().into_iter().map(|n_votes| n_votes as i64).collect();
        let choose = |(class, &n_votes): (usize, &i64)| match self {
            Self::Label(label) if n_votes == 0 => label,
            _ => Some(class),
        };
        let chosen = classes.into_iter().zip(&n_votes).map(choose).collect();
        (chosen, n_votes)
    }
}
