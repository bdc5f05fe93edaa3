//! What the sets of texts have in common: keywords vote, word vectors are averaged, bounds are constant.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use labelflow_weak::labelers::Bounds;
use labelflow_weak::numerics::stream;
use labelflow_weak::rows::{Truth, WeakDataset};
use rand::seq::SliceRandom;

use crate::catalog::catalog_entry::Source;
use crate::catalog::{BoundsFrom, EvaluatedRows, WeakProblem};
use crate::tables::csv_file::visit_rows;
use crate::tables::packed_text::visit_lines;
use crate::tables::table::TableFile;
use crate::texts::{KeywordLabelers, WordVectors, clean_text};
use crate::{Error, Result, ensure};

/// The longest line worth reading in the list of words.
const LONGEST_WORD: u64 = 1 << 20;

/// The bound of every labeler.
const BOUND: f64 = 0.01;

/// Labelled texts.
#[derive(Debug, Default)]
pub(crate) struct LabelledTexts {
    /// What the labelers read.
    pub(crate) raw: Vec<String>,
    /// Their classes.
    pub(crate) labels: Vec<usize>,
}

impl LabelledTexts {
    /// Reads a file whose columns are the class and the text, below a header.
    pub(crate) fn read(path: &Path, class_of: fn(&Path, &str) -> Result<usize>) -> Result<Self> {
        let mut texts = Self::default();
        visit_rows(path, b',', 2, |record| {
            texts.labels.push(class_of(path, &record[0])?);
            texts.raw.push(record[1].to_owned());
            Ok(())
        })?;
        Ok(texts)
    }

    /// The texts without what is no word.
    pub(crate) fn cleaned(&self) -> Vec<String> {
        self.raw.iter().map(|text| clean_text(text)).collect()
    }

    /// The texts with these indices, in this order.
    pub(crate) fn select(self, rows: &[usize]) -> Self {
        let labels = rows.iter().map(|&row| self.labels[row]).collect();
        let mut raw = self.raw;
        Self { raw: rows.iter().map(|&row| std::mem::take(&mut raw[row])).collect(), labels }
    }
}

/// The problem of labelled texts, those without a vector left out: test rows are as `is_test` says of a text and of whether
/// a labeler speaks on it, training rows are the others on which one does. `documents` are what the vectors are computed
/// from, one a text.
pub(crate) fn text_problem(
    source: &Source<'_>,
    texts: &LabelledTexts,
    documents: &[String],
    labelers: &KeywordLabelers,
    is_test: impl Fn(usize, bool) -> bool,
) -> Result<WeakProblem> {
    let vectors = match &source.options.word_vectors {
        Some(path) => WordVectors::read_for(path, documents)?,
        None => {
            let [words, vectors] =
                source.paths.last_chunk().expect("the word vectors are the last files of such a set");
            read_word_array(words, vectors)?
        }
    };
    let averaged = vectors.average(documents)?;
    let rows = EvaluatedRows {
        features: averaged.features,
        signals: labelers.vote(&texts.raw)?.select_rows(&averaged.rows),
        truth: Truth::new(texts.labels.clone(), 2)?.select_rows(&averaged.rows),
    };
    let is_covered = |row: &usize| rows.signals.is_covered(*row);
    let all = 0..averaged.rows.len();
    let (test, others): (Vec<usize>, Vec<usize>) = all.partition(|row| is_test(averaged.rows[*row], is_covered(row)));
    let train: Vec<usize> = others.into_iter().filter(is_covered).collect();
    let found = format!("{} and {}", train.len(), test.len());
    let refuse = || Error::content(source.dir, "texts for training and for testing", found);
    ensure(!train.is_empty() && !test.is_empty(), refuse)?;
    let train = rows.select_rows(&train);
    let bounds = match source.options.bounds {
        BoundsFrom::Simulation => Bounds::constant(BOUND, &train.signals)?,
        BoundsFrom::TrainOracle => Bounds::measured(&train.signals, &train.truth)?,
    };
    Ok(WeakProblem {
        train: WeakDataset::new(train.features, train.signals, bounds)?,
        train_truth: train.truth,
        simulation: None,
        test: rows.select_rows(&test),
    })
}

/// Bounds of rules that vote on few of the labelled rows, so that their measured error rates are uncertain:
///
/// ```text
/// bound[j] = (errors of rule j + 1) / (votes of rule j + 2)
/// ```
pub(crate) fn smoothed_bounds(EvaluatedRows { signals, truth, .. }: &EvaluatedRows) -> Result<Bounds> {
    let bounds = (0..signals.n_signals()).map(|signal| {
        let votes = (0..signals.n_rows()).filter_map(|row| Some((signals.vote(row, signal)?, truth.labels()[row])));
        let (n_votes, n_errors) = votes.fold((0.0, 0.0), |(n_votes, n_errors), (vote, label)| {
            (n_votes + 1.0, n_errors + f64::from(u8::from(vote != label)))
        });
        (n_errors + 1.0) / (n_votes + 2.0)
    });
    Ok(Bounds::per_signal(&bounds.collect::<Vec<_>>(), signals.n_classes())?)
}

/// The rows of the texts that are not empty and have not come before.
pub(crate) fn first_of_each(texts: &[String]) -> Vec<usize> {
    let mut known = HashSet::new();
    let is_new = |row: &usize| !texts[*row].is_empty() && known.insert(texts[*row].as_str());
    (0..texts.len()).filter(is_new).collect()
}

/// Vectors as a list of words and an array of as many rows.
fn read_word_array(words: &Path, vectors: &Path) -> Result<WordVectors> {
    let table = TableFile::open(vectors, &[])?;
    table.check_shape("[n_words, d_features]", |shape| shape.len() == 2)?;
    let values = table.numbers::<f32>(&table.columns())??;
    let mut places = HashMap::new();
    let mut n_words = 0;
    visit_lines(words, LONGEST_WORD, |_, line| {
        let word = std::str::from_utf8(line).map_err(|_| Error::content(words, "text in UTF-8", "other bytes"))?;
        places.entry(word.to_owned()).or_insert(n_words);
        n_words += 1;
        Ok(())
    })?;
    let expected = || format!("one word per row of the {} vectors", values.nrows());
    ensure(n_words == values.nrows(), || Error::content(words, expected(), n_words))?;
    ensure(values.iter().all(|value| value.is_finite()), || Error::content(vectors, "finite numbers", "others"))?;
    let d_features = values.ncols();
    Ok(WordVectors { d_features, places, values: values.into_iter().collect() })
}

/// Which of `n` texts are among `n_drawn` drawn at random.
pub(crate) fn draw(n: usize, n_drawn: usize, seed: u64, consumer: &str) -> Vec<bool> {
    let mut order = (0..n).collect::<Vec<_>>();
    order.shuffle(&mut stream(seed, consumer));
    let mut is_drawn = vec![false; n];
    order.iter().take(n_drawn).for_each(|&text| is_drawn[text] = true);
    is_drawn
}

/// The class of a label 0 or 1.
pub(crate) fn polarity(path: &Path, label: &str) -> Result<usize> {
    match label {
        "0" => Ok(0),
        "1" => Ok(1),
        other => Err(Error::cell(path, "0 or 1", other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_and_empty_texts_go() {
        let texts = ["a b", "", "c", "a b", ""].map(str::to_owned);
        assert_eq!(first_of_each(&texts), [0, 2]);
    }

    #[test]
    fn as_many_are_drawn_as_asked_and_the_seed_decides() {
        let drawn = draw(100, 20, 3, "test");
        assert_eq!(drawn.iter().filter(|&&is_drawn| is_drawn).count(), 20);
        assert_eq!(drawn, draw(100, 20, 3, "test"));
        assert_ne!(drawn, draw(100, 20, 4, "test"));
    }
}
