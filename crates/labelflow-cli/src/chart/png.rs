//! Charts as PNG, on light paper, two pixels for each of the SVG's. Letters are drawn as lines: no font is needed.

use std::path::Path;

use labelflow_clouds::pictures::stroke_letter;
use labelflow_data::write_atomically;
use tiny_skia::{FillRule, LineCap, LineJoin, Paint, PathBuilder, Pixmap, Stroke, StrokeDash, Transform};

use super::drawing::{Anchor, Shape, Text};
use super::layout::draw;
use super::palette::{Ink, Palette, channels};
use crate::chart::Chart;

const SCALE: f32 = 2.0;
/// The distance of two lines of the letters' grid, as a share of their size. Letters are a little narrower than their grid.
const GRID: [f32; 2] = [0.098, 0.118];
/// From the end of a letter to the start of the next, in lines of the grid.
const SPACE: f32 = 1.7;

/// Writes a chart, atomically.
pub(crate) fn write_png(path: &Path, chart: &Chart) -> labelflow_data::Result<()> {
    let picture = picture(chart);
    write_atomically(path, |writer| {
        let mut encoder = png::Encoder::new(writer, picture.width(), picture.height());
        encoder.set_color(png::ColorType::Rgba);
        encoder.set_depth(png::BitDepth::Eight);
        let mut encoder = encoder.write_header()?;
        // The paper is opaque, so that colours with and without alpha are the same.
        encoder.write_image_data(picture.data())?;
        Ok(encoder.finish()?)
    })
}

fn picture(chart: &Chart) -> Pixmap {
    let drawing = draw(chart, true);
    let [width, height] = [drawing.width, drawing.height].map(|side| (side as f32 * SCALE) as u32);
    let mut picture = Pixmap::new(width.max(1), height.max(1)).expect("charts have a small, positive size");
    let [red, green, blue] = channels(Palette::Light.color(Ink::Paper));
    picture.fill(tiny_skia::Color::from_rgba8(red, green, blue, 255));
    for shape in &drawing.shapes {
        draw_shape(&mut picture, shape);
    }
    picture
}

fn draw_shape(picture: &mut Pixmap, shape: &Shape) {
    let transform = Transform::from_scale(SCALE, SCALE);
    let mut fill = |path: Option<tiny_skia::Path>, ink: Ink, opacity: f64| {
        if let Some(path) = path {
            let paint = paint(ink, opacity);
            picture.fill_path(&path, &paint, FillRule::Winding, transform, None);
        }
    };
    match shape {
        Shape::Line { points, ink, width, dashes } => {
            let pen = Stroke {
                width: *width as f32,
                line_join: LineJoin::Round,
                dash: StrokeDash::new(dashes.to_vec(), 0.0),
                ..Stroke::default()
            };
            if let Some(path) = lines(std::slice::from_ref(points), false) {
                picture.stroke_path(&path, &paint(*ink, 1.0), &pen, transform, None);
            }
        }
        Shape::Area { points, ink, opacity, .. } => {
            fill(lines(std::slice::from_ref(points), true), *ink, *opacity);
        }
        Shape::Circle { is_quiet: true, .. } => {}
        Shape::Circle { middle, radius, ink, .. } => {
            let [x, y] = middle.map(|part| part as f32);
            fill(PathBuilder::from_circle(x, y, *radius as f32), *ink, 1.0);
        }
        Shape::Text(text) => draw_text(picture, text, transform),
    }
}

fn draw_text(picture: &mut Pixmap, text: &Text, transform: Transform) {
    let unit = GRID.map(|share| share * text.size as f32);
    let mut strokes = Vec::new();
    let mut width = 0.0;
    for sign in text.text.chars() {
        let letter = stroke_letter(sign);
        for line in letter.lines {
            // The letters stand on row 6 of their grid.
            let place = |[x, y]: [f32; 2]| [(width + x) * unit[0], (y - 6.0) * unit[1]].map(f64::from);
            strokes.push(line.into_iter().map(place).collect::<Vec<_>>());
        }
        width += letter.width + SPACE;
    }
    let width = (width - SPACE).max(0.0) * unit[0];
    let start = match text.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => -width / 2.0,
        Anchor::End => -width,
    };
    let [x, y] = text.at.map(|part| part as f32);
    let mut place = transform.pre_translate(x, y);
    if text.is_upright {
        place = place.pre_rotate(-90.0);
    }
    let pen = Stroke {
        width: text.size as f32 * if text.is_bold { 0.13 } else { 0.088 },
        line_cap: LineCap::Round,
        line_join: LineJoin::Round,
        ..Stroke::default()
    };
    if let Some(path) = lines(&strokes, false) {
        let place = place.pre_translate(start, 0.0);
        picture.stroke_path(&path, &paint(text.ink, 1.0), &pen, place, None);
    }
}

/// Lines as one path; none when there is nothing to draw.
fn lines(lines: &[Vec<[f64; 2]>], is_closed: bool) -> Option<tiny_skia::Path> {
    let mut path = PathBuilder::new();
    for line in lines {
        let mut places = line.iter().map(|place| place.map(|part| part as f32));
        let Some([x, y]) = places.next() else { continue };
        path.move_to(x, y);
        // A dot is a line too short to be seen as one.
        if places.clone().all(|place| place == [x, y]) {
            path.line_to(x + 0.01, y);
        }
        places.for_each(|[x, y]| path.line_to(x, y));
        if is_closed {
            path.close();
        }
    }
    path.finish()
}

fn paint(ink: Ink, opacity: f64) -> Paint<'static> {
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    let [red, green, blue] = channels(Palette::Light.color(ink));
    paint.set_color_rgba8(red, green, blue, (opacity * 255.0).round() as u8);
    paint
}

#[cfg(test)]
mod tests {
    use super::super::tests::curve;
    use super::*;

    fn n_pixels(picture: &Pixmap, ink: Ink) -> usize {
        let color = channels(Palette::Light.color(ink));
        picture.data().chunks(4).filter(|pixel| pixel[..3] == color).count()
    }

    #[test]
    fn marks_and_letters_are_drawn() {
        let points = [[0.0, 1.0], [1.0, 3.0], [2.0, 2.0]];
        let chart = Chart::of_curves("c", "Title", "epoch", "loss", &[curve("a", points)]);
        let picture = picture(&chart);
        assert!(n_pixels(&picture, Ink::Series(0)) > 500);
        assert!(n_pixels(&picture, Ink::Text) > 100);
        assert!(n_pixels(&picture, Ink::Paper) > picture.data().len() / 8);
        let empty = Chart::of_curves("c", "Title", "epoch", "loss", &[]);
        assert_eq!(n_pixels(&super::picture(&empty), Ink::Series(0)), 0);
    }

    #[test]
    fn a_file_that_png_readers_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("chart.png");
        let chart = Chart::of_curves("c", "t", "x", "y", &[curve("a", [[0.0, 1.0]])]);
        write_png(&path, &chart).unwrap();
        let file = std::io::BufReader::new(std::fs::File::open(&path).unwrap());
        let reader = png::Decoder::new(file).read_info().unwrap();
        assert_eq!(reader.info().width, 800);
    }
}
