//! What every learner of completion must do, whichever it is.

use std::path::Path;

use labelflow::SavedModel;
use labelflow::learners::FittedLabelFlowClassifier;
use labelflow::storage::{Checkpoint, ModelRecord, ModelTask};
use labelflow::training::StopReason;
use labelflow_clouds::completers::{
    AnyCompleter, Completer, CompletionDataset, CompletionLearner, CompletionOptions, FittedCompleter,
};
use labelflow_clouds::geometry::PointSet;

use super::{Keep, chairs, partial};

fn dataset() -> CompletionDataset {
    CompletionDataset::from_parts(chairs("train", 8), 0).unwrap()
}

/// All files of a saved model.
fn files(model: &impl SavedModel, folder: &Path) -> Vec<(std::ffi::OsString, Vec<u8>)> {
    model.save(folder).unwrap();
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name(), std::fs::read(entry.path()).unwrap()))
        .collect();
    files.sort();
    files
}

/// Runs that are resumed after any of their epochs, so in any stage and between stages, end with the same bits; a run of other settings
/// takes no checkpoint of this one.
pub(crate) fn goes_on_after_any_epoch<L: CompletionLearner>(config: &L, other: &L, n_epochs: usize) {
    let (dataset, folder) = (dataset(), tempfile::tempdir().unwrap());
    let path = folder.path().join("checkpoint.safetensors");
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    let mut kept = Keep::default();
    let whole = config.fit_with(&dataset, None, &mut kept).unwrap();
    assert_eq!(whole.report().history.len(), n_epochs);
    assert_eq!(whole.report().stop, StopReason::MaxEpochs);
    let expected = files(&whole, &one);
    assert_eq!(kept.0.len(), n_epochs);
    for checkpoint in kept.0 {
        checkpoint.save(&path).unwrap();
        let checkpoint = Checkpoint::load(&path).unwrap();
        let resumed = config.fit_with(&dataset, Some(checkpoint), &mut ()).unwrap();
        assert!(files(&resumed, &two) == expected);
    }
    let mut checkpoint = Checkpoint::load(&path).unwrap();
    assert!(other.fit_with(&dataset, Some(checkpoint.clone()), &mut ()).is_err());
    checkpoint.optimizers.push(checkpoint.optimizers[0].clone());
    let error = config.fit_with(&dataset, Some(checkpoint), &mut ()).err().unwrap().to_string();
    assert!(error.contains("optimisers"), "{error}");
}

/// A model that was saved completes as before, and is not taken for one of another kind.
pub(crate) fn is_saved_whole<L: CompletionLearner, Other: SavedModel>(config: &L, task: ModelTask)
where
    FittedCompleter<L>: Completer,
    AnyCompleter: From<FittedCompleter<L>>,
{
    let scan = partial(&chairs("train", 1)[0], 50);
    let model = config.fit_with(&dataset(), None, &mut ()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    model.save(folder.path()).unwrap();
    assert_eq!(ModelRecord::read(folder.path()).unwrap().task, task);
    let options = CompletionOptions { n_completions: 3, ..CompletionOptions::default() };
    let completions = model.complete(&scan, &options).unwrap();
    let loaded = FittedCompleter::<L>::load(folder.path()).unwrap();
    assert_eq!(loaded.complete(&scan, &options).unwrap(), completions);
    assert!(loaded.config() == model.config());
    let any = AnyCompleter::from(model);
    let again = AnyCompleter::from_bytes(&any.to_bytes()).unwrap();
    assert!(again.to_bytes() == any.to_bytes());
    assert!(Other::load(folder.path()).is_err());
    assert!(<FittedLabelFlowClassifier as SavedModel>::load(folder.path()).is_err());
}

/// Options do what they say, and what makes no sense is an error.
pub(crate) fn heeds_options<L: CompletionLearner>(config: &L, n_points: usize) -> FittedCompleter<L>
where
    FittedCompleter<L>: Completer,
{
    let shapes = chairs("train", 2);
    let scan = partial(&shapes[0], 50);
    let model = config.fit_with(&dataset(), None, &mut ()).unwrap();
    let complete = |options: CompletionOptions| model.complete(&scan, &options).unwrap();
    let two = CompletionOptions { n_completions: 2, ..CompletionOptions::default() };
    let base = complete(two.clone());
    assert_eq!(base, complete(two.clone()));
    assert!(base.iter().all(|cloud| cloud.len() == n_points));
    let other_seed = complete(CompletionOptions { seed: 1, ..two.clone() });
    match model.is_deterministic() {
        true => assert_eq!(base.len(), 1),
        false => assert!(base.len() == 2 && base[0] != base[1] && base != other_seed),
    }
    let many = complete(CompletionOptions { n_points: Some(n_points + 38), ..two.clone() });
    assert!(many.iter().all(|cloud| cloud.len() == n_points + 38));
    let kept = complete(CompletionOptions { keep_input: true, ..two.clone() });
    assert!(kept[0].as_slice().iter().any(|point| scan.as_slice().contains(point)));
    for bad in [
        CompletionOptions { n_completions: 0, ..two.clone() },
        CompletionOptions { n_points: Some(0), ..two.clone() },
        CompletionOptions { temperature: f64::NAN, ..two.clone() },
    ] {
        assert!(model.complete(&scan, &bad).is_err());
    }
    // Extreme scans still give finite clouds, and those that are nowhere near the frame an error.
    for scan in [vec![[0.0; 3]], vec![[5.0; 3], [-5.0; 3]]] {
        model.complete(&PointSet::new(scan).unwrap(), &two).unwrap();
    }
    let far = PointSet::new(vec![[1e6; 3]]).unwrap();
    let error = model.complete(&far, &two).unwrap_err().to_string();
    assert!(error.contains("frame"), "{error}");
    assert!(model.scores(&base).unwrap().iter().all(|score| score.is_finite()));

    // Together as apart.
    let scans = [scan.clone(), partial(&shapes[1], 50)];
    let together = model.complete_all(&scans, &two).unwrap();
    assert_eq!(together.len(), 2);
    for (scan, together) in scans.iter().zip(together) {
        let apart = model.complete(scan, &two).unwrap();
        let (one, other) = (apart.iter().flat_map(PointSet::as_flat), together.iter());
        for (one, other) in one.zip(other.flat_map(PointSet::as_flat)) {
            assert!((one - other).abs() < 1e-4, "{one} and {other}");
        }
    }
    model
}
