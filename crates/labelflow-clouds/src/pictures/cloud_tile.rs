//! A small picture of a cloud: points as balls, seen from the front, a little from above and from the right.
//!
//! ```text
//! u = cos a · x − sin a · z,   t = sin a · x + cos a · z              a = 35°
//! v = cos b · y − sin b · t,   n = sin b · y + cos b · t              b = 20°
//! on the tile: (u, v) · d / (d − n)                                   d = 2.5
//! ```
//!
//! y points up and z to the front; n is how near a point is. A pixel is darker the more its neighbours are nearer than it is itself,
//! which shows edges and gaps without normals, and paler the farther it is. Sums, products, quotients and roots only: the same
//! picture on every machine.

use crate::geometry::nearest_tree::Bounds;

/// Red, green and blue.
pub(crate) type Rgb = [u8; 3];

/// cos 35°, sin 35°.
const TURN: (f32, f32) = (0.819_152_04, 0.573_576_4);
/// cos 20°, sin 20°.
const TILT: (f32, f32) = (0.939_692_6, 0.342_020_14);
/// The distance of the eye from the middle. Points are at most 0.5 away from it.
const EYE: f32 = 2.5;
/// Pixels drawn for one that is shown, along each side.
const FINENESS: usize = 2;
/// The part of a tile's side that the box of the clouds may take.
const FILLED: f32 = 0.88;
/// How much nearer the input counts than it is, so that it stays visible where completions repeat it.
pub(crate) const INPUT_LEAD: f32 = 0.02;
/// How strongly nearer neighbours darken.
const DARKENING: f32 = 5.0;
/// The distance of those neighbours in fine pixels.
const REACH: isize = 2;
/// How much of the background the farthest points take.
const PALENESS: f32 = 0.45;

/// From the frame of a row of clouds to the pixels of its tiles.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View {
    scale: f32,
    middle: [f32; 2],
}

impl View {
    /// The view in which a box, given by two corners, fits into tiles of this side.
    pub(crate) fn new(low: [f32; 3], high: [f32; 3], side: usize) -> Self {
        let corners = (0..8).map(|corner| {
            let is_low = |axis: usize| corner >> axis & 1 == 0;
            let ([u, v], _) = seen(std::array::from_fn(|axis| if is_low(axis) { low } else { high }[axis]));
            [u, v, 0.0]
        });
        let Bounds { low: least, high: most } = Bounds::of(corners);
        let extent = (most[0] - least[0]).max(most[1] - least[1]);
        let scale = FILLED * (side * FINENESS) as f32 / extent.max(1e-6);
        let middle = std::array::from_fn(|axis| (least[axis] + most[axis]) / 2.0);
        Self { scale, middle }
    }
}

/// Where the eye sees a point, and how near it is.
fn seen([x, y, z]: [f32; 3]) -> ([f32; 2], f32) {
    let (u, t) = (TURN.0 * x - TURN.1 * z, TURN.1 * x + TURN.0 * z);
    let (v, nearness) = (TILT.0 * y - TILT.1 * t, TILT.1 * y + TILT.0 * t);
    let larger = EYE / (EYE - nearness);
    ([u * larger, v * larger], nearness)
}

/// A tile that is being drawn: for each fine pixel the nearest thing in it.
#[derive(Debug)]
pub(crate) struct Tile {
    side: usize,
    nearness: Vec<f32>,
    colors: Vec<Rgb>,
}

impl Tile {
    /// An empty tile with `side` by `side` pixels.
    pub(crate) fn new(side: usize) -> Self {
        let side = side * FINENESS;
        let n_pixels = side * side;
        Self { side, nearness: vec![f32::NEG_INFINITY; n_pixels], colors: vec![[0; 3]; n_pixels] }
    }

    /// The radius of balls at which so many points become a surface, in fine pixels.
    pub(crate) fn radius(&self, n_points: usize) -> f32 {
        (0.36 * self.side as f32 / (n_points as f32).sqrt()).clamp(1.3, 9.0)
    }

    /// Draws points as balls of one colour, `lead` nearer than they are.
    pub(crate) fn draw(&mut self, points: &[[f32; 3]], radius: f32, view: &View, color: Rgb, lead: f32) {
        let (side, half) = (self.side as f32, self.side as f32 / 2.0);
        let range = |middle: f32| {
            let first = (middle - radius).ceil().max(0.0) as usize;
            first..((middle + radius).floor() + 1.0).clamp(0.0, side) as usize
        };
        for &point in points {
            let (at, nearness) = seen(point);
            let x = half + (at[0] - view.middle[0]) * view.scale;
            let y = half - (at[1] - view.middle[1]) * view.scale;
            for (row, column) in range(y).flat_map(|row| range(x).map(move |column| (row, column))) {
                let (dx, dy) = (column as f32 - x, row as f32 - y);
                let left = radius * radius - dx * dx - dy * dy;
                let pixel = row * self.side + column;
                let nearness = nearness + lead + left.sqrt() / view.scale;
                if left >= 0.0 && nearness > self.nearness[pixel] {
                    (self.nearness[pixel], self.colors[pixel]) = (nearness, color);
                }
            }
        }
    }

    /// The pixels, row after row, and over the background where nothing was drawn.
    pub(crate) fn pixels(&self, background: Rgb) -> Vec<Rgb> {
        let side = self.side / FINENESS;
        let fine = self.shaded(background);
        let shown = |pixel: usize| {
            let (row, column) = (pixel / side * FINENESS, pixel % side * FINENESS);
            let mut sum = [0u32; 3];
            for part in 0..FINENESS * FINENESS {
                let (y, x) = (row + part / FINENESS, column + part % FINENESS);
                let color = fine[y * self.side + x];
                (0..3).for_each(|channel| sum[channel] += u32::from(color[channel]));
            }
            let n_parts = (FINENESS * FINENESS) as u32;
            sum.map(|value| ((value + n_parts / 2) / n_parts) as u8)
        };
        (0..side * side).map(shown).collect()
    }

    fn shaded(&self, background: Rgb) -> Vec<Rgb> {
        let drawn = || self.nearness.iter().copied().filter(|value| value.is_finite());
        let (far, near) = (drawn().fold(f32::INFINITY, f32::min), drawn().fold(f32::NEG_INFINITY, f32::max));
        let shaded = |pixel: usize| {
            let nearness = self.nearness[pixel];
            if !nearness.is_finite() {
                return background;
            }
            let light = 1.0 / (1.0 + DARKENING * self.overshadowed(pixel));
            let pale = PALENESS * (near - nearness) / (near - far).max(1e-6);
            std::array::from_fn(|channel| {
                let own = f32::from(self.colors[pixel][channel]) * light;
                (own + pale * (f32::from(background[channel]) - own)).round() as u8
            })
        };
        (0..self.nearness.len()).map(shaded).collect()
    }

    /// By how much the eight neighbours are nearer than a pixel, added up; each counts for a twentieth at most.
    fn overshadowed(&self, pixel: usize) -> f32 {
        let (row, column) = ((pixel / self.side) as isize, (pixel % self.side) as isize);
        let side = self.side as isize;
        let mut sum = 0.0;
        for (dy, dx) in [(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)] {
            let (y, x) = (row + dy * REACH, column + dx * REACH);
            if (0..side).contains(&y) && (0..side).contains(&x) {
                let lead = self.nearness[(y * side + x) as usize] - self.nearness[pixel];
                sum += lead.clamp(0.0, 0.05);
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIDE: usize = 40;

    fn drawn(points: &[[f32; 3]]) -> Vec<Rgb> {
        let view = View::new([-0.3; 3], [0.3; 3], SIDE);
        let mut tile = Tile::new(SIDE);
        tile.draw(points, 3.0, &view, [200, 0, 0], 0.0);
        tile.pixels([255; 3])
    }

    /// The mean place of the pixels that are not background: column, row.
    fn place(points: &[[f32; 3]]) -> (f32, f32) {
        let pixels = drawn(points);
        let marked = pixels.iter().enumerate().filter(|(_, color)| **color != [255; 3]);
        let places: Vec<usize> = marked.map(|(index, _)| index).collect();
        let mean =
            |of: fn(usize) -> usize| places.iter().map(|&place| of(place) as f32).sum::<f32>() / places.len() as f32;
        (mean(|place| place % SIDE), mean(|place| place / SIDE))
    }

    #[test]
    fn y_is_up_and_the_eye_is_in_front_to_the_right() {
        let (middle_x, middle_y) = place(&[[0.0; 3]]);
        assert!((middle_x - 19.5).abs() < 1.0 && (middle_y - 19.5).abs() < 2.0);
        assert!(place(&[[0.0, 0.3, 0.0]]).1 < middle_y - 5.0);
        assert!(place(&[[0.3, 0.0, 0.0]]).0 > middle_x + 5.0);
        assert!(place(&[[0.0, 0.0, 0.3]]).0 < middle_x - 3.0, "the front is to the left");
        assert!(place(&[[0.0, 0.0, 0.3]]).1 > middle_y, "and lower, seen from above");
    }

    #[test]
    fn the_nearer_point_hides_the_other() {
        // Twice the same place on the tile, since the second lies on the line from the eye to the first.
        let back = [0.0f32; 3];
        let front = [TURN.1 * TILT.0 * 0.2, TILT.1 * 0.2, TURN.0 * TILT.0 * 0.2];
        for order in [[(back, [0, 0, 200]), (front, [200, 0, 0])], [(front, [200, 0, 0]), (back, [0, 0, 200])]] {
            let view = View::new([-0.3; 3], [0.3; 3], SIDE);
            let mut tile = Tile::new(SIDE);
            order.iter().for_each(|(point, color)| tile.draw(&[*point], 9.0, &view, *color, 0.0));
            let [red, _, blue] = tile.pixels([255; 3])[SIDE / 2 * SIDE + SIDE / 2];
            assert!(red > 150 && blue < 100, "{red} {blue}");
        }
    }

    #[test]
    fn all_corners_of_the_box_are_on_the_tile() {
        let view = View::new([-0.5, -0.1, 0.0], [0.2, 0.4, 0.1], SIDE);
        for corner in [[-0.5, -0.1, 0.0], [0.2, 0.4, 0.1], [0.2, -0.1, 0.1], [-0.5, 0.4, 0.0]] {
            let mut tile = Tile::new(SIDE);
            tile.draw(&[corner], 3.0, &view, [0; 3], 0.0);
            assert!(tile.pixels([255; 3]).iter().any(|color| *color != [255; 3]), "{corner:?}");
        }
    }

    #[test]
    fn one_point_without_extent_is_in_the_middle() {
        let view = View::new([0.0; 3], [0.0; 3], SIDE);
        let mut tile = Tile::new(SIDE);
        tile.draw(&[[0.0; 3]], 3.0, &view, [0; 3], 0.0);
        assert_ne!(tile.pixels([255; 3])[SIDE / 2 * SIDE + SIDE / 2], [255; 3]);
    }
}
