//! One piece of furniture: its parts, its points, and other pieces that agree with what is seen of it.

use std::fmt;
use std::str::FromStr;

use labelflow_data::{Error, Result, stream};
use rand::{Rng, RngExt};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::chair::ChairAnchors;
use super::draw::Part;
use super::lamp::LampAnchors;
use super::primitive::Primitive;
use super::table::TableAnchors;
use crate::geometry::{Normalization, PointCloud, PointSet, Shape};
use crate::shapes::PartTree;
use crate::shapes::furniture::{chair, lamp, table};

/// The points that a shape is stored with.
pub(crate) const N_POINTS: usize = 10_000;
/// How far beyond the ball of radius 0.5 a completion may reach.
const LARGEST_RADIUS: f64 = 0.5 * 1.02;
/// How often the oracle draws again before it gives up and keeps the part that was there.
const MOST_DRAWS: usize = 100;

/// What kind of furniture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FurnitureCategory {
    /// Chairs: back, seat, base, arms, headrest.
    Chair,
    /// Tables: top and base, and below them legs, stretchers, shelf, drawers.
    Table,
    /// Lamps: base, body, units, cord.
    Lamp,
}

impl FurnitureCategory {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Chair, Self::Table, Self::Lamp];

    /// The name, as PartNet's lists have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chair => "Chair",
            Self::Table => "Table",
            Self::Lamp => "Lamp",
        }
    }

    /// The depth of the tree at which leaves are merged into parts.
    pub fn part_depth(self) -> usize {
        match self {
            Self::Chair | Self::Lamp => 1,
            Self::Table => 2,
        }
    }
}

impl fmt::Display for FurnitureCategory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for FurnitureCategory {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|category| category.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| Error::config("category", "chair, table or lamp", format!("'{name}'")))
    }
}

/// Furniture of one kind.
///
/// ```
/// use labelflow_clouds::shapes::{Furniture, FurnitureCategory};
///
/// let chairs = Furniture { category: FurnitureCategory::Chair, seed: 0 };
/// let chair = chairs.model("test", 3)?;
/// let shape = chair.shape(1)?;
/// assert_eq!((shape.id(), shape.points().len()), ("chair-test-00003", 10_000));
/// let seat = shape.present_parts()[0];
/// assert_eq!(chair.complete(1, &[seat], 0, 2048)?.len(), 2048);
/// # Ok::<(), labelflow_data::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Furniture {
    /// What kind.
    pub category: FurnitureCategory,
    /// The seed of all pieces.
    pub seed: u64,
}

/// What the parts of a piece share.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Anchors {
    Chair(ChairAnchors),
    Table(TableAnchors),
    Lamp(LampAnchors),
}

impl Anchors {
    fn draw(category: FurnitureCategory, rng: &mut impl Rng) -> Self {
        match category {
            FurnitureCategory::Chair => Self::Chair(ChairAnchors::draw(rng)),
            FurnitureCategory::Table => Self::Table(TableAnchors::draw(rng)),
            FurnitureCategory::Lamp => Self::Lamp(LampAnchors::draw(rng)),
        }
    }

    /// Draws the parts of a slot, of which there may be none; nothing where there is no such slot.
    fn slot(&self, slot: usize, rng: &mut ChaCha8Rng) -> Option<Vec<Part>> {
        Some(match (self, slot) {
            (Self::Chair(chair), 0) => chair::back(chair, rng),
            (Self::Chair(chair), 1) => chair::seat(chair, rng),
            (Self::Chair(chair), 2) => chair::base(chair, rng),
            (Self::Chair(chair), 3) => chair::arms(chair, rng),
            (Self::Table(table), 0) => table::top(table, rng),
            (Self::Table(table), 1) => table::base(table, rng),
            (Self::Lamp(lamp), 0) => lamp::base(lamp, rng),
            (Self::Lamp(lamp), 1) => lamp::body(lamp, rng),
            (Self::Lamp(lamp), 2) => lamp::unit(lamp, rng),
            (Self::Lamp(lamp), 3) => lamp::cord(lamp, rng),
            _ => return None,
        })
    }
}

/// One piece of furniture.
#[derive(Debug, Clone)]
pub struct FurnitureModel {
    id: String,
    furniture: Furniture,
    anchors: Anchors,
    slots: Vec<Vec<Part>>,
    /// The points as drawn, in metres.
    points: Vec<[f64; 3]>,
    /// The part of each point, counting all parts of all slots.
    part_of: Vec<usize>,
    /// From metres to the ball of radius 0.5.
    frame: Normalization,
}

impl Furniture {
    /// The piece with this index of a split.
    pub fn model(&self, split: &str, index: usize) -> Result<FurnitureModel> {
        let name = self.category.name().to_lowercase();
        let id = format!("{name}-{split}-{index:05}");
        let draw = |purpose: &str| stream(self.seed, &format!("furniture/{id}/{purpose}"));
        let anchors = Anchors::draw(self.category, &mut draw("anchors"));
        let slot = |slot| anchors.slot(slot, &mut draw(&format!("slot {slot}")));
        let slots: Vec<Vec<Part>> = (0..).map_while(slot).collect();
        let (points, part_of) = draw_points(&slots, N_POINTS, &mut draw("points"));
        let frame = Normalization::fit(&PointCloud::new(points.clone())?, Normalization::SHAPE_RADIUS)?;
        Ok(FurnitureModel { id, furniture: *self, anchors, slots, points, part_of, frame })
    }
}

impl FurnitureModel {
    /// The name, made of category, split and index.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The area of the whole surface in the frame of radius 0.5, inner faces included.
    pub fn area(&self) -> f64 {
        let areas = primitives(&self.slots).map(|(_, primitive)| primitive.surface.area());
        areas.sum::<f64>() * self.frame.scale().powi(2)
    }

    /// The tree of parts, with PartNet's names.
    pub fn tree(&self) -> PartTree {
        self.tree_and_leaves().0
    }

    /// 10,000 points in the unit ball, each with the leaf of the tree that it belongs to.
    pub fn cloud(&self) -> Result<PointCloud> {
        let (_, leaves) = self.tree_and_leaves();
        let parts = self.part_of.iter().map(|&part| leaves[part]).collect();
        let (center, scale) = (self.frame.center(), 2.0 * self.frame.scale());
        let moved = |point: &[f64; 3]| {
            // Stored in single precision, as PartNet's points are.
            std::array::from_fn(|axis| f64::from(((point[axis] - center[axis]) * scale) as f32))
        };
        let cloud = PointCloud::new(self.points.iter().map(moved).collect())?;
        Ok(cloud.with_parts(parts)?)
    }

    /// The points in the ball of radius 0.5, with leaves merged at `part_depth`: what reading the written shape gives.
    pub fn shape(&self, part_depth: usize) -> Result<Shape> {
        let parts = self.merged_parts(part_depth)?;
        let parts = self.part_of.iter().map(|&part| parts[part]).collect();
        let points = self.cloud()?;
        let half = Normalization::new([0.0; 3], Normalization::SHAPE_RADIUS)?;
        Ok(Shape::new(&*self.id, half.apply(&points)?, parts)?)
    }

    /// The oracle: another piece that has the kept parts and the same anchors, as `n_points` fresh points of its surface.
    ///
    /// Slots of which nothing is kept are drawn again, also those that were empty. A draw that leaves the ball of radius 0.5 by more than
    /// two hundredths is refused.
    pub fn complete(&self, part_depth: usize, kept_parts: &[u32], sample: u64, n_points: usize) -> Result<PointSet> {
        if n_points == 0 {
            return Err(Error::config("n_points", "at least 1", 0));
        }
        let parts = self.merged_parts(part_depth)?;
        let name = format!("furniture/{}/oracle {sample}", self.id);
        let rng = &mut stream(self.furniture.seed, &name);
        let mut slots = self.slots.clone();
        let mut first = 0;
        for (index, slot) in self.slots.iter().enumerate() {
            let is_kept = parts[first..first + slot.len()].iter().any(|part| kept_parts.contains(part));
            first += slot.len();
            if !is_kept {
                slots[index] = self.redrawn(index, rng);
            }
        }
        if slots.iter().all(Vec::is_empty) {
            slots.clone_from(&self.slots);
        }
        let (points, _) = draw_points(&slots, n_points, rng);
        Ok(self.frame.apply(&PointCloud::new(points)?)?)
    }

    /// Other parts for a slot that stay within the frame.
    fn redrawn(&self, slot: usize, rng: &mut ChaCha8Rng) -> Vec<Part> {
        for _ in 0..MOST_DRAWS {
            if let Some(parts) = self.anchors.slot(slot, rng)
                && (parts.is_empty() || self.fits(&parts, rng))
            {
                return parts;
            }
        }
        self.slots[slot].clone()
    }

    /// Whether points of these parts stay in the ball.
    fn fits(&self, parts: &[Part], rng: &mut ChaCha8Rng) -> bool {
        const PROBES: usize = 64;
        let (center, scale) = (self.frame.center(), self.frame.scale());
        let is_inside = |point: [f64; 3]| {
            let [x, y, z] = std::array::from_fn(|axis| (point[axis] - center[axis]) * scale);
            x * x + y * y + z * z <= LARGEST_RADIUS * LARGEST_RADIUS
        };
        let mut primitives = parts.iter().flat_map(|part| &part.primitives);
        primitives.all(|primitive| (0..PROBES).all(|_| is_inside(primitive.draw(rng))))
    }

    /// The tree, and the leaf of each part, all slots in turn.
    fn tree_and_leaves(&self) -> (PartTree, Vec<u32>) {
        let name = self.furniture.category.name().to_lowercase();
        let (mut root, mut next_id) = (PartTree::leaf(0, &name), 1);
        let parts = self.slots.iter().flatten();
        let leaves = parts.map(|part| insert(&mut root, part.path, &mut next_id)).collect();
        (root, leaves)
    }

    /// The part at a depth of the tree that each part belongs to.
    fn merged_parts(&self, part_depth: usize) -> Result<Vec<u32>> {
        let (tree, leaves) = self.tree_and_leaves();
        let merged =
            tree.merged(part_depth).ok_or_else(|| Error::config("part_depth", "a depth with two parts", part_depth))?;
        Ok(leaves.iter().map(|leaf| merged[leaf]).collect())
    }
}

/// Puts a leaf into the tree; groups of the same name are one. Returns the leaf's id.
fn insert(node: &mut PartTree, path: &[&str], next_id: &mut u32) -> u32 {
    let (name, rest) = path.split_first().expect("a part has a name");
    let is_leaf = rest.is_empty();
    let place = node.children.iter().position(|child| !is_leaf && child.name == **name);
    let place = place.unwrap_or_else(|| {
        node.children.push(PartTree::leaf(*next_id, name));
        *next_id += 1;
        node.children.len() - 1
    });
    let child = &mut node.children[place];
    if is_leaf { child.id } else { insert(child, rest, next_id) }
}

/// All primitives with the number of their part.
fn primitives(slots: &[Vec<Part>]) -> impl Iterator<Item = (usize, &Primitive)> {
    let parts = slots.iter().flatten().enumerate();
    parts.flat_map(|(index, part)| part.primitives.iter().map(move |primitive| (index, primitive)))
}

/// Points of all primitives, as many of each as its area deserves, and the part of each point.
fn draw_points(slots: &[Vec<Part>], n_points: usize, rng: &mut impl Rng) -> (Vec<[f64; 3]>, Vec<usize>) {
    let all: Vec<(usize, &Primitive)> = primitives(slots).collect();
    let mut total = 0.0;
    let add = |(_, primitive): &(usize, &Primitive)| {
        total += primitive.surface.area();
        total
    };
    let sums: Vec<f64> = all.iter().map(add).collect();
    let draw = |_| {
        let wanted = rng.random_range(0.0..total);
        let (part, primitive) = all[sums.partition_point(|&sum| sum <= wanted).min(all.len() - 1)];
        (primitive.draw(rng), part)
    };
    (0..n_points).map(draw).unzip()
}

#[cfg(test)]
mod tests {
    use crate::geometry::{NearestTree, PartialCut};
    use crate::metrics::{SamplingFloor, mutual_difference, unidirectional_hausdorff};

    use super::*;

    fn furniture(category: FurnitureCategory) -> Furniture {
        Furniture { category, seed: 5 }
    }

    #[test]
    fn shapes_are_centred_and_fill_the_ball() {
        for category in FurnitureCategory::ALL {
            for index in 0..12 {
                let model = furniture(category).model("train", index).unwrap();
                let cloud = model.cloud().unwrap();
                let (low, high) = cloud.bounding_box();
                assert!((0..3).all(|axis| (low[axis] + high[axis]).abs() < 1e-6));
                let squared = |point: &[f64; 3]| point.iter().map(|value| value * value).sum::<f64>();
                let radius = cloud.points().iter().map(squared).fold(0.0, f64::max).sqrt();
                assert!((radius - 1.0).abs() < 1e-6, "{radius}");
                let shape = model.shape(category.part_depth()).unwrap();
                assert!(shape.present_parts().len() >= 2);
            }
        }
    }

    #[test]
    fn parts_get_points_by_their_area() {
        let model = furniture(FurnitureCategory::Chair).model("train", 1).unwrap();
        let n_parts = model.slots.iter().flatten().count();
        let mut areas = vec![0.0; n_parts];
        primitives(&model.slots).for_each(|(part, primitive)| areas[part] += primitive.surface.area());
        let total: f64 = areas.iter().sum();
        for (part, area) in areas.iter().enumerate() {
            let n = model.part_of.iter().filter(|&&of| of == part).count() as f64;
            let share = area / total;
            let deviation = (1e4 * share * (1.0 - share)).sqrt();
            assert!((n - 1e4 * share).abs() < 4.5 * deviation + 1.0, "{part}: {n} {share}");
        }
    }

    #[test]
    fn tables_have_two_parts_and_more_below() {
        let model = (0..40)
            .map(|index| furniture(FurnitureCategory::Table).model("train", index).unwrap())
            .find(|model| model.slots[1].len() > 3)
            .unwrap();
        assert_eq!(model.shape(2).unwrap().present_parts().len(), 2);
        assert!(model.shape(3).unwrap().present_parts().len() >= 5);
        assert_eq!(model.tree().children[0].name, "regular_table");
    }

    #[test]
    fn pieces_depend_on_their_names_alone() {
        let points = |seed, split: &str, index| {
            let furniture = Furniture { category: FurnitureCategory::Lamp, seed };
            furniture.model(split, index).unwrap().points
        };
        assert_eq!(points(0, "train", 3), points(0, "train", 3));
        assert_ne!(points(0, "train", 3), points(0, "test", 3));
        assert_ne!(points(0, "train", 3), points(1, "train", 3));
        assert!("sofa".parse::<FurnitureCategory>().is_err());
        assert_eq!("chair".parse::<FurnitureCategory>().unwrap(), FurnitureCategory::Chair);
    }

    /// The digest of pieces of all styles and of their completions: sets that were made once can be made again.
    #[test]
    fn pieces_are_the_same_in_every_version() {
        let mut hash = labelflow_files::Sha256::default();
        for category in FurnitureCategory::ALL {
            for index in 0..150 {
                let model = furniture(category).model("golden", index).unwrap();
                model.points.iter().step_by(50).flatten().for_each(|value| {
                    hash.update(value.to_le_bytes());
                });
                hash.update(model.area().to_le_bytes());
                let completion = model.complete(category.part_depth(), &[], 1, 64).unwrap();
                completion.as_flat().iter().for_each(|value| hash.update(value.to_le_bytes()));
                hash.update(format!("{:?}", model.tree()));
            }
        }
        let expected = "ec32cf3281cf8f9c2b4fff0e95b2b14fc93fb77c4f04c93b5d5f104916303f91";
        assert_eq!(hash.hex(), expected);
    }

    /// UHD of the oracle is near its floor, and TMD far above its own.
    #[test]
    fn the_oracle_keeps_what_is_seen_and_varies_the_rest() {
        for category in FurnitureCategory::ALL {
            let depth = category.part_depth();
            let (mut difference, mut floor, mut uhd, mut uhd_floor) = (0.0, 0.0, 0.0, 0.0);
            let n_shapes = 16;
            for index in 0..n_shapes {
                let model = furniture(category).model("test", index).unwrap();
                let partial = PartialCut::default().cut(&model.shape(depth).unwrap(), 0).unwrap();
                let completions: Vec<NearestTree> = (0..4)
                    .map(|sample| model.complete(depth, &partial.kept_parts, sample, 2048).unwrap())
                    .map(|points| NearestTree::new(&points))
                    .collect();
                difference += mutual_difference(&completions);
                let of_shape = SamplingFloor::from_area(model.area()).unwrap();
                floor += of_shape.mutual_difference(2048, 4);
                let partials = [NearestTree::new(&partial.points)];
                uhd += unidirectional_hausdorff(&partials, &[completions]).unwrap();
                uhd_floor += of_shape.hausdorff(1024, 2048);
            }
            assert!(difference > 3.0 * floor, "{category}: {}", difference / floor);
            assert!((uhd / uhd_floor - 1.0).abs() < 0.35, "{category}: {}", uhd / uhd_floor);
        }
    }
}
