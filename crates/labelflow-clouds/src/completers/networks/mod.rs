//! Networks that several completers use.

pub(crate) mod dense_layers;
pub(crate) mod nearest_points;
pub(crate) mod noise_reader;
pub(crate) mod point_autoencoder;
pub(crate) mod point_features;
