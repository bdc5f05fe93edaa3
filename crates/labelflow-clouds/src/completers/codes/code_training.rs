//! Training of completion by codes, one stage after another: the autoencoder, with noise the variational one, then the players.
//!
//! ```text
//! autoencoder    EMD(decode(encode(shape)), shape)
//! variational    EMD(decode(z), shape) + w · KL(q(z|shape) ‖ N(0, I)) / d,   z ~ q
//! generator      λ₁ (D(G) − 1)² + λ₂ d_H(x, y) + λ₃ |E(y) − z|,   and E with it where it has no stage of its own
//! discriminator  ½ (mean (D(code of a shape) − 1)² + mean D(G)²)
//! ```
//!
//! EMD is summed over points and averaged over clouds.

use std::ops::Range;

use burn::module::Module;
use burn::tensor::Device;
use labelflow::Result;
use labelflow::storage::Checkpoint;
use labelflow::training::{Observer, Report, StopReason};
use labelflow_flow::{Mode, StatisticsRecorder, absorb};

use super::code_batch::ShapeBatch;
use super::code_players_stage::CodePlayersStage;
use super::code_stage::{CodeModel, CodeStage};
use crate::completers::stages::player::OptimizerStates;
use crate::completers::stages::stage::{Course, Resumed};
use crate::completers::{CodeCompleter, CodeNetwork, CompletionDataset, StageTraining};

/// The stages in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Autoencoder,
    Variational,
    Players,
}

/// The stages of a run, each with its epochs, counted through all of them.
fn stages(config: &CodeCompleter) -> Vec<(Kind, Range<usize>)> {
    let has_variational = config.d_noise > 0 && !config.joint_reader;
    let variational = has_variational.then_some((Kind::Variational, &config.variational));
    let last = [variational, Some((Kind::Players, &config.players))];
    let mut first = 0;
    let mut epochs = |(kind, training): (Kind, &StageTraining)| {
        let start = first;
        first += training.max_epochs;
        (kind, start..first)
    };
    let autoencoder = (Kind::Autoencoder, &config.autoencoder);
    std::iter::once(autoencoder).chain(last.into_iter().flatten()).map(&mut epochs).collect()
}

/// What all stages know.
#[derive(Debug, Clone)]
pub(crate) struct Ground<'a> {
    pub(crate) config: &'a CodeCompleter,
    pub(crate) dataset: &'a CompletionDataset,
    /// With gradients.
    pub(crate) device: Device,
}

/// Trains all stages, from the start or from a checkpoint.
pub(crate) fn train_codes(
    config: &CodeCompleter,
    dataset: &CompletionDataset,
    run: &str,
    checkpoint: Option<Checkpoint>,
    observer: &mut dyn Observer,
) -> Result<(CodeNetwork, Report)> {
    let device = config.device.open()?.autodiff();
    let start = Resumed::at(checkpoint, CodeNetwork::init(config, &device))?;
    let ground = Ground { config, dataset, device };
    let stages = stages(config);
    let max_epochs = stages.last().map_or(0, |(_, epochs)| epochs.end);
    let mut course = Course::new(run, max_epochs, start.history, observer);
    let (mut network, mut optimizers) = (start.model, start.optimizers);
    let mut stop = None;
    for (kind, epochs) in stages {
        // A stage that has just ended is entered once more: its network has not settled.
        if course.n_epochs() > epochs.end {
            continue;
        }
        let of_stage = if course.n_epochs() > epochs.start { optimizers.take() } else { None };
        (network, stop) = go_through(&ground, &mut course, kind, epochs, network, of_stage)?;
        if stop.is_some() {
            break;
        }
    }
    Ok((network.valid(), course.report(stop)))
}

/// What is left of one stage. Gives the network after it, and the reason where the observer ended it.
fn go_through(
    ground: &Ground<'_>,
    course: &mut Course<'_>,
    kind: Kind,
    epochs: Range<usize>,
    network: CodeNetwork,
    optimizers: OptimizerStates,
) -> Result<(CodeNetwork, Option<StopReason>)> {
    match (kind, network.variational.clone()) {
        (Kind::Players, _) => {
            let stage = CodePlayersStage::new(ground.clone(), network, optimizers)?;
            let stop = course.go_through(&stage, epochs)?;
            Ok((stage.model(), stop))
        }
        (Kind::Variational, Some(model)) => {
            through_codes(ground, course, model, epochs, network, optimizers)
        }
        _ => {
            let model = network.autoencoder.clone();
            through_codes(ground, course, model, epochs, network, optimizers)
        }
    }
}

/// [`go_through`] of a stage that learns codes. Its model then has settled.
fn through_codes<M: CodeModel>(
    ground: &Ground<'_>,
    course: &mut Course<'_>,
    model: M,
    epochs: Range<usize>,
    network: CodeNetwork,
    optimizers: OptimizerStates,
) -> Result<(CodeNetwork, Option<StopReason>)> {
    let stage = CodeStage::new(ground.clone(), model, network.clone(), optimizers)?;
    let stop = course.go_through(&stage, epochs)?;
    Ok((settled(ground, stage.model())?.placed(network), stop))
}

/// A model with the statistics of many batches under its final weights.
fn settled<M: CodeModel>(ground: &Ground<'_>, model: M) -> Result<M> {
    let &Ground { config, dataset, ref device } = ground;
    // Without gradients: a pass that nobody differentiates would be kept for long, and these are large.
    let inner = device.clone().inner();
    let mut model = model.valid();
    for index in 0..config.statistics_batches {
        let training = M::training(config);
        let batch = ShapeBatch::draw(config, training, M::PURPOSE, dataset, index, &inner)?;
        let recorder = StatisticsRecorder::default();
        model.look_at(batch.shapes, Mode::Train(&recorder));
        model = absorb(model, recorder, 1.0 / (index + 1) as f64);
    }
    Ok(model.fork(device))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_run_through_the_stages() {
        let config = CodeCompleter::mm_pcl2pcl().small();
        let [a, v, p] =
            [&config.autoencoder, &config.variational, &config.players].map(|one| one.max_epochs);
        let expected = [
            (Kind::Autoencoder, 0..a),
            (Kind::Variational, a..a + v),
            (Kind::Players, a + v..a + v + p),
        ];
        assert_eq!(stages(&config), expected);
        let without = [(Kind::Autoencoder, 0..a), (Kind::Players, a..a + p)];
        let config = CodeCompleter { joint_reader: true, ..config };
        assert_eq!(stages(&config), without);
        let config = CodeCompleter { d_noise: 0, joint_reader: false, ..config };
        assert_eq!(stages(&config), without);
    }
}
