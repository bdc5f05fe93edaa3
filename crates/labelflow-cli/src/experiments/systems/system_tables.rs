//! The settings of a system of completion: `[config]` of an experiment file for flows, and a table of each other kind of system.

use anyhow::Context;
use labelflow_clouds::completers::{
    AnyCompletionLearner, CompletionLearner, CompletionMethod, PointCloudCompleter,
};

/// What systems of each kind have otherwise than as published.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct SystemTables {
    /// Of systems that complete in the codes of an autoencoder.
    pub(crate) codes: toml::Table,
    /// Of shape-inversion.
    pub(crate) inversion: toml::Table,
    /// Of kt-net.
    pub(crate) transfer: toml::Table,
}

impl SystemTables {
    /// The settings of a system with the numbers of points of the flow's, its seed and its device, so that all are judged alike.
    pub(crate) fn learner(
        &self,
        method: CompletionMethod,
        flow: &PointCloudCompleter,
    ) -> anyhow::Result<AnyCompletionLearner> {
        let (name, changes) = match method {
            CompletionMethod::Llf => return Ok(flow.clone().into()),
            CompletionMethod::Pcl2Pcl
            | CompletionMethod::MmPcl2Pcl
            | CompletionMethod::MmPcl2PclIm => ("[codes]", &self.codes),
            CompletionMethod::ShapeInversion => ("[inversion]", &self.inversion),
            CompletionMethod::KtNet => ("[transfer]", &self.transfer),
        };
        let learner = method.learner_with(changes).context(name)?;
        let learner = learner.with_seed(flow.seed).with_device(flow.device);
        learner.with_points(flow.n_points, flow.n_partial_points).context(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_and_seeds_are_those_of_the_flow() {
        let flow = PointCloudCompleter { seed: 7, n_points: 99, ..PointCloudCompleter::default() };
        let tables =
            SystemTables { codes: "d_noise = 3".parse().unwrap(), ..SystemTables::default() };
        let learner = tables.learner(CompletionMethod::MmPcl2Pcl, &flow).unwrap();
        let AnyCompletionLearner::Codes(codes) = learner else { panic!("codes") };
        assert_eq!((codes.seed, codes.n_points, codes.d_noise), (7, 99, 3));
        let tables =
            SystemTables { codes: "no_such = 3".parse().unwrap(), ..SystemTables::default() };
        assert!(tables.learner(CompletionMethod::Pcl2Pcl, &flow).is_err());
        assert_eq!(tables.learner(CompletionMethod::Llf, &flow).unwrap(), flow.into());
    }
}
