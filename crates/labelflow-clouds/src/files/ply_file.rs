//! PLY, the Stanford polygon format: a header in text, then elements in text or binary, in either byte order.
//!
//! Of the element `vertex`, the properties x, y, z, nx, ny, nz, red, green, blue and one of label, part, part_id, class are taken, of whatever
//! scalar type; of the element `face` the corners. Everything else is skipped.

use std::io::{self, BufRead, Read, Write};
use std::path::Path;

use labelflow_data::tables::open_text;
use labelflow_data::{Error, Place, Result, write_atomically};

use super::cloud_content::{CloudContent, PointColumns};
use super::out_column::{OutColumn, all_columns, write_binary, write_text};
use super::scalar_type::{ScalarType, color_value};
use super::text::{PART, cut_off, unexpected};
use crate::geometry::PointCloud;

/// The longest header: real ones have a few hundred bytes.
const LONGEST_HEADER: u64 = 1 << 20;
/// The longest number in text.
const LONGEST_NUMBER: usize = 400;
/// The most corners of a polygon.
const MOST_CORNERS: f64 = 65_536.0;
/// The types of numbers by their older names, which are written, and their newer ones.
const TYPES: [([&str; 2], ScalarType); 10] = [
    (["char", "int8"], ScalarType::Signed(1)),
    (["uchar", "uint8"], ScalarType::Unsigned(1)),
    (["short", "int16"], ScalarType::Signed(2)),
    (["ushort", "uint16"], ScalarType::Unsigned(2)),
    (["int", "int32"], ScalarType::Signed(4)),
    (["uint", "uint32"], ScalarType::Unsigned(4)),
    (["int64", "int64"], ScalarType::Signed(8)),
    (["uint64", "uint64"], ScalarType::Unsigned(8)),
    (["float", "float32"], ScalarType::Float(4)),
    (["double", "float64"], ScalarType::Float(8)),
];

/// How the elements of a PLY file are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PlyEncoding {
    /// As text.
    Ascii,
    /// Binary, lowest byte first.
    #[default]
    LittleEndian,
    /// Binary, highest byte first.
    BigEndian,
}

const ENCODINGS: [(&str, PlyEncoding); 3] = [
    ("ascii", PlyEncoding::Ascii),
    ("binary_little_endian", PlyEncoding::LittleEndian),
    ("binary_big_endian", PlyEncoding::BigEndian),
];

struct Element {
    name: String,
    count: u64,
    properties: Vec<Property>,
}

struct Property {
    name: String,
    item: ScalarType,
    /// The type of the length, if the property is a list.
    length: Option<ScalarType>,
}

/// Reads the points and faces of a PLY file.
pub(crate) fn read_ply(path: &Path) -> Result<CloudContent> {
    let mut reader = open_text(path)?;
    let (encoding, elements) = read_header(path, &mut reader)?;
    let mut values = Values { path, reader, encoding, line: 0 };
    let mut content = CloudContent::default();
    for element in &elements {
        match element.name.as_str() {
            "vertex" => read_vertices(&mut values, element, &mut content)?,
            "face" => values.visit(element, |_, _, corners| {
                content.push_polygon(corners);
                Ok(())
            })?,
            _ => values.visit(element, |_, _, _| Ok(()))?,
        }
    }
    Ok(content)
}

fn read_header(path: &Path, reader: &mut impl BufRead) -> Result<(PlyEncoding, Vec<Element>)> {
    let mut encoding = None;
    let mut elements: Vec<Element> = Vec::new();
    let mut limited = reader.take(LONGEST_HEADER);
    let mut bytes = Vec::new();
    for number in 1.. {
        bytes.clear();
        limited.read_until(b'\n', &mut bytes).map_err(|source| Error::read(path, source))?;
        let line = String::from_utf8_lossy(&bytes);
        let refuse = |expected: &str| unexpected(path, expected, line.trim_end()).at(Place::Line(number));
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["ply"] if number == 1 => {}
            _ if number == 1 => return Err(refuse("a PLY file, which starts with 'ply'")),
            ["format", name, _] => {
                let known = ENCODINGS.into_iter().find(|(known, _)| known == name);
                let refuse = || refuse("the format ascii or binary_{little,big}_endian");
                encoding = Some(known.ok_or_else(refuse)?.1);
            }
            ["element", name, count] => {
                let count = count.parse().map_err(|_| refuse("a number of elements"))?;
                elements.push(Element { name: (*name).to_owned(), count, properties: Vec::new() });
            }
            ["property", rest @ ..] => {
                let property = parse_property(rest).ok_or_else(|| refuse("a property"))?;
                let element = elements.last_mut().ok_or_else(|| refuse("an element first"))?;
                element.properties.push(property);
            }
            ["end_header"] => {
                let encoding = encoding.ok_or_else(|| refuse("a line 'format' before"))?;
                return Ok((encoding, elements));
            }
            ["comment" | "obj_info", ..] => {}
            [] if !bytes.is_empty() => {}
            _ => return Err(refuse("a line of a PLY header, which ends with 'end_header'")),
        }
    }
    unreachable!("the file or its limit ends before the numbers do")
}

fn parse_property(words: &[&str]) -> Option<Property> {
    let (length, item, name) = match words {
        ["list", length, item, name] => (Some(parse_type(length)?), item, name),
        [item, name] => (None, item, name),
        _ => return None,
    };
    if length.is_some_and(|length| !length.is_integer()) {
        return None;
    }
    Some(Property { name: (*name).to_owned(), item: parse_type(item)?, length })
}

fn parse_type(name: &str) -> Option<ScalarType> {
    TYPES.into_iter().find(|(names, _)| names.contains(&name)).map(|(_, stored)| stored)
}

fn read_vertices(values: &mut Values<'_>, element: &Element, content: &mut CloudContent) -> Result<()> {
    let properties = &element.properties;
    let find =
        |name: &&str| properties.iter().position(|one| one.length.is_none() && one.name.eq_ignore_ascii_case(name));
    let columns = PointColumns::named(
        |names| names.iter().find_map(find),
        ["nx", "ny", "nz"],
        [&["red"], &["green"], &["blue"]],
        &["label", "part", "part_id", "class"],
    );
    let columns = columns.ok_or_else(|| {
        let names: Vec<&str> = properties.iter().map(|one| one.name.as_str()).collect();
        let found = format!("the properties {}", names.join(", "));
        Error::content(values.path, "vertices with x, y and z", found)
    })?;
    let path = values.path;
    values.visit(element, |index, row, _| {
        let byte = |place: usize| color_value(row[place], properties[place].item);
        columns.push(row, byte, content).map_err(|place| {
            let error = Error::content(path, PART, row[place]).at(Place::Row(index + 1));
            error.in_column(&properties[place].name)
        })
    })
}

/// An early end says how much of the element was there.
fn cut(error: Error, path: &Path, element: &Element, n_read: u64) -> Error {
    match &error {
        Error::Io { source, .. } if source.kind() == io::ErrorKind::UnexpectedEof => {
            let expected = format!("{} of '{}', as the header says", element.count, element.name);
            cut_off(path, expected, format!("{n_read} whole ones"))
        }
        _ => error,
    }
}

/// The numbers after the header.
struct Values<'path> {
    path: &'path Path,
    reader: Box<dyn BufRead>,
    encoding: PlyEncoding,
    line: u64,
}

impl Values<'_> {
    /// Reads an element, item by item: its index, the numbers of its properties (0 for lists), and the corners if it is a face.
    fn visit(&mut self, element: &Element, mut visit: impl FnMut(u64, &[f64], &[u32]) -> Result<()>) -> Result<()> {
        if element.properties.is_empty() {
            return Ok(());
        }
        let is_face = element.name == "face";
        let is_corners = |name: &str| is_face && matches!(name, "vertex_indices" | "vertex_index");
        let (mut row, mut corners) = (vec![0.0; element.properties.len()], Vec::new());
        for index in 0..element.count {
            for (value, property) in row.iter_mut().zip(&element.properties) {
                let read = match property.length {
                    None => self.next(property.item).map(|number| *value = number),
                    Some(length) if is_corners(&property.name) => {
                        self.read_corners(length, property.item).map(|read| corners = read)
                    }
                    Some(length) => self.read_list(length, property.item).map(drop),
                };
                read.map_err(|error| cut(error, self.path, element, index))?;
            }
            visit(index, &row, &corners)?;
        }
        Ok(())
    }

    fn next(&mut self, stored: ScalarType) -> Result<f64> {
        match self.encoding {
            PlyEncoding::Ascii => self.next_text(),
            encoding => stored
                .read(&mut self.reader, encoding == PlyEncoding::BigEndian)
                .map_err(|source| Error::read(self.path, source)),
        }
    }

    fn next_text(&mut self) -> Result<f64> {
        let mut word = Vec::new();
        while word.len() < LONGEST_NUMBER {
            let byte = self.reader.by_ref().bytes().next().transpose();
            match byte.map_err(|source| Error::read(self.path, source))? {
                Some(byte) if !byte.is_ascii_whitespace() => word.push(byte),
                None if word.is_empty() => {
                    return Err(Error::read(self.path, io::ErrorKind::UnexpectedEof.into()));
                }
                end => {
                    self.line += u64::from(end == Some(b'\n'));
                    if !word.is_empty() {
                        break;
                    }
                }
            }
        }
        let word = String::from_utf8_lossy(&word);
        word.parse().map_err(|_| {
            let hint = format!("{} lines after the header", self.line);
            unexpected(self.path, "a number", &word).with_hint(hint)
        })
    }

    /// Reads a list: its length, then its items.
    fn read_list(&mut self, length: ScalarType, item: ScalarType) -> Result<Vec<f64>> {
        let n = self.next(length)?;
        if !(0.0..=MOST_CORNERS).contains(&n) || n.fract() != 0.0 {
            let expected = format!("a list of at most {MOST_CORNERS} items");
            return Err(Error::content(self.path, expected, format!("a length of {n}")));
        }
        (0..n as usize).map(|_| self.next(item)).collect()
    }

    fn read_corners(&mut self, length: ScalarType, item: ScalarType) -> Result<Vec<u32>> {
        let corner = |number: f64| match (0.0..=f64::from(u32::MAX)).contains(&number) {
            true => Ok(number as u32),
            false => Err(Error::content(self.path, "the index of a vertex", number)),
        };
        self.read_list(length, item)?.into_iter().map(corner).collect()
    }
}

/// Writes a cloud as PLY: coordinates as floats if that loses nothing, otherwise as doubles.
pub fn write_ply(path: &Path, cloud: &PointCloud, encoding: PlyEncoding) -> Result<()> {
    let columns = all_columns(cloud);
    let format = ENCODINGS.into_iter().find(|(_, known)| *known == encoding);
    let (format, _) = format.expect("all encodings have names");
    write_atomically(path, |writer| {
        writeln!(writer, "ply\nformat {format} 1.0\nelement vertex {}", cloud.len())?;
        for OutColumn { name, stored, .. } in &columns {
            let found = TYPES.into_iter().find(|(_, other)| other == stored);
            let ([type_name, _], _) = found.expect("all types have names");
            writeln!(writer, "property {type_name} {name}")?;
        }
        writeln!(writer, "end_header")?;
        match encoding {
            PlyEncoding::Ascii => write_text(writer, &columns, cloud.len(), " "),
            _ => write_binary(writer, &columns, cloud.len(), encoding == PlyEncoding::BigEndian),
        }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::files::cloud_file::tests::{full_cloud, read_bytes, utm_cloud};
    use crate::files::read_cloud;

    #[test]
    fn every_encoding_keeps_every_bit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cloud.ply");
        for cloud in [full_cloud(), utm_cloud()] {
            for encoding in [PlyEncoding::Ascii, PlyEncoding::LittleEndian, PlyEncoding::BigEndian] {
                write_ply(&path, &cloud, encoding).unwrap();
                assert_eq!(read_cloud(&path).unwrap(), cloud, "{encoding:?}");
            }
        }
    }

    #[test]
    fn any_scalar_type_unknown_properties_and_lists() {
        let text = "ply\r\nformat ascii 1.0\r\ncomment hello\r\nelement camera 1\r\nproperty float f\r\n\
            element vertex 2\r\nproperty list uchar int more\r\nproperty short z\r\nproperty uchar y\r\n\
            property double x\r\nproperty float quality\r\nend_header\r\n7\r\n2 8 9 -3 2 0.5 1\r\n0 3 4 1e-3 2\r\n";
        let cloud = read_bytes("a.ply", text.as_bytes()).unwrap();
        assert_eq!(cloud.points(), [[0.5, 2.0, -3.0], [0.001, 4.0, 3.0]]);
        assert!(cloud.parts().is_none() && cloud.normals().is_none());
    }

    #[test]
    fn faces_are_sampled() {
        let text = "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n\
            element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2 3\n";
        let cloud = read_bytes("a.ply", text.as_bytes()).unwrap();
        assert_eq!(cloud.len(), 10_000);
        let mean = cloud.points().iter().map(|point| point[0]).sum::<f64>() / 1e4;
        assert!((mean - 0.5).abs() < 0.02, "{mean}");
        let bad = text.replace("4 0 1 2 3", "3 0 1 9");
        let error = read_bytes("a.ply", bad.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("expected faces between the 4 vertices, found the index 9"), "{error}");
    }

    fn message(bytes: &[u8]) -> String {
        read_bytes("a.ply", bytes).unwrap_err().to_string()
    }

    #[test]
    fn cut_and_lying_files_are_errors() {
        let header = |count: u64, format: &str| {
            format!(
                "ply\nformat {format} 1.0\nelement vertex {count}\nproperty float x\nproperty float y\n\
                 property float z\nend_header\n"
            )
        };
        let mut billion = header(1_000_000_000, "binary_little_endian").into_bytes();
        billion.extend([0; 30]);
        let error = message(&billion);
        assert!(error.contains("expected 1000000000 of 'vertex', as the header says, found 2 whole"), "{error}");
        assert!(message(header(3, "ascii").as_bytes()).contains("found 0 whole ones"));
        assert!(message(header(0, "ascii").as_bytes()).contains("at least one point"));
        let nan = format!("{}0 nan 0\n", header(1, "ascii"));
        assert!(message(nan.as_bytes()).contains("a.ply: point 1: expected three finite"));
        let word = format!("{}0 zero 0\n", header(1, "ascii"));
        assert!(message(word.as_bytes()).contains("expected a number, found 'zero'"));
        assert!(message(b"ply\nformat ascii 1.0\n").contains("end_header"));
        assert!(message(b"ply\nend_header\n").contains("'format'"));
        assert!(message(b"ply\nformat ascii 1.0\nproperty float x\n").contains("an element first"));
        let no_x = "ply\nformat ascii 1.0\nelement vertex 1\nproperty float y\nend_header\n1\n";
        assert!(message(no_x.as_bytes()).contains("vertices with x, y and z"));
        let no_properties = "ply\nformat ascii 1.0\nelement other 999999999999\nend_header\n";
        assert!(message(no_properties.as_bytes()).contains("at least one point"));
    }

    #[test]
    fn every_cut_of_a_binary_file_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cloud.ply");
        write_ply(&path, &full_cloud(), PlyEncoding::LittleEndian).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        for end in (4..bytes.len()).step_by(7) {
            assert!(read_bytes("a.ply", &bytes[..end]).is_err(), "cut after {end} bytes");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let start = b"ply\nformat binary_big_endian 1.0\nelement vertex 3\nproperty list uchar short l\n\
                property float x\nproperty float y\nproperty float z\nelement face 2\n\
                property list uint uint vertex_indices\nend_header\n";
            let _ = read_bytes("a.ply", &[&start[..], &bytes].concat());
            let _ = read_bytes("a.ply", &[&b"ply\n"[..], &bytes].concat());
        }
    }
}
