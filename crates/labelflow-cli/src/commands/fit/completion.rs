//! A point cloud completer from complete shapes, and partial scans if there are any.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use labelflow_clouds::completers::{AnyCompleter, AnyCompletionLearner, CompletionDataset, PointCloudCompleter};
use labelflow_clouds::files::{CloudOptions, read_cloud_with};
use labelflow_clouds::geometry::{Normalization, PointCloud, PointSet, Shape};
use labelflow_clouds::shapes::{PartNetOptions, ShapeSet, read_partnet, read_partnet_split};

use super::args::PresetName;
use super::plan::{FitPlan, required};
use super::training::Training;
use crate::Outcome;
use crate::inputs::cloud_files::{cloud_files, entries};
use crate::inputs::data_folder::data_folder;
use crate::terminal::output;

pub(super) fn run(plan: &FitPlan<'_>) -> anyhow::Result<Outcome> {
    let mut config = settings(plan)?;
    let shapes_path = required(&plan.settings.shapes, "shapes")?;
    let shapes = read_shapes(shapes_path, plan.args.settings.data.as_ref())?;
    let dataset = match &plan.settings.scans {
        Some(scans) => {
            let shapes = shapes.into_iter().map(|shape| shape.points().clone()).collect();
            CompletionDataset::from_scans(read_scans(scans)?, shapes)?
        }
        None => {
            let are_cut = config.learns_from_partials();
            let one_part = |shape: &&Shape| shape.present_parts().len() < 2;
            if let Some(whole) = shapes.iter().find(one_part).filter(|_| are_cut) {
                bail!(
                    "shape '{}': expected several parts, of which some can be taken away, found one; \
                     name partial clouds with --scans",
                    whole.id()
                );
            }
            CompletionDataset::from_parts(shapes, *config.common().seed)?
        }
    };
    output::note(&format!("{} partial clouds, {} complete shapes", dataset.n_partials(), dataset.n_shapes()));
    let digest = config.run_digest(&dataset);
    let training = Training {
        digest,
        fit: &|start, observer| config.fit_with(&dataset, start, observer),
        report: AnyCompleter::report,
        save: AnyCompleter::save_with_origin,
        judge: None,
    };
    Ok(training.run(plan)?.1)
}

/// The settings of the system that is named, with those of the file, the preset and the flags.
fn settings(plan: &FitPlan<'_>) -> anyhow::Result<AnyCompletionLearner> {
    if let Some(repeated) = &plan.repeated {
        return Ok(AnyCompletionLearner::of_task(repeated.record.task)?.with(&plan.config()?)?);
    }
    let system = plan.settings.system.as_deref().unwrap_or("llf");
    let default = AnyCompletionLearner::of_system(system)?;
    let config = match &default {
        // Errors name the line.
        AnyCompletionLearner::Flow(_) => plan.config::<PointCloudCompleter>()?.into(),
        _ => default.with(&plan.settings.config).context("[config]")?,
    };
    let flags = &plan.args.model;
    let mut config = match (flags.preset, config) {
        (Some(PresetName::Paper), AnyCompletionLearner::Flow(_)) => PointCloudCompleter::paper().into(),
        (Some(PresetName::Paper), _) => default,
        (Some(PresetName::Fast | PresetName::Ensemble), config) => config.small(),
        (None, config) => config,
    };
    if let Some(weight) = flags.likelihood_weight {
        match &mut config {
            AnyCompletionLearner::Flow(flow) => flow.likelihood_weight = weight,
            other => bail!("--likelihood-weight is for llf; {} has no likelihood", other.system()),
        }
    }
    let mut common = config.common();
    common.set_length(flags.epochs, flags.batch_size);
    *common.seed = flags.seed.unwrap_or(*common.seed);
    *common.device = flags.device.map_or(*common.device, Into::into);
    Ok(config)
}

/// Complete shapes in their frame: a set by its name, PartNet's folder layout, or a folder of clouds and meshes.
fn read_shapes(path: &Path, data: Option<&PathBuf>) -> anyhow::Result<Vec<Shape>> {
    let name = path.to_string_lossy();
    if let Some(set) = ShapeSet::from_name(&name).filter(|_| !path.exists()) {
        return Ok(set.load(&data_folder(data), None, None)?.train);
    }
    if path.join("stats").is_dir() && path.join("data").is_dir() {
        return read_partnet_shapes(path);
    }
    let shape = |(name, cloud): (String, PointCloud)| {
        let points = in_own_box(&cloud).with_context(|| name.clone())?;
        let parts = cloud.parts().map_or_else(|| vec![0; cloud.len()], <[_]>::to_vec);
        Ok(Shape::new(name, points, parts)?)
    };
    read_clouds(path)?.into_iter().map(shape).collect()
}

fn read_partnet_shapes(folder: &Path) -> anyhow::Result<Vec<Shape>> {
    let lists = folder.join("stats").join("train_val_test_split");
    let mut shapes = Vec::new();
    for list in entries(&lists)? {
        let name = list.file_name().map(|name| name.to_string_lossy().into_owned());
        let Some(category) = name.as_deref().and_then(|name| name.strip_suffix(".train.json")) else {
            continue;
        };
        // Merged at depth 1, tables are one part.
        let options = PartNetOptions { part_depth: if category == "Table" { 2 } else { 1 } };
        let read = read_partnet(&folder.join("data"), &read_partnet_split(&list)?, &options)?;
        for dropped in &read.dropped {
            output::note(&format!("shape '{}' is left out: {}", dropped.id, dropped.reason));
        }
        shapes.extend(read.shapes);
    }
    Ok(shapes)
}

/// Partial clouds, each in the frame of its own box: where it lies in the whole is not known.
fn read_scans(path: &Path) -> anyhow::Result<Vec<PointSet>> {
    let clouds = read_clouds(path)?;
    clouds.iter().map(|(name, cloud)| in_own_box(cloud).with_context(|| name.clone())).collect()
}

fn in_own_box(cloud: &PointCloud) -> anyhow::Result<PointSet> {
    let frame = Normalization::fit(cloud, Normalization::SHAPE_RADIUS)?;
    Ok(frame.apply(cloud)?)
}

/// All clouds of a folder, by name.
fn read_clouds(folder: &Path) -> anyhow::Result<Vec<(String, PointCloud)>> {
    let read = |path: &PathBuf| {
        let cloud = read_cloud_with(path, &CloudOptions::default())?;
        Ok((path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into()), cloud))
    };
    cloud_files(folder)?.iter().map(read).collect()
}
