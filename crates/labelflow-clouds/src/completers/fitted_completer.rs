//! A trained model of any completer, and how it is saved.

use burn::module::Module;
use labelflow::Result;
use labelflow::storage::{Manifest, ModelTask, SavedModel, n_products};
use labelflow::training::{DeviceKind, Report};
use labelflow_weak::settings::check_cells;
use serde::{Deserialize, Serialize};

use super::scan_input::{CLOUDS_AT_ONCE, to_points, to_tensor};
use crate::completers::{Completer, CompletionLearner, CompletionOptions};
use crate::geometry::PointSet;

/// What training a completer gives: the settings, the networks and the course of training.
#[derive(Debug, Clone)]
pub struct FittedCompleter<L: CompletionLearner> {
    pub(crate) config: L,
    pub(crate) networks: L::Networks,
    pub(crate) report: Report,
}

impl<L: CompletionLearner> FittedCompleter<L> {
    /// The same model on another device.
    pub fn to_device(mut self, device: DeviceKind) -> Result<Self> {
        self.networks = self.networks.fork(&device.open()?);
        *self.config.common().device = device;
        Ok(self)
    }
}

impl<L: CompletionLearner> Completer for FittedCompleter<L> {
    fn is_deterministic(&self) -> bool {
        self.config.is_deterministic()
    }

    fn n_partial_points(&self) -> usize {
        self.config.n_partial_points()
    }

    fn complete_all(&self, scans: &[PointSet], options: &CompletionOptions) -> Result<Vec<Vec<PointSet>>> {
        options.check_each("")?;
        let n_points = options.n_points.unwrap_or(self.config.n_points());
        check_cells("n_completions", options.n_completions, 3 * n_points)?;
        L::complete_all(self, scans, options)
    }

    fn scores(&self, clouds: &[PointSet]) -> Result<Vec<f64>> {
        let device = *self.config.clone().common().device;
        let mut scores = Vec::with_capacity(clouds.len());
        for clouds in clouds.chunks(CLOUDS_AT_ONCE) {
            let some = L::scores(&self.networks, to_tensor(clouds, device)?);
            scores.extend(some.into_data().iter::<f64>());
        }
        Ok(scores)
    }

    fn one_each(&self, scans: &[PointSet], seed: u64) -> Result<Vec<PointSet>> {
        to_points(L::one_each(self, scans, seed)?)
    }
}

/// Points need no names of labels.
#[derive(Serialize, Deserialize)]
pub struct Points {}

impl<L: CompletionLearner> SavedModel for FittedCompleter<L> {
    const TASK: ModelTask = L::TASK;
    type Labels = Points;
    type Config = L;
    type Network = L::Networks;

    fn network(&self) -> &L::Networks {
        &self.networks
    }

    fn report(&self) -> &Report {
        &self.report
    }

    fn config(&self) -> &L {
        &self.config
    }

    fn features(&self) -> Vec<String> {
        ["x", "y", "z"].map(str::to_owned).to_vec()
    }

    fn labels(&self) -> Points {
        Points {}
    }

    fn n_weights_at_least(manifest: &Manifest<Points, L>) -> Option<usize> {
        manifest.config.n_weights_at_least()
    }

    fn empty_network(manifest: &Manifest<Points, L>) -> Result<L::Networks> {
        manifest.config.check()?;
        Ok(manifest.config.init(&DeviceKind::Cpu.open()?))
    }

    fn assemble(manifest: Manifest<Points, L>, networks: L::Networks, report: Report) -> Self {
        let mut config = manifest.config;
        *config.common().device = DeviceKind::Cpu;
        Self { config, networks, report }
    }
}

/// The weights of chains of layers, each given by its widths, without biases; none if there is no such number.
pub(crate) fn n_in_chains(chains: &[&[&[usize]]]) -> Option<usize> {
    let sum = |n: usize, chain: &&[&[usize]]| n.checked_add(n_products(&chain.concat())?);
    chains.iter().try_fold(0, sum)
}
