//! Points as lines of text: XYZ, TXT, PTS and CSV.
//!
//! Numbers are separated by blanks, tabs, commas or semicolons. Lines that start with `#` or `//` and blank lines are skipped. A first line
//! of names says what the columns are: x, y, z, nx, ny, nz, red (r), green (g), blue (b), and label, part or class. Without names the first
//! three numbers are taken; in PTS files of six or seven numbers the last three are colours. A first line with nothing but one whole number is
//! the number of points, as PTS files have it, and is checked.

use std::io::Write;
use std::path::Path;

use labelflow_data::{Error, Result, write_atomically};

use super::cloud_content::CloudContent;
use super::out_column::{OutColumn, all_columns, color_columns, coordinate_columns, row};
use super::text::{PART, cut_off, part_of, unexpected, visit_text};
use crate::geometry::PointCloud;

/// What a file of lines looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinesKind {
    /// Three coordinates, no header.
    Xyz,
    /// The number of points, then coordinates, intensity and colours.
    Pts,
    /// Names, then all that is known.
    Csv,
}

/// Where in a line things stand.
#[derive(Debug, Clone, Copy)]
struct Columns {
    places: [usize; 3],
    normals: Option<[usize; 3]>,
    colors: Option<[usize; 3]>,
    part: Option<usize>,
}

impl Columns {
    fn of_names(words: &[&str]) -> Option<Self> {
        let find = |names: &[&str]| {
            words.iter().position(|word| names.iter().any(|name| word.eq_ignore_ascii_case(name)))
        };
        let three = |names: [&[&str]; 3]| -> Option<[usize; 3]> {
            let [x, y, z] = names.map(find);
            Some([x?, y?, z?])
        };
        Some(Self {
            places: three([&["x"], &["y"], &["z"]])?,
            normals: three([&["nx"], &["ny"], &["nz"]]),
            colors: three([&["red", "r"], &["green", "g"], &["blue", "b"]]),
            part: find(&["label", "part", "class"]),
        })
    }

    fn of_numbers(n_columns: usize, kind: LinesKind) -> Self {
        let colors = match (kind, n_columns) {
            (LinesKind::Pts, 6 | 7) => Some([n_columns - 3, n_columns - 2, n_columns - 1]),
            _ => None,
        };
        Self { places: [0, 1, 2], normals: None, colors, part: None }
    }
}

/// Reads points from lines.
pub(crate) fn read_point_lines(path: &Path, kind: LinesKind) -> Result<CloudContent> {
    let mut content = CloudContent::default();
    let mut columns: Option<Columns> = None;
    let mut n_claimed: Option<u64> = None;
    let mut is_first = true;
    let mut numbers = Vec::new();
    visit_text(path, |line| {
        let line = line.trim_start_matches('\u{feff}').trim();
        if line.is_empty() || line.starts_with('#') || line.starts_with("//") {
            return Ok(());
        }
        let words: Vec<&str> = words(line).collect();
        if std::mem::take(&mut is_first) {
            if let [count] = words.as_slice()
                && let Ok(count) = count.parse()
            {
                n_claimed = Some(count);
                return Ok(());
            }
            if let Some(named) = Columns::of_names(&words) {
                columns = Some(named);
                return Ok(());
            }
        }
        numbers.clear();
        for word in &words {
            let number = word.parse::<f64>().map_err(|_| {
                unexpected(path, "a number", word)
                    .with_hint("a first line of names needs x, y and z among them")
            })?;
            numbers.push(number);
        }
        let columns = *columns.get_or_insert_with(|| Columns::of_numbers(numbers.len(), kind));
        push(path, &mut content, &columns, &numbers)
    })?;
    match n_claimed {
        Some(n) if n != content.points.len() as u64 => {
            let expected = format!("{n} points, as the first line says");
            Err(cut_off(path, expected, content.points.len()))
        }
        _ => Ok(content),
    }
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|letter: char| letter.is_whitespace() || matches!(letter, ',' | ';'))
        .map(|word| word.trim_matches('"'))
        .filter(|word| !word.is_empty())
}

fn push(path: &Path, content: &mut CloudContent, columns: &Columns, numbers: &[f64]) -> Result<()> {
    let number = |place: usize| {
        numbers.get(place).copied().ok_or_else(|| {
            let expected = format!("at least {} numbers", place + 1);
            Error::content(path, expected, numbers.len())
        })
    };
    let three = |[x, y, z]: [usize; 3]| Ok::<_, Error>([number(x)?, number(y)?, number(z)?]);
    let point = three(columns.places)?;
    if !point.iter().all(|value| value.is_finite()) {
        return Err(Error::content(path, "three finite coordinates", format!("{point:?}")));
    }
    content.points.push(point);
    if let Some(places) = columns.normals {
        content.normals.push(three(places)?.map(|value| value as f32));
    }
    if let Some(places) = columns.colors {
        content.colors.push(three(places)?.map(|value| value as u8));
    }
    if let Some(place) = columns.part {
        let part = number(place)?;
        content.parts.push(part_of(part).ok_or_else(|| Error::content(path, PART, part))?);
    }
    Ok(())
}

/// Reads one whole number per line, as files of labels have it.
pub(crate) fn read_part_lines(path: &Path) -> Result<Vec<u32>> {
    let mut parts = Vec::new();
    visit_text(path, |line| {
        if !line.is_empty() {
            parts.push(line.parse().map_err(|_| unexpected(path, PART, line))?);
        }
        Ok(())
    })?;
    Ok(parts)
}

/// Writes points as lines. Numbers are written so that reading them gives the same ones.
pub(crate) fn write_point_lines(path: &Path, cloud: &PointCloud, kind: LinesKind) -> Result<()> {
    let coordinates = coordinate_columns(cloud);
    let colors: Vec<OutColumn<'_>> = color_columns(cloud).collect();
    let all = all_columns(cloud);
    write_atomically(path, |writer| {
        match kind {
            LinesKind::Xyz => {}
            LinesKind::Pts => writeln!(writer, "{}", cloud.len())?,
            LinesKind::Csv => {
                let names: Vec<&str> = all.iter().map(|column| column.name).collect();
                writeln!(writer, "{}", names.join(","))?;
            }
        }
        (0..cloud.len()).try_for_each(|index| match kind {
            LinesKind::Csv => writeln!(writer, "{}", row(&all, index, ",")),
            LinesKind::Pts if !colors.is_empty() => {
                let (point, color) = (row(&coordinates, index, " "), row(&colors, index, " "));
                writeln!(writer, "{point} 0 {color}")
            }
            _ => writeln!(writer, "{}", row(&coordinates, index, " ")),
        })
    })
}

#[cfg(test)]
mod tests {
    use crate::files::cloud_file::tests::{full_cloud, read_bytes, utm_cloud};
    use crate::files::{read_cloud, write_cloud};

    #[test]
    fn separators_comments_headers_and_counts() {
        let expected = [[1.0, 2.0, 3.0], [4.0, 5.5, -6.0]];
        for (name, text) in [
            ("a.xyz", "1 2 3\n4 5.5 -6\n"),
            ("a.txt", "# made by hand\n1;2;3\n\n4; 5.5; -6e0\n"),
            ("a.txt", "// x y z\r\n1\t2\t3\t9\r\n4\t5.5\t-6\t9\r\n"),
            ("a.pts", "2\n1 2 3 0 255 0 0\n4 5.5 -6 0 0 0 1\n"),
            ("a.csv", "\"z\",\"y\",\"x\"\n3,2,1\n-6,5.5,4\n"),
            ("a.csv", "\u{feff}x,y,z\n1,2,3\n4,5.5,-6"),
            ("a.csv", "1,2,3\n4,5.5,-6\n"),
        ] {
            assert_eq!(read_bytes(name, text.as_bytes()).unwrap().points(), expected, "{text}");
        }
        let pts = read_bytes("a.pts", b"1\n1 2 3 0 255 0 7\n").unwrap();
        assert_eq!(pts.colors(), Some(&[[255, 0, 7]][..]));
    }

    #[test]
    fn numbers_come_back_as_they_were() {
        let folder = tempfile::tempdir().unwrap();
        for cloud in [full_cloud(), utm_cloud()] {
            for name in ["a.xyz", "a.txt", "a.pts", "a.csv"] {
                let path = folder.path().join(name);
                write_cloud(&path, &cloud).unwrap();
                assert_eq!(read_cloud(&path).unwrap().points(), cloud.points(), "{name}");
            }
            assert_eq!(read_cloud(&folder.path().join("a.csv")).unwrap(), cloud);
        }
    }

    #[test]
    fn bad_lines_are_named() {
        for (text, expected) in [
            ("1 2 3\n1 2\n", "line 2: expected at least 3 numbers, found 2"),
            ("1 2 3\n1 2 three\n", "line 2: expected a number, found 'three'"),
            ("1 2 3\n1 nan 3\n", "line 2: expected three finite coordinates"),
            ("1000000000\n1 2 3\n", "expected 1000000000 points, as the first line says, found 1"),
            ("", "at least one point"),
            ("x,y,z,label\n1,2,3,-1\n", "line 2: expected a part as a whole number"),
        ] {
            let error = read_bytes("a.txt", text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
