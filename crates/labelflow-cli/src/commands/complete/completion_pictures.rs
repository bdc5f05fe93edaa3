//! `run --pictures`: the same scans as each system completes them, side by side.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;

use anyhow::Context as _;
use labelflow_clouds::geometry::{PointCloud, PointSet};
use labelflow_clouds::pictures::{CompletedScan, write_cloud_picture};

/// The test shapes that are drawn, the first ones.
pub(crate) const N_EXAMPLES: usize = 5;

/// A test shape, what was seen of it, and a system's first completion of that.
#[derive(Debug, Clone)]
pub(crate) struct CompletionExample {
    pub(crate) shape: String,
    pub(crate) partial: PointSet,
    pub(crate) completion: PointSet,
    pub(crate) truth: PointSet,
}

/// The pictures of a folder: one per set and seed, with a row per scan and a column per system, in the order of the runs.
pub(crate) struct CompletionPictures {
    folder: PathBuf,
    pictures: Mutex<BTreeMap<String, Columns>>,
}

/// Systems with their examples, by the index of the run.
type Columns = BTreeMap<usize, (String, Vec<CompletionExample>)>;

impl CompletionPictures {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, pictures: Mutex::default() }
    }

    /// Adds a column to a picture, and draws it anew: runs that come later may fail.
    pub(crate) fn add(
        &self,
        picture: String,
        run: usize,
        system: &str,
        examples: Vec<CompletionExample>,
    ) -> anyhow::Result<()> {
        let mut pictures = self.pictures.lock().expect("no worker panics");
        let path = self.folder.join(format!("{picture}.png"));
        let columns = pictures.entry(picture).or_default();
        columns.insert(run, (system.to_owned(), examples));
        std::fs::create_dir_all(&self.folder).with_context(|| format!("creating {}", self.folder.display()))?;
        Ok(write_cloud_picture(&path, &rows(columns)?)?)
    }
}

fn rows(columns: &Columns) -> anyhow::Result<Vec<CompletedScan>> {
    let systems = columns.values().map(|(system, _)| system.as_str());
    let numbered = systems.enumerate().map(|(index, system)| format!("{} {system}", index + 1));
    let legend = numbered.collect::<Vec<_>>().join(", ");
    let n_rows = columns.values().map(|(_, examples)| examples.len()).min().unwrap_or(0);
    let of_row = |row: usize| columns.values().map(move |(_, examples)| &examples[row]);
    (0..n_rows)
        .map(|row| {
            let first = of_row(row).next().context("a system at least")?;
            Ok(CompletedScan {
                name: format!("{}: {legend}", first.shape),
                input: cloud(&first.partial)?,
                completions: of_row(row).map(|example| cloud(&example.completion)).collect::<anyhow::Result<_>>()?,
                truth: Some(cloud(&first.truth)?),
            })
        })
        .collect()
}

fn cloud(points: &PointSet) -> anyhow::Result<PointCloud> {
    let points = points.as_slice().iter().map(|point| point.map(f64::from));
    Ok(PointCloud::new(points.collect())?)
}
