//! The pieces that furniture is made of: surfaces with a known area from which points can be drawn evenly.
//!
//! ```text
//! box        8 (ab + bc + ca) for half sizes a, b, c
//! frustum    π (r₀ + r₁) · slant, and π r² for each cap        radius drawn by its square, so that points are even
//! ellipsoid  drawn from the unit sphere by rejection            area by a numerical mean
//! tube       2πr · length of a circular arc of radius R         drawn by rejection: the outer side is longer
//! plate      an upright cylinder on an ellipse: two caps and the wall
//! ```

use std::f64::consts::{PI, TAU};

use rand::{Rng, RngExt};

use crate::shapes::surface_sampling::cross;

/// A point or a direction: x to the side, y up, z to the front.
pub(crate) type Vector = [f64; 3];

/// One surface, placed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Primitive {
    pub(crate) surface: Surface,
    /// Where the surface's own axes point.
    axes: [Vector; 3],
    center: Vector,
}

/// A surface around the origin, its long axis along y.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Surface {
    /// Half sizes.
    Box(Vector),
    /// Radius below and above, half the height, and whether it has caps.
    Frustum { below: f64, above: f64, half_height: f64, has_caps: bool },
    /// An upright slab on an ellipse: half sizes.
    Plate(Vector),
    /// Half sizes; with `is_half`, only what is above y = 0.
    Ellipsoid { half: Vector, is_half: bool },
    /// A tube around the arc (R cos t, R sin t, 0), t from `start` to `end`.
    Arc { around: f64, radius: f64, start: f64, end: f64 },
}

impl Primitive {
    fn at(center: Vector, surface: Surface) -> Self {
        Self { surface, axes: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], center }
    }

    /// A surface whose long axis goes from one point to another, made of half their distance.
    fn along(from: Vector, to: Vector, surface: impl Fn(f64) -> Surface) -> Self {
        let difference: Vector = std::array::from_fn(|axis| to[axis] - from[axis]);
        let length = difference.iter().map(|value| value * value).sum::<f64>().sqrt();
        let axes = axes_along(difference.map(|value| value / length));
        let center = std::array::from_fn(|axis| (from[axis] + to[axis]) / 2.0);
        Self { surface: surface(length / 2.0), axes, center }
    }

    /// The same turned around the x axis through `pivot`: y towards z for a positive angle.
    pub(crate) fn leaned(mut self, pivot: Vector, angle: f64) -> Self {
        self.center = turned(self.center, pivot, 0, angle);
        self.axes = self.axes.map(|axis| turned(axis, [0.0; 3], 0, angle));
        self
    }

    /// The same turned around the upright axis through `pivot`.
    pub(crate) fn spun(mut self, pivot: Vector, angle: f64) -> Self {
        self.center = turned(self.center, pivot, 1, angle);
        self.axes = self.axes.map(|axis| turned(axis, [0.0; 3], 1, angle));
        self
    }

    /// The same mirrored at x = 0.
    pub(crate) fn mirrored(mut self) -> Self {
        self.center[0] = -self.center[0];
        self.axes.iter_mut().for_each(|axis| axis[0] = -axis[0]);
        self
    }

    /// A point of the surface, all alike.
    pub(crate) fn draw(&self, rng: &mut impl Rng) -> Vector {
        let local = self.surface.draw(rng);
        std::array::from_fn(|axis| {
            self.center[axis]
                + local[0] * self.axes[0][axis]
                + local[1] * self.axes[1][axis]
                + local[2] * self.axes[2][axis]
        })
    }
}

/// A box around its center.
pub(crate) fn block(center: Vector, half: Vector) -> Primitive {
    Primitive::at(center, Surface::Box(half))
}

/// An upright slab on an ellipse.
pub(crate) fn plate(center: Vector, half: Vector) -> Primitive {
    Primitive::at(center, Surface::Plate(half))
}

/// An ellipsoid.
pub(crate) fn ball(center: Vector, half: Vector) -> Primitive {
    Primitive::at(center, Surface::Ellipsoid { half, is_half: false })
}

/// The upper half of an ellipsoid.
pub(crate) fn dome(center: Vector, half: Vector) -> Primitive {
    Primitive::at(center, Surface::Ellipsoid { half, is_half: true })
}

/// An upright round wall with these radii below and above.
pub(crate) fn wall(center: Vector, [below, above]: [f64; 2], half_height: f64) -> Primitive {
    Primitive::at(center, Surface::Frustum { below, above, half_height, has_caps: false })
}

/// A tube around an arc, which stands upright and faces the front.
pub(crate) fn arc(center: Vector, around: f64, radius: f64, [start, end]: [f64; 2]) -> Primitive {
    Primitive::at(center, Surface::Arc { around, radius, start, end })
}

/// A round rod between two points, with caps.
pub(crate) fn rod(from: Vector, to: Vector, radius: f64) -> Primitive {
    tapered(from, to, radius, radius)
}

/// A round rod with one radius at its start and another at its end.
pub(crate) fn tapered(from: Vector, to: Vector, below: f64, above: f64) -> Primitive {
    let surface = |half_height| Surface::Frustum { below, above, half_height, has_caps: true };
    Primitive::along(from, to, surface)
}

/// Round rods from each point to the next.
pub(crate) fn tube(points: &[Vector], radius: f64) -> Vec<Primitive> {
    points.windows(2).map(|two| rod(two[0], two[1], radius)).collect()
}

/// A square bar between two points; `half` is half its width.
pub(crate) fn bar(from: Vector, to: Vector, half: f64) -> Primitive {
    Primitive::along(from, to, |half_height| Surface::Box([half, half_height, half]))
}

/// A leg: round and thinner at its foot, or square.
pub(crate) fn leg(foot: Vector, head: Vector, half: f64, taper: f64, is_round: bool) -> Primitive {
    if is_round { tapered(foot, head, half * taper, half) } else { bar(foot, head, half) }
}

impl Surface {
    pub(crate) fn area(&self) -> f64 {
        match *self {
            Self::Box([a, b, c]) => 8.0 * (a * b + b * c + c * a),
            Self::Frustum { below, above, half_height, has_caps } => {
                let slant = f64::hypot(below - above, 2.0 * half_height);
                let caps = if has_caps { PI * (below * below + above * above) } else { 0.0 };
                PI * (below + above) * slant + caps
            }
            Self::Plate([a, b, c]) => TAU * a * c + 2.0 * b * ellipse_length(a, c),
            Self::Ellipsoid { half, is_half } => {
                let whole = 4.0 * PI * mean_stretch(half);
                if is_half { whole / 2.0 } else { whole }
            }
            Self::Arc { around, radius, start, end } => TAU * radius * around * (end - start),
        }
    }

    fn draw(&self, rng: &mut impl Rng) -> Vector {
        match *self {
            Self::Box(half) => draw_box(half, rng),
            Self::Frustum { below, above, half_height, has_caps } => {
                draw_frustum(below, above, half_height, has_caps, self.area(), rng)
            }
            Self::Plate(half) => draw_plate(half, self.area(), rng),
            Self::Ellipsoid { half, is_half } => {
                let point = draw_ellipsoid(half, rng);
                [point[0], if is_half { point[1].abs() } else { point[1] }, point[2]]
            }
            Self::Arc { around, radius, start, end } => loop {
                let (along, across) = (rng.random_range(start..end), rng.random_range(0.0..TAU));
                let from_middle = around + radius * across.cos();
                // The tube's outer side is longer than its inner one.
                if rng.random::<f64>() * (around + radius) <= from_middle {
                    return [from_middle * along.cos(), from_middle * along.sin(), radius * across.sin()];
                }
            },
        }
    }
}

fn draw_box(half: Vector, rng: &mut impl Rng) -> Vector {
    let [a, b, c] = half;
    let wanted = rng.random_range(0.0..a * b + b * c + c * a);
    let across = [b * c, b * c + a * c].iter().filter(|&&sum| wanted >= sum).count();
    let mut point = half.map(|half| half * rng.random_range(-1.0..1.0));
    point[across] = if rng.random() { half[across] } else { -half[across] };
    point
}

fn draw_frustum(below: f64, above: f64, half_height: f64, has_caps: bool, area: f64, rng: &mut impl Rng) -> Vector {
    let angle = rng.random_range(0.0..TAU);
    let wanted = rng.random_range(0.0..area);
    let caps = [PI * below * below, PI * above * above];
    let (radius, height) = if has_caps && wanted < caps[0] {
        (below * rng.random::<f64>().sqrt(), -half_height)
    } else if has_caps && wanted < caps[0] + caps[1] {
        (above * rng.random::<f64>().sqrt(), half_height)
    } else {
        // The density along the height grows with the radius, so the square of the radius is uniform.
        let share = rng.random::<f64>();
        if (above - below).abs() < 1e-9 {
            (below, half_height * (2.0 * share - 1.0))
        } else {
            let radius = (below * below + share * (above * above - below * below)).sqrt();
            let upwards = (radius - below) / (above - below);
            (radius, half_height * (2.0 * upwards - 1.0))
        }
    };
    [radius * angle.cos(), height, radius * angle.sin()]
}

fn draw_plate(half: Vector, area: f64, rng: &mut impl Rng) -> Vector {
    let [a, b, c] = half;
    let angle = rng.random_range(0.0..TAU);
    if rng.random_range(0.0..area) < TAU * a * c {
        let radius = rng.random::<f64>().sqrt();
        let height = if rng.random() { b } else { -b };
        return [a * radius * angle.cos(), height, c * radius * angle.sin()];
    }
    let longest = a.max(c);
    let mut angle = angle;
    // The ellipse runs fastest where its long axis is crossed.
    while rng.random::<f64>() * longest > f64::hypot(a * angle.sin(), c * angle.cos()) {
        angle = rng.random_range(0.0..TAU);
    }
    [a * angle.cos(), rng.random_range(-b..b), c * angle.sin()]
}

fn draw_ellipsoid(half: Vector, rng: &mut impl Rng) -> Vector {
    let [a, b, c] = half;
    let largest = (a * b).max(b * c).max(c * a);
    loop {
        let y = rng.random_range(-1.0..1.0f64);
        let angle = rng.random_range(0.0..TAU);
        let radius = (1.0 - y * y).sqrt();
        let unit = [radius * angle.cos(), y, radius * angle.sin()];
        if rng.random::<f64>() * largest <= stretch(half, unit) {
            return std::array::from_fn(|axis| half[axis] * unit[axis]);
        }
    }
}

/// By how much the area around a point of the unit sphere grows when it becomes an ellipsoid.
fn stretch([a, b, c]: Vector, [x, y, z]: Vector) -> f64 {
    ((b * c * x).powi(2) + (c * a * y).powi(2) + (a * b * z).powi(2)).sqrt()
}

/// The mean of the stretch over the sphere.
fn mean_stretch(half: Vector) -> f64 {
    const STEPS: usize = 64;
    let mut sum = 0.0;
    for step in 0..STEPS {
        let y = 2.0 * (step as f64 + 0.5) / STEPS as f64 - 1.0;
        let radius = (1.0 - y * y).sqrt();
        for turn in 0..STEPS {
            let angle = TAU * (turn as f64 + 0.5) / STEPS as f64;
            sum += stretch(half, [radius * angle.cos(), y, radius * angle.sin()]);
        }
    }
    sum / (STEPS * STEPS) as f64
}

/// The length of an ellipse, by a sum that converges at once for smooth closed curves.
fn ellipse_length(a: f64, c: f64) -> f64 {
    const STEPS: usize = 128;
    let speed = |step: usize| {
        let angle = TAU * step as f64 / STEPS as f64;
        f64::hypot(a * angle.sin(), c * angle.cos())
    };
    (0..STEPS).map(speed).sum::<f64>() * TAU / STEPS as f64
}

fn turned(point: Vector, pivot: Vector, around: usize, angle: f64) -> Vector {
    let (first, second) = ((around + 1) % 3, (around + 2) % 3);
    let (a, b) = (point[first] - pivot[first], point[second] - pivot[second]);
    let mut turned = point;
    turned[first] = pivot[first] + a * angle.cos() - b * angle.sin();
    turned[second] = pivot[second] + a * angle.sin() + b * angle.cos();
    turned
}

/// Three axes at right angles, the second of them given.
fn axes_along(along: Vector) -> [Vector; 3] {
    let helper = if along[0].abs() < 0.9 { [1.0, 0.0, 0.0] } else { [0.0, 0.0, 1.0] };
    let across = cross(along, helper);
    let length = across.iter().map(|value| value * value).sum::<f64>().sqrt();
    let across = across.map(|value| value / length);
    [cross(along, across), along, across]
}

#[cfg(test)]
mod tests {
    use super::*;
    use labelflow_data::stream;

    fn draws(surface: Surface, n: usize) -> Vec<Vector> {
        let rng = &mut stream(1, "primitive");
        (0..n).map(|_| surface.draw(rng)).collect()
    }

    /// χ² of counts against shares.
    fn chi_squared(counts: &[usize], shares: &[f64]) -> f64 {
        let (n, total) = (counts.iter().sum::<usize>() as f64, shares.iter().sum::<f64>());
        let term = |(&count, share): (&usize, &f64)| {
            let expected = n * share / total;
            (count as f64 - expected).powi(2) / expected
        };
        counts.iter().zip(shares).map(term).sum()
    }

    #[test]
    fn faces_of_a_box_get_their_share() {
        let half = [0.3, 0.1, 0.7];
        let mut counts = [0; 6];
        for point in draws(Surface::Box(half), 20_000) {
            let face = (0..6).find(|&face| {
                let side = if face % 2 == 0 { half[face / 2] } else { -half[face / 2] };
                point[face / 2] == side
            });
            counts[face.unwrap()] += 1;
            assert!((0..3).all(|axis| point[axis].abs() <= half[axis]));
        }
        let shares = [0.07, 0.07, 0.21, 0.21, 0.03, 0.03];
        // The 99.9th percentile for five degrees of freedom is 20.5.
        assert!(chi_squared(&counts, &shares) < 20.5, "{counts:?}");
    }

    #[test]
    fn a_frustum_is_covered_evenly() {
        let (below, above, half_height) = (0.4, 0.1, 0.5);
        let frustum = Surface::Frustum { below, above, half_height, has_caps: true };
        let slant = f64::hypot(0.3, 1.0);
        assert!((frustum.area() - PI * (0.5 * slant + 0.16 + 0.01)).abs() < 1e-12);
        let mut counts = [0; 4];
        for [x, y, z] in draws(frustum, 20_000) {
            let radius = f64::hypot(x, z);
            if y == -half_height && radius < below {
                counts[0] += 1;
            } else if y == half_height && radius < above {
                counts[1] += 1;
            } else {
                let expected = below + (above - below) * (y + half_height);
                assert!((radius - expected).abs() < 1e-6);
                counts[if y < 0.0 { 2 } else { 3 }] += 1;
            }
        }
        // The lower half of the wall is a frustum from 0.4 to 0.25, the upper one from 0.25 to 0.1.
        let shares = [0.16, 0.01, 0.65 * slant / 2.0, 0.35 * slant / 2.0];
        assert!(chi_squared(&counts, &shares) < 16.3, "{counts:?}");
    }

    #[test]
    fn a_sphere_a_plate_and_a_torus_are_covered_evenly() {
        let sphere = Surface::Ellipsoid { half: [0.5; 3], is_half: false };
        assert!((sphere.area() - PI).abs() < 1e-3);
        let mut counts = [0; 4];
        for point in draws(sphere, 8_000) {
            let radius = point.iter().map(|value| value * value).sum::<f64>().sqrt();
            assert!((radius - 0.5).abs() < 1e-12);
            counts[((point[1] + 0.5) * 4.0).min(3.0) as usize] += 1;
        }
        assert!(chi_squared(&counts, &[1.0; 4]) < 16.3, "{counts:?}");
        // A spheroid of half axes 1, 1, 2 (prolate): 2π (1 + 2 asin(e) / e), e = √3 / 2.
        let e = 0.75f64.sqrt();
        let spheroid = Surface::Ellipsoid { half: [1.0, 2.0, 1.0], is_half: false };
        assert!((spheroid.area() / (TAU * (1.0 + 2.0 * e.asin() / e)) - 1.0).abs() < 2e-3);
        let plate = Surface::Plate([0.5, 0.1, 0.5]);
        assert!((plate.area() - (PI * 0.5 + PI * 0.2)).abs() < 1e-9);
        let on_wall = draws(plate, 7_000).iter().filter(|point| point[1].abs() < 0.1).count();
        assert!((on_wall as f64 - 2000.0).abs() < 150.0, "{on_wall}");
        let torus = Surface::Arc { around: 1.0, radius: 0.5, start: 0.0, end: TAU };
        let mut n_outside = 0;
        for [x, y, z] in draws(torus, 8_000) {
            let from_middle = f64::hypot(x, y);
            assert!((f64::hypot(from_middle - 1.0, z) - 0.5).abs() < 1e-12);
            n_outside += usize::from(from_middle > 1.0);
        }
        // The outer half of a torus has the share ½ + r / (πR).
        let expected = 8_000.0 * (0.5 + 0.5 / PI);
        assert!((n_outside as f64 - expected).abs() < 170.0, "{n_outside}");
    }

    #[test]
    fn rods_and_bars_end_where_they_should() {
        let (from, to) = ([0.1, 0.2, 0.3], [1.1, -0.5, 0.9]);
        let rng = &mut stream(2, "rod");
        for primitive in [rod(from, to, 0.01), bar(from, to, 0.01)] {
            let points: Vec<Vector> = (0..2000).map(|_| primitive.draw(rng)).collect();
            for axis in 0..3 {
                let low = points.iter().map(|point| point[axis]).fold(f64::MAX, f64::min);
                let expected = from[axis].min(to[axis]);
                assert!((low - expected).abs() < 0.03, "{low} {expected}");
            }
            let mirrored = primitive.clone().mirrored().draw(rng);
            assert!(mirrored[0] < 0.0);
        }
        let leaned = block([0.0, 1.0, 0.0], [0.0, 0.0, 0.0]).leaned([0.0; 3], 0.5);
        let point = leaned.center;
        assert!((point[2] - 0.5f64.sin()).abs() < 1e-12, "{point:?}");
    }
}
