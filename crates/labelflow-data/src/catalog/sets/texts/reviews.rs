//! Sentences and reviews on whose polarity keywords vote: SST-2, IMDB and Yelp.

use std::path::Path;

use serde::Deserialize;

use crate::catalog::WeakProblem;
use crate::catalog::catalog_entry::Source;
use crate::catalog::sets::labelled_texts::{LabelledTexts, draw, first_of_each, polarity, text_problem};
use crate::tables::packed_text::{read_json, visit_lines};
use crate::texts::KeywordLabelers;
use crate::{Error, Result};

/// Stanford Sentiment Treebank, two classes, whole sentences: fourteen groups of keywords vote on polarity.
///
/// Training rows are the 3,998 of 6,920 sentences that contain a keyword; the 1,821 test sentences are all kept, with or
/// without one. Keywords are looked for in the sentences as they are, vectors are those of the cleaned sentences.
///
/// Deviation: repeated sentences stay, since the published 3,998 rows have them.
pub(crate) fn load_sst2(source: &Source<'_>) -> Result<WeakProblem> {
    let mut texts = LabelledTexts::read(&source.paths[0], polarity)?;
    let n_train = texts.labels.len();
    let test = LabelledTexts::read(&source.paths[1], polarity)?;
    texts.labels.extend(test.labels);
    texts.raw.extend(test.raw);
    let labelers = KeywordLabelers::sst2();
    text_problem(source, &texts, &texts.cleaned(), &labelers, |text, _| text >= n_train)
}

const IMDB_HEADER: &str = "split\tlabel\tid\trating\ttext";
/// The longest line worth reading; the longest review has fourteen thousand letters.
const LONGEST_REVIEW: u64 = 1 << 20;
/// One in so many reviews is drawn for testing.
const IMDB_TEST_SHARE: usize = 5;

/// IMDB movie reviews: ten single keywords vote on polarity.
///
/// ```text
/// 1. drop reviews that are empty or repeated once cleaned; the first of equal ones stays
/// 2. a fifth of the rest, drawn by the seed, is for testing
/// 3. the others are for training where a keyword occurs, and for testing where none does
/// 4. drop reviews without a known token
/// ```
///
/// Step 3 is the published protocol: it leaves test rows that are harder than a random sample, since about half of them have
/// no vote. Keywords are looked for in the reviews as they are, and so are the tokens of the vectors, unless
/// `imdb_clean_features` is set.
///
/// Deviation: the published split was drawn by another generator from another order of the reviews, so it cannot be had
/// again; ours is drawn anew for each seed. The file is a joined copy of the 50,000 published reviews, of which at least one
/// (the first) is not the published text.
pub(crate) fn load_imdb(source: &Source<'_>) -> Result<WeakProblem> {
    let texts = read_imdb(&source.paths[0])?;
    let mut cleaned = texts.cleaned();
    let kept = first_of_each(&cleaned);
    let texts = texts.select(&kept);
    let is_drawn = draw(kept.len(), kept.len() / IMDB_TEST_SHARE, source.seed, "imdb test");
    let documents = match source.options.imdb_clean_features {
        true => &kept.iter().map(|&row| std::mem::take(&mut cleaned[row])).collect(),
        false => &texts.raw,
    };
    text_problem(source, &texts, documents, &KeywordLabelers::imdb(), |text, is_covered| is_drawn[text] || !is_covered)
}

/// Each line: the published part, the class, a number, the stars and the review. Nothing is quoted.
fn read_imdb(path: &Path) -> Result<LabelledTexts> {
    let mut texts = LabelledTexts::default();
    visit_lines(path, LONGEST_REVIEW, |number, line| {
        let line = std::str::from_utf8(line).map_err(|_| Error::content(path, "text in UTF-8", "other bytes"))?;
        if number == 1 {
            let is_header = line == IMDB_HEADER;
            return if is_header { Ok(()) } else { Err(wrong_fields(path, line)) };
        }
        let fields = line.splitn(5, '\t').collect::<Vec<_>>();
        let [_, label, _, _, text] = fields[..] else { return Err(wrong_fields(path, line)) };
        texts.labels.push(polarity(path, label)?);
        texts.raw.push(text.to_owned());
        Ok(())
    })?;
    Ok(texts)
}

fn wrong_fields(path: &Path, line: &str) -> Error {
    let expected = "the fields split, label, id, rating and text, separated by tabs";
    Error::cell(path, expected, line)
}

/// The paper's test rows, of so many.
const YELP_TEST_SHARE: f64 = 10_000.0 / 55_370.0;

#[derive(Deserialize)]
struct Review {
    text: String,
    label: u8,
}

/// Yelp reviews: fourteen groups of keywords vote on polarity.
///
/// Deviation: the published set is cut from a file that is no longer offered. This one is the development and test parts of
/// another published sample of the same reviews, 7,600 in all, joined and split anew:
///
/// ```text
/// 1. drop reviews that no keyword covers, and those that are empty or repeated once cleaned
/// 2. as large a share as in the paper, 10,000 of 55,370, drawn by the seed, is for testing; the others are for training
/// ```
///
/// Its third part, the reviews on which that sample's own rules abstain, is left out: it is not a random sample, two thirds of
/// it being negative. Keywords are looked for in the reviews as they are, vectors are those of the cleaned reviews.
pub(crate) fn load_yelp(source: &Source<'_>) -> Result<WeakProblem> {
    let mut texts = LabelledTexts::default();
    for path in &source.paths[..2] {
        for review in read_json::<Vec<Review>>(path)? {
            texts.labels.push(polarity(path, &review.label.to_string())?);
            texts.raw.push(with_line_breaks(&review.text));
        }
    }
    let labelers = KeywordLabelers::yelp();
    let documents = texts.cleaned();
    let signals = labelers.vote(&texts.raw)?;
    let mut kept = first_of_each(&documents);
    kept.retain(|&row| signals.is_covered(row));
    let texts = texts.select(&kept);
    let documents = kept.iter().map(|&row| documents[row].clone()).collect::<Vec<_>>();
    let n_test = (YELP_TEST_SHARE * kept.len() as f64).round() as usize;
    let is_drawn = draw(kept.len(), n_test, source.seed, "yelp test");
    text_problem(source, &texts, &documents, &labelers, |text, _| is_drawn[text])
}

/// The sample writes line breaks and quotes with a backslash before them, which would glue an `n` to the next word.
fn with_line_breaks(text: &str) -> String {
    text.replace("\\n", "\n").replace("\\\"", "\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{LoadOptions, find, load};

    #[test]
    fn training_rows_are_covered_and_test_rows_are_all_with_a_vector() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            path
        };
        let train = "label,sentence\n1,\"Good, GOOD film\"\n0,A dull film\n1,Some film\n0,Awful!\n";
        let files = &find("sst-2").unwrap().files;
        write(files[0].path, train);
        write(files[1].path, "label,sentence\n1,This film\n0,Zzz\n0,a bad film\n");
        let vectors = write("vectors.txt", "good 2 0\nfilm 1 1\n");
        let options = LoadOptions { word_vectors: Some(vectors), ..LoadOptions::default() };
        let problem = load("sst-2", folder.path(), 0, &options).unwrap();
        // "Some film" has no vote, "Awful!" no vector, "Zzz" neither.
        assert_eq!(problem.train_truth.labels(), [1, 0]);
        assert_eq!(problem.test.truth.labels(), [1, 0]);
        let features = problem.train.features().rounded();
        assert_eq!(features.row(0).to_vec(), [5.0 / 3.0, 1.0 / 3.0]);
        assert!(problem.train.bounds().values().iter().all(|&bound| bound == 0.01));
        assert!(problem.simulation.is_none());
        assert!(!problem.test.signals.is_covered(0));
        let error = load("sst-2", folder.path(), 0, &LoadOptions::default()).unwrap_err();
        assert!(error.to_string().contains("words.txt"), "{error}");
        write(files[1].path, "label,sentence\n2,Another film\n");
        let error = load("sst-2", folder.path(), 0, &options).unwrap_err();
        assert!(error.to_string().contains("line 2: expected 0 or 1, found '2'"), "{error}");
    }

    /// Ten reviews of the same words, of which the first three have a keyword, and repetitions of them.
    fn reviews() -> String {
        let mut text = format!("{IMDB_HEADER}\n");
        for number in 0..10 {
            let word = ["good", "BAD", "excellently"].get(number).unwrap_or(&"so");
            let letter = char::from(b'a' + number as u8);
            text += &format!("train\t{}\t{number}\t7\t{word} film <br />{letter}\n", number % 2);
            text += &format!("test\t1\t{number}\t7\t{word}  film {letter}!\n");
        }
        text + "test\t1\t99\t9\t10/10\n"
    }

    #[test]
    fn uncovered_reviews_are_for_testing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(find("imdb").unwrap().files[0].path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, reviews()).unwrap();
        let vectors = folder.path().join("vectors.txt");
        std::fs::write(&vectors, "film 3\nbr 9\n").unwrap();
        let options = LoadOptions { word_vectors: Some(vectors), ..LoadOptions::default() };
        for seed in 0..5 {
            let problem = load("imdb", folder.path(), seed, &options).unwrap();
            assert_eq!(problem.n_rows(), 10, "repetitions and what is no words go");
            assert_eq!(problem.train.signals().n_uncovered(), 0);
            assert_eq!(problem.test.signals.n_uncovered(), 7);
            // Four tokens as they are: so, film, <br, />d.
            assert_eq!(problem.test.features.values()[[0, 0]], 0.75);
            let clean = LoadOptions { imdb_clean_features: true, ..options.clone() };
            let problem = load("imdb", folder.path(), seed, &clean).unwrap();
            assert_eq!(problem.test.features.values()[[0, 0]], 1.0);
        }
        for (text, expected) in [
            ("a\tb\n".to_owned(), "line 1: expected the fields split"),
            (format!("{IMDB_HEADER}\ntrain\t1\t2\n"), "line 2: expected the fields split"),
            (format!("{IMDB_HEADER}\ntrain\tx\t2\t3\ttext\n"), "line 2: expected 0 or 1, found 'x'"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = load("imdb", folder.path(), 0, &options).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn written_line_breaks_are_line_breaks() {
        assert_eq!(with_line_breaks(r#"Slow.\n\nNot \"good\""#), "Slow.\n\nNot \"good\"");
    }
}
