//! LAS and LAZ in a program that was built without the feature `las`.

use std::path::Path;

use labelflow_data::{Error, Result};

use super::cloud_content::CloudContent;
use crate::geometry::PointCloud;

pub(crate) fn read_las(path: &Path) -> Result<CloudContent> {
    Err(without_las(path))
}

pub(crate) fn write_las(path: &Path, _cloud: &PointCloud) -> Result<()> {
    Err(without_las(path))
}

fn without_las(path: &Path) -> Error {
    Error::content(path, "a format that this program was built for", "LAS or LAZ")
        .with_hint("build it with the feature 'las'")
}
