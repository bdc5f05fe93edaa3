//! Sets of shapes for completion: some to train on, others to test on.

use std::path::Path;

use labelflow_data::Result;
use rayon::prelude::*;

use crate::geometry::Shape;
use crate::shapes::{Furniture, FurnitureCategory, FurnitureSizes, PartNetArrays, read_partnet_arrays};

/// A set of shapes by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShapeSet {
    /// Synthetic, as many as the paper has of PartNet; no files are needed.
    Furniture(FurnitureCategory),
    /// PartNet's chairs as arrays, in `pointclouds/partnet-chair` of the data folder.
    PartNetChair,
}

/// Shapes with parts. What training may see of them is decided by who trains.
#[derive(Debug, Clone)]
pub struct ShapeProblem {
    /// To train on.
    pub train: Vec<Shape>,
    /// To test on.
    pub test: Vec<Shape>,
    /// Who can redraw missing parts of the test shapes, if they are synthetic.
    pub furniture: Option<Furniture>,
    /// The depth at which the parts of synthetic shapes are merged.
    pub part_depth: usize,
}

impl ShapeSet {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Furniture(FurnitureCategory::Chair),
        Self::Furniture(FurnitureCategory::Table),
        Self::Furniture(FurnitureCategory::Lamp),
        Self::PartNetChair,
    ];

    /// The name users type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Furniture(FurnitureCategory::Chair) => "chairs",
            Self::Furniture(FurnitureCategory::Table) => "tables",
            Self::Furniture(FurnitureCategory::Lamp) => "lamps",
            Self::PartNetChair => "partnet-chair",
        }
    }

    /// The set with this name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|set| set.name() == name)
    }

    /// Under which terms it is given.
    pub fn licence(self) -> &'static str {
        match self {
            Self::Furniture(_) => "synthetic, free",
            Self::PartNetChair => "ShapeNet and PartNet terms, non-commercial research",
        }
    }

    /// The number of shapes, those to choose settings with included.
    pub fn n_shapes(self) -> usize {
        match self {
            Self::Furniture(category) => {
                let FurnitureSizes { train, val, test } = FurnitureSizes::of_paper(category);
                train + val + test
            }
            Self::PartNetChair => 4755,
        }
    }

    /// Loads or makes the shapes, at most so many to train on and to test on.
    pub fn load(self, data: &Path, n_train: Option<usize>, n_test: Option<usize>) -> Result<ShapeProblem> {
        let furniture = match self {
            Self::Furniture(category) => Some(Furniture { category, seed: 0 }),
            Self::PartNetChair => None,
        };
        let part_depth = furniture.map_or(1, |furniture| furniture.category.part_depth());
        let load = |split, n_all: fn(FurnitureSizes) -> usize, limit: Option<usize>| {
            let limit = limit.unwrap_or(usize::MAX);
            let Some(furniture) = furniture else {
                let folder = data.join("pointclouds").join("partnet-chair");
                let mut read = read_partnet_arrays(&folder, split, &PartNetArrays::default())?;
                read.shapes.truncate(limit);
                return Ok(read.shapes);
            };
            let n_shapes = n_all(FurnitureSizes::of_paper(furniture.category)).min(limit);
            let shape = |index| furniture.model(split, index)?.shape(part_depth);
            (0..n_shapes).into_par_iter().map(shape).collect::<Result<Vec<Shape>>>()
        };
        let train = load("train", |sizes| sizes.train, n_train)?;
        let test = load("test", |sizes| sizes.test, n_test)?;
        Ok(ShapeProblem { train, test, furniture, part_depth })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn synthetic_sets_need_no_files() {
        for set in ShapeSet::ALL.into_iter().filter(|&set| set != ShapeSet::PartNetChair) {
            let problem = set.load(Path::new("nowhere"), Some(3), Some(2)).unwrap();
            assert_eq!((problem.train.len(), problem.test.len()), (3, 2));
            assert_ne!(problem.train[0].points(), problem.test[0].points());
            assert_eq!(ShapeSet::from_name(set.name()), Some(set));
        }
        assert!(ShapeSet::PartNetChair.load(Path::new("nowhere"), None, None).is_err());
        assert_eq!(ShapeSet::from_name("stools"), None);
    }
}
