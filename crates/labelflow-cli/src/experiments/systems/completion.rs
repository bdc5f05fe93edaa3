//! The systems of completion, with simple references: each completes the same partial clouds of test shapes.

use std::path::Path;
use std::time::Instant;

use anyhow::Context as _;
use labelflow::training::{Observer, Report};
use labelflow_clouds::completers::{AnyCompletionLearner, CompletionDataset, CompletionOptions, PointCloudCompleter};
use labelflow_clouds::geometry::{NearestTree, PartialCloud, PartialCut, PointSet, Shape, resample, shape_stream};
use labelflow_clouds::metrics::{CompletionScores, MMD_UNIT, SamplingFloor, TMD_UNIT, UHD_UNIT};
use labelflow_clouds::shapes::ShapeProblem;
use rayon::prelude::*;

use super::system_tables::SystemTables;
use super::{Evaluation, named};
use crate::commands::complete::completion_pictures::{CompletionExample, N_EXAMPLES};
use crate::experiments::metric::Metric;

/// The completions of each partial cloud, as in the paper.
const N_COMPLETIONS: usize = 10;

/// A system of completion by the name it has in files and tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CompletionSystem {
    /// The flow as configured.
    Llf,
    /// Without the likelihood and the divergence: constraints alone.
    LlfWoNll,
    /// Without the likelihood only.
    LlfWoNllOnly,
    /// Another system that is trained, by its place among all of them.
    Other(usize),
    /// The partial cloud itself.
    CopyInput,
    /// So many of the training shapes whose surfaces are nearest to the partial cloud.
    Nearest(usize),
    /// The true shape, drawn again: no method can be truer.
    ResampledTruth,
    /// Missing parts redrawn by who made the shapes: the true diversity.
    Oracle,
}

impl CompletionSystem {
    /// All of them by their names, in the order of tables.
    fn all() -> Vec<(&'static str, Self)> {
        let mut all = vec![("llf", Self::Llf), ("llf-wo-nll", Self::LlfWoNll), ("llf-wo-nll-only", Self::LlfWoNllOnly)];
        // The first system that is trained is the flow.
        let trained = AnyCompletionLearner::systems().into_iter().enumerate().skip(1);
        all.extend(trained.map(|(place, name)| (name, Self::Other(place))));
        all.extend([
            ("copy-input", Self::CopyInput),
            ("nearest-shape", Self::Nearest(1)),
            ("ten-nearest", Self::Nearest(N_COMPLETIONS)),
            ("resampled-truth", Self::ResampledTruth),
            ("oracle", Self::Oracle),
        ]);
        all
    }

    pub(crate) fn from_name(name: &str) -> anyhow::Result<Self> {
        named(&Self::all(), name)
    }

    /// The settings of a system that is trained, from those of the flow and what a file changes of others.
    pub(crate) fn learner(
        self,
        flow: &PointCloudCompleter,
        tables: &SystemTables,
    ) -> anyhow::Result<Option<AnyCompletionLearner>> {
        let flow = flow.clone();
        Ok(Some(match self {
            Self::Llf => flow.into(),
            Self::LlfWoNll => PointCloudCompleter { divergence_weight: 0.0, likelihood_weight: 0.0, ..flow }.into(),
            Self::LlfWoNllOnly => PointCloudCompleter { likelihood_weight: 0.0, ..flow }.into(),
            Self::Other(place) => tables.learner(AnyCompletionLearner::systems()[place], &flow)?,
            _ => return Ok(None),
        }))
    }

    /// Completes a partial cloud of each test shape and evaluates the completions.
    pub(crate) fn evaluate(
        self,
        problem: &ShapeProblem,
        config: &PointCloudCompleter,
        learner: Option<&AnyCompletionLearner>,
        model: Option<&Path>,
        observer: &mut dyn Observer,
    ) -> anyhow::Result<Evaluation> {
        let cut = PartialCut { n_points: config.n_partial_points, ..PartialCut::default() };
        let partials: Vec<PartialCloud> =
            problem.test.iter().map(|shape| cut.cut(shape, 0)).collect::<Result<_, _>>()?;
        let (completions, report, completion_ms) = match learner {
            Some(learner) => learned(learner, problem, config.seed, model, &partials, observer)?,
            None => (self.simple(problem, config.n_points, &partials)?, None, None),
        };
        let examples = examples(problem, &partials, &completions, config.n_points)?;
        let references = trees(&problem.test, config.n_points, "reference")?;
        let partials: Vec<NearestTree> = partials.iter().map(|partial| NearestTree::new(&partial.points)).collect();
        let completions: Vec<Vec<NearestTree>> =
            completions.par_iter().map(|group| group.iter().map(NearestTree::new).collect()).collect();
        let floor =
            |shape: &Shape| SamplingFloor::from_points(shape.points(), &mut shape_stream(0, shape.id(), "floor"));
        let floors: Vec<SamplingFloor> = problem.test.par_iter().map(floor).collect::<Result<_, _>>()?;
        let floor = SamplingFloor::mean(&floors)?;
        let scores = CompletionScores::measure(&references, &partials, &completions, floor)?;
        let values = vec![
            (Metric::Mmd, scores.matching_distance * MMD_UNIT),
            (Metric::Tmd, scores.mutual_difference * TMD_UNIT),
            (Metric::Uhd, scores.hausdorff * UHD_UNIT),
            (Metric::MmdOfOne, scores.matching_distance_of_one * MMD_UNIT),
            (Metric::TmdFloor, scores.mutual_difference_floor * TMD_UNIT),
            (Metric::UhdFloor, scores.hausdorff_floor * UHD_UNIT),
        ];
        Ok(Evaluation { values, report, completion_ms, examples, ..Evaluation::default() })
    }

    fn simple(self, problem: &ShapeProblem, n_points: usize, partials: &[PartialCloud]) -> anyhow::Result<Completions> {
        let candidates = match self {
            Self::Nearest(_) => trees(&problem.train, n_points, "candidate")?,
            _ => Vec::new(),
        };
        partials
            .par_iter()
            .zip(problem.test.par_iter().enumerate())
            .map(|(partial, (index, shape))| match self {
                Self::Nearest(n_wanted) => nearest(&partial.points, &candidates, n_wanted)
                    .map(|index| complete(&problem.train[index], n_points, "candidate"))
                    .collect(),
                Self::ResampledTruth => {
                    (0..N_COMPLETIONS).map(|sample| complete(shape, n_points, &format!("truth {sample}"))).collect()
                }
                Self::Oracle => {
                    let furniture = problem.furniture.context(
                        "oracle: expected synthetic shapes, found real ones, whose missing parts nobody can redraw",
                    )?;
                    let model = furniture.model("test", index)?;
                    let complete =
                        |sample| Ok(model.complete(problem.part_depth, &partial.kept_parts, sample, n_points)?);
                    (0..N_COMPLETIONS as u64).map(complete).collect()
                }
                _ => {
                    let rng = &mut shape_stream(0, shape.id(), "copy");
                    let indices = resample(partial.points.len(), n_points, rng)?;
                    Ok(vec![partial.points.select(&indices)])
                }
            })
            .collect()
    }
}

/// The completions of each partial cloud.
type Completions = Vec<Vec<PointSet>>;

/// Trains a completer, or goes on with a model that was kept, and completes: the completions of each partial cloud, the course of
/// training, and the mean time of a completion in milliseconds.
fn learned(
    learner: &AnyCompletionLearner,
    problem: &ShapeProblem,
    seed: u64,
    model: Option<&Path>,
    partials: &[PartialCloud],
    observer: &mut dyn Observer,
) -> anyhow::Result<(Completions, Option<Report>, Option<f64>)> {
    let dataset = CompletionDataset::from_parts(problem.train.clone(), seed)?;
    let fitted = crate::inputs::completer::fit_or_load(learner, &dataset, model, observer)?;
    let options = CompletionOptions { n_completions: N_COMPLETIONS, ..CompletionOptions::default() };
    let scans: Vec<PointSet> = partials.iter().map(|partial| partial.points.clone()).collect();
    // Kernels that a device compiles at their first use are not what a completion takes.
    fitted.complete_all(&scans[..scans.len().min(1)], &CompletionOptions { n_completions: 1, ..options.clone() })?;
    let start = Instant::now();
    let completions = fitted.complete_all(&scans, &options)?;
    let n_completions: usize = completions.iter().map(Vec::len).sum();
    let completion_ms = 1e3 * start.elapsed().as_secs_f64() / n_completions.max(1) as f64;
    Ok((completions, Some(fitted.report().clone()), Some(completion_ms)))
}

/// The first completions of the first partial clouds.
fn examples(
    problem: &ShapeProblem,
    partials: &[PartialCloud],
    completions: &[Vec<PointSet>],
    n_points: usize,
) -> anyhow::Result<Vec<CompletionExample>> {
    let shapes = problem.test.iter().zip(partials).zip(completions).take(N_EXAMPLES);
    shapes
        .map(|((shape, partial), completions)| {
            Ok(CompletionExample {
                shape: shape.id().to_owned(),
                partial: partial.points.clone(),
                completion: completions.first().context("a completion of each scan")?.clone(),
                truth: complete(shape, n_points, "reference")?,
            })
        })
        .collect()
}

fn complete(shape: &Shape, n_points: usize, role: &str) -> anyhow::Result<PointSet> {
    Ok(shape.complete(n_points, &mut shape_stream(0, shape.id(), role))?)
}

/// A cloud of each of several shapes, to be searched.
fn trees(shapes: &[Shape], n_points: usize, role: &str) -> anyhow::Result<Vec<NearestTree>> {
    let tree = |shape| Ok(NearestTree::new(&complete(shape, n_points, role)?));
    shapes.par_iter().map(tree).collect()
}

/// The candidates whose surfaces the partial cloud lies nearest to, by their indices.
fn nearest(partial: &PointSet, candidates: &[NearestTree], n_wanted: usize) -> impl Iterator<Item = usize> {
    let partial = NearestTree::new(partial);
    let distance = |tree: &NearestTree| tree.squared_distances(&partial).into_iter().map(f64::from).sum::<f64>();
    let mut ranked: Vec<(f64, usize)> = candidates.iter().map(distance).zip(0..candidates.len()).collect();
    ranked.sort_by(|one, other| one.0.total_cmp(&other.0));
    ranked.into_iter().take(n_wanted).map(|(_, index)| index)
}
