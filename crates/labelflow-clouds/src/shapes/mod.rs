//! Sets of shapes: made of parts, synthetic, or sampled from meshes.

mod furniture;
mod part_tree;
mod partnet_arrays;
mod partnet_folder;
mod shape_set;
mod surface_sampling;

pub use furniture::{Furniture, FurnitureCategory, FurnitureModel, FurnitureSizes, write_furniture};
pub use part_tree::PartTree;
pub use partnet_arrays::{ArrayParts, PartNetArrays, read_partnet_arrays};
pub use partnet_folder::{
    DroppedShape, PartNetOptions, PartNetShapes, read_partnet, read_partnet_shape, read_partnet_split,
};
pub use shape_set::{ShapeProblem, ShapeSet};
pub use surface_sampling::sample_surface;
