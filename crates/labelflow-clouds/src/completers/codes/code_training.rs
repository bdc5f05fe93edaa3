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

use burn::module::Module;
use labelflow::Result;
use labelflow::training::Report;
use labelflow_flow::{Mode, StatisticsRecorder, absorb};

use super::code_adversarial_stage::CodeAdversarialStage;
use super::code_stage::{CodeModel, CodeStage};
use crate::completers::stages::{Course, Stage};
use crate::completers::{CodeCompleter, CodeNetwork};

/// The epochs of each stage, counted through all of them; no epochs of the variational autoencoder where it has no stage.
fn stages(config: &CodeCompleter) -> [Range<usize>; 3] {
    let has_variational = config.d_noise > 0 && !config.joint_reader;
    let variational = if has_variational { config.variational.max_epochs } else { 0 };
    let mut end = 0;
    [config.autoencoder.max_epochs, variational, config.players.max_epochs].map(|length| {
        end += length;
        end - length..end
    })
}

/// Trains all stages from where the course is.
pub(crate) fn train_codes(
    config: &CodeCompleter,
    mut course: Course<'_, CodeNetwork>,
) -> Result<(CodeNetwork, Report)> {
    let stages = stages(config);
    let max_epochs = stages[2].end;
    for (stage, epochs) in stages.into_iter().enumerate() {
        // A stage that has just ended is entered once more: its network has not settled.
        if course.n_epochs() > epochs.end || epochs.is_empty() {
            continue;
        }
        if course.n_epochs() <= epochs.start {
            course.forget_optimizers();
        }
        course.model = match (stage, course.model.variational.clone()) {
            (0, _) => {
                let model = course.model.autoencoder.clone();
                learn_codes(config, &mut course, model, epochs, max_epochs)?
            }
            (1, Some(model)) => learn_codes(config, &mut course, model, epochs, max_epochs)?,
            _ => {
                let stage = CodeAdversarialStage::new(config, course.dataset, &mut course)?;
                course.go_through(&stage, epochs, max_epochs)?;
                stage.model()
            }
        };
        if course.is_ended() {
            break;
        }
    }
    Ok((course.model.valid(), course.report()))
}

/// What is left of a stage that learns codes: the network after it, in which its model has the statistics of many batches under its final
/// weights.
fn learn_codes<M: CodeModel>(
    config: &CodeCompleter,
    course: &mut Course<'_, CodeNetwork>,
    model: M,
    epochs: Range<usize>,
    max_epochs: usize,
) -> Result<CodeNetwork> {
    let trained = course.network(model, M::training(config).rule())?;
    let dataset = course.dataset;
    let stage = CodeStage { config, dataset, network: course.model.clone(), trained };
    course.go_through(&stage, epochs, max_epochs)?;
    // Without gradients: a pass that nobody differentiates would be kept for long, and these are large.
    let inner = course.device.clone().inner();
    let mut model = stage.trained.network().valid();
    for index in 0..config.statistics_batches {
        let recorder = StatisticsRecorder::default();
        model.look_at(stage.draw(index, &inner)?.swap_remove(0), Mode::Train(&recorder));
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
        let [a, v, p] = [&config.autoencoder, &config.variational, &config.players].map(|one| one.max_epochs);
        assert_eq!(stages(&config), [0..a, a..a + v, a + v..a + v + p]);
        let without = [0..a, a..a, a..a + p];
        let config = CodeCompleter { joint_reader: true, ..config };
        assert_eq!(stages(&config), without);
        let config = CodeCompleter { d_noise: 0, joint_reader: false, ..config };
        assert_eq!(stages(&config), without);
    }
}
