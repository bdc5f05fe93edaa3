//! Points drawn from the surface of a mesh, as many from each triangle as its area deserves.
//!
//! ```text
//! triangle t with probability area_t / Σ area;   p = a + √u (1 − v) (b − a) + √u v (c − a),   u, v uniform on [0, 1)
//! ```

use labelflow_data::stream;
use labelflow_weak::{Error, Result};
use rand::RngExt;

use crate::geometry::PointCloud;

/// Draws `n_points` points of the triangles between the points of `vertices`.
///
/// A point takes the part and the colour of its triangle's first corner, and the triangle's normal. A mesh whose triangles have no
/// area is its vertices.
///
/// ```
/// use labelflow_clouds::shapes::sample_surface;
/// use labelflow_clouds::geometry::PointCloud;
///
/// let corners = PointCloud::new(vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])?;
/// let cloud = sample_surface(&corners, &[[0, 1, 2]], 100, 0)?;
/// assert!(cloud.points().iter().all(|p| p[0] + p[1] <= 1.0 && p[2] == 0.0));
/// assert_eq!(cloud.normals().map(|normals| normals[0]), Some([0.0, 0.0, 1.0]));
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
pub fn sample_surface(vertices: &PointCloud, faces: &[[u32; 3]], n_points: usize, seed: u64) -> Result<PointCloud> {
    if n_points == 0 {
        return Err(Error::config("n_surface_points", "at least 1", 0));
    }
    let corners = vertices.points();
    let mut total = 0.0;
    let mut sums = Vec::with_capacity(faces.len());
    for face in faces {
        let triangle = triangle(corners, face)?;
        total += length(cross(triangle[1], triangle[2])) / 2.0;
        sums.push(total);
    }
    if !(total.is_finite() && total > 0.0) {
        return Ok(vertices.clone());
    }
    let rng = &mut stream(seed, "surface");
    let (mut points, mut normals) = (Vec::new(), Vec::new());
    let mut first_corners = Vec::new();
    for _ in 0..n_points {
        let wanted = rng.random_range(0.0..total);
        let face = sums.partition_point(|&sum| sum <= wanted).min(faces.len() - 1);
        let [origin, to_second, to_third] = triangle(corners, &faces[face])?;
        let (root, v) = (rng.random::<f64>().sqrt(), rng.random::<f64>());
        let (second, third) = (root * (1.0 - v), root * v);
        points.push(std::array::from_fn(|axis| origin[axis] + second * to_second[axis] + third * to_third[axis]));
        let normal = cross(to_second, to_third);
        let size = length(normal);
        normals.push(normal.map(|value| (value / size) as f32));
        first_corners.push(faces[face][0] as usize);
    }
    vertices.select(&first_corners).moved_to(points)?.with_normals(normals)
}

/// A corner and the two sides that leave it.
fn triangle(corners: &[[f64; 3]], face: &[u32; 3]) -> Result<[[f64; 3]; 3]> {
    let corner = |index: u32| {
        corners.get(index as usize).copied().ok_or_else(|| {
            let expected = format!("indices below {}", corners.len());
            Error::data("faces of a mesh", expected, index)
        })
    };
    let origin = corner(face[0])?;
    let side = |end: [f64; 3]| std::array::from_fn(|axis| end[axis] - origin[axis]);
    Ok([origin, side(corner(face[1])?), side(corner(face[2])?)])
}

pub(super) fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn length(a: [f64; 3]) -> f64 {
    f64::hypot(f64::hypot(a[0], a[1]), a[2])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_triangles() -> PointCloud {
        // The second one has three times the area of the first, and lies in the plane z = 1.
        let corners =
            vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [3.0, 0.0, 1.0], [0.0, 1.0, 1.0]];
        PointCloud::new(corners).unwrap().with_parts(vec![0, 0, 0, 1, 1, 1]).unwrap()
    }

    #[test]
    fn triangles_get_what_their_area_deserves() {
        let cloud = sample_surface(&two_triangles(), &[[0, 1, 2], [3, 4, 5]], 10_000, 1).unwrap();
        let on_second = cloud.points().iter().filter(|point| point[2] == 1.0).count();
        // Expected 7500, with a standard deviation of 43.
        assert!((7500i64 - on_second as i64).abs() < 180, "{on_second}");
        for (point, part) in cloud.points().iter().zip(cloud.parts().unwrap()) {
            assert_eq!(f64::from(*part), point[2]);
        }
        let again = sample_surface(&two_triangles(), &[[0, 1, 2], [3, 4, 5]], 10_000, 1).unwrap();
        assert_eq!(cloud, again);
        // The mean of a triangle is its centre of mass.
        let mean: f64 = cloud.points().iter().filter(|p| p[2] == 1.0).map(|p| p[0]).sum::<f64>() / on_second as f64;
        assert!((mean - 1.0).abs() < 0.04, "{mean}");
    }

    #[test]
    fn triangles_without_area_are_their_corners() {
        let line = PointCloud::new(vec![[0.0; 3], [1.0; 3], [2.0; 3]]).unwrap();
        assert_eq!(sample_surface(&line, &[[0, 1, 2]], 9, 0).unwrap(), line);
        assert!(sample_surface(&line, &[[0, 1, 3]], 9, 0).is_err());
        assert!(sample_surface(&line, &[[0, 1, 2]], 0, 0).is_err());
    }
}
