//! Stanford Sentiment Treebank, two classes, whole sentences: fourteen groups of keywords vote on polarity.
//!
//! Training rows are the 3,998 of 6,920 sentences that contain a keyword; the 1,821 test sentences are all kept, with or
//! without one. Keywords are looked for in the sentences as they are, vectors are those of the cleaned sentences.
//!
//! Deviation: repeated sentences stay, since the published 3,998 rows have them.

use std::path::Path;

use crate::Result;
use crate::catalog::sets::labelled_texts::{
    D_FEATURES, LabelledTexts, VECTORS_FILE, WORDS_FILE, polarity, text_problem,
};
use crate::catalog::sets::{CatalogEntry, CatalogFile, Counts, Loader};
use crate::catalog::{LoadOptions, WeakProblem};
use crate::texts::KeywordLabelers;

pub(crate) const ENTRY: CatalogEntry = CatalogEntry {
    name: "sst-2",
    title: "Stanford Sentiment Treebank with 14 groups of keywords",
    files: &[
        CatalogFile::new(
            TRAIN,
            "https://raw.githubusercontent.com/jianhui-chen/Constrained-Weak-Supervision/main/datasets/sst-2/sst2-train.csv",
            "6003623bcb35aad3a446a265b8931b7ccab61fcc10f2e9c1fec916ff67c7be35",
            726_331,
        ),
        CatalogFile::new(
            TEST,
            "https://raw.githubusercontent.com/jianhui-chen/Constrained-Weak-Supervision/main/datasets/sst-2/sst2-test.csv",
            "519cea7ed4d22fe7ec4eccbb3d5ba6d88902a3b15ce129f476aa8364463a9fc7",
            190_431,
        ),
        WORDS_FILE,
        VECTORS_FILE,
    ],
    licence: "sentences: none stated (Stanford); word vectors: Public Domain Dedication and License",
    citation: "R. Socher et al. (2013), https://aclanthology.org/D13-1170/; \
               word vectors: J. Pennington et al. (2014), https://nlp.stanford.edu/projects/glove/",
    counts: Counts { n_rows: 5819, d_features: D_FEATURES, n_classes: 2 },
    load: Loader::Classes(load),
};

const TRAIN: &str = "text/sst2-cll/sst2-train.csv";
const TEST: &str = "text/sst2-cll/sst2-test.csv";

fn load(dir: &Path, _seed: u64, options: &LoadOptions) -> Result<WeakProblem> {
    let mut texts = LabelledTexts::read(&dir.join(TRAIN), polarity)?;
    let n_train = texts.labels.len();
    let test = LabelledTexts::read(&dir.join(TEST), polarity)?;
    texts.labels.extend(test.labels);
    texts.raw.extend(test.raw);
    let labelers = KeywordLabelers::sst2();
    text_problem(dir, &texts, &texts.cleaned(), &labelers, options, |text, _| text >= n_train)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::load;

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
        write(TRAIN, train);
        write(TEST, "label,sentence\n1,This film\n0,Zzz\n0,a bad film\n");
        let vectors = write("vectors.txt", "good 2 0\nfilm 1 1\n");
        let options = LoadOptions { word_vectors: Some(vectors), ..LoadOptions::default() };
        let problem = load("sst-2", folder.path(), 0, &options).unwrap();
        // "Some film" has no vote, "Awful!" no vector, "Zzz" neither.
        assert_eq!(problem.train_truth.labels(), [1, 0]);
        assert_eq!(problem.test.truth.labels(), [1, 0]);
        let features = problem.train.features().values();
        assert_eq!(features.row(0).to_vec(), [5.0 / 3.0, 1.0 / 3.0]);
        assert!(problem.train.bounds().values().iter().all(|&bound| bound == 0.01));
        assert!(problem.simulation.is_none());
        assert!(!problem.test.signals.is_covered(0));
        let error = load("sst-2", folder.path(), 0, &LoadOptions::default()).unwrap_err();
        assert!(error.to_string().contains("words.txt"), "{error}");
        write(TEST, "label,sentence\n2,Another film\n");
        let error = load("sst-2", folder.path(), 0, &options).unwrap_err();
        assert!(error.to_string().contains("line 2: expected 0 or 1, found '2'"), "{error}");
    }
}
