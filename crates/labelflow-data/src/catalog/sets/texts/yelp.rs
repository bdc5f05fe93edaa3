//! Yelp reviews: fourteen groups of keywords vote on polarity.
//!
//! Deviation: the published set is cut from a file that is no longer offered. This one is the development and test parts of
//! another published sample of the same reviews, 7,600 in all, joined and split anew:
//!
//! ```text
//! 1. drop reviews that no keyword covers, and those that are empty or repeated once cleaned
//! 2. as large a share as in the paper, 10,000 of 55,370, drawn by the seed, is for testing; the others are for training
//! ```
//!
//! Its third part, the reviews on which that sample's own rules abstain, is left out: it is not a random sample, two thirds of
//! it being negative. Keywords are looked for in the reviews as they are, vectors are those of the cleaned reviews.

use std::path::Path;

use serde::Deserialize;

use crate::Result;
use crate::catalog::sets::labelled_texts::{
    D_FEATURES, LabelledTexts, VECTORS_FILE, WORDS_FILE, draw, first_of_each, polarity,
    text_problem,
};
use crate::catalog::sets::{CatalogEntry, CatalogFile, Counts, Loader};
use crate::catalog::{LoadOptions, WeakProblem};
use crate::tables::packed_text::read_json;
use crate::texts::KeywordLabelers;

pub(crate) const ENTRY: CatalogEntry = CatalogEntry {
    name: "yelp",
    title: "Yelp reviews (a published sample) with 14 groups of keywords",
    files: &[
        CatalogFile::new(
            FILES[0],
            "",
            "18c54f081d1d7cca6fbd206b55013a363381642a9a7a1c3133ef3ce1e6d3757c",
            1_114_118,
        ),
        CatalogFile::new(
            FILES[1],
            "",
            "432aabceb9dca56e69672a7b5fff9287670ce8adb860629f514353608c2dc660",
            1_065_670,
        ),
        WORDS_FILE,
        VECTORS_FILE,
    ],
    licence: "reviews: Yelp's terms for academic use; word vectors: Public Domain Dedication and License",
    citation: "X. Zhang, J. Zhao, Y. LeCun (2015), https://arxiv.org/abs/1509.01626; the sample: Y. Yu et al. (2021), \
               https://arxiv.org/abs/2010.07835; \
               word vectors: J. Pennington et al. (2014), https://nlp.stanford.edu/projects/glove/",
    counts: Counts { n_rows: 6969, d_features: D_FEATURES, n_classes: 2 },
    load: Loader::Classes(load),
};

const FILES: [&str; 2] =
    ["text/yelp-cosine/dev_data.json.gz", "text/yelp-cosine/test_data.json.gz"];

/// The paper's test rows, of so many.
const TEST_SHARE: f64 = 10_000.0 / 55_370.0;

#[derive(Deserialize)]
struct Review {
    text: String,
    label: u8,
}

fn load(dir: &Path, seed: u64, options: &LoadOptions) -> Result<WeakProblem> {
    let mut texts = LabelledTexts::default();
    for file in FILES {
        let path = dir.join(file);
        for review in read_json::<Vec<Review>>(&path)? {
            texts.labels.push(polarity(&path, &review.label.to_string())?);
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
    let n_test = (TEST_SHARE * kept.len() as f64).round() as usize;
    let is_drawn = draw(kept.len(), n_test, seed, "yelp test");
    text_problem(dir, &texts, &documents, &labelers, options, |text, _| is_drawn[text])
}

/// The sample writes line breaks and quotes with a backslash before them, which would glue an `n` to the next word.
fn with_line_breaks(text: &str) -> String {
    text.replace("\\n", "\n").replace("\\\"", "\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_line_breaks_are_line_breaks() {
        assert_eq!(with_line_breaks(r#"Slow.\n\nNot \"good\""#), "Slow.\n\nNot \"good\"");
    }
}
