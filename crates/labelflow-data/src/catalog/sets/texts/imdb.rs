//! IMDB movie reviews: ten single keywords vote on polarity.
//!
//! ```text
//! 1. drop reviews that are empty or repeated once cleaned; the first of equal ones stays
//! 2. a fifth of the rest, drawn by the seed, is for testing
//! 3. the others are for training where a keyword occurs, and for testing where none does
//! 4. drop reviews without a known token
//! ```
//!
//! Step 3 is the published protocol: it leaves test rows that are harder than a random sample, since about half of them have
//! no vote. Keywords are looked for in the reviews as they are, and so are the tokens of the vectors, unless
//! `imdb_clean_features` is set.
//!
//! Deviation: the published split was drawn by another generator from another order of the reviews, so it cannot be had
//! again; ours is drawn anew for each seed. The file is a joined copy of the 50,000 published reviews, of which at least one
//! (the first) is not the published text.

use std::path::Path;

use crate::catalog::sets::labelled_texts::{
    D_FEATURES, LabelledTexts, VECTORS_FILE, WORDS_FILE, draw, first_of_each, polarity,
    text_problem,
};
use crate::catalog::sets::{CatalogEntry, CatalogFile, Counts, Loader};
use crate::catalog::{LoadOptions, WeakProblem};
use crate::tables::packed_text::visit_lines;
use crate::texts::KeywordLabelers;
use crate::{Error, Result};

pub(crate) const ENTRY: CatalogEntry = CatalogEntry {
    name: "imdb",
    title: "IMDB movie reviews with 10 keywords",
    files: &[
        CatalogFile::new(
            FILE,
            "",
            "180d73f3cbc9a9f5c537ffca1682064f3c23eab8d1502fa9f135d77134b702c8",
            25_474_228,
        ),
        WORDS_FILE,
        VECTORS_FILE,
    ],
    licence: "reviews: none stated; word vectors: Public Domain Dedication and License",
    citation: "A. Maas et al. (2011), https://ai.stanford.edu/~amaas/data/sentiment/; \
               word vectors: J. Pennington et al. (2014), https://nlp.stanford.edu/projects/glove/",
    counts: Counts { n_rows: 49_565, d_features: D_FEATURES, n_classes: 2 },
    load: Loader::Classes(load),
};

const FILE: &str = "text/imdb/imdb.tsv.gz";
const HEADER: &str = "split\tlabel\tid\trating\ttext";
/// The longest line worth reading; the longest review has fourteen thousand letters.
const LONGEST_LINE: u64 = 1 << 20;
/// One in so many reviews is drawn for testing.
const TEST_SHARE: usize = 5;

fn load(dir: &Path, seed: u64, options: &LoadOptions) -> Result<WeakProblem> {
    let texts = read(&dir.join(FILE))?;
    let mut cleaned = texts.cleaned();
    let kept = first_of_each(&cleaned);
    let texts = texts.select(&kept);
    let is_drawn = draw(kept.len(), kept.len() / TEST_SHARE, seed, "imdb test");
    let documents = match options.imdb_clean_features {
        true => &kept.iter().map(|&row| std::mem::take(&mut cleaned[row])).collect(),
        false => &texts.raw,
    };
    text_problem(dir, &texts, documents, &KeywordLabelers::imdb(), options, |text, is_covered| {
        is_drawn[text] || !is_covered
    })
}

/// Each line: the published part, the class, a number, the stars and the review. Nothing is quoted.
fn read(path: &Path) -> Result<LabelledTexts> {
    let mut texts = LabelledTexts::default();
    visit_lines(path, LONGEST_LINE, |number, line| {
        let line = std::str::from_utf8(line)
            .map_err(|_| Error::content(path, "text in UTF-8", "other bytes"))?;
        if number == 1 {
            let is_header = line == HEADER;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::load;

    /// Ten reviews of the same words, of which the first three have a keyword, and repetitions of them.
    fn reviews() -> String {
        let mut text = format!("{HEADER}\n");
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
        let path = folder.path().join(FILE);
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
            (format!("{HEADER}\ntrain\t1\t2\n"), "line 2: expected the fields split"),
            (format!("{HEADER}\ntrain\tx\t2\t3\ttext\n"), "line 2: expected 0 or 1, found 'x'"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = load("imdb", folder.path(), 0, &options).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
