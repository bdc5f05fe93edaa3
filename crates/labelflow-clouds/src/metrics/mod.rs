//! Distances between clouds, and between sets of clouds.

mod annealed_matching;
mod chamfer;
mod completion_scores;
mod earth_movers;
mod f_score;
mod hausdorff;
mod matching_distance;
mod mutual_difference;
mod sampling_floor;

pub use annealed_matching::AnnealedMatching;
pub use chamfer::Chamfer;
pub use completion_scores::{CompletionScores, MMD_UNIT, TMD_UNIT, UHD_UNIT};
pub use earth_movers::{MovingCost, auction_earth_movers_distance, exact_earth_movers_distance};
pub use f_score::{FScore, share_within};
pub use hausdorff::{FarthestPair, directed_hausdorff, unidirectional_hausdorff};
pub use matching_distance::{MatchingDistance, minimum_matching_distance};
pub use mutual_difference::{mutual_difference, total_mutual_difference};
pub use sampling_floor::SamplingFloor;
