//! Synthetic chairs, tables and lamps: shapes with named parts, for which the true completions are known.
//!
//! A piece of furniture has *anchors*, such as the width of a chair and the height of its seat, and *slots*, such as its back. Given the
//! anchors, each slot is drawn on its own. So whoever sees some of the parts knows the anchors, and all that can be said of the
//! others is how they are drawn: the oracle ([`FurnitureModel::complete`]) draws them again, and no method can do better.
//!
//! Everything depends on the seed, the category, the split and the index of a shape, so that sets can be made again and made longer.
//! [`write_furniture`] writes them in PartNet's layout, which [`crate::shapes::read_partnet`] reads.

mod chair;
mod draw;
mod furniture_model;
mod furniture_set;
mod lamp;
mod primitive;
mod table;

pub use furniture_model::{Furniture, FurnitureCategory, FurnitureModel};
pub use furniture_set::{FurnitureSizes, write_furniture};
