//! Points as lines of text: XYZ, TXT, PTS and CSV.
//!
//! Numbers are separated by blanks, tabs, commas or semicolons. Lines that start with `#` or `//` and blank lines are skipped. A first line
//! of names says what the columns are: x, y, z, nx, ny, nz, red (r), green (g), blue (b), and label, part or class. Without names the first
//! three numbers are taken; in PTS files of six or seven numbers the last three are colours. A first line with nothing but one whole number is
//! the number of points, as PTS files have it, and is checked.

use std::io::Write;
use std::path::Path;

use labelflow_data::{Error, Result, write_atomically};

use super::cloud_content::{CloudContent, PointColumns};
use super::out_column::{OutColumn, all_columns, color_columns, coordinate_columns, row, write_text};
use super::text::{PART, cut_off, unexpected, visit_text};
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

fn of_names(words: &[&str]) -> Option<PointColumns> {
    let find = |names: &[&str]| words.iter().position(|word| names.iter().any(|name| word.eq_ignore_ascii_case(name)));
    let colors: [&[&str]; 3] = [&["red", "r"], &["green", "g"], &["blue", "b"]];
    PointColumns::named(find, ["nx", "ny", "nz"], colors, &["label", "part", "class"])
}

fn of_numbers(n_columns: usize, kind: LinesKind) -> PointColumns {
    let color = match (kind, n_columns) {
        (LinesKind::Pts, 6 | 7) => Some([n_columns - 3, n_columns - 2, n_columns - 1]),
        _ => None,
    };
    PointColumns { point: [0, 1, 2], normal: None, color, part: None }
}

/// Reads points from lines.
pub(crate) fn read_point_lines(path: &Path, kind: LinesKind) -> Result<CloudContent> {
    let mut content = CloudContent::default();
    let mut columns: Option<PointColumns> = None;
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
            if let Some(named) = of_names(&words) {
                columns = Some(named);
                return Ok(());
            }
        }
        numbers.clear();
        for word in &words {
            let number = word.parse::<f64>().map_err(|_| {
                unexpected(path, "a number", word).with_hint("a first line of names needs x, y and z among them")
            })?;
            numbers.push(number);
        }
        let columns = *columns.get_or_insert_with(|| of_numbers(numbers.len(), kind));
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

fn push(path: &Path, content: &mut CloudContent, columns: &PointColumns, numbers: &[f64]) -> Result<()> {
    let PointColumns { point, normal, color, part } = *columns;
    let places = [Some(point), normal, color].into_iter().flatten().flatten().chain(part);
    if let Some(missing) = places.into_iter().find(|&place| place >= numbers.len()) {
        let expected = format!("at least {} numbers", missing + 1);
        return Err(Error::content(path, expected, numbers.len()));
    }
    let point = point.map(|place| numbers[place]);
    if !point.iter().all(|value| value.is_finite()) {
        return Err(Error::content(path, "three finite coordinates", format!("{point:?}")));
    }
    let pushed = columns.push(numbers, |place| numbers[place] as u8, content);
    pushed.map_err(|place| Error::content(path, PART, numbers[place]))
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
    let n_points = cloud.len();
    let coordinates = coordinate_columns(cloud);
    write_atomically(path, |writer| match kind {
        LinesKind::Xyz => write_text(writer, &coordinates, n_points, " "),
        LinesKind::Pts => {
            let colors: Vec<OutColumn<'_>> = color_columns(cloud).collect();
            writeln!(writer, "{n_points}")?;
            if colors.is_empty() {
                return write_text(writer, &coordinates, n_points, " ");
            }
            (0..n_points).try_for_each(|index| {
                let (point, color) = (row(&coordinates, index, " "), row(&colors, index, " "));
                writeln!(writer, "{point} 0 {color}")
            })
        }
        LinesKind::Csv => {
            let all = all_columns(cloud);
            let names: Vec<&str> = all.iter().map(|column| column.name).collect();
            writeln!(writer, "{}", names.join(","))?;
            write_text(writer, &all, n_points, ",")
        }
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
