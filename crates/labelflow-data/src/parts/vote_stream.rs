//! Votes in Parquet files that need not fit in memory, read batch by batch.
//!
//! ```text
//! pass 1: cells ──codes──► patterns of codes with counts ──meaning of the codes──► counted votes
//! pass 2: cells ──codes──► votes, in the order of the files
//! ```

use std::ops::Range;

use labelflow_weak::votes::{CountedVotes, VoteCounter, WeakSignals};
use ndarray::Array2;

use super::cell_codes::{CellCodes, VoteReading};
use super::row_reader::{RowBatch, RowsAhead};
use crate::inputs::SignalsOptions;
use crate::inputs::abstain_convention::doubt_about;
use crate::inputs::vote_cells::check_class_names;
use crate::parts::VoteParts;
use crate::tables::cells::into_table;
use crate::{Error, Result};

/// What a first pass over all votes has found.
#[derive(Debug, Clone)]
pub struct VoteStream {
    parts: VoteParts,
    codes: CellCodes,
    reading: VoteReading,
    /// A doubt about what abstains.
    doubt: Option<String>,
    patterns: StreamedPatterns,
}

/// The patterns of all rows, if they could be kept.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamedPatterns {
    /// All of them.
    Counted(CountedVotes),
    /// There were more than could be kept.
    TooMany {
        /// The most that could be kept.
        most: usize,
        /// Rows that were read until then.
        n_rows: u64,
    },
}

impl VoteStream {
    /// Reads all votes and counts distinct rows.
    ///
    /// `most_patterns` says how many of them may be kept, given the number of different values of cells so far, which is
    /// about that of classes. Once there are more, all are dropped and the rest is read for its values only.
    pub fn read(
        parts: VoteParts,
        options: &SignalsOptions,
        most_patterns: impl Fn(&VoteParts, usize) -> usize,
    ) -> Result<Self> {
        check_class_names(&options.classes)?;
        let n_signals = parts.labelers().len();
        let path = &parts.files()[0];
        let mut codes = CellCodes::new();
        let mut counter = VoteCounter::new(n_signals);
        let (mut n_rows, mut too_many) = (0u64, None);
        let mut reader = parts.reader(0..parts.n_rows());
        while let Some(batch) = reader.next()? {
            let rows = codes.of(&batch, parts.labelers())?;
            n_rows += batch.n_rows() as u64;
            if too_many.is_none() {
                rows.chunks_exact(n_signals).for_each(|row| {
                    counter.add(row, 1);
                });
                let most = most_patterns(&parts, codes.len());
                if counter.n_patterns() > most {
                    counter = VoteCounter::new(n_signals);
                    too_many = Some(StreamedPatterns::TooMany { most, n_rows });
                }
            }
        }
        let reading = codes.reading(options)?;
        let patterns = match too_many {
            Some(too_many) => too_many,
            None => {
                let counted = count_votes(counter, &reading).map_err(Error::in_file(path))?;
                let counted = counted.with_labelers(parts.labelers().to_vec());
                StreamedPatterns::Counted(counted.map_err(Error::in_file(path))?)
            }
        };
        let doubt = doubt_about(&reading.votes, &reading.classes, options);
        Ok(Self { parts, codes, reading, doubt, patterns })
    }

    /// The files.
    pub fn parts(&self) -> &VoteParts {
        &self.parts
    }

    /// Names of the classes.
    pub fn classes(&self) -> &[String] {
        &self.reading.classes
    }

    /// Number of different values of cells, abstentions among them.
    pub fn n_values(&self) -> usize {
        self.codes.len()
    }

    /// A doubt about what abstains, see [`convention_doubt`](crate::inputs::convention_doubt).
    pub fn convention_doubt(&self) -> Option<&str> {
        self.doubt.as_deref()
    }

    /// The distinct rows of votes.
    pub fn patterns(&self) -> &StreamedPatterns {
        &self.patterns
    }

    /// The same stream without the patterns, which may take much memory.
    #[must_use]
    pub fn without_patterns(self) -> Self {
        let patterns = StreamedPatterns::TooMany { most: 0, n_rows: self.parts.n_rows() };
        Self { patterns, ..self }
    }

    /// One row on which nobody votes, with the names of the labelers and classes.
    pub fn silent_row(&self) -> Result<WeakSignals> {
        self.parts.silent_row(self.classes())
    }

    /// Visits all rows again, batch by batch, in the order of the files.
    pub fn visit<E: From<Error>>(&self, mut visit: impl FnMut(&WeakSignals) -> Result<(), E>) -> Result<(), E> {
        let (mut reader, mut codes) = (self.parts.reader(0..self.parts.n_rows()), self.codes.clone());
        while let Some(batch) = reader.next()? {
            let votes = into_table(self.votes(&batch, &mut codes)?, self.parts.labelers().len());
            visit(&self.parts.signals(votes, self.classes())?)?;
        }
        Ok(())
    }

    /// The votes of a batch, whose cells were all read before.
    fn votes(&self, batch: &RowBatch<'_>, codes: &mut CellCodes) -> Result<Vec<u8>> {
        let mut cells = codes.of(batch, self.parts.labelers())?;
        if codes.len() > self.codes.len() {
            let expected = format!("the {} rows that were read before", self.parts.n_rows());
            return Err(Error::content(&self.parts.files()[0], expected, "other values")
                .with_hint("files must not change while they are read"));
        }
        cells.iter_mut().for_each(|cell| *cell = self.reading.votes[usize::from(*cell)]);
        Ok(cells)
    }

    /// Reads a run of rows again, as many at a time as are asked for.
    ///
    /// # Panics
    ///
    /// When read, if there are no such rows.
    pub fn reader(&self, rows: Range<u64>) -> VoteReader<'_> {
        let rows = RowsAhead::new(self.parts.reader(rows));
        VoteReader { stream: self, rows, codes: self.codes.clone() }
    }
}

/// Reads votes in the order of the files.
pub struct VoteReader<'stream> {
    stream: &'stream VoteStream,
    rows: RowsAhead<'stream, u8>,
    codes: CellCodes,
}

impl VoteReader<'_> {
    /// The votes of the next rows: a class or [`ABSTAIN`](labelflow_weak::votes::ABSTAIN) for each row and labeler.
    ///
    /// It is an error if there are fewer rows.
    pub fn next_rows(&mut self, n_rows: usize) -> Result<Array2<u8>> {
        let Self { stream, rows, codes } = self;
        let votes = rows.take(n_rows, |batch| stream.votes(batch, codes))?;
        Ok(into_table(votes, stream.parts.labelers().len()))
    }

    /// The same as signals with the names of labelers and classes.
    pub fn next_signals(&mut self, n_rows: usize) -> Result<WeakSignals> {
        let votes = self.next_rows(n_rows)?;
        self.stream.parts.signals(votes, self.stream.classes())
    }
}

/// Counted codes as counted votes: several codes may mean the same.
fn count_votes(counter: VoteCounter, reading: &VoteReading) -> Result<CountedVotes, labelflow_weak::Error> {
    let mut votes = VoteCounter::new(counter.n_signals());
    let mut row_of_votes = vec![0; counter.n_signals()];
    for (row, count) in counter.iter() {
        for (vote, &code) in row_of_votes.iter_mut().zip(row) {
            *vote = reading.votes[usize::from(code)];
        }
        votes.add(&row_of_votes, count);
    }
    drop(counter);
    CountedVotes::from_counter(&votes, reading.classes.len())?.with_classes(reading.classes.clone())
}
