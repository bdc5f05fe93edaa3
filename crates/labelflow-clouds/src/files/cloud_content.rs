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
        sample_surface(&cloud, &faces, options.n_surface_points, options.seed).map_err(Error::in_file(path))
    }

    /// Adds a polygon as triangles around its first corner.
    pub(crate) fn push_polygon(&mut self, corners: &[u32]) {
        for pair in corners.windows(2).skip(1) {
            self.faces.push([corners[0], pair[0], pair[1]]);
        }
    }
}

/// Where coordinates, normals, colours and parts stand among the numbers of a point.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PointColumns {
    pub(crate) point: [usize; 3],
    pub(crate) normal: Option<[usize; 3]>,
    pub(crate) color: Option<[usize; 3]>,
    pub(crate) part: Option<usize>,
}

impl PointColumns {
    /// Those that `find` finds by any of several names; none without x, y and z.
    pub(crate) fn named(
        find: impl Fn(&[&str]) -> Option<usize>,
        normal: [&str; 3],
        color: [&[&str]; 3],
        part: &[&str],
    ) -> Option<Self> {
        let three = |names: [&[&str]; 3]| -> Option<[usize; 3]> {
            let [x, y, z] = names.map(&find);
            Some([x?, y?, z?])
        };
        Some(Self {
            point: three([&["x"], &["y"], &["z"]])?,
            normal: three(normal.each_ref().map(std::slice::from_ref)),
            color: three(color),
            part: find(part),
        })
    }

    /// Adds a point with these numbers; `byte` makes a colour of the number at a place. An error is the place of what is no part.
    pub(crate) fn push(
        &self,
        numbers: &[f64],
        byte: impl Fn(usize) -> u8,
        content: &mut CloudContent,
    ) -> std::result::Result<(), usize> {
        content.points.push(self.point.map(|place| numbers[place]));
        let normal = self.normal.map(|places| places.map(|place| numbers[place] as f32));
        content.normals.extend(normal);
        content.colors.extend(self.color.map(|places| places.map(byte)));
        let part = self.part.map(|place| part_of(numbers[place]).ok_or(place)).transpose()?;
        content.parts.extend(part);
        Ok(())
    }
}

/// A part from a number, if it is one.
fn part_of(number: f64) -> Option<u32> {
    let is_part = number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number);
    is_part.then_some(number as u32)
}
