//! PCD, the format of the Point Cloud Library: a header in text, then points in text, binary, or binary and compressed.
//!
//! Of the fields, x, y, z, normal_x, normal_y, normal_z, rgb or rgba and label are taken. Points without coordinates, which
//! organised scans store as NaN, are dropped.

use std::collections::HashMap;
use std::io::{BufRead, Read, Write};
use std::path::Path;

use labelflow_data::tables::{open_text, text_error};
use labelflow_data::{Error, Place, Result, write_atomically};

use super::cloud_content::{CloudContent, PointColumns};
use super::lzf::{compress, decompress};
use super::out_column::{OutColumn, coordinate_columns, normal_columns, part_column, write_binary, write_text};
use super::scalar_type::ScalarType;
use super::text::{LONGEST_LINE, cut_off, unexpected};
use crate::geometry::PointCloud;

/// How the points of a PCD file are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PcdEncoding {
    /// As text.
    Ascii,
    /// As numbers, point after point.
    #[default]
    Binary,
    /// As numbers, field after field, compressed by LZF.
    Compressed,
}

/// The words of the lines of a header, by the first one.
type Header = HashMap<String, Vec<String>>;

/// One field of a point.
struct Field {
    name: String,
    stored: ScalarType,
    /// How many numbers it has.
    count: usize,
    /// Where its first number stands among the numbers of a point.
    number: usize,
    /// Where its first byte stands among the bytes of a point.
    byte: usize,
}

struct Layout {
    fields: Vec<Field>,
    n_points: u64,
    n_numbers: usize,
    n_bytes: usize,
    /// Colours are packed, and parts not checked: neither is among them.
    columns: PointColumns,
    /// Where the four bytes of a colour stand, and how.
    color: Option<(usize, ScalarType)>,
    part: Option<usize>,
}

/// Reads the points of a PCD file.
pub(crate) fn read_pcd(path: &Path) -> Result<CloudContent> {
    let mut reader = open_text(path)?;
    let mut header = Header::new();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        read_line(path, &mut reader, &mut line, number)?;
        let text = String::from_utf8_lossy(&line).into_owned();
        let refuse = |expected: &str| unexpected(path, expected, text.trim_end()).at(Place::Line(number));
        if line.is_empty() {
            return Err(refuse("a PCD header, which ends with a line 'DATA'"));
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        let Some((&key, values)) = words.split_first() else { continue };
        if key == "DATA" {
            let layout = Layout::of(path, &header)?;
            return match values {
                ["ascii"] => read_ascii(path, &mut reader, &layout, number),
                ["binary"] => read_binary(path, &mut reader, &layout),
                ["binary_compressed"] => read_compressed(path, &mut reader, &layout),
                _ => Err(refuse("DATA ascii, binary or binary_compressed")),
            };
        }
        let is_whole = |value: &&str| value.parse::<u64>().is_ok();
        let is_good = match key {
            "FIELDS" | "COLUMNS" | "TYPE" | "VERSION" | "VIEWPOINT" => true,
            "SIZE" | "COUNT" => values.iter().all(is_whole),
            "WIDTH" | "HEIGHT" | "POINTS" => values.first().is_some_and(is_whole),
            _ if key.starts_with('#') => continue,
            _ => false,
        };
        if !is_good {
            return Err(refuse("a line of a PCD header"));
        }
        let key = if key == "COLUMNS" { "FIELDS" } else { key };
        header.insert(key.to_owned(), values.iter().map(|&value| value.to_owned()).collect());
    }
    unreachable!("the file ends before the numbers do")
}

fn read_line(path: &Path, reader: &mut impl BufRead, line: &mut Vec<u8>, number: u64) -> Result<()> {
    let read = reader.by_ref().take(LONGEST_LINE).read_until(b'\n', line);
    read.map_err(|source| text_error(path, source).at(Place::Line(number)))?;
    if line.len() as u64 == LONGEST_LINE {
        let expected = format!("a line of less than {LONGEST_LINE} bytes");
        return Err(Error::content(path, expected, "a longer one").at(Place::Line(number)));
    }
    Ok(())
}

impl Layout {
    fn of(path: &Path, header: &Header) -> Result<Self> {
        let refuse = |expected: &str, found: String| Error::content(path, expected, found);
        let list = |key: &str| header.get(key).map_or(&[][..], Vec::as_slice);
        let whole = |value: &String| value.parse::<usize>().ok();
        let number = |key: &str| list(key).first()?.parse::<u64>().ok();
        let (names, sizes, kinds) = (list("FIELDS"), list("SIZE"), list("TYPE"));
        let ones = vec!["1".to_owned(); names.len()];
        let counts = if list("COUNT").is_empty() { &ones } else { list("COUNT") };
        if [sizes.len(), kinds.len(), counts.len()] != [names.len(); 3] {
            let found = format!("{} SIZE, {} TYPE", sizes.len(), kinds.len());
            return Err(refuse("SIZE, TYPE and COUNT for each of FIELDS", found));
        }
        let claimed = number("WIDTH").unwrap_or(0).checked_mul(number("HEIGHT").unwrap_or(1));
        let n_points = number("POINTS").or(claimed).unwrap_or(0);
        let mut fields: Vec<Field> = Vec::new();
        let (mut n_numbers, mut n_bytes) = (0, 0);
        for (((name, size), kind), count) in names.iter().zip(sizes).zip(kinds).zip(counts) {
            let stored = match (kind.as_str(), whole(size)) {
                ("F", Some(size @ (4 | 8))) => ScalarType::Float(size),
                ("I", Some(size @ (1 | 2 | 4 | 8))) => ScalarType::Signed(size),
                ("U", Some(size @ (1 | 2 | 4 | 8))) => ScalarType::Unsigned(size),
                _ => return Err(refuse("a TYPE F, I or U and its SIZE", format!("{kind} {size}"))),
            };
            let Some(count) = whole(count).filter(|&n| n <= 1 << 16) else {
                return Err(refuse("a COUNT of at most 65536", count.clone()));
            };
            fields.push(Field { name: name.clone(), stored, count, number: n_numbers, byte: n_bytes });
            n_numbers += count;
            n_bytes += count * stored.size();
        }
        let find = |name: &str| fields.iter().find(|field| field.name == name && field.count > 0);
        let number = |names: &[&str]| Some(find(names.first()?)?.number);
        let columns = PointColumns::named(number, ["normal_x", "normal_y", "normal_z"], [&[]; 3], &[])
            .ok_or_else(|| refuse("the fields x, y and z", names.join(" ")))?;
        let color = find("rgb").or_else(|| find("rgba")).filter(|field| field.stored.size() == 4);
        let color = color.map(|field| (field.number, field.stored));
        let part = find("label").map(|field| field.number);
        Ok(Self { fields, n_points, n_numbers, n_bytes, columns, color, part })
    }

    /// That as many points arrived as the header says.
    fn check(&self, path: &Path, n_read: u64) -> Result<()> {
        if n_read == self.n_points {
            return Ok(());
        }
        let expected = format!("{} points, as the header says", self.n_points);
        Err(cut_off(path, expected, format!("{n_read} whole ones")))
    }

    /// Adds the point that has these numbers, if it has coordinates.
    fn push(&self, row: &[f64], content: &mut CloudContent) {
        if self.columns.point.iter().any(|&place| row[place].is_nan()) {
            return;
        }
        self.columns.push(row, |_| 0, content).expect("nothing is checked");
        content.colors.extend(self.color.map(|(number, stored)| {
            // A float holds the three bytes as its bits.
            let bits = match stored {
                ScalarType::Float(_) => (row[number] as f32).to_bits(),
                _ => row[number] as i64 as u32,
            };
            let [_, red, green, blue] = bits.to_be_bytes();
            [red, green, blue]
        }));
        content.parts.extend(self.part.map(|number| row[number] as u32));
    }
}

fn read_ascii(path: &Path, reader: &mut impl BufRead, layout: &Layout, header_lines: u64) -> Result<CloudContent> {
    let mut content = CloudContent::default();
    let (mut line, mut row) = (Vec::new(), Vec::new());
    let mut n_read = 0;
    for number in header_lines + 1.. {
        line.clear();
        read_line(path, reader, &mut line, number)?;
        if line.is_empty() || n_read == layout.n_points {
            break;
        }
        let line_place = Place::Line(number);
        let text = String::from_utf8_lossy(&line);
        if text.trim().is_empty() {
            continue;
        }
        row.clear();
        for word in text.split_whitespace() {
            let number = word.parse::<f64>();
            row.push(number.map_err(|_| unexpected(path, "a number", word).at(line_place))?);
        }
        if row.len() != layout.n_numbers {
            let expected = format!("{} numbers", layout.n_numbers);
            return Err(Error::content(path, expected, row.len()).at(line_place));
        }
        layout.push(&row, &mut content);
        n_read += 1;
    }
    layout.check(path, n_read)?;
    Ok(content)
}

fn read_binary(path: &Path, reader: &mut impl Read, layout: &Layout) -> Result<CloudContent> {
    let mut content = CloudContent::default();
    let (mut bytes, mut row) = (vec![0; layout.n_bytes], Vec::new());
    for n_read in 0..layout.n_points {
        if let Err(source) = reader.read_exact(&mut bytes) {
            layout.check(path, n_read)?;
            return Err(Error::read(path, source));
        }
        row.clear();
        for Field { stored, count, byte, .. } in &layout.fields {
            let items = bytes[*byte..].chunks(stored.size()).take(*count);
            row.extend(items.map(|item| stored.value(item, false)));
        }
        layout.push(&row, &mut content);
    }
    Ok(content)
}

fn read_compressed(path: &Path, reader: &mut impl Read, layout: &Layout) -> Result<CloudContent> {
    let mut sizes = [0; 8];
    reader.read_exact(&mut sizes).map_err(|_| cut_off(path, "two sizes after the header", "no such"))?;
    let [packed, unpacked] =
        [&sizes[..4], &sizes[4..]].map(|bytes| u64::from(u32::from_le_bytes(bytes.try_into().expect("four bytes"))));
    if Some(unpacked) != layout.n_points.checked_mul(layout.n_bytes as u64) {
        let expected = format!("{} points of {} bytes", layout.n_points, layout.n_bytes);
        return Err(cut_off(path, expected, format!("{unpacked} bytes")));
    }
    let mut bytes = Vec::new();
    reader.take(packed).read_to_end(&mut bytes).map_err(|source| Error::read(path, source))?;
    if bytes.len() as u64 != packed {
        return Err(cut_off(path, format!("{packed} compressed bytes"), bytes.len()));
    }
    let bytes = decompress(&bytes, unpacked as usize);
    let bytes = bytes.ok_or_else(|| cut_off(path, "compressed points", "damaged ones"))?;
    // There all points of the first field come first, then all of the next.
    let n_points = layout.n_points as usize;
    let mut points = Vec::with_capacity(bytes.len());
    for point in 0..n_points {
        for field in &layout.fields {
            let size = field.count * field.stored.size();
            points.extend(&bytes[field.byte * n_points + point * size..][..size]);
        }
    }
    read_binary(path, &mut points.as_slice(), layout)
}

/// Writes a cloud as PCD 0.7: coordinates as floats if that loses nothing, otherwise as doubles.
pub fn write_pcd(path: &Path, cloud: &PointCloud, encoding: PcdEncoding) -> Result<()> {
    let (columns, n_points) = (columns(cloud), cloud.len());
    let n_bytes = n_points * columns.iter().map(|column| column.stored.size()).sum::<usize>();
    if encoding == PcdEncoding::Compressed && u32::try_from(n_bytes).is_err() {
        let expected = "fewer than 2³² bytes of points to compress";
        return Err(Error::config("encoding", expected, n_bytes));
    }
    write_atomically(path, |writer| {
        let list = |item: &dyn Fn(&OutColumn<'_>) -> String| columns.iter().map(item).collect::<Vec<_>>().join(" ");
        let kind = |stored| if matches!(stored, ScalarType::Float(_)) { "F" } else { "U" };
        writeln!(writer, "# .PCD v0.7 - Point Cloud Data file format\nVERSION 0.7")?;
        writeln!(writer, "FIELDS {}", list(&|column| column.name.to_owned()))?;
        writeln!(writer, "SIZE {}", list(&|column| column.stored.size().to_string()))?;
        writeln!(writer, "TYPE {}", list(&|column| kind(column.stored).to_owned()))?;
        writeln!(writer, "COUNT {}", list(&|_| "1".to_owned()))?;
        writeln!(writer, "WIDTH {n_points}\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS {n_points}")?;
        match encoding {
            PcdEncoding::Ascii => {
                writeln!(writer, "DATA ascii")?;
                write_text(writer, &columns, n_points, " ")
            }
            PcdEncoding::Binary => {
                writeln!(writer, "DATA binary")?;
                write_binary(writer, &columns, n_points, false)
            }
            PcdEncoding::Compressed => {
                writeln!(writer, "DATA binary_compressed")?;
                let mut bytes = Vec::with_capacity(n_bytes);
                for column in &columns {
                    (0..n_points).for_each(|index| column.push_bytes(index, &mut bytes));
                }
                let packed = compress(&bytes);
                writer.write_all(&(packed.len() as u32).to_le_bytes())?;
                writer.write_all(&(bytes.len() as u32).to_le_bytes())?;
                writer.write_all(&packed)
            }
        }
    })
}

/// The fields of a cloud; the three bytes of a colour are one number.
fn columns(cloud: &PointCloud) -> Vec<OutColumn<'_>> {
    let mut columns = coordinate_columns(cloud);
    columns.extend(normal_columns(cloud, ["normal_x", "normal_y", "normal_z"]));
    columns.extend(cloud.colors().map(|colors| {
        let packed = |[red, green, blue]: [u8; 3]| u32::from_be_bytes([0, red, green, blue]);
        OutColumn::whole("rgb", move |index| packed(colors[index]))
    }));
    columns.extend(part_column(cloud));
    columns
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::files::cloud_file::tests::{full_cloud, read_bytes, utm_cloud};
    use crate::files::read_cloud;

    const ENCODINGS: [PcdEncoding; 3] = [PcdEncoding::Ascii, PcdEncoding::Binary, PcdEncoding::Compressed];

    #[test]
    fn every_encoding_keeps_every_bit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cloud.pcd");
        for cloud in [full_cloud(), utm_cloud()] {
            for encoding in ENCODINGS {
                write_pcd(&path, &cloud, encoding).unwrap();
                assert_eq!(read_cloud(&path).unwrap(), cloud, "{encoding:?}");
            }
        }
    }

    #[test]
    fn fields_in_any_order_and_points_that_were_not_seen() {
        let text = "# .PCD v.7\nVERSION .7\nFIELDS rgb z y x other\nSIZE 4 4 4 8 2\nTYPE F F F F I\n\
            COUNT 1 1 1 1 2\nWIDTH 3\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS 3\nDATA ascii\n\
            2.3418052e-38 3 2 1 0 0\n0 nan nan nan 0 0\n0 6 5 4 0 0\n";
        let cloud = read_bytes("a.pcd", text.as_bytes()).unwrap();
        assert_eq!(cloud.points(), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
        assert_eq!(cloud.colors().unwrap().len(), 2);
        let error = read_bytes("a.pcd", text.replace("POINTS 3", "POINTS 9").as_bytes());
        let error = error.unwrap_err().to_string();
        assert!(error.contains("expected 9 points, as the header says, found 3 whole"), "{error}");
    }

    #[test]
    fn cut_and_lying_files_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cloud.pcd");
        for encoding in ENCODINGS {
            write_pcd(&path, &full_cloud(), encoding).unwrap();
            let bytes = std::fs::read(&path).unwrap();
            for end in (4..bytes.len() - 8).step_by(11) {
                let read = read_bytes("a.pcd", &bytes[..end]);
                assert!(read.is_err(), "{encoding:?} cut after {end} bytes");
            }
            let split = bytes.windows(6).position(|window| window == b"POINTS").unwrap();
            let mut lying = bytes[..split].to_vec();
            let end = split + bytes[split..].iter().position(|&byte| byte == b'\n').unwrap();
            lying.extend(b"POINTS 1000000000");
            lying.extend(&bytes[end..]);
            let error = read_bytes("a.pcd", &lying).unwrap_err().to_string();
            assert!(error.contains("expected 1000000000 points"), "{error}");
        }
        for text in ["VERSION 0.7\n", "VERSION 0.7\nFIELDS x\nDATA ascii\n", "VERSION 0.7\nFOO\n"] {
            assert!(read_bytes("a.pcd", text.as_bytes()).is_err());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            for data in ["ascii", "binary", "binary_compressed"] {
                let start = format!("VERSION 0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nPOINTS 3\nDATA {data}\n");
                let _ = read_bytes("a.pcd", &[start.as_bytes(), &bytes].concat());
            }
        }
    }
}
