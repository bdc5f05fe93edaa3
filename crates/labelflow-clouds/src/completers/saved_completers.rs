//! How completers are saved. All of them have a configuration, networks and the course of training, and points need no names.

use labelflow::Result;
use labelflow::storage::{Manifest, ModelTask, SavedModel, n_hidden_weights, n_products};
use labelflow::training::{DeviceKind, Report};
use serde::{Deserialize, Serialize};

use crate::completers::{
    CodeCompleter, CodeNetwork, FittedCodeCompleter, FittedKnowledgeTransfer,
    FittedPointCloudCompleter, FittedShapeInversion, KnowledgeTransfer, Players,
    PointCloudCompleter, ShapeInversion, TransferPlayers, TreePlayers,
};

/// Points are not labels of a kind that would have to be named.
#[derive(Serialize, Deserialize)]
pub struct Points {}

/// Completers by the names of their types and of the field with their networks, and how many weights these have at the least.
macro_rules! saved_completers {
    ($($fitted:ty: $task:ident, $config:ident, $network:ident in $field:ident, $n_weights:ident;)+) => {$(
        impl SavedModel for $fitted {
            const TASK: ModelTask = ModelTask::$task;
            type Labels = Points;
            type Config = $config;
            type Network = $network;

            fn network(&self) -> &$network {
                &self.$field
            }

            fn report(&self) -> &Report {
                &self.report
            }

            fn config(&self) -> &$config {
                &self.config
            }

            fn features(&self) -> Vec<String> {
                ["x", "y", "z"].map(str::to_owned).to_vec()
            }

            fn labels(&self) -> Points {
                Points {}
            }

            fn n_weights_at_least(manifest: &Manifest<Points, $config>) -> Option<usize> {
                $n_weights(&manifest.config)
            }

            fn empty_network(manifest: &Manifest<Points, $config>) -> Result<$network> {
                manifest.config.check_settings()?;
                Ok($network::init(&manifest.config, &DeviceKind::Cpu.open()?))
            }

            fn assemble(
                manifest: Manifest<Points, $config>,
                networks: $network,
                report: Report,
            ) -> Self {
                let config = $config { device: DeviceKind::Cpu, ..manifest.config };
                Self { config, $field: networks, report }
            }
        }
    )+};
}

saved_completers!(
    FittedPointCloudCompleter: Completion, PointCloudCompleter, Players in players, n_of_flow;
    FittedCodeCompleter: CodeCompletion, CodeCompleter, CodeNetwork in network, n_of_codes;
    FittedShapeInversion: InversionCompletion, ShapeInversion, TreePlayers in players, n_of_tree;
    FittedKnowledgeTransfer: TransferCompletion, KnowledgeTransfer, TransferPlayers in players, n_of_transfer;
);

fn n_of_flow(config: &PointCloudCompleter) -> Option<usize> {
    let networks =
        [&config.feature_widths, &config.discriminator_widths, &config.discriminator_head];
    let n = n_hidden_weights(config.n_steps, config.d_hidden, config.d_latent)?;
    n.checked_add(n_layer_weights(networks)?)
}

fn n_of_codes(config: &CodeCompleter) -> Option<usize> {
    let (d_noise, d_code) = (config.d_noise, *config.encoder_widths.last()?);
    let chains = [
        [&[3], &config.encoder_widths[..]].concat(),
        [&[d_code], &config.decoder_widths[..], &[config.n_points.checked_mul(3)?]].concat(),
        [&[d_code.checked_add(d_noise)?], &config.generator_widths[..], &[d_code]].concat(),
        [&[d_code], &config.discriminator_widths[..], &[1]].concat(),
        vec![d_noise, d_code],
    ];
    chains.iter().try_fold(0, |n: usize, chain| n.checked_add(n_products(chain)?))
}

fn n_of_tree(config: &ShapeInversion) -> Option<usize> {
    let widths = [&[config.d_noise], &config.generator_widths[..]].concat();
    let head = [config.discriminator_widths.last().copied()?, 1];
    let chains = [
        [&[3], &config.discriminator_widths[..]].concat(),
        [&head[..1], &config.discriminator_head[..], &head[1..]].concat(),
    ];
    let critic = chains.iter().try_fold(0, |n: usize, chain| n.checked_add(n_products(chain)?))?;
    let (mut n_weights, mut n_nodes) = (critic, 1usize);
    for (&width, &degree) in widths.iter().zip(&config.degrees) {
        let square = width.checked_mul(width)?;
        let branch = n_nodes.checked_mul(square.checked_mul(degree)?)?;
        let inner = square.checked_mul(config.widening)?;
        n_weights = n_weights.checked_add(branch)?.checked_add(inner)?;
        n_nodes = n_nodes.checked_mul(degree)?;
    }
    Some(n_weights)
}

fn n_of_transfer(config: &KnowledgeTransfer) -> Option<usize> {
    let [d_point, d_whole, d_both] = config.encoder_widths;
    let (d_code, d_fine) = (config.d_code, config.d_fine);
    let chains = [
        vec![3, d_point, d_whole],
        vec![d_whole, d_both, d_code],
        // Two hidden layers, and two maps that correct each.
        vec![d_code, d_code, d_code, d_code, d_code, d_code, d_code],
        vec![d_code, config.n_points.checked_mul(3)?],
        vec![d_code, d_fine, d_fine, 3],
        [&[d_code], &config.discriminator_widths[..], &[1]].concat(),
    ];
    chains.iter().try_fold(0, |n: usize, chain| n.checked_add(n_products(chain)?))
}

/// The numbers of networks' layers at the least.
fn n_layer_weights<const N: usize>(networks: [&Vec<usize>; N]) -> Option<usize> {
    networks.into_iter().try_fold(0, |n: usize, widths| {
        n.checked_add(*widths.first().unwrap_or(&0))?.checked_add(n_products(widths)?)
    })
}
