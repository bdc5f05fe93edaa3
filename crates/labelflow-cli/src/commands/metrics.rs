//! `labelflow metrics`: how near generated clouds come to reference clouds.
//!
//! Clouds are compared as they lie in their files, in the files' own units. Files in a folder below the generated ones are several
//! completions of one partial cloud, which the folder is named after.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{bail, ensure};
use clap::Args;
use labelflow_clouds::files::{CloudOptions, read_cloud_with};
use labelflow_clouds::geometry::{NearestTree, PointCloud, PointSet};
use labelflow_clouds::metrics::{
    Chamfer, FScore, minimum_matching_distance, total_mutual_difference, unidirectional_hausdorff,
};
use serde::Serialize;

use crate::inputs::cloud_files::{cloud_files, entries};
use crate::terminal::output;

#[derive(Debug, Args)]
pub(crate) struct MetricsArgs {
    /// Generated clouds: a file, or a folder of files, or of folders with several completions each (ply, pcd, xyz, pts, csv, npy,
    /// npz, off, obj, stl)
    #[arg(value_name = "GENERATED")]
    generated: PathBuf,
    /// Reference clouds: a file or a folder of files
    #[arg(value_name = "REFERENCE")]
    references: PathBuf,
    /// Partial clouds that were completed, named like their completions; adds UHD, the largest distance from a partial cloud to its
    /// completion
    #[arg(long, value_name = "DIR")]
    partials: Option<PathBuf>,
    /// Points drawn from the surface of each mesh
    #[arg(long, value_name = "N", default_value_t = 2048)]
    surface_points: usize,
    /// Also write the metrics as JSON ('-' for standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The distance within which points count as found, as a share of the reference's diagonal.
const F_SCORE_SHARE: f64 = 0.01;

/// What machines read.
#[derive(Debug, Serialize)]
struct Metrics {
    n_generated: usize,
    n_references: usize,
    /// The mean over references of the squared Chamfer distance to the nearest generated cloud.
    mmd: f64,
    /// The mean over partial clouds of how much their completions differ; none where each has one.
    tmd: Option<f64>,
    /// The mean over completions of the largest distance from a point of the partial cloud to the completion.
    uhd: Option<f64>,
    /// Of clouds whose names are in both folders.
    pairs: Option<PairMetrics>,
}

/// Means over clouds with the same name.
#[derive(Debug, Serialize)]
struct PairMetrics {
    n_pairs: usize,
    chamfer_l1: f64,
    chamfer_l2: f64,
    f_score: f64,
}

pub(crate) fn run(args: &MetricsArgs) -> anyhow::Result<()> {
    let options = CloudOptions { n_surface_points: args.surface_points, ..Default::default() };
    let references = read_flat(&args.references, &options)?;
    let frame = Frame::of(references.values())?;
    let generated = read_groups(&args.generated, &options, &frame)?;
    let partials = args.partials.as_ref().map(|folder| read_flat(folder, &options)).transpose()?;
    let metrics = measure(&frame, &generated, &references, partials.as_ref())?;
    output::show(args.json.as_deref(), &metrics, || print(&metrics))
}

/// Clouds of the same name, to be searched.
type Groups = BTreeMap<String, Vec<NearestTree>>;

fn measure(
    frame: &Frame,
    groups: &Groups,
    references: &BTreeMap<String, PointCloud>,
    partials: Option<&BTreeMap<String, PointCloud>>,
) -> anyhow::Result<Metrics> {
    let trees = references.iter().map(|(name, cloud)| Ok((name.as_str(), frame.tree(cloud)?)));
    let reference_trees: BTreeMap<&str, NearestTree> = trees.collect::<anyhow::Result<_>>()?;
    let all: Vec<NearestTree> = groups.values().flatten().cloned().collect();
    let targets: Vec<NearestTree> = reference_trees.values().cloned().collect();
    let several: Vec<&Vec<NearestTree>> = groups.values().filter(|group| group.len() > 1).collect();
    let tmd = (!several.is_empty()).then(|| total_mutual_difference(&several)).transpose()?;
    let uhd = partials.map(|partials| hausdorff(frame, partials, groups)).transpose()?;
    Ok(Metrics {
        n_generated: all.len(),
        n_references: targets.len(),
        mmd: minimum_matching_distance(&targets, &all)?.mean,
        tmd,
        uhd,
        pairs: pair_metrics(groups, &reference_trees, references)?,
    })
}

/// UHD over the partial clouds that have completions; one without is an error.
fn hausdorff(frame: &Frame, partials: &BTreeMap<String, PointCloud>, groups: &Groups) -> anyhow::Result<f64> {
    let (mut scanned, mut completed) = (Vec::new(), Vec::new());
    for (name, cloud) in partials {
        let Some(group) = groups.get(name) else {
            bail!("partial cloud '{name}': expected a completion of that name, found none");
        };
        scanned.push(frame.tree(cloud)?);
        completed.push(group);
    }
    Ok(unidirectional_hausdorff(&scanned, &completed)?)
}

fn pair_metrics(
    groups: &Groups,
    trees: &BTreeMap<&str, NearestTree>,
    references: &BTreeMap<String, PointCloud>,
) -> anyhow::Result<Option<PairMetrics>> {
    let (mut n_pairs, mut l1, mut l2, mut f_score) = (0usize, 0.0, 0.0, 0.0);
    for (name, group) in groups {
        let (Some(reference), Some(cloud)) = (trees.get(name.as_str()), references.get(name)) else {
            continue;
        };
        let (low, high) = cloud.bounding_box();
        let diagonal = (0..3).map(|axis| (high[axis] - low[axis]).powi(2)).sum::<f64>().sqrt();
        for tree in group {
            let chamfer = Chamfer::between(tree, reference);
            n_pairs += 1;
            l1 += chamfer.half_plain_sum();
            l2 += chamfer.squared_sum();
            let near = (F_SCORE_SHARE * diagonal).max(f64::MIN_POSITIVE);
            f_score += FScore::between(tree, reference, near)?.value();
        }
    }
    let mean = |sum: f64| sum / n_pairs as f64;
    Ok((n_pairs > 0).then(|| PairMetrics {
        n_pairs,
        chamfer_l1: mean(l1),
        chamfer_l2: mean(l2),
        f_score: mean(f_score),
    }))
}

fn print(metrics: &Metrics) -> anyhow::Result<()> {
    let number = |value: f64| format!("{value:.6}");
    let pairs = metrics.pairs.as_ref();
    let rows = [
        ("generated clouds", Some(metrics.n_generated.to_string())),
        ("reference clouds", Some(metrics.n_references.to_string())),
        ("MMD", Some(number(metrics.mmd))),
        ("TMD", metrics.tmd.map(number)),
        ("UHD", metrics.uhd.map(number)),
        ("pairs of the same name", pairs.map(|pairs| pairs.n_pairs.to_string())),
        ("Chamfer L1", pairs.map(|pairs| number(pairs.chamfer_l1))),
        ("Chamfer L2", pairs.map(|pairs| number(pairs.chamfer_l2))),
        ("F-score at 1 % of the diagonal", pairs.map(|pairs| number(pairs.f_score))),
    ];
    let rows = rows.into_iter().filter_map(|(name, value)| Some([name.to_owned(), value?]));
    output::print(&output::table(["metric", "value"], rows))
}

/// Where the references lie: clouds are moved there, so that single precision is enough even at coordinates of a map.
struct Frame {
    centre: [f64; 3],
}

impl Frame {
    fn of<'a>(clouds: impl Iterator<Item = &'a PointCloud>) -> anyhow::Result<Self> {
        let corners = clouds.map(PointCloud::bounding_box).flat_map(|(low, high)| [low, high]);
        let (low, high) = PointCloud::new(corners.collect())?.bounding_box();
        Ok(Self { centre: std::array::from_fn(|axis| 0.5 * (low[axis] + high[axis])) })
    }

    fn tree(&self, cloud: &PointCloud) -> anyhow::Result<NearestTree> {
        let moved = |point: &[f64; 3]| std::array::from_fn(|axis| (point[axis] - self.centre[axis]) as f32);
        let points = PointSet::new(cloud.points().iter().map(moved).collect())?;
        Ok(NearestTree::new(&points))
    }
}

/// A file, or all files of a folder, by name without ending.
fn read_flat(path: &Path, options: &CloudOptions) -> anyhow::Result<BTreeMap<String, PointCloud>> {
    let read = |file: PathBuf| Ok((name_of(&file), read_cloud_with(&file, options)?));
    cloud_files(path)?.into_iter().map(read).collect()
}

/// As [`read_flat`], where a folder is several clouds of one name.
fn read_groups(path: &Path, options: &CloudOptions, frame: &Frame) -> anyhow::Result<Groups> {
    let mut groups = Groups::new();
    for entry in entries(path)? {
        let inner = if entry.is_dir() { entries(&entry)? } else { vec![entry.clone()] };
        for file in inner.iter().filter(|file| !file.is_dir()) {
            let tree = frame.tree(&read_cloud_with(file, options)?)?;
            groups.entry(name_of(&entry)).or_default().push(tree);
        }
    }
    ensure!(!groups.is_empty(), "{}: expected files with point clouds, found none", path.display());
    Ok(groups)
}

fn name_of(path: &Path) -> String {
    let name = if path.is_dir() { path.file_name() } else { path.file_stem() };
    name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
