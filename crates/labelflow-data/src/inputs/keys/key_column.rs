//! Which column names the rows of tables.

use crate::{Error, Result};

/// The column of row numbers, which `predict` and `label` write.
pub(crate) const ROW: &str = "row";

/// The column that names the rows of tables. It is neither a feature nor a labeler.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum KeyColumn {
    /// `row`, with numbers from 0, in the tables that have it; the rows of others are numbered by place.
    #[default]
    Row,
    /// The column with this name, which every table must have.
    Named(String),
    /// None: rows are told apart by place.
    Place,
}

impl KeyColumn {
    /// The column with this name, or `row` where none is named.
    pub fn of(name: Option<&str>) -> Self {
        name.map_or(Self::Row, |name| Self::Named(name.to_owned()))
    }

    /// The same for rows with these features: a model may have been trained on a feature called `row`.
    #[must_use]
    pub fn beside(self, features: &[String]) -> Self {
        match self {
            Self::Row if features.iter().any(|name| name == ROW) => Self::Place,
            key => key,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Row | Self::Place => ROW,
            Self::Named(name) => name,
        }
    }

    /// The column with the place where a table has it, or nothing where rows are told apart by their places. `other_columns` is what is wrong
    /// with a table that must have it.
    pub(crate) fn found<P>(
        &self,
        place: Option<P>,
        other_columns: impl FnOnce(String) -> Error,
    ) -> Result<Option<(Self, P)>> {
        match (place, self) {
            (_, Self::Place) | (None, Self::Row) => Ok(None),
            (Some(place), _) => Ok(Some((self.clone(), place))),
            (None, Self::Named(name)) => Err(other_columns(format!("a column '{name}', which names the rows"))
                .with_hint("every table must have the key; leave it out to match rows by place")),
        }
    }
}
