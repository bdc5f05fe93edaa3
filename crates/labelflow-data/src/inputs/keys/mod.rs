//! What the rows of a table are called, so that the rows of another table find theirs.
//!
//! ```text
//! features.csv      labels.csv
//! id,size           id,label
//! q7,1.5            q2,spam          the label of q7 is ham, though it stands in the second row
//! q2,0.5            q7,ham
//! ```

mod key_column;
mod key_head;
mod keyed;
mod row_keys;
mod row_names;

pub use key_column::KeyColumn;
pub(crate) use key_column::ROW;
pub use key_head::KeyHead;
pub use keyed::{Keyed, Rows};
pub use row_keys::RowKeys;
pub use row_names::RowNames;
