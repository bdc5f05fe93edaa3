//! What labelers say: votes and probabilities, and rows of votes counted in bounded memory.

mod counted_votes;
mod signals;
mod vote_counter;
pub(crate) mod vote_patterns;
mod vote_tally;
pub(crate) mod votes;

pub use counted_votes::CountedVotes;
pub(crate) use signals::check_distinct;
pub use signals::{SignalValues, SignalView, WeakSignals};
pub use vote_counter::VoteCounter;
pub(crate) use vote_patterns::{VotePatterns, vote_shares};
pub use vote_tally::VoteTally;
pub use votes::{ABSTAIN, Votes};
pub(crate) use votes::{cast_votes, check_n_classes};
