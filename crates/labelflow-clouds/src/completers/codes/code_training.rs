//! Training of completion by codes, one stage after another: the autoencoder, with noise the variational one, then the generator.
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

use labelflow::Result;
use labelflow::training::Report;
use labelflow_flow::{Mode, StatisticsRecorder, absorb};

use super::code_adversarial_stage::CodeAdversarialStage;
use super::code_stage::{CodeModel, CodeStage};
use crate::completers::stages::course::{Course, Stage};
use crate::completers::stages::trained_network::UpdateRule;
use crate::completers::{CodeCompleter, CodeNetwork, CompletionDataset, StageTraining};

/// The stages in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Autoencoder,
    Variational,
    Adversarial,
}

/// The stages of a run, each with its epochs, counted through all of them.
fn stages(config: &CodeCompleter) -> Vec<(Kind, Range<usize>)> {
    let has_variational = config.d_noise > 0 && !config.joint_reader;
    let variational = has_variational.then_some((Kind::Variational, &config.variational));
    let last = [variational, Some((Kind::Adversarial, &config.players))];
    let mut first = 0;
    let mut epochs = |(kind, training): (Kind, &StageTraining)| {
        let start = first;
        first += training.max_epochs;
        (kind, start..first)
    };
    let autoencoder = (Kind::Autoencoder, &config.autoencoder);
    std::iter::once(autoencoder).chain(last.into_iter().flatten()).map(&mut epochs).collect()
}

/// Trains all stages from where the course is.
pub(crate) fn train_codes(
    config: &CodeCompleter,
    dataset: &CompletionDataset,
    mut course: Course<'_, CodeNetwork>,
) -> Result<(CodeNetwork, Report)> {
    let stages = stages(config);
    let max_epochs = stages.last().map_or(0, |(_, epochs)| epochs.end);
    for (kind, epochs) in stages {
        // A stage that has just ended is entered once more: its network has not settled.
        if course.n_epochs() > epochs.end {
            continue;
        }
        if course.n_epochs() <= epochs.start {
            course.forget_optimizers();
        }
        course.model = match (kind, course.model.variational.clone()) {
            (Kind::Adversarial, _) => {
                let stage = CodeAdversarialStage::new(config, dataset, &mut course)?;
                course.go_through(&stage, epochs, max_epochs)?;
                stage.model()
            }
            (Kind::Variational, Some(model)) => {
                learn_codes(config, dataset, &mut course, model, epochs, max_epochs)?
            }
            _ => {
                let model = course.model.autoencoder.clone();
                learn_codes(config, dataset, &mut course, model, epochs, max_epochs)?
            }
        };
        if course.is_ended() {
            break;
        }
    }
    Ok((burn::module::Module::valid(&course.model), course.report()))
}

/// What is left of a stage that learns codes: the network after it, in which its model has the statistics of many batches under its final
/// weights.
fn learn_codes<M: CodeModel>(
    config: &CodeCompleter,
    dataset: &CompletionDataset,
    course: &mut Course<'_, CodeNetwork>,
    model: M,
    epochs: Range<usize>,
    max_epochs: usize,
) -> Result<CodeNetwork> {
    let trained = course.network(model, UpdateRule::plain(M::training(config).betas()))?;
    let stage = CodeStage { config, dataset, network: course.model.clone(), trained };
    course.go_through(&stage, epochs, max_epochs)?;
    // Without gradients: a pass that nobody differentiates would be kept for long, and these are large.
    let inner = course.device.clone().inner();
    let mut model = stage.trained.network().valid();
    for index in 0..config.statistics_batches {
        let recorder = StatisticsRecorder::default();
        model.look_at(stage.draw(index, &inner)?.shapes, Mode::Train(&recorder));
        model = absorb(model, recorder, 1.0 / (index + 1) as f64);
    }
    Ok(model.fork(&course.device).placed(stage.network))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::completers::CompletionLearner;

    #[test]
    fn epochs_run_through_the_stages() {
        let config = CodeCompleter::mm_pcl2pcl().small();
        let [a, v, p] =
            [&config.autoencoder, &config.variational, &config.players].map(|one| one.max_epochs);
        let expected = [
            (Kind::Autoencoder, 0..a),
            (Kind::Variational, a..a + v),
            (Kind::Adversarial, a + v..a + v + p),
        ];
        assert_eq!(stages(&config), expected);
        let without = [(Kind::Autoencoder, 0..a), (Kind::Adversarial, a..a + p)];
        let config = CodeCompleter { joint_reader: true, ..config };
        assert_eq!(stages(&config), without);
        let config = CodeCompleter { d_noise: 0, joint_reader: false, ..config };
        assert_eq!(stages(&config), without);
    }
}
