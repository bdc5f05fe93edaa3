//! Synthetic chairs of which parts are missing.

use anyhow::Context;
use labelflow::SavedModel;
use labelflow_clouds::completers::{CompletionDataset, CompletionLearner, CompletionTraining, PointCloudCompleter};
use labelflow_clouds::files::write_cloud;
use labelflow_clouds::geometry::{Normalization, PartialCut};
use labelflow_clouds::shapes::{FurnitureCategory, ShapeSet};

use super::{DemoArgs, train};
use crate::experiments::systems::{CompletionSystem, SystemTables};
use crate::terminal::output;

/// Chairs to train on, and to test on.
const N_TRAIN: usize = 256;
const N_TEST: usize = 32;
/// Passes over the chairs.
const EPOCHS: usize = 40;
/// Scans that are left to look at.
const N_SCANS: usize = 4;

pub(super) fn run(args: &DemoArgs) -> anyhow::Result<()> {
    let set = ShapeSet::Furniture(FurnitureCategory::Chair);
    let problem = set.load(&args.out, Some(N_TRAIN), Some(N_TEST))?;
    let small = PointCloudCompleter::small();
    let config = PointCloudCompleter {
        seed: args.seed,
        training: CompletionTraining { max_epochs: args.epochs.unwrap_or(EPOCHS), ..small.training },
        ..small
    };
    output::print(&format!(
        "Synthetic chairs: {N_TRAIN} to train on, never with the partial clouds that were cut from them; partial clouds of \
         {N_TEST} others to complete.\n"
    ))?;
    let model_folder = args.out.join("model");
    let dataset = CompletionDataset::from_parts(problem.train.clone(), config.seed)?;
    let model = train(|observer| config.fit_with(&dataset, None, observer))?;
    model.save(&model_folder)?;
    let mut rows = Vec::new();
    for name in ["llf", "copy-input", "nearest-shape", "oracle"] {
        let system = CompletionSystem::from_name(name)?;
        let learner = system.learner(&config, &SystemTables::default())?;
        let (learner, folder) = (learner.as_ref(), Some(model_folder.as_path()));
        let measured = system.evaluate(&problem, &config, learner, folder, &mut ())?;
        let show = |index: usize| format!("{:.2}", measured.values[index].1);
        rows.push([name.to_owned(), show(0), show(1), show(2)]);
    }
    output::print(&output::table(["system", "MMD × 10³", "TMD × 10²", "UHD × 10²"], rows))?;
    let scans = args.out.join("scans");
    std::fs::create_dir_all(&scans).with_context(|| format!("creating {}", scans.display()))?;
    let cut = PartialCut { n_points: config.n_partial_points, ..PartialCut::default() };
    let same = Normalization::new([0.0; 3], 1.0)?;
    for shape in problem.test.iter().take(N_SCANS) {
        let partial = cut.cut(shape, 0)?.points;
        write_cloud(&scans.join(format!("{}.ply", shape.id())), &same.undo(&partial)?)?;
    }
    output::print(&format!(
        "\nNext: labelflow complete {} {} --frame same --out {}",
        model_folder.display(),
        scans.display(),
        args.out.join("completions").display()
    ))
}
