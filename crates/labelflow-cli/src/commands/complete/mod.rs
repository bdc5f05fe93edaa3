//! `labelflow complete`: several complete clouds for each partial scan, in the scan's own frame and units.

pub(crate) mod args;
pub(crate) mod completion_pictures;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use labelflow_clouds::completers::{AnyCompleter, CompletionOptions, ScanFrame};
use labelflow_clouds::files::{CloudOptions, read_cloud_with, write_cloud};
use labelflow_clouds::geometry::{NearestTree, shape_stream};
use labelflow_clouds::metrics::{SamplingFloor, TMD_UNIT, UHD_UNIT, directed_hausdorff, mutual_difference};
use labelflow_clouds::pictures::{CompletedScan, write_cloud_page, write_cloud_picture};
use serde::Serialize;

use crate::inputs::cloud_files::cloud_files;
use crate::terminal::claimed_folder::ClaimedFolder;
use crate::terminal::{interrupt, output};
use args::CompleteArgs;

/// Scans that the pictures show.
const PICTURED_SCANS: usize = 100;

/// What is known of the completions of one scan.
#[derive(Debug, Serialize)]
struct ScanReport {
    scan: String,
    n_points: usize,
    /// The middle of the whole, in the scan's units.
    center: [f64; 3],
    /// What brings its radius to 0.5.
    scale: f64,
    /// The mean over completions of the largest distance from a scanned point, in the frame of the shapes.
    uhd: f64,
    /// How much completions differ, in the frame of the shapes.
    tmd: f64,
    /// UHD and TMD of fresh points of one surface, estimated from the first completion.
    uhd_floor: f64,
    tmd_floor: f64,
    /// How much each completion looks like a complete shape.
    scores: Vec<f64>,
    files: Vec<PathBuf>,
}

pub(crate) fn run(args: &CompleteArgs) -> anyhow::Result<()> {
    let frame = scan_frame(&args.frame)?;
    let _claim = ClaimedFolder::fill(&args.out, &args.overwrite)?;
    let model = AnyCompleter::load(&args.model)
        .and_then(|model| model.to_device(args.device.into()))
        .with_context(|| format!("loading the model {}", args.model.display()))?;
    let options = CompletionOptions {
        n_completions: args.n_completions,
        n_points: args.points,
        latent: args.latent.into(),
        temperature: args.temperature,
        keep_input: args.keep_input,
        seed: args.seed,
    };
    if model.is_deterministic() && args.n_completions > 1 {
        let system = model.config().system();
        output::note(&format!("{system} gives one completion per scan, not {}", args.n_completions));
    }
    let scans = scan_files(&args.scans)?;
    interrupt::listen();
    let mut reports = Vec::with_capacity(scans.len());
    let mut pictured = Vec::new();
    for path in &scans {
        if interrupt::requested() {
            bail!("interrupted after {} of {} scans", reports.len(), scans.len());
        }
        let (report, scan) =
            complete_one(&model, path, &frame, &options, args).with_context(|| path.display().to_string())?;
        reports.push(report);
        if pictured.len() < PICTURED_SCANS {
            pictured.push(scan);
        }
    }
    write_cloud_picture(&args.out.join("sheet.png"), &pictured)?;
    write_cloud_page(&args.out.join("viewer.html"), &pictured)?;
    if scans.len() > PICTURED_SCANS {
        output::note(&format!("the pictures show the first {PICTURED_SCANS} scans"));
    }
    output::write_json(&args.out.join("report.json"), &reports)?;
    print(&reports)
}

fn complete_one(
    model: &AnyCompleter,
    path: &Path,
    frame: &ScanFrame,
    options: &CompletionOptions,
    args: &CompleteArgs,
) -> anyhow::Result<(ScanReport, CompletedScan)> {
    let cloud = read_cloud_with(path, &CloudOptions::default())?;
    let frame = model.frame_of(&cloud, frame)?;
    let scan = frame.apply(&cloud)?;
    let completions = model.complete(&scan, options)?;
    let name = stem(path);
    let folder = args.out.join(&name);
    std::fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
    let in_units = completions.iter().map(|completion| frame.undo(completion));
    let in_units = in_units.collect::<Result<Vec<_>, _>>()?;
    let mut files = Vec::with_capacity(in_units.len());
    for (index, completion) in in_units.iter().enumerate() {
        files.push(folder.join(format!("completion-{index:02}.{}", args.format)));
        write_cloud(&files[index], completion)?;
    }
    let distances = completions.iter().map(|other| directed_hausdorff(&scan, other).distance);
    let uhd = distances.sum::<f64>() / completions.len() as f64;
    let trees: Vec<NearestTree> = completions.iter().map(NearestTree::new).collect();
    let (n_points, n_samples) = (completions[0].len(), completions.len());
    let floor = match n_points {
        1 => SamplingFloor::from_area(0.0)?,
        _ => SamplingFloor::from_points(&completions[0], &mut shape_stream(0, &name, "floor"))?,
    };
    let report = ScanReport {
        scan: name.clone(),
        n_points: cloud.len(),
        center: frame.center(),
        scale: frame.scale(),
        uhd,
        tmd: mutual_difference(&trees),
        uhd_floor: floor.hausdorff(scan.len(), n_points),
        tmd_floor: if n_samples > 1 { floor.mutual_difference(n_points, n_samples) } else { 0.0 },
        scores: model.scores(&completions)?,
        files,
    };
    Ok((report, CompletedScan { name, input: cloud, completions: in_units, truth: None }))
}

fn print(reports: &[ScanReport]) -> anyhow::Result<()> {
    let row = |report: &ScanReport| {
        let mean = report.scores.iter().sum::<f64>() / report.scores.len() as f64;
        let with_floor = |value: f64, floor: f64, unit: f64| format!("{:.2} ({:.2})", value * unit, floor * unit);
        [
            report.scan.clone(),
            report.n_points.to_string(),
            report.files.len().to_string(),
            with_floor(report.uhd, report.uhd_floor, UHD_UNIT),
            with_floor(report.tmd, report.tmd_floor, TMD_UNIT),
            format!("{mean:.2}"),
        ]
    };
    let header = ["scan", "points", "completions", "UHD × 10² (floor)", "TMD × 10² (floor)", "score"];
    output::print(&output::table(header, reports.iter().map(row)))
}

/// `auto`, `scan`, `same`, or the middle and the radius of the whole.
fn scan_frame(text: &str) -> anyhow::Result<ScanFrame> {
    if let Some(frame) = ScanFrame::of_name(text) {
        return Ok(frame);
    }
    let numbers: Option<Vec<f64>> = text.split(',').map(|number| number.trim().parse().ok()).collect();
    match numbers.as_deref() {
        Some(&[x, y, z, radius]) if radius > 0.0 => Ok(ScanFrame::of_ball([x, y, z], radius)?),
        _ => bail!("--frame: expected auto, scan, same or X,Y,Z,RADIUS, found '{text}'"),
    }
}

/// Files, and the files of folders; two of the same name would overwrite each other's completions.
fn scan_files(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        files.extend(cloud_files(path)?);
    }
    let mut names: Vec<String> = files.iter().map(|path| stem(path)).collect();
    names.sort();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        bail!("scans: expected different names, found '{}' twice", twice[0]);
    }
    Ok(files)
}

/// The name of a file without its endings.
fn stem(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned()
}
