//! Documents as averages of word vectors.
//!
//! ```text
//! x = (sum of the vectors of the known tokens) / (number of all tokens)
//! ```
//!
//! Tokens are what white space separates, as they stand: vectors of words in lower case know no capitals and no
//! punctuation, so clean the documents first where that is wanted. A document without a known token has no vector.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use labelflow_weak::rows::Features;
use ndarray::ArrayView1;

use crate::tables::cells::into_table;
use crate::tables::packed_text::visit_lines;
use crate::{Error, Result, ensure};

/// The longest line worth reading: a word and some ten thousand numbers.
const LONGEST_LINE: u64 = 1 << 20;

/// Vectors of the words that occur in some documents.
#[derive(Debug, Clone, PartialEq)]
pub struct WordVectors {
    pub(crate) d_features: usize,
    pub(crate) places: HashMap<String, usize>,
    /// One vector after the other.
    pub(crate) values: Vec<f32>,
}

/// Documents as rows of numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct AveragedDocuments {
    /// One row a document with a known token, in the order of the documents.
    pub features: Features,
    /// Which document each row is.
    pub rows: Vec<usize>,
    /// The documents without a known token, which have no row.
    pub dropped: Vec<usize>,
}

impl WordVectors {
    /// Reads vectors in GloVe's text format: on each line a token, then its numbers, separated by single spaces. The
    /// file may be gzipped.
    ///
    /// Only the vectors of tokens that occur in `documents` are kept, so memory does not grow with the file. Of a token
    /// that is given twice the first vector counts. A first line of two whole numbers, the count of words and of
    /// dimensions, is accepted as other tools write it. Every line must have as many numbers as the first; the numbers
    /// themselves are looked at where they are needed.
    ///
    /// ```
    /// use labelflow_data::texts::WordVectors;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("vectors.txt");
    /// std::fs::write(&path, "good 1 0\nbad 0 1\nelse 5 5\n")?;
    /// let documents = ["good good film", "no idea"];
    /// let vectors = WordVectors::read_for(&path, &documents)?;
    /// assert_eq!(vectors.n_words(), 1);
    /// let averaged = vectors.average(&documents)?;
    /// assert_eq!(averaged.features.rounded().row(0).to_vec(), [2.0 / 3.0, 0.0]);
    /// assert_eq!((averaged.rows, averaged.dropped), (vec![0], vec![1]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_for(path: &Path, documents: &[impl AsRef<str>]) -> Result<Self> {
        let mut wanted =
            documents.iter().flat_map(|document| document.as_ref().split_whitespace()).collect::<HashSet<_>>();
        let mut d_features = None;
        let mut is_any = false;
        let mut vectors = Self { d_features: 0, places: HashMap::new(), values: Vec::new() };
        visit_lines(path, LONGEST_LINE, |number, line| {
            if number == 1
                && let Some(claimed) = header_dimensions(line)
            {
                d_features = Some(claimed);
                return Ok(());
            }
            if line.is_empty() {
                return Ok(());
            }
            let split = split_line(path, line, &mut d_features)?;
            is_any = true;
            let Some((token, numbers)) = split else {
                return Ok(());
            };
            if wanted.remove(token) {
                vectors.places.insert(token.to_owned(), vectors.places.len());
                parse_numbers(path, numbers, &mut vectors.values)?;
            }
            Ok(())
        })?;
        // The first line alone says nothing: it may claim any number of dimensions.
        vectors.d_features =
            d_features.filter(|_| is_any).ok_or_else(|| Error::content(path, "at least one word vector", "none"))?;
        Ok(vectors)
    }

    /// The length of every vector.
    pub fn d_features(&self) -> usize {
        self.d_features
    }

    /// Number of words that have a vector.
    pub fn n_words(&self) -> usize {
        self.places.len()
    }

    /// The vector of a word, or nothing.
    pub fn vector(&self, word: &str) -> Option<ArrayView1<'_, f32>> {
        let place = *self.places.get(word)?;
        Some(ArrayView1::from(&self.values[place * self.d_features..][..self.d_features]))
    }

    /// The documents that have a known token as averages of its vectors. An error when none has.
    pub fn average(&self, documents: &[impl AsRef<str>]) -> Result<AveragedDocuments> {
        let (mut rows, mut dropped, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let mut sum = ndarray::Array1::<f32>::zeros(self.d_features);
        for (document, text) in documents.iter().enumerate() {
            let (mut n_tokens, mut n_known) = (0usize, 0usize);
            sum.fill(0.0);
            for token in text.as_ref().split_whitespace() {
                n_tokens += 1;
                if let Some(vector) = self.vector(token) {
                    n_known += 1;
                    sum += &vector;
                }
            }
            if n_known == 0 {
                dropped.push(document);
            } else {
                rows.push(document);
                values.extend(sum.iter().map(|value| value / n_tokens as f32));
            }
        }
        let found = || format!("none for any of {} documents", documents.len());
        let refuse = || Error::config("word vectors", "a vector for some token of some document", found());
        let hint = "the vectors may be of words in lower case, or of another language";
        ensure(!rows.is_empty(), || refuse().with_hint(hint))?;
        let names = (0..self.d_features).map(|column| format!("vector{column}")).collect();
        let features = Features::with_names(into_table(values, self.d_features), names)?;
        Ok(AveragedDocuments { features, rows, dropped })
    }
}

/// The number of dimensions if the line is `n_words d_features`.
fn header_dimensions(line: &[u8]) -> Option<usize> {
    let (n_words, d_features) = std::str::from_utf8(line).ok()?.trim_end().split_once(' ')?;
    n_words.parse::<usize>().ok()?;
    d_features.parse().ok().filter(|&d_features| d_features > 0)
}

/// A line as token and numbers, or nothing if no document can have such a token.
///
/// Some files have tokens with spaces, so the numbers are the last `d_features` fields. The first line tells how many.
fn split_line<'line>(
    path: &Path,
    line: &'line [u8],
    d_features: &mut Option<usize>,
) -> Result<Option<(&'line str, &'line str)>> {
    let line = line.trim_ascii_end();
    let n_numbers = line.iter().filter(|&&byte| byte == b' ').count();
    let expected = *d_features.get_or_insert(n_numbers.max(1));
    let wrong = |found: String| Err(Error::content(path, format!("a token and {expected} numbers"), found));
    if n_numbers < expected {
        return wrong(format!("a token and {n_numbers} numbers"));
    }
    // Bytes that are no text are a token no document has.
    let Ok(line) = std::str::from_utf8(line) else { return Ok(None) };
    let (token, numbers) = line.split_once(' ').expect("there is at least one space");
    if n_numbers == expected {
        return Ok(Some((token, numbers)));
    }
    // A token with spaces is not one number too many.
    match numbers.split(' ').next().map(str::parse::<f32>) {
        Some(Ok(_)) => wrong(format!("a token and {n_numbers} numbers")),
        _ => Ok(None),
    }
}

fn parse_numbers(path: &Path, numbers: &str, values: &mut Vec<f32>) -> Result<()> {
    for number in numbers.split(' ') {
        match number.parse::<f32>() {
            Ok(value) if value.is_finite() => values.push(value),
            _ => return Err(Error::cell(path, "a finite number", number)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8], documents: &[&str]) -> Result<WordVectors> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vectors.txt");
        std::fs::write(&path, bytes).unwrap();
        WordVectors::read_for(&path, documents)
    }

    #[test]
    fn unknown_tokens_count_in_the_divisor() {
        let documents = ["the good the film", "THE good", "", "film film"];
        let vectors = read(b"the 1 -1 0.5\ngood 2 0 0\nbad 9 9 9\n", &documents).unwrap();
        assert_eq!((vectors.n_words(), vectors.d_features()), (2, 3));
        assert!(vectors.vector("bad").is_none(), "no document has it");
        let averaged = vectors.average(&documents).unwrap();
        assert_eq!(averaged.features.values().row(0).to_vec(), [1.0, -0.5, 0.25]);
        assert_eq!(averaged.features.values().row(1).to_vec(), [1.0, 0.0, 0.0]);
        assert_eq!((averaged.rows, averaged.dropped), (vec![0, 1], vec![2, 3]));
    }

    #[test]
    fn headers_gzip_spaces_in_tokens_and_other_bytes_are_accepted() {
        let text = b"3 2\na 1 2\r\n. . 3 4\n\xff\xfe 5 6\na 7 8\nb 9 10 \n";
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        for bytes in [text.to_vec(), encoder.finish().unwrap()] {
            let vectors = read(&bytes, &["a b ."]).unwrap();
            assert_eq!(vectors.vector("a").unwrap().to_vec(), [1.0, 2.0]);
            assert_eq!(vectors.vector("b").unwrap().to_vec(), [9.0, 10.0]);
            assert_eq!(vectors.n_words(), 2);
        }
    }

    #[test]
    fn wrong_lines_are_named() {
        for (text, expected) in [
            ("a 1 2\nb 1\n", "line 2: expected a token and 2 numbers, found a token and 1"),
            ("a 1 2\nb 1 2 3\n", "line 2: expected a token and 2 numbers, found a token and 3"),
            ("a 1 2\nb 1 x\n", "line 2: expected a finite number, found 'x'"),
            ("a 1 2\nb 1 inf\n", "line 2: expected a finite number, found 'inf'"),
            ("a 1 2\nb  2\n", "line 2: expected a finite number, found ''"),
            ("a\nb\n", "line 1: expected a token and 1 numbers, found a token and 0"),
            ("9 3\na 1 2\n", "line 2: expected a token and 3 numbers"),
            ("", "at least one word vector"),
        ] {
            let error = read(text.as_bytes(), &["a b"]).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let vectors = read(b"a 1 2\n", &["b"]).unwrap();
        assert!(vectors.average(&["b"]).unwrap_err().to_string().contains("lower case"));
        assert!(vectors.average(&[""; 0]).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn any_bytes_are_read_or_refused(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            text in "([ab] [0-9.]{0,3} ?[0-9x]{0,2}\n){0,5}",
        ) {
            for bytes in [&bytes[..], text.as_bytes()] {
                if let Ok(vectors) = read(bytes, &["a b"]) {
                    let _ = vectors.average(&["a", "b a", ""]);
                }
            }
        }
    }
}
