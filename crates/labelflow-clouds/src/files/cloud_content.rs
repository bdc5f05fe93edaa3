//! What a file of points or triangles holds, before it becomes a cloud.

use std::path::Path;

use labelflow_data::{Error, Result};

use crate::files::CloudOptions;
use crate::geometry::PointCloud;
use crate::shapes::sample_surface;

/// Points and triangles as a file has them. Empty lists stand for what the file does not have.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct CloudContent {
    pub(crate) points: Vec<[f64; 3]>,
    pub(crate) parts: Vec<u32>,
    pub(crate) normals: Vec<[f32; 3]>,
    pub(crate) colors: Vec<[u8; 3]>,
    pub(crate) faces: Vec<[u32; 3]>,
}

impl CloudContent {
    /// The points, or points drawn from the triangles if there are any.
    pub(crate) fn into_cloud(self, path: &Path, options: &CloudOptions) -> Result<PointCloud> {
        let n_vertices = self.points.len();
        let outside = self.faces.iter().flatten().find(|&&corner| corner as usize >= n_vertices);
        if let Some(corner) = outside {
            let expected = format!("faces between the {n_vertices} vertices");
            return Err(Error::content(path, expected, format!("the index {corner}")));
        }
        let faces = self.faces;
        let mut cloud = PointCloud::new(self.points).map_err(Error::in_file(path))?;
        if !self.parts.is_empty() {
            cloud = cloud.with_parts(self.parts).map_err(Error::in_file(path))?;
        }
        if !self.normals.is_empty() {
            cloud = cloud.with_normals(self.normals).map_err(Error::in_file(path))?;
        }
        if !self.colors.is_empty() {
            cloud = cloud.with_colors(self.colors).map_err(Error::in_file(path))?;
        }
        if faces.is_empty() {
            return Ok(cloud);
        }
        sample_surface(&cloud, &faces, options.n_surface_points, options.seed)
            .map_err(Error::in_file(path))
    }

    /// Adds a polygon as triangles around its first corner.
    pub(crate) fn push_polygon(&mut self, corners: &[u32]) {
        for pair in corners.windows(2).skip(1) {
            self.faces.push([corners[0], pair[0], pair[1]]);
        }
    }
}
