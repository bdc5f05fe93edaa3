//! Chairs: a seat, a back, something to stand on, and sometimes arms and a headrest.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use rand::{Rng, RngExt};

use super::draw::{Part, between, chance, choice, spaced};
use super::primitive::{Primitive, Surface};

/// What all parts of a chair share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ChairAnchors {
    width: f64,
    depth: f64,
    seat_height: f64,
    thickness: f64,
}

impl ChairAnchors {
    pub(crate) fn draw(rng: &mut impl Rng) -> Self {
        Self {
            width: between(rng, 0.40, 0.62),
            depth: between(rng, 0.38, 0.58),
            seat_height: between(rng, 0.36, 0.52),
            thickness: between(rng, 0.02, 0.12),
        }
    }

    /// The underside of the seat.
    fn underside(&self) -> f64 {
        self.seat_height - self.thickness
    }
}

pub(crate) fn seat(chair: &ChairAnchors, rng: &mut impl Rng) -> Vec<Part> {
    let (w, d, t) = (chair.width / 2.0, chair.depth / 2.0, chair.thickness / 2.0);
    let center = [0.0, chair.seat_height - t, 0.0];
    let primitives = match choice(rng, &[0.55, 0.20, 0.25]) {
        0 => vec![Primitive::block(center, [w, t, d])],
        1 => vec![Primitive::at(center, Surface::Plate([w, t, d]))],
        _ => {
            // A cushion on a thinner frame.
            let share = between(rng, 0.25, 0.45);
            let inset = between(rng, 0.85, 0.98);
            let frame = [0.0, chair.underside() + share * t, 0.0];
            let cushion = [0.0, chair.seat_height - (1.0 - share) * t, 0.0];
            vec![
                Primitive::block(frame, [w, share * t, d]),
                Primitive::block(cushion, [w * inset, (1.0 - share) * t, d * inset]),
            ]
        }
    };
    vec![Part::new(&["chair_seat"], primitives)]
}

pub(crate) fn back(chair: &ChairAnchors, rng: &mut impl Rng) -> Vec<Part> {
    if !chance(rng, 0.93) {
        return Vec::new();
    }
    let height = between(rng, 0.28, 0.70);
    let lean = -between(rng, 0.0, 18.0).to_radians();
    let (w, z) = (chair.width / 2.0, -chair.depth / 2.0 + 0.02);
    let (low, high) = (chair.seat_height, chair.seat_height + height);
    let post = |x: f64, half: f64| Primitive::bar([x, low, z], [x, high, z], half);
    let rail = |y: f64, half: f64| Primitive::bar([-w, y, z], [w, y, z], half);
    let primitives = match choice(rng, &[0.35, 0.20, 0.20, 0.15, 0.10]) {
        0 => {
            let half = between(rng, 0.015, 0.06) / 2.0;
            vec![Primitive::block([0.0, low + height / 2.0, z], [w, height / 2.0, half])]
        }
        1 => {
            let radius = between(rng, 0.007, 0.015);
            let bars = spaced(rng.random_range(3..=7), -w + 0.02, w - 0.02)
                .map(|x| Primitive::rod([x, low, z], [x, high, z], radius, radius));
            bars.chain([rail(high, 0.02)]).collect()
        }
        2 => {
            let n_slats = rng.random_range(2..=5);
            let half = (0.25 * height / n_slats as f64).min(0.04);
            let slats = spaced(n_slats, low + 0.25 * height, high - half)
                .map(|y| Primitive::block([0.0, y, z], [w, half, 0.008]));
            slats.chain([post(-w, 0.014), post(w, 0.014)]).collect()
        }
        3 => {
            let share = between(rng, 0.25, 0.6);
            let panel =
                Primitive::block([0.0, low + height / 2.0, z], [w * share, height / 2.0, 0.008]);
            vec![panel, post(-w, 0.016), post(w, 0.016), rail(high, 0.018), rail(low + 0.06, 0.014)]
        }
        _ => {
            // Bars on a half circle behind the seat, under a bent rail.
            let (radius, middle) = (w - 0.01, chair.depth / 2.0 - w);
            let bars = spaced(rng.random_range(5..=9), PI, TAU).map(|angle| {
                let (x, z) = (radius * angle.cos(), radius * angle.sin() - middle);
                Primitive::rod([x, low, z], [x, high, z], 0.009, 0.009)
            });
            let arc = Surface::Arc { around: radius, radius: 0.015, start: PI, end: TAU };
            let center = [0.0, high, -middle];
            let rail = Primitive::at(center, arc).leaned(center, FRAC_PI_2);
            bars.chain([rail]).collect()
        }
    };
    let pivot = [0.0, low, z];
    let leaned = |primitives: Vec<Primitive>| {
        primitives.into_iter().map(|primitive| primitive.leaned(pivot, lean)).collect()
    };
    let mut parts = vec![Part::new(&["chair_back"], leaned(primitives))];
    if chance(rng, 0.06) {
        let slab = Primitive::block([0.0, high + 0.09, z], [w * 0.5, 0.06, 0.025]);
        let rod = Primitive::rod([0.0, high, z], [0.0, high + 0.04, z], 0.01, 0.01);
        parts.push(Part::new(&["chair_head"], leaned(vec![slab, rod])));
    }
    parts
}

pub(crate) fn base(chair: &ChairAnchors, rng: &mut impl Rng) -> Vec<Part> {
    let primitives = match choice(rng, &[0.50, 0.12, 0.15, 0.10, 0.08, 0.05]) {
        0 => four_legs(chair, rng),
        1 => {
            let radius = between(rng, 0.02, 0.05);
            let (disc, half) = (between(rng, 0.14, 0.24), between(rng, 0.008, 0.02));
            vec![
                Primitive::rod([0.0, half, 0.0], [0.0, chair.underside(), 0.0], radius, radius),
                Primitive::at([0.0, half, 0.0], Surface::Plate([disc, half, disc])),
            ]
        }
        2 => star(chair, rng),
        3 => sled(chair, rng),
        4 => {
            let inset = between(rng, 0.75, 1.0);
            let half = chair.underside() / 2.0;
            let size = [chair.width / 2.0 * inset, half, chair.depth / 2.0 * inset];
            vec![Primitive::block([0.0, half, 0.0], size)]
        }
        _ => cantilever(chair, rng),
    };
    vec![Part::new(&["chair_base"], primitives)]
}

fn four_legs(chair: &ChairAnchors, rng: &mut impl Rng) -> Vec<Primitive> {
    let is_round: bool = rng.random();
    let radius = between(rng, 0.012, 0.03);
    let (taper, splay) = (between(rng, 0.6, 1.0), between(rng, 0.0, 0.08));
    let (x, z) = (chair.width / 2.0 - radius, chair.depth / 2.0 - radius);
    let top = chair.underside();
    let mut primitives = Vec::new();
    for (side, front) in [(-1.0, -1.0), (-1.0, 1.0), (1.0, -1.0), (1.0, 1.0)] {
        let foot = [side * (x + splay), 0.0, front * (z + splay)];
        let head = [side * x, top, front * z];
        primitives.push(match is_round {
            true => Primitive::rod(foot, head, radius * taper, radius),
            false => Primitive::bar(foot, head, radius),
        });
    }
    if chance(rng, 0.45) {
        let y = between(rng, 0.2, 0.5) * top;
        let out = splay * (1.0 - y / top);
        let (x, z, half) = (x + out, z + out, radius * 0.6);
        let rod = |from, to| Primitive::rod(from, to, half, half);
        primitives.extend([-x, x].map(|x| rod([x, y, -z], [x, y, z])));
        match rng.random_range(0..3) {
            0 => primitives.push(rod([-x, y, 0.0], [x, y, 0.0])),
            1 => primitives.extend([-z, z].map(|z| rod([-x, y, z], [x, y, z]))),
            _ => {}
        }
    }
    primitives
}

fn star(chair: &ChairAnchors, rng: &mut impl Rng) -> Vec<Primitive> {
    let n_spokes = rng.random_range(4..=6);
    let reach = between(rng, 0.24, 0.32);
    let has_casters = chance(rng, 0.5);
    let y = if has_casters { 0.07 } else { 0.025 };
    let radius = between(rng, 0.018, 0.03);
    let mut primitives =
        vec![Primitive::rod([0.0, y, 0.0], [0.0, chair.underside(), 0.0], radius, radius)];
    for spoke in 0..n_spokes {
        let angle = TAU * f64::from(spoke) / f64::from(n_spokes);
        let end = [reach * angle.cos(), y, reach * angle.sin()];
        primitives.push(Primitive::rod([0.0, y, 0.0], end, 0.022, 0.014));
        if has_casters {
            let ball = Surface::Ellipsoid { half: [0.028; 3], is_half: false };
            primitives.push(Primitive::at([end[0], 0.028, end[2]], ball));
        }
    }
    primitives
}

fn sled(chair: &ChairAnchors, rng: &mut impl Rng) -> Vec<Primitive> {
    let radius = between(rng, 0.01, 0.02);
    let (x, z) = (chair.width / 2.0 - radius, chair.depth / 2.0 - 0.03);
    let top = chair.underside();
    let rod = |from, to| Primitive::rod(from, to, radius, radius);
    let side = |x: f64| {
        [
            rod([x, radius, -z], [x, radius, z]),
            rod([x, radius, -z], [x, top, -z]),
            rod([x, radius, z], [x, top, z]),
        ]
    };
    side(-x).into_iter().chain(side(x)).collect()
}

fn cantilever(chair: &ChairAnchors, rng: &mut impl Rng) -> Vec<Primitive> {
    let radius = between(rng, 0.012, 0.02);
    let (x, z) = (chair.width / 2.0 - radius, chair.depth / 2.0 - radius);
    let rod = |from, to| Primitive::rod(from, to, radius, radius);
    let side = |x: f64| {
        [
            rod([x, radius, -z], [x, radius, z]),
            rod([x, radius, z], [x, chair.underside(), z]),
            rod([x, chair.underside() - radius, z], [x, chair.underside() - radius, -z]),
        ]
    };
    let across = rod([-x, radius, -z], [x, radius, -z]);
    side(-x).into_iter().chain(side(x)).chain([across]).collect()
}

/// Two arms of one style: seeing one tells what the other is like.
pub(crate) fn arms(chair: &ChairAnchors, rng: &mut impl Rng) -> Vec<Part> {
    if !chance(rng, 0.45) {
        return Vec::new();
    }
    let height = between(rng, 0.14, 0.24);
    let (w, d, y) = (chair.width / 2.0, chair.depth / 2.0, chair.seat_height);
    let primitives = match choice(rng, &[0.5, 0.25, 0.25]) {
        0 => {
            let half_length = d * between(rng, 0.55, 0.95);
            let pad = Primitive::block(
                [w, y + height, 0.0],
                [between(rng, 0.018, 0.04), 0.012, half_length],
            );
            let z = half_length * between(rng, 0.3, 0.9);
            let post =
                Primitive::rod([w, y - chair.thickness, z], [w, y + height, z], 0.014, 0.014);
            vec![pad, post]
        }
        1 => {
            let around = height.min(d);
            let center = [w, y, 0.0];
            let arc =
                Surface::Arc { around, radius: between(rng, 0.01, 0.018), start: 0.0, end: PI };
            vec![Primitive::at(center, arc).spun(center, FRAC_PI_2)]
        }
        _ => {
            let half = between(rng, 0.03, 0.06);
            let size = [half, (height + chair.thickness) / 2.0, d];
            vec![Primitive::block([w + half, y + (height - chair.thickness) / 2.0, 0.0], size)]
        }
    };
    let mirrored = primitives.iter().cloned().map(Primitive::mirrored).collect();
    vec![Part::new(&["chair_arm"], primitives), Part::new(&["chair_arm"], mirrored)]
}
