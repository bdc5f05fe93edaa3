//! Point clouds: shapes, files, pictures, measures, and completion of partial scans without pairs.
//!
//! | module | holds |
//! |---|---|
//! | [`geometry`] | clouds, shapes made of parts, frames, nearest neighbours, partial clouds cut from shapes |
//! | [`files`] | clouds and meshes in files: ply, pcd, xyz, pts, csv, off, obj, stl, las, npy |
//! | [`shapes`] | sets of shapes: PartNet folders, synthetic furniture, meshes |
//! | [`pictures`] | clouds drawn as a picture, or as a page in which they can be turned |
//! | [`metrics`] | distances between clouds and between sets of clouds |
//! | [`completers`] | completion: label learning flows and the five systems they are compared with (cargo feature `completers`, on by default) |

// First: its macro is seen by what follows.
#[macro_use]
mod settings;

#[cfg(feature = "completers")]
pub mod completers;
pub mod files;
pub mod geometry;
pub mod metrics;
pub mod pictures;
pub mod shapes;
