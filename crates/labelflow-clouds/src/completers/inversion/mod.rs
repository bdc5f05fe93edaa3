//! Shape-inversion: a generator that is fitted to each scan.

mod inversion_training;
mod latent_inversion;
mod patch_variance;
mod shape_critic;
mod shape_inversion;
mod tree_generator;

pub use shape_inversion::{FittedShapeInversion, Inversion, ShapeInversion};
