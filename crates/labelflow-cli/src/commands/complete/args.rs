//! Flags of `complete`.

use std::path::PathBuf;

use clap::Args;
use labelflow_clouds::completers::LatentSource;

use crate::flags::{DeviceName, OverwriteArgs, flag_values};

#[derive(Debug, Args)]
pub(crate) struct CompleteArgs {
    /// A folder that `fit` wrote
    #[arg(value_name = "MODEL_DIR")]
    pub(crate) model: PathBuf,
    /// Partial scans: files and folders of files (ply, pcd, xyz, pts, csv, npy, npz, off, obj, stl)
    #[arg(value_name = "SCAN", required = true)]
    pub(crate) scans: Vec<PathBuf>,
    /// Completions per scan
    #[arg(short = 'n', long = "completions", value_name = "N", default_value_t = 10)]
    pub(crate) n_completions: usize,
    /// Points per completion [default: as many as in training]
    #[arg(long, value_name = "N")]
    pub(crate) points: Option<usize>,
    /// Distribution of the latent
    #[arg(long, value_enum, default_value = "posterior")]
    pub(crate) latent: LatentName,
    /// Factor on the noise; below 1, completions differ less
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    pub(crate) temperature: f64,
    /// Keep points of the scan in every completion
    #[arg(long)]
    pub(crate) keep_input: bool,
    /// Frame of the complete shape: 'auto' (searched), 'scan' (the scan's own box), 'same' (the scan is in the frame of the shapes
    /// already), or its middle and radius in the scan's units: X,Y,Z,RADIUS
    #[arg(long, value_name = "FRAME", default_value = "auto", allow_hyphen_values = true)]
    pub(crate) frame: String,
    /// Seed of the noise
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// File format of completions
    #[arg(long, value_parser = ["ply", "pcd", "xyz", "npy"], default_value = "ply")]
    pub(crate) format: String,
    /// Where to compute
    #[arg(long, value_enum, default_value = "cpu")]
    pub(crate) device: DeviceName,
    /// Folder to write into: one folder per scan, sheet.png, viewer.html and report.json
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) overwrite: OverwriteArgs,
}

flag_values! {
    LatentName for LatentSource {
        /// Its distribution given the scan, as in training
        Posterior,
        /// The standard normal distribution; completions differ more
        Prior,
    }
}
