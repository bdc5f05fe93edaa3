//! Chairs: a seat, a back, something to stand on, and sometimes arms and a headrest.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use rand::{Rng, RngExt};

use super::draw::{CORNERS, Part, around, between, chance, choice, spaced};
use super::primitive::{Primitive, arc, ball, bar, block, leg, plate, rod, tapered};

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
        0 => vec![block(center, [w, t, d])],
        1 => vec![plate(center, [w, t, d])],
        _ => {
            // A cushion on a thinner frame.
            let (share, inset) = (between(rng, 0.25, 0.45), between(rng, 0.85, 0.98));
            let frame = [0.0, chair.underside() + share * t, 0.0];
            let cushion = [0.0, chair.seat_height - (1.0 - share) * t, 0.0];
            let cushion = block(cushion, [w * inset, (1.0 - share) * t, d * inset]);
            vec![block(frame, [w, share * t, d]), cushion]
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
    let center = [0.0, low + height / 2.0, z];
    let post = |x: f64, half: f64| bar([x, low, z], [x, high, z], half);
    let rail = |y: f64, half: f64| bar([-w, y, z], [w, y, z], half);
    let primitives: Vec<Primitive> = match choice(rng, &[0.35, 0.20, 0.20, 0.15, 0.10]) {
        0 => vec![block(center, [w, height / 2.0, between(rng, 0.015, 0.06) / 2.0])],
        1 => {
            let radius = between(rng, 0.007, 0.015);
            let places = spaced(rng.random_range(3..=7), -w + 0.02, w - 0.02);
            let bars = places.map(|x| rod([x, low, z], [x, high, z], radius));
            bars.chain([rail(high, 0.02)]).collect()
        }
        2 => {
            let n_slats = rng.random_range(2..=5);
            let half = (0.25 * height / n_slats as f64).min(0.04);
            let places = spaced(n_slats, low + 0.25 * height, high - half);
            let slats = places.map(|y| block([0.0, y, z], [w, half, 0.008]));
            slats.chain([post(-w, 0.014), post(w, 0.014)]).collect()
        }
        3 => {
            let panel = block(center, [w * between(rng, 0.25, 0.6), height / 2.0, 0.008]);
            vec![panel, post(-w, 0.016), post(w, 0.016), rail(high, 0.018), rail(low + 0.06, 0.014)]
        }
        _ => {
            // Bars on a half circle behind the seat, under a bent rail.
            let (radius, middle) = (w - 0.01, chair.depth / 2.0 - w);
            let bars = spaced(rng.random_range(5..=9), PI, TAU).map(|angle| {
                let (x, z) = (radius * angle.cos(), radius * angle.sin() - middle);
                rod([x, low, z], [x, high, z], 0.009)
            });
            let center = [0.0, high, -middle];
            let rail = arc(center, radius, 0.015, [PI, TAU]).leaned(center, FRAC_PI_2);
            bars.chain([rail]).collect()
        }
    };
    let leaned = |primitive: Primitive| primitive.leaned([0.0, low, z], lean);
    let mut parts = vec![Part::new(&["chair_back"], primitives.into_iter().map(leaned))];
    if chance(rng, 0.06) {
        let slab = block([0.0, high + 0.09, z], [w * 0.5, 0.06, 0.025]);
        let rod = rod([0.0, high, z], [0.0, high + 0.04, z], 0.01);
        parts.push(Part::new(&["chair_head"], [slab, rod].map(leaned)));
    }
    parts
}

pub(crate) fn base(chair: &ChairAnchors, rng: &mut impl Rng) -> Vec<Part> {
    let primitives = match choice(rng, &[0.50, 0.12, 0.15, 0.10, 0.08, 0.05]) {
        0 => four_legs(chair, rng),
        1 => {
            let radius = between(rng, 0.02, 0.05);
            let (disc, half) = (between(rng, 0.14, 0.24), between(rng, 0.008, 0.02));
            let pole = rod([0.0, half, 0.0], [0.0, chair.underside(), 0.0], radius);
            vec![pole, plate([0.0, half, 0.0], [disc, half, disc])]
        }
        2 => star(chair, rng),
        3 => sled(chair, rng),
        4 => {
            let (inset, half) = (between(rng, 0.75, 1.0), chair.underside() / 2.0);
            let size = [chair.width / 2.0 * inset, half, chair.depth / 2.0 * inset];
            vec![block([0.0, half, 0.0], size)]
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
    let legs = CORNERS.map(|[side, front]| {
        let foot = [side * (x + splay), 0.0, front * (z + splay)];
        leg(foot, [side * x, top, front * z], radius, taper, is_round)
    });
    let mut primitives = legs.to_vec();
    if chance(rng, 0.45) {
        let y = between(rng, 0.2, 0.5) * top;
        let out = splay * (1.0 - y / top);
        let (x, z, half) = (x + out, z + out, radius * 0.6);
        primitives.extend([-x, x].map(|x| rod([x, y, -z], [x, y, z], half)));
        match rng.random_range(0..3) {
            0 => primitives.push(rod([-x, y, 0.0], [x, y, 0.0], half)),
            1 => primitives.extend([-z, z].map(|z| rod([-x, y, z], [x, y, z], half))),
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
    let mut primitives = vec![rod([0.0, y, 0.0], [0.0, chair.underside(), 0.0], radius)];
    for [x, z] in around(n_spokes, reach) {
        primitives.push(tapered([0.0, y, 0.0], [x, y, z], 0.022, 0.014));
        if has_casters {
            primitives.push(ball([x, 0.028, z], [0.028; 3]));
        }
    }
    primitives
}

fn sled(chair: &ChairAnchors, rng: &mut impl Rng) -> Vec<Primitive> {
    let radius = between(rng, 0.01, 0.02);
    let (x, z) = (chair.width / 2.0 - radius, chair.depth / 2.0 - 0.03);
    let top = chair.underside();
    let side = |x: f64| {
        let upright = |z: f64| rod([x, radius, z], [x, top, z], radius);
        [rod([x, radius, -z], [x, radius, z], radius), upright(-z), upright(z)]
    };
    [-x, x].map(side).concat()
}

fn cantilever(chair: &ChairAnchors, rng: &mut impl Rng) -> Vec<Primitive> {
    let radius = between(rng, 0.012, 0.02);
    let (x, z) = (chair.width / 2.0 - radius, chair.depth / 2.0 - radius);
    let (top, seat) = (chair.underside(), chair.underside() - radius);
    let side = |x: f64| {
        let floor = rod([x, radius, -z], [x, radius, z], radius);
        let upright = rod([x, radius, z], [x, top, z], radius);
        [floor, upright, rod([x, seat, z], [x, seat, -z], radius)]
    };
    let across = rod([-x, radius, -z], [x, radius, -z], radius);
    [&[-x, x].map(side).concat()[..], &[across]].concat()
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
            let pad = [between(rng, 0.018, 0.04), 0.012, half_length];
            let z = half_length * between(rng, 0.3, 0.9);
            let post = rod([w, y - chair.thickness, z], [w, y + height, z], 0.014);
            vec![block([w, y + height, 0.0], pad), post]
        }
        1 => {
            let center = [w, y, 0.0];
            let tube = arc(center, height.min(d), between(rng, 0.01, 0.018), [0.0, PI]);
            vec![tube.spun(center, FRAC_PI_2)]
        }
        _ => {
            let half = between(rng, 0.03, 0.06);
            let size = [half, (height + chair.thickness) / 2.0, d];
            vec![block([w + half, y + (height - chair.thickness) / 2.0, 0.0], size)]
        }
    };
    let mirrored: Vec<Primitive> = primitives.iter().cloned().map(Primitive::mirrored).collect();
    [primitives, mirrored].map(|arm| Part::new(&["chair_arm"], arm)).into()
}
