//! The columns of a cloud that is written, whatever the format.

use std::io::{self, Write};

use super::scalar_type::ScalarType;
use crate::geometry::PointCloud;

/// A column: its name in the file, how binary files store it, and a number for each point.
pub(crate) struct OutColumn<'cloud> {
    pub(crate) name: &'static str,
    pub(crate) stored: ScalarType,
    /// Whether text has the digits of single precision. Coordinates always have those of the double: readers that keep doubles then read the
    /// same number.
    is_short: bool,
    value: Box<dyn Fn(usize) -> f64 + 'cloud>,
}

/// The coordinates: as floats if that loses nothing, otherwise as doubles.
pub(crate) fn coordinate_columns(cloud: &PointCloud) -> Vec<OutColumn<'_>> {
    let points = cloud.points();
    let is_single = points.as_flattened().iter().all(|&value| f64::from(value as f32) == value);
    let stored = ScalarType::Float(if is_single { 4 } else { 8 });
    columns(["x", "y", "z"], stored, move |index| points[index]).collect()
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
    let of =
        move |normals: &'cloud [[f32; 3]]| columns(names, ScalarType::Float(4), |index| normals[index].map(f64::from));
    cloud.normals().into_iter().flat_map(of).map(|column| OutColumn { is_short: true, ..column })
}

pub(crate) fn color_columns(cloud: &PointCloud) -> impl Iterator<Item = OutColumn<'_>> {
    let names = ["red", "green", "blue"];
    let byte = ScalarType::Unsigned(1);
    let colors = cloud.colors().into_iter();
    colors.flat_map(move |colors| columns(names, byte, |index| colors[index].map(f64::from)))
}

pub(crate) fn part_column(cloud: &PointCloud) -> Option<OutColumn<'_>> {
    let parts = cloud.parts()?;
    Some(OutColumn::whole("label", |index| parts[index]))
}

/// One column of each of three values.
fn columns<'cloud>(
    names: [&'static str; 3],
    stored: ScalarType,
    values: impl Fn(usize) -> [f64; 3] + Copy + 'cloud,
) -> impl Iterator<Item = OutColumn<'cloud>> {
    let column = move |(axis, name)| {
        let value = Box::new(move |index| values(index)[axis]);
        OutColumn { name, stored, is_short: false, value }
    };
    names.into_iter().enumerate().map(column)
}

impl<'cloud> OutColumn<'cloud> {
    /// Whole numbers.
    pub(crate) fn whole(name: &'static str, value: impl Fn(usize) -> u32 + 'cloud) -> Self {
        let value = Box::new(move |index| f64::from(value(index)));
        Self { name, stored: ScalarType::Unsigned(4), is_short: false, value }
    }

    /// Adds the bytes of a value, the lowest first.
    pub(crate) fn push_bytes(&self, index: usize, bytes: &mut Vec<u8>) {
        self.stored.push((self.value)(index), bytes);
    }

    fn text(&self, index: usize) -> String {
        let value = (self.value)(index);
        if self.is_short { (value as f32).to_string() } else { value.to_string() }
    }
}

/// The values of a point as text.
pub(crate) fn row(columns: &[OutColumn<'_>], index: usize, separator: &str) -> String {
    columns.iter().map(|column| column.text(index)).collect::<Vec<_>>().join(separator)
}

/// Writes the values of all points, each point in a line.
pub(crate) fn write_text(
    writer: &mut impl Write,
    columns: &[OutColumn<'_>],
    n_points: usize,
    separator: &str,
) -> io::Result<()> {
    (0..n_points).try_for_each(|index| writeln!(writer, "{}", row(columns, index, separator)))
}

/// Writes the values of all points in binary, point after point.
pub(crate) fn write_binary(
    writer: &mut impl Write,
    columns: &[OutColumn<'_>],
    n_points: usize,
    is_big_endian: bool,
) -> io::Result<()> {
    let mut bytes = Vec::new();
    for index in 0..n_points {
        bytes.clear();
        for column in columns {
            let start = bytes.len();
            column.push_bytes(index, &mut bytes);
            if is_big_endian {
                bytes[start..].reverse();
            }
        }
        writer.write_all(&bytes)?;
    }
    Ok(())
}
