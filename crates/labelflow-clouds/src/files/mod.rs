//! Clouds and meshes in files.

mod cloud_content;
mod cloud_file;
#[cfg_attr(not(feature = "las"), path = "without_las.rs")]
mod las_file;
mod lzf;
mod obj_file;
mod off_file;
mod out_column;
mod pcd_file;
mod ply_file;
pub(crate) mod point_lines_file;
mod scalar_type;
mod stl_file;
mod text;

pub use cloud_file::{CloudOptions, read_cloud, read_cloud_with, read_clouds, write_cloud};
pub use pcd_file::{PcdEncoding, write_pcd};
pub use ply_file::{PlyEncoding, write_ply};
