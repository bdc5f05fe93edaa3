//! Point cloud completion.

use std::sync::Arc;

use labelflow::Result;
use labelflow_clouds::completers::{
    AnyCompleter, AnyCompletionLearner, CompletionDataset, CompletionOptions, PointCloudCompleter, ScanFrame,
};
use labelflow_clouds::geometry::{Normalization, PointCloud, PointSet, Shape};
use ndarray::Array3;
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;

use crate::arrays::{Cube, Numpy, Vector};
use crate::background;
use crate::error::{ConfigError, DataError, bad_settings, exception, settings};
use crate::observer::run_watched;
use crate::trained_model::trained_model;

/// A trained completer.
#[pyclass(frozen, module = "labelflow._labelflow")]
#[derive(Debug)]
pub(crate) struct CloudCompleter(Arc<AnyCompleter>);

/// Where a scan lies in the whole: by name, or the middle and the radius of the whole.
#[derive(Debug, FromPyObject)]
pub(crate) enum GivenFrame {
    Named(String),
    Ball([f64; 3], f64),
}

impl GivenFrame {
    fn to_scan_frame(&self) -> PyResult<ScanFrame> {
        match self {
            Self::Named(name) => ScanFrame::of_name(name).ok_or_else(|| {
                ConfigError::new_err(format!(
                    "frame: expected 'auto', 'scan', 'same' or (center, radius), found '{name}'"
                ))
            }),
            Self::Ball(center, radius) => ScanFrame::of_ball(*center, *radius).map_err(exception),
        }
    }
}

/// All settings of a preset of a system, or the defaults, as JSON; with so many epochs and clouds per step of every stage, and so many points
/// of complete and of partial clouds, where they are given.
#[pyfunction]
#[pyo3(signature = (preset=None, system="llf", max_epochs=None, batch_size=None, n_points=None, n_partial_points=None))]
pub(crate) fn completer_preset(
    preset: Option<&str>,
    system: &str,
    max_epochs: Option<usize>,
    batch_size: Option<usize>,
    n_points: Option<usize>,
    n_partial_points: Option<usize>,
) -> PyResult<String> {
    let default = AnyCompletionLearner::of_system(system).map_err(exception)?;
    let mut config = match (preset, default) {
        (Some("paper"), AnyCompletionLearner::Flow(_)) => PointCloudCompleter::paper().into(),
        (None | Some("paper"), default) => default,
        (Some("small"), default) => default.small(),
        (Some(name), _) => {
            return Err(ConfigError::new_err(format!("preset: expected None, 'paper' or 'small', found '{name}'")));
        }
    };
    let mut common = config.common();
    common.set_length(max_epochs, batch_size);
    *common.n_partial_points = n_partial_points.unwrap_or(*common.n_partial_points);
    let n_points = n_points.unwrap_or(config.n_points());
    Ok(config.with_n_points(n_points).map_err(exception)?.to_json())
}

/// Trains a completer of a system on shapes and either scans or the parts of the shapes, whose names decide how they are cut; `observer` is called
/// with a dict after every epoch.
#[pyfunction]
#[pyo3(signature = (config, shapes, names, scans=None, parts=None, observer=None, n_jobs=None, system="llf"))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn fit_point_cloud_completer(
    config: &str,
    shapes: Vec<Cloud>,
    names: Vec<String>,
    scans: Option<Vec<Cloud>>,
    parts: Option<Vec<Vector<u32>>>,
    observer: Option<Py<PyAny>>,
    n_jobs: Option<usize>,
    system: &str,
) -> PyResult<CloudCompleter> {
    let default = AnyCompletionLearner::of_system(system).map_err(exception)?;
    let mut config = default.from_json(config).map_err(|error| bad_settings("PointCloudCompleter", &error))?;
    let parts: Option<Vec<Vec<u32>>> = parts.map(|parts| parts.into_iter().map(|parts| parts.0.to_vec()).collect());
    let fitted = run_watched(n_jobs, observer, move |observer| {
        let dataset = match (scans, parts) {
            (Some(scans), _) => CompletionDataset::from_scans(in_own_boxes(&scans)?, in_own_boxes(&shapes)?)?,
            (None, parts) => {
                let shapes = in_own_boxes(&shapes)?.into_iter().zip(names);
                let shapes = shapes.zip(parts.unwrap_or_default());
                let shapes: Result<Vec<Shape>> =
                    shapes.map(|((points, name), parts)| Ok(Shape::new(name, points, parts)?)).collect();
                CompletionDataset::from_parts(shapes?, *config.common().seed)?
            }
        };
        config.fit_with(&dataset, None, observer)
    })?;
    Ok(CloudCompleter(Arc::new(fitted)))
}

/// A point cloud from an array of three columns.
pub(crate) struct Cloud(PointCloud);

impl FromPyObject<'_, '_> for Cloud {
    type Error = PyErr;

    fn extract(points: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let points = PyReadonlyArray2::<f64>::extract(points)?;
        let points = points.as_array();
        if points.ncols() != 3 {
            let found = points.ncols();
            return Err(DataError::new_err(format!("points: expected three columns, found {found}")));
        }
        let points = points.rows().into_iter().map(|point| [point[0], point[1], point[2]]);
        Ok(Self(PointCloud::new(points.collect()).map_err(exception)?))
    }
}

/// Clouds as the networks see them, each in the frame of its own box.
fn in_own_boxes(clouds: &[Cloud]) -> Result<Vec<PointSet>> {
    let in_own_box = |Cloud(cloud): &Cloud| Ok(Normalization::fit(cloud, Normalization::SHAPE_RADIUS)?.apply(cloud)?);
    clouds.iter().map(in_own_box).collect()
}

trained_model! { CloudCompleter: AnyCompleter,
    /// Completions of a scan in its own units, `[n_completions, n_points, 3]`.
    #[pyo3(signature = (scan, options, frame, n_jobs=None))]
    fn complete(&self, scan: Cloud, options: &str, frame: GivenFrame, n_jobs: Option<usize>) -> PyResult<Cube<f64>> {
        let options: CompletionOptions = settings("complete", options)?;
        let model = self.0.clone();
        let frame = frame.to_scan_frame()?;
        let completions = background::run(n_jobs, move |_| {
            let frame = model.frame_of(&scan.0, &frame)?;
            let completions = model.complete(&frame.apply(&scan.0)?, &options)?;
            let n_points = completions.first().map_or(0, PointSet::len);
            let mut values = Vec::with_capacity(completions.len() * n_points * 3);
            for completion in &completions {
                values.extend_from_slice(frame.undo(completion)?.points().as_flattened());
            }
            let shape = (completions.len(), n_points, 3);
            Ok(Array3::from_shape_vec(shape, values).expect("completions have equally many points"))
        })?;
        Ok(Numpy(completions))
    }

    /// The middle and the radius of the whole that a scan is taken to belong to, in the scan's units.
    #[pyo3(signature = (scan, frame, n_jobs=None))]
    fn frame_of(&self, scan: Cloud, frame: GivenFrame, n_jobs: Option<usize>) -> PyResult<(Vector<f64>, f64)> {
        let model = self.0.clone();
        let frame = frame.to_scan_frame()?;
        let frame = background::run(n_jobs, move |_| model.frame_of(&scan.0, &frame))?;
        let radius = Normalization::SHAPE_RADIUS / frame.scale();
        Ok((frame.center().to_vec().into(), radius))
    }

    /// How much each cloud looks like a complete shape.
    #[pyo3(signature = (clouds, frame, n_jobs=None))]
    fn scores(&self, clouds: Vec<Cloud>, frame: GivenFrame, n_jobs: Option<usize>) -> PyResult<Vector<f64>> {
        let model = self.0.clone();
        let frame = frame.to_scan_frame()?;
        let scores = background::run(n_jobs, move |_| {
            let in_frame = |Cloud(cloud): &Cloud| Ok(model.frame_of(cloud, &frame)?.apply(cloud)?);
            let clouds: Vec<PointSet> = clouds.iter().map(in_frame).collect::<Result<_>>()?;
            let mut scores = Vec::with_capacity(clouds.len());
            // Clouds of different sizes do not fit into one tensor.
            for alike in clouds.chunk_by(|one, next| one.len() == next.len()) {
                scores.extend(model.scores(alike)?);
            }
            Ok(scores)
        })?;
        Ok(scores.into())
    }

    /// The settings, as JSON.
    #[getter]
    fn config(&self) -> String {
        self.0.config().to_json()
    }

    /// The system that it is, by name.
    #[getter]
    fn system(&self) -> &'static str {
        self.0.config().system()
    }

    /// Whether it gives a single completion per scan.
    #[getter]
    fn is_deterministic(&self) -> bool {
        self.0.is_deterministic()
    }
}
