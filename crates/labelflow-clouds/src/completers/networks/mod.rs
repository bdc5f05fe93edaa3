//! Networks and losses that several completers use.

mod dense_layers;
mod earth_movers_loss;
mod nearest_points;
mod point_features;

pub(crate) use dense_layers::{DenseLayers, as_clouds, normal_layer, through};
pub(crate) use earth_movers_loss::{earth_movers_distance, earth_movers_loss};
pub(crate) use nearest_points::{FAR, nearest_distances, nearest_squares, several_nearest};
pub(crate) use point_features::PointFeatures;

pub(crate) use super::flow::{Latent, discriminator_loss, weighted_sum};
