//! How the rows of one table find theirs in another.

use clap::Args;
use labelflow_data::inputs::KeyColumn;

#[derive(Debug, Args)]
pub(crate) struct KeyArgs {
    /// Column that names the rows in every table: rows are matched by it, whatever their order, and outputs keep it
    /// [default: `row` in the tables that have it, else the order of the rows]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) key: Option<String>,
}

impl KeyArgs {
    pub(crate) fn column(&self) -> KeyColumn {
        KeyColumn::of(self.key.as_deref())
    }
}
