//! Lamps: table and floor lamps, pendants and chandeliers, jointed desk lamps, and lamps on walls.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use rand::{Rng, RngExt};

use super::draw::{Part, between, chance, choice, spaced};
use super::primitive::{Primitive, Surface, Vector};

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
            Family::Chandelier => {
                (between(rng, 0.4, 0.8), between(rng, 0.25, 0.45), rng.random_range(3..=8))
            }
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
        let y = if self.hangs() { 0.0 } else { self.height };
        match self.family {
            Family::Chandelier => (0..self.n_lights)
                .map(|light| {
                    let angle = TAU * f64::from(light) / f64::from(self.n_lights);
                    [self.reach * angle.cos(), 0.05, self.reach * angle.sin()]
                })
                .collect(),
            _ => vec![[0.0, y, self.reach]],
        }
    }
}

pub(crate) fn base(lamp: &LampAnchors, rng: &mut impl Rng) -> Vec<Part> {
    let [x, y, z] = lamp.foot();
    let radius = between(rng, 0.07, 0.22);
    let half = between(rng, 0.006, 0.025);
    let primitive = match lamp.family {
        Family::Pendant | Family::Chandelier => {
            let radius = radius * 0.6;
            Primitive::at([x, y + half, z], Surface::Plate([radius, half, radius]))
        }
        Family::Wall => Primitive::block([0.0, 0.0, -half], [radius * 0.5, radius * 0.7, half]),
        _ => match choice(rng, &[0.5, 0.25, 0.25]) {
            0 => Primitive::at([x, y + half, z], Surface::Plate([radius, half, radius])),
            1 => Primitive::block([x, y + half, z], [radius, half, radius]),
            _ => {
                // Legs start a little up the body.
                let knee = (0.35 * lamp.height).min(0.25);
                let legs = (0..3).map(|leg| {
                    let angle = TAU * (f64::from(leg) + 0.25) / 3.0;
                    let foot = [radius * angle.cos(), 0.0, radius * angle.sin()];
                    Primitive::rod(foot, [0.0, knee, 0.0], 0.01, 0.012)
                });
                return vec![Part::new(&["lamp_base"], legs.collect())];
            }
        },
    };
    vec![Part::new(&["lamp_base"], vec![primitive])]
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
            let ball = Surface::Ellipsoid { half: [between(rng, 0.03, 0.07); 3], is_half: false };
            primitives.push(Primitive::at([0.0, 0.05, 0.0], ball));
            let radius = between(rng, 0.006, 0.014);
            primitives.extend(
                lights.iter().map(|&l| Primitive::rod([0.0, 0.05, 0.0], l, radius, radius)),
            );
            primitives
        }
        Family::Desk => {
            let n_bars = rng.random_range(2..=3);
            let radius = between(rng, 0.006, 0.013);
            let mut joints = vec![foot];
            for joint in 1..n_bars {
                let share = f64::from(joint) / f64::from(n_bars);
                let back = between(rng, -0.12, 0.12);
                joints.push([
                    0.0,
                    lamp.height * between(rng, share, 1.0),
                    lamp.reach * share + back,
                ]);
            }
            joints.push(light);
            joints.windows(2).map(|two| Primitive::rod(two[0], two[1], radius, radius)).collect()
        }
        Family::Wall => {
            let radius = between(rng, 0.008, 0.016);
            let elbow = match rng.random::<bool>() {
                true => [0.0, 0.0, lamp.reach],
                false => [0.0, lamp.height, 0.02],
            };
            vec![
                Primitive::rod(foot, elbow, radius, radius),
                Primitive::rod(elbow, light, radius, radius),
            ]
        }
    };
    vec![Part::new(&["lamp_body"], primitives)]
}

/// A straight pole, stacked balls, or the outline of a vase.
fn upright(lamp: &LampAnchors, rng: &mut impl Rng) -> Vec<Primitive> {
    let height = lamp.height;
    let weights = if lamp.family == Family::Table { [0.35, 0.3, 0.35] } else { [0.8, 0.1, 0.1] };
    match choice(rng, &weights) {
        0 => {
            let radius = between(rng, 0.008, 0.025);
            vec![Primitive::rod([0.0; 3], [0.0, height, 0.0], radius, radius)]
        }
        1 => {
            let n_balls = rng.random_range(2..=5);
            let half = height / (2.0 * n_balls as f64);
            let width = half.min(between(rng, 0.04, 0.12));
            let ball = Surface::Ellipsoid { half: [width, half, width], is_half: false };
            spaced(n_balls, half, height - half)
                .map(|y| Primitive::at([0.0, y, 0.0], ball))
                .collect()
        }
        _ => {
            let n_rings = rng.random_range(3..=5);
            let radii: Vec<f64> = (0..=n_rings).map(|_| between(rng, 0.02, 0.11)).collect();
            let step = height / n_rings as f64;
            let ring = |index: usize| {
                let surface = Surface::Frustum {
                    below: radii[index],
                    above: radii[index + 1],
                    half_height: step / 2.0,
                    has_caps: false,
                };
                Primitive::at([0.0, (index as f64 + 0.5) * step, 0.0], surface)
            };
            (0..n_rings).map(ring).collect()
        }
    }
}

/// A pole that bends over, or one with a straight bar at its top.
fn bent(lamp: &LampAnchors, rng: &mut impl Rng) -> Vec<Primitive> {
    let radius = between(rng, 0.01, 0.02);
    let top = lamp.height;
    if rng.random() {
        let around = lamp.reach / 2.0;
        let arc = Surface::Arc { around, radius, start: 0.0, end: PI };
        let center = [0.0, top, around];
        return vec![
            Primitive::rod([0.0; 3], [0.0, top, 0.0], radius, radius),
            Primitive::at(center, arc).spun(center, FRAC_PI_2),
        ];
    }
    vec![
        Primitive::rod([0.0; 3], [0.0, top, 0.0], radius, radius),
        Primitive::rod([0.0, top, 0.0], [0.0, top, lamp.reach], radius, radius),
    ]
}

fn cord_or_chain(from: Vector, to: Vector, rng: &mut impl Rng) -> Vec<Primitive> {
    if chance(rng, 0.7) {
        let radius = between(rng, 0.004, 0.01);
        return vec![Primitive::rod(from, to, radius, radius)];
    }
    let n_links = ((from[1] - to[1]) / 0.04).ceil().max(2.0) as usize;
    let half = (from[1] - to[1]) / (2.0 * n_links as f64);
    let ring = Surface::Arc { around: half, radius: 0.004, start: 0.0, end: TAU };
    let links = spaced(n_links, to[1] + half, from[1] - half).enumerate();
    links
        .map(|(index, y)| {
            let center = [to[0], y, to[2]];
            Primitive::at(center, ring).spun(center, FRAC_PI_2 * (index % 2) as f64)
        })
        .collect()
}

pub(crate) fn unit(lamp: &LampAnchors, rng: &mut impl Rng) -> Vec<Part> {
    let small = if lamp.family == Family::Chandelier { 0.4 } else { 1.0 };
    let shade = Shade::draw(lamp, small, rng);
    let mut parts: Vec<Part> =
        lamp.lights().into_iter().map(|light| Part::new(&["lamp_unit"], shade.at(light))).collect();
    if lamp.family != Family::Chandelier && chance(rng, 0.1) {
        let [x, y, z] = lamp.lights()[0];
        let below = if lamp.hangs() { y - 2.2 * shade.height } else { y * 0.6 };
        let second = Shade { radius: shade.radius * 0.6, height: shade.height * 0.6, ..shade };
        parts.push(Part::new(&["lamp_unit"], second.at([x, below, z])));
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
        let wall = |below: f64, above: f64| {
            let surface = Surface::Frustum { below, above, half_height: half, has_caps: false };
            Primitive::at([x, y, z], surface)
        };
        let mut primitives = vec![match self.style {
            0 => wall(radius, radius * self.above),
            1 => wall(radius, radius),
            2 => wall(radius, 0.02),
            3 => {
                let ball = Surface::Ellipsoid { half: [radius.min(half); 3], is_half: false };
                Primitive::at([x, y, z], ball)
            }
            _ => {
                let dome =
                    Surface::Ellipsoid { half: [radius, self.height, radius], is_half: true };
                Primitive::at([x, y - half, z], dome)
            }
        }];
        if self.has_bulb {
            let bulb = Surface::Ellipsoid { half: [0.03, 0.04, 0.03], is_half: false };
            primitives.push(Primitive::at([x, y, z], bulb));
        }
        if self.has_finial {
            let finial = Surface::Ellipsoid { half: [0.012, 0.02, 0.012], is_half: false };
            primitives.push(Primitive::at([x, y + half + 0.02, z], finial));
        }
        primitives
    }
}

pub(crate) fn cord(lamp: &LampAnchors, rng: &mut impl Rng) -> Vec<Part> {
    if lamp.hangs() || !chance(rng, 0.1) {
        return Vec::new();
    }
    let length = between(rng, 0.15, 0.4);
    let bend = between(rng, -0.1, 0.1);
    let [from, knee, to] = [[0.0, 0.006, 0.0], [bend, 0.006, -length / 2.0], [0.0, 0.006, -length]];
    let rods = [Primitive::rod(from, knee, 0.004, 0.004), Primitive::rod(knee, to, 0.004, 0.004)];
    vec![Part::new(&["power_cord"], rods.into())]
}
