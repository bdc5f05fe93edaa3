//! What is known about labelers: bounds on their errors, and what their votes show.

mod auto_bounds;
mod bounds;
pub(crate) mod krippendorff_alpha;
pub(crate) mod labeler_cliques;
mod labeler_errors;
pub(crate) mod labeler_pairs;
pub(crate) mod labeler_summary;

pub use auto_bounds::AutoBounds;
pub use bounds::Bounds;
pub use krippendorff_alpha::{krippendorff_alpha, krippendorff_alpha_of_counts};
pub use labeler_errors::LabelerErrors;
pub use labeler_pairs::{LabelerPair, labeler_pairs, labeler_pairs_of_counts};
pub use labeler_summary::{LabelerSummary, analyze};
