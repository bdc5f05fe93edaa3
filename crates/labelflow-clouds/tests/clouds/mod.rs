//! What tests of completers share: synthetic chairs, and how completions of them are evaluated.

// Every test file uses its own part of this.
#![allow(dead_code)]

pub(crate) mod suite;

use std::ops::ControlFlow;

use labelflow::storage::Checkpoint;
use labelflow::training::{EpochEvent, Observer, StopReason};
use labelflow_clouds::completers::{Completer, CompletionOptions};
use labelflow_clouds::geometry::{NearestTree, PartialCut, PointSet, Shape, shape_stream};
use labelflow_clouds::metrics::{minimum_matching_distance, total_mutual_difference};
use labelflow_clouds::shapes::{Furniture, FurnitureCategory};

pub(crate) fn chairs(split: &str, n: usize) -> Vec<Shape> {
    let furniture = Furniture { category: FurnitureCategory::Chair, seed: 0 };
    (0..n).map(|index| furniture.model(split, index).unwrap().shape(1).unwrap()).collect()
}

pub(crate) fn partial(shape: &Shape, n_points: usize) -> PointSet {
    PartialCut { n_points, seed: 1 }.cut(shape, 0).unwrap().points
}

/// Keeps a checkpoint of every epoch.
#[derive(Default)]
pub(crate) struct Keep(pub(crate) Vec<Checkpoint>);

impl Observer for Keep {
    fn observe(&mut self, event: EpochEvent<'_>) -> labelflow::Result<ControlFlow<StopReason>> {
        self.0.push((event.snapshot)());
        Ok(ControlFlow::Continue(()))
    }
}

pub(crate) struct Scores {
    pub(crate) matching: f64,
    pub(crate) copied: f64,
    pub(crate) difference: f64,
}

/// MMD of one completion a test scan, that of copies of the scans, and TMD of four completions, or of one where there are no others.
pub(crate) fn scores(model: &impl Completer, n_points: usize) -> Scores {
    let test = chairs("test", 24);
    let scans: Vec<PointSet> = test.iter().map(|shape| partial(shape, model.n_partial_points())).collect();
    let references: Vec<NearestTree> = test
        .iter()
        .map(|shape| {
            let rng = &mut shape_stream(0, shape.id(), "reference");
            NearestTree::new(&shape.complete(n_points, rng).unwrap())
        })
        .collect();
    let copies: Vec<NearestTree> = scans.iter().map(NearestTree::new).collect();
    let options = CompletionOptions { n_completions: 4, ..CompletionOptions::default() };
    let completions = model.complete_all(&scans, &options).unwrap();
    let completions: Vec<Vec<NearestTree>> =
        completions.iter().map(|group| group.iter().map(NearestTree::new).collect()).collect();
    let ones: Vec<NearestTree> = completions.iter().map(|group| group[0].clone()).collect();
    let matching = |clouds: &[NearestTree]| minimum_matching_distance(&references, clouds).unwrap().mean;
    let scores = Scores {
        matching: matching(&ones),
        copied: matching(&copies),
        difference: match model.is_deterministic() {
            true => 0.0,
            false => total_mutual_difference(&completions).unwrap(),
        },
    };
    eprintln!("MMD {}, copies {}, TMD {}", scores.matching, scores.copied, scores.difference);
    scores
}
