//! Texts as features, and keywords that vote on them.

mod clean_text;
mod hashed_words;
mod keyword_labelers;
mod texts_file;
mod word_vectors;

pub use clean_text::clean_text;
pub use hashed_words::HashedWords;
pub use keyword_labelers::{KeywordLabeler, KeywordLabelers};
pub use texts_file::read_texts;
pub use word_vectors::{AveragedDocuments, WordVectors};
