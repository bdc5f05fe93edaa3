//! Rows larger than memory, in one file or many.

mod cell_codes;
mod feature_stream;
mod key_reader;
mod probability_stream;
mod row_reader;
mod table_parts;
mod vote_stream;

pub use feature_stream::{BadRows, FeatureParts, FeatureReader, FeatureRows};
pub use key_reader::KeyReader;
pub use probability_stream::{ProbabilityReader, ProbabilityStream};
pub use table_parts::{TableParts, VoteParts};
pub use vote_stream::{StreamedPatterns, VoteReader, VoteStream};
