//! Tables: a top, and something that carries it.

use std::f64::consts::{PI, TAU};

use rand::{Rng, RngExt};

use super::draw::{CORNERS, Part, around, between, chance, choice, spaced};
use super::primitive::{arc, bar, block, leg, plate, rod, tapered};

const BOARD: &[&str] = &["regular_table", "tabletop", "tabletop_surface"];
const APRON: &[&str] = &["regular_table", "tabletop", "tabletop_frame"];
const LEGS: &[&str] = &["regular_table", "table_base", "leg"];
const STRETCHERS: &[&str] = &["regular_table", "table_base", "stretcher"];
const SHELF: &[&str] = &["regular_table", "table_base", "shelf"];
const DRAWERS: &[&str] = &["regular_table", "table_base", "drawer_column"];

/// What both parts of a table share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TableAnchors {
    width: f64,
    depth: f64,
    height: f64,
    outline: Outline,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outline {
    Rectangle,
    Round,
    Ellipse,
    RoundedRectangle,
}

impl TableAnchors {
    pub(crate) fn draw(rng: &mut impl Rng) -> Self {
        let outlines = [Outline::Rectangle, Outline::Round, Outline::Ellipse, Outline::RoundedRectangle];
        let outline = outlines[choice(rng, &[0.50, 0.25, 0.10, 0.15])];
        let width = between(rng, 0.5, 1.6);
        let depth = between(rng, 0.4, 0.95);
        let height = between(rng, 0.30, 0.80);
        // Round tables are as wide as they are deep.
        let width = if outline == Outline::Round { depth } else { width };
        Self { width, depth, height, outline }
    }

    /// Half of the width and depth that legs may stand in: the corners of a round top carry nothing.
    fn footprint(&self) -> (f64, f64) {
        let share = match self.outline {
            Outline::Rectangle | Outline::RoundedRectangle => 0.94,
            Outline::Round | Outline::Ellipse => 0.62,
        };
        (self.width / 2.0 * share, self.depth / 2.0 * share)
    }
}

pub(crate) fn top(table: &TableAnchors, rng: &mut impl Rng) -> Vec<Part> {
    let half = between(rng, 0.015, 0.08) / 2.0;
    let (w, d, y) = (table.width / 2.0, table.depth / 2.0, table.height - half);
    let center = [0.0, y, 0.0];
    let board = match table.outline {
        Outline::Rectangle => vec![block(center, [w, half, d])],
        Outline::Round | Outline::Ellipse => vec![plate(center, [w, half, d])],
        Outline::RoundedRectangle => {
            let radius = between(rng, 0.1, 0.35) * w.min(d);
            let corners = CORNERS.map(|[x, z]| plate([x * (w - radius), y, z * (d - radius)], [radius, half, radius]));
            let boards = [[w - radius, half, d], [w, half, d - radius]];
            boards.into_iter().map(|size| block(center, size)).chain(corners).collect()
        }
    };
    let mut parts = vec![Part::new(BOARD, board)];
    if chance(rng, 0.3) {
        let (w, d) = table.footprint();
        let apron = between(rng, 0.03, 0.08) / 2.0;
        let y = table.height - 2.0 * half - apron;
        let along = [d, -d].map(|z| block([0.0, y, z], [w, apron, 0.008]));
        let across = [w, -w].map(|x| block([x, y, 0.0], [0.008, apron, d]));
        parts.push(Part::new(APRON, along.into_iter().chain(across)));
    }
    parts
}

pub(crate) fn base(table: &TableAnchors, rng: &mut impl Rng) -> Vec<Part> {
    // The base reaches to just below the board, whose thickness it does not know.
    let height = table.height - 0.02;
    let (w, d) = table.footprint();
    match choice(rng, &[0.40, 0.15, 0.10, 0.10, 0.10, 0.08, 0.07]) {
        0 => four_legs(table, height, rng),
        1 => {
            let radius = between(rng, 0.03, 0.08);
            let foot = table.width.min(table.depth) * between(rng, 0.22, 0.4);
            let half = between(rng, 0.01, 0.025);
            let pole = tapered([0.0; 3], [0.0, height, 0.0], radius, radius * 0.8);
            vec![Part::new(LEGS, [pole, plate([0.0, half, 0.0], [foot, half, foot])])]
        }
        2 => vec![star(table, height, rng)],
        3 => {
            let half = between(rng, 0.01, 0.03);
            let panel = |x: f64| block([x, height / 2.0, 0.0], [half, height / 2.0, d]);
            [-w, w].map(|x| Part::new(LEGS, [panel(x)])).into()
        }
        4 => {
            let column = drawer_column(table, height, -1.0, rng);
            let legs = [-d, d].map(|z| bar([w, 0.0, z], [w, height, z], 0.02));
            vec![column, Part::new(LEGS, legs)]
        }
        5 => [-1.0, 1.0].map(|side| drawer_column(table, height, side, rng)).into(),
        _ => trestle(table, height, rng),
    }
}

fn four_legs(table: &TableAnchors, height: f64, rng: &mut impl Rng) -> Vec<Part> {
    let is_round: bool = rng.random();
    let (radius, taper) = (between(rng, 0.015, 0.045), between(rng, 0.5, 1.0));
    let (w, d) = table.footprint();
    let legs = CORNERS.map(|[side, front]| {
        let (x, z) = (side * w, front * d);
        Part::new(LEGS, [leg([x, 0.0, z], [x, height, z], radius, taper, is_round)])
    });
    let mut parts = legs.to_vec();
    if chance(rng, 0.35) {
        let (y, half) = (between(rng, 0.1, 0.4) * height, radius * 0.6);
        let rods = [-w, w].map(|x| bar([x, y, -d], [x, y, d], half));
        let across = bar([-w, y, 0.0], [w, y, 0.0], half);
        parts.push(Part::new(STRETCHERS, rods.into_iter().chain([across])));
    }
    if chance(rng, 0.2) {
        let y = between(rng, 0.15, 0.45) * height;
        parts.push(Part::new(SHELF, [block([0.0, y, 0.0], [w, 0.01, d])]));
    }
    parts
}

fn star(table: &TableAnchors, height: f64, rng: &mut impl Rng) -> Part {
    let n_feet = rng.random_range(3..=5);
    let reach = table.width.min(table.depth) / 2.0 * between(rng, 0.6, 0.95);
    let radius = between(rng, 0.02, 0.045);
    let pole = rod([0.0, 0.04, 0.0], [0.0, height, 0.0], radius);
    let feet = around(n_feet, reach).map(|[x, z]| bar([0.0, 0.06, 0.0], [x, 0.02, z], 0.02));
    Part::new(LEGS, [pole].into_iter().chain(feet))
}

fn drawer_column(table: &TableAnchors, height: f64, side: f64, rng: &mut impl Rng) -> Part {
    let (w, d) = table.footprint();
    let half = w * between(rng, 0.22, 0.34);
    let x = side * (w - half);
    let mut primitives = vec![block([x, height / 2.0, 0.0], [half, height / 2.0, d])];
    let n_drawers = rng.random_range(1..=4);
    let step = height / n_drawers as f64;
    for y in spaced(n_drawers, step / 2.0, height - step / 2.0) {
        primitives.push(block([x, y, d + 0.006], [half * 0.9, step * 0.42, 0.006]));
        let (z, reach) = (d + 0.03, half * 0.4);
        primitives.push(rod([x - reach, y, z], [x + reach, y, z], 0.006));
    }
    Part::new(DRAWERS, primitives)
}

fn trestle(table: &TableAnchors, height: f64, rng: &mut impl Rng) -> Vec<Part> {
    let (w, d) = table.footprint();
    let x = w * between(rng, 0.7, 0.95);
    let half = between(rng, 0.015, 0.03);
    let spread = d * between(rng, 0.7, 1.0);
    let legs = [-x, x].map(|x| {
        let leg = |z: f64| bar([x, 0.0, z], [x, height, z * 0.2], half);
        Part::new(LEGS, [leg(-spread), leg(spread)])
    });
    let y = between(rng, 0.25, 0.5) * height;
    let mut beam = vec![bar([-x, y, 0.0], [x, y, 0.0], half)];
    if chance(rng, 0.3) {
        // A bent brace below the beam.
        beam.push(arc([0.0, y, 0.0], (0.8 * y).min(x), 0.01, [PI, TAU]));
    }
    legs.into_iter().chain([Part::new(STRETCHERS, beam)]).collect()
}
