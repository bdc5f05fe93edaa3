//! Pictures of scans and their completions, side by side in one PNG.
//!
//! One row per scan: the input, its completions, the truth. The tiles of a row share one frame, so that sizes can be compared.
//! Completions lie under the input, whose points have a colour of their own.

use std::path::Path;

use labelflow_data::{Result, write_atomically};

use super::cloud_tile::{INPUT_LEAD, Rgb, Tile, View};
use super::completed_scan::{CloudRole, check_scans};
use super::stroke_font::{Canvas, LETTER_HEIGHT};
use crate::geometry::nearest_tree::Bounds;
use crate::pictures::CompletedScan;

/// The most completions of a row.
const MOST_COMPLETIONS: usize = 10;
/// The most rows: the whole picture is held in memory.
const MOST_ROWS: usize = 100;
/// The side of a tile in pixels.
const SIDE: usize = 240;
/// Between tiles, and around all of them.
const GAP: usize = 12;
/// The height of a row's name, and of the line below each tile.
const LINE: usize = 26;

const PAPER: Rgb = [255, 255, 255];
const BACKGROUND: Rgb = [244, 246, 248];
const INK: Rgb = [40, 44, 52];
const FAINT_INK: Rgb = [95, 102, 114];

/// Orange, blue and grey differ in lightness too, and so for every kind of eye.
fn color(role: CloudRole) -> Rgb {
    match role {
        CloudRole::Input => [230, 120, 0],
        CloudRole::Completion => [30, 110, 190],
        CloudRole::Truth => [110, 114, 120],
    }
}

/// Writes a picture of scans and their completions as PNG.
///
/// A row shows ten completions at most. There are at most 100 rows.
///
/// ```
/// use labelflow_clouds::pictures::{CompletedScan, write_cloud_picture};
/// use labelflow_clouds::geometry::PointCloud;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("picture.png");
/// let input = PointCloud::new(vec![[0.0; 3], [1.0, 0.0, 0.0]])?;
/// let completion = PointCloud::new(vec![[0.0; 3], [1.0, 0.0, 0.0], [0.5, 1.0, 0.0]])?;
/// let scan =
///     CompletedScan { name: "scan.ply".into(), input, completions: vec![completion], truth: None };
/// write_cloud_picture(&path, &[scan])?;
/// assert!(std::fs::read(&path)?.starts_with(b"\x89PNG"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_cloud_picture(path: &Path, scans: &[CompletedScan]) -> Result<()> {
    let canvas = drawn(scans)?;
    write_atomically(path, |writer| {
        let mut encoder = png::Encoder::new(writer, canvas.width as u32, canvas.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut encoder = encoder.write_header()?;
        encoder.write_image_data(canvas.pixels.as_flattened())?;
        encoder.finish()?;
        Ok(())
    })
}

fn drawn(scans: &[CompletedScan]) -> Result<Canvas> {
    check_scans(scans, MOST_ROWS)?;
    let n_tiles = |scan: &CompletedScan| scan.clouds(MOST_COMPLETIONS).len();
    let n_columns = scans.iter().map(n_tiles).max().unwrap_or(1);
    let width = GAP + n_columns * (SIDE + GAP);
    let row_height = LINE + SIDE + LINE + GAP;
    let height = GAP + scans.len() * row_height;
    let mut canvas = Canvas { width, height, pixels: vec![PAPER; width * height] };
    for (row, scan) in scans.iter().enumerate() {
        draw_row(&mut canvas, scan, GAP + row * row_height)?;
    }
    Ok(canvas)
}

fn draw_row(canvas: &mut Canvas, scan: &CompletedScan, top: usize) -> Result<()> {
    let inset = (LINE as f32 - LETTER_HEIGHT) / 2.0;
    let name_width = (canvas.width - 2 * GAP) as f32;
    canvas.write(&scan.name, [GAP as f32, top as f32 + inset - 2.0], name_width, INK);
    let frame = scan.frame(MOST_COMPLETIONS)?;
    let clouds = scan.clouds(MOST_COMPLETIONS).into_iter();
    let sets = clouds.map(|(role, cloud)| Ok((role, frame.apply(cloud)?))).collect::<Result<Vec<_>>>()?;
    // All clouds of the row fit into one view.
    let Bounds { low, high } = Bounds::of(sets.iter().flat_map(|(_, points)| points.as_slice().iter().copied()));
    let view = View::new(low, high, SIDE);
    // Balls of one size in the whole row, so that tiles can be compared: that of the first completion, if there is one.
    let is_completed = !scan.completions.is_empty();
    let n_points = sets[usize::from(is_completed)].1.len();
    for (index, (role, points)) in sets.iter().enumerate() {
        let mut tile = Tile::new(SIDE);
        let radius = tile.radius(n_points);
        let input = sets[0].1.as_slice();
        if *role != CloudRole::Input {
            tile.draw(points.as_slice(), radius, &view, color(*role), 0.0);
        }
        if *role != CloudRole::Truth {
            tile.draw(input, radius, &view, color(CloudRole::Input), INPUT_LEAD);
        }
        let left = GAP + index * (SIDE + GAP);
        for (row, pixels) in tile.pixels(BACKGROUND).chunks(SIDE).enumerate() {
            let start = (top + LINE + row) * canvas.width + left;
            canvas.pixels[start..start + SIDE].copy_from_slice(pixels);
        }
        let caption = match role {
            CloudRole::Input => "input".to_owned(),
            CloudRole::Completion => format!("completion {index}"),
            CloudRole::Truth => "truth".to_owned(),
        };
        let place = [left as f32, (top + LINE + SIDE) as f32 + inset - 2.0];
        canvas.write(&caption, place, SIDE as f32, FAINT_INK);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::geometry::PointCloud;

    use super::*;
    use crate::pictures::completed_scan::tests::scan_of_furniture;
    use crate::shapes::FurnitureCategory;

    /// The pixels of a tile that are not background.
    fn marks(canvas: &Canvas, row: usize, column: usize) -> Vec<Rgb> {
        let (top, left) = (GAP + row * (SIDE + 2 * LINE + GAP) + LINE, GAP + column * (SIDE + GAP));
        let rows = canvas.pixels.chunks(canvas.width).skip(top).take(SIDE);
        let pixels = rows.flat_map(|pixels| pixels[left..left + SIDE].iter().copied());
        pixels.filter(|pixel| *pixel != BACKGROUND).collect()
    }

    fn share(marks: &[Rgb], is_it: fn(&Rgb) -> bool) -> f64 {
        marks.iter().filter(|mark| is_it(mark)).count() as f64 / marks.len() as f64
    }

    #[test]
    fn rows_of_tiles_in_their_colours() {
        let scans =
            [scan_of_furniture(FurnitureCategory::Chair, 0, 3), scan_of_furniture(FurnitureCategory::Lamp, 1, 12)];
        let canvas = drawn(&scans).unwrap();
        assert_eq!(canvas.width, GAP + 12 * (SIDE + GAP), "ten completions at most");
        assert_eq!(canvas.height, GAP + 2 * (SIDE + 2 * LINE + GAP));
        let is_orange = |mark: &Rgb| mark[0] > mark[2];
        let is_blue = |mark: &Rgb| mark[2].saturating_sub(mark[0]) > 25;
        assert!(share(&marks(&canvas, 0, 0), is_orange) > 0.99);
        let completion = marks(&canvas, 0, 1);
        assert!(share(&completion, is_orange) > 0.05, "the input is seen");
        assert!(share(&completion, is_blue) > 0.2, "and what was added");
        assert!(share(&marks(&canvas, 0, 4), |mark| mark[2].abs_diff(mark[0]) < 25) > 0.99);
        assert_ne!(marks(&canvas, 0, 1), marks(&canvas, 0, 2), "completions differ");
        assert_eq!(drawn(&scans).unwrap().pixels, canvas.pixels);
    }

    #[test]
    fn a_file_that_png_readers_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("picture.png");
        let scan = scan_of_furniture(FurnitureCategory::Table, 2, 1);
        write_cloud_picture(&path, std::slice::from_ref(&scan)).unwrap();
        let file = std::io::BufReader::new(std::fs::File::open(&path).unwrap());
        let mut reader = png::Decoder::new(file).read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut bytes).unwrap();
        assert_eq!(bytes, drawn(&[scan]).unwrap().pixels.as_flattened());
    }

    #[test]
    fn single_points_and_far_places() {
        let one = PointCloud::new(vec![[5e8, 5e9, 1.0]]).unwrap();
        let scan = CompletedScan { name: "…".into(), input: one, completions: vec![], truth: None };
        let canvas = drawn(std::slice::from_ref(&scan)).unwrap();
        assert!(!marks(&canvas, 0, 0).is_empty());
        let large = PointCloud::new(vec![[-1e300; 3], [1e300; 3]]).unwrap();
        let canvas = drawn(&[CompletedScan { truth: Some(large), ..scan }]).unwrap();
        assert!(!marks(&canvas, 0, 1).is_empty());
        assert!(drawn(&[]).is_err());
    }
}
