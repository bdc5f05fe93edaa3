//! What labelers say: votes and probabilities, and rows of votes counted in bounded memory.

mod counted_votes;
mod signals;
mod vote_counter;
pub(crate) mod vote_patterns;
mod vote_tally;
pub(crate) mod votes;

pub use counted_votes::CountedVotes;
pub use signals::{SignalValues, WeakSignals};
pub use vote_counter::VoteCounter;
pub use vote_tally::VoteTally;
pub use votes::{ABSTAIN, Votes};
