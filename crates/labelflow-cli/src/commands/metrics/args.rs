//! Flags of `metrics`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct MetricsArgs {
    /// Generated clouds: a file, or a folder of files, or of folders with several completions each (ply, pcd, xyz, pts, csv, npy,
    /// npz, off, obj, stl)
    #[arg(value_name = "GENERATED")]
    pub(crate) generated: PathBuf,
    /// Reference clouds: a file or a folder of files
    #[arg(value_name = "REFERENCE")]
    pub(crate) references: PathBuf,
    /// Partial clouds that were completed, named like their completions; adds UHD, the largest distance from a partial cloud to its
    /// completion
    #[arg(long, value_name = "DIR")]
    pub(crate) partials: Option<PathBuf>,
    /// Points drawn from the surface of each mesh
    #[arg(long, value_name = "N", default_value_t = 2048)]
    pub(crate) surface_points: usize,
    /// Also write the metrics as JSON ('-' for standard output)
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}
