//! What one step of each stage sees, drawn on the host. It depends on nothing but the settings, the data and the step's number, so that
//! training can go on at any epoch.

use burn::tensor::{Device, Tensor, TensorData};
use labelflow::Result;
use labelflow::training::stream;
use labelflow_flow::N_AXES;
use rand::seq::SliceRandom;
use rayon::prelude::*;

use crate::completers::flow::completion_batch::normal;
use crate::completers::stages::batch_slots::{StepBatch, WHOLE};
use crate::completers::{CodeCompleter, CompletionDataset, StageTraining};
use crate::geometry::PointSet;

/// Complete clouds and the noise of a variational autoencoder, for a stage that learns codes.
pub(crate) struct ShapeBatch {
    /// `[n_clouds, n_points, 3]`
    pub(crate) shapes: Tensor<3>,
    /// `[n_clouds, d_noise]`, where there is noise.
    pub(crate) noise: Option<Tensor<2>>,
}

/// What both players see.
pub(crate) struct PlayerBatch {
    /// `[n_clouds, n_partial_points, 3]`
    pub(crate) partials: Tensor<3>,
    /// `[n_clouds, n_points, 3]`
    pub(crate) shapes: Tensor<3>,
    /// z, `[n_clouds, d_noise]`, where there is noise.
    pub(crate) noise: Option<Tensor<2>>,
    /// The noise of the code that is read back, `[n_clouds, d_noise]`, where there is noise.
    pub(crate) reading_noise: Option<Tensor<2>>,
}

impl ShapeBatch {
    /// The batch of a step of a stage; `purpose` names the stage.
    pub(crate) fn draw(
        config: &CodeCompleter,
        stage: &StageTraining,
        purpose: &str,
        dataset: &CompletionDataset,
        step: usize,
        device: &Device,
    ) -> Result<Self> {
        let chosen = chosen(config.seed, stage, purpose, dataset.n_shapes(), step);
        let first = step * chosen.len();
        let draws: Vec<(PointSet, Vec<f32>)> = chosen
            .par_iter()
            .enumerate()
            .map(|(cloud, &index)| {
                let rng = &mut stream(config.seed, purpose, (first + cloud) as u64);
                Ok((dataset.shape(index, config.n_points, rng)?, normal(config.d_noise, rng)))
            })
            .collect::<Result<_>>()?;
        Ok(Self {
            shapes: clouds(draws.iter().map(|draw| &draw.0), device),
            noise: rows(draws.iter().map(|draw| &draw.1), config.d_noise, device),
        })
    }
}

impl PlayerBatch {
    /// The batch of a step.
    pub(crate) fn draw(
        config: &CodeCompleter,
        dataset: &CompletionDataset,
        step: usize,
        device: &Device,
    ) -> Result<Self> {
        struct Draw {
            partial: PointSet,
            shape: PointSet,
            noise: [Vec<f32>; 2],
        }
        let purpose = "players";
        let chosen = chosen(config.seed, &config.players, purpose, dataset.n_partials(), step);
        let first = step * chosen.len();
        let draws: Vec<Draw> = chosen
            .par_iter()
            .enumerate()
            .map(|(cloud, &index)| {
                let visit = (first + cloud) as u64;
                let rng = &mut stream(config.seed, purpose, visit);
                Ok(Draw {
                    partial: dataset.partial(index, visit, config.n_partial_points, rng)?,
                    shape: dataset.complete(config.n_points, rng)?,
                    noise: [normal(config.d_noise, rng), normal(config.d_noise, rng)],
                })
            })
            .collect::<Result<_>>()?;
        let noise = |which: usize| {
            rows(draws.iter().map(|draw| &draw.noise[which]), config.d_noise, device)
        };
        Ok(Self {
            partials: clouds(draws.iter().map(|draw| &draw.partial), device),
            shapes: clouds(draws.iter().map(|draw| &draw.shape), device),
            noise: noise(0),
            reading_noise: noise(1),
        })
    }
}

impl StepBatch for ShapeBatch {
    fn into_tensors(self) -> Vec<Tensor<3>> {
        [self.shapes].into_iter().chain(self.noise.map(Tensor::unsqueeze)).collect()
    }

    fn from_tensors(mut tensors: impl Iterator<Item = Tensor<3>>) -> Self {
        Self {
            shapes: tensors.next().expect(WHOLE),
            noise: tensors.next().map(|noise| noise.squeeze_dim(0)),
        }
    }
}

impl StepBatch for PlayerBatch {
    fn into_tensors(self) -> Vec<Tensor<3>> {
        let noise = self.noise.into_iter().chain(self.reading_noise).map(Tensor::unsqueeze);
        [self.partials, self.shapes].into_iter().chain(noise).collect()
    }

    fn from_tensors(mut tensors: impl Iterator<Item = Tensor<3>>) -> Self {
        let mut rows = || tensors.next();
        let (partials, shapes) = (rows().expect(WHOLE), rows().expect(WHOLE));
        let mut noise = || rows().map(|noise| noise.squeeze_dim(0));
        Self { partials, shapes, noise: noise(), reading_noise: noise() }
    }
}

/// Which of `n` clouds a step of a stage sees: every epoch has an order of its own.
pub(crate) fn chosen(
    seed: u64,
    stage: &StageTraining,
    purpose: &str,
    n: usize,
    step: usize,
) -> Vec<usize> {
    let (n_clouds, n_steps) = (stage.clouds_a_step(n), stage.steps_an_epoch(n));
    let mut order: Vec<usize> = (0..n).collect();
    order.shuffle(&mut stream(seed, &format!("{purpose} order"), (step / n_steps) as u64));
    order[step % n_steps * n_clouds..][..n_clouds].to_vec()
}

/// Clouds of the same number of points as a tensor.
pub(crate) fn clouds<'a>(
    clouds: impl ExactSizeIterator<Item = &'a PointSet>,
    device: &Device,
) -> Tensor<3> {
    let n_clouds = clouds.len();
    let values: Vec<f32> = clouds.flat_map(PointSet::as_flat).copied().collect();
    let n_points = values.len() / n_clouds / N_AXES;
    Tensor::from_data(TensorData::new(values, [n_clouds, n_points, N_AXES]), device)
}

fn rows<'a>(
    rows: impl ExactSizeIterator<Item = &'a Vec<f32>>,
    width: usize,
    device: &Device,
) -> Option<Tensor<2>> {
    let n_rows = rows.len();
    let values: Vec<f32> = rows.flatten().copied().collect();
    (width > 0).then(|| Tensor::from_data(TensorData::new(values, [n_rows, width]), device))
}
