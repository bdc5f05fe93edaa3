//! Furniture on disk, in PartNet's layout.

use std::fs;
use std::path::Path;

use labelflow_data::{Error, Result, write_atomically};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::files::{PlyEncoding, write_ply};
use crate::shapes::{Furniture, FurnitureCategory};

/// How many shapes a set has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FurnitureSizes {
    /// Shapes to train on.
    pub train: usize,
    /// Shapes to choose settings with.
    pub val: usize,
    /// Shapes to test on.
    pub test: usize,
}

impl FurnitureSizes {
    /// Small enough for a test.
    pub const MINI: Self = Self { train: 256, val: 64, test: 64 };

    /// As many as the paper has of PartNet.
    pub fn of_paper(category: FurnitureCategory) -> Self {
        match category {
            FurnitureCategory::Chair => Self { train: 4489, val: 617, test: 1217 },
            FurnitureCategory::Table => Self { train: 5707, val: 843, test: 1668 },
            FurnitureCategory::Lamp => Self { train: 1545, val: 234, test: 416 },
        }
    }
}

/// Writes a set below `folder`: `data/<id>/` with the tree, points and labels of each shape, and
/// `stats/train_val_test_split/` with the lists. What is there already is written again.
pub fn write_furniture(folder: &Path, furniture: &Furniture, sizes: FurnitureSizes) -> Result<()> {
    // Their names have five digits.
    const MOST: usize = 100_000;
    if !(1..=MOST).contains(&sizes.train) || sizes.val.max(sizes.test) > MOST {
        let FurnitureSizes { train, val, test } = sizes;
        let expected = format!("1 to {MOST} shapes to train on, and at most {MOST} others");
        return Err(Error::config("sizes", expected, format!("{train}, {val} and {test}")));
    }
    let data = folder.join("data");
    let lists = folder.join("stats").join("train_val_test_split");
    for folder in [&data, &lists] {
        fs::create_dir_all(folder).map_err(|source| Error::write(folder, source))?;
    }
    for (split, n_shapes) in [("train", sizes.train), ("val", sizes.val), ("test", sizes.test)] {
        let entry = |index| {
            let id = write_shape(&data, furniture, split, index)?;
            Ok(serde_json::json!({ "anno_id": id, "model_id": id }))
        };
        let entries: Result<Vec<serde_json::Value>> = (0..n_shapes).into_par_iter().map(entry).collect();
        let path = lists.join(format!("{}.{split}.json", furniture.category));
        write_json(&path, &entries?)?;
    }
    Ok(())
}

fn write_shape(data: &Path, furniture: &Furniture, split: &str, index: usize) -> Result<String> {
    let model = furniture.model(split, index)?;
    let folder = data.join(model.id());
    let sample = folder.join("point_sample");
    fs::create_dir_all(&sample).map_err(|source| Error::write(&sample, source))?;
    write_json(&folder.join("result.json"), &[model.tree()])?;
    let cloud = model.cloud()?;
    write_ply(&sample.join("ply-10000.ply"), &cloud, PlyEncoding::LittleEndian)?;
    let parts = cloud.parts().expect("the points of furniture have parts");
    write_atomically(&sample.join("label-10000.txt"), |writer| {
        use std::io::Write;
        parts.iter().try_for_each(|part| writeln!(writer, "{part}"))
    })?;
    Ok(model.id().to_owned())
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    write_atomically(path, |writer| serde_json::to_writer_pretty(writer, value).map_err(std::io::Error::from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shapes::{PartNetOptions, read_partnet, read_partnet_split};

    #[test]
    fn what_is_written_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let sizes = FurnitureSizes { train: 2, val: 1, test: 3 };
        for category in FurnitureCategory::ALL {
            let furniture = Furniture { category, seed: 1 };
            write_furniture(folder.path(), &furniture, sizes).unwrap();
            let list = format!("stats/train_val_test_split/{category}.test.json");
            let ids = read_partnet_split(&folder.path().join(list)).unwrap();
            assert_eq!(ids.len(), 3);
            let options = PartNetOptions { part_depth: category.part_depth() };
            let read = read_partnet(&folder.path().join("data"), &ids, &options).unwrap();
            assert!(read.dropped.is_empty() && read.normalized.is_empty());
            for (index, shape) in read.shapes.iter().enumerate() {
                let model = furniture.model("test", index).unwrap();
                assert_eq!(*shape, model.shape(category.part_depth()).unwrap());
            }
        }
    }

    #[test]
    fn threads_do_not_change_a_byte() {
        let write = |n_threads| {
            let folder = tempfile::tempdir().unwrap();
            let furniture = Furniture { category: FurnitureCategory::Table, seed: 2 };
            let sizes = FurnitureSizes { train: 3, val: 0, test: 0 };
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
            pool.install(|| write_furniture(folder.path(), &furniture, sizes)).unwrap();
            let path = folder.path().join("data/table-train-00002/point_sample/ply-10000.ply");
            fs::read(path).unwrap()
        };
        assert_eq!(write(1), write(3));
    }
}
