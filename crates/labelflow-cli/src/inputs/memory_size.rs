//! Amounts of memory as people write them: 512MB, 1.5GiB.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Units, the longer ones first.
const UNITS: [(&str, f64); 8] = [
    ("KIB", 1024.0),
    ("MIB", 1048576.0),
    ("GIB", 1073741824.0),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("B", 1.0),
];

/// A number of bytes; in a file a text such as "512MB".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct MemorySize(pub(crate) u64);

/// The program itself, a batch of rows and the row group being written.
const BASE_BYTES: u64 = 80_000_000;
/// Pages and dictionaries of a column that is read.
const BYTES_PER_COLUMN: u64 = 4_000_000;

impl MemorySize {
    /// Where nothing is said.
    pub(crate) const DEFAULT: Self = Self(1_000_000_000);

    /// What is taken by reading so many columns of Parquet parts, whatever is done with them.
    pub(crate) fn to_read(n_columns: usize) -> Self {
        Self(BASE_BYTES + BYTES_PER_COLUMN * n_columns as u64)
    }

    /// What is left of it for the work itself when so many columns are read; an error if that is less than `least` bytes.
    pub(crate) fn left_to_work(self, n_columns: usize, least: u64) -> anyhow::Result<u64> {
        let needed = Self(Self::to_read(n_columns).0 + least);
        anyhow::ensure!(
            self.0 >= needed.0,
            "memory: expected at least {needed} to read {n_columns} columns, found {self}"
        );
        Ok(self.0 - Self::to_read(n_columns).0)
    }
}

impl TryFrom<String> for MemorySize {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<MemorySize> for String {
    fn from(size: MemorySize) -> Self {
        // Exact, unlike what is shown.
        format!("{}B", size.0)
    }
}

impl FromStr for MemorySize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || format!("expected a size such as 512MB or 2GB, found '{text}'");
        let upper = text.trim().to_ascii_uppercase();
        let unit = UNITS.iter().find_map(|(unit, size)| Some((upper.strip_suffix(unit)?, size)));
        let (number, size) = unit.ok_or_else(expected)?;
        let number: f64 = number.trim().parse().map_err(|_| expected())?;
        let bytes = number * size;
        if !(1.0..=1e18).contains(&bytes) {
            return Err(expected());
        }
        Ok(Self(bytes as u64))
    }
}

impl fmt::Display for MemorySize {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}MB", self.0.div_ceil(1_000_000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in [("512MB", 512_000_000), ("2 gb", 2_000_000_000), ("1.5GiB", 1_610_612_736), ("9B", 9)] {
            assert_eq!(text.parse(), Ok(MemorySize(bytes)));
        }
        for text in ["", "512", "MB", "-1GB", "0MB", "nanMB", "infGB", "1e30GB"] {
            assert!(text.parse::<MemorySize>().is_err(), "{text}");
        }
        assert_eq!(MemorySize(512_000_000).to_string(), "512MB");
    }
}
