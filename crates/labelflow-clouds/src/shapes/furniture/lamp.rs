//! Lamps: table and floor lamps, pendants and chandeliers, jointed desk lamps, and lamps on walls.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use rand::{Rng, RngExt};

use super::draw::{Part, around, between, chance, choice, spaced};
use super::primitive::{Primitive, Vector, arc, ball, block, dome, plate, rod, tapered, tube, wall};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Table,
    Floor,
    Pendant,
    Chandelier,
    Desk,
    Wall,
}

/// What all parts of a lamp share: where the body starts and where the light is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LampAnchors {
    family: Family,
    height: f64,
    /// How far the light is from the axis.
    reach: f64,
    n_lights: u32,
}

impl LampAnchors {
    pub(crate) fn draw(rng: &mut impl Rng) -> Self {
        let families = [Family::Table, Family::Floor, Family::Pendant, Family::Desk, Family::Wall];
        let mut family = families[choice(rng, &[0.35, 0.25, 0.20, 0.12, 0.08])];
        if family == Family::Pendant && chance(rng, 0.3) {
            family = Family::Chandelier;
        }
        let (height, reach, n_lights) = match family {
            Family::Table => (between(rng, 0.25, 0.55), 0.0, 1),
            Family::Floor => {
                let reach = if chance(rng, 0.3) { between(rng, 0.2, 0.5) } else { 0.0 };
                (between(rng, 1.0, 1.6), reach, 1)
            }
            Family::Pendant => (between(rng, 0.4, 1.0), 0.0, 1),
            Family::Chandelier => (between(rng, 0.4, 0.8), between(rng, 0.25, 0.45), rng.random_range(3..=8)),
            Family::Desk => (between(rng, 0.3, 0.5), between(rng, 0.12, 0.3), 1),
            Family::Wall => (between(rng, 0.1, 0.25), between(rng, 0.1, 0.25), 1),
        };
        Self { family, height, reach, n_lights }
    }

    fn hangs(&self) -> bool {
        matches!(self.family, Family::Pendant | Family::Chandelier)
    }

    /// Where the base is: on the floor, at the ceiling or at the wall.
    fn foot(&self) -> Vector {
        [0.0, if self.hangs() { self.height } else { 0.0 }, 0.0]
    }

    /// Where the lights are.
    fn lights(&self) -> Vec<Vector> {
        match self.family {
            Family::Chandelier => around(self.n_lights, self.reach).map(|[x, z]| [x, 0.05, z]).collect(),
            _ => vec![[0.0, if self.hangs() { 0.0 } else { self.height }, self.reach]],
        }
    }
}

pub(crate) fn base(lamp: &LampAnchors, rng: &mut impl Rng) -> Vec<Part> {
    let [x, y, z] = lamp.foot();
    let (radius, half) = (between(rng, 0.07, 0.22), between(rng, 0.006, 0.025));
    let disc = |radius: f64| plate([x, y + half, z], [radius, half, radius]);
    let primitives = match lamp.family {
        Family::Pendant | Family::Chandelier => vec![disc(radius * 0.6)],
        Family::Wall => vec![block([0.0, 0.0, -half], [radius * 0.5, radius * 0.7, half])],
        _ => match choice(rng, &[0.5, 0.25, 0.25]) {
            0 => vec![disc(radius)],
            1 => vec![block([x, y + half, z], [radius, half, radius])],
            _ => {
                // Legs start a little up the body.
                let knee = (0.35 * lamp.height).min(0.25);
                let leg = |leg| {
                    let angle = TAU * (f64::from(leg) + 0.25) / 3.0;
                    let foot = [radius * angle.cos(), 0.0, radius * angle.sin()];
                    tapered(foot, [0.0, knee, 0.0], 0.01, 0.012)
                };
                (0..3).map(leg).collect()
            }
        },
    };
    vec![Part::new(&["lamp_base"], primitives)]
}

pub(crate) fn body(lamp: &LampAnchors, rng: &mut impl Rng) -> Vec<Part> {
    let (foot, lights) = (lamp.foot(), lamp.lights());
    let light = lights[0];
    let primitives = match lamp.family {
        Family::Table | Family::Floor if lamp.reach == 0.0 => upright(lamp, rng),
        Family::Table | Family::Floor => bent(lamp, rng),
        Family::Pendant => cord_or_chain(foot, light, rng),
        Family::Chandelier => {
            let mut primitives = cord_or_chain(foot, [0.0, 0.08, 0.0], rng);
            primitives.push(ball([0.0, 0.05, 0.0], [between(rng, 0.03, 0.07); 3]));
            let radius = between(rng, 0.006, 0.014);
            primitives.extend(lights.iter().map(|&light| rod([0.0, 0.05, 0.0], light, radius)));
            primitives
        }
        Family::Desk => {
            let n_bars = rng.random_range(2..=3);
            let radius = between(rng, 0.006, 0.013);
            let mut joints = vec![foot];
            for joint in 1..n_bars {
                let share = f64::from(joint) / f64::from(n_bars);
                let back = between(rng, -0.12, 0.12);
                let y = lamp.height * between(rng, share, 1.0);
                joints.push([0.0, y, lamp.reach * share + back]);
            }
            joints.push(light);
            tube(&joints, radius)
        }
        Family::Wall => {
            let radius = between(rng, 0.008, 0.016);
            let elbow = match rng.random::<bool>() {
                true => [0.0, 0.0, lamp.reach],
                false => [0.0, lamp.height, 0.02],
            };
            tube(&[foot, elbow, light], radius)
        }
    };
    vec![Part::new(&["lamp_body"], primitives)]
}

/// A straight pole, stacked balls, or the outline of a vase.
fn upright(lamp: &LampAnchors, rng: &mut impl Rng) -> Vec<Primitive> {
    let height = lamp.height;
    let weights = if lamp.family == Family::Table { [0.35, 0.3, 0.35] } else { [0.8, 0.1, 0.1] };
    match choice(rng, &weights) {
        0 => vec![rod([0.0; 3], [0.0, height, 0.0], between(rng, 0.008, 0.025))],
        1 => {
            let n_balls = rng.random_range(2..=5);
            let half = height / (2.0 * n_balls as f64);
            let width = half.min(between(rng, 0.04, 0.12));
            let places = spaced(n_balls, half, height - half);
            places.map(|y| ball([0.0, y, 0.0], [width, half, width])).collect()
        }
        _ => {
            let n_rings = rng.random_range(3..=5);
            let radii: Vec<f64> = (0..=n_rings).map(|_| between(rng, 0.02, 0.11)).collect();
            let step = height / n_rings as f64;
            let ring = |(index, two): (usize, &[f64])| {
                wall([0.0, (index as f64 + 0.5) * step, 0.0], [two[0], two[1]], step / 2.0)
            };
            radii.windows(2).enumerate().map(ring).collect()
        }
    }
}

/// A pole that bends over, or one with a straight bar at its top.
fn bent(lamp: &LampAnchors, rng: &mut impl Rng) -> Vec<Primitive> {
    let (radius, top) = (between(rng, 0.01, 0.02), lamp.height);
    if rng.random() {
        let center = [0.0, top, lamp.reach / 2.0];
        let bow = arc(center, lamp.reach / 2.0, radius, [0.0, PI]).spun(center, FRAC_PI_2);
        return vec![rod([0.0; 3], [0.0, top, 0.0], radius), bow];
    }
    tube(&[[0.0; 3], [0.0, top, 0.0], [0.0, top, lamp.reach]], radius)
}

fn cord_or_chain(from: Vector, to: Vector, rng: &mut impl Rng) -> Vec<Primitive> {
    if chance(rng, 0.7) {
        return vec![rod(from, to, between(rng, 0.004, 0.01))];
    }
    let n_links = ((from[1] - to[1]) / 0.04).ceil().max(2.0) as usize;
    let half = (from[1] - to[1]) / (2.0 * n_links as f64);
    let link = |(index, y): (usize, f64)| {
        let center = [to[0], y, to[2]];
        arc(center, half, 0.004, [0.0, TAU]).spun(center, FRAC_PI_2 * (index % 2) as f64)
    };
    spaced(n_links, to[1] + half, from[1] - half).enumerate().map(link).collect()
}

pub(crate) fn unit(lamp: &LampAnchors, rng: &mut impl Rng) -> Vec<Part> {
    let small = if lamp.family == Family::Chandelier { 0.4 } else { 1.0 };
    let shade = Shade::draw(lamp, small, rng);
    let unit = |shade: &Shade, light| Part::new(&["lamp_unit"], shade.at(light));
    let mut parts: Vec<Part> = lamp.lights().into_iter().map(|at| unit(&shade, at)).collect();
    if lamp.family != Family::Chandelier && chance(rng, 0.1) {
        let [x, y, z] = lamp.lights()[0];
        let below = if lamp.hangs() { y - 2.2 * shade.height } else { y * 0.6 };
        let second = Shade { radius: shade.radius * 0.6, height: shade.height * 0.6, ..shade };
        parts.push(unit(&second, [x, below, z]));
    }
    parts
}

#[derive(Debug, Clone, Copy)]
struct Shade {
    style: usize,
    radius: f64,
    height: f64,
    above: f64,
    has_bulb: bool,
    has_finial: bool,
    hangs: bool,
}

impl Shade {
    fn draw(lamp: &LampAnchors, small: f64, rng: &mut impl Rng) -> Self {
        Self {
            style: choice(rng, &[0.3, 0.25, 0.15, 0.15, 0.15]),
            radius: small * between(rng, 0.10, 0.30),
            height: small * between(rng, 0.12, 0.38),
            above: between(rng, 0.4, 0.8),
            has_bulb: chance(rng, 0.4),
            has_finial: chance(rng, 0.15),
            hangs: lamp.hangs() || lamp.family == Family::Desk,
        }
    }

    fn at(&self, [x, y, z]: Vector) -> Vec<Primitive> {
        let (radius, half) = (self.radius, self.height / 2.0);
        let y = if self.hangs { y - half } else { y + 0.3 * half };
        let center = [x, y, z];
        let mut primitives = vec![match self.style {
            0 => wall(center, [radius, radius * self.above], half),
            1 => wall(center, [radius, radius], half),
            2 => wall(center, [radius, 0.02], half),
            3 => ball(center, [radius.min(half); 3]),
            _ => dome([x, y - half, z], [radius, self.height, radius]),
        }];
        primitives.extend(self.has_bulb.then(|| ball(center, [0.03, 0.04, 0.03])));
        let finial = || ball([x, y + half + 0.02, z], [0.012, 0.02, 0.012]);
        primitives.extend(self.has_finial.then(finial));
        primitives
    }
}

pub(crate) fn cord(lamp: &LampAnchors, rng: &mut impl Rng) -> Vec<Part> {
    if lamp.hangs() || !chance(rng, 0.1) {
        return Vec::new();
    }
    let (length, bend) = (between(rng, 0.15, 0.4), between(rng, -0.1, 0.1));
    let places = [[0.0, 0.006, 0.0], [bend, 0.006, -length / 2.0], [0.0, 0.006, -length]];
    vec![Part::new(&["power_cord"], tube(&places, 0.004))]
}
