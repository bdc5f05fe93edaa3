//! The columns of a cloud that is written, whatever the format.

use std::borrow::Cow;

use crate::geometry::PointCloud;

/// A column: its name in PLY and CSV files, and a number for each point.
pub(crate) struct OutColumn<'cloud> {
    pub(crate) name: &'static str,
    pub(crate) values: OutValues<'cloud>,
}

pub(crate) enum OutValues<'cloud> {
    /// A coordinate, in double precision.
    Double(&'cloud [[f64; 3]], usize),
    /// A coordinate that single precision holds.
    Single(&'cloud [[f64; 3]], usize),
    /// A component of the normal.
    Normal(&'cloud [[f32; 3]], usize),
    /// A channel of the colour.
    Byte(&'cloud [[u8; 3]], usize),
    /// Whole numbers.
    Whole(Cow<'cloud, [u32]>),
}

/// The coordinates: as floats if that loses nothing, otherwise as doubles.
pub(crate) fn coordinate_columns(cloud: &PointCloud) -> Vec<OutColumn<'_>> {
    let points = cloud.points();
    let is_single = points.as_flattened().iter().all(|&value| f64::from(value as f32) == value);
    let kind = if is_single { OutValues::Single } else { OutValues::Double };
    columns(["x", "y", "z"], |axis| kind(points, axis)).collect()
}

/// Coordinates, normals, colours and parts, as far as there are any.
pub(crate) fn all_columns(cloud: &PointCloud) -> Vec<OutColumn<'_>> {
    let mut all = coordinate_columns(cloud);
    all.extend(normal_columns(cloud, ["nx", "ny", "nz"]));
    all.extend(color_columns(cloud));
    all.extend(part_column(cloud));
    all
}

pub(crate) fn normal_columns<'cloud>(
    cloud: &'cloud PointCloud,
    names: [&'static str; 3],
) -> impl Iterator<Item = OutColumn<'cloud>> {
    let normals = cloud.normals().into_iter();
    normals.flat_map(move |normals| columns(names, move |axis| OutValues::Normal(normals, axis)))
}

pub(crate) fn color_columns(cloud: &PointCloud) -> impl Iterator<Item = OutColumn<'_>> {
    let names = ["red", "green", "blue"];
    let colors = cloud.colors().into_iter();
    colors.flat_map(move |colors| columns(names, move |channel| OutValues::Byte(colors, channel)))
}

pub(crate) fn part_column(cloud: &PointCloud) -> Option<OutColumn<'_>> {
    let values = OutValues::Whole(cloud.parts()?.into());
    Some(OutColumn { name: "label", values })
}

fn columns<'cloud>(
    names: [&'static str; 3],
    values: impl Fn(usize) -> OutValues<'cloud>,
) -> impl Iterator<Item = OutColumn<'cloud>> {
    let column = move |(axis, name)| OutColumn { name, values: values(axis) };
    names.into_iter().enumerate().map(column)
}

impl OutColumn<'_> {
    /// The number of bytes of a value.
    pub(crate) fn size(&self) -> usize {
        match self.values {
            OutValues::Double(..) => 8,
            OutValues::Byte(..) => 1,
            _ => 4,
        }
    }

    /// Adds the bytes of a value, the lowest first.
    pub(crate) fn push_bytes(&self, index: usize, bytes: &mut Vec<u8>) {
        match &self.values {
            OutValues::Double(points, axis) => bytes.extend(points[index][*axis].to_le_bytes()),
            OutValues::Single(points, axis) => {
                bytes.extend((points[index][*axis] as f32).to_le_bytes());
            }
            OutValues::Normal(normals, axis) => bytes.extend(normals[index][*axis].to_le_bytes()),
            OutValues::Byte(colors, channel) => bytes.push(colors[index][*channel]),
            OutValues::Whole(values) => bytes.extend(values[index].to_le_bytes()),
        }
    }

    /// A value as text. That of a coordinate has the digits of the double: readers that keep doubles then read the same number.
    fn text(&self, index: usize) -> String {
        match &self.values {
            OutValues::Double(points, axis) | OutValues::Single(points, axis) => {
                points[index][*axis].to_string()
            }
            OutValues::Normal(normals, axis) => normals[index][*axis].to_string(),
            OutValues::Byte(colors, channel) => colors[index][*channel].to_string(),
            OutValues::Whole(values) => values[index].to_string(),
        }
    }
}

/// The values of a point as text.
pub(crate) fn row(columns: &[OutColumn<'_>], index: usize, separator: &str) -> String {
    columns.iter().map(|column| column.text(index)).collect::<Vec<_>>().join(separator)
}
