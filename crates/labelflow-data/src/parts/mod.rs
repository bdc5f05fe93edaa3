//! Rows larger than memory, in one file or many.

mod cell_codes;
mod feature_stream;
pub(crate) mod label_stream;
mod probability_stream;
mod row_reader;
mod table_parts;
mod table_stream;
mod value_stream;
mod vote_parts;
mod vote_stream;

pub use feature_stream::{BadRows, FeatureParts, FeatureReader, FeatureRows};
pub use label_stream::{
    LabelColumns, LabelRows, LabelStream, write_labels_as_they_come, write_labels_with_as_they_come,
};
pub use probability_stream::{ProbabilityReader, ProbabilityStream};
pub use table_parts::TableParts;
pub use value_stream::{ValueStream, write_value_labels_as_they_come};
pub use vote_parts::VoteParts;
pub use vote_stream::{StreamedPatterns, VoteReader, VoteStream};
