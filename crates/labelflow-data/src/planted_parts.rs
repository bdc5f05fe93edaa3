//! Made-up votes as Parquet parts, as many rows as the disk holds.

use std::path::{Path, PathBuf};

use labelflow_weak::Truth;

use crate::columns::write_vote_bytes;
use crate::stream::stream;
use crate::synthetic::{Labelers, PlantedVotes, check_rows, draw_class};
use crate::{Error, Result};

impl PlantedVotes {
    /// Writes the votes of all rows into a folder, as `part-00000.parquet` and so on with `rows_per_part` rows each, and
    /// returns the files. No more than one part is in memory.
    ///
    /// The labelers are those of [`generate`](Self::generate) with the same seed; the rows are others.
    pub fn write_parts(&self, folder: &Path, rows_per_part: usize) -> Result<Vec<PathBuf>> {
        check_rows(self.n_rows)?;
        if rows_per_part == 0 {
            return Err(Error::config("rows_per_part", "at least 1", 0));
        }
        let balance = self.checked_balance()?;
        let labelers = Labelers::draw(self.n_signals, self.accuracy, self.coverage, self.seed)?;
        let mut classes = stream(self.seed, "planted classes of parts");
        let mut votes = stream(self.seed, "planted votes of parts");
        let mut files = Vec::new();
        for first_row in (0..self.n_rows).step_by(rows_per_part) {
            let n_rows = rows_per_part.min(self.n_rows - first_row);
            let labels = (0..n_rows).map(|_| draw_class(&balance, &mut classes)).collect();
            let truth = Truth::new(labels, self.n_classes)?;
            let signals = labelers.vote_with(&truth, &mut votes)?;
            let file = folder.join(format!("part-{:05}.parquet", files.len()));
            write_vote_bytes(&file, &signals)?;
            files.push(file);
        }
        Ok(files)
    }
}
