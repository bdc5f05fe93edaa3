//! Rules about means in TOML and CSV files.

mod claim_text;
mod rules_file;
mod rules_toml;

pub use rules_file::{RulesFile, read_rules, write_rules};
