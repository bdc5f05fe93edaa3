//! Votes in Parquet files that need not fit in memory, read batch by batch.
//!
//! ```text
//! pass 1: cells ──codes──► patterns of codes with counts ──meaning of the codes──► counted votes
//! pass 2: cells ──codes──► votes, in the order of the files
//! ```

use std::ops::Range;

use labelflow_weak::votes::{ABSTAIN, CountedVotes, VoteCounter, WeakSignals};
use ndarray::Array2;

use super::cell_codes::{CellCodes, CellPlace, VoteReading};
use super::row_reader::{RowReader, take_rows};
use crate::inputs::SignalsOptions;
use crate::inputs::abstain_convention::doubt_about;
use crate::inputs::vote_cells::{check_class_names, named_votes};
use crate::parts::VoteParts;
use crate::tables::cells::into_table;
use crate::{Error, Result};

/// What a first pass over all votes has found.
#[derive(Debug, Clone)]
pub struct VoteStream {
    parts: VoteParts,
    codes: CellCodes,
    reading: VoteReading,
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
        let mut reader = RowReader::new(&parts.table, &parts.columns, 0..parts.n_rows());
        let mut rows = Vec::new();
        while next_codes(&parts, &mut reader, &mut codes, &mut rows)? {
            n_rows += (rows.len() / n_signals) as u64;
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
        Ok(Self { parts, codes, reading, patterns })
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
    pub fn convention_doubt(&self) -> Option<String> {
        doubt_about(&self.reading.votes, self.classes())
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
        self.signals(Array2::from_elem((1, self.parts.labelers().len()), ABSTAIN))
    }

    fn signals(&self, votes: Array2<u8>) -> Result<WeakSignals> {
        named_votes(votes, self.classes(), Some(self.parts.labelers())).map_err(Error::in_file(&self.parts.files()[0]))
    }

    /// Visits all rows again, batch by batch, in the order of the files.
    pub fn visit<E: From<Error>>(&self, mut visit: impl FnMut(&WeakSignals) -> Result<(), E>) -> Result<(), E> {
        let mut reader = self.reader(0..self.parts.n_rows());
        let mut votes = Vec::new();
        while reader.read_ahead(&mut votes)? {
            let votes = reader.in_rows(std::mem::take(&mut votes));
            visit(&self.signals(votes)?)?;
        }
        Ok(())
    }

    /// Reads a run of rows again, as many at a time as are asked for.
    ///
    /// # Panics
    ///
    /// When read, if there are no such rows.
    pub fn reader(&self, rows: Range<u64>) -> VoteReader<'_> {
        let reader = RowReader::new(&self.parts.table, &self.parts.columns, rows);
        VoteReader { stream: self, reader, codes: self.codes.clone(), ahead: Vec::new() }
    }
}

/// Reads votes in the order of the files.
pub struct VoteReader<'stream> {
    stream: &'stream VoteStream,
    reader: RowReader<'stream>,
    codes: CellCodes,
    /// Votes that were read but not yet asked for.
    ahead: Vec<u8>,
}

impl VoteReader<'_> {
    /// The votes of the next rows: a class or [`ABSTAIN`] for each row and labeler.
    ///
    /// It is an error if there are fewer rows.
    pub fn next_rows(&mut self, n_rows: usize) -> Result<Array2<u8>> {
        let parts = &self.stream.parts;
        let mut ahead = std::mem::take(&mut self.ahead);
        let votes =
            take_rows(&mut ahead, n_rows, parts.labelers().len(), &parts.files()[0], |ahead| self.read_ahead(ahead));
        self.ahead = ahead;
        Ok(self.in_rows(votes?))
    }

    /// The same as signals with the names of labelers and classes.
    pub fn next_signals(&mut self, n_rows: usize) -> Result<WeakSignals> {
        let votes = self.next_rows(n_rows)?;
        self.stream.signals(votes)
    }

    /// Adds the votes of the next rows; false at the end.
    fn read_ahead(&mut self, ahead: &mut Vec<u8>) -> Result<bool> {
        let mut codes = Vec::new();
        let any = next_codes(&self.stream.parts, &mut self.reader, &mut self.codes, &mut codes)?;
        if self.codes.len() > self.stream.codes.len() {
            let parts = &self.stream.parts;
            let expected = format!("the {} rows that were read before", parts.n_rows());
            return Err(Error::content(&parts.files()[0], expected, "other values")
                .with_hint("files must not change while they are read"));
        }
        ahead.extend(codes.iter().map(|&code| self.stream.reading.votes[usize::from(code)]));
        Ok(any)
    }

    fn in_rows(&self, votes: Vec<u8>) -> Array2<u8> {
        into_table(votes, self.stream.parts.labelers().len())
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

/// The codes of the next rows; false at the end.
fn next_codes(
    parts: &VoteParts,
    reader: &mut RowReader<'_>,
    codes: &mut CellCodes,
    bytes: &mut Vec<u8>,
) -> Result<bool> {
    let Some(batch) = reader.next()? else { return Ok(false) };
    let n_signals = parts.labelers().len();
    bytes.resize(batch.n_rows() * n_signals, 0);
    for (signal, (array, column)) in batch.arrays.iter().zip(parts.labelers()).enumerate() {
        let (file, column) = (parts.files()[batch.file].clone(), column.clone());
        let first = CellPlace { file, row: batch.row_in_file, column };
        codes.encode(array, &mut bytes[signal..], n_signals, &first)?;
    }
    Ok(true)
}
